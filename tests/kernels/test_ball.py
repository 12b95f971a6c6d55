"""The exact sampler of TDIL for the linear kernel: the law of every part of a point, and what its rounding costs."""

import dataclasses
import functools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import ndtri

from support.statistical import at_least, at_most, fits, sample_size
from tacit import noise
from tacit.accounting import satisfies
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels import Linear, PrivateKernelClassifier
from tacit.kernels.released import ball
from tacit.kernels.released.ball import BallRelease, Slices, draw_point
from tacit.noise import Rehearsal, SystemEntropy

UNIT = 2.0**-53
LAW = BallRelease(Budget(1, 1e-6), 20, 1.0, 1e-3, 5.0, 30)


def _cdf(dimension, tilt):
    """Return the cdf of t by numerical integration on a fine grid of its bulk."""
    t = np.linspace(0, min(1.0, 40 * (dimension + 1) / max(tilt, 1)), 400_001)
    with np.errstate(divide="ignore"):
        logs = (dimension - 1) / 2 * np.log(t * (2 - t)) - tilt * t if dimension > 1 else -tilt * t
    density = np.exp(logs - np.max(logs))
    total = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return lambda x: np.interp(x, t, total / total[-1])


CASES = [(1, 0.5), (1, 40.0), (2, 0.0), (2, 3.0), (2, 1e6), (3, 50.0), (10, 1.0), (10, 200.0), (100, 30.0)]
HARD = [*CASES, (1, 0.0), (1, 1e17), (2, 1e-300), (2, 1e17), (3, 1e12), (50, 1e17), (1000, 1e3), (100_000, 1e9)]


@pytest.mark.stats
@pytest.mark.parametrize(("dimension", "tilt"), CASES)
def test_the_axial_part_has_its_law(dimension, tilt):
    """1 - |s| fits (t (2 - t))^((d-1)/2) exp(-tilt t) at an exact critical value (false alarm 1e-9)."""
    law = Slices(dimension, tilt)
    sample = np.array([law.draw(SystemEntropy()) for _ in range(sample_size(2_000))])
    assert fits(sample, _cdf(dimension, tilt))
    assert not fits(0.7 * sample, _cdf(dimension, tilt))


@pytest.mark.stats
@pytest.mark.parametrize(("dimension", "tilt"), [(1, 40.0), (2, 1e6), (3, 50.0), (10, 200.0)])
def test_a_wrong_exponent_is_rejected(dimension, tilt):
    """The twin: half of the exponent, or two dimensions less in the power for small d, does not fit."""
    law = Slices(dimension, tilt)
    sample = np.array([law.draw(SystemEntropy()) for _ in range(sample_size(2_000))])
    assert not fits(sample, _cdf(dimension, tilt / 2))
    if dimension == 3:
        assert not fits(sample, _cdf(dimension - 2, tilt))


@pytest.mark.stats
@pytest.mark.parametrize(("dimension", "tilt"), [(1, 1e17), (2, 1e15), (2, 1e17), (6, 1e17)])
def test_the_steepest_laws_are_right_beyond_the_digits_of_s(dimension, tilt):
    """Where 1 - t is 1 in floats, tilt t is still a Gamma((d+1)/2) number (false alarm 1e-9), not of (d+3)/2."""
    law = Slices(dimension, tilt)
    sample = tilt * np.array([law.draw(SystemEntropy()) for _ in range(sample_size(2_000))])
    assert fits(sample, stats.gamma((dimension + 1) / 2).cdf)
    assert not fits(sample, stats.gamma((dimension + 3) / 2).cdf)


@pytest.mark.parametrize(("dimension", "tilt"), HARD)
def test_steps_lie_above_the_density(dimension, tilt):
    """The envelope is nowhere below the density, and its mode is the density's."""
    law = Slices(dimension, tilt)
    places, logs = law.steps
    shares = np.linspace(0, 1, 40)[1:, None]
    t = places[:-1] + shares * np.diff(places)
    assert np.all(law.log_density(t) - law.top <= logs + 1e-9 * max(1.0, dimension / 100))
    assert np.all(law.log_density(t) <= law.top + 1e-9 * max(1.0, dimension / 100))


