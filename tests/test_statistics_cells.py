"""Columns are read cell by cell: what one record is changes nothing for any other, and no cell can fail."""

import math
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import Budget, Ledger, releases, statistics
from tacit.errors import InvalidParameter


class Hostile:
    """An object that fails whatever is asked of it."""

    def __float__(self) -> float:
        raise RuntimeError("secret")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __hash__(self) -> int:
        raise RuntimeError("secret")

    def __bool__(self) -> bool:
        raise RuntimeError("secret")

    def __str__(self) -> str:
        raise RuntimeError("secret")


class Everything(str):
    """A text that says to be equal to anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


ODD = [
    None, "?", "1", b"1", 1j, math.nan, math.inf, -math.inf, 10**400, -(10**5000), 2**53 + 1, 5e-324, Decimal("NaN"),
    Decimal("sNaN"), Decimal("1E+999999999"), Fraction(1, 3), date(2020, 1, 1), np.datetime64("2020"), pd.NA, pd.NaT,
    [1.0], (1, 2), {}, {1: 2}, object(), Hostile(), Everything("x"), np.array([1, 2]), np.array(1.0), np.complex128(1),
    np.longdouble("1e4000"), True, np.True_, np.float32(1), "\x00", "\ud800", lambda: 1, "9" * 5000,
]  # fmt: skip
CELLS = st.one_of(
    st.builds(slice, st.integers(0, len(ODD) - 1)), st.integers(-5, 5), st.floats(), st.booleans(), st.text(max_size=3)
)
"""A slice stands for an odd cell: hypothesis hashes what it draws."""
LEVELS = (0, 1, 2, 3)
TEXTS = ("0", "1", "?")


def _drawn(cell: Any) -> Any:
    return ODD[cell.stop] if isinstance(cell, slice) else cell


def _asked(column: Any) -> list[tuple[str, np.ndarray, float]]:
    """Return every exact answer about a column, by a rehearsal, and how far one record may move it in L1 norm."""
    flags = statistics.count(column, epsilon=1.0, random_state=1).value
    total = statistics.sum(column, low=0, high=4, epsilon=1.0, random_state=1).value
    mean = statistics.mean(column, low=0, high=4, epsilon=1.0, missing=1, random_state=1).value * len(column)
    whole = statistics.histogram(column, levels=LEVELS, epsilon=1.0, random_state=1).value
    words = statistics.histogram(column, levels=TEXTS, epsilon=1.0, random_state=1).value
    return [
        ("count", np.array([flags]), 1.0),
        ("sum", np.array([total]), 4.0),
        ("mean", np.array([mean]), 4.0),
        ("histogram", whole, 2.0),
        ("histogram of texts", words, 2.0),
    ]


@given(st.lists(CELLS, min_size=1, max_size=12), CELLS, st.integers(0, 11))
def test_no_cell_moves_an_answer_by_more_than_its_sensitivity(cells: list[Any], other: Any, place: int) -> None:
    """With one and the same noise, replacing any cell by anything moves no statistic by more than is paid for."""
    column = [_drawn(cell) for cell in cells]
    replaced = list(column)
    replaced[place % len(cells)] = _drawn(other)
    with np.errstate(all="raise"):
        for before, after in zip(_asked(column), _asked(replaced), strict=True):
            assert np.sum(np.abs(before[1] - after[1])) <= before[2] + 1e-5, before[0]


@pytest.mark.parametrize("odd", range(len(ODD)))
def test_one_odd_record_changes_no_other(odd: int) -> None:
    """A thousand records are counted the same whatever the last one is; read as a whole they were not."""
    column = [*([1, 2] * 500), ODD[odd]]
    counts = statistics.histogram(column, levels=[1, 2], epsilon=1e6, random_state=0).value
    assert np.all(np.abs(counts - 500) <= 1.01)
    flags = [*([True, False] * 500), ODD[odd]]
    assert 499.9 <= statistics.count(flags, epsilon=1e6, random_state=0).value <= 501.1
    assert 1499.9 <= statistics.sum(column, low=0, high=3, epsilon=1e6, random_state=0).value <= 1503.1
    middle = statistics.quantile(column, 0.4, low=0, high=3, epsilon=1e6, random_state=0).value
    assert 0.99 <= middle <= 2.01


def test_a_container_read_as_a_whole_is_caught() -> None:
    """The twin: counted after `np.asarray`, one "?" takes all thousand records out of their levels."""
    whole = [np.asarray([*([1, 2] * 500), last]) for last in (1, "?")]
    counts = [np.array([np.count_nonzero(column == level) for level in (1, 2)]) for column in whole]
    assert np.sum(np.abs(counts[0] - counts[1])) > 900


def test_odd_cells_neither_fail_nor_warn_and_are_charged(tmp_path: Path) -> None:
    """Every statistic of a column of odd cells is answered and charged, with numpy on its guard."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="x", budget=Budget(100))
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        statistics.count(ODD, epsilon=1, ledger=ledger)
        statistics.sum(ODD, low=0, high=1, epsilon=1, ledger=ledger)
        statistics.sum([5e-324, -5e-324, 1e-300], low=0, high=1e300, epsilon=1, ledger=ledger)
        statistics.mean(ODD, low=0, high=1, epsilon=1, ledger=ledger)
        statistics.histogram(ODD, levels=[1, 2], epsilon=1, ledger=ledger)
        statistics.histogram(ODD, levels=["?", "x"], epsilon=1, ledger=ledger)
        statistics.quantile(ODD, 0.5, low=0, high=1, epsilon=1, ledger=ledger)
        statistics.bounds(ODD, low=0, high=1, epsilon=1, ledger=ledger)
    assert ledger.spent == Budget(8)


