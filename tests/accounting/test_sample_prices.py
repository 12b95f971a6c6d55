"""What a sampled Gaussian costs, against integrals over the true pairs of neighbours."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

from support.event_strategies import SLOW
from tacit.accounting import Ledger, PoissonSampledGaussianDpEvent, cost, from_add_or_remove_one, satisfies
from tacit.accounting.prices import renyi
from tacit.accounting.sampled import sampled_divergence
from tacit.budget import Budget
from tacit.errors import UnsupportedEvent

DELTA = 1e-6


def _delta(epsilon: float, chance: float, first: float, second: float) -> float:
    """Return delta between (1-q) N(0, 1) + q N(first, 1) and the same with second, one line, by summing densities."""
    x = np.linspace(-40.0, 40.0, 100_001)

    def density(centre: float) -> Any:
        return (1 - chance) * np.exp(-x * x / 2) + chance * np.exp(-((x - centre) ** 2) / 2)

    gap = np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0)
    return float(gap.sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi))


def _epsilon(delta: float, chance: float, first: float, second: float) -> float:
    return float(brentq(lambda e: _delta(e, chance, first, second) - delta, 1e-6, 60.0, xtol=1e-6))


def _old_price(chance: float, multiplier: float) -> float:
    """What was charged: one record's part taken for half of the replace-one sensitivity."""
    losses = pld.from_gaussian_mechanism(
        2 * multiplier, sampling_prob=chance, neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    return float(losses.get_epsilon_for_delta(DELTA))


def test_a_noisy_count_in_a_sample_is_charged_what_it_costs() -> None:
    """A count with q = 0.01 and noise 0.7 costs 1.49; 0.123, which was charged before, is far too little."""
    true = max(_epsilon(DELTA, 0.01, 1 / 0.7, 0.0), _epsilon(DELTA, 0.01, 0.0, 1 / 0.7))
    assert true == pytest.approx(1.49, abs=0.01)
    charged = cost(PoissonSampledGaussianDpEvent(0.01, 0.7), delta=DELTA).epsilon
    assert true <= charged <= 1.02 * true
    assert _old_price(0.01, 0.7) < 0.1 * true
    assert not satisfies(PoissonSampledGaussianDpEvent(0.01, 0.7), Budget(1.48, DELTA))


@SLOW
@given(st.floats(0.001, 1.0), st.floats(0.6, 5.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_no_two_records_are_worse_than_what_is_charged(
    chance: float, multiplier: float, first: float, second: float
) -> None:
    """Whatever two records move the value by, up to one multiple, delta at the price's epsilon is as asked."""
    epsilon = cost(PoissonSampledGaussianDpEvent(chance, multiplier), delta=DELTA).epsilon
    for pair in ((first, second), (1.0, second), (first, -1.0), (1.0, 0.0), (0.0, 1.0), (1.0, -1.0)):
        assert _delta(epsilon, chance, pair[0] / multiplier, pair[1] / multiplier) <= DELTA * (1 + 1e-6) + 1e-13
    if epsilon > 0.01:
        assert _delta(epsilon * 0.99, chance, 1 / multiplier, -1 / multiplier) > DELTA


@SLOW
@given(st.floats(0.01, 0.9), st.floats(0.5, 3.0), st.floats(0.0, math.pi), st.floats(0.0, 1.0), st.floats(0.0, 3.0))
def test_two_dimensions_are_no_worse_than_one(
    chance: float, shift: float, angle: float, length: float, epsilon: float
) -> None:
    """Records that move the value in two directions lose no more, at any epsilon, than two opposite ones."""
    x = np.linspace(-9.0, 9.0, 601)
    across, along = np.meshgrid(x, x)

    def density(right: float, up: float) -> Any:
        moved = np.exp(-((across - right) ** 2 + (along - up) ** 2) / 2)
        return (1 - chance) * np.exp(-(across**2 + along**2) / 2) + chance * moved

    other = density(shift * length * math.cos(angle), shift * length * math.sin(angle))
    gap = np.maximum(density(shift, 0.0) - math.exp(epsilon) * other, 0.0)
    delta = float(gap.sum() * (x[1] - x[0]) ** 2 / (2 * math.pi))
    assert delta <= _delta(epsilon, chance, shift, -shift) + 1e-4


def test_the_replace_one_sensitivity_alone_amplifies_nothing() -> None:
    """If leaving a record out moves the value far, delta is q times that of the whole: the unsaid event is refused."""
    chance, shift, epsilon = 0.01, 1.0, 2.0
    whole = float(ndtr(shift / 2 - epsilon / shift) - math.exp(epsilon) * ndtr(-shift / 2 - epsilon / shift))
    assert _delta(epsilon, chance, 20.0 + shift, 20.0) == pytest.approx(chance * whole, rel=1e-3)
    assert _delta(epsilon, chance, shift, -shift) < 0.9 * chance * whole
    for inner in (dp_event.GaussianDpEvent(1.0), dp_event.LaplaceDpEvent(1.0)):
        unsaid = dp_event.PoissonSampledDpEvent(chance, inner)
        for event in (unsaid, dp_event.SelfComposedDpEvent(unsaid, 3), dp_event.RepeatAndSelectDpEvent(unsaid, 1, 0)):
            with pytest.raises(UnsupportedEvent, match="does not say"):
                cost(event, delta=DELTA)
            assert not satisfies(event, Budget(100.0, 0.1))


def test_an_event_that_does_not_say_is_not_charged(tmp_path: Any) -> None:
    """A ledger of any kind refuses it, uncharged, and takes it once it was translated."""
    unsaid = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    for kind in ("basic", "renyi"):
        ledger = Ledger.create(f"sqlite:///{tmp_path}/{kind}.db", name="a", budget=Budget(8.0, 1e-5), accountant=kind)
        for at in (None, Budget(8.0, 1e-5)):
            with pytest.raises(Exception, match=r"does not say|does not keep"):
                ledger.spend(unsaid, label="unsaid", at=at)
        assert ledger.spent == Budget(0)
        ledger.spend(from_add_or_remove_one(unsaid), label="said", at=Budget(3.0, 1e-6))
        assert ledger.spent.epsilon > 0


def _divergence(order: float, chance: float, first: float, second: float) -> float:
    reach = 12 + 1.5 * order * max(abs(first), abs(second))
    # Sums of smooth densities are right to the last digits from steps of a fifth of a deviation on.
    x = np.linspace(-reach, reach, 4_001)

    def log_density(centre: float) -> Any:
        return np.logaddexp(math.log1p(-chance), math.log(chance) + centre * x - centre * centre / 2)

    exponent = order * log_density(first) + (1 - order) * log_density(second) - x * x / 2
    total = np.exp(exponent - exponent.max()).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    return float(exponent.max() + math.log(total)) / (order - 1)


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("sample", [1, 10, 50, 99])
def test_a_sample_without_replacement_is_charged_what_it_costs(sample: int, multiplier: float) -> None:
    """Divergences and deltas of samples that a record moves by the whole sensitivity are below the price."""
    event = dp_event.SampledWithoutReplacementDpEvent(100, sample, dp_event.GaussianDpEvent(multiplier))
    for order in (1.5, 2.0, 5.0, 20.0):
        for pair in ((1, 0), (0, 1), (1, 0.5), (0.5, -0.5), (-0.5, 0.5)):
            true = _divergence(order, sample / 100, pair[0] / multiplier, pair[1] / multiplier)
            assert renyi(event, order).epsilon >= true - 1e-9
    epsilon = cost(event, delta=DELTA, method="pld").epsilon
    for pair in ((1, 0), (0, 1), (0.5, -0.5)):
        delta = _delta(epsilon, sample / 100, pair[0] / multiplier, pair[1] / multiplier)
        assert delta <= DELTA * (1 + 1e-6) + 1e-13


@pytest.mark.parametrize(
    ("chance", "shift", "order"),
    [(0.01, 1.43, 8.0), (0.1, 0.3, 30.0), (1e-6, 1.0, 1.1), (1e-3, 1e-6, 5.0), (0.9, 5.0, 3.0), (0.99, 0.01, 300.0),
     (1e-9, 3.0, 2.0), (0.3, 1e-12, 1.5), (0.01, 10.0, 20.0), (0.5, 1e-15, 1.1)],
)  # fmt: skip
def test_the_divergence_of_the_worst_pair_is_right_and_rounded_up(chance: float, shift: float, order: float) -> None:
    """However small, it agrees with an integral in forty digits, from above."""
    with mpmath.workdps(45):
        q, s, a = mpmath.mpf(chance), mpmath.mpf(shift), mpmath.mpf(order)

        def excess(x: mpmath.mpf) -> mpmath.mpf:
            upper, lower = (1 - q + q * mpmath.exp(sign * s * x - s * s / 2) for sign in (1, -1))
            return (upper**a * lower ** (1 - a) - a * (upper - lower) - lower) * mpmath.npdf(x)

        ends = [-s - 14 + (a * s + s + 28) * step / 16 for step in range(17)]
        exact = mpmath.log1p(mpmath.quad(excess, ends, maxdegree=4)) / (a - 1)
        assert exact <= sampled_divergence(chance, shift, order) <= exact * (1 + mpmath.mpf(1) / 100)


@SLOW
@given(st.floats(0.001, 0.5), st.floats(1.0, 10.0), st.floats(1.5, 20.0))
def test_a_sample_by_coins_has_a_renyi_price_above_the_truth(chance: float, multiplier: float, order: float) -> None:
    """No pair of records has a larger divergence, and two opposite ones have this one."""
    price = renyi(PoissonSampledGaussianDpEvent(chance, multiplier), order).epsilon
    for pair in ((1, 0), (0, 1), (1, 0.5), (-0.3, 0.8)):
        assert _divergence(order, chance, pair[0] / multiplier, pair[1] / multiplier) <= price + 1e-9
    assert _divergence(order, chance, 1 / multiplier, -1 / multiplier) == pytest.approx(price, rel=1e-4, abs=1e-9)
