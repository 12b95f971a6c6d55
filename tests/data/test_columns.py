import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.data import Category, Column, Flag, Ignored, Moment, Number, Ordinal
from tacit.data.columns import Lines
from tacit.data.values import numbers, objects, text
from tacit.errors import InvalidParameter


def cells(*values: object) -> np.ndarray:
    """Put any objects into one column."""
    return np.fromiter(values, dtype=object, count=len(values))


NO_NUMBERS: list[object] = [None, math.nan, "", "n/a", b"3", [3], 3j, np.datetime64("2020"), object()]
CODES: list[tuple[Column, list[object], list[Any]]] = [
    (Number(10, 20), [10, 15, 20, -math.inf, 1e300, 10**400, -(10**400), "17.5"], [-1, 0, 1, -1, 1, 1, -1, 0.5]),
    (Number(-1, 98, log=True), [-1, 8, 98], [-1, 0, 1]),
    (Number(0, 10), NO_NUMBERS, [0] * 9),
    (Number(0, 10, missing=10), NO_NUMBERS, [1] * 9),
    (Number(0, 10**6, log=True, missing=0), NO_NUMBERS, [-1] * 9),
    (Category(["a", "b", 3]), ["a", 3.0, "3", "z", None, []],
     [[0.5, 0, 0], [0, 0, 0.5], [0, 0, 0.5], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    (Category(["a", "b"], other="a"), ["a", "b", "z", None], [0, 0.5, 0, 0]),
    (Ordinal(["low", "mid", "high"]), ["low", "mid", "high", "?"], [-1, 0, 1, 0]),
    (Ordinal([1, 2], missing=2), [1, None], [-1, 1]),
    (Flag(), [False, True, 0, 1, "True", np.True_, None, "maybe"], [-0.5, 0.5, -0.5, 0.5, 0.5, 0.5, 0, 0]),
    (Flag("no", ["yes", "y"], missing=False), ["y", "no", None], [0.5, -0.5, -0.5]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "raw", "codes"), CODES)
def test_cells_become_the_codes_that_were_declared(column: Column, raw: list[object], codes: list[Any]) -> None:
    """Numbers are linear and clamped, levels half unit vectors, and what is missing has its place."""
    np.testing.assert_allclose(np.squeeze(column.encode(cells(*raw))), codes, rtol=0, atol=1e-15)


def test_outputs_are_named_by_column_and_level() -> None:
    """The level for others has no column of its own, and a flag has one."""
    assert Category(["a", "b", 3]).outputs("ward") == ("ward=a", "ward=b", "ward=3")
    assert Category(["a", "b"], other="a").outputs("ward") == ("ward=b",)
    assert Flag("no", "yes").outputs("smoker") == ("smoker=yes",)


def test_ignored_columns_vanish() -> None:
    """An ignored column has no output."""
    assert Ignored().outputs("id") == ()
    assert Ignored().encode(cells(1, 2)).shape == (2, 0)


def test_a_number_is_one_level_in_whatever_type_it_arrives() -> None:
    """Whole numbers read as the same text as integers, floats, decimals, fractions and numpy scalars."""
    assert {text(two) for two in (2, 2.0, "2", Decimal("2.0"), Fraction(2), np.int8(2), np.float32(2))} == {"2"}
    assert [text(value) for value in (math.nan, None, Decimal("sNaN"), 10**5000, Fraction(10**400))] == [None] * 5


def test_numeric_arrays_and_objects_read_alike() -> None:
    """A numeric array and the same cells as objects give the same floats, bit for bit."""
    typed = np.array([2**63 - 1, -(2**53) - 1, 7], dtype=np.int64)
    np.testing.assert_array_equal(numbers(typed), numbers(typed.astype(object)))
    wide = np.array([1.1, 1e-320, -1e308], dtype=np.longdouble)
    np.testing.assert_array_equal(numbers(wide), numbers(wide.astype(object)))


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Number(1, 1),
        lambda: Number(2, 1),
        lambda: Number(0, math.inf),
        lambda: Number(math.nan, 1),
        lambda: Number(-1.7e308, 1.7e308),
        lambda: Number(0, 10**400),
        lambda: Number("0", 1),  # type: ignore[arg-type]
        lambda: Number(False, True),
        lambda: Number(0, 1, log="yes"),  # type: ignore[arg-type]
        lambda: Number(0, 1, missing=2),
        lambda: Number(0, 1, missing=math.nan),
        lambda: Category([]),
        lambda: Category("abc"),
        lambda: Category(None),  # type: ignore[arg-type]
        lambda: Category(["a", "a"]),
        lambda: Category(["1", 1.0]),
        lambda: Category(["a", None]),  # type: ignore[list-item]
        lambda: Category(["a", "b"], other="c"),
        lambda: Category(["a"], other="a"),
        lambda: Ordinal(["a"]),
        lambda: Ordinal(["a", "b"], missing="c"),
        lambda: Flag("yes", "yes"),
        lambda: Flag([], "yes"),
        lambda: Flag(missing="no"),  # type: ignore[arg-type]
    ],
)
def test_declarations_that_make_no_sense_are_refused(declare: object) -> None:
    """A contradictory or incomplete declaration is an InvalidParameter at once."""
    assert callable(declare)
    with pytest.raises(InvalidParameter):
        declare()


def test_declarations_are_values() -> None:
    """Equal declarations are equal and hash alike however their levels were typed."""
    assert Category([1, "b"]) == Category(("1", "b"))
    assert len({Number(0, 1), Number(0.0, 1.0), Flag("n", "y"), Flag(["n"], ("y",))}) == 2


def test_lines_side_by_side_are_those_of_each_column() -> None:
    """To the last bit: whether a scale is logarithmic, or a missing cell has a place, concerns its column alone."""
    ends = "1990-01-01", "2031-03-04"
    columns = [Number(0.1, 0.7), Number(0, 1e6, log=True), Number(-3, 7.7, missing=1.3), Moment(*ends), Moment(*ends)]
    lines = [column.line for column in columns]
    shares = np.random.default_rng(0).uniform(size=(len(lines), 5000))
    cells = [line.low + own * (line.high - line.low) for line, own in zip(lines, shares, strict=True)]
    for line, own in zip(lines, cells, strict=True):
        own[::7] = line.low if line.origin is None else line.origin
    together = Lines(lines).code(cells)
    for column, own, row in zip(columns, cells, together, strict=True):
        assert column.code(own)[:, 0].tobytes() == row.tobytes()
        assert all(column.code(own[place : place + 1])[0, 0] == row[place] for place in range(0, 5000, 501))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("column", [Number(-4, 4), Number(0.1, 0.7, missing=0.3), Number(0, 1, log=True)])
def test_floats_are_cleaned_alike_at_once_and_one_by_one(kind: type, column: Number) -> None:
    """Missing cells, infinite ones, those near 0 and -0.0 among them, in single precision too."""
    odd = [math.nan, math.inf, -math.inf, -0.0, 1e-120, -1e-120, 0.1, 0.7, 5.0, -5.0]
    cells = np.concatenate([np.array(odd), np.random.default_rng(0).normal(size=40_000)]).astype(kind)
    assert column.clean(objects(cells.tolist()))[0].tobytes() == column.clean(cells)[0].tobytes()
    assert column.clean(cells)[1][:3].tolist() == [1, 2, 2]
