"""How the cells of a table become values that every engine agrees on.

Numbers are floats, or small integers, which are floats exactly. NaN is null, and floats keep to the range of
`meanings`. Where an engine would fail, or look away, its own way around stands here.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

from tacit.errors import InvalidParameter
from tacit.queries.meanings import LARGEST, SMALLEST

__all__ = [
    "as_float", "cleaned", "cleaned_type", "column_for", "kind_of", "number", "refuse", "small_integer", "with_twins",
]  # fmt: skip

_TWIN = "tacit_float_"


def refuse(what: str) -> NoReturn:
    """Refuse what is not a total operation on one record."""
    raise InvalidParameter(
        f"{what} is not possible in a query: only operations that give a value for every record, from that record "
        "alone, are: comparisons, &, |, ~, isin, between, isnull, fill_null, ifelse, cases, arithmetic, abs, sqrt, "
        "ln, exp, floor, ceil, round, sign, clip, lower, upper, startswith, endswith, contains."
    )


def number(value: float) -> Any:
    """Return a float constant: engines take a plain 0.1 for a decimal, and compute with it as such."""
    return ibis.literal(repr(float(value))).cast("float64")


def small_integer(kind: Any) -> bool:
    """Whether all values of a type are floats exactly, also after a comparison in integers."""
    return bool(kind.is_integer() and kind.nbytes <= 4)


def kind_of(kind: Any) -> str:
    """Return what a type's values can be compared with: values of the same kind."""
    if kind.is_null():
        return "null"
    if kind.is_boolean():
        return "truth"
    if kind.is_numeric():
        return "number"
    if kind.is_string():
        return "text"
    if kind.is_timestamp():
        # Engines convert between scales and time zones, and that can fail far from today.
        scale = "" if kind.scale in (None, 6) else f"({kind.scale})"
        return f"timestamp{scale}{' ' + kind.timezone if kind.timezone else ''}"
    if kind.is_date():
        return "date"
    return refuse(f"a value of type {kind}")


def as_float(column: Any) -> Any:
    """Return a column of numbers or truth values as floats; its twin, where there is one."""
    kind, node = column.type(), column.op()
    if not (kind.is_numeric() or kind.is_boolean()):
        refuse(f"a value of type {kind} as a number")
    if kind.is_float64() and not isinstance(node, ops.Literal):
        return column
    if isinstance(node, ops.Literal) and node.value is not None:
        return number(float(node.value))
    if isinstance(node, ops.Field) and _TWIN + node.name in node.rel.schema:
        return node.rel.to_expr()[_TWIN + node.name]
    return (column.cast("int32") if kind.is_boolean() else column).cast("float64")


def with_twins(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of columns and of their twins: truth values and small integers as floats, converted once."""
    twins = {
        _TWIN + name: dt.float64
        for name, kind in kinds.items()
        if (kind.is_boolean() or small_integer(kind)) and _TWIN + name not in kinds
    }
    return {**kinds, **twins}


def column_for(rows: Any, name: str, engine: str) -> Any:
    """Return a column of the cleaned table: one of the rows' columns, or the twin of one."""
    if name in rows.columns or not name.startswith(_TWIN):
        return cleaned(rows[name], engine)
    return as_float(rows[name.removeprefix(_TWIN)])


def cleaned_type(kind: Any) -> Any:
    """Return the type that a column has once it is cleaned."""
    return dt.float64 if kind.is_numeric() and not kind.is_boolean() and not small_integer(kind) else kind


def cleaned(column: Any, engine: str) -> Any:
    """Return a column without what engines disagree about; `engine` is the name of Ibis's backend."""
    kind = column.type()
    if not kind.is_numeric() or kind.is_boolean() or small_integer(kind):
        return column
    if kind.is_integer():
        return column.cast("float64")
    if kind.is_decimal() and engine == "postgres":
        column = _narrowed(column)
    return _ranged(column.cast("float64"), doubtful=engine == "duckdb")


def _ranged(value: Any, *, doubtful: bool) -> Any:
    """Return floats with NaN as null, at most LARGEST, and 0 if below SMALLEST.

    `doubtful` is for DuckDB, which believes the bounds that a Parquet file states for a column, though these leave
    NaN out: it takes isnan(x) for false without looking. Behind a nullif it knows of no bounds and looks.
    """
    seen = value.nullif(number(1e300)) if doubtful else value
    return ibis.cases(
        (seen.abs().between(number(SMALLEST), number(LARGEST)), value),
        (seen.isnan(), ibis.null("float64")),
        (value > number(LARGEST), number(LARGEST)),
        (value < number(-LARGEST), number(-LARGEST)),
        (value.between(number(-SMALLEST), number(SMALLEST)), number(0.0)),
        else_=ibis.null("float64"),
    )


def _narrowed(value: Any) -> Any:
    """Return PostgreSQL's numeric, which may have any number of digits and be NaN, as one that has a float."""

    def exact(bound: float) -> Any:
        return ibis.literal(str(Decimal(bound))).cast("decimal")

    return ibis.cases(
        (value.cast("string") == "NaN", ibis.null("decimal")),
        (value > exact(LARGEST), exact(LARGEST)),
        (value < exact(-LARGEST), exact(-LARGEST)),
        (value.between(exact(-SMALLEST), exact(SMALLEST)), exact(0.0)),
        else_=value,
    )
