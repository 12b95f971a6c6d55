"""Statistical queries: bounded functions of one record, of which an oracle tells the average.

A query says what one record contributes and, by construction, how far replacing a record can move the sum:
`l1` and `l2`, counted in shares (1 is the whole range). The evaluator adds the contributions up; a query itself never
touches a record.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tacit.checks import finite_number
from tacit.data.columns import Column
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.sums.language.expression import Expression
from tacit.sums.language.names import Names
from tacit.sums.language.text import function_of

Function = Callable[[Any], Any]
_USUAL = (0.0, 1.0)


class Query(ABC):
    """What one record contributes to the answer: `size` numbers."""

    size: int
    """How many numbers the answer has."""
    l1: float
    """The most that replacing a record moves the sums, in L1 norm, in shares."""
    l2: float
    """The same in L2 norm."""
    unit: float
    """What one share is worth in the answer: the width of a range, a norm or its square."""
    spread: float
    """The range of what one record contributes to one number of the answer."""

    def rounding(self, steps: float) -> float:
        """Return by which factor whole steps can raise `l1` and `l2`: single shares never leave their range."""
        return 1.0

    def coarseness(self, steps: float) -> float:
        """Return by how much whole steps can move the answer: a share has at least half as many steps."""
        return self.spread / steps

    @abstractmethod
    def answer(self, shares: Floats) -> Any:
        """Turn the (noisy) mean shares into the answer."""


@final
@dataclass(frozen=True)
class StatisticalQuery(Query):
    """The average of a bounded function of a record.

    `function` is called once with names that stand for the declared columns (`lambda t: (t.age > 60) & t.ill`) and says
    what to compute from one record, in the closed language of `tacit.sums.language`; or it is the same as a text,
    "age > 60 and ill". Values are clamped to [low, high]; a column of numbers by itself needs a range of its own.

    Guarantee: replacing one record moves the sum of the values by at most high - low, whatever the record holds.
    Assumes: nothing: an expression is written down before it meets a record, of total, per-record operations only.
    Reference: oracle.md.
    """

    function: Any
    low: float = 0.0
    high: float = 1.0

    size = 1
    l1 = 1.0
    l2 = 1.0

    def __post_init__(self) -> None:
        low, high = checked_range(self.low, self.high)
        _settle(self, low=low, high=high, unit=high - low, spread=high - low)

    def answer(self, shares: Floats) -> float:
        """Return the mean in the units of the function."""
        return self.low + self.unit * float(shares[0])


@final
@dataclass(frozen=True)
class Histogram(Query):
    """The share of the records at each of some levels.

    `function` gives one column, or a list of columns; a level is then a list of as many values. A record counts at
    the one level whose values it has, or nowhere: so a replacement moves two counts by one, however many there are.
    """

    function: Any
    levels: tuple[tuple[Any, ...], ...]

    l1 = 2.0
    l2 = math.sqrt(2.0)
    unit = 1.0
    spread = 1.0

    def __post_init__(self) -> None:
        levels = tuple(
            tuple(level) if isinstance(level, Sequence) and not isinstance(level, str) else (level,)
            for level in self.levels
        )
        if not levels or len(set(levels)) != len(levels) or len({len(level) for level in levels}) != 1:
            raise InvalidParameter("a Histogram needs a list of different levels, each with as many values as columns.")
        _settle(self, levels=levels, size=len(levels))

    def answer(self, shares: Floats) -> Floats:
        """Return the shares, in the order of the levels."""
        return np.array(shares)


@final
@dataclass(frozen=True)
class RowSums(Query):
    """The mean of a record's features, counted at the level of a histogram that the record is at.

    The answer has a row for each level and a column for each feature. Features are bounded in one of two ways:
    each is clamped to [low, high] by itself, or (`norm`) the whole row is brought to an L2 norm of at most `norm`.
    `function` and `levels` are those of a `Histogram`; the default counts every record at one level,
    of which there are `groups`.
    """

    features: tuple[str, ...]
    function: Any = None
    levels: tuple[tuple[Any, ...], ...] = ()
    low: float = 0.0
    high: float = 1.0
    norm: float | None = None
    groups: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        features = checked_features(self.features)
        if (self.function is None) != (not self.levels):
            raise InvalidParameter("RowSums needs a function and its levels, or neither.")
        levels = () if self.function is None else Histogram(self.function, self.levels).levels
        width, groups = len(features), max(1, len(levels))
        if self.norm is None:
            low, high = checked_range(self.low, self.high)
            # One row of shares, or two if the record may move to another level.
            moved = width * (2.0 if groups > 1 else 1.0)
            _settle(self, low=low, high=high, unit=high - low, spread=high - low, l1=moved, l2=math.sqrt(moved))
        else:
            norm = checked_norm(self.norm)
            # Two rows whose L2 norm is one share, and whose L1 norm is at most sqrt(width) of them.
            l1, l2 = 2.0 * math.sqrt(width), 2.0
            _settle(self, norm=norm, low=-norm, high=norm, unit=norm, spread=2.0 * norm, l1=l1, l2=l2)
        _settle(self, features=features, levels=levels, groups=groups, size=groups * width)

    def rounding(self, steps: float) -> float:
        """Rounding each cell of a row by half a step raises the row's norm."""
        return 1.0 if self.norm is None else 1.0 + math.sqrt(len(self.features)) / steps

    def answer(self, shares: Floats) -> Floats:
        """Return a row for each level: means over all records of what lies above `low` (of the features, if a norm)."""
        return self.unit * np.asarray(shares).reshape(self.groups, len(self.features))


