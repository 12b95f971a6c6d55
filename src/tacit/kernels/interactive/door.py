"""The one way to a memory of answers within a process: a thread at a time, through forks and signal handlers."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from tacit.errors import LedgerBusy

Head = tuple[int, bytes]
"""How many answers there are, and the hash of them all."""

_forks = 0


def _process() -> tuple[int, int]:
    """Return what no fork of this process has: a child may have the same number, in another namespace."""
    return os.getpid(), _forks


@final
class Door:
    """The one way to a memory in this process: a thread at a time, and none from within its own turn."""

    def __init__(self) -> None:
        self.seen: Head = (0, b"")
        self._process, self._lock, self._inside = _process(), threading.RLock(), False

    def renew(self) -> None:
        """Open it again in a fork, unless somebody was inside: SQLite still believes to hold the lock of that turn."""
        if not self._inside:
            self._process, self._lock = _process(), threading.RLock()

    @property
    def ours(self) -> bool:
        """Whether it was made, or opened again, in this process."""
        return self._process == _process()

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Go in."""
        if not self.ours:
            raise LedgerBusy(
                "this process was forked in the middle of an answer and cannot share the state file. "
                "Fork between answers, or spawn."
            )
        with self._lock:
            if self._inside:
                raise LedgerBusy(
                    "a predictor was asked from within its own answer, by a signal handler or its kernel. "
                    "Ask when the answer is there."
                )
            self._inside = True
            try:
                yield
            finally:
                self._inside = False


_DOORS: dict[tuple[str, str], Door] = {}


def shared_door(path: str, mark: str) -> Door:
    """Return this process's door to a file."""
    return _DOORS.setdefault((path, mark), Door())


def new_door(path: str, mark: str) -> None:
    """Forget what was seen in a file that was made anew: a rehearsal has the mark of its twin before it."""
    _DOORS[path, mark] = Door()


def _forked() -> None:
    global _forks
    _forks += 1
    for door in _DOORS.values():
        door.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
