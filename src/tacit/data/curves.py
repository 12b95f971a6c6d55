"""A number as a curve: its straight line, and hats that bend it.

A declared scale is a line from -1 to 1. Knots lie evenly on it, both ends among them. Each knot between the ends has a
hat, a piecewise-linear bump: the middle knot's hat falls to 0 at the ends of the scale, those of the knots in the
middle of either half at the ends of their half, and so on. Line, hats and the constant together are all piecewise-
linear functions on the knots; the first hats bend the whole line, the last ones a single place. With the share 1, a
hat over knots l < m < r is sqrt(4 (m - l)(r - m)/((r - l)(k - 1))) high, and then

    code(s) . code(t) = 1 - 2 |s - t|    for knots s and t on a scale of length 1

(the hats are those of Levy's Brownian bridge, whose covariance is min(s, t) - s t; the line adds (2s - 1)(2t - 1)). So
the code of a number has norm 1 at every knot and at most 1 between two, as the line alone has at the ends: hats are
not paid for with a longer row, and a coarse curve keeps its hats when knots are added between.

A smaller share lowers all hats: the model then prefers the line, the more so the smaller the share.
"""

import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from tacit.checks import finite_number
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats

MOST_KNOTS = 257
"""More than one number in a declared scale of this many parts is no longer a curve."""


@final
@dataclass(frozen=True)
class Curves:
    """How many knots the declared scale of a number has, ends included, and how high the hats are: 1 at most.

    2 knots are the straight line.
    """

    knots: int
    share: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", _checked_knots(self.knots))
        share = finite_number("share", self.share)
        if not 0 < share <= 1:
            raise InvalidParameter(f"share must lie above 0 and be at most 1, got {self.share!r}.")
        object.__setattr__(self, "share", share)

    @property
    def plain(self) -> int | tuple[int, float]:
        """What asks for these curves in plain values."""
        return self.knots if self.share == 1 else (self.knots, self.share)

    def among(self, levels: int) -> "Curves":
        """Return the same curves on a scale of this many places only: no more knots than there are places."""
        return Curves(min(self.knots, levels), self.share)

    @property
    def overlap(self) -> int:
        """How many hats are above 0 at one point at most: each but the first stands within one half of another."""
        return (self.knots - 2).bit_length()

    def names(self, name: str) -> tuple[str, ...]:
        """Name the hats of a column, from left to right."""
        return tuple(f"{name}~{knot}" for knot in range(1, self.knots - 1))

    def hats(self, line: Floats) -> Floats:
        """Return the heights of all hats at points between -1 and 1; each row depends on its point alone."""
        places = (line + 1.0) * (0.5 * (self.knots - 1))
        heights = np.empty((len(line), self.knots - 2))
        # Each operation rounds cell by cell: a cell's height is the same wherever the cell stands.
        for knot, left, right, height in _tree(self.knots):
            up = (places - left) / (knot - left)
            down = (right - places) / (right - knot)
            heights[:, knot - 1] = np.maximum(np.minimum(up, down), 0.0) * (height * self.share)
        return heights


def curves_of(asked: object) -> Curves | None:
    """Return the curves that were asked for by a number of knots, or by it and a share; None for straight lines."""
    if asked is False or asked is None:
        return None
    if isinstance(asked, list | tuple) and len(asked) == 2:
        return Curves(asked[0], asked[1])
    return asked if isinstance(asked, Curves) else Curves(_checked_knots(asked))


def with_curve(line: Floats, curves: Curves | None) -> Floats:
    """Return a line with its hats beside it, as columns of norm at most 1 together."""
    return line if curves is None else np.hstack([line, curves.hats(line[:, 0])])


def product(first: Floats, second: Floats, largest: float) -> Floats:
    """Return every product of a number of one code with one of another, divided by `largest`: of norm at most 1.

    Two curves together are a surface over the grid of their knots.
    """
    scale = 1.0 / largest
    columns = [first[:, [one]] * second * scale for one in range(first.shape[1])]
    return np.hstack(columns) if columns else np.empty((len(first), 0))


def checked_pairs(asked: object, known: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return declared pairs of different columns, each once; refuse what is no such pair."""
    if asked is None:
        return ()
    pairs = list(asked) if isinstance(asked, list | tuple) else [asked]
    found: dict[frozenset[str], tuple[str, str]] = {}
    for pair in pairs:
        names = tuple(pair) if isinstance(pair, list | tuple) else (pair,)
        if len(names) != 2 or not all(isinstance(name, str) and name in known for name in names):
            raise InvalidParameter(
                f"interactions must be pairs of declared input columns, such as [('age', 'hours')], got {pair!r}."
            )
        if names[0] == names[1] or frozenset(names) in found:
            raise InvalidParameter(f"interactions must be pairs of different columns, each pair once, got {pair!r}.")
        found[frozenset(names)] = names
    return tuple(found.values())


@lru_cache(maxsize=64)
def _tree(knots: int) -> tuple[tuple[int, int, int, float], ...]:
    """Return each knot between the ends with the knots where its hat ends, and its height."""
    found: list[tuple[int, int, int, float]] = []
    open_parts = [(0, knots - 1)]
    while open_parts:
        left, right = open_parts.pop()
        if right - left > 1:
            knot = (left + right) // 2
            height = math.sqrt(4 * (knot - left) * (right - knot) / ((right - left) * (knots - 1)))
            found.append((knot, left, right, height))
            open_parts += [(left, knot), (knot, right)]
    return tuple(sorted(found))


def _checked_knots(knots: object) -> int:
    """Return a declared number of knots; refuse what makes no curve."""
    try:
        count = 0 if isinstance(knots, bool) else operator.index(knots)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if not 2 <= count <= MOST_KNOTS:
        raise InvalidParameter(
            f"the number of knots of a curve must be a whole number from 2 to {MOST_KNOTS}, both ends of the scale "
            f"among them, got {knots!r}. Ask for 3 to 33, or for curves=False."
        )
    return count
