"""Gaussian noise: (epsilon, delta)-privacy for vectors with an L2 sensitivity, calibrated exactly."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

from dp_accounting.dp_event import GaussianDpEvent
from scipy.special import ndtri

from tacit import noise
from tacit.accounting.analytic import gaussian_shift
from tacit.accounting.events import Event
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, checked_budget
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

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: float = 1.0, shape: int | tuple[int, ...] = ()) -> "Gaussian":
        """Calibrate to a budget with delta > 0."""
        mechanism = cls(checked_budget(budget), sensitivity, shape)  # type: ignore[arg-type]
        _ = mechanism.units  # refuse what cannot be calibrated now rather than at the release
        return mechanism

    @cached_property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity that the budget calls for, with room for the neglected events."""
        inside = Budget._amount(self.budget.exact_epsilon, self.budget.exact_delta * (2**30 - 1) / 2**30)
        return _ROUNDING / min(gaussian_shift(inside), _LARGEST_SHIFT)

    @cached_property
    def event(self) -> Event:
        """Gaussian noise with this multiplier of the sensitivity."""
        return GaussianDpEvent(self.noise_multiplier)

    @cached_property
    def grid(self) -> float:
        """Fine enough that rounding the value and the noise is invisible, but never too fine to count."""
        ideal = self.sensitivity * self.noise_multiplier
        fine = min(self.sensitivity * 2.0**-20 / math.sqrt(self.dimension), ideal * 2.0**-26)
        return power_of_two_below(max(fine, ideal * 2.0**-43))

    @cached_property
    def units(self) -> float:
        """The standard deviation of the noise in grid units."""
        moved = float(self.exact_sensitivity) / self.grid + math.sqrt(self.dimension)
        inexact = 16 * gaussian_error(self.dimension) * max(1.0, self.noise_multiplier) ** 2
        if inexact > 0.5:
            raise InvalidParameter(
                f"{self.budget} is too small to certify for {self.dimension} numbers at once. Release fewer."
            )
        return moved * self.noise_multiplier * (1 + inexact) * _ROUNDING

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate."""
        return self.units * self.grid

    def error(self, confidence: float = 0.95) -> float:
        """Return what the noise in one coordinate stays below with this confidence."""
        if not 0 < confidence < 1:
            raise InvalidParameter(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
        return self.standard_deviation * float(ndtri((1 + confidence) / 2))

    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""
        return noise.gaussian(source, self.units, self.dimension)
