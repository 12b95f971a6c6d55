"""What a scan adds up for a query: Ibis expressions whose values are whole steps, and how to read their sums."""

import datetime
import math
from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.queries.cells import as_float, kind_of, number, refuse
from tacit.queries.engine import Prepared, steps_for
from tacit.queries.grid import Grid, factor_steps, rounded, row_shift
from tacit.queries.meanings import constant
from tacit.queries.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

__all__ = ["computed_first", "exchanged", "lengths", "levels_for", "shares", "terms"]

_WITH_COUNT_IF = ("duckdb", "pyspark")


@ibis.udf.agg.builtin  # type: ignore[untyped-decorator]
def count_if(condition: bool) -> int:  # type: ignore[empty-body]
    """Count the records for which a condition is true; several engines do this without making numbers of it."""


def lengths(prefix: str, query: Query, rows: Any) -> dict[str, Any]:
    """Return what a query's rows must be divided by for their norm to be at most 1, if they must."""
    match query:
        case RowSums(norm=float(norm), features=features) | SecondMoments(norm=norm, features=features):
            squares = [share * share for share in _over_norm(rows, features, norm)]
            total = squares[0]
            for square in squares[1:]:
                total += square
            return {f"{prefix}_length": ibis.greatest(total.sqrt(), number(1.0))}
    return {}


def computed_first(prefix: str, prepared: Prepared, rows: Any, columns: Sequence[Any], n: int) -> dict[str, Any]:
    """Return the columns that several of a query's sums need, to be computed once for each record.

    `rows` have the query's `lengths` already.
    """
    query = prepared.query
    found: dict[str, Any] = {}
    match query:
        case RowSums(norm=None):
            grid = Grid.over(query.low, query.high, n)
            cells = [_whole(rows[name], grid, query.low) for name in query.features]
        case RowSums(norm=float(norm)):
            cells = _whole_rows(prefix, rows, query.features, norm, steps_for(n))
        case SecondMoments():
            cells = _whole_rows(prefix, rows, query.features, query.norm, factor_steps(n))
        case _:
            cells = []
    found |= {f"{prefix}_{j}": cell for j, cell in enumerate(cells)}
    if prepared.levels:
        found[f"{prefix}_level"] = _level(columns, prepared.levels)
    return found


def terms(prefix: str, query: Query, rows: Any, columns: Sequence[Any], n: int, backend: str) -> list[Any]:
    """Return the sums that answer a query."""
    match query:
        case StatisticalQuery():
            if is_condition(query, columns):
                return [_count(columns[0], backend)]
            assert query.missing is not None
            return [_whole(columns[0], Grid.over(query.low, query.high, n), query.missing).sum()]
        case Histogram():
            level = rows[f"{prefix}_level"]
            return [_count(level == number, backend) for number in range(query.size)]
        case RowSums():
            cells = [rows[f"{prefix}_{j}"] for j in range(len(query.features))]
            if not query.levels:
                return [cell.sum() for cell in cells]
            level = rows[f"{prefix}_level"]
            zero = number(0.0)
            return [(level == each).ifelse(cell, zero).sum() for each in range(query.groups) for cell in cells]
        case SecondMoments():
            cells = [rows[f"{prefix}_{j}"] for j in range(len(query.features))]
            return [(one * other).sum() for i, one in enumerate(cells) for other in cells[i:]]
    raise InvalidParameter(f"tables cannot answer a {type(query).__name__}.")


def shares(query: Query, columns: Sequence[Any], sums: Sequence[float]) -> NDArray[np.float64]:
    """Return what some sums are in shares."""
    steps = np.array(sums, dtype=np.float64)
    match query:
        case StatisticalQuery() if not is_condition(query, columns):
            return steps / (query.high - query.low)
        case RowSums(norm=None):
            return steps / (query.high - query.low)
        case SecondMoments():
            one, other = np.triu_indices(len(query.features))
            return steps * np.where(one == other, 1.0, math.sqrt(2.0))
    return steps


