"""Every exhibit is refuted, by as much as it says.

The bounds that the attacks must reach lie at least five standard deviations below what repeated audits show
(docs/audit.md), so each test misses its exhibit by bad luck with probability below 1e-6.
"""

import math

import numpy as np
import pytest

from tacit.audit import Question, Verdict, case
from tacit.audit.exhibits import EXHIBITS
from tacit.audit.exhibits.streams import TdilRound, tdil_exponent


@pytest.mark.stats
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.audited.name)
def test_the_attack_reaches_its_number(exhibit):
    """At a claimed epsilon of 1 the lower bound at 99.9 % reaches what the exhibit states (power above 1 - 1e-6).

    The twins, which hold, are the audits of test_catalogue.py.
    """
    report = exhibit.audited.case(Question(1.0)).audit()
    assert report.verdict is Verdict.REFUTED
    assert report.epsilon_bound >= exhibit.must_reach > 1
    assert report.exact is not None
    assert report.exact.refutes(report.claim)


@pytest.mark.stats
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.audited.name)
def test_no_attack_exceeds_what_exact_densities_allow(exhibit):
    """The bound from plays is below the exact privacy loss (false alarm 1e-9 each).

    That attacks come near it, as a bound of 0 would not, is `test_the_attack_reaches_its_number`.
    """
    report = exhibit.audited.case(Question(1.0)).audit(plays=20_000, confidence=1 - 1e-9)
    assert report.exact is not None
    assert report.epsilon_bound <= report.exact.loss


@pytest.mark.parametrize(
    ("epsilon", "ridge", "loss", "delta"),
    [
        (0.1, 0.1, 1.228, 0.0210),
        (0.1, 0.01, 3.233, 0.0239),
        (0.1, 0.001, 5.501, 0.0243),
        (1.0, 0.01, 3.027, 0.1527),
        (1.0, 0.001, 5.291, 0.1901),
    ],
)
def test_the_2008_algorithm_loses_what_the_table_says(epsilon, ridge, loss, delta):
    """One record that becomes 0: the exact loss and the delta it needs, to three digits and more."""
    exact = case("exhibit-nips2008", Question(epsilon, n_lambda=ridge)).exact
    assert exact is not None
    assert exact.loss == pytest.approx(loss, abs=6e-4)
    assert exact.delta == pytest.approx(delta, abs=1e-4)


def test_the_2008_algorithm_survives_above_its_threshold():
    """At n lambda = 2/epsilon the same exhibit is not refuted: it is the ridge that is wrong, not the noise."""
    report = case("exhibit-nips2008", Question(1.0, n_lambda=2.0)).audit(plays=20_000, confidence=1 - 1e-9)
    assert report.verdict is Verdict.HOLDS


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_exact_losses_of_additive_exhibits(epsilon):
    """Least squares loses n/2 = 10 times the claim; the intercept n lambda log 4 / (2 sqrt 2) times."""
    least = case("exhibit-lecture-least-squares", Question(epsilon)).exact
    intercept = case("exhibit-intercept", Question(epsilon, n_lambda=50.0)).exact
    assert least is not None
    assert intercept is not None
    assert least.loss == pytest.approx(10 * epsilon)
    assert intercept.loss == pytest.approx(50 * math.log(4) / (2 * math.sqrt(2)) * epsilon)


def test_the_printed_exponent_of_tdil_is_too_large_by_n_lambda():
    """Line 5 as printed has exponent epsilon_0 n lambda / 8 where epsilon_0 already holds n lambda."""
    count, ridge, delta = 10_000, 0.5, 1e-6
    rounds = math.floor(count / (100 * math.log(4 / delta)))
    share = 1 / (10 * math.sqrt(rounds) * math.log(4 / delta))
    assert tdil_exponent(1.0, delta, count, ridge) == pytest.approx(share * (count * ridge) ** 2 / 8)


def test_tdils_density_integrates_to_one_and_survives_a_right_exponent():
    """The exact density is one, and without the second n lambda the first round alone keeps far below the claim."""
    printed = case("exhibit-tdil", Question(1.0))
    mechanism = printed.mechanism
    assert isinstance(mechanism, TdilRound)
    points = np.linspace(-1, 1, 100_001)[:, None]
    for data in (printed.first, printed.second):
        assert 2 * np.mean(np.exp(mechanism.log_density(data, points))) == pytest.approx(1, abs=1e-3)
    right = TdilRound(mechanism.exponent / len(printed.first[0]), 1.0)
    losses = right.log_density(printed.first, points) - right.log_density(printed.second, points)
    assert np.abs(losses).max() < 0.01
