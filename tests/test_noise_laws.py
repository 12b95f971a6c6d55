"""Every distribution that noise is drawn from has the law it claims, and 10 % of scale either way is noticed."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from support.statistical import cells_fit, count_fits, fits, sample_size
from tacit import noise
from tacit.noise import Rehearsal, SystemEntropy

pytestmark = pytest.mark.stats

PRIVATE = SystemEntropy()
FINE = 2**30
"""A scale in grid units so large that rounding to integers is far below what any test here resolves."""

Floats = NDArray[np.float64]


SPHERICAL_SIZES = {2: 16_000, 3: 11_000, 6: 5_000, 40: 1_500, 101: 800}


@cache
def _vectors(dimension: int) -> Floats:
    """Draw spherical vectors of scale 1, once for all tests."""
    size = sample_size(SPHERICAL_SIZES[dimension])
    return np.array([noise.spherical(PRIVATE, float(FINE), dimension) for _ in range(size)]) / FINE


def _norms(dimension: int) -> Floats:
    return np.linalg.norm(_vectors(dimension), axis=1)


LAWS: dict[str, tuple[Callable[[], Floats], Callable[[Floats], Floats]]] = {
    "uniform": (lambda: noise.uniform(PRIVATE, sample_size(200_000)), stats.uniform.cdf),
    "laplace": (lambda: noise.laplace(PRIVATE, FINE, sample_size(300_000)) / FINE, stats.laplace.cdf),
    "gaussian": (lambda: noise.gaussian(PRIVATE, float(FINE), sample_size(300_000)) / FINE, stats.norm.cdf),
    "gaussian at a fractional scale": (
        lambda: noise.gaussian(PRIVATE, FINE / 3, sample_size(300_000)) / (FINE / 3),
        stats.norm.cdf,
    ),
    "gumbel": (lambda: noise.gumbel(PRIVATE, sample_size(300_000)), stats.gumbel_r.cdf),
    "spherical norm in 2 dimensions": (lambda: _norms(2), stats.gamma(2).cdf),
    "spherical norm in 3 dimensions": (lambda: _norms(3), stats.gamma(3).cdf),
    "spherical norm in 40 dimensions": (lambda: _norms(40), stats.gamma(40).cdf),
    "spherical norm in 101 dimensions": (lambda: _norms(101), stats.gamma(101).cdf),
}


@pytest.mark.parametrize("law", LAWS)
def test_draws_have_their_law_and_no_scale_ten_percent_off(law: str) -> None:
    """The sample fits the exact cdf, and the same sample times 0.9 or 1.1 is rejected."""
    draw, cdf = LAWS[law]
    sample = draw()
    assert fits(sample, cdf)
    assert not fits(sample * 0.9, cdf)
    assert not fits(sample * 1.1, cdf)


def test_spherical_noise_in_one_dimension_is_laplace_noise() -> None:
    """One number with spherical noise gets the very draw of integer Laplace noise at the scale rounded up."""
    for seed in range(20):
        assert noise.spherical(Rehearsal(seed), 1000.3, 1) == noise.laplace(Rehearsal(seed), 1001, 1)


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_spherical_direction_is_uniform(dimension: int) -> None:
    """Each coordinate of the direction has the Beta law of a uniform direction, and so has a slanted projection."""
    vectors = _vectors(dimension)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2).cdf
    slanted = directions @ np.full(dimension, dimension**-0.5)
    for projection in (*directions.T, slanted):
        assert fits((1 + projection) / 2, law)
    assert not fits((1 + np.abs(slanted)) / 2, law)


@pytest.mark.parametrize("dimension", [2, 3])
def test_spherical_norm_tells_nothing_about_direction(dimension: int) -> None:
    """Whether the norm is above its median is independent of the sign of each coordinate and of which is largest."""
    vectors = _vectors(dimension)
    size = len(vectors)
    far = _norms(dimension) > stats.gamma(dimension).median()
    assert count_fits(int(np.sum(far & (vectors[:, 0] > 0))), size, 0.25)
    assert count_fits(int(np.sum(far & (np.argmax(np.abs(vectors), axis=1) == 0))), size, 0.5 / dimension)
    # The twin: if the sign went with the norm in every fifth vector, it would be noticed.
    bent = np.where(np.arange(size) % 5 == 0, far, vectors[:, 0] > 0)
    assert not count_fits(int(np.sum(far & bent)), size, 0.25)


def _laplace_chances(scale: float, reach: int) -> dict[int, float]:
    ratio = math.exp(-1 / scale)
    return {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-reach, reach + 1)}


def _gaussian_chances(scale: float, reach: int) -> dict[int, float]:
    weights = {k: math.exp(-k * k / (2 * scale * scale)) for k in range(-60, 61)}
    total = math.fsum(weights.values())
    return {k: weights[k] / total for k in range(-reach, reach + 1)}


SMALL = [
    *(("laplace", scale) for scale in (1, 2, 5)),
    *(("gaussian", scale) for scale in (0.3, 1.0, 2.7)),
]


@pytest.mark.parametrize(("law", "scale"), SMALL)
def test_small_scales_have_the_exact_chance_of_each_integer(law: str, scale: float) -> None:
    """Each integer's count fits its exact chance, and the chances at 0.9 and 1.1 times the scale do not fit."""
    size = sample_size(400_000)
    draw, chances = {"laplace": (noise.laplace, _laplace_chances), "gaussian": (noise.gaussian, _gaussian_chances)}[law]
    counts = Counter(draw(PRIVATE, scale, size).tolist())
    reach = math.ceil(3 * scale)
    assert cells_fit(counts, chances(scale, reach), size)
    assert not cells_fit(counts, chances(0.9 * scale, reach), size)
    assert not cells_fit(counts, chances(1.1 * scale, reach), size)


