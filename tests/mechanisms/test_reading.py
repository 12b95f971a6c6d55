"""What is released is read exactly and totally: no digit is lost before the noise, and no value can fail."""

import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.statistical import count_fits, sample_size
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import AdditiveNoise, Exponential, Gaussian, Laplace, Mechanism, SparseVector, SphericalLaplace
from tacit.mechanisms.exponential import _behind
from tacit.mechanisms.reading import LARGEST, add_exactly, exact, in_units, numbers
from tacit.noise import Rehearsal, SystemEntropy, add_on_grid
from tacit.releases import release

BUDGET = Budget(1, 1e-6)
ADDITIVE: dict[str, Callable[..., AdditiveNoise]] = {
    "laplace": Laplace.for_budget,
    "gaussian": Gaussian.for_budget,
    "spherical": SphericalLaplace.for_budget,
}
EVERY_ADDITIVE = pytest.mark.parametrize("build", ADDITIVE.values(), ids=ADDITIVE)
LARGE = 2**60 + 127
"""A whole number that a float64 rounds down by 127; its neighbour, two more, is rounded up by 127."""


class Hostile:
    """An object that fails whatever is asked of it."""

    def __float__(self) -> float:
        raise RuntimeError("secret")

    def __index__(self) -> int:
        raise RuntimeError("secret")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    __hash__ = None  # type: ignore[assignment]

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("secret")


class Impostor(float):
    """A float that says to be another."""

    def __float__(self) -> float:
        raise RuntimeError("secret")

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("secret")


class Loud:
    """A number that warns when it is asked for."""

    def __float__(self) -> float:
        warnings.warn("secret", stacklevel=1)
        return 2.0


class Tensor:
    """A number of another library: whole numbers have an index, others a float only."""

    def __init__(self, number: float) -> None:
        self._number = number

    def __index__(self) -> int:
        if isinstance(self._number, float):
            raise TypeError
        return self._number

    def __float__(self) -> float:
        return float(self._number)


