"""Which rows belong to which person, and how much a row counts so that a person never counts more than one record."""

import re
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from tacit.accounting.unit import GROUPS, Unit
from tacit.data.cells import column_of
from tacit.data.file_form import BLANKS
from tacit.data.values import MISSING_KEY, AnyArray, has_no_keys, keys, text
from tacit.errors import InvalidParameter, OddTerms
from tacit.numerics.arrays import Codes, Floats, Integers

_WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")


@final
@dataclass(frozen=True, eq=False)
class Persons:
    """The owner of every row, as a number below `n`, the number of persons.

    Guarantee: `weights` are functions of a person's own rows, at most 1, and add up to at most 1 over one person in
    exact arithmetic.
    Assumes: ids belong to the persons: a replaced person keeps their id. Persons under one id count as one.
    Reference: persons.md.

    Numbers follow the ids, not the order of the rows. A row without an id is a person of its own, with a number from
    `named` on, which does follow it. `whom` has the name of the column of ids.
    """

    owners: Integers
    n: int
    named: int
    whom: Unit = GROUPS

    @classmethod
    def given(cls, groups: object) -> "Persons | None":
        """Read a column of ids cell by cell, as keys; None for none."""
        if groups is None or isinstance(groups, cls):
            return groups
        listed = hasattr(groups, "__len__") or hasattr(groups, "__array__")
        if getattr(groups, "ndim", 1) != 1 or isinstance(groups, str | bytes) or not listed:
            raise InvalidParameter("groups must be one column: the id of a person for each row.")
        ids = column_of(groups)
        warn_of_ids(ids)
        return cls.of(keys(ids), whose(groups))

    @classmethod
    def of(cls, ids: Integers, whom: Unit = GROUPS) -> Self:
        """Number the persons whose ids these are, as `tacit.data.values.keys` reads them."""
        missing = ids == MISSING_KEY
        known, places = np.unique(ids[~missing], return_inverse=True)
        owners = np.empty(len(ids), dtype=np.int64)
        owners[~missing] = places
        owners[missing] = np.arange(len(known), len(known) + int(missing.sum()))
        return cls(owners, len(known) + int(missing.sum()), len(known), whom)

    def of_rows(self, rows: Codes) -> Self:
        """Return the persons of some of the rows, all of whose rows they are."""
        owners = self.owners[rows]
        known, places = np.unique(owners, return_inverse=True)
        return type(self)(places.astype(np.int64), len(known), int((known < self.named).sum()), self.whom)

    @cached_property
    def weights(self) -> Floats:
        """1/k for every row of a person with k rows, rounded down: k times 1/k as a double may exceed 1."""
        return np.asarray(shares_of(self.rows)[self.owners])

    @cached_property
    def rows(self) -> Integers:
        """How many rows each person has: private."""
        return np.bincount(self.owners, minlength=self.n)

    @property
    def divisors(self) -> Integers:
        """How many rows the person of each row has."""
        return np.asarray(self.rows[self.owners])

    def means(self, steps: Integers) -> Integers:
        """Return how many of so many steps each row has: as many as others of its person, together no more than all."""
        sums = np.zeros(self.n, dtype=np.int64)
        np.add.at(sums, self.owners, steps)
        return np.asarray(sums // np.maximum(self.rows, 1))

    def parts(self, steps: int) -> Integers:
        """Return how many of so many steps each row has: all of a person's have as many, together no more than all."""
        return np.asarray((steps // np.maximum(self.rows, 1))[self.owners])


@final
@dataclass(frozen=True, eq=False)
class OwnedRows:
    """The rows of `n` persons: how much each counts, and how many rows its person has, where that is in memory."""

    weights: Any
    n: int
    whom: Unit
    divisors: Integers | None = None


def whose(groups: object) -> Unit:
    """Return the persons of a column of ids beside an array: by the name of a Series that has one, else by `groups`."""
    if isinstance(groups, Persons):
        return groups.whom
    name = getattr(groups, "name", None)
    return Unit.persons(name) if isinstance(name, str) and name else GROUPS


def warn_of_ids(ids: AnyArray) -> None:
    """Warn of ids, which are public, that make two persons of one human, or one of many; which they are is not said.

    Two persons are a whole number and a text that spells it, and two texts that spell it with more or fewer zeros:
    some readers of files make texts of a part of a column. One person are all ids that are no ids.
    """
    if _has_two_spellings(ids):
        _warn(
            "some id is there in two spellings, as 2 and '2', or '2' and '002', would be. Those are two persons: one "
            "human under both is protected half as much. Read the column of ids as one type, and spell each in one way."
        )
    if has_no_keys(ids):
        _warn(
            "some ids cannot be told apart: they are neither whole numbers nor texts, UUIDs, bytes or dates, or cannot "
            "be read. All their rows count as those of one person. Make a text of each id."
        )


def _has_two_spellings(ids: AnyArray) -> bool:
    """Whether a whole number is an id both as a number and as a text, or as two texts."""
    cells = ids.tolist() if ids.dtype.kind in "OUT" else []
    texts = {cell.strip(BLANKS) for cell in cells if type(cell) is str}
    others = {text(cell) or "" for cell in cells if type(cell) is not str}
    spelled = [Decimal(each) for each in texts if _WHOLE.fullmatch(each)]
    numbers = {Decimal(each) for each in others if _WHOLE.fullmatch(each)}
    return len(set(spelled)) < len(spelled) or not numbers.isdisjoint(spelled)


def _warn(words: str) -> None:
    warnings.warn(f"odd terms: {words}", OddTerms, stacklevel=3)


def share_of(rows: int) -> float:
    """Return the largest double that is at most 1/rows; no row at all shares nothing."""
    if rows == 0:
        return 0.0
    share = 1.0 / rows
    return share if Fraction(share) * rows <= 1 else float(np.nextafter(share, 0.0))


def shares_of(rows: Integers) -> Floats:
    """Return the share of each of some rows, given how many rows its person has."""
    counts, places = np.unique(rows, return_inverse=True)
    return np.asarray(np.array([share_of(int(count)) for count in counts])[places])
