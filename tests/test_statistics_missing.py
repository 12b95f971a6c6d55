"""What is missing is left out of an answer, or counts as declared, and the answer's error holds for that."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.statistical import at_least, at_most, sample_size
from tacit import Ledger, releases, statistics
from tacit.budget import Budget
from tacit.errors import InvalidParameter

CELLS = st.one_of(st.just(math.nan), st.sampled_from([1.0, 3.0, 5.0]), st.floats(0, 6))


def _bmi(size: int, at: float = 26.0) -> np.ndarray:
    """Return numbers around one, of which 12 % are missing, the larger ones more often."""
    generator = np.random.default_rng(3)
    values = np.clip(generator.normal(at, 4.0, size), 10, 60)
    return np.where(generator.random(size) < 0.24 * (values > np.median(values)), np.nan, values)


def _released(monkeypatch: pytest.MonkeyPatch, column: Any, **how: Any) -> np.ndarray:
    """Return the numbers that go to the door for a mean, before any noise."""
    seen = []
    true_door = releases.release

    def door(mechanism: Any, value: Any, **more: Any) -> Any:
        seen.append(np.asarray(value, dtype=float))
        return true_door(mechanism, value, **more)

    with monkeypatch.context() as patch:
        patch.setattr(releases, "release", door)
        statistics.mean(column, low=1, high=5, epsilon=1.0, random_state=1, **how)
    return seen[0]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@given(st.lists(CELLS, min_size=1, max_size=12), CELLS, st.integers(0, 11), st.integers(0, 1))
def test_a_sum_and_its_count_move_together_by_at_most_one(
    delta: float, cells: list[float], other: float, place: int, grouped: int
) -> None:
    """Replacing any record, or any person's rows, moves the two by 1 in L1 norm, in L2 norm where there is a delta."""
    ids = (np.arange(len(cells)) // 2) if grouped else None
    replaced = list(cells)
    owners = np.arange(len(cells)) // 2 if grouped else np.arange(len(cells))
    for row in np.flatnonzero(owners == owners[place % len(cells)]):
        replaced[row] = other
    with pytest.MonkeyPatch.context() as patch:
        one, two = (_released(patch, column, groups=ids, delta=delta) for column in (cells, replaced))
    assert np.linalg.norm(one - two, 2 if delta else 1) <= 1 + 1e-12


@pytest.mark.parametrize(("delta", "norm"), [(0.0, 1), (1e-6, 2)])
def test_a_record_that_goes_missing_uses_nearly_all_of_the_sensitivity(
    delta: float, norm: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count has as much weight as the sum leaves room for; a count of full weight would move too far (the twin)."""
    one, two = (_released(monkeypatch, column, delta=delta) for column in ([5.0, 3.0], [math.nan, 3.0]))
    moved = one - two
    assert 0.999 <= np.linalg.norm(moved, norm) <= 1
    assert np.linalg.norm([moved[0], 1.0], norm) > 1.1


@pytest.mark.stats
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("at", [26.0, 12.0, 35.0])
def test_the_error_of_a_mean_without_what_is_missing_holds(delta: float, at: float) -> None:
    """In 95 of 100 releases, wherever the mean lies in its range; an error of six tenths would not (the twin)."""
    size, values = sample_size(1500), _bmi(400, at)
    truth = float(np.nanmean(values))
    found = [statistics.mean(values, low=10, high=60, epsilon=0.3, delta=delta) for _ in range(size)]
    off = np.array([abs(each.value - truth) / (each.noise_error or 0.0) for each in found])
    assert at_most(int((off > 1.0).sum()), size, 0.05)
    assert not at_most(int((off > 0.6).sum()), size, 0.05)


@pytest.mark.stats
def test_the_error_that_is_foreseen_holds() -> None:
    """`mean_error` bounds what is drawn for a mean at the end of its range; six tenths of it do not (the twin)."""
    size, values = sample_size(1500), np.zeros(300)
    reach = statistics.mean_error(300, low=-50, high=0, epsilon=0.3)
    found = [statistics.mean(values, low=-50, high=0, epsilon=0.3) for _ in range(size)]
    # What would be above the range is cut off, and half of all errors with it.
    off = np.array([abs(each.value) for each in found])
    assert at_most(int((off > reach).sum()), size, 0.05)
    assert at_least(int((off > 0.6 * reach).sum()), size, 0.03)


def test_a_mean_is_of_what_is_there_or_of_what_is_declared(tmp_path: Any) -> None:
    """A tenth missing: left out by default, at a declared number if there is one, and the answer says which."""
    values, ledger = _bmi(50_000), Ledger.create(f"sqlite:///{tmp_path}/l.db", name="x", budget=Budget(3))
    how: dict[str, Any] = {"low": 10, "high": 60, "epsilon": 1.0, "ledger": ledger}
    left, placed = statistics.mean(values, **how), statistics.mean(values, missing=20, **how)
    assert "what is missing is left out" in left.guarantee
    assert "what is missing counts as 20" in placed.guarantee
    assert left.value == pytest.approx(np.nanmean(values), abs=3 * left.noise_error)
    assert placed.value == pytest.approx(np.nan_to_num(values, nan=20.0).mean(), abs=3 * placed.noise_error)
    middle = np.nan_to_num(values, nan=35.0).mean()
    assert abs(left.value - middle) > 10 * left.noise_error
    assert ledger.spent == Budget(2)


def test_a_person_counts_by_the_rows_that_are_there() -> None:
    """By their mean, once; whoever has none is left out of a mean and adds nothing to a sum."""
    values, ids = [10.0, None, 0.0, None, None], ["a", "a", "b", "c", "c"]
    how: dict[str, Any] = {"low": 0, "high": 10, "groups": ids, "epsilon": 1e6, "random_state": 0}
    assert statistics.mean(values, **how).value == pytest.approx(5, abs=1e-3)
    assert statistics.sum(values, **how).value == pytest.approx(10, abs=1e-3)
    assert statistics.mean(values, missing=4, **how).value == pytest.approx((7 + 0 + 4) / 3, abs=1e-3)


def test_counting_what_is_there_costs_the_sum_no_noise() -> None:
    """In the middle of the range a mean without what is missing has the error of one over all records."""
    values = np.full(10_000, 5.0)
    whole = statistics.mean(values, low=0, high=10, epsilon=1.0, missing=5, random_state=0)
    left = statistics.mean(values, low=0, high=10, epsilon=1.0, random_state=0)
    assert left.noise_error == pytest.approx(whole.noise_error, rel=0.01)


@pytest.mark.parametrize("groups", [None, np.arange(20_000) // 2])
def test_quantiles_are_of_what_is_there_or_of_what_is_declared(groups: Any) -> None:
    """Left out, the smaller half that is missing moves the median up; declared as the smallest, it does not."""
    values = np.where(np.arange(20_000) % 4 < 2, np.nan, np.linspace(0, 100, 20_000))
    how: dict[str, Any] = {"low": 0, "high": 100, "epsilon": 1.0, "groups": groups, "random_state": 0}
    assert statistics.quantile(values, 0.75, **how).value == pytest.approx(75, abs=1.5)
    assert statistics.quantile(values, 0.75, missing=0, **how).value == pytest.approx(50, abs=1.5)
    first, last = statistics.bounds(values, coverage=0.8, **how)
    assert (first.value, last.value) == pytest.approx((10, 90), abs=3)


@pytest.mark.parametrize("missing", ["middle", "", 11, -1, math.nan, None, [1], "5"])
def test_only_a_number_of_the_range_stands_for_what_is_missing(missing: Any, tmp_path: Any) -> None:
    """Anything else is refused before a charge."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="x", budget=Budget(3))
    for ask in (statistics.sum, statistics.mean, lambda *a, **o: statistics.quantile(*a, 0.5, **o), statistics.bounds):
        with pytest.raises(InvalidParameter, match="missing"):
            ask(pd.Series([1.0, None]), low=0, high=10, epsilon=1.0, missing=missing, ledger=ledger)
    assert ledger.entries() == []
