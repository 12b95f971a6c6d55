"""Gaussian noise on the grid: the exact delta of the integers drawn, by summation."""

import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.statistical import count_fits, fits, sample_size
from tacit.accounting import analytic, gaussian_delta, gaussian_shift
from tacit.accounting.analytic import rounded_down
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import SystemEntropy
from tacit.releases import release


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def _upper_sum(start: int, sigma: mp.mpf) -> mp.mpf:
    """Sum exp(-k^2 / (2 sigma^2)) over k >= start for a large sigma, by Euler and Maclaurin's formula."""
    height = mp.exp(-(mp.mpf(start) ** 2) / (2 * sigma**2))
    integral = sigma * mp.sqrt(mp.pi / 2) * mp.erfc(start / (mp.sqrt(2) * sigma))
    return integral + height / 2 + height * start / sigma**2 / 12


def _discrete_delta(epsilon: float, sigma: float, shift: int) -> mp.mpf:
    """Return the exact delta at epsilon of integer Gaussian noise for two integers this far apart."""
    sigma = mp.mpf(sigma)
    last = int(mp.floor(mp.mpf(shift) / 2 - mp.mpf(epsilon) * sigma**2 / shift))
    # Integers up to `last` are more than e^epsilon times as likely for one value as for the other.
    whole = mp.sqrt(2 * mp.pi) * sigma
    return (_upper_sum(-last, sigma) - mp.exp(mp.mpf(epsilon)) * _upper_sum(shift - last, sigma)) / whole


def test_the_summation_formula_is_right() -> None:
    """At a scale where every term can be added, the formula agrees to twelve digits."""
    sigma, shift, epsilon = 500.25, 175, 0.5
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(sigma) ** 2)) for k in range(-7_500, 7_501)]
    pairs = zip(weights, weights[shift:], strict=False)
    direct = mp.fsum(max(mp.mpf(0), there - mp.exp(epsilon) * here) for there, here in pairs) / mp.fsum(weights)
    mirrored = zip(weights[shift:], weights, strict=False)
    again = mp.fsum(max(mp.mpf(0), there - mp.exp(epsilon) * here) for there, here in mirrored) / mp.fsum(weights)
    assert abs(direct / _discrete_delta(epsilon, sigma, shift) - 1) < 1e-12
    assert abs(again / direct - 1) < 1e-12


@pytest.mark.parametrize("epsilon", [0.01, 1 / 3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("sensitivity", [1.0, 0.3])
def test_the_discrete_law_keeps_delta_and_is_tight(epsilon: float, delta: float, sensitivity: float) -> None:
    """The integers drawn have a delta between 99 % and 100 % of the budget's; noise 1 % smaller exceeds it."""
    mechanism = Gaussian.for_budget(Budget(epsilon, delta), sensitivity)
    farthest = math.floor(Fraction(mechanism.sensitivity) / Fraction(mechanism.grid)) + 1
    assert 0.99 * delta <= _discrete_delta(epsilon, mechanism.units, farthest) <= delta
    assert _discrete_delta(epsilon, 0.99 * mechanism.units, farthest) > delta


def _drawn_multiplier(mechanism: Gaussian) -> float:
    """Return the noise over the farthest distance of rounded neighbours, which no choice of grid changes."""
    return mechanism.units / (mechanism.sensitivity / mechanism.grid + math.sqrt(mechanism.dimension))


@pytest.mark.parametrize("delta", [1e-5, 0.01])
def test_every_direction_in_two_dimensions_keeps_delta(delta: float) -> None:
    """On a coarse grid, where all pairs of integers can be summed, no shift of the value exceeds delta."""
    epsilon = 1.0
    farthest = 16 + math.sqrt(2)
    sigma = _drawn_multiplier(Gaussian.for_budget(Budget(epsilon, delta), 1.0, 2)) * farthest
    axis = np.arange(-math.ceil(9 * sigma), math.ceil(9 * sigma) + 1)
    density = np.exp(-(axis**2) / (2 * sigma**2))
    density /= density.sum()
    joint = np.outer(density, density)
    shifts = [(x, y) for x in range(18) for y in range(x + 1) if farthest - 1.5 < math.hypot(x, y) <= farthest]
    deltas = []
    for x, y in shifts:
        first, second = joint[x:, y:], joint[: joint.shape[0] - x, : joint.shape[1] - y]
        deltas.append(np.maximum(second - math.exp(epsilon) * first, 0).sum())
    assert len(shifts) > 10
    assert 0.6 * delta < max(deltas) <= delta


@pytest.mark.parametrize("order", [1.1, 2.0, 8.0, 64.0])
def test_renyi_divergences_are_those_of_the_event(order: float) -> None:
    """At every order the drawn integers diverge no more than ideal Gaussian noise with the event's multiplier."""
    mechanism = Gaussian.for_budget(Budget(1, 1e-6))
    shift = 2**8 + 1
    sigma = _drawn_multiplier(mechanism) * shift
    axis = np.arange(-math.ceil(60 * sigma), math.ceil(60 * sigma) + 1, dtype=np.float64)
    log_density = -(axis**2) / (2 * sigma**2)
    log_density -= np.logaddexp.reduce(log_density)
    moved = log_density[shift:] * order + log_density[:-shift] * (1 - order)
    divergence = np.logaddexp.reduce(moved) / (order - 1)
    assert 0.95 <= divergence * 2 * mechanism.event.noise_multiplier**2 / order <= 1


@pytest.mark.parametrize("releases", [1, 2, 10, 1000])
@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(Fraction(1, 3), 1e-9)])
def test_several_releases_share_one_budget_tightly(releases: int, budget: Budget) -> None:
    """Losses of equal releases add up to one normal loss: its delta is the budget's, within 1 %, and never more."""
    multipliers = Multipliers.for_budget(budget, 5, releases)
    together = gaussian_delta(budget.epsilon, math.sqrt(releases) / multipliers.drawn)
    assert 0.99 * budget.delta <= together <= budget.delta
    assert multipliers.promised * math.sqrt(releases) <= multipliers.drawn
    assert gaussian_delta(budget.epsilon, math.sqrt(releases) / (0.99 * multipliers.drawn)) > budget.delta