def _exact(function: Callable[..., Any], column: Any, **options: Any) -> Any:
    return function(column, epsilon=1e6, random_state=0, **options).value


@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda cells: pa.chunked_array([cells]),
     lambda cells: pd.Series(cells, dtype="Int64"), pd.Index,
     lambda cells: np.array(cells, dtype=">i8"), lambda cells: pd.Series(cells, dtype="int64[pyarrow]"),
     lambda cells: np.ma.array(cells)],
)  # fmt: skip
def test_every_container_is_read_alike(make: Callable[[list[int]], Any]) -> None:
    """Lists, arrays and columns of pandas, polars and Arrow give the same answers, typed or not."""
    cells = [3, 1, 2**60, 1, -7]
    column = make(cells)
    for function, options in (
        (statistics.sum, {"low": 0, "high": 10}),
        (statistics.mean, {"low": 0, "high": 10}),
        (statistics.histogram, {"levels": [1, 2, 2**60]}),
        (statistics.quantile, {"fraction": 0.5, "low": 0, "high": 10}),
    ):
        assert np.array_equal(_exact(function, column, **options), _exact(function, cells, **options))


@pytest.mark.parametrize(
    "column",
    [[1.0, None], pd.Series([1.0, None]), pl.Series([1.0, None]), pa.array([1.0, None]), pl.Series([1, None]),
     pd.Series([1, None], dtype="Int64"), pa.array([1, None]), np.ma.array([1.0, 9.0], mask=[False, True]),
     [Decimal(1), "?"], pa.array([Decimal("1.0"), None]), [1, pd.NA]],
)  # fmt: skip
def test_a_missing_number_is_left_out_or_counts_as_declared_in_every_container(column: Any) -> None:
    """Null, NaN, a mask, and in a list a word: a mean is of the other number alone, or of that and the one declared."""
    assert _exact(statistics.sum, column, low=0, high=10) == pytest.approx(1, abs=1e-3)
    assert _exact(statistics.sum, column, low=0, high=10, missing=7) == pytest.approx(8, abs=1e-3)
    assert _exact(statistics.mean, column, low=0, high=10) == pytest.approx(1, abs=1e-3)
    assert _exact(statistics.mean, column, low=0, high=10, missing=7) == pytest.approx(4, abs=1e-3)


