"""What was asked and answered, kept so that no copy of a predictor can answer the same question with other noise.

A predictor that answers on demand draws noise after it was charged. Two copies that went on by themselves, after a
pickle, a fork or a restart, would each draw, and a reader of both would learn twice as much. So all copies share one
memory: a file, or the memory of one process, and whoever has lost it can repeat and extrapolate but not draw.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, final

from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.numerics.process import this_process


@final
@dataclass(frozen=True)
class KeptAnswer:
    """One point, and the numbers that its answer left behind, both as bytes."""

    point: bytes
    numbers: bytes


@final
class TurnLock:
    """Gives the turn to answer to one thread of this process at a time, and not again within its own turn.

    `seen` is how many answers the last turn saw, and the hash of them all, for a memory in a file.
    """

    def __init__(self) -> None:
        self.seen: tuple[int, bytes] = (0, b"")
        self._process, self._lock, self._taken = this_process(), threading.RLock(), False

    def renew(self) -> None:
        """Free it in a fork, unless it was taken: SQLite still believes to hold the lock of that turn."""
        if not self._taken:
            self._process, self._lock = this_process(), threading.RLock()

    @property
    def ours(self) -> bool:
        """Whether it was made, or renewed, in this process."""
        return self._process == this_process()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the turn and hold it; refuse who has it already, and a fork made while it was held."""
        if not self.ours:
            raise LedgerBusy(
                "this process was forked in the middle of an answer and cannot share the state file. "
                "Fork between answers, or spawn."
            )
        with self._lock:
            if self._taken:
                raise LedgerBusy(
                    "a predictor was asked from within its own answer, by a signal handler or its kernel. "
                    "Ask when the answer is there."
                )
            self._taken = True
            try:
                yield
            finally:
                self._taken = False


FILE_LOCKS: dict[tuple[str, str], TurnLock] = {}
"""The lock of every file of answers that this process uses, by the file's path and mark; forks use the files too."""


def _forked() -> None:
    for lock in FILE_LOCKS.values():
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@final
class ProcessMemory:
    """Answers in this process, in order: threads and copies share them, a fork may only read them.

    A sealed one, which pickles hold, is only read from the start.
    """

    def __init__(self, sealed: tuple[KeptAnswer, ...] | None = None) -> None:
        self._answers, self._sealed, self._lock = list(sealed or ()), sealed is not None, TurnLock()

    @property
    def writable(self) -> bool:
        """Whether new answers may be drawn here: in the process where it was made."""
        return not self._sealed and self._lock.ours

    @contextmanager
    def turn(self) -> Iterator["ProcessMemory"]:
        """Take a turn among threads; where nothing is added any more, none is needed."""
        with self._lock.held() if self.writable else nullcontext():
            yield self

    def since(self, place: int) -> list[KeptAnswer]:
        """Return, in a turn, what was answered from this place on."""
        if place > len(self._answers):
            raise LedgerCorrupt("the memory holds fewer answers than were given from it. Fit again.")
        return self._answers[place:]

    def keep(self, answers: list[KeptAnswer]) -> None:
        """Keep new answers, as the last act of a turn; refused in a child that was forked in the middle of it."""
        if not self.writable:
            raise InvalidParameter("new answers are not drawn in a copy, or a fork, of the process that fitted.")
        self._answers += answers

    def __deepcopy__(self, _: dict[int, Any]) -> "ProcessMemory":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._sealed:
            raise InvalidParameter("what was answered is pickled with its predictor, not by itself.")
        return ProcessMemory, (tuple(self._answers),)

    def sealed(self, public: Callable[[bytes], bytes]) -> "ProcessMemory":
        """Return a copy that cannot draw, the numbers of each answer reduced to what is public of them."""
        return ProcessMemory(tuple(KeptAnswer(each.point, public(each.numbers)) for each in self._answers.copy()))
