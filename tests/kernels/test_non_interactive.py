"""TDIL over a net: the account of its rounds, the law of its choices, and its measurements."""

import math
from collections import Counter

import numpy as np
import pytest
from dp_accounting.dp_event import LaplaceDpEvent
from scipy import stats

from support.statistical import FALSE_ALARM, cells_fit, sample_size
from tacit.accounting import cost, satisfies
from tacit.accounting.events import BoundedRangeDpEvent
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Linear
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released import non_interactive
from tacit.kernels.released.non_interactive import BudgetShares, Measurement, NetRelease, lattice
from tacit.kernels.released.posterior import posterior
from tacit.mechanisms import Exponential
from tacit.noise import SystemEntropy

DOMAIN = Domain(RBF(1.0), 1.0, 1)
NET = np.linspace(-1, 1, 9)[:, None]


@pytest.mark.parametrize("rounds", [1, 10, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_all_rounds_together_keep_the_budget(epsilon, rounds):
    """rho = B (e^2/8 + 1/(2 m^2)) converts to at most epsilon at delta, and 5 % more of it does not."""
    shares = BudgetShares(Budget(epsilon, 1e-6), rounds)
    rho = rounds * (shares.choice**2 / 8 + 1 / (2 * shares.multiplier**2))
    orders = 1 + np.geomspace(1e-3, 1e5, 20_000)

    def converted(total):
        return float(np.min(total * orders + np.log1p(-1 / orders) - np.log(1e-6 * orders) / (orders - 1)))

    assert converted(rho) <= epsilon
    assert converted(1.05 * rho) > epsilon


def test_pure_rounds_add_up():
    """Choices and Laplace measurements sum to epsilon by the ledger's own account."""
    shares = BudgetShares(Budget(0.6), 5)
    events = [BoundedRangeDpEvent(shares.choice), LaplaceDpEvent(1 / shares.choice)] * 5
    assert cost(events).epsilon <= 0.6
    assert cost(events).epsilon == pytest.approx(0.6)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)])
def test_points_are_chosen_with_their_exact_chances(budget):
    """The first choice of a round fits exp(e |value|/(2 Delta)), and not the exponent as printed (false alarm 1e-9)."""
    law = NetRelease(budget, DOMAIN, NET, 0.5, 10.0, 1)
    values = np.linspace(-8, 8, 9)
    rate = law.measurement.shares.choice / (2 * 0.5)
    chances = np.exp(rate * np.abs(values))
    chances /= chances.sum()
    size = sample_size(2_000)
    counts = Counter(int(law.randomise(values, SystemEntropy())[0][0]) for _ in range(size))
    assert cells_fit(counts, dict(enumerate(chances)), size)
    printed = np.exp(3 * rate * np.abs(values))
    assert not cells_fit(counts, dict(enumerate(printed / printed.sum())), size)


@pytest.mark.stats
@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)])
def test_measurements_have_their_deviation(budget):
    """Laplace sizes sum to a Gamma number, Gaussian squares to chi-square (false alarm 1e-9); 10 % less is rejected."""
    measurement = Measurement(BudgetShares(budget, 10), 0.2)
    size = sample_size(14_000)
    noise = np.array([measurement.draw(1.0, SystemEntropy()) - 1.0 for _ in range(size)]) / measurement.deviation
    if budget.is_pure:
        total, law, twin = float(np.abs(noise).sum()) * math.sqrt(2), stats.gamma(size), 0.9
    else:
        total, law, twin = float(np.square(noise).sum()), stats.chi2(size), 0.81
    assert law.ppf(FALSE_ALARM / 2) <= total <= law.isf(FALSE_ALARM / 2)
    assert twin * total < law.ppf(FALSE_ALARM / 2)


def test_privacy_of_one_choice_is_exact():
    """Over the worst neighbours the log ratio of a choice reaches its epsilon and does not exceed it."""
    law = NetRelease(Budget(1.0), DOMAIN, NET, 1.0, 10.0, 1)
    rate = law.chooser.rate
    first, second = np.zeros(9), np.full(9, 1.0)
    first[0], second[0] = 1.0, 0.0
    chances = [np.exp(rate * values) / np.exp(rate * values).sum() for values in (first, second)]
    worst = float(np.abs(np.log(chances[0] / chances[1])).max())
    assert worst <= law.measurement.shares.choice
    assert worst >= 0.85 * law.measurement.shares.choice


def test_rounds_find_the_secret_when_noise_is_small():
    """With hardly any noise the measured points determine the function on the net."""
    law = NetRelease(Budget(1e4), DOMAIN, NET, 1e-3, 5.0, 12)
    exact = np.sin(3 * NET[:, 0])
    places, measured = law.randomise(exact, SystemEntropy())
    weights = posterior(DOMAIN.gram(NET[places]), measured, law.measurement.deviation, 5.0)
    assert np.abs(DOMAIN.kernel.block(NET, NET[places]) @ weights - exact).max() < 0.05


def test_public_values_are_cut_where_exact_ones_end(monkeypatch):
    """However far a public model goes, its values stay within 2 size R: a difference is rounded by what is paid for."""
    seen = []
    monkeypatch.setattr(non_interactive, "posterior", lambda gram, *rest: np.full(len(gram), 1e30))
    monkeypatch.setattr(Exponential, "randomise", lambda self, scores, source: seen.append(scores) or 0)
    NetRelease(Budget(1.0), DOMAIN, NET, 1.0, 3.0, 3).randomise(np.ones(9), SystemEntropy())
    assert seen[0].max() == 1
    assert seen[1].max() == seen[2].max() == pytest.approx(2 * 3.0 * DOMAIN.radius - 1)


def test_the_event_keeps_the_budget():
    """What is charged is what was asked for."""
    for budget in (Budget(0.4), Budget(0.4, 1e-7)):
        assert satisfies(NetRelease(budget, DOMAIN, NET, 1.0, 1.0, 3).event, budget)


@pytest.mark.parametrize(("width", "most"), [(1, 100), (2, 500), (3, 1000), (5, 300), (8, 300)])
def test_a_lattice_fills_the_ball(width, most):
    """As many points as asked for at most, all inside, symmetric about 0."""
    points = lattice(width, 2.0, most)
    assert 1 < len(points) <= most
    assert np.linalg.norm(points, axis=1).max() <= 2 * (1 + 1e-9)
    assert np.allclose(points.sum(axis=0), 0)


@pytest.mark.parametrize(
    "changes", [{"rounds": 0}, {"moved": 0.0}, {"budget": Budget(1e-7, 1e-9)}, {"budget": Budget(0)}]
)
def test_what_cannot_be_certified_is_refused(changes):
    """No rounds, no sensitivity, or too little budget."""
    fields = {"budget": Budget(1, 1e-6), "domain": DOMAIN, "net": NET, "moved": 1.0, "size": 1.0, "rounds": 1000}
    with pytest.raises(InvalidParameter):
        NetRelease(**{**fields, **changes})


@pytest.mark.parametrize("value", [np.ones(8), [1.0] * 10, "x"])
def test_values_off_the_net_are_refused(value):
    """One value for each point of the net, whatever it is."""
    with pytest.raises(InvalidParameter):
        NetRelease(Budget(1), Domain(Linear(), 1.0, 1), NET, 1.0, 1.0, 1).check(value)
