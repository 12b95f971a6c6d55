"""The game is played as the definition says: a fair coin, the right data set, independent answers."""

import warnings

import numpy as np
import pytest

from support.statistical import count_fits
from tacit.audit.game import Batch, play
from tacit.audit.outcomes import Patience, as_numbers
from tacit.audit.plays import Interrupted
from tacit.statistics import count


class _Echo(Batch):
    """Answers with the data, so many times."""

    def many(self, data, count):
        return np.full((count, 1), float(data[0]))


@pytest.mark.parametrize("mechanism", [lambda data: data[0], _Echo()], ids=["callable", "batch"])
def test_every_answer_comes_from_the_data_set_of_its_coin(mechanism):
    """With a mechanism that answers with its data, answers and coins agree in every play."""
    played = play(mechanism, [1.0], [0.0], 1000)
    assert np.array_equal(played.answers[:, 0] == 1.0, played.coins)


@pytest.mark.stats
def test_alices_coin_is_fair():
    """Heads come up as often as tails (false-alarm rate 1e-9, exact binomial)."""
    coins = play(_Echo(), [1.0], [0.0], 100_000).coins
    assert count_fits(int(coins.sum()), coins.size, 0.5)
    # The twin: a coin that favours heads by a tenth is noticed.
    assert not count_fits(round(0.55 * coins.size), coins.size, 0.5)


@pytest.mark.parametrize("plays", [2, 3, 4])
def test_a_batch_can_be_played_a_few_times(plays):
    """Even when all coins fall on one side, every play has its answer."""
    for _ in range(20):
        played = play(_Echo(), [1.0], [0.0], plays)
        assert np.array_equal(played.answers[:, 0] == 1.0, played.coins)


def test_progress_counts_every_play_once():
    """What the progress bar is told adds up to the plays."""
    for mechanism in (_Echo(), lambda data: data[0]):
        told: list[int] = []
        play(mechanism, [1.0], [0.0], 777, progress=told.append)
        assert sum(told) == 777


def test_plays_in_parallel_are_the_same_game():
    """Two processes give answers that agree with the coins, and fresh noise in each."""
    played = play(lambda data: (data[0], count(np.array([True]), epsilon=1.0).value), [1.0], [0.0], 600, jobs=2)
    assert np.array_equal(played.answers[:, 0] == 1.0, played.coins)
    # On a grid two draws meet now and then, ten in 600 never (below 1e-15 on one of 2^-20); shared noise leaves half.
    assert len(np.unique(played.answers[:, 1])) > 590


def test_a_mechanism_that_carries_its_generator_is_not_played_in_parallel():
    """Copies would share noise, so plays would not be independent: refused, where one process plays on."""
    generator = np.random.default_rng(0)
    with pytest.raises(Interrupted, match="copies of the mechanism draw the same"):
        play(lambda data: generator.normal(), [1.0], [0.0], 100, jobs=2)
    assert len(play(lambda data: generator.normal(), [1.0], [0.0], 100)) == 100


def test_an_exception_is_an_outcome():
    """Plays that raise are kept as failed, with the exception's type and text among their marks."""

    def broken(data):
        if data[0]:
            raise ZeroDivisionError("no such luck")
        return 1.0

    played = play(broken, [1.0], [0.0], 40)
    assert np.array_equal(played.answered, ~played.coins)
    assert {"raised is: builtins.ZeroDivisionError", "raised text: no such luck"} <= set(played.marks.names)
    assert played.trouble is None


def test_a_mechanism_that_only_fails_cannot_be_judged():
    """If no play answers there is nothing to say but why."""
    assert "raised ZeroDivisionError" in play(lambda data: 1 / 0, [1.0], [0.0], 10).trouble


def test_an_interrupt_by_the_user_ends_the_game():
    """Control-C is no outcome."""

    def stopped(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(stopped, [1.0], [0.0], 10)


@pytest.mark.parametrize("where", ["raises", "warns", "prints", "hangs"])
def test_a_batch_that_shows_more_than_numbers_is_played_one_by_one(where):
    """A warning, an exception, text or a hang belongs to one play, so it is seen in every play of its data set."""

    class Loud(Batch):
        def many(self, data, count):
            if data[0] and where == "raises":
                raise RuntimeError("no")
            if data[0] and where == "warns":
                warnings.warn("low", RuntimeWarning, stacklevel=1)
            if data[0] and where == "prints":
                print("oh")
            while data[0] and where == "hangs":
                pass
            return np.zeros((count, 1))

    played = play(Loud(), [1.0], [0.0], 20, patience=Patience(seconds=0.02), enough=20)
    told = {"raises": "raised text: no", "warns": "warning[0] text: low", "prints": "printed text: oh\n"}
    carried = played.marks.carried[:, [played.marks.names.index(told.get(where, "play is: hung"))]]
    assert np.array_equal(carried.todense().ravel() > 0, played.coins)


def test_a_rehearsal_is_not_audited():
    """A release from a seed says that it is not private; there is no claim to refute."""
    with pytest.raises(Interrupted, match="NOT private"):
        play(lambda data: count(np.array(data) > 0, epsilon=1.0, random_state=0), [1.0], [0.0], 10)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (1.5, [1.5]),
        (True, [1.0]),
        ((False, True), [0.0, 1.0]),
        ([[1, 2], [3, 4]], [1, 2, 3, 4]),
        (("ab", 1.0), [97, 98, 1.0]),
        ((), []),
    ],
)
def test_answers_become_numbers(answer, numbers):
    """Numbers, booleans, arrays, tuples and texts are flattened in order."""
    assert as_numbers(answer).tolist() == numbers


def test_short_answers_are_filled_up_and_infinite_ones_kept_apart():
    """Answers of different lengths make one table; infinity is a number that classifiers take."""
    played = play(lambda data: [2.0, np.inf] if data[0] else [1.0], [1.0], [0.0], 40)
    assert np.isnan(played.answers[~played.coins, 1]).all()
    assert np.array_equal(np.unique(played.answers[played.coins], axis=0), [[2.0, 1e300]])
