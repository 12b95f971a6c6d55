"""Labels are looked up one by one: what one record is changes nothing for any other."""

import math
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.labels import checked_classes, column, label, places
from tacit.data.values import UNREADABLE, numbers
from tacit.errors import InvalidParameter

LARGE = 2**53


class Hostile:
    """An object that fails whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError


class Chameleon(str):
    """A text that says to be equal to anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("yes")

    def __str__(self) -> str:
        raise RuntimeError


class Odd(int):
    """A number that fails when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = int.__hash__


def _fails(*_: object) -> Any:
    raise RuntimeError("a cell that fails")


FAILING = dict.fromkeys(["item", "as_integer_ratio", "__float__", "__int__", "__eq__", "__hash__"], _fails)
OWN = [type("Own", (base,), FAILING) for base in (np.int8, np.float16, np.float32, np.longdouble)]
"""Numbers of somebody's own that fail in whatever they are asked."""

NOWHERE: list[Any] = [
    *(kind(7) for kind in OWN),
    None, math.nan, np.float32("nan"), np.datetime64("NaT"), np.datetime64(1, "ns"), np.timedelta64(1, "ns"), pd.NaT,
    pd.NA, np.ma.masked, [1], {"a": 1}, {1}, b"yes", 1j, np.complex128(1), np.array(1), np.array([1, 2]), date(1, 1, 1),
    pd.Timestamp(1), Decimal("NaN"), Decimal("sNaN"), Hostile(), object, "?", "yes ", "1", LARGE, float(LARGE), 10**400,
    -(10**400), Decimal("1e400"), math.inf, np.longdouble("1e4000"), np.uint64(2**64 - 1), Fraction(1, 3),
    Chameleon("no?"),
]  # fmt: skip
CELLS: list[tuple[Any, int]] = [
    *((kind(1), 1) for kind in OWN),
    ("yes", 0), (np.str_("yes"), 0), (Chameleon("yes"), 0), (1, 1), (1.0, 1), (True, 1), (np.int8(1), 1),
    (np.bool_(True), 1), (np.float16(1), 1), (np.longdouble(1), 1), (Fraction(1), 1), (Decimal("1.00"), 1), (Odd(1), 1),
    (LARGE + 1, 2), (np.int64(LARGE + 1), 2), (np.longdouble(LARGE) + 1, 2), *((cell, -1) for cell in NOWHERE),
]  # fmt: skip
CLASSES = ["yes", 1, LARGE + 1]


@pytest.mark.parametrize("index", range(len(CELLS)))
def test_every_cell_is_looked_up_alone_whatever_stands_beside_it(index: int) -> None:
    """A cell of any kind finds its class or none, alone or among all others, without an error or a warning."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        cell, wanted = CELLS[index]
        assert places([cell], CLASSES).tolist() == [wanted]
        others = [other for other, _ in CELLS]
        found = places([*others, cell], CLASSES)
        assert found.tolist() == [place for _, place in CELLS] + [wanted]
        first, second = numbers(column([cell, 1.5]), texts=False)
        assert np.isnan(first) or isinstance(label(cell), int | float | Decimal | Fraction)
        assert second == 1.5


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()), max_size=20))
def test_replacing_one_cell_moves_no_other(cells: list[Any]) -> None:
    """The places of all other records are the same whatever the first record is."""
    classes = [0, 1, 2, LARGE + 1, -LARGE - 1]
    rest = places(cells, classes).tolist()
    for first in (1, 1.0, "1", None, math.nan, [], LARGE + 1, 10**400, Hostile()):
        assert places([first, *cells], classes)[1:].tolist() == rest


def test_the_whole_container_would_have_told() -> None:
    """The twin: numpy's reading of the same list moves other records to another class, and this test can see it."""
    labels = [LARGE, LARGE + 1]
    assert places([*labels, 0.5], labels)[:2].tolist() == [0, 1]
    assert places(np.asarray([*labels, 0.5]), labels)[:2].tolist() == [0, 0]
    assert places([*labels, "?"], labels)[:2].tolist() == [0, 1]
    assert places(np.asarray([*labels, "?"]), labels)[:2].tolist() == [-1, -1]


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda cells: np.array(cells, dtype=object),
    "masked": lambda cells: np.ma.array([cell or 0 for cell in cells], mask=[cell is None for cell in cells]),
    "pandas": lambda cells: pd.Series(cells, dtype=object),
    "pandas Int64": lambda cells: pd.Series(cells, dtype="Int64", index=range(9, 9 + len(cells))),
    "pandas category": lambda cells: pd.Series(pd.Categorical(cells, categories=[3, 7, LARGE + 1])),
    "pandas Arrow": lambda cells: pd.Series(cells, dtype="int64[pyarrow]"),
    "polars": pl.Series,
    "polars Int128": lambda cells: pl.Series(cells, dtype=pl.Int128),
    "Arrow": pa.array,
    "Arrow chunks": lambda cells: pa.chunked_array([cells[:1], cells[1:]]),
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_a_missing_cell_rounds_no_other(make: Callable[[list[Any]], Any]) -> None:
    """In every container the large number keeps its last digit with and without a missing cell beside it."""
    classes = [7, LARGE + 1]
    assert places(make([LARGE + 1, 7, 3]), classes).tolist() == [1, 0, -1]
    assert places(make([LARGE + 1, 7, None]), classes).tolist() == [1, 0, -1]


