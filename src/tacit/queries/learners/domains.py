"""Features with finitely many values, declared and never read off the records.

Every value of a feature has one of the codes 0, 1, ..., whatever it is, so that the codes of one feature divide the
records. The same code is computed from a cell in memory (`encode`) and from a cleaned column (`code`), by
comparisons alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.checks import whole_number
from tacit.data.columns import Column, Moment, Number, day_number
from tacit.data.levels import Levelled, Ordinal
from tacit.data.schema import Schema
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes
from tacit.sums.language.expression import constant, number
from tacit.sums.query import checked_ranges


class Feature(ABC):
    """One column whose values have finitely many codes."""

    name: str
    """The column."""
    size: int
    """How many codes there are."""
    ordered: bool
    """Whether codes next to each other are alike."""

    @abstractmethod
    def place(self, cleaned: AnyArray) -> Codes:
        """Return the code of every cleaned cell."""

    def encode(self, values: AnyArray) -> Codes:
        """Return the code of every cell."""
        column: Column | None = getattr(self, "column", None)
        return self.place(values if column is None else column.clean(values)[0])

    @abstractmethod
    def code(self, table: Any) -> Any:
        """Return the expression for the code over a table that an evaluator reads."""

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Return the expression for whether a record has a code, or one up to it: true or false of every record."""
        found = self.code(table)
        return found <= code if up_to else found == code

    @abstractmethod
    def says(self, code: int, *, up_to: bool = False) -> str:
        """Put into words that a record has a code, or one up to it."""

    def denies(self, code: int, *, up_to: bool = False) -> str:
        """Put into words that a record has none of these."""
        return f"not ({self.says(code, up_to=up_to)})"


@final
@dataclass(frozen=True)
class CodeColumn:
    """A column of a matrix that has the codes of a feature already, `size` of them."""

    name: str
    size: int

    def code(self, table: Any) -> Any:
        """Return the column as it is: it holds codes."""
        return table[self.name]

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Say where the code is this one, or one up to it."""
        return table[self.name] <= code if up_to else table[self.name] == code


@final
@dataclass(frozen=True)
class Cut(Feature):
    """A number, whose code is how many of some edges lie below it; `column` cleans it, if it is declared as one."""

    name: str
    edges: tuple[float, ...]
    column: Number | Moment | None = None
    ordered: bool = True

    @property
    def size(self) -> int:  # type: ignore[override]
        """One more than there are edges."""
        return len(self.edges) + 1

    def place(self, cleaned: AnyArray) -> Codes:
        """Count the edges below every value."""
        return np.searchsorted(self.edges, cleaned, side="left")

    def code(self, table: Any) -> Any:
        """Count the edges below the column."""
        value = number(table[self.name])
        steps = [(value > constant(edge)).ifelse(1, 0) for edge in self.edges]
        return sum(steps[1:], steps[0])

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Compare the column with the edges around a code."""
        value = number(table[self.name])
        below = value <= constant(self.edges[code]) if code < len(self.edges) else None
        above = value > constant(self.edges[code - 1]) if code > 0 and not up_to else None
        return above if below is None else below if above is None else above & below

    def says(self, code: int, *, up_to: bool = False) -> str:
        """Name the edges around a code."""
        if up_to or code == 0:
            return f"{self.name} <= {self._edge(code)}"
        below = f"{self.name} > {self._edge(code - 1)}"
        return below if code == self.size - 1 else f"{self._edge(code - 1)} < {self.name} <= {self._edge(code)}"

    def denies(self, code: int, *, up_to: bool = False) -> str:
        """Name the edge that a value lies beyond, where there is one."""
        if up_to or code == 0:
            return f"{self.name} > {self._edge(code)}"
        return f"{self.name} <= {self._edge(code - 1)}" if code == self.size - 1 else f"not ({self.says(code)})"

    def _edge(self, place: int) -> str:
        if not isinstance(self.column, Moment):
            return f"{self.edges[place]:g}"
        return str(np.datetime64(int(self.edges[place]), "D"))


