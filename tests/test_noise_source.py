"""Where random bits come from: private bits never repeat, rehearsals always do, and nothing in between."""

import copy
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tacit import noise
from tacit.errors import InvalidParameter
from tacit.noise import Rehearsal, Source, SystemEntropy, source_for

LARGE = 2**40
"""At this scale four integers coincide by accident with a chance below 2^-150."""


def _draw(source: Source) -> tuple[int, ...]:
    return tuple(noise.laplace(source, LARGE, 4).tolist())


def _draw_in_child(source: Source) -> tuple[int, ...]:
    """Fork, draw in the child, and read its draw from a pipe."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn that a process with threads forks; the child only draws and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover - another process
        os.write(writing, pickle.dumps(_draw(source)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        drawn = pickle.loads(pipe.read())
    assert os.waitpid(child, 0)[1] == 0
    return drawn


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this operating system does not fork")
def test_private_draws_differ_after_a_fork_and_rehearsals_do_not() -> None:
    """Two children and their parent draw different private noise, but the same noise from a rehearsal."""
    source = SystemEntropy()
    _draw(source)
    drawn = {_draw_in_child(source), _draw_in_child(source), _draw(source)}
    assert len(drawn) == 3
    rehearsal = Rehearsal(7)
    assert _draw_in_child(rehearsal) == _draw_in_child(rehearsal) == _draw(rehearsal)


def test_private_draws_differ_between_threads() -> None:
    """Two hundred draws in eight threads from one source are all different."""
    source = SystemEntropy()
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: _draw(source), range(200)))
    assert len(set(drawn)) == 200


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda source: pickle.loads(pickle.dumps(source))])
def test_copies_of_the_private_source_share_no_noise_and_copies_of_a_rehearsal_do(duplicate: object) -> None:
    """A copied or pickled private source draws anew, while a deep copy of a rehearsal repeats what is to come."""
    source = SystemEntropy()
    assert len({_draw(source), _draw(duplicate(source)), _draw(duplicate(source))}) == 3
    rehearsal = Rehearsal(7)
    if duplicate is not copy.copy:
        assert _draw(duplicate(rehearsal)) == _draw(duplicate(rehearsal)) == _draw(rehearsal)


def test_every_private_draw_has_a_fresh_key_of_256_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw asks the operating system for 32 bytes, and a change in any of them changes the stream."""
    asked: list[int] = []

    def entropy(size: int) -> bytes:
        asked.append(size)
        key = bytearray(32)
        if len(asked) > 1:
            key[len(asked) - 2] = 1
        return bytes(key)

    monkeypatch.setattr(os, "urandom", entropy)
    drawn = {_draw(SystemEntropy()) for _ in range(33)}
    assert asked == [32] * 33
    assert len(drawn) == 33


def test_no_seed_reaches_private_noise() -> None:
    """Seeding numpy's and Python's global generators leaves private draws different."""
    drawn = set()
    for _ in range(3):
        np.random.seed(0)  # noqa: NPY002 - the habit whose harmlessness is tested
        drawn.add(_draw(source_for(None)))
    assert len(drawn) == 3


def test_a_rehearsal_repeats_with_its_seed_and_is_marked() -> None:
    """The same seed gives the same stream, another seed another one, and neither counts as private."""
    first, again, other = Rehearsal(7), Rehearsal(7), Rehearsal(8)
    stream = [_draw(first) for _ in range(3)]
    assert stream == [_draw(again) for _ in range(3)]
    assert len(set(stream)) == 3
    assert _draw(other) != stream[0]
    assert not first.private
    assert SystemEntropy().private


def test_the_seed_decides_what_source_it_is() -> None:
    """None is private; integers of any kind and numpy's generators are rehearsals that repeat."""
    assert source_for(None).private
    for make in (
        lambda: 7,
        lambda: np.int64(7),
        lambda: 2**100,
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
    ):
        first, second = source_for(make()), source_for(make())
        assert not first.private
        assert _draw(first) == _draw(second)


def test_a_generator_given_twice_moves_on() -> None:
    """Two rehearsals made from one numpy generator are different, as scikit-learn's users expect."""
    for generator in (np.random.default_rng(7), np.random.RandomState(7)):
        assert _draw(source_for(generator)) != _draw(source_for(generator))


@pytest.mark.parametrize(
    "seed",
    ["7", "", b"7", -1, np.int64(-1), True, False, np.bool_(True), 7.0, float("nan"), 1j, [7], (), {}, object()],
)
def test_what_is_no_seed_is_refused(seed: object) -> None:
    """A string, a negative, a truth value or a float makes neither a private source nor a rehearsal."""
    with pytest.raises(InvalidParameter, match="random_state must be None"):
        source_for(seed)
