"""The game is played as the definition says: a fair coin, the right data set, independent answers."""

import numpy as np
import pytest

from statistical import count_fits
from tacit.audit.game import Batch, Interrupted, play
from tacit.audit.outputs import as_numbers, as_table
from tacit.errors import InvalidParameter
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
    assert len(np.unique(played.answers[:, 1])) == 600


def test_a_mechanism_that_carries_its_generator_is_not_played_in_parallel():
    """Copies would share noise, so plays would not be independent: refused, where one process plays on."""
    generator = np.random.default_rng(0)
    with pytest.raises(Interrupted, match="copies of the mechanism draw the same"):
        play(lambda data: generator.normal(), [1.0], [0.0], 100, jobs=2)
    assert len(play(lambda data: generator.normal(), [1.0], [0.0], 100)) == 100


def test_an_exception_interrupts_the_game_with_its_reason():
    """What the mechanism raised is passed on in words."""

    def broken(data):
        raise ZeroDivisionError("no such luck")

    with pytest.raises(Interrupted, match="ZeroDivisionError: no such luck"):
        play(broken, [1.0], [0.0], 10)


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


def test_an_answer_that_is_no_number_is_refused():
    """An object without numbers is refused by its type."""
    with pytest.raises(InvalidParameter, match="answered with a dict"):
        as_numbers({"a": 1})


def test_short_answers_are_filled_up_and_infinite_ones_kept_apart():
    """Answers of different lengths make one table; infinity is a number that classifiers take."""
    table = as_table([np.array([1.0]), np.array([2.0, np.inf])])
    assert np.isnan(table[0, 1])
    assert table[1].tolist() == [2.0, 1e300]
