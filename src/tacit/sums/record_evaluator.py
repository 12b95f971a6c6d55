"""The evaluator of records, or of arrays with declared bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.columns import Column, Number
from tacit.data.frames import clean_columns
from tacit.data.levels import Category, Levelled
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.secret import open_secret
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.evaluator import Evaluator
from tacit.sums.query import checked_range

_NO_LABELS = (-1, 1)


def evaluator_for(
    table: Any,
    *,
    label: str | None = None,
    labels: tuple[Any, Any] | None = None,
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
) -> Evaluator:
    """Return the evaluator of records, or for arrays with declared bounds."""
    if isinstance(table, Evaluator):
        return table
    if not isinstance(table, Records):
        return _of_arrays(table, bounds, labels)
    if bounds is not None:
        raise InvalidParameter("bounds are for arrays without a schema; these records have one.")
    name = table.schema.target if label is None else label
    if name is not None and name not in table.columns:
        raise InvalidParameter(f"label must be one of the declared columns {', '.join(table.columns)}, got {name!r}.")
    pair = _labels(None if name is None else table.columns[name], labels)
    facts = table.facts
    return Evaluator(
        open_secret(table.secret),
        table.n,
        table.columns,
        label=name,
        labels=pair,
        identity=table.identity,
        fixed_by="index" if facts.ordered else "key" if facts.key is not None else None,
        key=facts.key,
        unit=facts.whom,
    )


def records_of_arrays(
    X: Any, y: Any, bounds: tuple[float, float] | Sequence[tuple[float, float]], labels: tuple[Any, Any]
) -> Records:
    """Return arrays as records: features x0, x1, ... within bounds, and a label y."""
    pairs = _pairs(X, bounds)
    columns: dict[str, Column] = {f"x{place}": Number(*checked_range(*pair)) for place, pair in enumerate(pairs)}
    if y is None:
        return Records(X, Schema(columns))
    return Records((X, y), Schema({**columns, "y": _label_column(labels)}, target="y"))


def _of_arrays(table: Any, bounds: Any, labels: tuple[Any, Any] | None) -> Evaluator:
    X, y = table if isinstance(table, tuple) and len(table) == 2 else (table, None)
    if not (sparse.issparse(X) or isinstance(X, np.ndarray | list)):
        raise InvalidParameter(
            "an oracle needs Records(source, schema), or arrays (X, y) with bounds=(low, high), got "
            f"{type(table).__name__}."
        )
    if bounds is None:
        raise InvalidParameter(
            "bounds is missing: arrays without a schema are clamped to bounds=(low, high), which must not be read off "
            "the data. Or give Records(source, schema)."
        )
    pair = labels or _NO_LABELS
    if sparse.issparse(X):
        low, high = checked_range(*bounds)
        marks = None if y is None else clean_columns({"y": y}, {"y": _label_column(pair)}, [])["y"]
        return evaluator_of_arrays(X, marks, low=low, high=high, labels=pair)
    return evaluator_for(records_of_arrays(X, y, bounds, pair), labels=labels)


def _pairs(X: Any, bounds: Any) -> list[Any]:
    """Return a pair of bounds for every column; no record is asked how many columns there are."""
    each = np.ndim(bounds) != 1
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or (each and X.shape[1] != len(bounds)):
            raise InvalidParameter(
                "X must be a matrix, with bounds=(low, high) or a pair for each of its columns, got the shape "
                f"{X.shape}."
            )
        return list(bounds) if each else [bounds] * X.shape[1]
    if not each:
        raise InvalidParameter(
            "a list of rows does not say how many columns it has: its rows may differ. Give a pair of bounds for each "
            "column, or an array."
        )
    return list(bounds)


def _label_column(labels: tuple[Any, Any]) -> Column:
    if all(isinstance(each, int | float | np.number) and not isinstance(each, bool) for each in labels):
        return Number(min(map(float, labels)), max(map(float, labels)))
    negative, positive = map(str, labels)
    return Category([negative, positive], positive=positive)


def _labels(column: Column | None, labels: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """Return the two labels, which a column with two levels declares itself."""
    if labels is not None:
        if not isinstance(labels, tuple | list) or len(labels) != 2:
            raise InvalidParameter("labels must be the two labels (negative, positive).")
        return labels[0], labels[1]
    if isinstance(column, Levelled) and len(column.classes) == 2:
        first, second = column.classes
        return (second, first) if column.positive == first else (first, second)
    return _NO_LABELS