@pytest.mark.parametrize(("dimension", "tilt"), HARD)
def test_what_the_note_says_of_steps_is_so(dimension, tilt):
    """Inner steps: a fall of at most 1.01, ends within a factor of 20, bounded terms; outer ones lie 80 below."""
    law, power = Slices(dimension, tilt), (dimension - 1) / 2
    places, logs = law.steps
    heights = law.log_density(places) - law.top
    inner = np.minimum(heights[:-1], heights[1:]) > -80.5
    assert np.all(logs[~inner] < -79.5)
    assert np.all(np.abs(np.diff(heights))[inner] <= 1.01)
    assert np.all(tilt * places[1:][inner] <= 1.5 * power + 161)
    assert len(logs) <= 164
    if power:
        assert np.all(places[1:][inner] <= 20 * places[:-1][inner])
        assert np.all(power * np.abs(np.log(places[:-1][inner])) <= 41 * power + 81)
        assert law.mode == pytest.approx(float(_exact_mode(dimension, tilt)), rel=4 * UNIT)
    area = float(np.sum(np.diff(places) * np.exp(logs)))
    below = float(np.sum(np.diff(places) * np.exp(np.minimum(heights[:-1], heights[1:]))))
    assert area <= math.e * 1.02 * below + 1e-15 * area
    assert below >= 1 / (8 * (tilt + power + 1))


def _exact_mode(dimension, tilt):
    with mpmath.workdps(60):
        power = mpmath.mpf(dimension - 1)
        return 1 - 2 * mpmath.mpf(tilt) / (power + mpmath.hypot(power, 2 * mpmath.mpf(tilt)))


@pytest.mark.parametrize(("dimension", "tilt"), HARD)
def test_the_log_density_is_as_accurate_as_the_note_says(dimension, tilt):
    """Against 60 digits: off by at most u (p (11 |log t| + 8) + 2 K t) wherever on the inner steps."""
    law, power = Slices(dimension, tilt), (dimension - 1) / 2
    for t in law.steps[0][1:-1:5]:
        computed = float(law.log_density(np.array(t)))
        with mpmath.workdps(60):
            exact = power * mpmath.log(mpmath.mpf(t) * (2 - mpmath.mpf(t))) - mpmath.mpf(tilt) * mpmath.mpf(t)
            error = float(abs(exact - computed))
        assert error <= UNIT * (power * (11 * abs(math.log(t)) + 8) + 2 * tilt * t)


def test_normal_quantiles_are_as_accurate_as_the_note_says():
    """Against 60 digits: off by at most 8 u in relative terms, from 2^-107 to the last number below a half."""
    chances = np.concatenate([np.geomspace(2.0**-107, 0.5, 150)[:-1], 0.5 - np.geomspace(2.0**-54, 0.4, 150)])
    for chance, found in zip(chances, ndtri(chances), strict=True):
        with mpmath.workdps(60):
            exact = _quantile(2 * mpmath.mpf(chance))
            assert abs(found - exact) <= 8 * UNIT * abs(exact)


def _quantile(chance):
    """Return the normal quantile of half a chance to all digits: Newton's steps from the computed one."""
    place = mpmath.mpf(float(ndtri(float(chance) / 2)))
    for _ in range(4):
        place -= (mpmath.ncdf(place) - chance / 2) / mpmath.npdf(place)
    return place


@pytest.mark.parametrize(
    ("dimension", "tilt"), [(2, 0.0), (2, 30.0), (2, 1e17), (3, 1e6), (8, 50.0), (8, 1e14), (40, 1e3)]
)
def test_points_are_as_close_to_ideal_ones_as_the_note_says(monkeypatch, dimension, tilt):
    """Ideal numbers that begin with the same 53 bits give a point within 235 sqrt(d) u in the mean, sizes summed."""
    drawn, coins, source = [], np.random.default_rng(3), Rehearsal(dimension)
    uniform = noise.uniform
    monkeypatch.setattr(noise, "uniform", lambda given, size: drawn.append(uniform(given, size)) or drawn[-1])
    errors = []
    for _ in range(40):
        drawn.clear()
        direction = coins.normal(size=dimension)
        direction /= math.hypot(*direction)
        point = draw_point(direction, tilt, source)
        with mpmath.workdps(60):
            ideal = _ideal_point(direction, Slices(dimension, tilt).steps, list(drawn), coins)
            errors.append(float(sum(abs(mpmath.mpf(a) - b) for a, b in zip(point.tolist(), ideal, strict=True))))
    assert 0 < np.mean(errors) <= 235 * math.sqrt(dimension) * UNIT
    assert np.max(errors) <= 235 * math.sqrt(dimension) * UNIT


