"""Records in memory: every declared column cleaned when the table is opened, and nothing else kept.

Or, for whoever needs records twice in the same order, as one reading found them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from tacit.data.columns import Column, Ignored
from tacit.data.frames import UnreadTable, check_lengths
from tacit.data.parts import Slice
from tacit.data.persons import Persons
from tacit.data.sources.table import BLOCK, STEPS, Block, Table
from tacit.data.stored import Stored, check_declared
from tacit.noise import unique_name
from tacit.numerics.arrays import Codes, Floats

if TYPE_CHECKING:
    from tacit.data.records import Records


@final
class MemoryTable(Table):
    """Columns of cells, read once: what a caller does with theirs later changes nothing here."""

    steady = True

    def __init__(
        self,
        table: UnreadTable,
        columns: Mapping[str, Column],
        identity: str,
        *,
        ordered: bool = True,
    ) -> None:
        self.stored = {name: each.stored for name, each in table.items()}
        self.identity, self.ordered = identity, ordered
        self.columns = {name: column for name, column in columns.items() if not isinstance(column, Ignored)}
        check_declared(self.columns, self.stored)
        found = {name: table[name].cleaned(column) for name, column in self.columns.items()}
        self.n = check_lengths(values for values, _ in found.values())
        self.cleaned: Block = {name: values for name, (values, _) in found.items()}
        self._states = {name: state for name, (_, state) in found.items()}

    @classmethod
    def of(cls, records: "Records", rows: "slice | Codes" = slice(None)) -> "MemoryTable":
        """Return some rows of records, by their place in one reading of them, as they were cleaned there.

        Rows of a database have no fixed place. Features of one reading beside labels of another would belong to
        different records, and replacing one record would then change two of these pairs.
        """
        table, above = object.__new__(cls), records.table
        table.stored, table.columns, table.ordered = above.stored, above.columns, above.ordered
        table.identity, table._states, table.tells_mismatches = unique_name(), {}, False
        blocks = list(records.blocks(tuple(above.columns)))
        table.cleaned = {name: np.concatenate([block[name] for block in blocks])[rows] for name in above.columns}
        table.n = len(next(iter(table.cleaned.values())))
        return table

    @classmethod
    def cleaned_before(
        cls, cells: Block, columns: Mapping[str, Column], stored: Mapping[str, Stored], identity: str, *, ordered: bool
    ) -> "MemoryTable":
        """Return cells that were cleaned under these columns before; how each fared is not known any more."""
        table = object.__new__(cls)
        table.stored, table.columns, table.identity, table.ordered = stored, columns, identity, ordered
        table.cleaned, table._states, table.tells_mismatches = cells, {}, False
        table.n = len(next(iter(cells.values())))
        return table

    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Cut the columns into blocks."""
        rows = self.rows(part, key)
        for start in range(0, self.n if rows is None else len(rows), BLOCK):
            some = slice(start, start + BLOCK) if rows is None else rows[start : start + BLOCK]
            yield {name: self.cleaned[name][some] for name in names}

    def mismatches(self, part: Slice | None, key: str | None, unit: str | None = None) -> Floats:
        """Count the states of every column; of rows of other records nothing is known of them."""
        rows = self.rows(part, key)
        chosen = [state if rows is None else state[rows] for state in self._states.values()]
        if unit is None:
            return np.array([np.bincount(state, minlength=3)[1:3] for state in chosen], dtype=np.float64)
        persons = Persons.of(self.cleaned[unit] if rows is None else self.cleaned[unit][rows])
        steps = [[persons.means(STEPS * (state == each)).sum() for each in (1, 2)] for state in chosen]
        return np.array(steps, dtype=np.float64) / STEPS

    def size(self, part: Slice | None, key: str | None) -> int:
        """Count the rows of a part."""
        rows = self.rows(part, key)
        return self.n if rows is None else len(rows)

    def rows(self, part: Slice | None, key: str | None) -> "Codes | None":
        """Return the places of a part's records, or None for all of them."""
        if part is None:
            return None
        if part.by == "index":
            return np.flatnonzero(part.chosen(np.arange(self.n, dtype=np.int64)))
        assert key is not None
        return np.flatnonzero(part.chosen(self.cleaned[key]))
