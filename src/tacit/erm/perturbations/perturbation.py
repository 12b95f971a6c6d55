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
from tacit.erm.perturbations.calibration import LinearNoise, additive_noise, gaussian_noise, pure_noise
from tacit.erm.perturbations.setting import Setting
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.rounding import coefficient_bound
from tacit.erm.solver.solve import smallest_tolerance, solve
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, Mechanism, checked_budget, typed_below
from tacit.mechanisms.spherical import SphericalLaplace
from tacit.noise import Source
from tacit.numerics.arrays import Floats

_ROUNDING = 2.0**-48
_OUTWARD = 1 + 2.0**-24


@dataclass(frozen=True)
class Perturbation(Mechanism[Objective, Floats]):
    """A private way to minimise an objective; `alpha` is the ridge to build the objective with."""

    budget: Budget
    setting: Setting
    asked: float

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "asked", finite_number("alpha", self.asked))
        self.require_calibrated()

    @abstractmethod
    def require_calibrated(self) -> None:
        """Refuse a budget, a loss or a ridge that the guarantee does not cover."""

    @property
    def loss(self) -> Loss:
        """The loss that is minimised."""
        return self.setting.loss

    @property
    def alpha(self) -> float:
        """The ridge that the guarantee needs: the one asked for, or more."""
        return self.asked

    @abstractmethod
    def coefficient_noise(self, value: Objective) -> float:
        """Bound or estimate the deviation of the noise in each coefficient, from public quantities alone (noise.md)."""

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return self.setting.public

    def check(self, value: Objective) -> Objective:
        """Return the objective if it is the one calibrated for, and can be solved well enough for its noise."""
        checked = self.setting.check(value, self.alpha)
        self.coefficient_noise(checked)
        return checked


@final
@dataclass(frozen=True)
class OutputPerturbation(Perturbation):
    """Solve, then add noise to the solution.

    Guarantee: the coefficient is (epsilon, delta)-private, pure when delta is 0.
    Assumes: a convex loss with a Lipschitz constant; every coefficient is regularised; replace-one neighbours.
    Reference: perturbation.md, "Output" (Chaudhuri and Monteleoni 2008, Algorithm 1, with an approximate solution).
    """

    def require_calibrated(self) -> None:
        """Refuse a loss that is not Lipschitz at its minimisers, and a ridge too small to solve with."""
        self.setting.require_bounded(self.asked)
        self.setting.require_solvable(self.asked)

    @property
    def event(self) -> Event:
        """The event of the noise."""
        return self._law(0.0).event

    @property
    def prediction_noise(self) -> float:
        """The noise in a score of a row of full norm."""
        return self.setting.norm * self._law(0.0).standard_deviation

    def coefficient_noise(self, value: Objective) -> float:
        """The noise that is added, which does not depend on the solution."""
        return self._plan(value)[1].standard_deviation * _free_share(self.setting) * _OUTWARD

    def _plan(self, objective: Objective) -> tuple[float, AdditiveNoise]:
        """How well to solve, and the noise for solutions that come, rotated, as near to the exact one as that."""
        tolerance = _tolerance(objective, 1e-3 if self.setting.loss.has_corner else 1e-5)
        near = tolerance / self.alpha
        return tolerance, self._law(near + _rotation_error(self.setting, coefficient_bound(objective) + near))

    def _law(self, radius: float) -> AdditiveNoise:
        """The noise for solutions within a radius of the exact one, on the free coordinates."""
        sensitivity = 2 * (self.setting.slope / self.setting.count / self.alpha + radius) * (1 + _ROUNDING)
        return additive_noise(self.budget, sensitivity, self.setting.free)

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the solution plus noise."""
        tolerance, law = self._plan(value)
        solution = solve(value, tolerance)
        noisy = np.asarray(law.randomise(to_free(solution.coefficient, self.setting), source))
        return from_free(noisy, self.setting)


@final
@dataclass(frozen=True)
class ObjectivePerturbation(Perturbation):
    """Add a random linear term to the objective, solve, and add a trace of noise for the solver's error.

    Guarantee: the coefficient is (epsilon, delta)-private, pure when delta is 0.
    Assumes: a convex, smooth loss with its constants; every coefficient is regularised; replace-one neighbours.
    Reference: perturbation.md, "Objective" (Chaudhuri and Monteleoni 2008, Algorithm 2, with the Jacobian).
    """

    def require_calibrated(self) -> None:
        """Refuse a loss that is not smooth and Lipschitz, and a ridge too small to solve with."""
        self.setting.require_smooth("objective")
        self.setting.require_solvable(self.alpha)

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
    def linear_noise(self) -> LinearNoise:
        """The law of the random term, and the ridge it needs."""
        calibrate = pure_noise if self.budget.is_pure else gaussian_noise
        return calibrate(self.shares[0], self.setting, self.asked)

    @property
    def alpha(self) -> float:
        """The ridge asked for, or as much more as the guarantee needs."""
        return self.linear_noise.alpha

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the minimiser of the objective with the random term, plus a trace of noise."""
        tolerance, law = self._plan(value)
        drawn = self.linear_noise.draw(source).astype(np.float64) * self.linear_noise.grid
        solution = solve(value.with_linear(from_free(drawn, self.setting)), tolerance)
        return np.asarray(law.randomise(solution.coefficient, source))

    def coefficient_noise(self, value: Objective) -> float:
        """The spread of b over n alpha, which the curvature of the loss can only lessen, and what covers the solver."""
        _, law = self._plan(value)
        direct = self.linear_noise.spread * _free_share(self.setting) / self.setting.count / self.alpha
        return math.hypot(direct + law.sensitivity / 2, law.standard_deviation) * _OUTWARD

    def _plan(self, objective: Objective) -> tuple[float, AdditiveNoise]:
        """How well to solve, and the noise that covers the solver's error.

        The noise is pure, so that all of delta is left to the random term, and for how far the computed solution may be
        from the exact one of the term before it was rounded.
        """
        law = self.linear_noise
        # A term as long as a random one ever is: what the solver can reach must not depend on the draw.
        longest = np.zeros(self.setting.shape)
        longest.flat[0] = law.largest
        tolerance = _tolerance(objective.with_linear(longest), 1e-5)
        rounding = law.grid * math.sqrt(law.size) / 2 + _rotation_error(self.setting, law.largest)
        radius = (tolerance + rounding / self.setting.count) / self.alpha * (1 + _ROUNDING)
        return tolerance, SphericalLaplace.for_budget(self.shares[1], 2 * radius, self.setting.shape)


