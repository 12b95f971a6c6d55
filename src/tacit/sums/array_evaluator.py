"""The evaluator of arrays: a matrix of features, dense or sparse, and a column of labels, as learners have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tacit.accounting.unit import RECORD
from tacit.data.columns import SMALLEST, Number
from tacit.data.persons import OwnedRows, Persons
from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.numerics.arrays import Floats
from tacit.sums.block_cells import Cells
from tacit.sums.evaluator import Evaluator


def evaluator_of_arrays(
    X: Any,
    y: Any = None,
    *,
    low: float = -1e30,
    high: float = 1e30,
    names: Sequence[str] | None = None,
    label: str = "y",
    labels: tuple[Any, Any] = (-1, 1),
    identity: str | None = None,
    persons: Persons | OwnedRows | None = None,
) -> Evaluator:
    """Return the evaluator for a matrix of finite numbers, clamped to [low, high], and numeric labels.

    With `persons`, whose rows they are, sums are over persons, each by the mean over their rows.

    Columns are called x0, x1, ... unless named. Whoever calls has read X and y cell by cell already.
    """
    rows = _stored(X, low, high) if sparse.issparse(X) else _dense(X, low, high)
    n, width = rows.shape
    features = tuple(names) if names is not None else tuple(f"x{place}" for place in range(width))
    marks = None if y is None else np.asarray(y, dtype=np.float64)
    if len(features) != width or len({*features, label}) != width + 1:
        raise InvalidParameter(f"names must name the {width} columns and the label differently.")
    if marks is not None and marks.shape != (n,):
        raise InvalidParameter(f"y must have one label for each of the {n} rows, got the shape {marks.shape}.")
    if not n:
        raise InvalidParameter("an oracle needs at least one record, got none.")
    columns = dict.fromkeys(features, Number(low, high))
    if marks is not None:
        bound = max(2.0**31, *(abs(float(each)) for each in labels))
        columns[label], marks = Number(-bound, bound), _clamped(marks, -bound, bound)
    return Evaluator(
        Cells({label: marks} if marks is not None else {}, n, persons.divisors if persons else None, features, rows),
        n if persons is None else persons.n,
        columns,
        label=None if marks is None else label,
        labels=labels,
        identity=identity or unique_name(),
        unit=RECORD if persons is None else persons.whom,
    )


def _dense(X: Any, low: float, high: float) -> Floats:
    with np.errstate(all="ignore"):
        rows = _clamped(np.asarray(X, dtype=np.float64), low, high)
    if rows.ndim != 2:
        raise InvalidParameter(f"X must be a matrix, got the shape {rows.shape}.")
    return rows


def _stored(X: Any, low: float, high: float) -> Any:
    """Return a sparse matrix with each cell stored once: cells are clamped where they are stored."""
    if not low <= 0 <= high:
        raise InvalidParameter("the bounds of a sparse matrix must have 0 between them: most of its cells are 0.")
    # A cell of a longer type may be beyond all floats, or below.
    with np.errstate(all="ignore"):
        rows = sparse.csc_array(X, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.data = _clamped(rows.data, low, high)
    return rows


def _clamped(cells: Floats, low: float, high: float) -> Floats:
    """Bring cells into their range; what is no number, or too near to 0, counts as 0."""
    inside = np.clip(cells, low, high)
    return np.where(np.isnan(inside) | (np.abs(inside) < SMALLEST), 0.0, inside)
