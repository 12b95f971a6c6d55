"""What epsilon means, against brute force over the worst mechanism and the worst beliefs."""

import math

import numpy as np
import pytest

from tacit.accounting import meaning
from tacit.budget import Budget
from tacit.errors import InvalidParameter

EPSILONS = [0.01, 0.1, 1.0, 3.0, 10.0]


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_attains_bobs_best_guess(epsilon, delta):
    """Bob does exactly as well as the bound against randomized response that reveals with chance delta."""
    odds = math.exp(epsilon)
    keep = odds / (1 + odds)
    right = delta + (1 - delta) * keep
    assert meaning.best_guess(Budget(epsilon, delta)) == pytest.approx(right, rel=1e-12)
    assert meaning.best_guess(Budget(epsilon)) <= math.exp(epsilon) / 2 + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_mechanism_on_two_answers_beats_the_bound(epsilon):
    """Over all private mechanisms with two answers the best guess is the bound, not less and not more."""
    a = np.linspace(0, 1, 2001)
    # Largest P1(S) that privacy allows when P0(S) = a.
    b = np.minimum(math.exp(epsilon) * a, 1 - math.exp(-epsilon) * (1 - a))
    assert (b + 1 - a).max() / 2 == pytest.approx(meaning.best_guess(Budget(epsilon)), abs=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_beliefs_move_by_the_odds_and_no_further(epsilon):
    """Bayes' rule with the extreme likelihood ratios gives both ends of the range."""
    for prior in (0.0, 0.01, 0.5, 0.99, 1.0):
        low, high = meaning.posterior_range(prior, Budget(epsilon))
        odds = math.exp(epsilon)
        assert low == pytest.approx(prior / (prior + (1 - prior) * odds))
        assert high == pytest.approx(prior * odds / (prior * odds + 1 - prior))
        assert 0 <= low <= prior <= high <= 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_posterior_shift_is_sharp_and_below_the_lectures(epsilon):
    """Two databases with likelihoods at the ends of what privacy allows differ by tanh(epsilon/2), never by more."""
    rng = np.random.default_rng(3)
    bound = meaning.posterior_shift(epsilon)
    worst = 0.0
    for _ in range(300):
        prior = rng.dirichlet(np.full(3, 0.3)) + 1e-12
        likelihood = rng.uniform(0.1, 1, 3)
        other = likelihood * np.exp(rng.choice([-epsilon, epsilon], 3))
        first, second = likelihood * prior, other * prior
        worst = max(worst, np.abs(first / first.sum() - second / second.sum()).max())
    half = 1 / (1 + math.exp(epsilon))
    first, second = np.array([half, 1 - half]), np.array([half * math.exp(epsilon), (1 - half) * math.exp(-epsilon)])
    attained = abs(first[0] - second[0] / second.sum())
    assert worst <= bound * (1 + 1e-12)
    assert attained == pytest.approx(bound)
    assert bound <= math.expm1(2 * epsilon)  # what the lecture prints


def test_huge_epsilons_do_not_overflow():
    """An epsilon of ten thousand means certainty, not an error."""
    assert meaning.best_guess(Budget(1e4)) == pytest.approx(1.0)
    assert meaning.posterior_range(0.5, Budget(1e4))[1] == pytest.approx(1.0)


def test_beliefs_need_a_pure_budget_and_a_probability():
    """A delta or a prior outside [0, 1] is refused."""
    with pytest.raises(InvalidParameter, match="delta = 0"):
        meaning.posterior_range(0.5, Budget(1, 1e-6))
    with pytest.raises(InvalidParameter, match="prior"):
        meaning.posterior_range(1.5, Budget(1))


def test_the_explanation_states_neighbours_epsilon_and_delta():
    """People are told the budget, the neighbours and what can go wrong."""
    pure, approximate = meaning.explain(Budget(1)), meaning.explain(Budget(1, 1e-6))
    assert "epsilon=1" in pure
    assert "replace-one" in pure
    assert "73.1" in pure
    assert "1e-06" in approximate


@pytest.mark.parametrize("budget", [Budget(1), Budget(8, 1e-6)])
def test_the_picture_is_drawn_and_saved(tmp_path, budget):
    """A picture can be had for any budget."""
    path = tmp_path / "meaning.png"
    figure = meaning.picture(budget)
    figure.savefig(path)
    assert len(figure.axes) == 2
    assert path.stat().st_size > 10_000
