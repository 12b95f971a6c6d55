"""Encoded rows that are too many for memory: in a private file, or on the nodes of a cluster."""

from dataclasses import dataclass
from typing import final

from tacit.numerics.disk import DiskArray, Elsewhere
from tacit.numerics.spread import SpreadTable


@final
@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Encoded rows elsewhere, clipped to a norm of at most `data_norm` when they were written.

    `has_constant` says that the last column is the constant of a linear model, `filled` that no row has more numbers
    other than 0 than this.
    """

    rows: DiskArray | SpreadTable
    data_norm: float
    has_constant: bool
    filled: int


@final
@dataclass(frozen=True, eq=False)
class StreamedLabels:
    """The classes of such rows: their names, and for each row the place of its class among them."""

    places: Elsewhere
    names: tuple[str, ...]
