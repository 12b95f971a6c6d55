"""The only module that draws randomness.

Private noise is keyed by the operating system's entropy, afresh for every draw: no state is kept that a
fork, a thread or a pickle could duplicate, and no seed can reach it. A `Rehearsal` takes a seed and is
marked as not private; everything made from it must carry that mark.

Additive noise leaves as *integers*, counted in units of a power-of-two grid that the caller chose from
public quantities. Adding integers to a value on the same grid cannot leak through the low bits of floats
(Mironov 2012), and each integer has the probability it should have up to a relative error that
`LAPLACE_ERROR`, `gaussian_error` and `spherical_error` bound, tails included; mechanisms pay for that
error out of epsilon. The bounds are proved in noise.md.
"""

import base64
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Integral
from typing import final

import numpy as np
from numpy.typing import NDArray
from randomgen import ChaCha

from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Integers

LARGEST_SCALE = 2.0**44
"""Scales up to this many grid units keep every draw below 2^53, where floats still count by ones."""

LAPLACE_ERROR = 2.0**-48
"""Bound on the relative error of the probability of one Laplace integer."""

NEGLECTED = 2.0**-140
"""Probability of the events that the error bounds of `gaussian` and `spherical` leave out."""

# In a context of its own: the caller's may have three digits, and so would the chance that all noise is made of.
_DIGITS = Context(prec=60)
_INVERSE_E = np.uint64(int(_DIGITS.divide(Decimal(2**64), _DIGITS.exp(Decimal(1)))))
_HALF_WORD = 2.0**-52
_BLOCK = 2**14
_TOSSES = 2**12


class Source(ABC):
    """Where random bits come from."""

    private: bool

    @abstractmethod
    def generator(self) -> np.random.Generator:
        """Return a generator to draw from at once."""


@final
class SystemEntropy(Source):
    """The operating system's entropy, through the ChaCha20 cipher with a fresh 256-bit key per draw."""

    private = True

    def generator(self) -> np.random.Generator:
        """Return a generator with a key of its own."""
        return np.random.Generator(ChaCha(key=int.from_bytes(os.urandom(32), "little"), rounds=20))