@final
@dataclass(frozen=True)
class SecondMoments(Query):
    """The mean of x x^T over rows x of the features, each brought to an L2 norm of at most `norm`.

    Numbers are those of the upper triangle, row by row, the ones off the diagonal times sqrt(2): then the L2 norm
    is the matrix's Frobenius norm, and |x x^T - z z^T| is at most sqrt(2) norm^2 because <x x^T, z z^T> = (x.z)^2.
    """

    features: tuple[str, ...]
    norm: float = 1.0

    l2 = math.sqrt(2.0)

    def __post_init__(self) -> None:
        features, norm = checked_features(self.features), checked_norm(self.norm)
        size = len(features) * (len(features) + 1) // 2
        # A product of two features times sqrt(2), of either sign, is at most norm^2 / sqrt(2).
        spread = math.sqrt(2.0) * norm**2
        _settle(
            self, features=features, norm=norm, size=size, unit=norm**2, spread=spread, l1=self.l2 * math.sqrt(size)
        )

    def rounding(self, steps: float) -> float:
        """Rounding each cell of a row by half a step of a factor raises the row's norm, and so its square."""
        return (1.0 + math.sqrt(len(self.features) / steps)) ** 2

    def coarseness(self, steps: float) -> float:
        """Each of two factors is rounded to half a step, of which there are at least half the root of `steps`."""
        return 3.0 * self.unit / math.sqrt(steps)

    def answer(self, shares: Floats) -> Floats:
        """Return the symmetric matrix."""
        width = len(self.features)
        rows, columns = np.triu_indices(width)
        matrix = np.zeros((width, width))
        matrix[rows, columns] = np.asarray(shares) * np.where(rows == columns, 1.0, math.sqrt(0.5))
        return self.unit * (matrix + np.triu(matrix, 1).T)


KINDS = (StatisticalQuery, Histogram, RowSums, SecondMoments)
"""All the queries there are: what a stranger's subclass says about its bounds is not to be trusted."""


