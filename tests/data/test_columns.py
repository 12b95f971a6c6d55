import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.data import Category, Flag, Ignored, Moment, Number, Ordinal
from tacit.data.columns import Lines
from tacit.data.values import numbers, text
from tacit.errors import InvalidParameter


def cells(*values: object) -> np.ndarray:
    """Put any objects into one column."""
    return np.fromiter(values, dtype=object, count=len(values))


def test_numbers_map_their_bounds_to_minus_one_and_one_and_clamp_beyond() -> None:
    """A number's code is linear between its bounds and constant outside."""
    code = Number(10, 20).encode(cells(10, 15, 20, -math.inf, 1e300, 10**400, -(10**400), "17.5"))
    assert code[:, 0].tolist() == [-1, 0, 1, -1, 1, 1, -1, 0.5]


def test_a_logarithmic_number_is_linear_in_the_logarithm() -> None:
    """With log=True equal ratios of 1 + value - low are equal steps."""
    code = Number(-1, 98, log=True).encode(cells(-1, 8, 98))
    assert code[:, 0].tolist() == pytest.approx([-1, 0, 1], abs=1e-15)


@pytest.mark.parametrize("missing", [None, math.nan, "", "n/a", b"3", [3], 3j, np.datetime64("2020"), object()])
def test_what_is_no_number_goes_to_the_declared_place(missing: object) -> None:
    """A missing or unparsable number has code 0, or that of the value declared for it."""
    assert Number(0, 10).encode(cells(missing))[0, 0] == 0
    assert Number(0, 10, missing=10).encode(cells(missing))[0, 0] == 1
    assert Number(0, 10**6, log=True, missing=0).encode(cells(missing))[0, 0] == -1


def test_categories_are_half_unit_vectors_and_unknown_levels_the_origin() -> None:
    """Without `other`, k levels take k columns, and everything else is all zeros."""
    column = Category(["a", "b", 3])
    assert column.outputs("ward") == ("ward=a", "ward=b", "ward=3")
    assert column.encode(cells("a", 3.0, "3", "z", None, [])).tolist() == [
        [0.5, 0, 0],
        [0, 0, 0.5],
        [0, 0, 0.5],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]


def test_the_level_for_others_loses_its_redundant_column() -> None:
    """With `other`, that level and unknown ones share the origin, and k levels take k - 1 columns."""
    column = Category(["a", "b"], other="a")
    assert column.outputs("ward") == ("ward=b",)
    assert column.encode(cells("a", "b", "z", None))[:, 0].tolist() == [0, 0.5, 0, 0]


def test_ordinals_are_evenly_spaced() -> None:
    """The lowest level is -1, the highest 1, an unknown one 0 or the level declared for it."""
    assert Ordinal(["low", "mid", "high"]).encode(cells("low", "mid", "high", "?"))[:, 0].tolist() == [-1, 0, 1, 0]
    assert Ordinal([1, 2], missing=2).encode(cells(1, None))[:, 0].tolist() == [-1, 1]


def test_flags_take_one_column() -> None:
    """False is -1/2, true is 1/2, an unknown value 0 or the one declared for it."""
    values = cells(False, True, 0, 1, "True", np.True_, None, "maybe")
    assert Flag().encode(values)[:, 0].tolist() == [-0.5, 0.5, -0.5, 0.5, 0.5, 0.5, 0, 0]
    assert Flag("no", ["yes", "y"], missing=False).encode(cells("y", "no", None))[:, 0].tolist() == [0.5, -0.5, -0.5]
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
def test_floats_are_cleaned_alike_whether_it_is_told_how_they_fared(kind: type, column: Number) -> None:
    """Missing cells, infinite ones, those near 0 and -0.0 among them, in single precision too."""
    odd = [math.nan, math.inf, -math.inf, -0.0, 1e-120, -1e-120, 0.1, 0.7, 5.0, -5.0]
    cells = np.concatenate([np.array(odd), np.random.default_rng(0).normal(size=40_000)]).astype(kind)
    assert column.cleaned(cells).tobytes() == column.clean(cells)[0].tobytes()
    assert column.clean(cells)[1][:3].tolist() == [1, 2, 2]
