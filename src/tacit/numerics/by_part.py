"""Columns that are computed part by part, because they are not in memory as a whole."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

from numpy.typing import NDArray


class Elsewhere:
    """Rows that are not in memory."""


@final
@dataclass(frozen=True, eq=False)
class Computed(Elsewhere):
    """A column computed from others, of which one at least is not in memory: part by part, whenever a part is read."""

    function: Callable[..., NDArray[Any]]
    columns: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each row."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, rows: slice) -> "NDArray[Any] | Self":
        parts = tuple(column[rows] for column in self.columns)
        if any(isinstance(part, Elsewhere) for part in parts):
            return type(self)(self.function, parts)
        return self.function(*parts)


def by_part(function: Callable[..., NDArray[Any]], *columns: Any) -> Any:
    """Return a function of columns, row by row: at once where all are in memory, else whenever a part is read."""
    if any(isinstance(column, Elsewhere) for column in columns):
        return Computed(function, columns)
    return function(*columns)
