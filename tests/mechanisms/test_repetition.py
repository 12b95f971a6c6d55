"""Random repetition: the law of K, its price, the exact loss, and what a cut-off K would cost."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from support.statistical import cells_fit, sample_size
from tacit import Budget, Ledger, noise, release
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms.repetition import LONGEST, Repetition, Run
from tacit.noise import SystemEntropy


def law(stop, longest):
    """Return the chances of K = 1, ..., longest."""
    half = [0.5]
    for k in range(2, longest + 1):
        half.append(half[-1] * (1 - 1.5 / k))
    return {k: (1 - stop) ** k * each / (1 - math.sqrt(stop)) for k, each in enumerate(half, 1)}


def counted(size, mechanism, longest=None):
    """Return how often each K occurred in so many releases, seen by a run whose score grows."""
    found = Counter()
    for _ in range(size):
        seen = []

        def run(candidate, source, seen=seen):
            seen.append(candidate)
            return Run(candidate, float(len(seen)))

        best = release(mechanism, run, label="k").value
        assert best.score == len(seen)
        found[len(seen) if longest is None else min(len(seen), longest)] += 1
    return found


@pytest.mark.stats
@pytest.mark.parametrize("runs", [1.5, 8, 40])
def test_the_number_of_runs_has_its_law_and_no_end(runs):
    """Through the door, K = 1, 2, ... has its chances; cut off at the law's tail it is noticed (the twin)."""
    mechanism = Repetition(Budget(1), 3, runs)
    chances = law(float(mechanism.stop), 12)
    size = sample_size(1500)
    found = counted(size, mechanism)
    assert cells_fit(found, chances, size)
    if runs > 2:
        assert not cells_fit(Counter({min(k, 6): 0 for k in found}) + _capped(found, 6), chances, size)


def _capped(found, longest):
    capped = Counter()
    for k, times in found.items():
        capped[min(k, longest)] += times
    return capped


@pytest.mark.stats
def test_the_sampler_is_exact_for_any_fraction():
    """Large and small chances to stop: every cell fits, and one with a tenth more stops does not (the twin)."""
    source, size = SystemEntropy(), sample_size(12_000)
    for stop in (Fraction(1, 2), Fraction(1, 30)):
        found = Counter(noise.repetitions(source, stop) for _ in range(size))
        assert cells_fit(found, law(float(stop), 10), size)
    assert not cells_fit(found, law(3 / 30, 10), size)
    assert max(found) > 40


def test_the_average_is_the_one_asked_for():
    """The chance to stop follows from the average number of runs, from 1 to the largest."""
    for runs in (1.001, 2, 30, 1000, LONGEST):
        stop = float(Repetition(Budget(1), 2, runs).stop)
        assert math.isclose((1 + 1 / math.sqrt(stop)) / 2, runs, rel_tol=1e-3)


def loss(slope, epsilon, grid):
    """Return the largest exact loss of the winner where the chances beyond an outcome y are e^epsilon apart.

    Q(y) may be e^epsilon times Q'(y) while x, the chance up to y, is as much smaller or 1 - x as much larger.
    """
    worst = 0.0
    for beyond in grid:
        for factor in (math.exp(epsilon), math.exp(-epsilon)):
            other = beyond * factor
            if 0 < other < 1 and (1 - other) <= math.exp(epsilon) * (1 - beyond):
                worst = max(worst, epsilon + abs(math.log(slope(1 - beyond) / slope(1 - other))))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("stop", [0.1, 1e-3, 1e-6])
def test_the_exact_loss_is_at_most_three_halves_of_a_run_and_a_cut_off_exceeds_it(epsilon, stop):
    """f' moves by e^(epsilon/2) at most, nearly so; with min(K, 20) by more once stops are rare (the twin)."""
    grid = np.geomspace(1e-9, 1 - 1e-9, 2000)
    keep = 1 - stop

    def whole(x):
        return keep / (2 * (1 - math.sqrt(stop)) * math.sqrt(1 - keep * x))

    def cut(x, longest=20):
        chances = law(stop, longest - 1)
        rest = 1 - math.fsum(chances.values())
        return math.fsum(k * p * x ** (k - 1) for k, p in chances.items()) + longest * rest * x ** (longest - 1)

    assert loss(whole, epsilon, grid) <= 1.5 * epsilon + 1e-9
    assert math.isclose(whole(0.3), sum(k * p * 0.3 ** (k - 1) for k, p in law(stop, 60).items()), rel_tol=1e-9)
    if stop < 0.05:
        assert loss(whole, epsilon, grid) > 1.45 * epsilon
        assert loss(cut, epsilon, grid) > 1.55 * epsilon


def test_the_price_is_three_halves_of_a_run_charged_before_any(tmp_path):
    """The ledger charges the event before the first run; what does not fit runs nothing; a run has two thirds."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'l.db'}", name="l", budget=Budget(1))
    mechanism = Repetition(Budget(0.75), 2, 5)
    assert mechanism.inner == Budget(0.5)

    def run(candidate, source):
        assert ledger.spent == Budget(0.75)
        return Run(candidate, 0.0)

    found = release(mechanism, run, label="search", ledger=ledger)
    assert found.entry.amount == Budget(0.75)
    assert found.entry.event == mechanism.event
    with pytest.raises(BudgetExceeded):
        release(mechanism, pytest.fail, label="search", ledger=ledger)


def test_the_first_candidate_is_drawn_half_of_the_time_and_failures_come_last():
    """The others have the same chance each, and a run that failed wins against none that did not."""
    mechanism = Repetition(Budget(1), 4, 30)
    drawn = Counter()

    def run(candidate, source):
        drawn[candidate] += 1
        return Run(candidate) if candidate else Run(candidate, -1e300)

    for seed in range(200):
        drawn_before = drawn[0]
        best = release(mechanism, run, label="r", random_state=seed).value
        assert (best.candidate == 0) == (drawn[0] > drawn_before)
    size = sum(drawn.values())
    chances = {0: 1 / 2, 1: 1 / 6, 2: 1 / 6, 3: 1 / 6}
    assert cells_fit(drawn, chances, size)
    assert not cells_fit(drawn, dict.fromkeys(range(4), 0.25), size)


@pytest.mark.parametrize("wrong", [{"runs": 1}, {"runs": 1e9}, {"runs": math.nan}, {"candidates": 0}, {"budget": 1.0}])
def test_what_makes_no_sense_is_refused(wrong):
    """Averages from above 1 to the largest, at least one candidate, a budget."""
    with pytest.raises(InvalidParameter):
        Repetition(**({"budget": Budget(1), "candidates": 2, "runs": 3} | wrong))


def test_a_delta_is_left_unused():
    """Runs have no delta, so neither has the whole."""
    assert Repetition(Budget(1, 1e-6), 2, 3).budget == Budget(1)