@pytest.mark.parametrize("column", [[None, None], pl.Series([None, None]), pa.array([None, None])])
def test_a_column_without_any_value_is_a_column(column: Any) -> None:
    """That all values are missing, which some tables make a type of its own, is no reason to refuse."""
    assert _exact(statistics.sum, column, low=0, high=10) == pytest.approx(0, abs=1e-3)
    found = statistics.mean(column, low=0, high=10, epsilon=1e6, random_state=0)
    assert abs(found.value - 5) <= 5
    assert found.noise_error >= 4.9
    assert _exact(statistics.count, column) == pytest.approx(0, abs=1e-3)
    assert np.allclose(_exact(statistics.histogram, column, levels=[1, 2]), 0, atol=1e-3)


@pytest.mark.parametrize(
    "column",
    [[True, None, False, 1], [True, "x", False, True], pl.Series([True, None, False, True]),
     pa.array([True, None, False, True]), pd.array([True, None, False, True], dtype="boolean"),
     np.ma.array([True, True, False, True], mask=[0, 1, 0, 0]), ["True", "?", "False", "true"],
     np.array([True, False, False, True])],
)  # fmt: skip
def test_flags_are_read_alike_in_every_container(column: Any) -> None:
    """True is counted, and false, null and anything else are not."""
    assert _exact(statistics.count, column) == pytest.approx(2, abs=1e-3)


def test_whole_numbers_beyond_the_digits_of_a_float_match_one_level_at_most() -> None:
    """A float cell is at one level only, levels that are one float are refused, and large levels are told apart."""
    with pytest.raises(InvalidParameter, match="same number"):
        statistics.histogram([2.0**53], levels=[2**53, 2**53 + 1], epsilon=1)
    for column in ([2**53 + 1, 2.0**53], np.array([2**53 + 1, 2**53]), [Fraction(2**53 + 1), Decimal(2**53)]):
        assert np.allclose(_exact(statistics.histogram, column, levels=[2**53, 2**53 + 4]), [1, 0], atol=1e-3)
    floats = np.array([2.0**53, 2.0**53 + 4, 2.0**53 + 2])
    assert np.allclose(_exact(statistics.histogram, floats, levels=[2**53, 2**53 + 4]), [1, 1], atol=1e-3)


def test_levels_keep_their_order() -> None:
    """Counts come in the order in which the levels were declared."""
    counts = _exact(statistics.histogram, ["b", "a", "b"], levels=["b", "a", "c"])
    assert np.allclose(counts, [2, 1, 0], atol=1e-3)


