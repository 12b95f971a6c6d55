"""Reading records once: every batch of a source is cleaned and put into the store, or the table is refused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from tacit.data.columns import Column, Ignored, State
from tacit.data.counted import CountedPersons
from tacit.data.file_form import FileForm
from tacit.data.frames import check_lengths, read_table
from tacit.data.readers.source import Source
from tacit.data.schema import Schema
from tacit.data.store.lots import LOT, ROWS_OF_OWNER, Lots, narrow_type, narrowed
from tacit.data.store.private_file import PrivateFile
from tacit.data.store.store import Store
from tacit.data.stored import check_declared
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.numerics.progress import told_rows

Cleaned = tuple[AnyArray, State]


def read_store(source: Source, schema: Schema, *, unit: str | None, memory: int, name: str | None = None) -> Store:
    """Read a source to its end, clean it, and return the store.

    Guarantee: the only moment at which anything about a source, a cell or a size can fail; refusals quote no cell.
    Assumes: this is done by whoever owns the records, before any budget.
    Reference: docs/guarantees.md, "Records".
    """
    declared = {each: column for each, column in schema.columns.items() if not isinstance(column, Ignored)}
    check_declared(declared, source.stored)
    if not declared:
        raise InvalidParameter("all declared columns are ignored. Declare what at least one of them means.")
    writer = StoreWriter(declared, memory)
    persons = None if unit is None else CountedPersons()
    for batch in _read(source, tuple(declared)):
        length, cleaned = clean_batch(batch, declared, schema.form)
        if persons is not None:
            persons.add(cleaned[str(unit)][0])
        elif source.rows is not None:
            told_rows(min(writer.rows + length, source.rows), source.rows)
        writer.add(length, cleaned)
    lots = writer.done()
    if persons is not None:
        add_owners(lots, str(unit), persons)
    # Which of the two follows from how many rows persons have, and from which cells fit into few bytes.
    where = "memory, or a private file without a name"
    known = name or source.name or unique_name()
    return Store(declared, source.stored, lots, source.ordered, known, where, unit or "", persons)


def clean_batch(batch: Any, columns: Mapping[str, Column], form: FileForm) -> tuple[int, dict[str, Cleaned]]:
    """Return how many rows a batch has, and its cleaned columns."""
    cells = read_table(batch, (), tuple(columns))
    cleaned: dict[str, Cleaned] = {name: cells[name].cleaned(column, form) for name, column in columns.items()}
    return check_lengths((values for values, _ in cleaned.values()), 0), cleaned


def add_owners(lots: Lots, unit: str, persons: CountedPersons) -> None:
    """Put the number of rows of each row's person beside the rows."""
    for lot in range(lots.count):
        ids = lots.cells(lot, unit, 0, lots.lengths[lot]).astype(np.int64)
        lots.add_column(lot, ROWS_OF_OWNER, persons.rows(ids))


def _read(source: Source, names: Sequence[str]) -> Iterator[Any]:
    """Yield the batches that have rows; of a failure in words of its own nothing but its type is told."""
    failure, batches = None, source.read(names)
    while True:
        try:
            batch = next(batches, None)
        except InvalidParameter:
            raise
        except Exception as error:
            failure = type(error).__name__
        if failure is not None:
            raise InvalidParameter(
                f"the records cannot be read ({failure}). What was said is withheld, as it may quote them."
            )
        if batch is None:
            return
        yield batch


@final
class StoreWriter:
    """Cuts cleaned cells into lots: of a file, or of memory as long as they fit there, then of a private file."""

    def __init__(self, columns: Mapping[str, Column], memory: int, file: Any = None) -> None:
        self._columns, self._memory, self.rows = columns, memory, 0
        self._lots = Lots(file)
        self._waiting: dict[str, list[Cleaned]] = {name: [] for name in columns}
        self._count = 0

    def add(self, length: int, cleaned: Mapping[str, Cleaned]) -> None:
        """Take the cells of some rows, of any number."""
        start = 0
        while start < length:
            stop = min(length, start + LOT - self._count)
            for name, (cells, states) in cleaned.items():
                self._waiting[name].append((cells[start:stop], states[start:stop]))
            self._count += stop - start
            if self._count == LOT:
                self._write()
            start = stop
        self.rows += length

    def _write(self) -> None:
        """Append what waits as a lot."""
        cells, states = {}, {}
        for name, column in self._columns.items():
            pieces = self._waiting[name]
            whole, fared = pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
            few = narrowed(whole, narrow_type(column))
            cells[name] = few.copy() if few.base is not None else few
            states[name] = fared.copy() if fared.any() else None
            self._waiting[name] = []
        self._lots.add(self._count, cells, states)
        self._count = 0
        if self._lots.file is None and self._lots.size > self._memory:
            self._lots.move(PrivateFile())

    def done(self) -> Lots:
        """Return all lots."""
        if self._count:
            self._write()
        if not self._lots.count:
            raise InvalidParameter("a table needs at least one record, got 0.")
        return self._lots
