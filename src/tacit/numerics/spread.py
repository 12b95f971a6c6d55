"""Tables of doubles whose rows are kept elsewhere, on the nodes of a cluster: sums come back, rows do not."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import Computed, Elsewhere

TARGET, SHARE, WEIGHT = -3, -2, -1
"""What stands beside the features of a row of records: its target, its share of its person, and its weight."""


class SpreadTable(ABC):
    """A table in lots of rows; every 8th row of each lot, every 64th and so on can be had by themselves."""

    shape: tuple[int, int]

    @property
    def width(self) -> int:
        """How many numbers a row has, those beside the features left out."""
        return self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def every(self, step: int) -> "SpreadTable":
        """Return about every so manyth row: as many samples of samples as that takes."""

    @abstractmethod
    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int) -> "SpreadTable":
        """Return a table of what a function of rows, each by itself, makes of them; what stands beside them stays."""

    @abstractmethod
    def together(self, job: Callable[[Floats], Floats]) -> Floats:
        """Return `job` of all rows as one table, on one of the nodes: for samples of few rows."""

    @abstractmethod
    def sum(self, job: Callable[[Floats], Floats]) -> Floats:
        """Return the sum of `job(lot)` over all lots, each a table with what stands beside the features.

        Assumes: the job is a plain function, the same for whoever repeats it. Sums are added with compensation, in any
        order and grouping; a lot whose sum is lost is summed again and counted once.
        """


@final
@dataclass(frozen=True, eq=False)
class SpreadColumn(Elsewhere):
    """A column that stands beside the features of such a table, counted from its end."""

    table: SpreadTable | None
    place: int

    @property
    def shape(self) -> tuple[int]:
        """One number for each row."""
        return (len(self),)

    def __len__(self) -> int:
        return 0 if self.table is None else len(self.table)

    def __getitem__(self, rows: slice) -> Self:
        assert self.table is not None
        assert (rows.start, rows.stop) == (None, None)
        return type(self)(self.table.every(rows.step), self.place)


def plain(column: Any) -> Any:
    """Return a column without its table, as it may travel."""
    return beside(column, None)


def beside(column: Any, table: Any) -> Any:
    """Return a column beside the rows of another table, which were made of those that it stood beside."""
    if isinstance(column, SpreadColumn):
        return SpreadColumn(table, column.place)
    if isinstance(column, Computed):
        return Computed(column.function, tuple(beside(each, table) for each in column.columns))
    return column


def in_lot(column: Any, lot: Floats) -> NDArray[Any] | None:
    """Return a column's part within one lot."""
    if isinstance(column, SpreadColumn):
        return np.ascontiguousarray(lot[:, column.place])
    if isinstance(column, Computed):
        return column.function(*(in_lot(each, lot) for each in column.columns))
    if column is not None:
        raise TypeError("a column in memory has no part of a lot that is elsewhere")
    return None
