"""Values to release, read exactly and cell by cell.

What a mechanism is given was computed from records, so nothing here may fail, warn or round because of it. Every
real number is read exactly (a float64 holds whole numbers up to 2^53 only: rounding two neighbours to it could move
them further apart than their sensitivity), limited to what a float can hold, and put on the mechanism's grid.
Whatever is no number (missing, NaN, a text) counts as 0. Only the shape is checked, which is public.
"""

import contextlib
import math
import operator
import sys
import warnings
from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Integers, are_all, unmasked
from tacit.numerics.attempts import attempt

LARGEST = sys.float_info.max
"""Numbers beyond this, on either side, are read as this."""

_WAYS = ("to_pylist", "to_list", "rows", "tolist")
"""How columns and tables of Arrow, pandas and polars list their cells without making one type of them."""

_LONGEST_EXPONENT = 400
_DIGITS = Context(prec=1000, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
"""Decimals are read to so many digits: what is left out is far below any grid."""


def numbers(what: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a value of a public shape: an array of float64 where they hold it exactly, of fractions otherwise."""
    value = unmasked(value, None)
    if issubclass(type(value), np.ndarray):
        array = np.asarray(value)
        return _from_array(array) if array.shape == shape else _refused(what, shape)
    if not shape and _has_cells(value):
        _refused(what, shape)
    cells = list(_cells(what, value, shape, shape))
    if are_all(cells, float):
        return np.array(cells, dtype=np.float64).reshape(shape)
    return _fractions(cells, shape)


def exact(cell: object) -> Fraction:
    """Return the number that a cell is, between -LARGEST and LARGEST; 0 for what is no number. It never fails."""
    number = attempt(lambda: _number(cell), 0)
    if isinstance(number, float) and math.isnan(number):
        return Fraction(0)
    return Fraction(max(-LARGEST, min(LARGEST, number)))


def in_units(number: Fraction, grid: float) -> int:
    """Return the multiple of the grid that is nearest to a number, counted in grid units; the even one of two."""
    above, below = grid.as_integer_ratio()
    divisor = number.denominator * above
    # `round(number / grid)` would look for common factors first, which takes long in long fractions.
    whole, rest = divmod(number.numerator * below, divisor)
    return whole + (2 * rest > divisor or (2 * rest == divisor and whole % 2))


def add_exactly(value: NDArray[Any], noise: Integers, grid: float) -> Floats:
    """Round fractions to the grid and add noise counted in grid units; the only rounding is of the sum."""
    unit, most = Fraction(grid), Fraction(LARGEST)
    sums = (
        (in_units(number, grid) + drawn) * unit
        for number, drawn in zip(value.ravel().tolist(), noise.ravel().tolist(), strict=True)
    )
    return np.fromiter((float(max(-most, min(most, total))) for total in sums), np.float64, value.size).reshape(
        value.shape
    )


def listed(value: Any) -> list[Any] | None:
    """Return the cells, or rows, of a list, an array or a column in memory; None for anything else."""
    kind = type(value)
    if issubclass(kind, np.generic):
        return None
    if issubclass(kind, list | tuple):
        return list(value)
    if issubclass(kind, np.ndarray):
        return list(value) if np.ndim(value) else None
    way = next((getattr(value, name) for name in _WAYS if hasattr(kind, name)), None)
    if way is not None:
        read = way()
        return read if isinstance(read, list) else None
    return list(np.asarray(value, dtype=object)) if hasattr(kind, "__array__") and np.ndim(value) else None


def _from_array(array: NDArray[Any]) -> NDArray[Any]:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "biu" or (kind == "f" and size <= 8):
        with np.errstate(all="ignore"):  # a signalling NaN
            floats = array.astype(np.float64)
        if kind in "bf" or size <= 4 or bool(np.all(np.abs(floats) < 2.0**53)):
            return floats
    return _fractions(list(array.flat), array.shape)


def _fractions(cells: list[object], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.fromiter(map(exact, cells), dtype=object, count=len(cells)).reshape(shape)


def _has_cells(value: object) -> bool:
    """Whether something is a container, by its type: an object may answer to `isinstance` as it likes, or fail."""
    kind = type(value)
    if issubclass(kind, str | bytes) or not hasattr(kind, "__len__"):
        return hasattr(kind, "__next__") or callable(value)
    return getattr(value, "shape", None) != ()


def _cells(what: str, value: object, shape: tuple[int, ...], whole: tuple[int, ...]) -> Iterator[object]:
    """Yield the cells of nested lists, row by row."""
    if not shape:
        yield _refused(what, whole) if issubclass(type(value), list | tuple) else value
        return
    rows = listed(value)
    if rows is None or len(rows) != shape[0]:
        _refused(what, whole)
    for row in rows:
        yield from _cells(what, row, shape[1:], whole)


def _refused(what: str, shape: tuple[int, ...]) -> NoReturn:
    wanted = f"an array or nested lists of the shape {shape}" if shape else "one number"
    raise InvalidParameter(f"{what} must be {wanted}, got another shape. It is public, and fixed in advance.")


def _number(cell: object) -> int | float | Fraction:
    """Return the number that a cell is, by its type's own methods where the type is known."""
    kind = type(cell)
    if issubclass(kind, float):
        return float.__float__(cast(float, cell))
    if issubclass(kind, int):
        return int.__int__(cast(int, cell))
    if issubclass(kind, np.generic):
        return _numpy_number(cast("np.generic", cell))
    if kind is Fraction:
        return cast(Fraction, cell)
    if kind is Decimal:
        return _decimal_number(cast(Decimal, cell))
    if issubclass(kind, np.ndarray):
        array = np.asarray(cell)
        return _number(array[()]) if array.ndim == 0 else 0
    return _asked_number(cell)


def _asked_number(cell: object) -> int | float:
    """Return the number that an object of another make says it is: a tensor of one number, for instance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(type(cell), "__index__"):
            with contextlib.suppress(Exception):
                return int(operator.index(cast(int, cell)))
        return float(cast(float, cell)) if hasattr(type(cell), "__float__") else 0


def _numpy_number(cell: np.generic) -> int | float | Fraction:
    if isinstance(cell, np.bool_ | np.integer) and not isinstance(cell, np.timedelta64):
        return int(cell)
    if isinstance(cell, np.floating):
        finite = bool(np.isfinite(cell))
        return Fraction(*cell.as_integer_ratio()) if finite else float(cell)
    return 0


def _decimal_number(cell: Decimal) -> float | Fraction:
    """Return a decimal number; one with a huge exponent is not written out."""
    if cell.is_nan() or not cell:
        return 0.0
    if cell.is_infinite() or cell.adjusted() > _LONGEST_EXPONENT:
        return math.copysign(math.inf, cell)
    return Fraction(_DIGITS.plus(cell)) if cell.adjusted() >= -_LONGEST_EXPONENT else 0.0
