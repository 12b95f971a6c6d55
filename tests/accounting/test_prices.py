"""What one event costs, against arbitrary precision and other libraries."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import BoundedRangeDpEvent, EpsilonDeltaDpEvent, PoissonSampledGaussianDpEvent, cost
from tacit.accounting.prices import loss_distribution, point, renyi, rounded_up
from tacit.budget import Budget
from tacit.errors import InvalidParameter, UnsupportedEvent

orders = st.floats(1.1, 2000.0)
epsilons = st.floats(-13.0, 2.0).map(lambda exponent: 10.0**exponent)


def _number(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


def _divergence(order: float, *pairs: tuple[Any, Any]) -> mpmath.mpf:
    """Return the Renyi divergence of a finite distribution from another, given as pairs of probabilities."""
    return mpmath.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


@given(epsilons, orders)
def test_the_renyi_price_of_laplace_noise_is_never_too_small(epsilon: float, order: float) -> None:
    """Price and exact divergence of Laplace noise agree, on the safe side, down to the smallest epsilons."""
    event = dp_event.LaplaceDpEvent(1 / epsilon)
    with mpmath.workdps(80):
        a, e = mpmath.mpf(order), 1 / mpmath.mpf(event.noise_multiplier)
        exact = mpmath.log(a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)) / (
            a - 1
        )
        price = _number(renyi(event, order).exact_epsilon)
        assert exact <= price
        assert price <= exact * 1.01 + 1e-11


@given(epsilons, orders)
def test_the_renyi_price_of_a_pure_promise_is_that_of_randomized_response(epsilon: float, order: float) -> None:
    """The price of a promise alone is the divergence of the worst mechanism that keeps it, on the safe side."""
    with mpmath.workdps(80):
        a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
        likely, unlikely = 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))
        exact = _divergence(a, (likely, unlikely), (unlikely, likely))
        price = _number(renyi(EpsilonDeltaDpEvent(epsilon), order).exact_epsilon)
        assert exact <= price
        assert price <= exact * 1.01 + 1e-11


def test_countless_tiny_releases_are_not_free() -> None:
    """A release of epsilon 1e-12 repeated 1e18 times costs what it must, not what rounding leaves of it."""
    for event in (dp_event.LaplaceDpEvent(1e12), EpsilonDeltaDpEvent(1e-12), BoundedRangeDpEvent(2e-12)):
        price = renyi(event, 10.0) * 10**18
        assert price.epsilon == pytest.approx(10 * 1e-24 / 2 * 1e18, rel=1e-3, abs=1.01)
        assert price.epsilon >= 10 * 1e-24 / 2 * 1e18


@given(st.floats(0.001, 5.0), st.floats(0.0, 1.0), st.floats(1.1, 50.0))
def test_bounded_range_covers_every_mechanism_of_that_range(epsilon: float, position: float, order: float) -> None:
    """Two outcomes whose log ratios are epsilon apart, anywhere in range, never exceed the price."""
    with mpmath.workdps(60):
        top = mpmath.mpf(epsilon) * position
        low = top - mpmath.mpf(epsilon)
        # Probabilities p, q with p = e^top q and 1 - p = e^low (1 - q).
        q = -mpmath.expm1(low) / (mpmath.exp(top) - mpmath.exp(low))
        p = mpmath.exp(top) * q
        pairs = [(p, q), (1 - p, 1 - q)]
        # At either end of the range the two distributions are equal: there is nothing to tell apart.
        divergence = _divergence(order, *pairs) if 0 < p < 1 and 0 < q < 1 else mpmath.mpf(0)
        assert divergence <= _number(renyi(BoundedRangeDpEvent(epsilon), order).exact_epsilon)


@pytest.mark.parametrize(("buckets", "parameter"), [(2, 0.5), (2, 0.9), (10, 0.2), (100, 1.0)])
def test_randomized_response_costs_its_log_ratio(buckets: int, parameter: float) -> None:
    """Epsilon is the logarithm of how much likelier the true bucket is than another."""
    true, other = 1 - parameter + parameter / buckets, parameter / buckets
    priced = point(dp_event.RandomizedResponseDpEvent(parameter, buckets))
    assert priced.is_pure
    assert priced.epsilon == pytest.approx(math.log(true / other), rel=1e-9, abs=1e-15)
    assert priced.epsilon >= math.log(true / other) - 1e-15


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0])
def test_the_best_of_random_runs_costs_two_plus_shape_runs(shape: float) -> None:
    """Selecting the best of a random number of pure runs costs (2 + shape) times one run."""
    inner = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(4.0), 3)
    assert point(dp_event.RepeatAndSelectDpEvent(inner, 10.0, shape)) == Budget(0.75) * (2 + Fraction(shape))
    leaky = dp_event.RepeatAndSelectDpEvent(EpsilonDeltaDpEvent(0.1, 1e-9), 10.0, shape)
    with pytest.raises(UnsupportedEvent, match="pure runs only"):
        point(leaky)
    with pytest.raises(UnsupportedEvent):
        point(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1.0), 10.0, shape))


def _pair(event: Any) -> tuple[Any, Any]:
    """Return the chances of all outcomes under the worst two neighbours, by the event's definition."""
    if isinstance(event, dp_event.RandomizedResponseDpEvent):
        other = event.noise_parameter / event.num_buckets
        first = np.full(event.num_buckets, other)
        second = first.copy()
        first[0] = second[1] = 1 - event.noise_parameter + other
        return first, second
    if isinstance(event, dp_event.DiscreteLaplaceDpEvent):
        k, rate, moved = np.arange(-4000, 4001), event.noise_parameter, event.sensitivity
        return tuple(np.exp(-rate * np.abs(k - centre)) * math.tanh(rate / 2) for centre in (0, moved))
    k = np.linspace(-60.0, 60.0, 1_200_001)
    if isinstance(event, dp_event.LaplaceDpEvent):
        return tuple(np.exp(-np.abs(k - centre)) / 2 * 1e-4 for centre in (0, 1 / event.noise_multiplier))
    root = math.sqrt(2 * math.pi)
    return tuple(np.exp(-((k - centre) ** 2) / 2) / root * 1e-4 for centre in (0, 1 / event.noise_multiplier))


