"""How many rows each person has, counted some rows at a time: for tables whose rows are too many for memory."""

from typing import final

import numpy as np

from tacit.data.persons import shares_of
from tacit.data.values import MISSING_KEY
from tacit.numerics.arrays import Floats, Integers

_FEWEST = 2**20
"""How many ids wait at least until they are counted."""


@final
class CountedPersons:
    """The rows of each person: a dozen bytes for a person, and none for a row.

    Guarantee: `n` and `weights` are those of `Persons` of all ids together.
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

    def weights(self, ids: Integers) -> Floats:
        """Return the weights of some of the rows that were counted, given their ids."""
        self._count()
        known = ids != MISSING_KEY
        rows = np.ones(len(ids), dtype=np.int64)
        rows[known] = self._rows[np.searchsorted(self._ids, ids[known].astype(np.int32))]
        return shares_of(rows)
