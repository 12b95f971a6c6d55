"""Tables and targets as arrays hold them: read cell by cell, refused in words that quote no record.

What is refused here (text, NaN, infinity, a label that was not declared) depends on records, as scikit-learn's manners
demand; tables that are read through a schema have a place for everything instead.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from tacit.data.labels import column
from tacit.data.values import numbers
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, unmasked

# scikit-learn's messages that say nothing of any value; the rest of them, and all further lines, may quote records.
_HARMLESS = (
    "Expected 2D array",
    "Complex data not supported",
    "Found array with",
    "Input X contains",
    "Sparse data was passed",
    "The feature names should match",
    "X has",
)
_HARMLESS_PARTS = ("requires y to be passed", "Supports only", "does not accept missing values")
_ABSENT = object()


def validated(estimator: BaseEstimator, X: Any, *, y: Any = _ABSENT, y_numeric: bool = False, **checks: Any) -> Any:
    """Return what scikit-learn's validation makes of X, and y if it is given, with errors that quote no record.

    A cell of X is read as a float by itself, whatever else is in the table. The cells of y are returned as they are
    (as floats with `y_numeric`), so that `known_classes` can look them up one by one.
    """
    data = _table(estimator, X, None if y is None else "no_validation", **checks)
    if y is _ABSENT:
        return data
    if y is None:
        raise InvalidParameter(f"{type(estimator).__name__} requires y to be passed, got None.")
    cells = _one_column(y)
    if len(cells) != data.shape[0]:
        # Without the numbers: how many rows there are is private where persons own them.
        raise InvalidParameter("X and y must be equally long: one target for each row.")
    return data, numeric_targets(cells) if y_numeric else cells


def numeric_targets(values: object) -> Floats:
    """Return each target as a float, read by itself; text, NaN and infinity are refused without being quoted."""
    targets = numbers(column(values), texts=False)
    if not np.all(np.isfinite(targets)):
        raise InvalidParameter("the targets of a regression must be numbers, finite ones; got text, NaN or infinity.")
    return targets


def _table(estimator: BaseEstimator, X: Any, y: str | None, **checks: Any) -> Any:
    """Return X as an array of floats, or as a sparse matrix of them."""
    _refuse_stored(X)
    kind: type[Exception] = InvalidParameter
    try:
        # A cell of a longer type may be beyond all floats, or below, whatever numpy was told to do about that.
        with np.errstate(all="ignore"):
            return validate_data(estimator, unmasked(X, np.nan), y, accept_sparse="csr", dtype=np.float64, **checks)
    except Exception as error:  # Arrow has kinds of its own, which quote bytes that are no text
        message = str(error).split("\n", 1)[0]
        kind = TypeError if isinstance(error, TypeError) else kind
    # Raised out here, the new error does not carry the old one, which may quote a record, as its context.
    harmless = message.startswith(_HARMLESS) or any(part in message for part in _HARMLESS_PARTS)
    if not harmless or message.startswith("could not convert"):
        # The first words are scikit-learn's, which its checks look for.
        message = (
            "an argument must be a string of digits or a number: X must be a table of finite numbers, with a target "
            "for each row. For text and missing values put a PublicEncoder in front."
        )
    if message.startswith("Expected 2D array"):
        message += " Reshape your data: one row for each record."
    raise kind(message)


def _refuse_stored(X: Any) -> None:
    """Refuse a frame of polars by its types: polars dies aloud, beyond any handler, of a text that is not UTF-8."""
    schema = getattr(X, "schema", None)
    kinds: list[Any] = list(schema.values()) if isinstance(schema, Mapping) else [getattr(X, "dtype", None)]
    own = [kind for kind in kinds if hasattr(kind, "is_temporal")]
    if not all(kind.is_numeric() or str(kind) in ("Boolean", "Null", "Object", "Unknown") for kind in own):
        raise InvalidParameter(
            "X must be a table of finite numbers, got columns of another type. For text, dates and missing values put "
            "a PublicEncoder in front."
        )


def _one_column(y: Any) -> NDArray[Any]:
    """Return the cells of y, which may stand in a table of one column."""
    if issparse(y):
        raise InvalidParameter("Sparse data was passed for y, but dense data is required. Make it dense.")
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series() if hasattr(y, "to_series") else y[:, 0]
    elif len(shape) > 1:
        raise InvalidParameter(f"y should be a 1d array, got an array of shape {shape} instead.")
    return column(y)
