"""Cleaning is a total function of the cell: whatever object it is, and whatever stands beside it."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import Category, Column, Flag, Key, Moment, Number, Ordinal
from tacit.data.frames import clean_columns
from tacit.data.values import MISSING_KEY, each, text

COLUMNS: list[Column] = [
    Number(-5, 5), Number(0, 1e100, missing=0), Number(-1e-100, 3, log=True), Category(["a", "1", "nan", "true"]),
    Category(["a", 2**53, "x"], other="x"), Ordinal(["low", "high"], missing="low"), Flag(),
    Flag("n", "y", missing=True),
    Moment("1900-01-01", "2100-01-01T12:00"), Moment("0001-01-01", "9999-12-31", missing="2000-02-29"), Key(),
]  # fmt: skip


def _fails(*_: object, **__: object) -> Any:
    raise RuntimeError("a cell that fails")


_METHODS = dict.fromkeys(
    [
        "__str__", "__repr__", "__eq__", "__hash__", "__float__", "__int__", "__index__", "__bool__", "__len__",
        "__lt__", "__gt__", "__le__", "__ge__", "__abs__",
        "__add__", "__sub__", "__mod__", "__iter__", "__array__", "__format__",
        "__getattr__", "strip", "encode", "is_integer", "item", "astimezone", "utcoffset", "replace",
        "as_integer_ratio",
        "__reduce_ex__",
    ],
    _fails,
)  # fmt: skip


def hostile(base: type, *given: Any) -> object:
    """Make an object of a subclass that fails in every method."""
    return type("Hostile", (base,), dict(_METHODS))(*given)


class _NoType(type):
    """A class of classes that fail when they are compared or looked up."""

    __eq__ = __hash__ = _fails  # type: ignore[assignment]


class _NoClass:
    __slots__ = ()

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no class")


class _Claims:
    """Claims to be numpy's, and gives out what fails when it is looked at."""

    dtype = np.dtype(np.float32)

    def __init__(self, claimed: type, given: object) -> None:
        self.claimed, self.given = claimed, given

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return self.claimed

    def item(self) -> object:
        return self.given


class _Zone(datetime.tzinfo):
    def utcoffset(self, _: datetime.datetime | None) -> datetime.timedelta:
        raise RuntimeError("no offset")