NO_NUMBERS = [
    None, "secret", "1.5", b"1", 1j, math.nan, Decimal("NaN"), Decimal("sNaN"), object(), Hostile(), pd.NA, pd.NaT,
    np.ma.masked, np.complex128(3), np.str_("1.5"), np.datetime64("2020-01-01"), np.timedelta64(5, "s"),
    np.float32("nan"), np.array([1.0, 2.0]), Decimal("0E+999999999"), Decimal("1E-999999999"), -0.0, np.void(b"12"),
]  # fmt: skip
NUMBERS: list[tuple[Any, Fraction]] = [
    (math.inf, Fraction(LARGEST)),
    (-math.inf, -Fraction(LARGEST)),
    (10**400, Fraction(LARGEST)),
    (-(10**5000), -Fraction(LARGEST)),
    (Decimal("-1E+999999999"), -Fraction(LARGEST)),
    (Decimal("Infinity"), Fraction(LARGEST)),
    (np.longdouble("-inf"), -Fraction(LARGEST)),
    (Fraction(10**400, 3), Fraction(LARGEST)),
    (5e-324, Fraction(5e-324)),
    (2**53 + 1, Fraction(2**53 + 1)),
    (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    (np.longdouble(2**53) + np.longdouble(0.5), Fraction(2 * 2**53 + 1, 2)),
    (Decimal("0.1"), Fraction(1, 10)),
    (Decimal("0." + "9" * 900), 1 - Fraction(1, 10**900)),
    (Decimal("1." + "0" * 10**6 + "1"), Fraction(1)),
    (Fraction(10**30_000 + 1, 10**30_000), 1 + Fraction(1, 10**30_000)),
    (Fraction(1, 3), Fraction(1, 3)),
    (True, Fraction(1)),
    (np.True_, Fraction(1)),
    (np.array(7), Fraction(7)),
    (np.float32(1.5), Fraction(3, 2)),
    (Impostor(2.5), Fraction(5, 2)),
    (Loud(), Fraction(2)),
    (Tensor(2**53 + 1), Fraction(2**53 + 1)),
    (Tensor(0.5), Fraction(1, 2)),
]


@pytest.fixture
def loud() -> Iterator[None]:
    """Make numpy raise at every rounding that it can notice."""
    with np.errstate(all="raise"):
        yield


@pytest.mark.parametrize("place", range(len(NO_NUMBERS)))
def test_what_is_no_number_counts_as_nothing(place: int, loud: None) -> None:
    """Missing values, texts, dates and objects that fail are read as 0, without an error or a warning."""
    assert exact(NO_NUMBERS[place]) == 0


@pytest.mark.parametrize(("cell", "number"), NUMBERS, ids=[f"{place}" for place in range(len(NUMBERS))])
def test_numbers_of_every_kind_are_read_exactly(cell: object, number: Fraction, loud: None) -> None:
    """Whole numbers, fractions, decimals and long floats keep every digit, up to the largest float."""
    assert exact(cell) == number


FLOATS = st.one_of(st.floats(), st.floats(-1e3, 1e3), st.sampled_from([LARGEST, -LARGEST, 0.5, 2.0**52, 2.0**53 + 2]))


@given(
    st.lists(FLOATS, min_size=1, max_size=5),
    st.sampled_from([2.0**-20, 1.0, 2.0**30, 2.0**-300, 2.0**300]),
    st.integers(-(2**52), 2**52),
)
@example([-0.0, -0.25, 0.25, math.nan], 1.0, 0)
@example([LARGEST, -LARGEST, math.inf, -math.inf], 2.0**300, 2**52)
def test_the_quick_way_and_the_exact_way_give_the_same_bits(values: list[float], grid: float, drawn: int) -> None:
    """Floats read as an array, and the same as fractions, become the same answers, also with numpy on its guard."""
    noise = np.full(len(values), drawn, dtype=np.int64)
    with np.errstate(all="raise"):
        quick = add_on_grid(np.array(values), noise, grid)
    slow = add_exactly(np.array([exact(value) for value in values], dtype=object), noise, grid)
    assert quick.tobytes() == slow.tobytes()
    assert np.all(np.isfinite(quick))


@EVERY_ADDITIVE
def test_a_whole_number_keeps_its_last_digit(build: Callable[..., AdditiveNoise]) -> None:
    """However a large whole number comes, the answer is the exact sum with the noise, rounded once, at the end."""
    mechanism = build(BUDGET, 2.0)
    for number in (LARGE, LARGE + 2, 2**53 + 1, -(2**62) - 1):
        for seed in range(20):
            total = number + int(mechanism.noise(Rehearsal(seed))[0]) * Fraction(mechanism.grid)
            forms = (
                number,
                np.int64(number),
                np.array(number),
                Fraction(number),
                Decimal(number),
                np.array(number, object),
            )
            for form in forms:
                assert mechanism.randomise(mechanism.check(form), Rehearsal(seed)) == float(total)


@EVERY_ADDITIVE
def test_a_vector_keeps_the_last_digits_whatever_else_is_in_it(build: Callable[..., AdditiveNoise]) -> None:
    """A float, a fraction, a missing value or a text beside a large whole number does not round it."""
    mechanism = build(BUDGET, 2.0, 2)
    plain = mechanism.randomise(mechanism.check(np.array([LARGE, 0])), Rehearsal(1))[0]
    noise = Fraction(mechanism.grid) * int(mechanism.noise(Rehearsal(1))[0])
    assert plain == float(LARGE + noise)
    for other in (0.5, Fraction(1, 3), None, "x", math.nan, 10**400, 2**64 - 1, np.float32(1)):
        assert mechanism.randomise(mechanism.check([LARGE, other]), Rehearsal(1))[0] == plain
        assert mechanism.randomise(mechanism.check(np.array([LARGE, other], dtype=object)), Rehearsal(1))[0] == plain
    columns = (
        pd.Series([LARGE, None], dtype="Int64"), pl.Series([LARGE, None]), pa.array([LARGE, None]),
        np.ma.array([LARGE, 5], mask=[False, True]), pa.chunked_array([[LARGE], [None]]),
    )  # fmt: skip
    for column in columns:
        answer = mechanism.randomise(mechanism.check(column), Rehearsal(1))
        assert np.array_equal(answer, mechanism.randomise(mechanism.check([LARGE, 0]), Rehearsal(1)))


@pytest.mark.stats
def test_answers_about_neighbours_beyond_the_digits_of_a_float_are_as_likely_as_they_should_be() -> None:
    """Two counts that floats put 256 apart are released with the chances of their true distance, 2."""
    mechanism, size = Laplace.for_budget(Budget(1), 2.0), sample_size(2_000)
    units, ratio = int(1 / mechanism.grid), math.exp(-1 / mechanism.units)
    source = SystemEntropy()
    for number, needed in ((LARGE, units + 1), (LARGE + 2, -units + 1)):
        tail = ratio ** max(needed, 1 - needed) / (1 + ratio)
        above = sum(mechanism.randomise(mechanism.check(number), source) > 2**60 for _ in range(size))
        rounded = sum(mechanism.randomise(mechanism.check(float(number)), source) > 2**60 for _ in range(size))
        assert count_fits(above, size, tail if needed > 0 else 1 - tail)
        assert not count_fits(rounded, size, tail if needed > 0 else 1 - tail)


def test_scores_beyond_the_digits_of_a_float_keep_their_distances() -> None:
    """Scores that floats put 256 apart are compared by their true distance, in lists, arrays and series."""
    scores = [LARGE, LARGE + 2]
    for form in (scores, np.array(scores), pl.Series(scores), np.array(scores, dtype=object), [*map(Fraction, scores)]):
        assert _behind(numbers("scores", form, (2,))).tolist() == [-2.0, 0.0]
    assert _behind(numbers("scores", [-(10**400), math.inf, None], (3,))).tolist() == [-LARGEST, 0.0, -LARGEST]
    mechanism, size = Exponential.for_budget(Budget(1), 2.0, candidates=2), 1_000
    chosen = sum(mechanism.randomise(mechanism.check(scores), SystemEntropy()) for _ in range(size))
    rounded = sum(
        mechanism.randomise(mechanism.check([float(score) for score in scores]), SystemEntropy()) for _ in range(size)
    )
    better = 1 / (1 + math.exp(-0.5))
    assert count_fits(chosen, size, better)
    assert not count_fits(rounded, size, better)


def test_queries_beyond_the_digits_of_a_float_keep_their_distances() -> None:
    """In the sparse vector technique a query moves by its true distance, in a list and in a stream alike."""
    mechanism, size = SparseVector.for_budget(Budget(1), 0.5, threshold=2.0**60, hits=1), 400
    moved = [mechanism._noisy(query, mechanism.units[1], Rehearsal(3)) for query in (LARGE, LARGE + 2)]
    assert moved[1] - moved[0] == 2 / mechanism.grid
    for stream in ([2**60 - 100, 2**60 + 100], (query for query in (2**60 - 100, np.int64(2**60 + 100)))):
        assert release(mechanism, stream, label="x").value == (False, True)
    kept = sum(mechanism.randomise(mechanism.check([2**60 + 100]), SystemEntropy())[0] for _ in range(size))
    rounded = sum(mechanism.randomise(mechanism.check([float(2**60 + 100)]), SystemEntropy())[0] for _ in range(size))
    assert kept == size
    assert count_fits(rounded, size, 0.5)


def _mechanisms() -> dict[str, tuple[Mechanism, Callable[[object], object]]]:
    """Every mechanism with a way to put one cell into its value."""
    found: dict[str, tuple[Mechanism, Callable[[object], object]]] = {
        "exponential": (Exponential.for_budget(BUDGET, candidates=3), lambda cell: [0, cell, 1.0]),
        "exponential array": (
            Exponential.for_budget(BUDGET, candidates=3, weights=[1, 2, 3]),
            lambda cell: np.fromiter([0, cell, 1.0], dtype=object, count=3),
        ),
        "sparse vector": (SparseVector.for_budget(BUDGET, threshold=0.0), lambda cell: [cell, 1.0]),
        "sparse stream": (SparseVector.for_budget(BUDGET, threshold=0.0), lambda cell: (c for c in [cell, 1.0])),
    }
    for name, build in ADDITIVE.items():
        found[name] = build(BUDGET), lambda cell: cell
        found[f"{name} list"] = build(BUDGET, 1.0, 2), lambda cell: [cell, 1.0]
        found[f"{name} rows"] = build(BUDGET, 1.0, (2, 1)), lambda cell: [[1.0], [cell]]
        found[f"{name} array"] = build(BUDGET, 1.0, 2), lambda cell: np.fromiter([cell, 1], dtype=object, count=2)
    return found


@pytest.mark.parametrize("name", _mechanisms())
def test_every_value_of_the_right_shape_is_answered(name: str, loud: None) -> None:
    """No number, and nothing that is none, can make a release fail, warn or answer with infinity."""
    mechanism, put = _mechanisms()[name]
    for cell in [*NO_NUMBERS, *(cell for cell, _ in NUMBERS), 5e-324, -1.7e308]:
        if put(cell) is cell and type(cell) is np.ndarray and cell.ndim:
            continue
        answer = release(mechanism, put(cell), label="x").value
        assert np.all(np.isfinite(np.asarray(answer, dtype=np.float64)))


@pytest.mark.parametrize("name", _mechanisms())
def test_every_value_of_the_right_shape_is_charged(name: str, tmp_path: Path) -> None:
    """Whether a value is a number is not found out for free: a release costs the same in any case."""
    mechanism, put = _mechanisms()[name]
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="x", budget=Budget(100, 1e-3))
    for cell in (1.0, None, math.nan, math.inf, 10**400, Hostile()):
        release(mechanism, put(cell), label="x", ledger=ledger)
    assert [entry.event for entry in ledger.entries()] == [mechanism.event] * 6


