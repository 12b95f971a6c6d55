"""How many rows each person has, counted some rows at a time: for tables whose rows are too many for memory."""

from collections.abc import Callable
from typing import final

import numpy as np

from tacit.data.values import MISSING_KEY, AnyArray
from tacit.numerics.arrays import Codes, Integers, Truths

_FEWEST = 2**20
"""How many ids wait at least until they are counted."""


@final
class CountedPersons:
    """The rows of each person: a dozen bytes for a person, and none for a row.

    Guarantee: `n` and `rows` are those of `Persons` of all ids together.
    Assumes: as `Persons`.
    Reference: persons.md, "Weights".
    """

    def __init__(self) -> None:
        # Keys are below 2^31.
        self._ids, self._rows = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        self._waiting: list[Integers] = []
        self._missing = 0

    def add(self, ids: Integers) -> None:
        """Count the rows of some ids, as `tacit.data.values.keys` reads them."""
        known = ids[ids != MISSING_KEY]
        self._missing += len(ids) - len(known)
        self._waiting.append(known.astype(np.int32))
        if sum(map(len, self._waiting)) > max(_FEWEST, len(self._ids) // 4):
            self._count()

    def _count(self) -> None:
        """Count the ids that wait, so that what is known stays in order."""
        if not self._waiting:
            return
        ids, rows = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting = []
        self._insert(ids, rows)

    def merge(self, other: "CountedPersons") -> None:
        """Count the rows that were counted elsewhere, too."""
        self._count()
        other._count()
        self._missing += other._missing
        self._insert(other._ids, other._rows)

    def _insert(self, ids: AnyArray, rows: Integers) -> None:
        """Put ids in their order, and how many rows each has, among those before."""
        places = np.searchsorted(self._ids, ids)
        there = places < len(self._ids)
        there[there] = self._ids[places[there]] == ids[there]
        self._rows[places[there]] += rows[there]
        self._ids = np.insert(self._ids, places[~there], ids[~there])
        self._rows = np.insert(self._rows, places[~there], rows[~there])

    @property
    def n(self) -> int:
        """How many persons there are; a row without an id is a person of its own."""
        self._count()
        return len(self._ids) + self._missing

    def among(self, chosen: Callable[[Integers], Truths]) -> "CountedPersons":
        """Return those of the persons whose ids are chosen."""
        self._count()
        found, kept = CountedPersons(), chosen(self._ids.astype(np.int64))
        found._ids, found._rows = self._ids[kept], self._rows[kept]
        found._missing = self._missing * int(chosen(np.array([MISSING_KEY]))[0])
        return found

    def places(self, ids: Integers) -> Codes:
        """Return the place of each of some ids among all, those that are missing or not here at the last one."""
        self._count()
        found = np.searchsorted(self._ids, ids)
        there = found < len(self._ids)
        there[there] = self._ids[found[there]] == ids[there]
        return np.where(there, found, len(self._ids))

    @property
    def named(self) -> int:
        """How many persons have an id."""
        self._count()
        return len(self._ids)

    def rows(self, ids: Integers) -> Integers:
        """Return how many rows the person of each of some rows has, given their ids."""
        self._count()
        known = ids != MISSING_KEY
        rows = np.ones(len(ids), dtype=np.int64)
        rows[known] = self._rows[np.searchsorted(self._ids, ids[known].astype(np.int32))]
        return rows
