"""Sketches: which combinations of values a table has, and how often, told by a few of them.

Of all different combinations those with the least hashes are kept. A table that has some of another's rows has the
same combinations among its least, as far as they are in both.
"""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from tacit.data.columns import Column, Moment, Number, days
from tacit.data.values import AnyArray
from tacit.numerics.arrays import Floats

Words = npt.NDArray[np.uint64]
SIZE = 128
"""How many combinations are kept of each set of columns."""
_SPARSE = 0.01
"""Numbers that fill a larger share of the places between them may be a count of rows, of days or of months."""
_DECIMALS = 6


@final
class Sketch:
    """The least hashes of all that were added, in order, each with how often it was, and a cell that it stands for."""

    def __init__(self) -> None:
        self.hashes: Words = np.zeros(0, dtype=np.uint64)
        self.times: Floats = np.zeros(0)
        self._cells: Floats = np.zeros(0)

    def add(self, hashes: Words, cells: AnyArray) -> None:
        """Count some more. What was left out once has too large a hash for good: all counts are exact."""
        if len(self.hashes) == SIZE:
            low = hashes <= self.hashes[-1]
            hashes, cells = hashes[low], cells[low]
        if len(self.hashes) and len(hashes):
            places = np.searchsorted(self.hashes, hashes).clip(max=len(self.hashes) - 1)
            here = self.hashes[places] == hashes
            self.times += np.bincount(places[here], minlength=len(self.hashes))
            hashes, cells = hashes[~here], cells[~here]
        if len(hashes):
            found, first, times = np.unique(hashes, return_index=True, return_counts=True)
            everything = np.concatenate([self.hashes, found])
            least = np.argsort(everything)[:SIZE]
            self.hashes = everything[least]
            self.times = np.concatenate([self.times, times])[least]
            self._cells = np.concatenate([self._cells, cells[first]])[least]

    def shared_by_chance(self) -> float:
        """Return a bound on how likely other records of the same kind have a combination just as often.

        No number of records drawn independently has a combination c times with a chance above (2 pi c)**-0.5. Those
        that occur once come up again about as often as two are alike among these (Good and Turing).
        """
        if not len(self.times):
            return 1.0
        once, twice = (int(np.count_nonzero(self.times == each)) for each in (1, 2))
        chances = 1.0 / np.sqrt(2.0 * math.pi * self.times)
        if once:
            chances[self.times == 1] = min(chances.max(), (2 * twice + 1) / once)
        return float(chances.mean())

    def shared_with(self, other: "Sketch") -> float:
        """Return the share of the combinations that another sketch has, too, and as often."""
        reach = other.hashes[-1] if len(other.hashes) == SIZE else np.uint64(2**64 - 1)
        within = self.hashes <= reach
        theirs = dict(zip(other.hashes.tolist(), other.times.tolist(), strict=True))
        mine = zip(self.hashes[within].tolist(), self.times[within].tolist(), strict=True)
        return float(sum(theirs.get(each) == times for each, times in mine) / max(1, int(within.sum())))

    def shared_by_rule(self, column: Column) -> float:
        """Return how likely another column that counts something has a value just as often: as ids, days or levels."""
        _, alike = np.unique(self.times, return_counts=True)
        pairs = len(self.times) * (len(self.times) - 1)
        equal = float((alike * (alike - 1)).sum() / pairs) if pairs else 1.0
        return 0.0 if self._is_sparse(column) else equal

    def _is_sparse(self, column: Column) -> bool:
        """Whether the cells are numbers with few in the places between them, told from those that are kept."""
        if not isinstance(column, Number | Moment):
            return False
        rest = float(column.fallback) if isinstance(column, Number) else float(days(np.int64(column.fallback)))
        bounds = (column.low, column.high) if isinstance(column, Number) else map(float, days(np.array(column.ends)))
        cells = self._cells[~np.isin(self._cells, [rest, *bounds])]
        if isinstance(column, Moment):
            if np.all(cells == np.rint(cells)):
                return False
            cells = cells * 86_400.0
        for decimals in range(_DECIMALS):
            scaled = cells * 10.0**decimals
            whole = np.rint(scaled)
            if len(whole) and np.abs(whole).max() < 2.0**53 and np.all(np.abs(scaled - whole) < 1e-4):
                steps = np.diff(np.unique(whole)).astype(np.int64)
                places = 1 + steps.sum() / max(1, int(np.gcd.reduce(steps)))
                return bool(self._different() < _SPARSE * places)
        return len(cells) > 0

    def _different(self) -> float:
        """Return about how many different combinations there are in all."""
        full = len(self.hashes) == SIZE
        return (SIZE - 1) / (float(self.hashes[-1]) / 2.0**64) if full else float(len(self.hashes))