@pytest.mark.parametrize("name", ["laplace", "gaussian", "spherical"])
def test_an_answer_tells_nothing_by_its_type(name: str) -> None:
    """Answers are Python floats, or arrays of float64 of the calibrated shape, and zero has one sign."""
    mechanism = ADDITIVE[name](BUDGET)
    answers = [
        mechanism.randomise(mechanism.check(cell), Rehearsal(1))
        for cell in (0, 0.0, -0.0, False, np.int8(0), None, "x", -1e-30)
    ]
    assert {type(answer) for answer in answers} == {float}
    assert len({np.float64(answer).tobytes() for answer in answers}) == 1
    vector = ADDITIVE[name](BUDGET, 1.0, 2)
    for form in ([1, 2], (1, 2), np.array([1, 2]), np.ma.array([1.0, 2.0]), pd.Series([1, 2]), [True, Fraction(2)]):
        answer = vector.randomise(vector.check(form), Rehearsal(1))
        assert (type(answer), answer.dtype, answer.shape) == (np.ndarray, np.float64, (2,))
    matrix = ADDITIVE[name](BUDGET, 1.0, (1, 2))
    assert type(matrix.randomise(matrix.check(np.ones((1, 2)).view(np.matrix)), Rehearsal(1))) is np.ndarray


