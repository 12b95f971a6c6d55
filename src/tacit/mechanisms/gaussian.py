"""Gaussian noise: (epsilon, delta)-privacy for vectors with an L2 sensitivity, calibrated exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from dp_accounting.dp_event import GaussianDpEvent
from scipy.special import ndtri

from tacit import noise
from tacit.accounting.analytic import gaussian_shift
from tacit.accounting.events import Event
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, checked_confidence
from tacit.noise import Integers, Source, gaussian_error, power_of_two_below

__all__ = ["Gaussian"]

_LARGEST_SHIFT = 20.0
_ROUNDING = 1 + 2.0**-45


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

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: float = 1.0, shape: int | tuple[int, ...] = ()) -> "Gaussian":
        """Calibrate to a budget with delta > 0."""
        return cls(budget, sensitivity, shape)  # type: ignore[arg-type]

    @cached_property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity that is promised: what ideal Gaussian noise needs for the budget."""
        return _ROUNDING / min(gaussian_shift(self._inside(0.0)), _LARGEST_SHIFT)

    @cached_property
    def drawn_multiplier(self) -> float:
        """Noise over sensitivity that is drawn: more than promised, to pay for the errors of drawing it."""
        error = gaussian_error(self.dimension)
        shift = 1 / self.noise_multiplier
        renyi = shift * shift - 22 * error
        if renyi <= shift * shift / 2 or self.budget.exact_epsilon <= 4 * error:
            raise InvalidParameter(
                f"{self.budget} is too small to certify for {self.dimension} numbers at once. Release fewer."
            )
        return max(1 / math.sqrt(renyi), 1 / gaussian_shift(self._inside(error))) * _ROUNDING

    def _inside(self, error: float) -> Budget:
        """The budget less what a relative error of all probabilities, and the neglected events, may cost."""
        delta = self.budget.exact_delta * Fraction(1 - 2.0**-30) / (1 + 2 * Fraction(error))
        return Budget._amount(self.budget.exact_epsilon - 2 * Fraction(error), delta)

    @cached_property
    def event(self) -> Event:
        """Gaussian noise with this multiplier of the sensitivity."""
        return GaussianDpEvent(self.noise_multiplier)

    @cached_property
    def grid(self) -> float:
        """Fine enough that rounding the value and the noise is invisible, but never too fine to count."""
        ideal = self.sensitivity * self.noise_multiplier
        fine = min(self.sensitivity * 2.0**-20 / math.sqrt(self.dimension), ideal * 2.0**-26)
        return power_of_two_below(max(fine, ideal * 2.0**-42))

    @cached_property
    def units(self) -> float:
        """The standard deviation of the noise in grid units."""
        moved = float(self.exact_sensitivity) / self.grid + math.sqrt(self.dimension)
        return moved * self.drawn_multiplier * _ROUNDING

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate."""
        return self.units * self.grid

    def error(self, confidence: float = 0.95) -> float:
        """Return what the noise in one coordinate stays below with this confidence."""
        return self.standard_deviation * float(ndtri((1 + checked_confidence(confidence)) / 2))

    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""
        return noise.gaussian(source, self.units, self.dimension)