def _independent(first: Floats, second: Floats, median: float) -> bool:
    """Whether signs, and separately being far from zero, coincide as often as for independent draws."""
    size = first.size
    signs = int(np.sum((first > 0) == (second > 0)))
    sizes = int(np.sum((np.abs(first) > median) == (np.abs(second) > median)))
    return count_fits(signs, size, 0.5) and count_fits(sizes, size, 0.5)


MEDIANS = {"laplace": math.log(2), "gaussian": float(stats.norm.ppf(0.75))}


@pytest.mark.parametrize("law", MEDIANS)
def test_coordinates_and_calls_are_independent(law: str) -> None:
    """Neighbouring coordinates, coordinates a block apart and two calls agree no more often than chance."""
    draw = {"laplace": noise.laplace, "gaussian": noise.gaussian}[law]
    size = sample_size(2**17)
    first, second = (draw(PRIVATE, FINE, size) / FINE for _ in range(2))
    median = MEDIANS[law]
    assert _independent(first[::2], first[1::2], median)
    assert _independent(first[: size // 2], first[size // 2 :], median)
    assert _independent(first, second, median)
    assert not _independent(first, first, median)
    assert not _independent(first, -first, median)


def test_spherical_coordinates_share_a_scale_but_not_a_sign() -> None:
    """Signs of coordinates are independent; their sizes are not, as the noise is not a product law."""
    vectors = _vectors(2)
    size = len(vectors)
    assert count_fits(int(np.sum((vectors[:, 0] > 0) == (vectors[:, 1] > 0))), size, 0.5)
    both_small = np.sum(np.all(np.abs(vectors) < np.median(np.abs(vectors)), axis=1))
    assert not count_fits(int(both_small), size, 0.25)


def test_every_order_is_as_likely() -> None:
    """Each of the 24 orders of four things comes once in 24 times."""
    size = sample_size(6_000)
    counts = Counter(tuple(noise.permutation(PRIVATE, 4).tolist()) for _ in range(size))
    orders = list(itertools.permutations(range(4)))
    assert cells_fit(counts, dict.fromkeys(orders, 1 / 24), size)
    # The twin: one order that comes twice as often would be noticed.
    assert not cells_fit(counts, dict.fromkeys(orders, 1 / 25) | {orders[0]: 2 / 25}, size)


@pytest.mark.parametrize("size", [1, 2, 7, 2**14 - 1, 2**14, 2**14 + 1, 40_000])
def test_any_number_of_draws_comes_out(size: int) -> None:
    """Draws come in the number asked for, as 64-bit integers, across block borders."""
    for sample in (noise.laplace(PRIVATE, 3, size), noise.gaussian(PRIVATE, 0.7, size)):
        assert sample.shape == (size,)
        assert sample.dtype == np.int64
    assert noise.gumbel(PRIVATE, size).shape == noise.uniform(PRIVATE, size).shape == (size,)
