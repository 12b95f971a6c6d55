"""Records as one reading found them, for whoever needs them twice in the same order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, final

import numpy as np

from tacit.data.columns import Key
from tacit.data.parts import Slice
from tacit.data.sources.table import BLOCK, Block, Table
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.data.records import Records


@final
class HeldTable(Table):
    """The cleaned cells of some records, of a part if they are one, read once.

    Rows of a database have no fixed place. Features of one reading beside labels of another would belong to different
    records, and replacing one record would then change two of these pairs.
    """

    ordered = True

    def __init__(self, records: "Records") -> None:
        table = records.table
        self.stored, self.identity = table.stored, table.identity
        self.columns = {name: column for name, column in table.columns.items() if not isinstance(column, Key)}
        blocks = list(records.blocks(tuple(self.columns)))
        self._cells = {name: np.concatenate([block[name] for block in blocks]) for name in self.columns}
        self.n = len(next(iter(self._cells.values())))

    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Cut the columns into blocks."""
        for start in range(0, self.size(part, key), BLOCK):
            yield {name: self._cells[name][start : start + BLOCK] for name in names}

    def mismatches(self, part: Slice | None, key: str | None) -> "np.typing.NDArray[np.float64]":
        """Refuse: how cells fared is not held."""
        raise InvalidParameter("mismatches are counted where the records are: ask the records that these were read of.")

    def size(self, part: Slice | None, key: str | None) -> int:
        """Return the number of records; they have no parts."""
        if part is not None:
            raise InvalidParameter("records that are held have no parts. Split the records that they were read of.")
        return self.n
