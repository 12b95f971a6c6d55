"""The least-significant-bit attack (Mironov 2012) breaks noise added in doubles and learns nothing from ours."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from support.statistical import at_most, chance_interval, count_fits, sample_size
from tacit import noise
from tacit.budget import Budget
from tacit.mechanisms import Gaussian, Laplace, SphericalLaplace
from tacit.mechanisms.mechanism import AdditiveNoise
from tacit.noise import SystemEntropy, add_on_grid
from tacit.releases import release

pytestmark = pytest.mark.stats

Floats = NDArray[np.float64]

PRIVATE = SystemEntropy()


def _unreachable(outputs: Floats, value: float) -> NDArray[np.bool_]:
    """Whether no double added to the value gives this output, as happens when the output has too many low bits."""
    return (outputs - value) + value != outputs


def _epsilon_shown(event_at_first: int, event_at_second: int, trials: int) -> float:
    """Return a lower bound on epsilon from how often one event happened for two neighbours, by exact intervals."""
    return math.log(
        max(chance_interval(event_at_first, trials)[0], 1e-300) / chance_interval(event_at_second, trials)[1]
    )


def _ours(value: float, budget: Budget, size: int) -> Floats:
    """Draw many answers of the Laplace mechanism for one number, as `randomise` makes them."""
    mechanism = Laplace.for_budget(budget)
    return add_on_grid(np.full(size, value), noise.laplace(PRIVATE, mechanism.units, size), mechanism.grid)


def test_naive_laplace_noise_breaks_its_promise_through_the_low_bits() -> None:
    """With epsilon 1 promised, one look at the low bits of numpy's noise shows an epsilon above 4."""
    size = sample_size(20_000)
    generator = np.random.default_rng()
    zero = 0.0 + generator.laplace(scale=1.0, size=size)
    one = 1.0 + generator.laplace(scale=1.0, size=size)
    caught = int(np.sum(_unreachable(zero, 1.0)))
    assert not np.any(_unreachable(one, 1.0))
    assert caught > 0.2 * size  # the attack's power: two fifths of the answers give the value away for certain
    assert _epsilon_shown(caught, 0, size) > 4


def test_the_low_bits_of_our_noise_show_nothing() -> None:
    """The same look at our answers never sees an unreachable one, for either neighbour."""
    size = sample_size(20_000)
    for value in (0.0, 1.0):
        outputs = _ours(value, Budget(1), size)
        for candidate in (0.0, 1.0):
            assert not np.any(_unreachable(outputs, candidate))


def test_every_low_bit_pattern_is_as_likely_for_both_neighbours() -> None:
    """Our answers' last three bits are uniform for values 0, 1 and 1/3 alike; naive ones are off the grid."""
    size = sample_size(40_000)
    grid = Laplace.for_budget(Budget(1)).grid
    for value in (0.0, 1.0, 1 / 3):
        last = np.mod(_ours(value, Budget(1), size) / grid, 8)
        for bits in range(8):
            assert count_fits(int(np.sum(last == bits)), size, 1 / 8)
    naive = np.random.default_rng().laplace(size=size) / grid
    assert np.mean(naive == np.rint(naive)) < 0.01


def _textbook(uniform: Floats, scale: float) -> Floats:
    """Return Laplace noise by inverting the cdf in doubles, as numpy and every textbook do."""
    folded = np.where(uniform < 0.5, 2 * uniform, 2 - 2 * uniform)
    return np.where(uniform < 0.5, scale, -scale) * np.log(folded)


def _explained(outputs: Floats, value: float, scale: float) -> NDArray[np.bool_]:
    """Whether some uniform multiple of 2^-53 makes the textbook sampler give this output for this value."""
    shift = outputs - value
    tail = np.exp(-np.abs(shift) / scale) / 2
    nearest = np.rint(np.where(shift < 0, tail, 1 - tail) * 2.0**53)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-24, 25):
        uniform = np.clip(nearest + step, 1, 2.0**53 - 1) * 2.0**-53
        found |= value + _textbook(uniform, scale) == outputs
    return found


def _guesses(outputs: Floats, scale: float) -> NDArray[np.bool_]:
    """Return Bob's guess that the value was 1: what only one value explains decides, else the nearer one does."""
    zero, one = (_explained(outputs, value, scale) for value in (0.0, 1.0))
    return np.where(zero == one, outputs > 0.5, one)


def _bob(answer_for_zero: Floats, answer_for_one: Floats, scale: float) -> int:
    """Return how often Bob guesses right when each value is asked for equally often."""
    return int(np.sum(~_guesses(answer_for_zero, scale)) + np.sum(_guesses(answer_for_one, scale)))


def test_bob_beats_naive_noise_and_not_ours() -> None:
    """At epsilon 0.1 Bob may be right 52.5 % of the time: he passes 85 % on textbook noise, and not 52.5 % on ours."""
    epsilon, size = 0.1, sample_size(10_000)
    allowed = math.exp(epsilon) / (1 + math.exp(epsilon))
    generator = np.random.default_rng()
    textbook = [value + _textbook(generator.integers(1, 2**53, size) * 2.0**-53, 1 / epsilon) for value in (0.0, 1.0)]
    naive = _bob(*textbook, 1 / epsilon)
    assert naive > 0.85 * 2 * size
    assert not at_most(naive, 2 * size, allowed)
    ours = _bob(*(_ours(value, Budget(0.1), size) for value in (0.0, 1.0)), 1 / epsilon)
    assert at_most(ours, 2 * size, allowed)


MECHANISMS: list[AdditiveNoise] = [
    Laplace.for_budget(Budget(1)),
    Laplace.for_budget(Budget(1e-6), 1e30),
    Laplace.for_budget(Budget(1e6), 1e-30, (3, 2)),
    Gaussian.for_budget(Budget(1, 1e-6)),
    Gaussian.for_budget(Budget(0.01, 1e-12), 1e-10, 100),
    SphericalLaplace.for_budget(Budget(1), 1.0, 2),
    SphericalLaplace.for_budget(Budget(0.001), 1e10, 17),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_every_answer_is_a_multiple_of_the_public_grid(mechanism: AdditiveNoise) -> None:
    """Whatever the value, small, huge or irrational, the answer is an exact multiple of a power of two known before."""
    grid = mechanism.grid
    assert math.frexp(grid)[0] == 0.5
    for size in (0.0, 1 / 3, math.pi * mechanism.sensitivity, 1e5 * mechanism.sensitivity, 1e250):
        value = np.full(mechanism.shape, size)
        answer = np.asarray(release(mechanism, value, label="grid").value)
        assert np.all(np.fmod(answer, grid) == 0)


@pytest.mark.parametrize("value", [0.0, 1.0, 1 / 3, -2.5, 0.1])
def test_reachable_answers_are_the_same_for_all_values(value: float) -> None:
    """Near the middle every multiple of a coarse grid is an answer, for each value, and nothing else is."""
    outputs = add_on_grid(np.full(20_000, value), noise.laplace(PRIVATE, 4, 20_000), 0.25)
    assert set(np.arange(-3.0, 3.25, 0.25)) <= set(outputs.tolist())
    assert np.all(outputs * 4 == np.rint(outputs * 4))
