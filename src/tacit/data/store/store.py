"""Records that were read once: cleaned cells, lot by lot, and what is publicly known about them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar, final

import numpy as np

from tacit.data.columns import Column
from tacit.data.counted import CountedPersons
from tacit.data.parts import Slice
from tacit.data.persons import shares_of
from tacit.data.schema import Schema
from tacit.data.store.lots import LOT, ROWS_OF_OWNER, Lots, widened
from tacit.data.stored import Stored
from tacit.data.values import AnyArray
from tacit.numerics.arrays import Codes, Floats, Integers, Truths
from tacit.numerics.spread import SpreadTable
from tacit.numerics.threads import added, threads

Block = Mapping[str, AnyArray]
"""Some records, cleaned: an array for each column, all of the same length."""
Answer = TypeVar("Answer")

STEPS = 2**20
"""Into how many steps one person is cut: the steps of less than 2^33 persons are added up exactly."""


class Cluster(Protocol):
    """Where work is done on rows that lie on a cluster's storage: by the nodes of that cluster."""

    def each(self, view: "View", work: Callable[["View", int], Answer]) -> list[Answer]:
        """Return what some work makes of the rows of a view in each file, and of how many rows lie in files before."""

    def encoded(self, view: "View", names: Sequence[str], make: Callable[[Block], Floats], width: int) -> SpreadTable:
        """Return a table of what a function makes of blocks, kept there: features, then what stands beside them."""


@final
@dataclass(frozen=True, eq=False)
class Store:
    """The cells of all declared columns, behind the cleaning step, and nothing else of a table.

    Guarantee: whatever can fail because of a record failed when the table was read; what is read from here depends
    on nothing but what was cleaned then, and the source is never looked at again.
    Assumes: nothing.
    Reference: docs/guarantees.md, "Records".

    `name` is the text by which ledgers know these records. `where` says in words where the cells lie. With a unit the
    number of rows of each row's person stands beside the columns, under `ROWS_OF_OWNER`. With a `cluster` all work on
    many rows is done there.
    """

    columns: Mapping[str, Column]
    stored: Mapping[str, Stored]
    lots: Lots
    ordered: bool
    name: str
    where: str
    unit: str = ""
    persons: CountedPersons | None = None
    path: Any = None
    cluster: Cluster | None = None

    @cached_property
    def starts(self) -> Integers:
        """The place of each lot's first row among all rows, and at the end the number of rows."""
        return np.cumsum([0, *self.lots.lengths])

    @property
    def rows(self) -> int:
        """How many rows there are: private where persons own them."""
        return int(self.starts[-1])