ODD: list[object] = [
    hostile(str, "a"), hostile(int, 1), hostile(float, 1.0), hostile(object), hostile(datetime.datetime, 2000, 1, 1),
    hostile(datetime.date, 2000, 1, 1), hostile(Decimal, 1), hostile(list), _NoClass(), object(), type, ..., None,
    *(hostile(base, 1) for base in (np.int8, np.uint64, np.float16, np.float32, np.float64, np.longdouble, np.str_)),
    *(_NoType("Hostile", bases, {})() for bases in ((), (float,), (int,), (str,))),
    hostile(np.datetime64, 1, "s"), hostile(pd.Timestamp, 1), hostile(Fraction, 1),
    *(_Claims(claimed, hostile(given, 1)) for claimed in (np.float32, str, float) for given in (float, str)),
    datetime.datetime(2000, 1, 1, tzinfo=_Zone()), datetime.datetime.max, datetime.datetime.min,
    datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-23))), datetime.date.max,
    pd.NA, pd.NaT, pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("2000-01-01", tz="Asia/Kolkata"), pd.Timedelta(1),
    Decimal("sNaN"), Decimal("NaN"), Decimal("-Infinity"), Decimal("1e999999"), Decimal("1e-999999"), Fraction(10**400),
    10**5000, -(10**5000), 2**63, True, False, b"a", bytearray(b"a"), [], [1], {}, {"a": 1}, (), range(3), 1j, math.nan,
    np.float16(1), np.float32("inf"), np.longdouble("1e-4900"), np.longdouble("1e4900"), np.int8(-3),
    np.uint64(2**64 - 1),
    np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.datetime64("NaT"), np.datetime64("2000-01-01T00:00:00.1"),
    np.datetime64(2**63 - 1, "as"), np.datetime64(2**63 - 1, "Y"), np.datetime64(-(2**63) + 1, "s"),
    np.timedelta64(1, "s"),
    np.void(b"a"), np.array([1, 2]), np.array(1), "\ud800", "a\udfff", " a ", "\0", "1" * 5000, "1e999", "٣", "２", "",
]  # fmt: skip
# Hypothesis compares the types of what it draws: those that fail at it stand in the other tests.
_DRAWN = [cell for cell in ODD if type(type(cell)) is not _NoType]
CELLS = st.one_of(
    # By number: hypothesis would hash the objects themselves.
    st.integers(0, len(_DRAWN) - 1).map(_DRAWN.__getitem__),
    st.text(st.characters(), max_size=6),
    st.floats(),
    st.integers(),
    st.decimals(),
    st.fractions(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.dates(),
    st.binary(max_size=4),
    st.complex_numbers(),
)


def cells(*values: object) -> np.ndarray:
    """Put any objects into one column."""
    return np.fromiter(values, dtype=object, count=len(values))


def bits(column: Column, values: np.ndarray) -> tuple[list[bytes], list[int]]:
    """Return the bits of every cleaned cell, and how it fared."""
    cleaned, state = column.clean(values)
    return [np.asarray(cell).tobytes() for cell in cleaned], state.tolist()


def in_range(column: Column, value: Any) -> bool:
    """Whether a cleaned value is one that the declaration allows."""
    if isinstance(column, Number):
        return column.low <= value <= column.high and (value == 0 or abs(value) >= 1e-100) and not _is_minus_zero(value)
    if isinstance(column, Moment):
        low, high = (end / 86_400_000_000 for end in column.ends)
        return bool(low - 1e-6 <= value <= high + 1e-6)
    if isinstance(column, Key):
        return 0 <= int(value) <= MISSING_KEY
    return -1 <= int(value) < len(getattr(column, "classes", ()))


def _is_minus_zero(value: float) -> bool:
    return value == 0 and math.copysign(1.0, value) < 0


@pytest.mark.parametrize("column", COLUMNS, ids=str)
@pytest.mark.parametrize("strict", [True, False])
def test_every_object_has_a_place(column: Column, strict: bool) -> None:
    """Objects that fail in all they do, halves of texts, numbers of any size: none fails, warns or leaves the range."""
    with np.errstate(all="raise" if strict else "warn"):
        cleaned, state = column.clean(cells(*ODD))
    assert set(state.tolist()) <= {0, 1, 2}
    assert all(in_range(column, value) for value in cleaned.tolist())


@given(st.sampled_from(COLUMNS), st.lists(CELLS, min_size=1, max_size=6), CELLS, st.data())
def test_one_cell_never_changes_how_another_is_read(
    column: Column, values: list[object], other: object, data: st.DataObject
) -> None:
    """A cell alone, among others, and beside a replaced one gives the same bits, for a caller strict or not."""
    together = bits(column, cells(*values))
    place = data.draw(st.integers(0, len(values) - 1))
    replaced = [*values[:place], other, *values[place + 1 :]]
    with np.errstate(all="raise"):
        again = bits(column, cells(*replaced))
    for at in range(len(values)):
        alone = bits(column, cells(values[at]))
        assert (together[0][at], together[1][at]) == (alone[0][0], alone[1][0])
        if at != place:
            assert (together[0][at], together[1][at]) == (again[0][at], again[1][at])


def test_objects_count_as_the_plain_ones_that_they_hold() -> None:
    """Subclasses of text and numbers are read by their plain type, whatever their methods say."""
    assert Category(["a"]).clean(cells(hostile(str, " a ")))[0].tolist() == [0]
    assert Number(0, 9).clean(cells(hostile(int, 7), hostile(float, 2.5)))[0].tolist() == [7, 2.5]
    assert Number(0, 9).clean(cells(hostile(np.int16, 7), hostile(np.float32, 2.5)))[0].tolist() == [7, 2.5]
    assert Number(0, 9).clean(cells(_Claims(np.float32, 7.0)))[1].tolist() == [1]


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
def test_moments_of_every_unit_read_as_floors_of_microseconds(unit: str) -> None:
    """Arrays of numpy's moments give what each of them gives by itself, at both ends of 64 bits too."""
    raw = np.array([0, 1, -1, 10**6, 2**63 - 1, -(2**63) + 1, -(2**63)], dtype=np.int64)
    typed = raw.view(f"M8[{unit}]")
    column = Moment("0001-01-01", "9999-12-31")
    assert bits(column, typed) == bits(column, cells(*typed))
    assert column.clean(typed)[1][-1] == 1
    assert bits(column, typed.astype(typed.dtype.newbyteorder(">"))) == bits(column, typed)


def test_reading_a_text_once_gives_what_reading_every_cell_gives() -> None:
    """Repeated texts, and what is equal to one another but no plain text, are read as if each stood alone."""

    class Loud(str):
        __slots__ = ()

        def strip(self, *_: object) -> str:
            raise RuntimeError("a subclass was asked")

    cells = ["1", 1, True, 1.0, "true", Loud("1"), None, "1", " 1 ", "x", math.nan, b"1", np.str_("1"), np.int8(1)] * 3
    column = np.fromiter(cells, dtype=object, count=len(cells))
    assert list(each(column, text)) == [text(cell) for cell in cells]
    kind = Category(["1", "true"])
    alone = [kind.clean(np.fromiter([cell], dtype=object, count=1)) for cell in cells]
    places, states = kind.clean(column)
    assert places.tolist() == [int(place[0]) for place, _ in alone]
    assert states.tolist() == [int(state[0]) for _, state in alone]


def test_texts_that_arrow_cannot_hold_are_read_all_the_same() -> None:
    """A text with half of a pair of surrogates keeps nobody from being read: such a column is read cell by cell."""
    table = pd.DataFrame({"x": pd.Series(["a", "\ud800", None, "a"], dtype="object")})
    assert clean_columns(table, {"x": Category(["a"])}, [])["x"].tolist() == [0, -1, -1, 0]