def levels_for(columns: Sequence[Any], levels: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Return levels as values that the columns can equal; they must differ as such."""
    found = tuple(
        tuple(_value(column, value) for column, value in zip(columns, level, strict=True)) for level in levels
    )
    if len(set(found)) != len(found):
        raise InvalidParameter("levels must be different, got two that are the same value of the columns.")
    return found


def exchanged(label: Any, labels: tuple[Any, Any]) -> Any:
    """Return a (cleaned) column of labels with its two values exchanged; numbers become floats."""
    (negative,), (positive,) = levels_for([label], [(each,) for each in labels])
    kind = kind_of(label.type())
    if kind == "truth":
        return ~label
    if kind == "number":
        label, negative, positive = as_float(label), number(negative), number(positive)
    return ibis.cases((label == positive, negative), (label == negative, positive), else_=label)


def is_condition(query: StatisticalQuery, columns: Sequence[Any]) -> bool:
    """Whether a query counts records: true is 1, and false or missing 0."""
    return columns[0].type().is_boolean() and (query.low, query.high, query.missing) == (0.0, 1.0, 0.0)


def _value(column: Any, value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    kind = kind_of(column.type())
    wanted: dict[str, Any] = {
        "truth": bool | int | float, "number": bool | int | float, "text": str, "date": datetime.date,
        "timestamp": datetime.datetime, "timestamp(9)": datetime.datetime,
    }  # fmt: skip
    if not isinstance(plain, wanted.get(kind, ())) or (kind == "truth" and plain not in (0, 1)):
        refuse(f"a level of type {type(value).__name__} for a column of type {column.type()}")
    if kind == "truth":
        return bool(plain)
    return constant(plain) if kind == "number" else plain


def _level(columns: Sequence[Any], levels: Sequence[tuple[Any, ...]]) -> Any:
    """Return the number of the level that a record is at: the first that fits, so never more than one."""
    branches = []
    for place, values in enumerate(levels):
        same = [_equal(column, value) for column, value in zip(columns, values, strict=True)]
        both = same[0]
        for condition in same[1:]:
            both &= condition
        branches.append((both, place))
    return ibis.cases(*branches, else_=len(levels))


def _equal(column: Any, value: Any) -> Any:
    if isinstance(value, bool):
        return column if value else ~column
    if not isinstance(value, float):
        return column == value
    if column.type().is_integer() and value.is_integer() and abs(value) < 2**31:
        return column == int(value)
    return as_float(column) == number(value)


def _count(condition: Any, backend: str) -> Any:
    """Count records; where several conditions are joined, a choice lets engines skip the later ones."""
    if backend in _WITH_COUNT_IF:
        joined = isinstance(condition.op(), ops.And | ops.Or)
        return count_if(condition.ifelse(True, False) if joined else condition)
    return condition.ifelse(1, 0).sum()


def _whole(column: Any, grid: Grid, missing: float) -> Any:
    """Return how far each value lies above the range's lower end, in whole steps; null counts as that end."""
    value = as_float(column)
    if missing != grid.low:
        value = value.coalesce(number(missing))
    low, high = number(grid.low), number(grid.high)
    inside = ibis.cases((value < low, low), (value > high, high), else_=value)
    return rounded(inside - low if grid.low else inside, number(grid.shift))


def _over_norm(rows: Any, features: Sequence[str], norm: float) -> list[Any]:
    """Return the cells of rows over the norm; a missing cell is 0."""
    return [as_float(rows[name]).coalesce(number(0.0)) / number(norm) for name in features]


def _whole_rows(prefix: str, rows: Any, features: Sequence[str], norm: float, steps: float) -> list[Any]:
    """Return rows of norm at most 1, in whole steps."""
    length, shift = rows[f"{prefix}_length"], number(row_shift(steps))
    return [rounded(share / length, shift) for share in _over_norm(rows, features, norm)]
