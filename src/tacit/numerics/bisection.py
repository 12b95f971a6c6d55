"""Bisection, the only one: between a place where a condition holds and one where it does not."""

from collections.abc import Callable
from typing import Any, TypeVar

Number = TypeVar("Number", int, float)


def bisect(
    holds: Callable[[Number], bool],
    inside: Number,
    outside: Number,
    *,
    between: Callable[[Number, Number], Number] | None = None,
    steps: int = 10**4,
    width: float = 0,
) -> tuple[Number, Number]:
    """Return two neighbouring places, or two at most `width` apart, of which `holds` is true at the first alone.

    It is taken to hold at `inside` and not at `outside`, on either side of it, and asked in between, half way or where
    `between` says, at most `steps` times.
    """
    for _ in range(steps):
        middle = _halfway(inside, outside) if between is None else between(inside, outside)
        if not min(inside, outside) < middle < max(inside, outside) or abs(outside - inside) <= width:
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def _halfway(inside: Number, outside: Number) -> Any:
    both = inside + outside
    return both // 2 if isinstance(both, int) else both / 2
