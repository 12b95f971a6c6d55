"""How much noise in the objective, and how much ridge, a budget calls for.

Each rule here turns (setting, asked ridge, budget) into a `Tilt`: the law of the random vector b in the
term b.w/n, and the ridge that makes it enough. The proofs are in perturbation.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from tacit import noise
from tacit.accounting.analytic import gaussian_delta, gaussian_shift, rounded_down
from tacit.budget import Budget
from tacit.erm.losses.standard import Logistic
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter
from tacit.mechanisms.spherical import SphericalLaplace
from tacit.noise import NEGLECTED, Integers, Source, gaussian_error, power_of_two_below

_UP = 1 + 1e-12
_DOWN = 1 - 1e-12


@final
@dataclass(frozen=True)
class Tilt:
    """The law of b (integers times a grid) and the ridge it needs."""

    alpha: float
    scale: float
    grid: float
    size: int
    gaussian: bool

    def draw(self, source: Source) -> Integers:
        """Draw b, counted in grid units."""
        if self.gaussian:
            return noise.gaussian(source, self.scale / self.grid, self.size)
        return noise.spherical(source, self.scale / self.grid, self.size)

    @property
    def largest(self) -> float:
        """What the norm of b stays below, outside events of probability NEGLECTED."""
        return self.scale * (math.sqrt(2 * self.size + 400) if self.gaussian else 2 * self.size + 400)

    @property
    def typical(self) -> float:
        """The standard deviation of one coordinate of b."""
        return self.scale * (1.0 if self.gaussian else math.sqrt(self.size + 1))


def pure_tilt(budget: Budget, setting: Setting, alpha: float) -> Tilt:
    """Calibrate spherical Laplace noise to an epsilon.

    The logistic and the softmax loss need no correction for the Jacobian once n alpha is large enough: the
    ridge is raised to that. For other losses epsilon pays for the Jacobian, and the ridge is raised so that
    this takes at most half of it.
    """
    if isinstance(setting.loss, Logistic) or setting.is_joint:
        law = _spherical(budget, setting)
        multiple = 2 * math.sqrt(2) if setting.is_joint else 1.0
        floor = multiple * setting.norm * law.scale / setting.count
        return _tilt(law, max(alpha, floor * _UP))
    bend = setting.loss.smoothness * setting.norm**2 / setting.count
    raised = max(alpha, bend / _grown(budget.epsilon / 2) * _UP)
    return _tilt(_spherical(_less(budget, math.log1p(bend / raised)), setting), raised)


def gaussian_tilt(budget: Budget, setting: Setting, alpha: float) -> Tilt:
    """Calibrate Gaussian noise to an epsilon and a delta."""
    error = gaussian_error(setting.free)
    inside = _inside(budget, error)
    if setting.is_joint:
        sigma, raised = _joint(inside, setting, alpha)
    elif isinstance(setting.loss, Logistic):
        sigma, raised = _logistic(inside, setting, alpha)
    else:
        sigma, raised = _pointwise(inside, setting, alpha)
    return Tilt(raised, sigma, power_of_two_below(sigma * 2.0**-30), setting.free, gaussian=True)


def _spherical(budget: Budget, setting: Setting) -> SphericalLaplace:
    return SphericalLaplace.for_budget(budget, 2 * setting.slope, setting.free)


def _tilt(law: SphericalLaplace, alpha: float) -> Tilt:
    return Tilt(alpha, law.scale, law.grid, law.dimension, gaussian=False)


def _grown(epsilon: float) -> float:
    """Return e^epsilon - 1, or less where that would overflow: the ridge is then larger than it need be."""
    return math.expm1(min(epsilon, 700.0))


def _less(budget: Budget, jacobian: float) -> Budget:
    """Return the budget less what the Jacobian costs."""
    return Budget.amount(budget.exact_epsilon - Fraction(jacobian * _UP), budget.exact_delta)


def _inside(budget: Budget, error: float) -> Budget:
    """Return the budget less what the errors of drawing Gaussian integers may cost."""
    if budget.exact_epsilon <= 4 * error or budget.epsilon > 50:
        raise InvalidParameter(f"Gaussian noise in the objective is certified for epsilon up to 50, got {budget}.")
    neglected = 2 * (1 + math.exp(budget.epsilon)) * NEGLECTED
    delta = (budget.exact_delta - Fraction(neglected)) / (1 + 2 * Fraction(error))
    if delta <= budget.exact_delta / 2:
        raise InvalidParameter(f"the delta of {budget} is too small to certify. Raise it.")
    return Budget.amount(budget.exact_epsilon - 2 * Fraction(error), delta)


def _logistic(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """The Jacobian is free if kappa + a <= epsilon and 2 kappa <= epsilon + a, a = (R/sigma)^2."""
    epsilon = rounded_down(budget.exact_epsilon)
    shift = min(gaussian_shift(budget), math.sqrt(2 * epsilon) * _DOWN)
    sigma = 2 * setting.norm / shift * _UP
    square = (setting.norm / sigma) ** 2
    kappa = min(epsilon - square * _UP, (epsilon + square * _DOWN) / 2) * _DOWN
    return sigma, max(alpha, setting.norm**2 / (setting.count * kappa) * _UP)


def _pointwise(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """Pay for the Jacobian; a loss whose slope has one sign then costs what one Gaussian release does."""
    bend = setting.loss.smoothness * setting.norm**2 / setting.count
    raised = max(alpha, bend / _grown(budget.epsilon / 2) * _UP)
    left = _less(budget, math.log1p(bend / raised))
    epsilon = rounded_down(left.exact_epsilon)
    if setting.loss.one_sided:
        limit = 2 * math.sqrt(epsilon)
    else:
        left = Budget.amount(left.exact_epsilon, left.exact_delta / 2)
        limit = math.sqrt(2 * epsilon**2 / (1 + math.sqrt(1 + epsilon**2)))
    shift = min(gaussian_shift(left), limit * _DOWN)
    return 2 * setting.slope / shift * _UP, raised


def _joint(budget: Budget, setting: Setting, alpha: float) -> tuple[float, float]:
    """The softmax loss: a union over the corners of the simplex of predictions, and what is left of the Jacobian."""
    epsilon, delta = rounded_down(budget.exact_epsilon), rounded_down(budget.exact_delta)
    raised = max(alpha, 8 * setting.norm**2 / (setting.count * epsilon) * _UP)
    classes, norm = setting.loss.outputs, setting.norm
    kappa = norm**2 / (setting.count * raised) * _UP

    def enough(sigma: float) -> bool:
        absorbed = (1 - 1 / classes) * max(0.0, kappa - (norm / sigma) ** 2 / 2 * _DOWN)
        jacobian = min((classes - 1) * math.log1p(kappa / classes), absorbed) * _UP
        corners = (
            (classes - 1, 2 * math.sqrt(2)),
            ((classes - 1) * (classes - 2), math.sqrt(6)),
            (2 * (classes - 1), math.sqrt(2)),
        )
        total = math.fsum(
            weight * gaussian_delta(epsilon - jacobian, reach * norm / sigma * _UP) for weight, reach in corners
        )
        return total * _UP <= delta

    low = high = 2 * math.sqrt(2) * norm / gaussian_shift(budget)
    while not enough(high):
        high *= 2
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high * _UP, raised
