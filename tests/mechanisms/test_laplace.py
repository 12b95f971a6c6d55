"""Laplace noise on the grid: exactly epsilon-private after rounding, and not more careful than a thousandth."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.statistical import count_fits, fits, sample_size
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace
from tacit.mechanisms.laplace import laplace_units
from tacit.noise import LAPLACE_ERROR, SystemEntropy, add_on_grid
from tacit.releases import release

EPSILONS = st.floats(min_value=1e-4, max_value=200)
SENSITIVITIES = st.floats(min_value=1e-6, max_value=1e6)


def _farthest(mechanism: Laplace) -> int:
    """Return how many grid units apart, in L1 norm, two neighbouring values can be rounded to."""
    return math.floor(Fraction(mechanism.sensitivity) / Fraction(mechanism.grid)) + mechanism.dimension


def _log_ratio(units: Fraction, shift: int) -> Fraction:
    """Return the largest log ratio of integer Laplace probabilities exp(-|k| / units) at a shift."""
    points = (-shift, -1, 0, 1, shift // 2, shift, 2 * shift)
    return max(Fraction(abs(k - shift) - abs(k)) / units for k in points)


@given(EPSILONS, SENSITIVITIES, st.integers(1, 8))
def test_the_discrete_law_is_private_and_tight(epsilon: float, sensitivity: float, dimension: int) -> None:
    """The worst log ratio after rounding is at most epsilon and at least 0.999 of it; a scale 1 % smaller breaks it."""
    mechanism = Laplace.for_budget(Budget(epsilon), sensitivity, dimension)
    shift = _farthest(mechanism)
    drawing = 2 * dimension * Fraction(LAPLACE_ERROR)
    exact = mechanism.budget.exact_epsilon
    assert _log_ratio(Fraction(mechanism.units), shift) + drawing <= exact
    assert _log_ratio(Fraction(mechanism.units), shift) >= Fraction(999, 1000) * exact
    assert _log_ratio(Fraction(99, 100) * mechanism.units, shift) > exact


@given(st.floats(-1e6, 1e6), st.floats(-1, 1), SENSITIVITIES)
def test_rounding_moves_neighbours_no_farther_than_is_paid_for(start: float, move: float, sensitivity: float) -> None:
    """However the values lie, the grid points they are rounded to are at most the farthest distance apart."""
    mechanism = Laplace.for_budget(Budget(1), sensitivity)
    first = start * sensitivity
    second = first + move * sensitivity * (1 - 1e-9)
    points = [round(Fraction(float(value)) / Fraction(mechanism.grid)) for value in (first, second)]
    if abs(Fraction(first) - Fraction(second)) <= Fraction(sensitivity):
        assert abs(points[0] - points[1]) <= _farthest(mechanism)


def test_the_farthest_rounding_happens() -> None:
    """Two values the sensitivity apart are rounded to grid points one more unit apart: it must be paid for."""
    mechanism = Laplace.for_budget(Budget(1), 1 + 2.0**-21)
    first = 0.3 * mechanism.grid
    points = add_on_grid(np.array([first, first + mechanism.sensitivity]), np.zeros(2, dtype=np.int64), mechanism.grid)
    assert (points[1] - points[0]) / mechanism.grid == _farthest(mechanism) == 2**20 + 1


@pytest.mark.stats
def test_answers_are_laplace_around_the_value() -> None:
    """Released numbers minus the value fit the Laplace law of the stated scale, and of none 10 % off."""
    mechanism = Laplace.for_budget(Budget(0.5), 2.0, (sample_size(300_000),))
    value = np.linspace(-5, 5, *mechanism.shape)
    noise = release(mechanism, value, label="test").value - value
    assert fits(noise / mechanism.scale, stats.laplace.cdf)
    assert not fits(0.9 * noise / mechanism.scale, stats.laplace.cdf)
    assert not fits(1.1 * noise / mechanism.scale, stats.laplace.cdf)


@pytest.mark.stats
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_stated_error_has_the_stated_confidence(confidence: float) -> None:
    """The noise stays below `error(confidence)` exactly as often as it says; the deviation is sqrt(2) scales."""
    size = sample_size(100_000)
    mechanism = Laplace.for_budget(Budget(1), 1.0, size)
    noise = np.abs(mechanism.noise(SystemEntropy())) * mechanism.grid
    assert count_fits(int(np.sum(noise < mechanism.error(confidence))), size, confidence)
    assert not count_fits(int(np.sum(noise < 0.9 * mechanism.error(confidence))), size, confidence)
    assert mechanism.standard_deviation == pytest.approx(math.sqrt(2) * mechanism.scale)


def test_a_delta_is_left_unused() -> None:
    """Laplace noise is pure: a delta in the budget is neither needed nor charged."""
    mechanism = Laplace.for_budget(Budget(1, 1e-6))
    assert mechanism.budget == Budget(1)
    assert mechanism == Laplace.for_budget(Budget(1))


def test_units_are_the_smallest_that_keep_epsilon() -> None:
    """One grid unit less would already break the promise, and an epsilon eaten up by rounding errors is refused."""
    units = laplace_units(Fraction(1, 3), Fraction(1000), 1, 1)
    left = Fraction(1, 3) - 2 * Fraction(LAPLACE_ERROR)
    assert Fraction(1001) / units <= left < Fraction(1001) / (units - 1)
    with pytest.raises(InvalidParameter, match="too small to certify"):
        laplace_units(2 * Fraction(LAPLACE_ERROR), Fraction(1000), 1, 1)


@pytest.mark.parametrize("epsilon", [1e-100, 1e-16, 7.2e-15, Fraction(1, 2**47) * (1 + Fraction(1, 2**30))])
def test_what_cannot_be_certified_is_refused_at_calibration(epsilon: float) -> None:
    """An epsilon so small that the noise could not be counted in 53 bits is refused before any release."""
    with pytest.raises(InvalidParameter, match="too small to certify"):
        Laplace.for_budget(Budget(epsilon))
    with pytest.raises(InvalidParameter, match="too small to certify"):
        Laplace(Budget(epsilon), 1.0, ())
