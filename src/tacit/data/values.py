"""What a cell of a table means, whatever its type.

Two readers, `numbers` and `texts`, take every Python or numpy object for a number or a text, or for missing
(NaN, None). They never raise on a cell: an error would single out the record that caused it, and its message
could quote the value. A cell is read without a look at any other cell.
"""

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "FloatArray", "IntArray", "numbers", "text", "texts"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
AnyArray = npt.NDArray[Any]

_NUMERIC_KINDS = "biuf"


def numbers(values: AnyArray) -> FloatArray:
    """Read every cell as a number: NaN when it is missing or none, infinite when a float cannot hold it."""
    if values.dtype.kind in _NUMERIC_KINDS:
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.fromiter(map(_number, values.tolist()), dtype=np.float64, count=len(values))


def texts(values: AnyArray) -> list[str | None]:
    """Read every cell as a text: None when it is missing or has no text."""
    return [cell if type(cell) is str else text(cell) for cell in values.tolist()]


def text(value: object) -> str | None:
    """Read one cell as a text; whole numbers read the same whether they come as 2, 2.0 or "2".

    Missing values make whole columns of integers into columns of floats in some tables, so a level must
    not depend on the type in which a number arrives.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    try:
        if isinstance(value, Integral):
            return str(int(value))
        if isinstance(value, Real | Decimal) and not math.isnan(number := float(value)):
            return str(int(number)) if number.is_integer() else repr(number)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None


def _number(value: object) -> float:
    """Read one cell as a number; NaN when it is none."""
    if not isinstance(value, str | Real | Decimal | np.bool_):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if isinstance(value, Real) and not value < 0 else -math.inf
    except (ArithmeticError, ValueError, TypeError):
        return math.nan