def given_by(query: Query, table: Names) -> tuple[Expression, ...]:
    """Return what the query's function gives, as many columns as the query needs."""
    function = getattr(query, "function", None)
    if function is None:
        return ()
    if type(function) is str:
        function = function_of(function)
    if not callable(function):
        raise InvalidParameter(
            f"a query needs a function such as lambda t: t.age > 60, or a text, got {type(function).__name__}."
        )
    levels = getattr(query, "levels", None)
    wanted = len(levels[0]) if levels else 1
    try:
        given = function(table)
    except InvalidParameter:
        raise
    except Exception as error:
        raise InvalidParameter(
            f"the query's function failed ({type(error).__name__}: {error}). It is called once, with names that stand "
            "for columns, and no record was touched: it must say what to compute from one record by comparisons, &, "
            "|, ~, arithmetic and the methods of columns."
        ) from error
    columns = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(columns) != wanted:
        raise InvalidParameter(f"the query's function must give {wanted} column(s), got {len(columns)}.")
    for column in columns:
        if type(column) is not Expression:
            raise InvalidParameter(
                "a query's function must give an expression of the columns it is called with, got "
                f"{type(column).__name__}."
            )
    return columns


def refuse_unscaled(query: Query, asked: Sequence[Expression]) -> None:
    """Refuse the average of a column of numbers within the usual range where its own is another: most would be cut."""
    if type(query) is not StatisticalQuery or (query.low, query.high) != _USUAL:
        return
    (column,) = asked
    if column.operation == "column" and column.kind == "number" and (column.low < 0 or column.high > 1):
        raise InvalidParameter(
            f"the average of a column of numbers from {column.low:g} to {column.high:g} would be cut to [0, 1]: give "
            f"its range, StatisticalQuery(..., low={column.low:g}, high={column.high:g}), or compare, such as "
            f"{column} > {column.low:g}."
        )


def query_of(question: str, columns: Mapping[str, Column]) -> StatisticalQuery:
    """Return the query that a text asks: the share of a condition, or the mean of a number over its declared range."""
    function = function_of(question)
    (found,) = given_by(StatisticalQuery(function), Names(columns))
    if found.kind == "number" and found.low < found.high:
        return StatisticalQuery(function, found.low, found.high)
    return StatisticalQuery(function)


def _settle(query: Query, **values: Any) -> None:
    """Keep the checked parameters of a query and what follows from them."""
    for name, value in values.items():
        object.__setattr__(query, name, value)


def checked_range(low: float, high: float) -> tuple[float, float]:
    """Return a range wide enough to compute with."""
    low, high = finite_number("low", low), finite_number("high", high)
    if not (low < high and max(-low, high) <= 1e100 and high - low >= 1e-100):
        raise InvalidParameter(
            f"low must lie below high, both within 1e100 of 0 and 1e-100 apart or more, got {low!r} and {high!r}."
        )
    return low, high


def checked_ranges(bounds: Any) -> list[tuple[float, float]]:
    """Return the ranges of one pair (low, high), or of a list of pairs."""
    listed = bounds.tolist() if hasattr(bounds, "tolist") else bounds
    if isinstance(listed, list | tuple) and listed:
        pairs = [each.tolist() if hasattr(each, "tolist") else each for each in listed]
        pairs = pairs if all(isinstance(each, list | tuple) for each in pairs) else [pairs]
        if all(len(pair) == 2 for pair in pairs):
            return [checked_range(*pair) for pair in pairs]
    raise InvalidParameter("bounds must be a pair (low, high), or one for each feature.")


def checked_norm(norm: float) -> float:
    """Return a bound for the norm of rows."""
    number = finite_number("norm", norm)
    if not 1e-50 <= number <= 1e50:
        raise InvalidParameter(f"norm must be positive, between 1e-50 and 1e50, got {norm!r}.")
    return number


def checked_features(features: Sequence[str]) -> tuple[str, ...]:
    """Return the names of different columns."""
    given = tuple(features) if not isinstance(features, str) else ()
    # As plain texts: one of somebody's own may be equal to whatever it likes.
    names = tuple(str.__str__(name) for name in given if issubclass(type(name), str))
    if not names or len(names) != len(given) or len(set(names)) != len(names):
        raise InvalidParameter("features must be a list of different column names.")
    return names
