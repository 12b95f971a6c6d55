"""The game of the lecture: Alice answers from one of two neighbouring data sets, and Bob guesses which.

Alice tosses a fair coin for every play. Bob knows both data sets and the mechanism, everything but the coin.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tacit.audit.outputs import FARTHEST, Array, NotPrivate, as_numbers, as_table
from tacit.errors import InvalidParameter, TacitError
from tacit.noise import source_for, uniform

__all__ = ["Batch", "Coins", "Interrupted", "Mechanism", "Plays", "Progress", "play"]

Progress = Callable[[int], None]
Coins = NDArray[np.bool_]
_CHUNK = 250
_PROBES = 32


class Batch(ABC):
    """A mechanism that draws many independent answers at once."""

    @abstractmethod
    def many(self, data: Any, count: int) -> Array:
        """Return `count` independent answers, one a row."""


Mechanism = Callable[[Any], Any] | Batch


class Interrupted(TacitError):
    """The mechanism could not be played to the end; the message says why."""


@final
@dataclass(frozen=True, eq=False)
class Plays:
    """What happened: one answer a row, and Alice's coin (True: she used the first data set)."""

    answers: Array
    coins: Coins

    def __len__(self) -> int:
        return len(self.coins)

    def part(self, start: int, stop: int) -> "Plays":
        """Return some of the plays, in the order in which they were played."""
        return Plays(self.answers[start:stop], self.coins[start:stop])


def play(
    mechanism: Mechanism, first: Any, second: Any, plays: int, *, jobs: int = 1, progress: Progress | None = None
) -> Plays:
    """Play the game so many times; `progress` is told how many plays were added.

    Raises `Interrupted` if the mechanism raises, answers with something that is not numbers, or says itself that
    it is not private: then nothing can be concluded.
    """
    coins = uniform(source_for(None), plays) < 0.5
    report = progress or (lambda _: None)
    try:
        if isinstance(mechanism, Batch):
            return _in_batches(mechanism, first, second, coins, report)
        if jobs != 1:
            _check_copies(mechanism, first, jobs)
        return _one_by_one(mechanism, first, second, coins, jobs, report)
    except Interrupted:
        raise
    except NotPrivate as error:
        raise Interrupted(str(error)) from error
    except Exception as error:
        raise Interrupted(f"the mechanism raised {type(error).__name__}: {error}") from error


def _in_batches(mechanism: Batch, first: Any, second: Any, coins: Coins, report: Progress) -> Plays:
    drawn = {}
    for coin, data in ((True, first), (False, second)):
        count = int(np.count_nonzero(coins == coin))
        answers = np.asarray(mechanism.many(data, max(1, count)), dtype=np.float64)
        drawn[coin] = np.clip(answers.reshape(max(1, count), -1)[:count], -FARTHEST, FARTHEST)
        report(count)
    table = np.empty((len(coins), drawn[True].shape[1]))
    table[coins], table[~coins] = drawn[True], drawn[False]
    return Plays(table, coins)


def _one_by_one(
    mechanism: Callable[[Any], Any],
    first: Any,
    second: Any,
    coins: Coins,
    jobs: int,
    report: Progress,
) -> Plays:
    chunks = [coins[start : start + _CHUNK] for start in range(0, len(coins), _CHUNK)]
    tasks = (delayed(_chunk)(mechanism, first, second, chunk) for chunk in chunks)
    rows: list[Array] = []
    for part in Parallel(n_jobs=jobs, return_as="generator")(tasks):
        rows += part
        report(len(part))
    return Plays(as_table(rows), coins)


def _chunk(mechanism: Callable[[Any], Any], first: Any, second: Any, coins: Coins) -> list[Array]:
    return [as_numbers(mechanism(first if coin else second)) for coin in coins]


def _check_copies(mechanism: Callable[[Any], Any], data: Any, jobs: int) -> None:
    """Refuse a mechanism that carries its own random numbers: its copies would all draw the same ones.

    Plays that share noise are not independent, and no bound would hold.
    """
    probe = np.ones(_PROBES, dtype=bool)
    one, other = (
        as_table(rows) for rows in Parallel(n_jobs=jobs)(delayed(_chunk)(mechanism, data, data, probe) for _ in "ab")
    )
    if np.array_equal(one, other, equal_nan=True) and not np.all((one == one[0]) | np.isnan(one)):
        raise InvalidParameter(
            "copies of the mechanism draw the same random numbers, so plays in parallel would not be independent. "
            "Play with jobs=1, or make the generator inside the mechanism."
        )
