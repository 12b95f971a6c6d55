"""A column in memory, read cell by cell: as numbers, as truth values, or as the cells themselves.

Each cell is read by a rule that looks at no other cell and cannot fail. What can be refused is public: that something
is no column, or is stored as another type. A column of one type is read at once, with the same result.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.labels import column
from tacit.data.values import numbers, text
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Truths, are_all

_PLAIN_NUMBERS = {f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)} | {
    "float16", "float32", "float64", "halffloat", "float", "double",
}  # fmt: skip
_NUMBERS = ("int", "uint", "float", "longdouble", "decimal", "bool", "null")
_TRUTHS = ("bool", "null")
"""How the names of stored types begin, in numpy, pandas, polars and Arrow. Those of text, and of objects, which may be
anything, are not among them. A list has no stored type: what in it is no number is missing there."""

_TRUE = ("true", "True", "1")


def numbers_of(values: object) -> Floats:
    """Return each cell as a float, NaN where it is no number; refuse what is stored as something else."""
    stored = _stored(values)
    if stored and stored not in _PLAIN_NUMBERS and not stored.startswith(_NUMBERS):
        raise InvalidParameter(
            f"the values must be numbers, got a column of type {stored}. Convert it to numbers, each cell by itself: "
            "pandas.to_numeric(column, errors='coerce') makes what is no number missing."
        )
    # Null is NaN in such an array, and whole numbers are rounded one by one, just as `numbers` does it.
    at_once = stored in _PLAIN_NUMBERS and not isinstance(values, np.ma.MaskedArray)
    cells = column_of(np.asarray(values) if at_once else values)
    if cells.dtype == object and are_all(cells, float, int, bool):
        with contextlib.suppress(OverflowError):
            return cells.astype(np.float64)
    return numbers(cells)


def truths_of(flags: object) -> Truths:
    """Return each cell as a truth value, false where it is none; refuse what is stored as something else."""
    stored = _stored(flags)
    if stored and not stored.startswith(_TRUTHS):
        raise InvalidParameter(
            f"flags must be truth values such as age > 60, or word == 'yes', got a column of type {stored}."
        )
    # With a null among them such an array holds objects, which are still the same cells.
    at_once = stored.startswith("bool") and not isinstance(flags, np.ma.MaskedArray)
    cells = column_of(np.asarray(flags) if at_once else flags)
    if cells.dtype == np.bool_:
        return cells
    return np.fromiter((text(cell) in _TRUE for cell in cells), np.bool_, len(cells))


def column_of(values: object) -> NDArray[Any]:
    """Return a column as an array of its cells; its shape and its length are public."""
    if len(getattr(values, "shape", (0,))) != 1 or isinstance(values, Mapping):
        raise InvalidParameter("the records must be one column: a list, a 1-D array or a series.")
    return column(values)


def _stored(values: object) -> str:
    """Return the name of the type that a column is stored as, which is public; none for a list."""
    kind = getattr(values, "dtype", getattr(values, "type", ""))
    return str(getattr(kind, "name", kind)).lower().removesuffix("[pyarrow]").removeprefix("torch.")
