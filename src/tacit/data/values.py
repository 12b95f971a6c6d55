"""What a cell of a table means, whatever its type.

Four readers take every Python or numpy object for a number, a text, a moment or a key, or for missing. They never
raise on a cell and never warn: an error would single out the record that caused it, and its message could quote the
value. A cell is read without a look at any other cell. What a text means is declared (`tacit.data.file_form`).
"""

import datetime
import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from operator import is_
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
import numpy.typing as npt

from tacit.data.file_form import BLANKS, STANDARD, FileForm
from tacit.numerics.arrays import Floats, Integers
from tacit.numerics.attempts import attempt

AnyArray = npt.NDArray[Any]
Read = TypeVar("Read")

DAY = 86_400_000_000
"""How many microseconds a day has."""
MISSING_MOMENT = np.iinfo(np.int64).min
"""What stands for a moment that is missing, as numpy has it."""
KEYS = 2**31 - 1
"""Keys become whole numbers below this prime."""
MISSING_KEY = KEYS
"""What stands for a key that is missing: no key that is there becomes it."""

UNREADABLE = object()
"""What stands for a cell that is there but cannot be read: no number, no text, no moment, and no missing key."""

EPOCH = datetime.datetime(1970, 1, 1)
# The name that a class was made with, whatever its own class says when asked.
_name_of = type.__dict__["__name__"].__get__
_READ = (str, float, int, bool, Decimal, Fraction, datetime.datetime, datetime.date, np.datetime64)
_UNITS = {"D": DAY, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000}
_WIDEST = 8
_FINER = {"us": 1, "ns": 1000, "ps": 10**6, "fs": 10**9, "as": 10**12}


def numbers(values: AnyArray, form: FileForm = STANDARD, *, texts: bool = True) -> Floats:
    """Read every cell as a number: NaN when it is missing or none, infinite when a float cannot hold it.

    One odd cell makes a whole column text in some readers of files, so a text that spells a number is one; among labels
    (`texts=False`) it is not, since 1 and "1" may be two classes.
    """
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return np.asarray(values, dtype=np.float64)
    return np.fromiter(
        each(values, lambda cell: _number(cell, form if texts else None)), dtype=np.float64, count=len(values)
    )


def each(values: AnyArray, read: Callable[[object], Read]) -> Iterator[Read]:
    """Read every cell by itself; a text or a typed number that occurs again is not read again."""
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= _WIDEST:
        # Numbers of one type that are equal read the same, and so do all that are none.
        different, places = np.unique(values, return_inverse=True)
        return map([read(cell) for cell in different.tolist()].__getitem__, places.tolist())
    cells = _cells(values)
    # Only what is exactly a text is looked up: 1, True and 1.0 are equal, and subclasses say what they like.
    texts_or_none = sum(map(is_, map(type, cells), repeat(str))) + sum(map(is_, cells, repeat(None)))
    if texts_or_none == len(cells):
        known = {cell: read(cell) for cell in set(cells)}
        return map(known.__getitem__, cells)
    texts = {cell: read(cell) for cell in {cell for cell in cells if type(cell) is str}}
    return (texts[cell] if type(cell) is str else read(cell) for cell in cells)


def text(value: object, form: FileForm = STANDARD) -> str | None:
    """Read one cell as a text, None for one that is none or means a missing cell.

    Whole numbers read the same whether they come as 2, 2.0 or "2".
    Missing values make whole columns of integers into columns of floats in some tables, so a level must
    not depend on the type in which a number arrives.
    """
    value = plain_cell(value)
    if isinstance(value, str):
        bare = value.strip(BLANKS)
        return None if bare in form.missing else bare
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, Decimal | Fraction):
        value = as_float(value)
    if isinstance(value, float) and math.isfinite(value):
        return _digits(int(value)) if value.is_integer() else repr(value)
    return None


def moments(values: AnyArray, form: FileForm = STANDARD) -> Integers:
    """Read every cell as a moment, in whole microseconds since 1970 began; `MISSING_MOMENT` where it is none.

    Times with a zone count in UTC, times without one as they are. What lies beyond the years 1 to 9999 is clamped.
    """
    if values.dtype.kind == "M":
        return _from_datetimes(values)
    return np.fromiter(each(values, lambda cell: _moment(cell, form)), dtype=np.int64, count=len(values))


def keys(values: AnyArray, form: FileForm = STANDARD) -> Integers:
    """Read every cell as a key: a whole number below `KEYS`, by a public rule; `MISSING_KEY` when it is missing.

    A whole number reads the same whether it comes as 2 or 2.0, a UUID as its text, bytes as the text that they are,
    dates and times by their microseconds. Objects that are no key all read as 0, as one and the same: to take them for
    missing would make many persons of one (`has_no_keys` says whether there are any).
    """
    if values.dtype.kind == "i":
        return values.astype(np.int64) % KEYS
    if values.dtype.kind == "u":
        return (values.astype(np.uint64) % np.uint64(KEYS)).astype(np.int64)
    if values.dtype.kind == "M":
        read = _from_datetimes(values)
        return np.where(np.isnat(values), MISSING_KEY, np.where(read == MISSING_MOMENT, 0, read % KEYS))
    return np.fromiter(
        (each_key or 0 for each_key in each(values, lambda cell: _key(cell, form))), np.int64, len(values)
    )