@final
class Rehearsal(Source):
    """A seeded, repeatable stream for tests and experiments; what it touches is not private."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def generator(self) -> np.random.Generator:
        """Return the one generator, further along with every draw."""
        return self._generator


def source_for(random_state: object) -> Source:
    """Return the private source for None, and a rehearsal for a seed or a numpy generator."""
    if random_state is None:
        return SystemEntropy()
    if isinstance(random_state, np.random.RandomState):
        return Rehearsal(int(random_state.randint(2**31)))
    if isinstance(random_state, np.random.Generator):
        return Rehearsal(int(random_state.integers(2**62)))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return Rehearsal(int(random_state))
    raise InvalidParameter(
        "random_state must be None for a private release, or a seed (an integer >= 0) for a rehearsal, "
        f"got {random_state!r}."
    )


def public_stream(number: int, size: int) -> Floats:
    """Return numbers in [0, 1) that are always the same: for made-up rows and starting points, never for noise."""
    return np.random.default_rng(number).random(size)


def unique_name() -> str:
    """Return a name that no other call returns; it says nothing about any record."""
    return os.urandom(16).hex()


def unique_token() -> tuple[str, str]:
    """Return a public name of 8 letters and a secret of 43, which nobody can guess."""
    return os.urandom(4).hex(), base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode("ascii")


def power_of_two_below(value: float) -> float:
    """Return the largest power of two that is at most the value."""
    return math.ldexp(1.0, math.frexp(value)[1] - 1)


def add_on_grid(value: Floats, noise: Integers, grid: float) -> Floats:
    """Round a value to the grid and add noise counted in grid units; the only rounding is of the sum.

    It is total: NaN counts as 0, and what is beyond the largest float as the largest. From 2^52 grid units on, a
    float is a multiple of the grid by itself; dividing it could overflow.
    """
    with np.errstate(all="ignore"):
        held = np.nan_to_num(value)
        small = np.abs(held) < grid * 2.0**52
        snapped = np.where(small, np.rint(np.where(small, held, 0.0) / grid) * grid, held)
        return np.asarray(np.nan_to_num(snapped + noise.astype(np.float64) * grid), dtype=np.float64)


def uniform(source: Source, size: int) -> Floats:
    """Draw uniform multiples of 2^-53 from [0, 1)."""
    return source.generator().random(size)


def permutation(source: Source, size: int) -> Integers:
    """Draw an order of 0, ..., size - 1, every one as likely."""
    return source.generator().permutation(size)


def laplace(source: Source, scale: int, size: int) -> Integers:
    """Draw integers k with probability proportional to exp(-|k| / scale), scale in grid units."""
    return _laplace(source.generator(), scale, size)


def gaussian(source: Source, scale: float, size: int) -> Integers:
    """Draw integers k with probability proportional to exp(-k^2 / (2 scale^2)), scale in grid units."""
    return _gaussian(source.generator(), scale, size)


def gaussian_error(dimension: int) -> float:
    """Bound the log-probability error of a Gaussian vector, outside events of probability NEGLECTED."""
    return 2.0**-47 * (3 * dimension + 400)


def spherical(source: Source, scale: float, dimension: int) -> Integers:
    """Draw an integer vector k with probability proportional to exp(-|k|_2 / scale), scale in grid units.

    The norm of such a vector is Gamma(dimension) distributed and its direction uniform. It is drawn as a
    Gaussian vector whose variance is itself random, 2 scale^2 Gamma((dimension + 1) / 2): so the only
    step that is not a draw of integers is one positive number.
    """
    generator = source.generator()
    if dimension == 1:
        return _laplace(generator, math.ceil(scale), 1)
    total = math.fsum(_exponential(generator, (dimension + 1) // 2))
    if dimension % 2 == 0:
        total += float(_exponential(generator, 1)[0]) * math.sin(_fine_uniform(generator, 1)[0] * math.pi / 2) ** 2
    return _gaussian(generator, scale * math.sqrt(2 * total), dimension)


def spherical_error(dimension: int) -> float:
    """Bound the log-probability error of a spherical vector, outside events of probability NEGLECTED."""
    return 2.0**-46 * (3 * dimension + 400) + 2.0**-34


def gumbel(source: Source, size: int) -> Floats:
    """Draw standard Gumbel numbers, right to a few units in the last place of exp(-number) in both tails."""
    return -np.log(_exponential(source.generator(), size))


def one_of(source: Source, size: int) -> int:
    """Draw one of 0, ..., size - 1, each as likely."""
    return int(source.generator().integers(size))


def repetitions(source: Source, stop: Fraction) -> int:
    """Draw k = 1, 2, ... with probability proportional to (1 - stop)^k |binomial(1/2, k)|, exactly and without an end.

    The first success of tosses whose j-th has chance 1/(2j) is the k-th with probability |binomial(1/2, k)|; it is kept
    if tosses of chance `stop` have no success before the k-th.
    """
    generator = source.generator()
    while True:
        ended = _until(generator, stop)
        for toss in range(1, ended + 1):
            if generator.integers(2 * toss) == 0:
                return toss


def within(source: Source) -> int | None:
    """Return the seed of a rehearsal within a rehearsal; None, which is no seed, for private noise."""
    return None if source.private else int(source.generator().integers(2**31))


def _until(generator: np.random.Generator, stop: Fraction) -> int:
    """Count tosses of this chance up to the first success, which is counted too."""
    before, some = 0, min(_TOSSES, 8 + stop.denominator // stop.numerator)
    while True:
        won = np.flatnonzero(generator.integers(stop.denominator, size=some) < stop.numerator)
        if won.size:
            return before + int(won[0]) + 1
        before += some


def _fill(size: int, draw: Callable[[int], Integers]) -> Integers:
    """Collect accepted draws until there are enough, in blocks that stay in cache.

    `draw(m)` proposes a few more than m and returns those it accepts, which may be too few or too many.
    """
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        part = draw(min(size - filled, _BLOCK))[: size - filled]
        drawn[filled : filled + part.size] = part
        filled += part.size
    return drawn


def _words(generator: np.random.Generator, size: int) -> NDArray[np.uint64]:
    return generator.integers(0, 2**64 - 1, size, dtype=np.uint64, endpoint=True)


def _geometric(generator: np.random.Generator, size: int) -> Integers:
    """Draw v = 0, 1, ... with probability proportional to exp(-v): count successes of chance 1/e."""
    count = np.zeros(size, dtype=np.int64)
    alive = np.flatnonzero(_words(generator, size) < _INVERSE_E)
    while alive.size:
        count[alive] += 1
        alive = alive[_words(generator, alive.size) < _INVERSE_E]
    return count


def _one_sided(generator: np.random.Generator, scale: int, size: int) -> Integers:
    """Draw k = 0, 1, ... with probability proportional to exp(-k / scale)."""

    def fraction(wanted: int) -> Integers:
        proposed = generator.integers(0, scale, int(1.65 * wanted) + 8)
        return proposed[generator.random(proposed.size) < np.exp(proposed / -scale)]

    return _fill(size, fraction) + scale * _geometric(generator, size)


def _laplace(generator: np.random.Generator, scale: int, size: int) -> Integers:
    def signed(wanted: int) -> Integers:
        size = _one_sided(generator, scale, wanted)
        sign = 2 * generator.integers(0, 2, wanted) - 1
        # Zero may come with one sign only, or it would be twice as likely as it should be.
        return (sign * size)[(sign > 0) | (size > 0)]

    return _fill(size, signed)


def _gaussian(generator: np.random.Generator, scale: float, size: int) -> Integers:
    envelope = math.floor(scale) + 1

    def accepted(wanted: int) -> Integers:
        proposed = _laplace(generator, envelope, int(1.35 * wanted) + 8)
        distance = (np.abs(proposed) - scale * (scale / envelope)) / scale
        whole, part = np.divmod(distance * distance / 2, 1.0)
        keep = generator.random(proposed.size) < np.exp(-part)
        # Chance exp(-whole) is met by a geometric number, which has it exactly however small it is.
        far = np.flatnonzero(keep & (whole > 0))
        keep[far] = _geometric(generator, far.size) >= whole[far]
        return proposed[keep]

    return _fill(size, accepted)


def _fine_uniform(generator: np.random.Generator, size: int) -> Floats:
    """Draw from (0, 1) with 53 significant bits however small the number: count leading zero bits."""
    exponent = np.ones(size, dtype=np.int64)
    word = _words(generator, size)
    zero = np.flatnonzero(word == 0)
    while zero.size:
        exponent[zero] += 64
        word[zero] = _words(generator, zero.size)
        zero = zero[word[zero] == 0]
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(shift)
    exponent += 64 - np.bitwise_count(word)
    mantissa = 1 + _HALF_WORD * generator.integers(0, 2**52, size)
    return np.asarray(np.ldexp(mantissa, -exponent.astype(np.int32)), dtype=np.float64)


def _exponential(generator: np.random.Generator, size: int) -> Floats:
    """Draw standard exponential numbers with full relative precision near 0 and an exact tail."""
    below_one = -np.log1p(-_fine_uniform(generator, size) * (1 - math.exp(-1)))
    return np.asarray(below_one + _geometric(generator, size), dtype=np.float64)
