"""Whether two tables have so much in common that they are taken for the same records.

Compared are marks of some combinations of values, of many sets of columns: of those that one record has alone, and of
those that several have. How many of them unrelated tables have in common is estimated from each table by itself.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
from scipy import special

from tacit.data.values import AnyArray
from tacit.numerics.arrays import Codes
from tacit.service.sketches import Sketch

Marks = npt.NDArray[np.uint32]
MARK = np.dtype("<u4")
_RARE = 1e-9
"""So unlikely by chance is what two sets of columns have in common where they are taken for those of one table."""


@final
@dataclass(frozen=True)
class SetMarks:
    """What is kept of a set of columns: marks of combinations there once and often, in order, and what is usual.

    `chance` is how likely one that is often is so in an unrelated table, `expected` how many of those there once are in
    one of as many `rows`; `reach` is the share of all combinations that is kept.
    """

    rows: float
    reach: float
    chance: float
    expected: float
    once: Marks
    often: Marks

    @classmethod
    def of(cls, sketch: Sketch, found: tuple[float, float], rows: int, marks: Marks) -> Self:
        """Keep what a sketch says, and the shares of its combinations that are due to the columns."""
        chance, expected, says = sketch.evidence(found)
        return cls(rows / sketch.unit, sketch.reach, chance, expected, marks[says], marks[~sketch.once])

    @classmethod
    def read(cls, plain: Sequence[Any]) -> Self:
        """Read what `plain` wrote."""
        once, often = (np.frombuffer(base64.b64decode(each), dtype=MARK) for each in plain[4:])
        rows, reach, chance, expected = plain[:4]
        return cls(rows, reach, chance, expected, once, often)

    def plain(self) -> list[Any]:
        """Return the same as JSON."""
        marks = (base64.b64encode(each.tobytes()).decode("ascii") for each in (self.once, self.often))
        return [self.rows, self.reach, self.chance, self.expected, *marks]

    def once_as(self, other: "SetMarks", shared: int) -> float:
        """Return how likely two unrelated tables have so many of the combinations that are once in each in common."""
        large, small = (self, other) if self.rows >= other.rows else (other, self)
        part = min(1.0, small.reach / large.reach) * small.rows / large.rows
        return float(special.pdtrc(shared - 1.0, large.expected * part))

    def often_as(self, other: "SetMarks", withins: Sequence[int]) -> float:
        """Return how likely as many are as often in both, at the least likely of the marks that are shared."""
        shared = np.arange(1, len(withins) + 1)
        chance = min(1.0, max(self.chance, other.chance))
        return float(special.bdtrc(shared - 1.0, np.sort(withins), chance).min())


def are_alike(mine: Sequence[SetMarks], theirs: Sequence[SetMarks]) -> bool:
    """Whether some set of columns of a table has more in common with one of another's than chance would have it."""
    once = _shared([each.once for each in mine], [each.once for each in theirs])
    often = _shared([each.often for each in mine], [each.often for each in theirs])
    return any(mine[at].once_as(theirs[there], len(found)) < _RARE for (at, there), found in once.items()) or any(
        mine[at].often_as(theirs[there], found) < _RARE for (at, there), found in often.items()
    )


def _shared(mine: Sequence[Marks], theirs: Sequence[Marks]) -> dict[tuple[int, int], list[int]]:
    """Return, for each two sets with common marks, how many could be common up to each, as the shorter of them goes."""
    one, other = _in_one(mine), _in_one(theirs)
    known_at, found = defaultdict(list), defaultdict(list)
    for mark, there, place in _rows_of(other, np.isin(other[0], one[0])):
        known_at[mark].append((there, place))
    for mark, at, place in _rows_of(one, np.isin(one[0], other[0])):
        for there, another in known_at[mark]:
            found[at, there].append(1 + min(place, another))
    return found


def _in_one(sets: Sequence[Marks]) -> tuple[Marks, Codes, Codes]:
    """Return all marks, each with its set and its place there."""
    sizes = np.array([len(each) for each in sets], dtype=np.intp)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    marks = np.concatenate([np.zeros(0, dtype=MARK), *sets])
    return marks, np.repeat(np.arange(len(sets)), sizes), np.arange(len(marks)) - starts


def _rows_of(columns: tuple[AnyArray, ...], where: AnyArray) -> Iterable[tuple[Any, ...]]:
    return zip(*(each[where].tolist() for each in columns), strict=True)
