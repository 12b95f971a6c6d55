"""The error bounds that mechanisms pay for hold for the numbers that the code really uses, tails included.

The samplers compare uniform numbers with acceptance chances. These tests hand the samplers a generator that
records those chances, and compare them with 60-digit arithmetic.
"""

import math
from collections.abc import Iterator

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import noise
from tacit.noise import (
    LAPLACE_ERROR,
    LARGEST_SCALE,
    NEGLECTED,
    Rehearsal,
    add_on_grid,
    gaussian_error,
    power_of_two_below,
    spherical_error,
)


def _log_success() -> mp.mpf:
    """Return the log of the chance of one more step in `_geometric`, exactly as drawn."""
    return mp.log(mp.mpf(int(noise._INVERSE_E)) / 2**64)


@pytest.fixture(autouse=True)
def _sixty_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


class Recorder(np.ndarray):
    """Random numbers that always pass a comparison and remember what they were compared with."""

    def __new__(cls, size: int, memory: list[np.ndarray]) -> "Recorder":
        """Make so many of them."""
        recorder = np.zeros(size).view(cls)
        recorder.memory = memory
        return recorder

    def _note(self, other: np.ndarray) -> np.ndarray:
        self.memory.append(np.asarray(other))
        return np.ones(self.shape, dtype=bool)

    __lt__ = __ge__ = _note


class Recording:
    """A generator whose proposals are given and whose uniform numbers record their thresholds."""

    def __init__(self, proposals: np.ndarray | None = None) -> None:
        self.proposals = proposals
        self.thresholds: list[np.ndarray] = []

    def integers(self, low: int, high: int, size: int, **_: object) -> np.ndarray:
        """Give the proposals; words that end `_geometric` at once."""
        if high == 2**64 - 1:
            return np.full(size, high, dtype=np.uint64)
        return np.resize(self.proposals, size)

    def random(self, size: int) -> Recorder:
        """Give uniform numbers that record."""
        return Recorder(size, self.thresholds)


def _chance(threshold: float) -> mp.mpf:
    """Return the chance that a uniform multiple of 2^-53 in [0, 1) lies below a float."""
    return mp.mpf(math.ceil(threshold * 2.0**53)) / 2**53


