"""Laplace noise: pure privacy for numbers and vectors with an L1 sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from tacit import noise
from tacit.accounting.events import Event, dp_event
from tacit.checks import checked_confidence, exact_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, fine_grid, inflated
from tacit.noise import LAPLACE_ERROR, Source
from tacit.numerics.arrays import Integers


@final
@dataclass(frozen=True)
class Laplace(AdditiveNoise):
    """Independent Laplace noise in every coordinate.

    Guarantee: releasing value + noise is epsilon-private.
    Assumes: replacing one record moves the value by at most `sensitivity` in L1 norm; its shape is public.
    Reference: laplace.md (Dwork, McSherry, Nissim and Smith 2006; on a grid).
    """

    is_pure = True

    @cached_property
    def event(self) -> Event:
        """Laplace noise with this multiplier of the sensitivity."""
        multiplier = float(1 / self.budget.exact_epsilon)
        while 1 / exact_number("noise_multiplier", multiplier) > self.budget.exact_epsilon:
            multiplier = math.nextafter(multiplier, math.inf)
        return dp_event.LaplaceDpEvent(multiplier)

    @cached_property
    def law(self) -> tuple[float, int]:
        """The grid, and the scale of the noise in grid units."""
        return laplace_law(self.budget.exact_epsilon, self.sensitivity, self.dimension)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate."""
        return math.sqrt(2) * self.scale

    def error(self, confidence: float = 0.95) -> float:
        """Return what the noise in one coordinate stays below with this confidence."""
        return -self.scale * math.log1p(-checked_confidence(confidence))

    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""
        return noise.laplace(source, self.law[1], self.dimension)


def laplace_law(epsilon: Fraction, sensitivity: float, dimension: int = 1) -> tuple[float, int]:
    """Return the grid, and the scale in grid units, of Laplace noise on so many numbers of this L1 sensitivity.

    The grid is a millionth of the sensitivity, shared by the coordinates, but never too fine for the noise.
    """
    grid = fine_grid(sensitivity * 2.0**-20 / dimension, sensitivity / float(epsilon))
    return grid, laplace_units(epsilon, inflated(sensitivity) / Fraction(grid), dimension, dimension)


def laplace_units(epsilon: Fraction, sensitivity: Fraction, rounded: int, draws: int) -> int:
    """Return the smallest scale, in grid units, for which integer Laplace noise keeps epsilon.

    `sensitivity` is in grid units, before the value's `rounded` coordinates are rounded to the grid: each
    may move by one unit more. Each of the `draws` may be off by LAPLACE_ERROR on either side.
    """
    left = epsilon - 2 * draws * Fraction(LAPLACE_ERROR)
    if left <= 0:
        raise InvalidParameter(
            f"epsilon={float(epsilon):g} is too small to certify for {draws} numbers at once. Release fewer."
        )
    return math.ceil((sensitivity + rounded) / left)
