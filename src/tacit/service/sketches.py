"""Sketches: which combinations of values a table has, and how often, told by a few of them.

Of all different combinations those with the least hashes are kept. A table that has some of another's rows has the
same combinations among its least, as far as they are in both.
"""

import math
from typing import final

import numpy as np
import numpy.typing as npt
from scipy import special

from tacit.data.columns import Column, Key, Moment, Number, days
from tacit.data.values import AnyArray
from tacit.numerics.arrays import Floats

Words = npt.NDArray[np.uint64]
SIZE = 1024
"""How many combinations are kept of each set of columns."""
_FILLED = 0.5
"""Where shuffled columns have more than this share of the rare combinations, the columns fill all there can be."""
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

    @property
    def unit(self) -> int:
        """How often the table has a record, if most combinations agree: each may be there twice, as after a join."""
        times, tables = np.unique(self.times, return_counts=True)
        return int(times[tables.argmax()]) if len(times) and 2 * tables.max() >= tables.sum() else 1

    @property
    def once(self) -> npt.NDArray[np.bool_]:
        """Which of the combinations one record has; the others are there often."""
        alone: npt.NDArray[np.bool_] = self.times == self.unit
        return alone

    @property
    def reach(self) -> float:
        """The share of all combinations that is kept."""
        return float(self.hashes[-1]) / 2.0**64 if len(self.hashes) == SIZE else 1.0

    def often_by_chance(self) -> float:
        """Return a bound on how likely other records of the same kind have a combination as often, on average.

        No number of records drawn independently has a combination c times with a chance above (2 pi c)**-0.5.
        """
        often = self.times[~self.once] / self.unit
        return float((1.0 / np.sqrt(2.0 * math.pi * np.maximum(often, 1.0))).mean()) if len(often) else 1.0

    def once_by_chance(self) -> float:
        """Return a bound on how many of the kept combinations of one record as many other records have once, too.

        Of a combination that is expected x times, once here and once there has a chance of at most x**2 exp(-x), twice
        here one of half as much: so there are twice as many as combinations that are there twice (Good and Turing).
        """
        twice = int(np.count_nonzero(self.times == 2 * self.unit))
        return 2.0 * (twice + 3.0 * math.sqrt(twice) + 5.0)

    def same_by_chance(self, rows: int, fixed: bool) -> float:
        """Return a bound on how likely as many other records have all combinations exactly as often.

        No records drawn independently have the counts c of n with a chance above n! / prod(c!) * prod((c / n)**c);
        where each must stand at its own id besides, `fixed`, there is but one order instead of n! / prod(c!). All
        may be there several times, as after a join.
        """
        each = max(1, int(np.gcd.reduce(self.times.astype(np.int64), initial=0)))
        times, all_of_them = self.times / each, rows / each
        counts = np.append(times, max(0.0, all_of_them - float(times.sum())))
        orders = 0.0 if fixed else special.gammaln(all_of_them + 1.0) - special.gammaln(counts + 1.0).sum()
        return float(np.exp(min(0.0, orders + special.xlogy(counts, counts / max(1.0, all_of_them)).sum())))

    def counts(self, column: Column) -> bool:
        """Whether the cells may count something, as rows or days do, so that each is there as often as the others."""
        return isinstance(column, Key) or (
            isinstance(column, Number | Moment) and bool(self.once.all()) and not self._is_sparse(column)
        )

    def found_in(self, shuffled: "Sketch") -> tuple[float, float]:
        """Return which shares of the combinations, often and once, the table has with each column shuffled.

        What is there often must be there as often; of what is there once any is found.
        """
        within = self.hashes <= (shuffled.hashes[-1] if len(shuffled.hashes) == SIZE else np.uint64(2**64 - 1))
        theirs = dict(zip(shuffled.hashes.tolist(), shuffled.times.tolist(), strict=True))
        found = np.array([theirs.get(each, 0.0) for each in self.hashes[within].tolist()])
        often, times = ~self.once[within], self.times[within]
        shares = (found[often] == times[often]), (found[~often] > 0.0)
        return float(shares[0].sum() / max(1, len(shares[0]))), float(shares[1].sum() / max(1, len(shares[1])))

    def found_by_rule(self, column: Column) -> tuple[float, float]:
        """Return the same of one column and another that counts something: as ids, days or levels."""
        if self._is_sparse(column):
            return 0.0, 0.0
        often = self.times[~self.once]
        _, alike = np.unique(often, return_counts=True)
        pairs = len(often) * (len(often) - 1)
        return float((alike * (alike - 1)).sum() / pairs) if pairs else 1.0, 1.0

    def evidence(self, found: tuple[float, float]) -> tuple[float, float, npt.NDArray[np.bool_]]:
        """Return how likely a combination is often by chance, how many are once, and which say anything if shared.

        `found` are the shares that are due to the columns.
        """
        often, once = found
        expected = max(self.once_by_chance(), once * int(self.once.sum()))
        return max(self.often_by_chance(), often), expected, self.once & (once < _FILLED)

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