def test_what_a_series_cannot_give_out_is_at_no_class() -> None:
    """A date beyond Python's range or an undecodable text takes no other record with it."""
    words = pa.array([b"yes", b"\xff\xfe"]).view(pa.string())
    assert places(words, ["no", "yes"]).tolist() == [1, -1]
    assert column(pa.array([1, 2**62]).cast(pa.timestamp("s"))).tolist()[1] is UNREADABLE
    for kind in (pl.Date, pl.Datetime("us"), pl.Duration("ms")):
        assert places(pl.Series([2**31 - 1, 1], dtype=pl.Int32).cast(kind), [1, 2]).tolist() == [-1, -1]
    assert places(pl.Series([[1], [2]]), [1, 2]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    "kind", ["?", "i1", "i8", "u8", "f2", "f4", "f8", "g", "U3", "M8[ns]", "m8[ns]", "S3", "c16", "O"]
)
def test_arrays_read_as_their_cells_do(kind: str) -> None:
    """An array of any type gives what the list of its cells gives; dates are no numbers."""
    array = np.array([0, 1, 2, 1], dtype="i8").astype(kind)
    for classes in ([0, 1], ["0", "1"]):
        assert places(array, classes).tolist() == places(list(array), classes).tolist()


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "U9"])
def test_arrays_are_compared_exactly(kind: str) -> None:
    """Few classes, many classes and a list of cells give the same places, at the ends of every type."""
    ends = [0, 1, -1, 0.5, 0.1, 255, 256, -128, 65504, 2**24 + 1, LARGE, LARGE + 1, LARGE + 2, 2**63, 2**64, math.inf]
    numbers = [*ends, float(np.float32(0.1)), float(np.float16(0.1)), 10**400, -(2**63), True]
    texts = ["a", "ab", "a\0", "", "\0", " a", "1", "0.5"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = [cell for cell in numbers if abs(cell) < 2**62]
        array = np.array(texts).astype(kind) if kind == "U9" else np.array(small).astype(kind)
    if kind in ("i8", "u8"):
        array = np.append(array, np.array([LARGE + 1, np.iinfo(kind).max], dtype=kind))
    classes = [*numbers, *texts]
    wanted = places(array.tolist(), classes).tolist()
    assert places(array, classes).tolist() == wanted
    for start in range(len(classes)):
        few = classes[start : start + 20]
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert places(array, few).tolist() == places(array.tolist(), few).tolist()
    assert places(array, [*classes, *range(1000, 1040)]).tolist() == wanted


def test_a_signalling_nan_is_as_silent_as_any_other() -> None:
    """A number whose comparison is invalid is at no class, under every error state."""
    array = np.array([0x7FF0000000000001, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)
    with np.errstate(all="raise"):
        assert places(array, [0, 1]).tolist() == [-1, 1]
        assert math.isnan(numbers(column(array), texts=False)[0])


def test_long_columns_are_read_in_blocks() -> None:
    """Blocks join without a gap."""
    values = np.arange(200_001) % 7
    assert np.array_equal(places(values, range(7)), values)


@pytest.mark.parametrize(
    "classes",
    [[], ["yes"], ["a", "a"], [1, True], [0, 0.0], [LARGE, LARGE + 1], [LARGE + 1, float(LARGE)], [1, "1"], [None, 1],
     [math.nan, 1], [math.inf, 1], [10**400, 1], "ab", 5, None, [[0], [1]], np.eye(2), ["a", "a\0"], [Fraction(1), 2],
     np.array([LARGE, LARGE + 1])],
)  # fmt: skip
def test_classes_that_could_be_mistaken_for_one_another_are_refused(classes: Any) -> None:
    """Empty, single, repeated, colliding as float64, mixed, or neither texts nor finite numbers."""
    with pytest.raises(InvalidParameter, match=r"class|column"):
        checked_classes(classes)


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [([1, 0], [0, 1]), ({"b", "a"}, ["a", "b"]), ((True, False), [False, True]), (np.array([2, 1], dtype="i2"), [1, 2]),
     (pd.Series(["b", "a"]), ["a", "b"]), ([LARGE, LARGE + 2], [LARGE, LARGE + 2]), ([0.5, 2], [0.5, 2.0])],
)  # fmt: skip
def test_classes_come_sorted(classes: Any, wanted: list[Any]) -> None:
    """Texts by their letters, numbers by their size, in the type that they came in."""
    found = checked_classes(classes)
    assert found.tolist() == wanted
    assert not isinstance(classes, np.ndarray) or found.dtype == classes.dtype


@pytest.mark.parametrize("values", [5, "yes", {"a"}, np.eye(2), None, iter([1])])
def test_what_is_no_column_is_refused(values: Any) -> None:
    """A column has one dimension, a length and an order."""
    with pytest.raises(InvalidParameter, match="column"):
        column(values)
