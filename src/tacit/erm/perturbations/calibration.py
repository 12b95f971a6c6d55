"""How much noise in the objective, and how much ridge, a budget calls for.

Each rule here turns (budget, setting, asked ridge) into a `LinearNoise`: the law of the random vector b in the
term b.w/n, and the ridge that makes it enough. The proofs are in perturbation.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from tacit import noise
from tacit.accounting.analytic import excess_delta, excess_shift, gaussian_delta, gaussian_shift, rounded_down
from tacit.budget import Budget
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import AdditiveNoise
from tacit.mechanisms.spherical import SphericalLaplace
from tacit.noise import NEGLECTED, Source, gaussian_error, power_of_two_below
from tacit.numerics.arrays import Integers
from tacit.numerics.bisection import bisect

Kind = Literal["gaussian", "spherical", "laplace"]

_UP = 1 + 1e-12
_DOWN = 1 - 1e-12


@final
@dataclass(frozen=True)
class LinearNoise:
    """The law of b (integers times a grid) and the ridge it needs."""

    alpha: float
    scale: float
    grid: float
    size: int
    kind: Kind

    def draw(self, source: Source) -> Integers:
        """Draw b, counted in grid units."""
        if self.kind == "gaussian":
            return noise.gaussian(source, self.scale / self.grid, self.size)
        if self.kind == "laplace":
            return noise.laplace(source, math.ceil(self.scale / self.grid), self.size)
        return noise.spherical(source, self.scale / self.grid, self.size)

    @property
    def largest(self) -> float:
        """What the norm of b stays below, outside events of probability NEGLECTED."""
        # The norm of spherical noise, and the sum of sizes of Laplace noise, are Gamma distributed alike.
        return self.scale * (math.sqrt(2 * self.size + 400) if self.kind == "gaussian" else 2 * self.size + 400)

    @property
    def typical(self) -> float:
        """The standard deviation of one coordinate of b."""
        return self.scale * {"gaussian": 1.0, "laplace": math.sqrt(2), "spherical": math.sqrt(self.size + 1)}[self.kind]

    @property
    def spread(self) -> float:
        """Bound the standard deviation of f(b) for every f that moves by at most the distance that b moves (noise.md).

        The bound of a single coordinate, when there is one only, is for an f that rises or falls throughout.
        """
        if self.kind == "gaussian" or self.size == 1:
            return self.typical * _UP
        if self.kind == "laplace":
            return 2 * self.scale * _UP
        return self.typical * math.sqrt(self.size / (self.size - 1)) * _UP


def pure_noise(budget: Budget, setting: Setting, alpha: float) -> LinearNoise:
    """Calibrate spherical Laplace noise to an epsilon, or independent Laplace noise where rows are sparse.

    A loss with a free Jacobian (logistic, softmax) needs no correction once n alpha is large enough: the ridge is
    raised to that. For other losses epsilon pays for the Jacobian, and the ridge is raised so that this takes at most
    half of it.
    """
    if setting.loss.free_jacobian:
        multiple = 2 * math.sqrt(2) if setting.is_joint else 1.0
    else:
        alpha, budget = _with_jacobian(budget, setting, alpha)
        multiple = 0.0
    reach = math.sqrt(setting.filled or 1) * _UP if setting.sparse else 1.0
    family = Laplace if setting.sparse else SphericalLaplace
    law = family.for_budget(budget, 2 * setting.slope * reach, setting.free)
    floor = multiple * setting.norm * law.scale / reach / setting.count
    kind: Kind = "laplace" if setting.sparse else "spherical"
    return LinearNoise(max(alpha, floor * _UP), law.scale, law.grid, law.dimension, kind)


def gaussian_noise(budget: Budget, setting: Setting, alpha: float) -> LinearNoise:
    """Calibrate Gaussian noise to an epsilon and a delta."""
    error = gaussian_error(setting.free)
    inside = _inside(budget, error)
    if setting.is_joint:
        sigma, raised = _joint(inside, setting, alpha)
    elif setting.loss.free_jacobian:
        sigma, raised = _logistic(inside, setting, alpha)
    else:
        sigma, raised = _pointwise(inside, setting, alpha)
    return LinearNoise(raised, sigma, power_of_two_below(sigma * 2.0**-30), setting.free, "gaussian")


def additive_noise(budget: Budget, sensitivity: float, shape: int | tuple[int, ...]) -> AdditiveNoise:
    """Calibrate noise on a vector: spherical Laplace for a pure budget, else Gaussian."""
    family = SphericalLaplace if budget.is_pure else Gaussian
    return family.for_budget(budget, sensitivity, shape)


def _with_jacobian(budget: Budget, setting: Setting, alpha: float) -> tuple[float, Budget]:
    """Return the ridge at which the Jacobian costs at most half of epsilon, and the budget less that cost.

    The logarithm is that of one row's share: for several rows of a person only the linear bound on it holds.
    """
    bend = setting.loss.smoothness * setting.norm**2 / setting.count
    if setting.several:
        raised = max(alpha, 2 * bend / budget.epsilon * _UP)
        return raised, Budget.amount(budget.exact_epsilon - Fraction(bend / raised * _UP), budget.exact_delta)
    # Where e^epsilon would overflow, the ridge is larger than it need be.
    raised = max(alpha, bend / math.expm1(min(budget.epsilon / 2, 700.0)) * _UP)
    jacobian = Fraction(math.log1p(bend / raised) * _UP)
    return raised, Budget.amount(budget.exact_epsilon - jacobian, budget.exact_delta)


def _inside(budget: Budget, error: float) -> Budget:
    """Return the budget less what the errors of drawing Gaussian integers may cost."""
    if budget.exact_epsilon <= 4 * error or budget.epsilon > 50:
        raise InvalidParameter(
            f"Gaussian noise in the objective is certified for epsilon up to 50, and {budget} would be left for it of "
            "what was given. Give less epsilon, or delta=0."
        )
    neglected = 2 * (1 + math.exp(budget.epsilon)) * NEGLECTED
    delta = (budget.exact_delta - Fraction(neglected)) / (1 + 2 * Fraction(error))
    if delta <= budget.exact_delta / 2:
        raise InvalidParameter(f"the delta of {budget} is too small to certify. Raise it.")
    return Budget.amount(budget.exact_epsilon - 2 * Fraction(error), delta)


def gaussian_is_certified(budget: Budget, setting: Setting) -> bool:
    """Whether Gaussian noise in the objective can be calibrated to a budget with a delta."""
    try:
        _inside(budget, gaussian_error(setting.free))
    except InvalidParameter:
        return False
    return True


def _logistic(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """The Jacobian is free if kappa + a <= epsilon and 2 kappa <= epsilon + a, a = (R/sigma)^2."""
    epsilon = rounded_down(budget.exact_epsilon)
    shift = min(_shift(budget, setting), math.sqrt(2 * epsilon) * _DOWN)
    sigma = 2 * setting.norm / shift * _UP
    square = (setting.norm / sigma) ** 2
    kappa = min(epsilon - square * _UP, (epsilon + square * _DOWN) / 2) * _DOWN
    return sigma, max(alpha, setting.norm**2 / (setting.count * kappa) * _UP)


def _pointwise(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """Pay for the Jacobian; a loss whose slope has one sign then costs what one Gaussian release does."""
    raised, left = _with_jacobian(budget, setting, alpha)
    epsilon = rounded_down(left.exact_epsilon)
    if setting.several:
        limit = math.sqrt(2 * epsilon) if setting.loss.one_sided else min(epsilon, math.sqrt(2 * epsilon))
        left = left if setting.loss.one_sided else Budget.amount(left.exact_epsilon, left.exact_delta / 2)
    elif setting.loss.one_sided:
        limit = 2 * math.sqrt(epsilon)
    else:
        left = Budget.amount(left.exact_epsilon, left.exact_delta / 2)
        limit = math.sqrt(2 * epsilon**2 / (1 + math.sqrt(1 + epsilon**2)))
    shift = min(_shift(left, setting), limit * _DOWN)
    return 2 * setting.slope / shift * _UP, raised


def _shift(budget: Budget, setting: Setting) -> float:
    """Return the largest shift of Gaussian noise that keeps the budget, for records or for persons with several."""
    return excess_shift(budget) if setting.several else gaussian_shift(budget)


def _joint(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """The softmax loss: a union over the corners of the simplex of predictions, and what is left of the Jacobian."""
    epsilon, delta = rounded_down(budget.exact_epsilon), rounded_down(budget.exact_delta)
    raised = max(alpha, 8 * setting.norm**2 / (setting.count * epsilon) * _UP)
    classes, norm = setting.loss.outputs, setting.norm
    kappa = norm**2 / (setting.count * raised) * _UP

    def enough(sigma: float) -> bool:
        absorbed = (1 - 1 / classes) * max(0.0, kappa - (norm / sigma) ** 2 / 2 * _DOWN)
        whole = (1 - 1 / classes) * kappa
        jacobian = (whole if setting.several else min((classes - 1) * math.log1p(kappa / classes), absorbed)) * _UP
        corners = (
            (classes - 1, 2 * math.sqrt(2)),
            ((classes - 1) * (classes - 2), math.sqrt(6)),
            (2 * (classes - 1), math.sqrt(2)),
        )
        delta_of = excess_delta if setting.several else gaussian_delta
        total = math.fsum(
            weight * delta_of(epsilon - jacobian, reach * norm / sigma * _UP) for weight, reach in corners
        )
        return total * _UP <= delta

    low = high = 2 * math.sqrt(2) * norm / gaussian_shift(budget)
    while not enough(high):
        high *= 2
    steps = math.ceil(math.log2(max(math.log(high / low) / 1e-9, 1.0)))
    sigma, _ = bisect(enough, high, low, between=lambda one, other: math.sqrt(one * other), steps=steps)
    return sigma * _UP, raised
