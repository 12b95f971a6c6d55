"""Rows, or a column, made of stored cells whenever a part of them is read: nothing is written down a second time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.store.lots import LOT
from tacit.data.store.store import Block, View
from tacit.numerics.arrays import Codes, Floats
from tacit.numerics.by_part import Elsewhere
from tacit.numerics.spread import SpreadTable

_BYTES = 8


@final
@dataclass(frozen=True, eq=False)
class LazyRows(Elsewhere):
    """What a function of cleaned cells, each row by itself, makes of the rows of a view.

    A slice of it is an array. Every so manyth row (`[::step]`) is an array too if it takes at most `memory`/4 bytes.
    `width` is how many numbers a row has, None for a column.
    """

    view: View
    names: Sequence[str]
    make: Callable[[Block], Any]
    width: int | None
    memory: int
    step: int = 1

    def __len__(self) -> int:
        return -(-self.view.rows // self.step)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows there are, and how many numbers in each unless they are a column."""
        return (len(self),) if self.width is None else (len(self), self.width)

    @property
    def ndim(self) -> int:
        """How many dimensions: 1 for a column."""
        return len(self.shape)

    def __getitem__(self, rows: slice) -> "NDArray[Any] | LazyRows":
        start, stop, step = rows.indices(len(self))
        if step != 1:
            sample = replace(self, step=self.step * step)
            return sample if 4 * len(sample) * (self.width or 1) * _BYTES > self.memory else np.asarray(sample[:])
        # The rows between those of a sample are read as well, and at most a lot of them at a time.
        most = max(1, LOT // self.step)
        pieces = [self._made(each, min(each + most, stop)) for each in range(start, stop, most)]
        return pieces[0] if len(pieces) == 1 else np.concatenate([self._made(0, 0), *pieces])

    def _made(self, start: int, stop: int) -> NDArray[Any]:
        cells = self.view.block(self.names, start * self.step, (stop - 1) * self.step + 1, step=self.step)
        # Some features are made in single precision; whatever bounds a row's norm computes with doubles.
        return np.asarray(self.make(cells), dtype=np.float64)

    def take(self, rows: Codes) -> Floats:
        """Return the rows at some places."""
        found = np.empty((len(rows), *self.shape[1:]))
        for place, row in enumerate(rows.tolist()):
            found[place] = np.asarray(self[row : row + 1])[0]
        return found

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int | None) -> "LazyRows":
        """Return what a function makes of these rows, each by itself."""
        make = self.make
        return replace(self, make=lambda block: function(make(block)), width=width)


@final
@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Encoded rows elsewhere, of a norm of at most `data_norm`.

    `has_constant` says that the last column is the constant of a linear model, `filled` that no row has more numbers
    other than 0 than this.
    """

    rows: LazyRows | SpreadTable
    data_norm: float
    has_constant: bool
    filled: int


@final
@dataclass(frozen=True, eq=False)
class StreamedLabels:
    """The classes of such rows: their names, and for each row the place of its class among them."""

    places: Elsewhere
    names: tuple[str, ...]
