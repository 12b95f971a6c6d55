"""Spherical Laplace noise on the grid: pure epsilon in every direction, and tight."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.statistical import fits, sample_size
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace, SphericalLaplace
from tacit.noise import LARGEST_SCALE, spherical_error
from tacit.releases import release

EPSILONS = st.floats(min_value=1e-4, max_value=200)
SENSITIVITIES = st.floats(min_value=1e-6, max_value=1e6)


def _farthest(mechanism: SphericalLaplace) -> mp.mpf:
    """Return how many grid units apart, in L2 norm, two neighbouring vectors can be rounded to."""
    return mp.mpf(mechanism.sensitivity) / mp.mpf(mechanism.grid) + mp.sqrt(mechanism.dimension)


@given(EPSILONS, SENSITIVITIES, st.integers(1, 50))
def test_the_law_is_private_and_tight(epsilon: float, sensitivity: float, dimension: int) -> None:
    """The farthest shift over the scale, plus the error of drawing, is at most epsilon and at least 0.999 of it."""
    mechanism = SphericalLaplace.for_budget(Budget(epsilon), sensitivity, dimension)
    with mp.workdps(40):
        exact = mp.mpf(mechanism.budget.exact_epsilon.numerator) / mechanism.budget.exact_epsilon.denominator
        worst = _farthest(mechanism) / mp.mpf(mechanism.units)
        assert worst + 2 * mp.mpf(spherical_error(dimension)) <= exact
        assert worst >= 0.999 * exact
        assert _farthest(mechanism) / (0.99 * mp.mpf(mechanism.units)) > exact


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 4, 2.0])
def test_no_point_of_the_plane_tells_more_than_epsilon(angle: float) -> None:
    """In two dimensions the log ratio (|k - m| - |k|) / scale is largest straight behind, where it reaches epsilon."""
    mechanism = SphericalLaplace.for_budget(Budget(1), 1.0, 2)
    shift = (float(_farthest(mechanism)) - 1) * np.array([math.cos(angle), math.sin(angle)])
    points = shift * np.linspace(-3, 3, 61)[:, None]
    sideways = np.array([-shift[1], shift[0]]) * np.linspace(-3, 3, 61)[:, None]
    everywhere = np.rint(points[:, None] + sideways[None, :])
    shift = np.rint(shift)
    ratios = (np.linalg.norm(everywhere - shift, axis=-1) - np.linalg.norm(everywhere, axis=-1)) / mechanism.units
    assert 0.999 <= ratios.max() <= 1
    assert -1 <= ratios.min() <= -0.999


@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_rounding_moves_neighbours_no_farther_than_is_paid_for(dimension: int, seed: int) -> None:
    """Vectors at most the sensitivity apart are rounded to grid points at most sqrt(dimension) units farther apart."""
    generator = np.random.default_rng(seed)
    mechanism = SphericalLaplace.for_budget(Budget(1e-8), 1.0, dimension)
    first, direction = generator.normal(size=(2, dimension))
    second = first + direction / np.linalg.norm(direction) * (1 - 1e-12)
    apart = np.linalg.norm(np.rint(first / mechanism.grid) - np.rint(second / mechanism.grid))
    assert apart <= _farthest(mechanism) <= mechanism.units * mechanism.budget.epsilon


@pytest.mark.stats
def test_answers_have_a_gamma_norm_around_the_value() -> None:
    """The norm of released minus true vectors, over the scale, is Gamma(dimension), and of no scale 10 % off."""
    mechanism = SphericalLaplace.for_budget(Budget(0.5), 2.0, (5, 6))
    value = np.arange(30.0).reshape(5, 6)
    answers = [release(mechanism, value, label="test").value for _ in range(sample_size(1_500))]
    norms = np.array([np.linalg.norm(answer - value) for answer in answers]) / mechanism.scale
    assert fits(norms, stats.gamma(30).cdf)
    assert not fits(0.9 * norms, stats.gamma(30).cdf)
    assert not fits(1.1 * norms, stats.gamma(30).cdf)
    assert mechanism.standard_deviation == pytest.approx(mechanism.scale * math.sqrt(31))


def test_one_number_costs_what_laplace_noise_costs() -> None:
    """In one dimension the scale is that of Laplace noise, up to rounding."""
    spherical, laplace = (kind.for_budget(Budget(0.7), 3.0) for kind in (SphericalLaplace, Laplace))
    assert spherical.scale == pytest.approx(laplace.scale, rel=1e-5)


def test_a_delta_is_left_unused() -> None:
    """Spherical noise is pure: a delta in the budget is neither needed nor charged."""
    assert SphericalLaplace.for_budget(Budget(1, 1e-6)) == SphericalLaplace.for_budget(Budget(1))


@pytest.mark.parametrize("dimension", [1, 10, 10**6])
def test_what_cannot_be_certified_is_refused_at_calibration(dimension: int) -> None:
    """An epsilon at or just above the error of drawing is refused; a little above, the scale stays countable."""
    least = 2 * Fraction(spherical_error(dimension))
    for epsilon in (Fraction(1, 10**100), least / 2, least, least * (1 + Fraction(1, 10**9))):
        with pytest.raises(InvalidParameter, match="too small to certify"):
            SphericalLaplace.for_budget(Budget(epsilon), 1.0, dimension)
    assert SphericalLaplace.for_budget(Budget(2 * least), 1.0, dimension).units <= LARGEST_SCALE