def to_free(coefficient: Floats, setting: Setting) -> Floats:
    """Return the free coordinates of a coefficient whose joint scores sum to zero: a rotation."""
    if not setting.is_joint:
        return coefficient
    return np.asarray(_basis(setting.loss.outputs).T @ coefficient).ravel()


def from_free(coordinates: Floats, setting: Setting) -> Floats:
    """Return the coefficient with these free coordinates."""
    if not setting.is_joint:
        return np.asarray(coordinates)
    return np.asarray(_basis(setting.loss.outputs) @ coordinates.reshape(-1, setting.dimension))


def _free_share(setting: Setting) -> float:
    """The norm of a row of the basis: how much of the noise in free coordinates one coefficient has."""
    return math.sqrt(1 - 1 / setting.loss.outputs) if setting.is_joint else 1.0


def _basis(classes: int) -> Floats:
    """An orthonormal basis of the vectors that sum to zero (Helmert's contrasts)."""
    basis = np.zeros((classes, classes - 1))
    for column in range(1, classes):
        basis[:column, column - 1] = 1 / math.sqrt(column * (column + 1))
        basis[column, column - 1] = -column / math.sqrt(column * (column + 1))
    return basis


def _rotation_error(setting: Setting, size: float) -> float:
    """Bound the rounding error of a rotation of vectors of this norm."""
    return (setting.loss.outputs + 8) * 2.0**-50 * size if setting.is_joint else 0.0


def _tolerance(objective: Objective, factor: float) -> float:
    """Return how well to solve: far below the noise, but not below what doubles can reach; public either way."""
    slope = objective.loss.lipschitz * objective.rows.norm
    smallest = smallest_tolerance(objective)
    if not smallest < math.inf:
        raise InvalidParameter(f"alpha={objective.alpha:g} is too small to solve for with certainty. Use a larger one.")
    return max(factor * slope / objective.rows.count, 2 * smallest)
