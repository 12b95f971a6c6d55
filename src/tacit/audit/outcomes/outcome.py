"""One play from start to end: whatever happens is an outcome.

A mechanism that raises, warns, prints, exits or hangs has answered as well; only `KeyboardInterrupt` ends the game.
"""

import hashlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.audit.outcomes.hearing import Heard, listening
from tacit.audit.outcomes.patience import Alarm, Hung
from tacit.audit.outcomes.trace import Trace, look
from tacit.numerics.arrays import Floats
from tacit.releases import Release


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What one play showed.

    `answer` are the numbers that attacks with a density or a direction look at: those of the answer, of a release's
    value, or of a linear model's `coef_` and `intercept_`. `numbers` are all numbers anywhere, by their place, and
    `marks` all the rest. `failure` says how the play failed, None if it answered; `unread` what nobody could read.
    """

    answer: Floats
    numbers: dict[str, Floats]
    marks: frozenset[str]
    unread: str | None
    failure: str | None
    seconds: float

    @property
    def hung(self) -> bool:
        """Whether the play took too long."""
        return self.failure == _HUNG


_HUNG = "hung"
_NONE = np.zeros(0)


def observe(mechanism: Callable[[Any], Any], data: Any, limit: float | None = None) -> Outcome:
    """Play once, for `limit` seconds at most, and return all that was seen.

    Raises `NotPrivate` if the answer says of itself that it carries no guarantee.
    """
    error: BaseException | None = None
    answer: Any = None
    alarm, start = Alarm(limit), time.perf_counter()
    with listening() as heard:
        try:
            with alarm:
                answer = mechanism(data)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            error = raised
        finally:
            alarm.stop()
    took = time.perf_counter() - start
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _failed(error, heard, took) if error is not None else _answered(answer, heard, took)


def _answered(answer: Any, heard: Heard, took: float) -> Outcome:
    trace = Trace()
    look(answer, trace)
    whole = _main(answer)
    numbers = _flat(trace) if whole is answer else as_numbers(whole)
    heard.note(trace)
    return _outcome(trace, numbers, None, took)


def _failed(error: BaseException, heard: Heard, took: float) -> Outcome:
    trace = Trace()
    if isinstance(error, Hung):
        trace.mark("play", "is", _HUNG)
        return _outcome(trace, _NONE, _HUNG, took)
    look(error, trace, "raised")
    heard.note(trace)
    try:
        words = str(error)
    except Exception:
        words = "(its text can not be had)"
    return _outcome(trace, _NONE, f"raised {type(error).__name__}: {words}", took)


def _outcome(trace: Trace, numbers: Floats, failure: str | None, took: float) -> Outcome:
    form = hashlib.blake2b("\n".join(sorted(trace.marks)).encode("utf-8", "surrogatepass"), digest_size=12)
    trace.mark("outcome", "form", form.hexdigest())
    for place, values in trace.numbers.items():
        form.update(place.encode("utf-8", "surrogatepass") + values.tobytes())
    trace.mark("outcome", "exactly", form.hexdigest())
    unread = "; ".join(f"{place}: {why}" for place, why in trace.unread.items()) or None
    return Outcome(numbers, trace.numbers, frozenset(trace.marks), unread, failure, took)


def as_numbers(answer: Any) -> Floats:
    """Return the numbers of an answer, in order; text counts as its bytes, and a linear model as its coefficients."""
    trace = Trace()
    look(_main(answer), trace)
    return _flat(trace)


def seen(thing: Any) -> tuple[frozenset[str], tuple[tuple[str, bytes], ...]]:
    """Return all that can be seen of a thing, to be compared with what can be seen of another."""
    trace = Trace()
    look(thing, trace)
    return frozenset(trace.marks), tuple((place, values.tobytes()) for place, values in trace.numbers.items())


def _flat(trace: Trace) -> Floats:
    """Return the numbers, but for those that only repeat others: low bits, and numbers spelled in text."""
    parts = [values for place, values in trace.numbers.items() if "~" not in place]
    return np.concatenate(parts) if parts else _NONE


def _main(answer: Any) -> Any:
    """Return the part of an answer whose numbers attacks look at; one that does not let itself be asked is its own."""
    try:
        if isinstance(answer, Release):
            return answer.value
        if hasattr(answer, "coef_"):
            return np.ravel(answer.coef_), np.ravel(getattr(answer, "intercept_", ()))
        if isinstance(answer, list | tuple) and any(isinstance(part, Release) for part in answer):
            return tuple(_main(part) for part in answer)
    except Exception:
        return answer
    return answer
