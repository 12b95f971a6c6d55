"""The price of Laplace noise, against the integers that are really drawn."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.prices import renyi
from tacit.budget import Budget
from tacit.mechanisms import Laplace
from tacit.mechanisms.mechanism import inflated
from tacit.noise import LAPLACE_ERROR

ORDERS = (1.1, 1.5, 2.0, 5.0, 20.0, 300.0, 1e4, 1e6)


def _number(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


def _integers(order: float, units: int, scale: int) -> mpmath.mpf:
    """Return the logarithm of E[(P/Q)^order] for integers with chances prop. to exp(-|k|/scale), moved by units."""
    a, h = mpmath.mpf(order), 1 / mpmath.mpf(scale)
    r, s, c = mpmath.exp(-h), units * h, 2 * mpmath.mpf(order) - 1
    between = (mpmath.exp(-c * h) - mpmath.exp(-c * s)) / (1 - mpmath.exp(-c * h))
    ends = 1 + mpmath.exp(-c * s)
    return (a - 1) * s + mpmath.log((ends + (1 - r) * between) / (1 + r))


def _continuous(order: float, shift: mpmath.mpf) -> mpmath.mpf:
    a = mpmath.mpf(order)
    near, far = a * mpmath.exp((a - 1) * shift), (a - 1) * mpmath.exp(-a * shift)
    return mpmath.log((near + far) / (2 * a - 1))


def test_the_divergence_of_integers_is_the_sum_over_them() -> None:
    """The closed form agrees with adding up the definition."""
    for order, units, scale in ((2.0, 3, 5), (1.5, 1, 2), (7.0, 10, 4)):
        k = np.arange(-400, 400)
        first, second = (np.exp(-np.abs(k - centre) / scale) for centre in (0, units))
        total = np.sum(first**order * second ** (1 - order)) / np.sum(np.exp(-np.abs(k) / scale))
        assert float(_integers(order, units, scale)) == pytest.approx(math.log(total), rel=1e-9)


@settings(max_examples=60)
@given(st.floats(-7.0, 4.5).map(lambda power: 10.0**power), st.integers(1, 3), st.sampled_from(ORDERS))
def test_integers_cost_no_more_than_they_are_charged(epsilon: float, dimension: int, order: float) -> None:
    """All coordinates' divergences, the errors of drawing included, stay below the price of the mechanism's event."""
    noise = Laplace.for_budget(Budget(epsilon), shape=(dimension,))
    charged = renyi(noise.event, order).exact_epsilon
    moved = math.floor(inflated(noise.sensitivity) / Fraction(noise.grid)) + dimension
    with mpmath.workdps(60):
        # The errors of the sampler could add this much to each of them at most, by the note's second step.
        drawn = (1 + 4 * mpmath.mpf(LAPLACE_ERROR)) / (mpmath.mpf(order) - 1)
        for split in ([moved], [moved // dimension] * dimension, [1, moved - 1]):
            assert drawn * sum(_integers(order, units, noise.units) for units in split) <= _number(charged)
        if epsilon < 100:
            whole = drawn * _integers(order, moved, noise.units)
            assert _number(charged) <= whole * mpmath.mpf("1.001") + mpmath.mpf("1e-11")


def test_the_price_of_continuous_noise_would_be_too_small() -> None:
    """Integers lose more than continuous noise with the same shift, by more than prices are rounded up."""
    noise = Laplace.for_budget(Budget(20.0))
    with mpmath.workdps(60):
        moved = math.floor(inflated(noise.sensitivity) / Fraction(noise.grid)) + 1
        drawn = _integers(1.1, moved, noise.units)
        ideal = _continuous(1.1, mpmath.mpf(moved) / noise.units)
        assert drawn > ideal * (1 + mpmath.mpf(2) ** -40)
        assert drawn / mpmath.mpf(0.1) < _number(renyi(noise.event, 1.1).exact_epsilon)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from(ORDERS))
def test_integers_are_close_to_the_continuum(units: int, scale: int, order: float) -> None:
    """The note's third step: A - 1 grows by a factor of at most 1 + 1/(2 scale), and never shrinks."""
    with mpmath.workdps(400):
        if order * units / scale > 800:
            return
        ideal = mpmath.expm1(_continuous(order, mpmath.mpf(units) / scale))
        drawn = mpmath.expm1(_integers(order, units, scale))
        assert ideal <= drawn * (1 + mpmath.mpf(10) ** -50)
        assert drawn <= ideal * (1 + mpmath.mpf(1) / (2 * scale))


@given(st.floats(0.01, 4.0), st.floats(0.01, 4.0), st.floats(-8.0, 8.0))
def test_two_coordinates_lose_no_more_than_one(first: float, second: float, epsilon: float) -> None:
    """Delta of two Laplace numbers that move by a and b is at most that of one that moves by a + b."""

    def kept(shift: float, at: np.ndarray) -> np.ndarray:
        return np.minimum(np.minimum(1.0, np.exp(at)), np.exp((at - shift) / 2))

    losses = np.linspace(-first, first, 20_001)
    weights = np.full(losses.size, losses[1] - losses[0])
    weights[[0, -1]] /= 2
    between = np.sum(weights * np.exp(-(first - losses) / 2) / 4 * kept(second, epsilon - losses))
    ends = kept(second, np.array([epsilon - first, epsilon + first])) @ np.array([0.5, 0.5 * math.exp(-first)])
    assert between + ends >= kept(first + second, np.array([epsilon]))[0] - 1e-6


@given(st.integers(1, 60), st.floats(0.01, 0.5), st.floats(-1.0, 1.0))
def test_integers_lose_no_more_than_continuous_noise_moved_a_little_further(
    units: int, step: float, position: float
) -> None:
    """Delta of integers that move by s is at most that of continuous noise that moves by s + step^2 / 4."""
    shift = units * step
    epsilon = position * shift
    k = np.arange(-3000, 3000)
    chances = np.exp(-np.abs(k) * step) * math.tanh(step / 2)
    moved = np.exp(-np.abs(k - units) * step) * math.tanh(step / 2)
    delta = float(np.maximum(chances - math.exp(epsilon) * moved, 0).sum())
    further = shift + step * step / 4
    assert delta <= 1 - min(1.0, math.exp(epsilon), math.exp((epsilon - further) / 2)) + 1e-9
