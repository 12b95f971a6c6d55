"""Records in memory: every declared column cleaned when the table is opened, and nothing else kept."""

from collections.abc import Iterator, Mapping
from typing import final

import numpy as np

from tacit.data.columns import Column, Ignored
from tacit.data.parts import Slice
from tacit.data.sources.table import BLOCK, Block, Table
from tacit.data.stored import Stored, check_declared
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter


@final
class MemoryTable(Table):
    """Columns of cells, read once: what a caller does with theirs later changes nothing here."""

    def __init__(
        self,
        cells: Mapping[str, AnyArray],
        stored: Mapping[str, Stored],
        columns: Mapping[str, Column],
        identity: str,
        *,
        ordered: bool = True,
    ) -> None:
        self.stored, self.identity, self.ordered = dict(stored), identity, ordered
        self.columns = {name: column for name, column in columns.items() if not isinstance(column, Ignored)}
        check_declared(self.columns, self.stored)
        lengths = {len(cells[name]) for name in self.columns}
        if len(lengths) > 1:
            raise InvalidParameter(f"all columns of a table must be equally long, got lengths {sorted(lengths)!r}.")
        self.n = lengths.pop() if lengths else 0
        if not self.n:
            raise InvalidParameter("a table needs at least one record, got 0.")
        found = {name: column.clean(cells[name]) for name, column in self.columns.items()}
        self.cleaned: Block = {name: values for name, (values, _) in found.items()}
        self._states = {name: state for name, (_, state) in found.items()}

    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Cut the columns into blocks."""
        rows = self.rows(part, key)
        for start in range(0, self.n if rows is None else len(rows), BLOCK):
            some = slice(start, start + BLOCK) if rows is None else rows[start : start + BLOCK]
            yield {name: self.cleaned[name][some] for name in names}

    def mismatches(self, part: Slice | None, key: str | None) -> "np.typing.NDArray[np.float64]":
        """Count the states of every column."""
        rows = self.rows(part, key)
        chosen = [state if rows is None else state[rows] for state in self._states.values()]
        return np.array([np.bincount(state, minlength=3)[1:3] for state in chosen], dtype=np.float64)

    def size(self, part: Slice | None, key: str | None) -> int:
        """Count the places."""
        rows = self.rows(part, key)
        return self.n if rows is None else len(rows)

    def rows(self, part: Slice | None, key: str | None) -> "np.typing.NDArray[np.intp] | None":
        """Return the places of a part's records, or None for all of them."""
        if part is None:
            return None
        if part.by == "index":
            return np.flatnonzero(part.chosen(np.arange(self.n, dtype=np.int64)))
        assert key is not None
        return np.flatnonzero(part.chosen(self.cleaned[key]))