def _spread(scale: int, size: int) -> np.ndarray:
    """Proposals in [0, scale): both ends, powers of two and a random rest."""
    ends = [0, 1, 2, scale - 1, scale - 2, scale // 2, *(scale >> shift for shift in range(1, 20))]
    rest = np.random.default_rng(scale % 2**32).integers(0, scale, size)
    return np.unique(np.clip(np.concatenate([ends, rest]), 0, scale - 1))


LAPLACE_SCALES = [1, 2, 3, 10, 1_000, 2**20 + 1, 3_000_017, 2**36 - 5, 2**43 + 12345, 2**44]


@pytest.mark.parametrize("scale", LAPLACE_SCALES)
def test_laplace_chances_are_within_the_stated_error(scale: int) -> None:
    """Every integer's probability, remainder and whole multiples of the scale together, is right to LAPLACE_ERROR."""
    proposals = _spread(scale, 400)
    generator = Recording(proposals)
    noise._one_sided(generator, scale, proposals.size)
    (thresholds,) = generator.thresholds
    assert thresholds.size > proposals.size
    errors = [
        _chance(float(threshold)) / mp.exp(-mp.mpf(int(k)) / scale) - 1
        for k, threshold in zip(proposals, thresholds, strict=False)
    ]
    # The chance exp(-512) of a 512-fold scale is beyond anything that will be drawn.
    tail = 512 * abs(_log_success() + 1)
    # What an integer's probability is off by, relative to the normaliser, which is an average of the same errors.
    assert max(errors) - min(errors) + 2 * tail <= LAPLACE_ERROR


def test_a_sampler_in_single_precision_would_break_the_stated_error() -> None:
    """The same measure refuses acceptance chances that were rounded to 24 bits."""
    chances = np.exp(_spread(1_000, 400) / -1_000).astype(np.float32).astype(np.float64)
    errors = [
        _chance(float(p)) / mp.exp(-mp.mpf(int(k)) / 1_000) - 1
        for k, p in zip(_spread(1_000, 400), chances, strict=True)
    ]
    assert max(errors) - min(errors) > LAPLACE_ERROR


def _gaussian_errors(monkeypatch: pytest.MonkeyPatch, scale: float, proposals: np.ndarray) -> list[mp.mpf]:
    """Return the log error of the probability with which the Gaussian sampler accepts each proposal."""
    wholes: list[np.ndarray] = []
    generator = Recording()
    size = proposals.size

    def proposed(_: object, envelope: int, wanted: int) -> np.ndarray:
        assert envelope == math.floor(scale) + 1
        return np.resize(proposals, wanted)

    monkeypatch.setattr(noise, "_laplace", proposed)
    monkeypatch.setattr(noise, "_geometric", lambda _, wanted: Recorder(wanted, wholes))
    noise._gaussian(generator, scale, size)
    thresholds = generator.thresholds[0][:size]
    sigma, envelope = mp.mpf(scale), math.floor(scale) + 1
    ideal = [(abs(int(k)) - sigma**2 / envelope) ** 2 / (2 * sigma**2) for k in proposals]
    # Whole parts come only for proposals that have one, in their order.
    remaining = iter(wholes[0].tolist())
    parts = -np.log(thresholds)
    errors = []
    for exact, part, threshold in zip(ideal, parts.tolist(), thresholds.tolist(), strict=True):
        whole = mp.nint(exact - part)
        if whole > 0:
            assert whole == next(remaining)
        errors.append(mp.log(_chance(threshold)) + whole * _log_success() + exact)
    return errors


GAUSSIAN_SCALES = [0.3, 1.0, 2.7, 1000.5, 2.0**26 + 0.375, 1.2345e9, 2.0**43 + 0.5]


@pytest.mark.parametrize("scale", GAUSSIAN_SCALES)
def test_gaussian_chances_are_within_the_stated_error(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    """Out to 40 scales, beyond what neighbours can reach together, an integer's log-probability is right."""
    reach = 40.0
    assert 2 * math.exp(-((reach / 2) ** 2) / 2) < NEGLECTED
    points = np.concatenate([np.linspace(-reach, reach, 301), np.random.default_rng(1).uniform(-3, 3, 100)])
    proposals = np.unique(np.rint(points * scale).astype(np.int64))
    errors = _gaussian_errors(monkeypatch, scale, proposals)
    proposal_error = mp.mpf(LAPLACE_ERROR)
    assert max(errors) - min(errors) + 2 * proposal_error <= gaussian_error(1)


@pytest.mark.parametrize("dimension", [10, 1_000])
def test_gaussian_errors_of_a_vector_add_up_to_less_than_stated(
    monkeypatch: pytest.MonkeyPatch, dimension: int
) -> None:
    """A typical vector with one coordinate as far out as possible is within gaussian_error(dimension)."""
    scale = 2.0**26 + 0.375
    vector = np.rint(np.random.default_rng(dimension).normal(size=dimension) * scale).astype(np.int64)
    vector[0] = int(20 * scale)
    centre = _gaussian_errors(monkeypatch, scale, np.zeros(1, dtype=np.int64))[0]
    errors = _gaussian_errors(monkeypatch, scale, vector)
    worst = mp.fsum(abs(error - centre) + 2 * mp.mpf(LAPLACE_ERROR) for error in errors)
    assert worst <= gaussian_error(dimension)


def _lattice_sum(sigma: mp.mpf) -> mp.mpf:
    """Sum exp(-k^2 / (2 sigma^2)) over the integers, by whichever of Poisson's two forms converges fast."""
    if sigma > 0.4:
        return (
            mp.sqrt(2 * mp.pi) * sigma * (1 + 2 * mp.fsum(mp.exp(-2 * (mp.pi * j * sigma) ** 2) for j in range(1, 9)))
        )
    return 1 + 2 * mp.fsum(mp.exp(-(mp.mpf(j) ** 2) / (2 * sigma**2)) for j in range(1, 9))


def _mixture(dimension: int, radius: float) -> mp.mpf:
    """Integrate Gaussian densities of variance 2 Gamma((d + 1) / 2) at a radius, both in units of the scale."""

    def integrand(sigma: mp.mpf) -> mp.mpf:
        total = sigma**2 / 2
        weight = total ** (mp.mpf(dimension - 1) / 2) * mp.exp(-total) / mp.gamma(mp.mpf(dimension + 1) / 2)
        density = mp.exp(-(mp.mpf(radius) ** 2) / (2 * sigma**2)) / (mp.sqrt(2 * mp.pi) * sigma) ** dimension
        return weight * sigma * density

    return mp.quad(integrand, [0, 0.1, 0.5, 1, 2, 4, 8, 16, 32])


def _spherical_constant(dimension: int) -> mp.mpf:
    """Return the density at the origin of noise with density proportional to exp(-r), scale 1."""
    half = mp.mpf(dimension) / 2
    return mp.gamma(half) / (2 * mp.pi**half * mp.gamma(dimension))


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("radius", [0.0, 1e-6, 0.01, 0.5, 1.0, 5.0, 20.0])
def test_the_mixture_of_gaussians_is_the_spherical_law(dimension: int, radius: float) -> None:
    """Gaussian vectors whose variance is 2 Gamma((d + 1) / 2) have density C exp(-r), with the right constant C."""
    with mp.workdps(30):
        ratio = _mixture(dimension, radius) / (_spherical_constant(dimension) * mp.exp(-radius))
        assert abs(ratio - 1) < 1e-15


def _lattice_excess(dimension: int, scale: float, radius: int) -> mp.mpf:
    """Return by how much drawing integers, not reals, changes the chance of a point, relative to C exp(-r / b).

    Only mixture members narrower than a few grid units are summed differently from how they integrate.
    """
    b = mp.mpf(scale)

    def difference(sigma: mp.mpf) -> mp.mpf:
        total = (sigma / b) ** 2 / 2
        weight = total ** (mp.mpf(dimension - 1) / 2) * mp.exp(-total) / mp.gamma(mp.mpf(dimension + 1) / 2)
        exact = _lattice_sum(sigma) ** -dimension - (mp.sqrt(2 * mp.pi) * sigma) ** -dimension
        return weight * sigma / b**2 * exact * mp.exp(-(mp.mpf(radius) ** 2) / (2 * sigma**2))

    tiny = mp.mpf(10) ** -12
    change = mp.quad(difference, [tiny, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1, 2, 4])
    return change / (_spherical_constant(dimension) * b**-dimension * mp.exp(-radius / b))


@pytest.mark.parametrize("dimension", [2, 3, 5, 30])
@pytest.mark.parametrize("radius", [0, 1, 2, 10])
def test_the_grid_is_fine_enough_for_the_stated_spherical_error(dimension: int, radius: int) -> None:
    """Even at the origin, where narrow mixture members weigh most, the lattice changes less than is paid for."""
    with mp.workdps(30):
        coarsest = 2.0**36
        excess = abs(mp.log1p(_lattice_excess(dimension, coarsest, radius)))
        paid = mp.mpf(spherical_error(dimension)) - gaussian_error(dimension)
        assert excess <= paid
        if radius == 0:
            # The error is real and falls as one over the scale: 64 times coarser would not be paid for.
            assert abs(mp.log1p(_lattice_excess(dimension, coarsest / 64, 0))) > paid


def test_one_over_e_is_the_nearest_word_below() -> None:
    """The chance of one more whole step is 1/e rounded down to 64 bits."""
    assert int(noise._INVERSE_E) == int(mp.floor(mp.mpf(2) ** 64 / mp.e))


def _feed(monkeypatch: pytest.MonkeyPatch, *words: int) -> None:
    """Make `_words` give these numbers, one per call, to everyone; the last one for good."""
    queue = list(words)

    def give(_: object, size: int) -> np.ndarray:
        return np.full(size, queue.pop(0) if len(queue) > 1 else queue[0], dtype=np.uint64)

    monkeypatch.setattr(noise, "_words", give)


@pytest.mark.parametrize("steps", [0, 1, 64, 700, 3_000])
def test_the_geometric_tail_has_no_end(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """As many steps are counted as there were successes, far beyond any table or float range."""
    _feed(monkeypatch, *[int(noise._INVERSE_E) - 1] * steps, int(noise._INVERSE_E))
    assert noise._geometric(np.random.default_rng(0), 3).tolist() == [steps] * 3


def test_laplace_reaches_its_farthest_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hundred successes put a draw between 300 and 301 scales out, on either side, counted exactly."""
    scale = 2**44
    for seed in range(8):
        _feed(monkeypatch, *[0] * 300, 2**64 - 1)
        (far,) = noise._laplace(np.random.default_rng(seed), scale, 1)
        assert 300 * scale <= abs(int(far)) < 301 * scale
        assert float(far) == int(far)


@given(st.integers(0, 12), st.integers(0, 63), st.integers(0, 2**63 - 1), st.integers(0, 2**52 - 1))
def test_fine_uniform_counts_leading_zeros(zero_words: int, zeros: int, below: int, mantissa: int) -> None:
    """A stream with z leading zero bits gives a number in [2^-(z+1), 2^-z) with 52 free bits after the first."""
    word = (1 << (63 - zeros)) | (below & ((1 << (63 - zeros)) - 1))

    class Mantissa:
        def integers(self, low: int, high: int, size: int) -> np.ndarray:
            assert (low, high) == (0, 2**52)
            return np.full(size, mantissa)

    with pytest.MonkeyPatch.context() as patch:
        _feed(patch, *[0] * zero_words, word)
        drawn = noise._fine_uniform(Mantissa(), 2)
    expected = math.ldexp(1 + mantissa * 2.0**-52, -(64 * zero_words + zeros + 1))
    assert drawn.tolist() == [expected] * 2
    assert 0 < expected < 1


def test_exponential_is_precise_near_zero_and_in_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers as small as 2^-128 keep their relative precision, and the tail adds whole steps exactly."""
    monkeypatch.setattr(noise, "_fine_uniform", lambda _, size: np.array([2.0**-128, 0.5, 1 - 2.0**-53])[:size])
    monkeypatch.setattr(noise, "_geometric", lambda _, size: np.zeros(size, dtype=np.int64))
    drawn = noise._exponential(np.random.default_rng(0), 3)
    for got, fine in zip(drawn.tolist(), (2.0**-128, 0.5, 1 - 2.0**-53), strict=True):
        exact = -mp.log1p(-mp.mpf(fine) * (1 - mp.exp(-1)))
        assert abs(got / exact - 1) < 2.0**-50
    monkeypatch.setattr(noise, "_geometric", lambda _, size: np.full(size, 600))
    assert noise._exponential(np.random.default_rng(0), 2).tolist() == (drawn[:2] + 600).tolist()


def test_gumbel_has_both_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forced extremes give 88.7 and -6.6 rather than a plateau: nothing is cut off at 2^-53."""
    _feed(monkeypatch, 0, 0, 1 << 63)
    monkeypatch.setattr(noise, "_geometric", lambda _, size: np.zeros(size, dtype=np.int64))
    (high,) = noise.gumbel(Rehearsal(0), 1)
    assert 89 < high < 90
    monkeypatch.setattr(noise, "_geometric", lambda _, size: np.full(size, 700))
    (low,) = noise.gumbel(Rehearsal(0), 1)
    assert low == pytest.approx(-math.log(700), rel=1e-3)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_power_of_two_below_brackets(value: float) -> None:
    """The result is a power of two, at most the value and more than half of it."""
    power = power_of_two_below(value)
    assert math.frexp(power)[0] == 0.5
    assert power <= value < 2 * power


@given(st.floats(-1e300, 1e300), st.integers(-(2**50), 2**50), st.integers(-60, 60))
def test_sums_on_the_grid_are_exact_multiples(value: float, units: int, exponent: int) -> None:
    """The sum is the float nearest to the rounded value plus the noise, and a multiple of the grid."""
    grid = 2.0**exponent
    total = float(add_on_grid(np.asarray(value), np.asarray(units), grid))
    assert mp.mpf(total) / grid == mp.nint(mp.mpf(total) / grid)
    snapped = mp.nint(mp.mpf(value) / grid) * grid
    assert total == float(snapped + mp.mpf(units) * grid)


def test_the_largest_scale_keeps_every_draw_countable() -> None:
    """At the largest scale a draw that is not a whole float has probability below 2^-700."""
    assert mp.exp(-(2**53) / mp.mpf(LARGEST_SCALE)) < mp.mpf(2) ** -700
