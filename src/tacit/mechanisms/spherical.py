"""Spherical Laplace noise: pure privacy for vectors with an L2 sensitivity (the 2008 paper's noise)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from tacit import noise
from tacit.checks import exact_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, inflated
from tacit.noise import Source, power_of_two_below, spherical_error
from tacit.numerics.arrays import Integers


@final
@dataclass(frozen=True)
class SphericalLaplace(AdditiveNoise):
    """Noise of density proportional to exp(-|noise|_2 / scale): uniform direction, Gamma-distributed norm.

    Guarantee: releasing value + noise is epsilon-private.
    Assumes: replacing one record moves the value by at most `sensitivity` in L2 norm; its shape is public.
    Reference: spherical.md (Chaudhuri and Monteleoni 2008; on a grid).
    """

    is_pure = True

    @cached_property
    def law(self) -> tuple[float, float]:
        """The grid, a fixed small part of the noise, and the scale of the noise in grid units."""
        grid = power_of_two_below(self.sensitivity / self.budget.epsilon * 2.0**-36)
        epsilon = exact_number("epsilon", self.event.epsilon)
        left = epsilon - 2 * Fraction(spherical_error(self.dimension))
        if left <= 0:
            raise InvalidParameter(
                f"{self.budget} is too small to certify for {self.dimension} numbers at once. Release fewer."
            )
        moved = inflated(self.sensitivity) / Fraction(grid) + math.isqrt(self.dimension) + 1
        return grid, math.nextafter(float(moved / left), math.inf)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate: scale sqrt(dimension + 1)."""
        return self.scale * math.sqrt(self.dimension + 1)

    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""
        return noise.spherical(source, self.units, self.dimension)
