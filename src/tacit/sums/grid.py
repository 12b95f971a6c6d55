"""Contributions in whole steps: a few float operations, and sums that are exact.

A float between 2^52 g and 2^53 g is a whole multiple of g, so adding 2^52 g to a smaller number and taking it away
again rounds it to whole multiples of g (ties to even), without a multiplication that could underflow. n multiples
that stay below 2^52 g together are added without any rounding, in any order.
"""

import math
from dataclasses import dataclass
from typing import Any, final

TINY = 1e-140
"""What is nearer to 0 counts as 0 before it is squared: nothing may underflow over it."""

TOGETHER = 64
"""So many squares are added one after the other, and then such sums."""


def steps_for(n: int) -> float:
    """Return how many steps a share has: a power of two that leaves room for an exact sum of n shares in a float."""
    return 2.0 ** max(8, min(40, 52 - n.bit_length()))


@final
@dataclass(frozen=True)
class Grid:
    """The range of a number, cut into whole steps.

    `high` is the range's upper end, or if the width is no whole number of steps, just so much less that what lies
    below it cannot be rounded out of the range.
    """

    low: float
    high: float
    width: float
    step: float

    @property
    def shift(self) -> float:
        """What rounds numbers below the width to whole steps."""
        return 2.0**52 * self.step

    @classmethod
    def over(cls, low: float, high: float, n: int) -> "Grid":
        """Cut a range into as many steps as n records allow."""
        width = high - low
        # The smallest power of two that is no smaller than that.
        mantissa, exponent = math.frexp(width / steps_for(n))
        step = math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
        top = math.floor(width / step) * step
        inside = min(high, low + top)
        while inside - low > top:
            inside = math.nextafter(inside, low)
        return cls(low, inside, width, step)


def rounded(value: Any, shift: Any) -> Any:
    """Return a value (of arrays, or an expression) in whole steps."""
    return (value + shift) - shift


def factor_steps(n: int) -> float:
    """Return how many steps a factor of a product has: a power of two, so that products have at most `steps_for`."""
    return 2.0 ** (int(math.log2(steps_for(n))) // 2)


def row_shift(steps: float) -> float:
    """Return what rounds numbers between -1 and 1 to whole steps."""
    return 1.5 * 2.0**52 / steps
