"""Lots of rows: the cells of some columns of at most `LOT` rows, each column in the narrowest type that has it exactly.

Where a lot lies, in memory or in a file, changes nothing of what is read from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tacit.data.columns import Column, Moment, Number, State
from tacit.data.levels import Levelled
from tacit.data.values import AnyArray

LOT = 65_536
"""How many rows a lot has; the last one has the rest."""
ROWS_OF_OWNER = ""
"""Stands among the columns for the number of rows of a row's person: no declared column is called nothing."""

_FEW = 64


def narrow_type(column: Column) -> np.dtype[Any] | None:
    """Return the smallest whole numbers that hold a column's cells, by its declaration; None for floats."""
    if isinstance(column, Number | Moment):
        return None
    # Keys are below 2^31.
    return np.min_scalar_type(-len(column.classes) - 1) if isinstance(column, Levelled) else np.dtype(np.int32)


def narrowed(cells: AnyArray, kind: np.dtype[Any] | None) -> AnyArray:
    """Return the same cells in fewer bytes: whole numbers as declared, floats in four bytes if those have them all."""
    if kind is not None:
        return cells.astype(kind, copy=False)
    with np.errstate(all="ignore"):
        few = cells[:_FEW]
        if not np.array_equal(few.astype(np.float32), few):
            return cells
        narrow = cells.astype(np.float32)
        return narrow if np.array_equal(narrow, cells) else cells


def widened(cells: AnyArray, *, whole: bool = True) -> AnyArray:
    """Return cells as they were cleaned, in eight bytes, so that nobody's arithmetic overflows or rounds.

    In how few bytes floats are kept follows from all cells of a lot: arithmetic on those would tell of other records.
    That of whole numbers follows from the declaration: with `whole=False` they stay as they are.
    """
    if cells.dtype.kind == "f":
        return cells.astype(np.float64, copy=False)
    return cells.astype(np.int64, copy=False) if whole else cells


@final
@dataclass(frozen=True)
class Filed:
    """Cells in a file, private or packed: where they begin there, how many there are, and their type."""

    file: Any
    start: int
    count: int
    kind: np.dtype[Any]

    def __getitem__(self, rows: slice) -> AnyArray:
        start, stop, _ = rows.indices(self.count)
        found: AnyArray = self.file.read(self.start + start * self.kind.itemsize, max(0, stop - start), self.kind)
        found.flags.writeable = False
        return found


Kept = AnyArray | Filed


@final
@dataclass(eq=False)
class Lots:
    """The cells of a table, lot by lot; each column of a lot is kept by itself, so that a question reads its own.

    `kept` has, for each lot and column, the cells, and how each fared, None if all as declared. `file` is where more
    are put: memory, if there is none. In memory they take `size` bytes.
    """

    file: Any = None
    lengths: list[int] = field(default_factory=list)
    kept: list[dict[str, tuple[Kept, Kept | None]]] = field(default_factory=list)
    size: int = 0

    @property
    def count(self) -> int:
        """How many lots there are."""
        return len(self.lengths)

    def cells(self, lot: int, name: str, start: int, stop: int) -> AnyArray:
        """Return the cells of a column within a lot, as they are kept; nobody can write into them."""
        return self.kept[lot][name][0][start:stop]

    def states(self, lot: int, name: str) -> State | None:
        """Return how each cell of a column within a lot fared, None if all as declared."""
        states = self.kept[lot][name][1]
        return None if states is None else states[:]

    def add(self, length: int, cells: Mapping[str, AnyArray], states: Mapping[str, State | None]) -> None:
        """Append a lot."""
        self.lengths.append(length)
        self.kept.append({})
        for name, column in cells.items():
            self.add_column(self.count - 1, name, column, states.get(name))

    def add_column(self, lot: int, name: str, cells: AnyArray, states: State | None = None) -> None:
        """Put one more column beside a lot's."""
        self.kept[lot][name] = self._put(cells), None if states is None else self._put(states)

    def move(self, file: Any) -> None:
        """Put all cells into a file, and all that come after them."""
        self.file, lots = file, self.kept
        self.kept = [{} for _ in lots]
        for lot, columns in enumerate(lots):
            for name in columns:
                cells, states = columns[name]
                self.add_column(lot, name, cells[:], None if states is None else states[:])

    def _put(self, cells: AnyArray) -> Kept:
        if self.file is not None:
            return Filed(self.file, self.file.append(cells), len(cells), cells.dtype)
        cells.flags.writeable = False
        self.size += cells.nbytes
        return cells
