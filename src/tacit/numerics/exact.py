"""Sums and products of doubles without rounding error: the result and what was lost, as two doubles.

Reference: Ogita, Rump and Oishi, Accurate sum and dot product, SIAM Journal on Scientific Computing 2005.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.numerics.arrays import Floats

_SPLITTER = 2.0**27 + 1.0


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return s and e with s + e = a + b exactly and s the rounded sum (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return p and e with p + e = a b exactly and p the rounded product (Dekker, Veltkamp)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Floats) -> tuple[Floats, Floats]:
    """Split into two halves of at most 26 bits."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


@final
@dataclass(eq=False)
class CompensatedSum:
    """A running sum of arrays that keeps what each addition loses."""

    _high: Floats | None = None
    _low: Floats | None = None

    def add(self, term: Floats) -> None:
        """Add an array to the sum, and what is lost by that to what was lost before."""
        if self._high is None or self._low is None:
            self._high, self._low = term, np.zeros_like(term)
            return
        self._high, lost = two_sum(self._high, term)
        self._low += lost

    @property
    def halves(self) -> Floats:
        """The sum as two arrays in one: what it is, and what it lost."""
        return np.stack([self._high, self._low])  # type: ignore[list-item]

    def merge(self, other: "CompensatedSum") -> None:
        """Add another running sum."""
        if other._high is not None and other._low is not None:
            self.add(other._high)
            self.add(other._low)

    def result(self) -> Floats:
        """Return the sum, rounded once."""
        if self._high is None or self._low is None:
            raise ValueError("an empty sum has no shape")
        return self._high + self._low


@final
@dataclass(frozen=True, eq=False)
class Point:
    """A coefficient as the unevaluated sum high + low; low is None when doubles are fine enough."""

    high: Floats
    low: Floats | None = None

    def moved(self, step: Floats) -> Self:
        """Return the point plus a step, with both halves."""
        high, low = two_sum(self.high, step)
        if self.low is not None:
            low = low + self.low
        return type(self)(*two_sum(high, low))

    def minus(self, other: Self) -> Floats:
        """Return the difference to another point, rounded."""
        lows = (0.0 if self.low is None else self.low) - (0.0 if other.low is None else other.low)
        return np.asarray((self.high - other.high) + lows)

    def both(self, change: Callable[[Floats], Floats]) -> Self:
        """Return the point with both halves rearranged in the same way."""
        return type(self)(change(self.high), None if self.low is None else change(self.low))

    def reshaped(self, *shape: int) -> Self:
        """Return the same numbers in another shape."""
        return self.both(lambda half: half.reshape(shape))

    def part(self, columns: int | slice | NDArray[np.generic]) -> Self:
        """Return some of the columns."""
        return self.both(lambda half: np.asarray(half[..., columns]))

    def rounded(self) -> Self:
        """Return the nearest point with one half only."""
        return self if self.low is None else type(self)(self.high)

    @property
    def size(self) -> float:
        """An upper bound on the norm."""
        return float(np.linalg.norm(self.high)) * (1.0 + 1e-9)


def long_product(a: Floats, b: Point) -> tuple[Floats, Floats]:
    """Return a b as a rounded product and the rest."""
    product, rest = two_product(a, b.high)
    return (product, rest) if b.low is None else (product, rest + a * b.low)


def long_sum(terms: Floats, rests: Floats) -> tuple[Floats, Floats]:
    """Return the sum of terms + rests along the last axis as two arrays, the second far smaller.

    Halves are added to halves, and what each addition loses joins the rests.
    """
    lost = rests.sum(axis=-1)
    while terms.shape[-1] > 1:
        middle = terms.shape[-1] // 2
        odd = terms[..., 2 * middle :]
        terms, left = two_sum(terms[..., :middle], terms[..., middle : 2 * middle])
        lost = lost + left.sum(axis=-1)
        terms = np.concatenate([terms, odd], axis=-1)
    return terms[..., 0], lost
