"""The exact sampler of TDIL for the linear kernel: the law of every part of a point, and what its rounding costs."""

import math

import numpy as np
import pytest
from scipy import stats

from statistical import at_least, at_most, fits, sample_size
from tacit.accounting import satisfies
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels.ball import BallRelease, Slices, draw_point
from tacit.noise import SystemEntropy


def _cdf(dimension, tilt):
    """Return the cdf of |s| by numerical integration on a fine grid."""
    s = np.linspace(0, 1, 400_001)
    with np.errstate(divide="ignore"):
        logs = (dimension - 1) / 2 * np.log1p(-np.square(s)) + tilt * s if dimension > 1 else tilt * s
    density = np.exp(logs - np.max(logs))
    total = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return lambda x: np.interp(x, s, total / total[-1])


CASES = [(1, 0.5), (1, 40.0), (2, 0.0), (2, 3.0), (3, 50.0), (10, 1.0), (10, 200.0), (100, 30.0)]


@pytest.mark.stats
@pytest.mark.parametrize(("dimension", "tilt"), CASES)
def test_the_axial_part_has_its_law(dimension, tilt):
    """|s| fits (1 - s^2)^((d-1)/2) exp(tilt s) at an exact critical value (false alarm 1e-9)."""
    law = Slices(dimension, tilt)
    sample = np.array([law.draw(SystemEntropy()) for _ in range(sample_size(2_000))])
    assert fits(sample, _cdf(dimension, tilt))


@pytest.mark.stats
@pytest.mark.parametrize(("dimension", "tilt"), [(1, 40.0), (3, 50.0), (10, 200.0)])
def test_a_wrong_exponent_is_rejected(dimension, tilt):
    """The twin: half of the exponent, or one dimension less in the power for small d, does not fit."""
    law = Slices(dimension, tilt)
    sample = np.array([law.draw(SystemEntropy()) for _ in range(sample_size(2_000))])
    assert not fits(sample, _cdf(dimension, tilt / 2))
    if dimension == 3:
        assert not fits(sample, _cdf(dimension - 1, tilt))


@pytest.mark.parametrize(("dimension", "tilt"), CASES)
def test_steps_lie_above_the_density(dimension, tilt):
    """The envelope is nowhere below the density, and its mode is the density's."""
    law = Slices(dimension, tilt)
    places, logs = law.steps
    top = float(law.log_density(np.array(law.mode)))
    s = np.linspace(0, 1, 20_001)[:-1]
    step = np.clip(np.searchsorted(places, s, side="right") - 1, 0, len(logs) - 1)
    assert np.all(law.log_density(s) - top <= logs[step] + 1e-9)
    assert np.all(law.log_density(s) <= top + 1e-9)


@pytest.mark.stats
def test_points_are_uniform_across_and_fair_in_sign():
    """Given s, the rest is uniform in a ball around the axis, in every direction alike (false alarm 1e-9 each)."""
    direction, tilt = np.array([0.6, 0.0, 0.8]), 5.0
    size = sample_size(1_500)
    points = np.array([draw_point(direction, tilt, SystemEntropy()) for _ in range(size)])
    s = points @ direction
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12
    positive = int(np.count_nonzero(s > 0))
    assert at_least(positive, size, 0.5)
    assert at_most(positive, size, 0.5)
    assert fits(np.abs(s), _cdf(3, tilt))
    across = points - s[:, None] * direction
    assert fits(np.square(np.linalg.norm(across, axis=1)) / (1 - s**2), stats.uniform.cdf)
    angle = np.arctan2(across @ np.array([0.0, 1.0, 0.0]), across @ np.array([0.8, 0.0, -0.6]))
    assert fits(angle, stats.uniform(-math.pi, 2 * math.pi).cdf)


def test_chosen_points_lie_on_a_shifted_grid_inside_the_ball():
    """What is told of a point is a cell: no low bits of the secret direction."""
    law = BallRelease(Budget(1, 1e-6), 3, 2.0, 1e-3, 5.0, 8)
    points, measured = law.randomise(np.array([1.0, -2.0, 0.5]), SystemEntropy())
    assert points.shape == (8, 3)
    assert measured.shape == (8,)
    assert np.linalg.norm(points, axis=1).max() <= 2 * (1 + 1e-12)


def test_rounding_is_paid_for_out_of_delta():
    """Rounds get nine tenths of delta; a delta too small for the sampler's rounding is refused, and so is none."""
    law = BallRelease(Budget(1, 1e-6), 20, 1.0, 1e-3, 5.0, 30)
    assert law.measurement.shares.budget.delta == pytest.approx(9e-7)
    assert 30 * (1 + math.e) * law.rounding < 1e-7
    assert satisfies(law.event, law.budget)
    for budget in (Budget(1), Budget(1, 1e-12)):
        with pytest.raises(InvalidParameter):
            BallRelease(budget, 20, 1.0, 1e-3, 5.0, 30)


def test_rounds_find_the_secret_when_noise_is_small():
    """With hardly any noise a few measured directions determine the coefficient."""
    law = BallRelease(Budget(2, 1e-6), 3, 1.0, 1e-3, 3.0, 25)
    secret = np.array([1.0, -2.0, 0.5])
    points, measured = law.randomise(secret, SystemEntropy())
    found = np.linalg.lstsq(points, measured, rcond=None)[0]
    assert np.linalg.norm(found - secret) < 0.15


@pytest.mark.parametrize("value", [np.ones(2), [np.nan] * 3, "w"])
def test_other_coefficients_are_refused(value):
    """Three finite numbers are wanted."""
    with pytest.raises(InvalidParameter):
        BallRelease(Budget(1, 1e-6), 3, 1.0, 1e-3, 5.0, 2).check(value)