def test_too_many_releases_are_refused() -> None:
    """Errors of drawing add up over releases, and more of them than the budget can certify are refused."""
    with pytest.raises(InvalidParameter, match="too small to certify"):
        Multipliers.for_budget(Budget(0.01, 1e-6), 1000, 10**6)


@pytest.mark.stats
def test_answers_are_gaussian_around_the_value() -> None:
    """Released numbers minus the value fit the normal law of the stated deviation, and of none 10 % off."""
    mechanism = Gaussian.for_budget(Budget(0.5, 1e-6), 2.0, (2, sample_size(100_000)))
    value = np.linspace(-5, 5, mechanism.dimension).reshape(mechanism.shape)
    noise = (release(mechanism, value, label="test").value - value).ravel() / mechanism.standard_deviation
    assert fits(noise, stats.norm.cdf)
    assert not fits(0.9 * noise, stats.norm.cdf)
    assert not fits(1.1 * noise, stats.norm.cdf)


@pytest.mark.stats
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_stated_error_has_the_stated_confidence(confidence: float) -> None:
    """The noise in one coordinate stays below `error(confidence)` exactly as often as it says."""
    size = sample_size(100_000)
    mechanism = Gaussian.for_budget(Budget(1, 1e-6), 1.0, size)
    noise = np.abs(mechanism.noise(SystemEntropy())) * mechanism.grid
    assert count_fits(int(np.sum(noise < mechanism.error(confidence))), size, confidence)
    assert not count_fits(int(np.sum(noise < 0.9 * mechanism.error(confidence))), size, confidence)


def _exact_delta(epsilon: float, shift: float) -> mp.mpf:
    with mp.workdps(400):
        epsilon, shift = mp.mpf(epsilon), mp.mpf(shift)
        return mp.ncdf(shift / 2 - epsilon / shift) - mp.exp(epsilon) * mp.ncdf(-shift / 2 - epsilon / shift)


@given(st.floats(1e-6, 30), st.floats(1e-4, 20))
def test_gaussian_delta_never_understates(epsilon: float, shift: float) -> None:
    """Down to 1e-300 the computed delta is at least the exact one, and above it by rounding only where it matters."""
    exact = _exact_delta(epsilon, shift)
    computed = gaussian_delta(epsilon, shift)
    assert computed <= 1
    assert exact <= computed or exact < 1e-300
    if exact > 1e-30 and epsilon / shift < 12:
        assert computed <= exact * (1 + mp.mpf(2) ** -20) + mp.mpf(2) ** -45 * min(1, epsilon)