@pytest.mark.parametrize(
    "event",
    [
        dp_event.RandomizedResponseDpEvent(0.3, 5),
        dp_event.RandomizedResponseDpEvent(0.9, 2),
        dp_event.DiscreteLaplaceDpEvent(0.4, 3),
        dp_event.DiscreteLaplaceDpEvent(1.5, 1),
        dp_event.LaplaceDpEvent(0.5),
        dp_event.LaplaceDpEvent(4.0),
        dp_event.GaussianDpEvent(0.7),
        dp_event.GaussianDpEvent(9.0),
    ],
    ids=str,
)
def test_every_convention_is_checked_against_its_definition(event: Any) -> None:
    """At the epsilon charged, delta of the worst replace-one pair is as asked; at a hundredth less it is not."""
    first, second = _pair(event)
    for delta in (1e-2, 1e-6):
        epsilon = cost(event, delta=delta, method="pld").epsilon
        true = [float(np.maximum(first - math.exp(e) * second, 0).sum()) for e in (epsilon, 0.99 * epsilon - 1e-3)]
        assert true[0] <= delta * (1 + 1e-6) + 1e-9
        assert epsilon < 0.01 or true[1] > delta


def test_points_are_exactly_what_was_typed() -> None:
    """Laplace, discrete Laplace and stated promises cost exactly the numbers in them."""
    assert point(dp_event.LaplaceDpEvent(3.0)) == Budget(Fraction(1, 3))
    assert point(dp_event.LaplaceDpEvent(0.1)) == Budget(10)
    assert point(dp_event.DiscreteLaplaceDpEvent(0.1, 3)) == Budget(Fraction(3, 10))
    assert point(EpsilonDeltaDpEvent(0.1, 1e-6)) == Budget(0.1, 1e-6)
    assert point(BoundedRangeDpEvent(0.3)) == Budget(0.3)
    for curve in (dp_event.GaussianDpEvent(1.0), dp_event.ZCDpEvent(0.1)):
        with pytest.raises(UnsupportedEvent, match=r"along a curve.*at=Budget"):
            point(curve)


def test_other_noise_inside_a_sample_is_refused() -> None:
    """Samples without replacement are priced around Gaussian noise, composed or not, and nothing else."""
    gaussian = dp_event.GaussianDpEvent(2.0)
    for inner in (dp_event.LaplaceDpEvent(1.0), dp_event.ComposedDpEvent([gaussian, dp_event.ZCDpEvent(0.1)])):
        with pytest.raises(UnsupportedEvent):
            cost(dp_event.SampledWithoutReplacementDpEvent(10, 1, inner), delta=1e-6)
    twice = dp_event.ComposedDpEvent([gaussian, dp_event.NoOpDpEvent(), gaussian])
    once = dp_event.GaussianDpEvent(math.sqrt(2))
    prices = [
        renyi(dp_event.SampledWithoutReplacementDpEvent(100, 10, inner), 8.0).epsilon
        for inner in (twice, dp_event.SelfComposedDpEvent(gaussian, 2), once)
    ]
    assert prices == pytest.approx([prices[0]] * 3, rel=1e-9)


@pytest.mark.parametrize("order", [1.1, 5.0, 60.0])
def test_samples_at_the_edges_have_a_price(order: float) -> None:
    """Nothing inside a sample costs nothing, and any amount of noise has a price, no smaller than the truth's scale."""
    for nothing in (dp_event.ComposedDpEvent([]), dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 0)):
        sample = dp_event.SampledWithoutReplacementDpEvent(100, 10, nothing)
        assert renyi(sample, order) == Budget(0)
        assert cost(sample, delta=1e-6).exact_epsilon == 0
    for multiplier in (2, 1e6, 1e9, 1e15):
        sample = dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(multiplier))
        assert renyi(sample, order).epsilon >= order * (0.01 / multiplier) ** 2 / 2


@pytest.mark.parametrize(
    ("event", "count"),
    [
        (dp_event.LaplaceDpEvent(1e-4), 1),
        (EpsilonDeltaDpEvent(1000.0), 1),
        (dp_event.GaussianDpEvent(1e-3), 1),
        (dp_event.GaussianDpEvent(1.0), 10**12),
        (dp_event.LaplaceDpEvent(10.0), 10**6),
        (dp_event.LaplaceDpEvent(100.0), 10**9),
        (PoissonSampledGaussianDpEvent(0.5, 1.0), 10**6),
    ],
    ids=str,
)
def test_loss_distributions_too_large_to_compute_are_refused(
    event: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would need gigabytes of grid points is refused before any of it is computed."""
    monkeypatch.delattr(PrivacyLossDistribution, "self_compose")
    with pytest.raises(InvalidParameter, match="too large"):
        loss_distribution(event, count)


@given(st.floats(0.0, 1e15))
def test_rounding_up_is_up(value: float) -> None:
    """The rounded price is at least the number and hardly more."""
    rounded = rounded_up(value)
    assert Fraction(value) <= rounded <= Fraction(value) * (1 + Fraction(1, 10**12)) + Fraction(1, 10**17)
    assert np.isfinite(float(rounded))
