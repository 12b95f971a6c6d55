"""The bounds are exact: their risk is computed by adding up binomial chances, not estimated."""

import math

import numpy as np
import pytest
from scipy import stats

from tacit.audit.bounds import EventCounts, at_least, at_most, chance_interval, largest_bound


@pytest.mark.parametrize("chance", [0.01, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("risk", [1e-6, 1e-3, 0.2])
def test_a_bound_on_a_chance_fails_as_seldom_as_it_says(chance, risk):
    """The total chance of all counts whose bound misses the truth is at most the risk, on either side."""
    trials = 40
    counts = range(trials + 1)
    law = stats.binom.pmf(counts, trials, chance)
    low = [at_least(count, trials, risk) for count in counts]
    high = [at_most(count, trials, risk) for count in counts]
    assert math.fsum(law[np.array(low) > chance]) <= risk
    assert math.fsum(law[np.array(high) < chance]) <= risk
    assert low[0] == 0
    assert high[-1] == 1


def test_a_bound_on_a_chance_is_not_wasteful():
    """Bounds at ten times the risk would fail more often than the risk somewhere: the bound is near its limit."""
    trials, chance, risk = 200, 0.3, 1e-3
    law = stats.binom.pmf(range(trials + 1), trials, chance)
    missed = [at_least(count, trials, 10 * risk) > chance for count in range(trials + 1)]
    assert math.fsum(law[missed]) > risk


def test_the_interval_holds_both_bounds_at_half_the_risk_each():
    """A two-sided interval is two one-sided bounds."""
    assert chance_interval(7, 50, 0.75) == (at_least(7, 50, 0.125), at_most(7, 50, 0.125))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_bound_on_epsilon_fails_as_seldom_as_it_says(epsilon, delta):
    """From the worst chances that a claim allows, the bound exceeds epsilon no more often than stated."""
    plays, confidence = 30, 0.9
    unlikely = 0.1
    likely = min(1.0, math.exp(epsilon) * unlikely + delta)
    first = stats.binom.pmf(range(plays + 1), plays, likely)
    second = stats.binom.pmf(range(plays + 1), plays, unlikely)
    wrong = math.fsum(
        first[a] * second[b]
        for a in range(plays + 1)
        for b in range(plays + 1)
        if EventCounts(a, plays, b, plays).epsilon_bound(delta, confidence) > epsilon
    )
    assert wrong <= 1 - confidence


def test_the_bound_finds_an_epsilon_that_is_there():
    """A thousand plays of an event of chances 0.5 and 0.05 rule out epsilon 1.5, and a delta of 0.4 takes that back."""
    counts = EventCounts(500, 1000, 50, 1000)
    assert counts.epsilon_bound(0.0, 0.999) > 1.5
    assert counts.epsilon_bound(0.4, 0.999) == 0.0


def test_more_plays_can_show_more():
    """The largest bound grows with the plays and is 0 for none."""
    reach = [largest_bound(plays, plays, 0.0, 0.999) for plays in (0, 5, 50, 500, 5000)]
    assert reach[0] == 0
    assert reach == sorted(reach)
    assert reach[-1] > 6