@pytest.mark.parametrize(
    ("epsilon", "shift"), [(7.4, 0.2), (10.0, 0.2), (1000.0, 1.0), (1e6, 2.0**-60), (0.0, 0.5), (0.0, 2.0**40)]
)
def test_gaussian_delta_bounds_the_extremes(epsilon: float, shift: float) -> None:
    """Far in the tail, at epsilon 0 and at absurd shifts the bound holds and stays a probability."""
    computed = gaussian_delta(epsilon, shift)
    exact = _exact_delta(epsilon, shift) if epsilon / shift < 1e4 else mp.mpf(0)
    assert 0 <= computed <= 1
    assert exact <= computed or exact < 1e-300


BUDGETS = st.builds(
    Budget,
    st.one_of(st.floats(1e-3, 50), st.sampled_from([Fraction(1, 3), Fraction(5, 6), 0.1, 1])),
    st.one_of(st.floats(1e-20, 0.5), st.sampled_from([Fraction(1, 3 * 10**6), 1e-6, 2e-30, 0.5])),
)


@given(BUDGETS)
def test_the_shift_is_the_largest_that_keeps_the_budget(budget: Budget) -> None:
    """Evaluated back exactly, the shift keeps delta, and one part in ten thousand more does not."""
    shift = gaussian_shift(budget)
    epsilon, delta = budget.exact_epsilon, budget.exact_delta
    exact_epsilon, exact_delta = (
        mp.mpf(epsilon.numerator) / epsilon.denominator,
        mp.mpf(delta.numerator) / delta.denominator,
    )
    assert _exact_delta(exact_epsilon, shift) <= exact_delta
    assert _exact_delta(exact_epsilon, shift * 1.0001) > exact_delta


@given(st.fractions(min_value=-1000, max_value=1000))
def test_rounded_down_is_the_next_float_below(exact: Fraction) -> None:
    """The float does not exceed the number and the next float above does."""
    assert Fraction(rounded_down(exact)) <= exact < Fraction(math.nextafter(rounded_down(exact), math.inf))


@pytest.mark.parametrize(
    "budget",
    [Budget(1), Budget(1, 9e-31), Budget(1, 0.51), Budget(1, 0.999), Budget(0, 1e-30), Budget(1e-60, 1e-30)],
)
def test_budgets_without_a_gaussian_are_refused(budget: Budget) -> None:
    """No delta, an extreme one, or next to nothing of both cannot be calibrated."""
    with pytest.raises(InvalidParameter, match=r"Gaussian noise|too small to certify"):
        gaussian_shift(budget)
    with pytest.raises(InvalidParameter, match=r"Gaussian noise|too small to certify"):
        Gaussian.for_budget(budget)


def test_the_search_ends_when_floats_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bisection stops at neighbouring floats also where every shift or none is good enough."""
    search = gaussian_shift.__wrapped__  # what is found otherwise is remembered
    monkeypatch.setattr(analytic, "gaussian_delta", lambda epsilon, shift: 0.0)
    assert search(Budget(1, 1e-6)) == pytest.approx(2.0**40, rel=1e-15)
    monkeypatch.setattr(analytic, "gaussian_delta", lambda epsilon, shift: 1.0)
    with pytest.raises(InvalidParameter, match="too small"):
        search(Budget(1, 1e-6))


@pytest.mark.parametrize(
    ("budget", "shape"), [(Budget(1e-9, 1e-12), ()), (Budget(1e-5, 1e-9), 10**6), (Budget(0, 0.1), ())]
)
def test_what_cannot_be_certified_is_refused_at_calibration(budget: Budget, shape: object) -> None:
    """A budget that the errors of drawing would eat up is refused, with one number or with a million."""
    with pytest.raises(InvalidParameter, match="too small to certify"):
        Gaussian.for_budget(budget, 1.0, shape)


def test_an_enormous_epsilon_still_gets_noise() -> None:
    """Noise never falls below a twentieth of the sensitivity."""
    mechanism = Gaussian.for_budget(Budget(1e6, 0.5))
    assert mechanism.event.noise_multiplier == pytest.approx(1 / 20)
    assert mechanism.standard_deviation >= 1 / 20