def _ideal_point(direction, steps, drawn, coins):
    """Return the point without rounding: every uniform number goes on after its 53 bits."""
    places, logs = steps
    more = [[mpmath.mpf(x) + mpmath.mpf(coins.random()) * UNIT for x in part.tolist()] for part in drawn]
    sizes = [len(part) for part in drawn]
    last = sizes.index(1)
    areas = np.cumsum(np.diff(places) * np.exp(logs))
    step = int(np.searchsorted(areas, drawn[last - 1][0] * areas[-1], side="right"))
    low, high = mpmath.mpf(places[step]), mpmath.mpf(places[step + 1])
    t = low + more[last - 1][1] * (high - low)
    unit = [mpmath.mpf(x) for x in direction.tolist()]
    size = len(unit)
    norm = mpmath.sqrt(sum(x * x for x in unit))
    unit = [x / norm for x in unit]
    fine = mpmath.mpf(2) ** -106
    first, second, side = (drawn[-2][k * size : (k + 1) * size].tolist() for k in range(3))
    chances = [
        1 - mpmath.mpf(a) - UNIT * mpmath.mpf(b) - fine * mpmath.mpf(coins.random())
        for a, b in zip(first, second, strict=True)
    ]
    normal = [(1 if s < 0.5 else -1) * _quantile(chance) for s, chance in zip(side, chances, strict=True)]
    dot = sum(a * b for a, b in zip(unit, normal, strict=True))
    across = [b - a * dot for a, b in zip(unit, normal, strict=True)]
    length = mpmath.sqrt(sum(x * x for x in across))
    reach = mpmath.sqrt(t * (2 - t)) * more[-1][0] ** (mpmath.mpf(1) / (size - 1))
    sign = 1 if drawn[last][0] < 0.5 else -1
    return [sign * (1 - t) * a + reach * b / length for a, b in zip(unit, across, strict=True)]


@pytest.mark.parametrize("dimension", [2, 3, 4, 10, 1000])
def test_few_vectors_are_too_short(dimension):
    """The norm of d - 1 normal numbers is at least sqrt(d)/4 with probability 0.72 at least."""
    assert stats.chi(dimension - 1).sf(math.sqrt(dimension) / 4) >= 0.72


@pytest.mark.stats
@pytest.mark.parametrize("dimension", [2, 3])
def test_points_are_uniform_across_and_fair_in_sign(dimension, monkeypatch):
    """Given s, the rest is uniform in a ball around the axis, in every direction alike (false alarm 1e-9 each)."""
    # One law serves all draws: its steps take most of the time of a draw, and have no noise in them.
    monkeypatch.setattr(ball, "Slices", functools.lru_cache(Slices))
    direction, tilt = np.array([0.6, 0.8, 0.0])[:dimension], 5.0
    size = sample_size(1_500)
    points = np.array([draw_point(direction, tilt, SystemEntropy()) for _ in range(size)])
    s = points @ direction
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12
    positive = int(np.count_nonzero(s > 0))
    assert at_least(positive, size, 0.5)
    assert at_most(positive, size, 0.5)
    assert fits(1 - np.abs(s), _cdf(dimension, tilt))
    across = points - s[:, None] * direction
    share = np.linalg.norm(across, axis=1) / np.sqrt(1 - s**2)
    assert fits(share ** (dimension - 1), stats.uniform.cdf)
    assert not fits(share ** (2 * dimension - 2), stats.uniform.cdf)
    side = across @ np.array([0.8, -0.6, 0.0])[:dimension]
    if dimension == 3:
        assert fits(np.arctan2(across[:, 2], side), stats.uniform(-math.pi, 2 * math.pi).cdf)
        assert not fits(np.arctan2(across[:, 2], 20 * side), stats.uniform(-math.pi, 2 * math.pi).cdf)
    else:
        assert at_least(int(np.count_nonzero(side > 0)), size, 0.5)
        assert at_most(int(np.count_nonzero(side > 0)), size, 0.5)


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


