"""Three ways to make empirical risk minimisation private: perturb the output, the objective or the gradients.

Each is a mechanism whose value is a problem: it is calibrated from public quantities alone, says which ridge
it will use, and is applied through the one door.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.standard import Hinge
from tacit.erm.perturbations.calibration import Tilt, gaussian_tilt, pure_tilt
from tacit.erm.perturbations.setting import Setting
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.rounding import coefficient_bound
from tacit.erm.solver.solve import smallest_tolerance, solve
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.mechanism import AdditiveNoise, Mechanism, checked_budget, typed_below
from tacit.mechanisms.spherical import SphericalLaplace
from tacit.noise import Source
from tacit.numerics.arrays import Floats

_ROUNDING = 2.0**-48


class Perturbation(Mechanism[Objective, Floats]):
    """A private way to minimise an objective; `alpha` is the ridge to build the objective with."""

    setting: Setting

    @property
    def loss(self) -> Loss:
        """The loss that is minimised."""
        return self.setting.loss

    @property
    @abstractmethod
    def alpha(self) -> float:
        """The ridge that the guarantee needs: the one asked for, or more."""

    @property
    @abstractmethod
    def prediction_noise(self) -> float:
        """A typical standard deviation that the noise gives to a score of a row of full norm, at most."""

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return self.setting.public

    def check(self, value: Objective) -> Objective:
        """Return the objective if it is the one calibrated for."""
        return self.setting.check(value, self.alpha)


@final
@dataclass(frozen=True)
class OutputPerturbation(Perturbation):
    """Solve, then add noise to the solution.

    Guarantee: the coefficient is (epsilon, delta)-private, pure when delta is 0.
    Assumes: a convex loss with a Lipschitz constant; every coefficient is regularised; replace-one neighbours.
    Reference: perturbation.md, "Output" (Chaudhuri and Monteleoni 2008, Algorithm 1, with an approximate solution).
    """

    budget: Budget
    setting: Setting
    asked: float

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "asked", finite_number("alpha", self.asked))
        self.setting.require_bounded(self.asked)
        self.setting.require_solvable(self.asked)

    @property
    def alpha(self) -> float:
        """The ridge asked for."""
        return self.asked

    @property
    def event(self) -> Event:
        """The event of the noise."""
        return self._law(0.0).event

    @property
    def prediction_noise(self) -> float:
        """The noise in a score of a row of full norm."""
        return self.setting.norm * self._law(0.0).standard_deviation

    def check(self, value: Objective) -> Objective:
        """Return the objective if it is the one calibrated for, and can be solved well enough."""
        checked = super().check(value)
        _ = self._law(self._radius(value))
        return checked

    def _radius(self, objective: Objective) -> float:
        """How far the computed solution, rotated, may be from the exact one."""
        near = self._tolerance(objective) / self.alpha
        return near + _spreading_error(self.setting, coefficient_bound(objective) + near)

    def _tolerance(self, objective: Objective) -> float:
        return _tolerance(objective, 1e-3 if type(self.setting.loss) is Hinge else 1e-5)

    def _law(self, radius: float) -> AdditiveNoise:
        """The noise for solutions within a radius of the exact one, on the free coordinates."""
        sensitivity = 2 * (self.setting.slope / self.setting.count / self.alpha + radius) * (1 + _ROUNDING)
        return _additive(self.budget, sensitivity, self.setting.free)

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the solution plus noise."""
        solution = solve(value, self._tolerance(value))
        law = self._law(self._radius(value))
        noisy = np.asarray(law.randomise(gather(solution.coefficient, self.setting), source))
        return spread(noisy, self.setting)


