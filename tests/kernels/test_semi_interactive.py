"""TDDL: the account of Laplace answers, their noise, and the fit to them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.dp_event import LaplaceDpEvent, SelfComposedDpEvent
from scipy import stats

from support.statistical import FALSE_ALARM, sample_size
from tacit.accounting import cost, satisfies
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels import RBF
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released.posterior import posterior
from tacit.kernels.released.semi_interactive import LaplaceAnswers, answer_epsilon
from tacit.noise import SystemEntropy

GENERATOR = np.random.default_rng(29)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("count", [1, 10, 100, 3000])
def test_all_answers_together_keep_the_budget(epsilon, count):
    """An independent account (privacy-loss distributions) of so many Laplace answers is within epsilon at delta."""
    each = answer_epsilon(Budget(epsilon, 1e-6), count)
    together = cost(SelfComposedDpEvent(LaplaceDpEvent(1 / each), count), delta=1e-6)
    assert together.epsilon <= epsilon * (1 + 1e-9)
    assert together.epsilon >= 0.5 * epsilon
    wrong = cost(SelfComposedDpEvent(LaplaceDpEvent(1 / (2.2 * each)), count), delta=1e-6)
    assert wrong.epsilon > epsilon


def test_pure_answers_add_up():
    """Without a delta the epsilons of answers sum to the budget, never more."""
    for count in (1, 7, 1000):
        each = answer_epsilon(Budget(0.3), count)
        assert Fraction(each) * count <= Fraction(3, 10)
        assert each * count == pytest.approx(0.3)


def test_the_noise_is_the_known_multiple_of_the_sensitivity():
    """At epsilon 1, delta 1e-6 and 100 answers the scale is 54.4 sensitivities (527.5 at epsilon 0.1)."""
    assert math.prod(LaplaceAnswers(Budget(1, 1e-6), 1.0, 100).law) == pytest.approx(54.4, abs=0.1)
    assert math.prod(LaplaceAnswers(Budget(0.1, 1e-6), 1.0, 100).law) == pytest.approx(527.5, abs=0.5)


@pytest.mark.stats
def test_answers_have_laplace_noise_of_that_scale():
    """Sizes add up to a Gamma number (false alarm 1e-9); the twin with 10 % less noise is rejected (power 1 - 1e-9)."""
    count = sample_size(15_000)
    law = LaplaceAnswers(Budget(1, 1e-6), 0.1, count)
    noise = law.randomise(np.zeros(count), SystemEntropy())
    total = float(np.abs(noise).sum()) / math.prod(law.law)
    low, high = stats.gamma.ppf(FALSE_ALARM / 2, count), stats.gamma.isf(FALSE_ALARM / 2, count)
    assert low <= total <= high
    assert 0.9 * total < low
    assert np.all((noise / law.law[0]) % 1 == 0)


def test_the_event_keeps_the_budget():
    """Pure budgets stay pure, and events keep what was asked for."""
    for budget in (Budget(0.7), Budget(0.7, 1e-6)):
        law = LaplaceAnswers(budget, 1.0, 30)
        assert satisfies(law.event, budget)


@pytest.mark.parametrize(
    "changes", [{"count": 0}, {"sensitivity": 0.0}, {"budget": Budget(0)}, {"budget": Budget(1e-13)}]
)
def test_what_cannot_be_certified_is_refused(changes):
    """Nothing is released for no answers, no sensitivity or no budget."""
    with pytest.raises(InvalidParameter):
        LaplaceAnswers(**{"budget": Budget(1), "sensitivity": 1.0, "count": 5, **changes})


@pytest.mark.parametrize("value", [np.ones(4), [1.0] * 6, "answers"])
def test_other_values_are_refused(value):
    """Another number of values."""
    with pytest.raises(InvalidParameter):
        LaplaceAnswers(Budget(1), 1.0, 5).check(value)


@pytest.mark.parametrize("jitter", [None, 1e-6])
def test_exact_answers_are_met(jitter):
    """Answers of a model in the span, with hardly any noise, lead to that model."""
    domain = Domain(RBF(0.5), 1.0, 2)
    gram = domain.gram(domain.clipped(GENERATOR.normal(size=(12, 2))))
    weights = GENERATOR.normal(size=12)
    size = math.sqrt(weights @ gram @ weights)
    found = posterior(gram, gram @ weights, 1e-6 * size, 2 * size, jitter)
    assert np.allclose(gram @ found, gram @ weights, atol=1e-3)


def test_the_posterior_is_the_mean_over_the_lengths():
    """At one point it is the noisy answer times the mean, over likely lengths, of signal over signal and noise."""
    square, answer, deviation, size = 2.0, 0.7, 0.4, 3.0
    variances = square * (size * 2.0 ** -np.arange(0, 6.5, 0.5)) ** 2
    chances = stats.norm.pdf(answer, scale=np.sqrt(variances + deviation**2))
    share = np.average(variances / (variances + deviation**2), weights=chances)
    found = posterior(np.array([[square]]), np.array([answer]), deviation, size)
    assert found * square == pytest.approx(answer * share)
    matched = posterior(np.array([[square]]), np.array([answer]), deviation / math.sqrt(square + 0.1), size, 0.1)
    assert matched == pytest.approx(found)


def test_noise_is_not_taken_for_signal():
    """Where the bound on |w| is far above |w|, believing in the bound would leave half as much error again."""
    domain = Domain(RBF(1.0), 1.0, 3)
    points = domain.clipped(GENERATOR.normal(size=(100, 3)))
    gram = domain.gram(points)
    errors = []
    for _ in range(20):
        true = gram @ GENERATOR.normal(size=100)
        true *= 0.5 / math.sqrt(np.mean(true**2))
        answers = true + 0.5 * GENERATOR.normal(size=100)
        found = gram @ posterior(gram, answers, 0.5, 30.0)
        believed = gram @ np.linalg.solve(gram + (0.5 / 30.0) ** 2 * np.eye(100), answers)
        errors.append((np.mean((found - true) ** 2), np.mean((believed - true) ** 2)))
    mended, naive = np.mean(errors, axis=0)
    assert mended < naive / 1.5