@pytest.mark.parametrize(
    "column",
    [(x for x in [1.0]), iter([1.0]), {1.0: 2.0}, {1.0}, 5, 1.0, "text", b"text", None, np.ones((2, 1)), np.float64(1),
     pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]}), pa.table({"a": [1.0]}), np.array(1.0)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_only_the_shape_of_a_column_is_refused(column: Any, tmp_path: Path) -> None:
    """What has no public length, or is no column, is refused before anything is charged."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="x", budget=Budget(10))
    for ask in (
        lambda: statistics.count(column, epsilon=1, ledger=ledger),
        lambda: statistics.sum(column, low=0, high=1, epsilon=1, ledger=ledger),
        lambda: statistics.mean(column, low=0, high=1, epsilon=1, ledger=ledger),
        lambda: statistics.histogram(column, levels=[1.0], epsilon=1, ledger=ledger),
        lambda: statistics.quantile(column, 0.5, low=0, high=1, epsilon=1, ledger=ledger),
    ):
        with pytest.raises(InvalidParameter):
            ask()
    assert ledger.entries() == []


@pytest.mark.parametrize(
    "column",
    [np.array([1j]), np.array(["2020-01-01"], dtype="datetime64[D]"), pd.Series(pd.to_datetime(["2020-01-01"])),
     pl.Series([date(2020, 1, 1)]), pa.array([date(2020, 1, 1)]), np.array([b"1"]), np.array(["1"]), pd.Series(["1"]),
     pl.Series(["1"]), pa.array(["1"]), np.array([1.0], dtype=object), pd.Series([1.0], dtype=object),
     pd.Series(["1"], dtype="string"), pd.Series(["1"], dtype="category"), np.ma.array(["1"])],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'dtype', '')}",
)  # fmt: skip
def test_columns_stored_as_something_else_are_refused(column: Any) -> None:
    """A stored type is a public fact about a column: dates, complex numbers, text and objects are no numbers, no flags.

    Also where every cell of them could be read as a number: what stands in a cell decides nothing.
    """
    for ask in (statistics.sum, statistics.mean, statistics.bounds, partial(statistics.quantile, fraction=0.5)):
        with pytest.raises(InvalidParameter, match="must be numbers"):
            ask(column, low=0, high=1, epsilon=1)
    with pytest.raises(InvalidParameter, match="truth values"):
        statistics.count(column, epsilon=1)


@pytest.mark.parametrize("levels", [[1, "a"], [None], [math.nan, 1.0], {1, 2}, [[1]], "ab", 5, [2**53, 2.0**53 + 1]])
def test_levels_that_cannot_be_told_apart_or_looked_up_are_refused(levels: Any) -> None:
    """Levels are a list of different texts, or of different finite numbers."""
    with pytest.raises(InvalidParameter):
        statistics.histogram([1], levels=levels, epsilon=1)


def test_scores_of_a_quantile_move_by_one_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced record moves every score by at most 1 to the last bit, also where a rank less its target is rounded.

    Without care it is not: beside a power of two the two scores are rounded by different amounts.
    """
    scores: list[list[Fraction]] = []
    original = releases.release

    def watched(mechanism: Any, value: Any, **named: Any) -> Any:
        scores.append([Fraction(score) for score in value.tolist()])
        return original(mechanism, value, **named)

    monkeypatch.setattr(releases, "release", watched)
    rounded = 0
    for fraction in 0.4999 + 1e-7 * np.arange(100):
        for last in (0.0, 1.0):
            column = np.append(np.zeros(4095), last)
            statistics.quantile(column, fraction, low=0, high=1, epsilon=1, candidates=3, random_state=0)
        assert max(abs(before - after) for before, after in zip(*scores[-2:], strict=True)) <= 1
        rounded += abs((4096 - fraction * 4096) - (4095 - fraction * 4096)) > 1
    assert rounded > 0


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble, Fraction, Decimal, float, np.float16])
def test_public_parameters_of_any_kind_are_taken_as_python_numbers(kind: Callable[[Any], Any]) -> None:
    """A bound or a share in single precision does not make the statistic one in single precision."""
    values = np.linspace(0, 4, 1000)
    plain = statistics.sum(values, low=0.5, high=3.5, epsilon=0.5, random_state=1)
    assert statistics.sum(values, low=kind(0.5), high=kind(3.5), epsilon=kind(0.5), random_state=1).value == plain.value
    found = statistics.quantile(values, kind(0.5), low=kind(0.5), high=kind(3.5), epsilon=kind(0.5), random_state=1)
    assert found.value == statistics.quantile(values, 0.5, low=0.5, high=3.5, epsilon=0.5, random_state=1).value
    ends = statistics.bounds(values, low=kind(0.5), high=kind(3.5), coverage=kind(0.75), epsilon=1, random_state=1)
    assert (
        ends[0].value == statistics.bounds(values, low=0.5, high=3.5, coverage=0.75, epsilon=1, random_state=1)[0].value
    )


@pytest.mark.parametrize("bad", [True, np.True_, np.array(0.5), "0.5", None, 1j, 10**400])
def test_what_is_no_python_number_is_no_parameter(bad: Any) -> None:
    """Truth values, arrays and texts are refused where a public number is wanted."""
    for ask in (
        lambda: statistics.sum([1.0], low=0, high=bad, epsilon=1),
        lambda: statistics.quantile([1.0], bad, low=0, high=1, epsilon=1),
        lambda: statistics.bounds([1.0], low=0, high=1, epsilon=1, coverage=bad),
    ):
        with pytest.raises(InvalidParameter):
            ask()
