"""The game of the lecture: Alice answers from one of two neighbouring data sets, and Bob guesses which.

Alice tosses a fair coin for every play. Bob knows both data sets and the mechanism, everything but the coin. He sees
all that a play shows: the answer, or the exception, the warnings, the printed text, or that nothing came at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed

from tacit.audit.outcomes import NotPrivate, Outcome, Patience, observe
from tacit.audit.outcomes.plain import WHOLE
from tacit.audit.plays import Interrupted, Plays, within_reach
from tacit.noise import source_for, uniform
from tacit.numerics.arrays import Floats, Truths

Progress = Callable[[int], None]
_CHUNK = 250
_PROBES = 32
_START = 10
_ROUNDS, _LONGER = 3, 4


class Batch(ABC):
    """A mechanism that draws many independent answers at once."""

    @abstractmethod
    def many(self, data: Any, count: int) -> Floats:
        """Return `count` independent answers, one a row."""


Mechanism = Callable[[Any], Any] | Batch


def play(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    plays: int,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    patience: Patience | None = None,
    enough: int | None = None,
) -> Plays:
    """Play the game so many times; `progress` is told how many plays were added.

    Before the game the mechanism is tried once with either data set, to see how long a play takes. If one of these
    two hangs, every second play may, so only `enough` plays are played.

    Raises `Interrupted` if the mechanism says itself that it is not private, answers on neither data set, or can not
    be played in parallel: then nothing can be concluded.
    """
    report = progress or (lambda _: None)
    single = (lambda data: mechanism.many(data, 1)) if isinstance(mechanism, Batch) else mechanism
    try:
        limit = _time_limit(single, first, second, patience or Patience())
        count = min(plays, enough) if limit.hanging and enough is not None else plays
        coins = uniform(source_for(None), count) < 0.5
        if isinstance(mechanism, Batch) and not limit.hanging:
            drawn = _in_batches(mechanism, first, second, coins, limit.seconds)
            if drawn is not None:
                report(count)
                return drawn
        if jobs != 1:
            _check_copies(single, limit, jobs)
        return _one_by_one(single, first, second, coins, jobs, report, limit.seconds)
    except NotPrivate as error:
        raise Interrupted(str(error)) from error
    except Interrupted:
        raise
    except Exception as error:
        raise Interrupted(f"The game broke off with {type(error).__name__}: {error}") from error


@final
@dataclass(frozen=True, eq=False)
class _TimeLimit:
    """The seconds that a play may take, whether one of the two data sets made it hang, and one that did not."""

    seconds: float
    hanging: bool
    answers_on: Any


def _time_limit(mechanism: Callable[[Any], Any], first: Any, second: Any, patience: Patience) -> _TimeLimit:
    """Try the mechanism on both data sets, waiting longer each round until it ends on one of them.

    That one sets the limit for the other: it is not known beforehand which of them hangs.
    """
    wait = patience.seconds
    for _ in range(_ROUNDS):
        tried = [(data, observe(mechanism, data, wait)) for data in (first, second)]
        ended = [(data, outcome) for data, outcome in tried if not outcome.hung]
        if ended:
            limit = patience.limit(max(outcome.seconds for _, outcome in ended))
            late = [data for data, outcome in tried if outcome.hung]
            hanging = any(limit <= wait or observe(mechanism, data, limit).hung for data in late)
            return _TimeLimit(limit, hanging, ended[0][0])
        wait *= _LONGER
    raise Interrupted(
        f"The mechanism answered on neither data set within {wait / _LONGER:g} seconds. If it only is slow, audit it "
        "with more seconds of patience."
    )


def _in_batches(mechanism: Batch, first: Any, second: Any, coins: Truths, limit: float) -> Plays | None:
    """Return plays that were drawn at once, or None where one of them showed more than numbers.

    Which of many answers a warning or an exception belongs to nobody can tell: such a mechanism is played one by one.
    """
    heads = int(np.count_nonzero(coins))
    one = _drawn_at_once(mechanism, first, max(1, heads), limit)
    other = _drawn_at_once(mechanism, second, max(1, len(coins) - heads), limit)
    if one is None or other is None or one.dtype != other.dtype or one.shape[1:] != other.shape[1:]:
        return None
    table = np.empty((len(coins), one[0].size))
    for coin, answers in ((coins, one), (~coins, other)):
        table[coin] = answers.reshape(len(answers), -1)[: np.count_nonzero(coin)]
    return Plays.plain(within_reach(table), coins, table)


def _drawn_at_once(mechanism: Batch, data: Any, count: int, limit: float) -> Any:
    """Return so many answers, or None if the draw failed, said anything or gave other than a row each of numbers."""
    kept: list[Any] = []
    outcome = observe(lambda data: kept.append(mechanism.many(data, count)), data, limit * max(1.0, count / 10))
    silent = outcome.failure is None and all(mark.startswith(_SILENT) for mark in outcome.marks)
    return kept[0] if silent and _plain(kept[0], count) else None


def _plain(answers: Any, count: int) -> bool:
    """Whether answers are a row each of numbers that doubles keep exactly."""
    if type(answers) is not np.ndarray or answers.shape[:1] != (count,) or answers.dtype not in _EXACT:
        return False
    return answers.dtype.kind == "f" or not np.any((answers > WHOLE) | (answers < -WHOLE))


_EXACT = [np.dtype(name) for name in ("float64", "float32", "int64", "int32", "uint8")]
_SILENT = ("answer ", "outcome ")


def _one_by_one(
    mechanism: Callable[[Any], Any], first: Any, second: Any, coins: Truths, jobs: int, report: Progress, limit: float
) -> Plays:
    chunks = [coins[start : start + _CHUNK] for start in range(0, len(coins), _CHUNK)]
    tasks = (delayed(_chunk)(mechanism, first, second, chunk, limit) for chunk in chunks)
    outcomes: list[Outcome] = []
    for part in Parallel(n_jobs=jobs, return_as="generator")(tasks):
        outcomes += part
        report(len(part))
    return Plays.of(outcomes, coins)


def _chunk(mechanism: Callable[[Any], Any], first: Any, second: Any, coins: Truths, limit: float) -> list[Outcome]:
    """Play with these coins; the first play may take longer, as a new process still has to load what it needs."""
    limits = (limit if number else limit * _START for number in range(len(coins)))
    return [observe(mechanism, first if coin else second, each) for coin, each in zip(coins, limits, strict=True)]


def _check_copies(mechanism: Callable[[Any], Any], limit: _TimeLimit, jobs: int) -> None:
    """Refuse a mechanism that carries its own random numbers: its copies would all draw the same ones.

    Plays that share noise are not independent, and no bound would hold.
    """
    probe, data = np.ones(_PROBES, dtype=bool), limit.answers_on
    one, other = Parallel(n_jobs=jobs)(delayed(_chunk)(mechanism, data, data, probe, limit.seconds) for _ in "ab")
    if _exactly(one) == _exactly(other) and len(set(_exactly(one))) > 1:
        raise Interrupted(
            "copies of the mechanism draw the same random numbers, so plays in parallel would not be independent. "
            "Play with jobs=1, or make the generator inside the mechanism."
        )


def _exactly(outcomes: Sequence[Outcome]) -> list[tuple[bytes, ...]]:
    return [tuple(values.tobytes() for values in outcome.numbers.values()) for outcome in outcomes]
