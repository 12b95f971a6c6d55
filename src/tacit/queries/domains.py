"""Features with finitely many values, declared and never read off the records.

Every value of a feature has one of the codes 0, 1, ..., whatever it is, so that the codes of one feature divide the
records. The same code is computed from a cell in memory (`encode`) and from a column of an engine (`code`), by
comparisons alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.columns import Number
from tacit.data.levels import Levelled, Ordinal
from tacit.data.schema import Schema
from tacit.data.values import AnyArray, numbers, text
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import checked_whole
from tacit.queries.learner import as_number
from tacit.queries.query import checked_range

__all__ = ["Cut", "Encoded", "Feature", "Named", "declared_features"]

Codes = NDArray[np.intp]


class Feature(ABC):
    """One column whose values have finitely many codes."""

    name: str
    """The column."""
    size: int
    """How many codes there are."""
    ordered: bool
    """Whether codes next to each other are alike."""

    @abstractmethod
    def encode(self, values: AnyArray) -> Codes:
        """Return the code of every value."""

    @abstractmethod
    def code(self, table: Any) -> Any:
        """Return the expression for the code over a table that an engine reads."""

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Return the expression for whether a record has a code, or one up to it: true or false of every record."""
        found = self.code(table)
        return found <= code if up_to else found == code

    @abstractmethod
    def says(self, code: int, *, up_to: bool = False) -> str:
        """Put into words that a record has a code, or one up to it."""


@final
@dataclass(frozen=True)
class Encoded:
    """A feature whose codes are in a column already."""

    column: str

    def code(self, table: Any) -> Any:
        """Return the column."""
        return table[self.column]

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Compare the column."""
        return table[self.column] <= code if up_to else table[self.column] == code


@final
@dataclass(frozen=True)
class Cut(Feature):
    """A number, whose code is how many of some edges lie below it; a missing one counts as `missing`."""

    name: str
    edges: tuple[float, ...]
    missing: float = 0.0
    ordered: bool = True

    @property
    def size(self) -> int:  # type: ignore[override]
        """One more than there are edges."""
        return len(self.edges) + 1

    def encode(self, values: AnyArray) -> Codes:
        """Count the edges below every value."""
        return np.searchsorted(self.edges, np.nan_to_num(numbers(values), nan=self.missing), side="left")

    def code(self, table: Any) -> Any:
        """Count the edges below the column."""
        number = as_number(table[self.name]).fill_null(self.missing)
        steps = [(number > edge).ifelse(1, 0) for edge in self.edges]
        return sum(steps[1:], steps[0])

    def test(self, table: Any, code: int, *, up_to: bool = False) -> Any:
        """Compare the column with the edges around a code."""
        number = as_number(table[self.name]).fill_null(self.missing)
        below = number <= self.edges[code] if code < len(self.edges) else None
        above = number > self.edges[code - 1] if code > 0 and not up_to else None
        return above if below is None else below if above is None else above & below

    def says(self, code: int, *, up_to: bool = False) -> str:
        """Name the edges around a code."""
        if up_to or code == 0:
            return f"{self.name} <= {self.edges[code]:g}"
        below = f"{self.name} > {self.edges[code - 1]:g}"
        return below if code == self.size - 1 else f"{self.edges[code - 1]:g} < {self.name} <= {self.edges[code]:g}"


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

    def encode(self, values: AnyArray) -> Codes:
        """Return the place of every value's level."""
        return np.asarray(self.column.classify(values) % self.size)

    def code(self, table: Any) -> Any:
        """Compare the column with every spelling of every level."""
        column = table[self.name]
        code: Any = self.column.unknown % self.size
        for place, spellings in reversed(list(enumerate(self.column.spellings))):
            for spelling in spellings:
                condition = _is(column, spelling)
                code = code if condition is None else condition.ifelse(place, code)
        return code

    def says(self, code: int, *, up_to: bool = False) -> str:
        """Name the level."""
        levels = (*self.column.classes, "anything else")
        return f"{self.name} up to {levels[code]}" if up_to else f"{self.name} is {levels[code]}"


def declared_features(
    names: Sequence[str],
    *,
    schema: Schema | None = None,
    levels: int | Sequence[int] | None = None,
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
    bins: int = 8,
) -> tuple[Feature, ...]:
    """Return the features as declared: by a schema, as codes below `levels`, or as numbers within `bounds`.

    Without a declaration features are two-valued, true where they are above 0. Numbers are cut into `bins` of equal
    width, on a logarithmic scale where the schema says so.
    """
    if sum(declared is not None for declared in (schema, levels, bounds)) > 1:
        raise InvalidParameter("declare features in one way: by a schema, by levels or by bounds.")
    width = checked_whole("bins", bins)
    if schema is not None:
        if not isinstance(schema, Schema):
            raise InvalidParameter(f"schema must be a tacit.Schema, got {type(schema).__name__}.")
        return tuple(_of_column(name, schema.columns[name], width) for name in schema.features)
    if levels is not None:
        sizes = _for_each(names, levels if isinstance(levels, Sequence | np.ndarray) else [levels] * len(names))
        wholes = [checked_whole("each of levels", size) for size in sizes]
        return tuple(
            Cut(name, tuple(np.arange(0.5, max(size, 2) - 1).tolist()), ordered=False)
            for name, size in zip(names, wholes, strict=True)
        )
    if bounds is not None:
        pairs = _for_each(names, [bounds] * len(names) if np.ndim(bounds) == 1 else bounds)
        return tuple(
            _of_number(name, Number(*checked_range(*pair)), width) for name, pair in zip(names, pairs, strict=True)
        )
    return tuple(Cut(name, (0.0,)) for name in names)


def _for_each(names: Sequence[str], declared: Sequence[Any]) -> Sequence[Any]:
    if len(declared) != len(names):
        raise InvalidParameter(f"{len(declared)} features are declared, but there are {len(names)}.")
    return declared


def _of_column(name: str, column: Any, bins: int) -> Feature:
    return _of_number(name, column, bins) if isinstance(column, Number) else Named(name, column)


def _of_number(name: str, number: Number, bins: int) -> Cut:
    """Cut the range of a number into bins; a missing value goes to its declared place, or to the middle."""
    shares = np.arange(1, max(bins, 2)) / max(bins, 2)
    width = number.high - number.low
    if number.log:
        edges = number.low + np.expm1(shares * math.log1p(width))
        middle = number.low + math.expm1(math.log1p(width) / 2)
    else:
        edges, middle = number.low + shares * width, number.low + width / 2
    return Cut(name, tuple(edges.tolist()), middle if number.missing is None else number.missing)


def _is(column: Any, spelling: str) -> Any:
    """Return the condition that a cell reads as a level, or None if cells of this type cannot."""
    kind = column.type() if hasattr(column, "type") else None
    if kind is not None and kind.is_string():
        return column == spelling
    if kind is not None and kind.is_boolean():
        return {"true": column, "false": ~column}.get(spelling)
    try:
        number = float(spelling)
    except ValueError:
        return None
    return column == number if text(number) == spelling else None