@pytest.mark.parametrize("value", [np.ones(2), [1.0] * 4, "w"])
def test_other_coefficients_are_refused(value):
    """Three numbers are wanted, whatever they are."""
    with pytest.raises(InvalidParameter):
        BallRelease(Budget(1, 1e-6), 3, 1.0, 1e-3, 5.0, 2).check(value)


def test_no_exponent_costs_more_rounding():
    """What rounding costs depends on the dimension alone; exponents beyond what is proved are refused."""
    steep = dataclasses.replace(LAW, moved=1e-12, size=1e3)
    assert steep.rate * steep.size > 1e11 * LAW.rate * LAW.size
    assert steep.rounding == LAW.rounding
    assert steep.measurement.shares == LAW.measurement.shares
    needed = (419 * LAW.dimension + 4901 + 15105 * math.sqrt(LAW.dimension)) * UNIT
    assert needed <= LAW.rounding <= 3 * needed
    for changes in ({"moved": 1e-18}, {"size": 1e16}, {"size": math.inf}, {"size": 0.0}, {"norm": math.nan}):
        with pytest.raises(InvalidParameter, match=r"exponents|finite"):
            dataclasses.replace(LAW, **changes)
    with pytest.raises(InvalidParameter, match="exponents"):
        dataclasses.replace(LAW, moved=1e-100, size=1e-250, norm=1e120)


def test_the_exponent_is_bounded_by_what_a_choice_spends():
    """Every round's exponent is below the public bound, also after a round whose public model is as far as can be."""
    far = LAW._model(np.eye(20)[:1], np.array([1e9]))
    assert np.linalg.norm(far) == pytest.approx(2 * LAW.size)
    assert LAW.rate * np.linalg.norm(far + LAW.size * np.eye(20)[0]) <= LAW._steepest * (1 + 1e-12)
    assert LAW.rate == pytest.approx(LAW.measurement.shares.choice / (2 * LAW.moved))


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-320])
def test_errors_too_short_to_have_a_direction_are_no_exception(tiny):
    """A secret of a few of the smallest floats is drawn for like 0: the same numbers give the same points."""
    points = [LAW._chosen(np.full(20, size), Rehearsal(5)) for size in (0.0, tiny)]
    assert np.array_equal(*points)


@pytest.mark.parametrize("sparse", [False, True])
def test_no_finite_record_is_refused(sparse):
    """An entry of 1e160, whose square is no float, is clipped like any other, and to the same point of the ball."""
    rows = np.random.default_rng(1).normal(size=(60, 2)) / 4
    targets = np.where(rows[:, 0] > 0, 1.0, -1.0)
    found = []
    for entry in (1e160, 3.0):
        records = np.vstack([rows, [[entry, 0.0]]])
        records = csr_array(records) if sparse else records
        model = PrivateKernelClassifier(
            Linear(), 5.0, 1e-6, method="tdil", rounds=3, alpha=0.1, data_norm=1.0, random_state=4
        )
        found.append(model.fit(records, np.append(targets, 1.0)).model_.points)
    assert np.allclose(*found, atol=1e-9)


@pytest.mark.parametrize("value", [1e300, np.inf, np.nan, -1e200])
def test_no_coefficient_makes_the_sampler_go_on_for_ever(value):
    """An exponent that is no number kept nothing of what was drawn; it is limited, and nothing is refused."""
    law = BallRelease(Budget(1.0, 1e-3), 2, 1.0, 0.1, 1.0, 2)
    points, measured = law.randomise(law.check([value, 0.5]), noise.Rehearsal(1))
    assert np.all(np.isfinite(points))
    assert np.all(np.isfinite(measured))
