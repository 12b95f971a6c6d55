"""Records of one reading that are too many for memory: their cleaned cells in a private file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tacit.data.parts import Slice
from tacit.data.sources.table import BLOCK, Block, Table
from tacit.noise import unique_name
from tacit.numerics.arrays import Floats
from tacit.numerics.disk import Allowance, DiskWriter

if TYPE_CHECKING:
    from tacit.data.records import Records


@final
class HeldTable(Table):
    """What one reading of records found, to be read again in the same order.

    Assumes: cleaned cells are floats, or whole numbers that a float holds: places of levels, and keys below 2^31.
    """

    steady = True
    tells_mismatches = False

    def __init__(self, records: "Records") -> None:
        above, room = records.table, records.room
        self.stored, self.columns, self.ordered = above.stored, above.columns, above.ordered
        self.identity = unique_name()
        names = tuple(self.columns)
        if records.unit is None:
            room.check_disk(records.n, len(names))
        self._types: dict[str, np.dtype[Any]] = {}
        # What the declared size refused would tell how many rows persons have.
        allowance = Allowance(room.disk) if records.unit is None else Allowance()
        with DiskWriter(len(names), room.kept, samples=False, allowance=allowance) as writer:
            for block in records.blocks(names):
                self._types = {name: block[name].dtype for name in names}
                writer.append(np.column_stack([block[name].astype(np.float64) for name in names]))
        self._rows = writer.done()
        self.n = len(self._rows)

    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Read the cells back, a block at a time."""
        places = {name: place for place, name in enumerate(self.columns)}
        for start in range(0, self.n, BLOCK):
            rows = np.asarray(self._rows[start : start + BLOCK])
            if part is not None:
                # Parts of records without a place are fixed by key.
                rows = rows[part.chosen(rows[:, places[str(key)]].astype(np.int64))]
            yield {name: rows[:, places[name]].astype(self._types[name]) for name in names}

    def mismatches(self, part: Slice | None, key: str | None, unit: str | None = None) -> Floats:
        """Refuse: how cells fared is known where the records are."""
        raise NotImplementedError("tells_mismatches says so")

    def size(self, part: Slice | None, key: str | None) -> int:
        """Count the records of a part."""
        return self.n if part is None else sum(len(block[str(key)]) for block in self.blocks((str(key),), part, key))
