"""Noisy statistics: right sensitivities to the last bit, right noise, right charges, clear refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import Budget, Ledger, statistics
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import Rehearsal

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@pytest.fixture
def ledger(tmp_path):
    """An account with room for everything here."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="x", budget=Budget(10, 1e-3))


@given(
    st.lists(NUMBERS, min_size=1, max_size=20), NUMBERS, st.integers(0, 19), st.floats(-1e9, 1e9), st.floats(1e-6, 1e9)
)
def test_replacing_any_record_moves_the_share_by_at_most_one(values, other, place, low, width):
    """The number that is released for a sum has sensitivity 1 exactly, whatever floats the records hold."""
    high = low + width
    if not low < high:
        return
    replaced = list(values)
    replaced[place % len(values)] = other
    shares = [
        Fraction(statistics._sum_of_shares(statistics._clipped(column, low, high, low)[0], low, high))
        for column in (values, replaced)
    ]
    assert abs(shares[0] - shares[1]) <= 1
    assert 0 <= shares[0] <= len(values)


def test_the_share_can_move_by_all_of_one():
    """The sensitivity is attained: the calibration is not merely safe."""
    low, high = (np.array([end]) for end in (0.0, 5.0))
    moved = statistics._sum_of_shares(high, 0.0, 5.0) - statistics._sum_of_shares(low, 0.0, 5.0)
    assert moved == 1.0


@pytest.mark.parametrize("size", [1, 1000, 10**6])
def test_sums_lose_no_more_than_their_resolution(size):
    """A sum of shares is the sum of the values, to a part in a billion of the range for each record."""
    values = np.random.default_rng(size).uniform(0, 1, size)
    assert statistics._sum_of_shares(values, 0.0, 1.0) == pytest.approx(math.fsum(values), abs=size * 2.0**-29)


def _drawn(mechanism, seed):
    return mechanism.noise(Rehearsal(seed)) * mechanism.grid


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("function", "column", "options", "truth", "scale"),
    [
        (statistics.count, np.arange(50) < 20, {}, 20, 1.0),
        (statistics.sum, np.full(50, 3.0), {"low": 1, "high": 5, "missing": 2}, 150, 4.0),
        (statistics.sum, np.full(50, 3.0), {"low": 1, "high": 5}, 150, 5.0),
        (statistics.mean, np.full(50, 3.0), {"low": 1, "high": 5, "missing": 2}, 3, 0.08),
    ],
)
def test_the_noise_is_that_of_the_calibrated_mechanism(function, column, options, truth, scale, delta):
    """An answer is the truth plus the very noise of Laplace or Gaussian calibrated to sensitivity 1, rescaled."""
    mechanism = (Gaussian if delta else Laplace).for_budget(Budget(0.5, delta), 1.0)
    for seed in range(20):
        answer = function(column, epsilon=0.5, delta=delta, random_state=seed, **options).value
        assert answer == pytest.approx(truth + scale * _drawn(mechanism, seed)[0], abs=1e-4)


@pytest.mark.parametrize(("delta", "sensitivity"), [(0.0, 2.0), (1e-6, math.sqrt(2))])
def test_a_histogram_pays_for_two_counts(delta, sensitivity):
    """One replacement moves two counts: L1 sensitivity 2 for Laplace noise, L2 sensitivity sqrt(2) for Gaussian."""
    column, levels = np.repeat([1, 2], [5, 10]), [1, 2, 3]
    mechanism = (Gaussian if delta else Laplace).for_budget(Budget(0.5, delta), sensitivity, 3)
    for seed in range(20):
        answer = statistics.histogram(column, levels=levels, epsilon=0.5, delta=delta, random_state=seed).value
        assert np.allclose(answer, np.array([5, 10, 0]) + _drawn(mechanism, seed), atol=1e-4)


def test_values_that_are_no_level_are_counted_nowhere():
    """Unknown and missing values change no count."""
    values = np.array([1.0, 7.0, np.nan, 1.0])
    counts = statistics.histogram(values, levels=[1, 2], epsilon=1e6, random_state=0)
    assert np.allclose(counts.value, [2, 0], atol=1e-3)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_quantiles_are_near_the_true_ones(fraction):
    """With ten thousand records and epsilon 1 the rank is off by less than a hundred."""
    values = np.random.default_rng(0).uniform(0, 100, 10_000)
    found = statistics.quantile(values, fraction, low=0, high=100, epsilon=1.0, random_state=1).value
    assert abs(np.count_nonzero(values <= found) - fraction * values.size) < 100


def test_bounds_cost_half_each_and_hold_most_records(ledger):
    """The two ends are charged half of epsilon each and hold about the share asked for."""
    values = np.random.default_rng(0).normal(50, 5, 10_000)
    lower, upper = statistics.bounds(values, low=0, high=100, epsilon=1.0, coverage=0.9, ledger=ledger)
    assert ledger.spent == Budget(1)
    assert np.mean((values >= lower.value) & (values <= upper.value)) == pytest.approx(0.9, abs=0.03)


