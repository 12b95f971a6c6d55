"""The exponential mechanism: exact chances, bounded range, base measure."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.statistical import cells_fit, sample_size
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential
from tacit.noise import SystemEntropy
from tacit.releases import release


def _log_chances(scores: np.ndarray, rate: float, weights: np.ndarray | float = 1.0) -> np.ndarray:
    logits = scores * rate + np.log(weights)
    return logits - np.logaddexp.reduce(logits)


CASES = [
    (Budget(2), 1.0, [0.0, 1.0, 2.0, 3.0], None),
    (Budget(2), 1.0, [3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 0.5, 4.0]),
    (Budget(0.5), 0.25, [-2.0, 0.0, 1.0], [5.0, 1.0, 0.5]),
    (Budget(1), 1.0, [5.0, 5.0], None),
]


@pytest.mark.stats
@pytest.mark.parametrize(("budget", "sensitivity", "scores", "weights"), CASES)
def test_candidates_are_chosen_with_their_exact_chances(
    budget: Budget, sensitivity: float, scores: list[float], weights: list[float] | None
) -> None:
    """Counts fit weight times exp(epsilon score / 2 sensitivity), and not the chances at 1.3 times epsilon."""
    mechanism = Exponential.for_budget(budget, sensitivity, candidates=len(scores), weights=weights)
    size = sample_size(6_000)
    source = SystemEntropy()
    counts = Counter(mechanism.randomise(scores, source) for _ in range(size))

    def chances(epsilon: float) -> dict[int, float]:
        base = np.array(weights or [1.0] * len(scores))
        logs = _log_chances(np.array(scores), epsilon / (2 * sensitivity), base)
        return dict(enumerate(np.exp(logs).tolist()))

    assert cells_fit(counts, chances(budget.epsilon), size)
    if len(set(scores)) > 1:
        assert not cells_fit(counts, chances(1.3 * budget.epsilon), size)
        assert not cells_fit(counts, chances(budget.epsilon / 1.3), size)


@given(st.floats(1e-3, 50), st.floats(1e-3, 1e3), st.lists(st.floats(-20, 20), min_size=2, max_size=4))
def test_log_ratios_lie_in_an_interval_of_length_epsilon(
    epsilon: float, sensitivity: float, scores: list[float]
) -> None:
    """For every way that scores can move by the sensitivity, log ratios are within epsilon and span at most epsilon."""
    mechanism = Exponential.for_budget(Budget(epsilon), sensitivity, candidates=len(scores))
    base = np.array(scores) * sensitivity
    before = _log_chances(base, mechanism.rate)
    for moves in itertools.product((-1, 0, 1), repeat=len(scores)):
        ratios = _log_chances(base + np.array(moves) * sensitivity, mechanism.rate) - before
        rounding = 1e-12 * (1 + 20 * epsilon)
        assert np.max(np.abs(ratios)) <= epsilon + rounding
        assert np.ptp(ratios) <= epsilon + rounding


def test_the_bound_is_reached() -> None:
    """A thousand candidates of which one rises while the others fall come within a thousandth of epsilon."""
    mechanism = Exponential.for_budget(Budget(1), 2.0, candidates=1000)
    moves = np.full(1000, -2.0)
    moves[0] = 2.0
    ratios = _log_chances(moves, mechanism.rate) - _log_chances(np.zeros(1000), mechanism.rate)
    assert 0.998 <= ratios[0] <= 1
    assert 0.999 <= np.ptp(ratios) <= 1


def test_an_exponent_of_epsilon_over_one_sensitivity_would_break_the_promise() -> None:
    """Without the factor two in the exponent the same scores tell twice epsilon."""
    mechanism = Exponential.for_budget(Budget(1), 2.0, candidates=1000)
    moves = np.full(1000, -2.0)
    moves[0] = 2.0
    ratios = _log_chances(moves, 2 * mechanism.rate) - _log_chances(np.zeros(1000), 2 * mechanism.rate)
    assert ratios[0] > 1.9


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1 / 3, 1e6])
@pytest.mark.parametrize("sensitivity", [1e-100, 0.3, 1e100])
def test_the_rate_is_a_shade_below_what_epsilon_allows(epsilon: float, sensitivity: float) -> None:
    """The rate leaves room for the rounding of scores: below epsilon / 2 sensitivity, by a few percent at most."""
    rate = Exponential.for_budget(Budget(epsilon), sensitivity, candidates=2).rate
    assert 0.97 * epsilon / (2 * sensitivity) < rate < epsilon / (2 * sensitivity)


def test_only_differences_of_scores_count() -> None:
    """Adding the same huge number to all scores changes no answer of a rehearsal."""
    mechanism = Exponential.for_budget(Budget(1), candidates=3)
    for seed in range(50):
        plain = release(mechanism, [0.0, 1.0, 2.0], label="x", random_state=seed)
        moved = release(mechanism, [2.0**50, 2.0**50 + 1, 2.0**50 + 2], label="x", random_state=seed)
        assert plain.value == moved.value


def test_extreme_scores_and_weights_choose_without_a_warning() -> None:
    """Score gaps beyond the range of floats make the best certain, and a weight of 1e300 nearly so."""
    mechanism = Exponential.for_budget(Budget(1e6), 1e-100, candidates=2)
    assert release(mechanism, [-9e299, 9e299], label="x").value == 1
    weighted = Exponential.for_budget(Budget(1), candidates=2, weights=[1e300, 1e-300])
    assert release(weighted, [0.0, 1.0], label="x").value == 0
    alone = Exponential.for_budget(Budget(1), candidates=1)
    assert release(alone, [0.0], label="x").value == 0


def test_an_epsilon_too_small_to_choose_is_refused() -> None:
    """Below the room kept for rounding scores nothing can be chosen privately."""
    with pytest.raises(InvalidParameter, match="to choose"):
        Exponential.for_budget(Budget(1e-12), candidates=2)
    assert math.isfinite(Exponential.for_budget(Budget(1e-9), candidates=2).rate)


def test_a_delta_is_left_unused() -> None:
    """The choice is pure: a delta in the budget is neither needed nor charged."""
    assert Exponential.for_budget(Budget(1, 1e-6), candidates=2).budget == Budget(1)