@final
@dataclass(frozen=True)
class Named(Feature):
    """A declared column with levels, whose code is the level's place; the last one is for values not declared."""

    name: str
    column: Levelled

    @property
    def size(self) -> int:  # type: ignore[override]
        """The declared levels, and one more unless one of them takes in the rest."""
        return len(self.column.classes) + (self.column.unknown < 0)

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Whether the levels have an order and every value a level."""
        return isinstance(self.column, Ordinal) and self.column.unknown >= 0

    def place(self, cleaned: AnyArray) -> Codes:
        """Return the place of every value's level."""
        return np.asarray(cleaned % self.size)

    def code(self, table: Any) -> Any:
        """Return the place of the level."""
        place = table[self.name].code
        return (place < 0).ifelse(self.size - 1, place) if self.column.unknown < 0 else place

    def says(self, code: int, *, up_to: bool = False) -> str:
        """Say in words which levels a code, or the codes up to it, stand for."""
        levels = (*self.column.classes, "anything else")
        return f"{self.name} up to {levels[code]}" if up_to else f"{self.name} is {levels[code]}"

    def denies(self, code: int, *, up_to: bool = False) -> str:
        """Say in words which levels it is not."""
        levels = (*self.column.classes, "anything else")
        return f"{self.name} above {levels[code]}" if up_to else f"{self.name} is not {levels[code]}"


def declared_features(
    names: Sequence[str],
    *,
    schema: Schema | None = None,
    levels: int | Sequence[int] | None = None,
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
    bins: int = 8,
    columns: Mapping[str, Column] | None = None,
) -> tuple[Feature, ...]:
    """Return the features as declared: by a schema, as codes below `levels`, or as numbers within `bounds`.

    `columns` are the declarations of the records that will be asked, if these have any. Without a declaration features
    are two-valued, true where they are above 0. Numbers are cut into `bins` of equal width, on a logarithmic scale
    where the schema says so.
    """
    if sum(declared is not None for declared in (schema, levels, bounds)) > 1:
        raise InvalidParameter("declare features in one way: by a schema, by levels or by bounds.")
    width = whole_number("bins", bins)
    if schema is not None:
        if not isinstance(schema, Schema):
            raise InvalidParameter(f"schema must be a tacit.Schema, got {type(schema).__name__}.")
        return tuple(_of_column(name, schema.columns[name], width) for name in schema.features)
    if levels is not None:
        sizes = _for_each(names, levels if isinstance(levels, Sequence | np.ndarray) else [levels] * len(names))
        wholes = [whole_number("each of levels", size) for size in sizes]
        return tuple(
            Cut(name, tuple(np.arange(0.5, max(size, 2) - 1).tolist()), ordered=False)
            for name, size in zip(names, wholes, strict=True)
        )
    if bounds is not None:
        pairs = checked_ranges(bounds)
        ranges = [Number(*pair) for pair in _for_each(names, pairs * len(names) if np.ndim(bounds) == 1 else pairs)]
        return tuple(_of_column(name, column, width) for name, column in zip(names, ranges, strict=True))
    if columns is not None:
        return tuple(_of_column(name, columns[name], width) for name in names)
    return tuple(Cut(name, (0.0,)) for name in names)


def _for_each(names: Sequence[str], declared: Sequence[Any]) -> Sequence[Any]:
    if len(declared) != len(names):
        raise InvalidParameter(f"{len(declared)} features are declared, but there are {len(names)}.")
    return declared


def _of_column(name: str, column: Column, bins: int) -> Feature:
    """Cut the range of a number, or the days of a moment, into bins; levels are codes already."""
    if isinstance(column, Levelled):
        return Named(name, column)
    shares = np.arange(1, max(bins, 2)) / max(bins, 2)
    if isinstance(column, Moment):
        low, high = day_number(column.low), day_number(column.high)
        edges = np.floor(low + shares * (high - low))
    else:
        assert isinstance(column, Number)
        width = column.high - column.low
        edges = column.low + (np.expm1(shares * math.log1p(width)) if column.log else shares * width)
    # Bins that are narrower than days, or than floats are apart, are one.
    return Cut(name, tuple(np.unique(edges).tolist()), column)