def test_missing_and_infinite_values_stay_within_the_bounds():
    """NaN is left out or counts as declared, infinities count as the range's ends, without a warning or an error."""
    for missing, total in (("exclude", 10), (3, 13)):
        found = statistics.sum([np.nan, np.inf, -np.inf], low=0, high=10, epsilon=1e6, missing=missing, random_state=0)
        assert found.value == pytest.approx(total, abs=0.01)


def test_the_error_of_a_mean_is_known_before_it_is_asked():
    """`mean_error` is the exact quantile of the noise: 30/n at epsilon 0.1 and 95 %, where the lecture says 14.5.

    Where what is missing is left out it holds for the worst mean, at an end of the range: 41/n, and a little more for
    the count that is noisy too.
    """
    for size, error in ((1, 29.957), (100, 0.29957)):
        assert statistics.mean_error(size, low=0, high=1, epsilon=0.1, missing=0) == pytest.approx(error, rel=1e-3)
    assert statistics.mean_error(1, low=0, high=1, epsilon=0.1) == 1.0
    assert 41 < 10**4 * statistics.mean_error(10**4, low=0, high=1, epsilon=0.1) < 41.5


def test_each_statistic_is_charged_what_it_says(ledger):
    """The ledger's entry and the release agree, and the release says what was assumed public."""
    release = statistics.mean([1.0, 2.0], low=0, high=5, epsilon=0.1, delta=1e-6, ledger=ledger, label="how much")
    assert ledger.spent == Budget(0.1, 1e-6)
    assert release.entry == ledger.entries()[-1]
    assert release.entry.label == "how much"
    assert "low=0, high=5" in release.guarantee
    assert "replace-one" in release.guarantee


def test_a_statistic_that_does_not_fit_is_refused_and_charges_nothing(ledger):
    """A refusal changes nothing."""
    with pytest.raises(BudgetExceeded):
        statistics.count([True], epsilon=11, ledger=ledger)
    assert ledger.spent == Budget(0)


BAD_NUMBERS = [math.nan, math.inf, -1.0, 0.0, "1", None, 1e300, True]


@pytest.mark.parametrize("epsilon", BAD_NUMBERS)
def test_a_senseless_epsilon_is_refused_before_anything_is_charged(ledger, epsilon):
    """No statistic accepts an epsilon that is none."""
    for ask in (
        lambda: statistics.count([True], epsilon=epsilon, ledger=ledger),
        lambda: statistics.sum([1.0], low=0, high=1, epsilon=epsilon, ledger=ledger),
        lambda: statistics.mean([1.0], low=0, high=1, epsilon=epsilon, ledger=ledger),
        lambda: statistics.histogram([1], levels=[1], epsilon=epsilon, ledger=ledger),
        lambda: statistics.quantile([1.0], 0.5, low=0, high=1, epsilon=epsilon, ledger=ledger),
        lambda: statistics.bounds([1.0], low=0, high=1, epsilon=epsilon, ledger=ledger),
    ):
        with pytest.raises(InvalidParameter):
            ask()
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda **o: statistics.count(np.array([1, 2]), epsilon=1, **o),
        lambda **o: statistics.count(np.array([[True]]), epsilon=1, **o),
        lambda **o: statistics.sum({"SECRET": 1.0}, low=0, high=1, epsilon=1, **o),
        lambda **o: statistics.sum(np.array([[1.0]]), low=0, high=1, epsilon=1, **o),
        lambda **o: statistics.sum([1.0], low=1, high=1, epsilon=1, **o),
        lambda **o: statistics.sum([1.0], low=math.nan, high=1, epsilon=1, **o),
        lambda **o: statistics.sum([1.0], low=-1e308, high=1e308, epsilon=1, **o),
        lambda **o: statistics.sum([1.0], low="0", high=1, epsilon=1, **o),
        lambda **o: statistics.mean([], low=0, high=1, epsilon=1, **o),
        lambda **o: statistics.histogram([1], levels=[], epsilon=1, **o),
        lambda **o: statistics.histogram([1], levels=[1, 1], epsilon=1, **o),
        lambda **o: statistics.histogram(np.array([[1]]), levels=[1], epsilon=1, **o),
        lambda **o: statistics.quantile([1.0], 1.5, low=0, high=1, epsilon=1, **o),
        lambda **o: statistics.quantile([1.0], 0.5, low=0, high=1, epsilon=1, candidates=0, **o),
        lambda **o: statistics.bounds([1.0], low=0, high=1, epsilon=1, coverage=1.0, **o),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(ledger, ask):
    """Wrong shapes, types, bounds and levels give a clear error that quotes no record."""
    with pytest.raises(InvalidParameter) as refusal:
        ask(ledger=ledger)
    assert "SECRET" not in str(refusal.value)
    assert ledger.spent == Budget(0)
