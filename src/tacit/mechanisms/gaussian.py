"""Gaussian noise: (epsilon, delta)-privacy for vectors with an L2 sensitivity, calibrated exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from tacit import noise
from tacit.accounting.analytic import gaussian_shift
from tacit.accounting.events import Event, dp_event
from tacit.budget import Budget
from tacit.checks import checked_confidence
from tacit.errors import InvalidParameter
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import AdditiveNoise, fine_grid, inflated
from tacit.noise import NEGLECTED, Source, gaussian_error
from tacit.numerics.arrays import Integers

_LARGEST_SHIFT = 20.0
_ROUNDING = 1 + 2.0**-45
_SPARE = Fraction(1, 2**30)
"""The part of delta that pays for the events that the error bounds leave out."""


@final
@dataclass(frozen=True)
class Multipliers:
    """Noise over sensitivity, for a number of Gaussian releases that share a budget.

    `promised` is what one ideal Gaussian release needs for the whole budget, and so the event of all of them
    together; `drawn` is the multiplier of each, with more noise to pay for the errors of drawing it.
    """

    promised: float
    drawn: float

    @classmethod
    def for_budget(
        cls, budget: Budget, dimension: int, releases: int = 1, share: Fraction | None = None
    ) -> "Multipliers":
        """Calibrate to a budget with delta > 0; `share` is that of one release, an equal one unless given."""
        error = gaussian_error(dimension)
        promised = _ROUNDING / min(gaussian_shift(_inside(budget, 0.0)), _LARGEST_SHIFT)
        own = float(share or Fraction(1, releases))
        square = promised**-2 * own
        exceptions = 2 * releases * Fraction(NEGLECTED)
        if (
            44 * error > square
            or budget.exact_epsilon <= 4 * releases * error
            or releases * error > 1
            or exceptions > budget.exact_delta * _SPARE
        ):
            raise InvalidParameter(
                f"{budget} is too small to certify for {releases} x {dimension} numbers at once. Release fewer."
            )
        renyi = 1 / math.sqrt(square - 22 * error)
        point = 1 / (math.sqrt(own) * gaussian_shift(_inside(budget, releases * error)))
        return cls(promised, max(renyi, point) * _ROUNDING)

    def law(self, sensitivity: float, dimension: int) -> tuple[float, float]:
        """Return the grid, and the standard deviation in grid units, of the noise for one release.

        The grid is fine enough that rounding the value and the noise is invisible, but never too fine to count.
        """
        ideal = sensitivity * self.drawn
        fine = min(sensitivity * 2.0**-20 / math.sqrt(dimension), ideal * 2.0**-26)
        grid = fine_grid(fine, ideal)
        return grid, (sensitivity / grid + math.sqrt(dimension)) * self.drawn * _ROUNDING


def _inside(budget: Budget, error: float) -> Budget:
    """Return the budget less what a relative error of all probabilities, and the neglected events, may cost."""
    delta = budget.exact_delta * (1 - _SPARE) / (1 + 2 * Fraction(error))
    return Budget.amount(budget.exact_epsilon - 2 * Fraction(error), delta)


@final
@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """Independent Gaussian noise in every coordinate.

    Guarantee: releasing value + noise is (epsilon, delta)-private, and as private as ideal Gaussian noise
    with the event's multiplier at every Renyi order from 1.1 on.
    Assumes: replacing one record moves the value by at most `sensitivity` in L2 norm; its shape is public.
    Reference: gaussian.md (Balle and Wang 2018; on a grid).
    """

    is_pure = False

    @cached_property
    def multipliers(self) -> Multipliers:
        """Noise over sensitivity: as promised, and as drawn."""
        return Multipliers.for_budget(self.budget, self.dimension)

    @cached_property
    def event(self) -> Event:
        """Gaussian noise with the promised multiplier of the sensitivity."""
        return dp_event.GaussianDpEvent(self.multipliers.promised)

    @cached_property
    def law(self) -> tuple[float, float]:
        """The grid, and the standard deviation of the noise in grid units."""
        return self.multipliers.law(float(inflated(self.sensitivity)), self.dimension)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate."""
        return self.scale

    def error(self, confidence: float = 0.95) -> float:
        """Return what the noise in one coordinate stays below with this confidence."""
        from scipy.special import ndtri

        return self.standard_deviation * float(ndtri((1 + checked_confidence(confidence)) / 2))

    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""
        return noise.gaussian(source, self.units, self.dimension)


def additive(budget: Budget, l1: float = 1.0, l2: float = 1.0, shape: tuple[int, ...] = ()) -> Laplace | Gaussian:
    """Return Laplace noise for a pure budget, Gaussian noise for one with a delta, for these sensitivities."""
    return Laplace.for_budget(budget, l1, shape) if budget.is_pure else Gaussian.for_budget(budget, l2, shape)