def has_no_keys(values: AnyArray) -> bool:
    """Whether a cell is there that is no key, and reads as 0 with all others of its sort."""
    if values.dtype.kind == "M":
        return bool(((_from_datetimes(values) == MISSING_MOMENT) & ~np.isnat(values)).any())
    odd = (cell for cell in _cells(values) if type(cell) not in (str, int, float, type(None)))
    return any(_key(cell) is None for cell in odd)


def objects(cells: Sequence[object]) -> AnyArray:
    """Return an array of objects, none of which is read in the light of another."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _cells(values: AnyArray) -> list[object]:
    """Return cells as Python objects, each what it is by itself."""
    cells: list[object] = values.tolist() if values.dtype.kind != "O" else list(values)
    return cells


def plain_cell(value: object) -> object:
    """Return what a cell is of the types that are read, as the plain object of that type; None for all else.

    The type decides, and its own methods are called: a class of somebody's own, or one that claims another class, may
    answer in any way, or fail.
    """
    kind = type(value)
    if _is_one_of(kind, _READ):
        return value
    if issubclass(kind, str):
        return str.__str__(cast(str, value))
    if issubclass(kind, int):
        return int.__int__(cast(int, value))
    if issubclass(kind, float):
        return float.__float__(cast(float, value))
    if kind is np.bool_ or (issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64)):
        return np.generic.item(cast(np.generic, value))
    if issubclass(kind, np.floating):
        # Of a long double, `item` is a long double.
        return np.generic.__float__(cast(Any, value))
    pandas: Any = sys.modules.get("pandas")
    is_moment = hasattr(pandas, "NaT") and _is_one_of(kind, (pandas.Timestamp, type(pandas.NaT)))
    return value if is_moment else None


def _is_one_of(kind: type, known: tuple[type, ...]) -> bool:
    """Whether a class is one of some, told by identity: classes of somebody's own say what they like to be equal to."""
    return any(kind is each for each in known)


def _number(value: object, form: FileForm | None) -> float:
    """Read one cell as a number, a text only in some form; NaN when it is none."""
    value = plain_cell(value)
    if form is not None and isinstance(value, str):
        return form.number(value)
    return as_float(value) if isinstance(value, bool | int | float | Decimal | Fraction) else math.nan


def as_float(value: "float | Decimal | Fraction") -> float:
    """Return the nearest float: infinite beyond all of them, NaN if it is no number."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (ValueError, ArithmeticError):
        return math.nan


def _digits(number: int) -> str | None:
    """Return the digits of a whole number; none that is longer than any level can be."""
    return str(number) if abs(number) < 10**400 else None


def _moment(value: object, form: FileForm = STANDARD) -> int:
    value = plain_cell(value)
    if isinstance(value, str):
        value = form.moment(value)
    if isinstance(value, np.datetime64):
        return int(_from_datetimes(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        # A zone of somebody's own may fail, a moment at the end of time may have no UTC, and the days of pandas' NaT,
        # which is a datetime too, are NaN.
        moment = value
        return attempt(lambda: int(microseconds(moment)), int(MISSING_MOMENT))
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days * DAY
    return int(MISSING_MOMENT)


def microseconds(moment: datetime.datetime) -> int:
    """Return the whole microseconds since 1970 began, in UTC if the moment has a zone."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    distance = moment - EPOCH
    return (distance.days * 86_400 + distance.seconds) * 1_000_000 + distance.microseconds


def _from_datetimes(values: AnyArray) -> Integers:
    """Read numpy's moments, whatever they are counted in; floor what is finer than a microsecond."""
    unit, count = np.datetime_data(values.dtype)
    raw = values.astype(np.int64)
    gone = raw == MISSING_MOMENT
    if unit in _FINER and count == 1:
        found = np.floor_divide(raw, _FINER[unit])
    elif unit in _UNITS and count == 1:
        reach = np.iinfo(np.int64).max // _UNITS[unit]
        found = np.clip(raw, -reach, reach) * _UNITS[unit]
    else:
        return np.full(len(values), MISSING_MOMENT)
    return np.where(gone, MISSING_MOMENT, found)


def _key(value: object, form: FileForm = STANDARD) -> int | None:
    """Read one cell as a key, None if it is there and is none."""
    is_nat = type(value) is np.datetime64 and bool(np.isnat(value))
    if is_nat or value is None or _name_of(type(value)) in ("NAType", "NaTType", "MaskedConstant"):
        # A number that is none comes later.
        return MISSING_KEY
    if issubclass(type(value), bytes):
        return _digest(bytes.strip(cast(bytes, value), BLANKS.encode()))
    if issubclass(type(value), UUID):
        return attempt(lambda: _digest(UUID.__str__(cast(UUID, value)).encode()), None)
    cell = plain_cell(value)
    if isinstance(cell, str):
        bare = cell.strip(BLANKS)
        return MISSING_KEY if bare in form.missing else _digest(bare.encode("utf-8", "replace"))
    if isinstance(cell, int):
        return cell % KEYS
    if isinstance(cell, float | Decimal | Fraction):
        number = as_float(cell)
        if math.isnan(number):
            return MISSING_KEY
        is_whole = math.isfinite(number) and cell == int(cell)
        return int(cell) % KEYS if is_whole else _digest(repr(number).encode())
    read = MISSING_MOMENT if cell is None else _moment(cell)
    return None if read == MISSING_MOMENT else read % KEYS


def _digest(bare: bytes) -> int:
    """Return the key of a text without blanks at its ends."""
    return int(hashlib.md5(bare, usedforsecurity=False).hexdigest()[:8], 16) % KEYS if bare else MISSING_KEY