@final
@dataclass(frozen=True)
class ObjectivePerturbation(Perturbation):
    """Add a random linear term to the objective, solve, and add a trace of noise for the solver's error.

    Guarantee: the coefficient is (epsilon, delta)-private, pure when delta is 0.
    Assumes: a convex, smooth loss with its constants; every coefficient is regularised; replace-one neighbours.
    Reference: perturbation.md, "Objective" (Chaudhuri and Monteleoni 2008, Algorithm 2, with the Jacobian).
    """

    budget: Budget
    setting: Setting
    asked: float

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "asked", finite_number("alpha", self.asked))
        self.setting.require_bounded()
        if math.isinf(self.setting.loss.smoothness):
            raise InvalidParameter(
                f"objective perturbation needs a smooth loss, and {type(self.setting.loss).__name__} is not. "
                "Use perturbation='output', or HuberHinge."
            )
        self.setting.require_solvable(self.tilt.alpha)

    @cached_property
    def event(self) -> Event:
        """An (epsilon, delta)-private release."""
        delta = 0.0 if self.budget.is_pure else typed_below(self.budget.exact_delta)
        return EpsilonDeltaDpEvent(typed_below(self.budget.exact_epsilon), delta)

    @property
    def shares(self) -> tuple[Budget, Budget]:
        """The budget of the random term, and the hundredth part of epsilon for the solver's error."""
        trace = Budget.amount(self.budget.exact_epsilon / 100, Fraction(0))
        return self.budget - trace, trace

    @cached_property
    def tilt(self) -> Tilt:
        """The law of the random term, and the ridge it needs."""
        calibrate = pure_tilt if self.budget.is_pure else gaussian_tilt
        return calibrate(self.shares[0], self.setting, self.asked)

    @property
    def alpha(self) -> float:
        """The ridge asked for, or as much more as the guarantee needs."""
        return self.tilt.alpha

    @property
    def prediction_noise(self) -> float:
        """The noise in a score of a row of full norm where the records do not speak."""
        return self.setting.norm * self.tilt.typical / (self.setting.count * self.alpha)

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the minimiser of the tilted objective plus a trace of noise."""
        tolerance = _tolerance(value.with_linear(self._longest()), 1e-5)
        law = self._trace(tolerance)
        term = spread(self.tilt.draw(source).astype(np.float64) * self.tilt.grid, self.setting)
        solution = solve(value.with_linear(term), tolerance)
        return np.asarray(law.randomise(solution.coefficient, source))

    def check(self, value: Objective) -> Objective:
        """Return the objective if it is the one calibrated for, and can be solved well enough."""
        checked = super().check(value)
        tolerance = _tolerance(value.with_linear(self._longest()), 1e-5)
        _ = self._trace(tolerance)
        return checked

    def _trace(self, tolerance: float) -> AdditiveNoise:
        """The noise that covers the solver's error; pure, so that all of delta is left to the random term."""
        return SphericalLaplace.for_budget(self.shares[1], 2 * self._radius(tolerance), self.setting.shape)

    def _longest(self) -> Floats:
        """A term as long as a random one ever is: what the solver can reach must not depend on the draw."""
        longest = np.zeros(self.setting.shape)
        longest.flat[0] = self.tilt.largest
        return longest

    def _radius(self, tolerance: float) -> float:
        """How far the computed solution may be from the exact one of the term before it was rounded."""
        rounding = self.tilt.grid * math.sqrt(self.tilt.size) / 2 + _spreading_error(self.setting, self.tilt.largest)
        return (tolerance + rounding / self.setting.count) / self.alpha * (1 + _ROUNDING)


def gather(coefficient: Floats, setting: Setting) -> Floats:
    """Return the free coordinates of a coefficient whose joint scores sum to zero: a rotation."""
    if not setting.is_joint:
        return coefficient
    return np.asarray(_basis(setting.loss.outputs).T @ coefficient).ravel()


def spread(coordinates: Floats, setting: Setting) -> Floats:
    """Return the coefficient with these free coordinates."""
    if not setting.is_joint:
        return np.asarray(coordinates)
    return np.asarray(_basis(setting.loss.outputs) @ coordinates.reshape(-1, setting.dimension))


def _basis(classes: int) -> Floats:
    """An orthonormal basis of the vectors that sum to zero (Helmert's contrasts)."""
    basis = np.zeros((classes, classes - 1))
    for column in range(1, classes):
        basis[:column, column - 1] = 1 / math.sqrt(column * (column + 1))
        basis[column, column - 1] = -column / math.sqrt(column * (column + 1))
    return basis


def _spreading_error(setting: Setting, size: float) -> float:
    """Bound the rounding error of a rotation of vectors of this norm."""
    return (setting.loss.outputs + 8) * 2.0**-50 * size if setting.is_joint else 0.0


def _additive(budget: Budget, sensitivity: float, shape: int | tuple[int, ...]) -> AdditiveNoise:
    if budget.is_pure:
        return SphericalLaplace.for_budget(budget, sensitivity, shape)
    return Gaussian.for_budget(budget, sensitivity, shape)


def _tolerance(objective: Objective, factor: float) -> float:
    """Return how well to solve: far below the noise, but not below what doubles can reach; public either way."""
    slope = objective.loss.lipschitz * objective.rows.norm
    smallest = smallest_tolerance(objective)
    if not smallest < math.inf:
        raise InvalidParameter(f"alpha={objective.alpha:g} is too small to solve for with certainty. Use a larger one.")
    return max(factor * slope / objective.rows.count, 2 * smallest)