@final
@dataclass(frozen=True, eq=False)
class View:
    """Some rows of a store, in the order in which they were read: all of them, or those with a bit in `marks`.

    `owners` are the persons whose rows they are, if persons are the unit.
    """

    store: Store
    marks: tuple[AnyArray, ...] | None = None
    owners: CountedPersons | None = None

    @cached_property
    def starts(self) -> Integers:
        """The place of each lot's first row among the rows of this view, and at the end their number."""
        if self.marks is None:
            return self.store.starts
        return np.cumsum([0, *(int(np.bitwise_count(marks).sum()) for marks in self.marks)])

    @property
    def rows(self) -> int:
        """How many rows there are: private where persons own them."""
        return int(self.starts[-1])

    @property
    def n(self) -> int:
        """How many records there are, or persons: public."""
        return self.rows if self.persons is None else self.persons.n

    @property
    def persons(self) -> CountedPersons | None:
        """Whose rows these are."""
        return self.store.persons if self.marks is None else self.owners

    def within(self, part: Slice) -> "View":
        """Return the rows of a part of a whole table."""
        persons = self.store.persons

        def chosen(lot: int, start: int, length: int) -> Truths:
            if part.key is None:
                return part.chosen(np.arange(start, start + length, dtype=np.int64))
            return part.chosen(self.store.lots.cells(lot, part.key, 0, length).astype(np.int64))

        return self._marked(chosen, None if persons is None else persons.among(part.chosen))

    def of_slots(self, slots: Truths) -> "View":
        """Return the rows of some slots: of records by their place, of persons by the place of their id among all ids.

        Rows without an id are one slot, the last.
        """
        persons = self.persons

        def chosen(lot: int, start: int, length: int) -> Truths:
            if persons is not None:
                ids = self.store.lots.cells(lot, self.store.unit, 0, length)
                return np.asarray(slots[persons.places(ids)])
            if self.marks is None:
                return slots[start : start + length]
            inside = self._inside(lot)
            inside[inside] = slots[self.starts[lot] : self.starts[lot + 1]]
            return inside

        def kept(ids: Integers) -> Truths:
            assert persons is not None
            return np.asarray(slots[persons.places(ids)])

        return self._marked(chosen, None if persons is None else persons.among(kept))

    def _marked(self, chosen: Callable[[int, int, int], Truths], owners: CountedPersons | None) -> "View":
        """Return the rows of this view that are chosen, lot by lot."""
        found = []
        for lot, start in enumerate(self.store.starts[:-1].tolist()):
            marks = np.packbits(chosen(lot, start, self.store.lots.lengths[lot]))
            found.append(marks if self.marks is None else marks & self.marks[lot])
        return View(self.store, tuple(found), owners)

    def _inside(self, lot: int) -> Truths:
        """Return which rows of a lot are in the view."""
        assert self.marks is not None
        return np.unpackbits(self.marks[lot], count=self.store.lots.lengths[lot]).astype(np.bool_)

    def blocks(self, names: Sequence[str], most: int = LOT) -> Iterator[Block]:
        """Yield the cells of some columns, so many rows at a time; nobody can write into them."""
        for start in range(0, self.rows, most):
            yield self.block(names, start, min(start + most, self.rows))

    def block(self, names: Sequence[str], start: int, stop: int, *, step: int = 1, whole: bool = True) -> Block:
        """Return the cells of some columns from one row to another, each or every so manyth, as they were cleaned.

        They have eight bytes each. With `whole=False` places of levels, and numbers of rows, are as narrow as their
        declaration allows.
        """
        if start >= stop:
            return {name: self.store.lots.cells(0, name, 0, 0) for name in names}
        first, last = np.searchsorted(self.starts, [start, stop - 1], side="right") - 1
        ends = self.starts[first : last + 2]
        pieces = [
            self._within(lot, names, max(start - low, 0), min(stop, high) - low, min(start - low, 0) % step, step)
            for lot, low, high in zip(range(first, last + 1), ends.tolist(), ends[1:].tolist(), strict=False)
        ]
        joined = pieces[0] if len(pieces) == 1 else {n: np.concatenate([each[n] for each in pieces]) for n in names}
        found = {name: widened(cells, whole=whole) for name, cells in joined.items()}
        for cells in found.values():
            cells.flags.writeable = False
        return found

    def _within(
        self, lot: int, names: Sequence[str], start: int, stop: int, first: int, step: int
    ) -> dict[str, AnyArray]:
        """Return the cells of the rows of a lot that are in the part, between two of them every so manyth."""
        lots = self.store.lots
        if self.marks is None:
            return {name: lots.cells(lot, name, start, stop)[first::step] for name in names}
        places = np.flatnonzero(self._inside(lot))[start:stop][first::step]
        if not len(places):
            return {name: lots.cells(lot, name, 0, 0) for name in names}
        low, high = int(places[0]), int(places[-1]) + 1
        return {name: lots.cells(lot, name, low, high)[places - low] for name in names}

    def sum(
        self, work: Callable[[Block, int, int], Sequence[Integers]], names: Sequence[str], most: int
    ) -> list[Integers]:
        """Return the sums, over all blocks of so many rows, of the arrays that some work makes of each.

        It gets the cells, and from which row to which they are. Of no rows there are no sums.
        """
        if self.store.cluster is not None:
            return added(self.store.cluster.each(self, partial(_sums_of, work, names, most)))
        return _sums_of(work, names, most, self, 0)

    def column(self, name: str) -> AnyArray:
        """Return all cells of a column."""
        return np.concatenate([block[name] for block in self.blocks((name,))])

    def labels(self, schema: Schema) -> AnyArray:
        """Return the target of every record: the name of its class, None where it has none, or a number."""
        cells = self.column(str(schema.target))
        return np.array([*schema.classes, None], dtype=object)[cells] if schema.classes else cells

    def taken(self, places: Codes) -> "View":
        """Return the rows at some places, in this order, copied into memory."""
        lots = Lots()
        names = [*self.store.columns, *([] if self.persons is None else [ROWS_OF_OWNER])]
        whole = {name: self.column(name)[places] for name in names}
        for start in range(0, len(places), LOT):
            some = {name: cells[start : start + LOT] for name, cells in whole.items()}
            lots.add(len(places[start : start + LOT]), some, {})
        return View(replace(self.store, lots=lots, path=None, persons=self.persons, cluster=None))

    def weights(self) -> Floats | None:
        """Return for each row 1/k, rounded down, if its person has k rows; None where each record is by itself."""
        return shares_of(self.column(ROWS_OF_OWNER)) if self.store.unit else None

    def mismatches(self, names: Sequence[str]) -> Floats:
        """Count, for each column, the cells that were missing and those beyond its declaration, in a row each.

        Where persons are the unit each counts as the share of their rows, rounded down to whole `STEPS`.
        """
        if self.store.cluster is not None:
            return np.asarray(np.sum(self.store.cluster.each(self, lambda view, _: view.mismatches(names)), axis=0))
        total, lots = np.zeros((len(names), 2), dtype=np.int64), self.store.lots
        persons = bool(self.store.unit)
        for lot in range(lots.count):
            length = lots.lengths[lot]
            shares = STEPS // lots.cells(lot, ROWS_OF_OWNER, 0, length).astype(np.int64) if persons else None
            for place, name in enumerate(names):
                states = lots.states(lot, name)
                if states is None:
                    continue
                if self.marks is not None:
                    states = states * self._inside(lot)
                for kind in (1, 2):
                    there = states == kind
                    total[place, kind - 1] += np.count_nonzero(there) if shares is None else shares[there].sum()
        return total / (STEPS if persons else 1)


def _sums_of(
    work: Callable[[Block, int, int], Sequence[Integers]], names: Sequence[str], most: int, view: View, before: int
) -> list[Integers]:
    """Return what `View.sum` does, of the rows of a view that lie here, some rows before which lie elsewhere."""
    bounds = [(start, min(start + most, view.rows)) for start in range(0, view.rows, most)]
    with threads(view.rows * len(names)) as workers:
        return workers.added(
            lambda each: work(view.block(names, *each, whole=False), before + each[0], before + each[1]), bounds
        )
