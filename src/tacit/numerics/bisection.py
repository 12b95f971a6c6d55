"""Bisection, the only one: between a place where a condition holds and one where it does not."""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Truths

Place = TypeVar("Place", int, float)


def bisect(
    holds: Callable[[Place], bool],
    inside: Place,
    outside: Place,
    *,
    between: Callable[[Place, Place], Place] | None = None,
    steps: int = 10**4,
) -> tuple[Place, Place]:
    """Return two neighbouring places of which `holds` is true at the first alone.

    It is taken to hold at `inside` and not at `outside`, on either side of it, and asked in between, half way or where
    `between` says, at most `steps` times.
    """
    for _ in range(steps):
        if between is not None:
            middle = between(inside, outside)
        else:
            middle = (inside + outside) // 2 if isinstance(inside, int) else (inside + outside) / 2
        if not min(inside, outside) < middle < max(inside, outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def bisect_all(holds: Callable[[Floats], Truths], inside: Floats, outside: Floats, steps: int) -> Floats:
    """Return where many conditions still hold, each as near to its `outside` as bisections take so many steps to find.

    As `bisect`, whose first place this is, for all places at once.
    """
    for _ in range(steps):
        middle = (inside + outside) / 2
        holding = holds(middle)
        inside, outside = np.where(holding, middle, inside), np.where(holding, outside, middle)
    return inside


def fewest(
    enough: Callable[[int], bool],
    *,
    most: float = math.inf,
    otherwise: str = "",
    between: Callable[[int, int], int] | None = None,
) -> int:
    """Return the smallest whole number that is enough, as all larger ones are; refuse where none up to `most` is.

    `otherwise` is what the refusal says; `between` is as for `bisect`.
    """
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            raise InvalidParameter(otherwise)
    return bisect(enough, high, low, between=between)[0]