@given(
    st.one_of(st.fractions(), st.integers().map(lambda halves: Fraction(halves, 2))), st.sampled_from([0.25, 1.0, 8.0])
)
def test_rounding_to_the_grid_moves_a_number_by_half_a_step_at_most(number: Fraction, grid: float) -> None:
    """Two numbers come no more than one step further apart: what the calibration takes into account."""
    assert abs(in_units(number, grid) * Fraction(grid) - number) <= Fraction(grid) / 2
    assert in_units(number, grid) == round(number / Fraction(grid))


@pytest.mark.parametrize("shape", [(), 2, (2, 3)])
@pytest.mark.parametrize(
    "value",
    [[1.0], [[1.0]], np.ones(3), np.ones((3, 2)), {}, {1.0}, iter([1.0]), (c for c in [1.0, 2.0]), len,
     [[1, 2, 3], [1, 2]], [1.0, 2.0, 3.0], pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]}), pd.Series([1.0])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@EVERY_ADDITIVE
def test_only_another_shape_is_refused(build: Callable[..., AdditiveNoise], value: object, shape: Any) -> None:
    """The shape is public and fixed in advance; a container that has none is refused as well."""
    with pytest.raises(InvalidParameter, match="another shape"):
        build(BUDGET, 1.0, shape).check(value)
