"""A lock on a database file that reading or copying the file does not drop.

SQLite locks a file by fcntl, and POSIX drops all of a process's fcntl locks on a file as soon as the process closes
any descriptor of it: a backup in another thread, `open(path, "rb").read()`, lets other processes into the middle of a
transaction. So a second lock is held around the transaction: flock, on a file of its own beside the database. It
belongs to an open file, not to a process, and is held until it is released or the last descriptor of that open file
is closed. Readers share it, a writer has it alone, and a second file says whose turn it is, so that readers who never
pause cannot keep a writer waiting. Where there is no fcntl (Windows), SQLite's locks are not dropped that way, and
they are enough. The threats that each part answers are in docs/decisions/0009-locks.md.
"""

import os
import stat
import threading
import time
from contextlib import suppress
from io import FileIO
from typing import final
from weakref import WeakSet

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]


# Who has the turn is the only one to wait for readers, who are few and quick.
_LONGEST_PAUSE = 0.025
_LONGEST_PAUSE_IN_TURN = 0.002

_OPEN: WeakSet[FileIO] = WeakSet()
_GATES: dict[str, "_Gate"] = {}
_SPOILED: set[str] = set()
_registry = threading.Lock()


def lock_path(path: str) -> str:
    """Return where the lock of a file is: beside the file itself, whatever links lead to it."""
    return f"{os.path.realpath(path)}.lock"


def turn_path(path: str) -> str:
    """Return the file whose lock a writer holds from when it begins to wait until it is done."""
    return f"{lock_path(path)}-turn"


@final
class locked:  # noqa: N801
    """Hold the lock of a file; give the seconds of patience that are left.

    Who `reads` shares it with others who do; who does not has it alone. While somebody waits for it alone, nobody new
    comes to share it. Within a process a gate lets one thread at a time to the lock, in turn.

    The turn is taken by who is `among_readers`: where nobody shares the lock, it is not needed. A writer makes the
    lock's file, with the rights of the file that it is for; a reader makes none, and needs no right to write it.
    TimeoutError: others held the lock for all that time, or this thread holds it itself. Any other OSError: it cannot
    be held here.
    """

    def __init__(self, path: str, patience: float, *, reads: bool = False, among_readers: bool = False) -> None:
        self._path, self._patience, self._reads = path, patience, reads
        self._takes_turns = reads or among_readers
        self._owner = 0
        self._files: list[FileIO] = []

    def __enter__(self) -> float:
        if fcntl is None:
            return self._patience
        deadline = time.monotonic() + self._patience
        name = lock_path(self._path)
        with _registry:
            self._gate = _GATES.setdefault(name, _Gate())
        if name in _SPOILED or not self._gate.enter(deadline):
            raise TimeoutError
        try:
            self._owner, self._files = os.getpid(), self._taken(deadline)
        except BaseException:
            self._gate.leave()
            raise
        return max(0.0, deadline - time.monotonic())

    def _taken(self, deadline: float) -> list[FileIO]:
        """Wait for the turn, then for the lock; a reader leaves the turn at once to the next."""
        turn = _turn(self._path, deadline, self._reads) if self._takes_turns else None
        try:
            lock = _held(self._path, lock_path(self._path), deadline, _LONGEST_PAUSE_IN_TURN, self._reads)
        except BaseException:
            _let_go(turn)
            raise
        if self._reads:
            _let_go(turn)
        return [lock] if self._reads or turn is None else [lock, turn]

    def __exit__(self, *_: object) -> None:
        files, self._files = self._files, []
        ours = os.getpid() == self._owner
        try:
            for file in files:
                _let_go(file, ours)
        finally:
            if files and ours:
                self._gate.leave()


@final
class _Gate:
    """Lets one thread at a time through; who waits for it is next, before one that has just left."""

    def __init__(self) -> None:
        self._next, self._inside = threading.Lock(), threading.Lock()
        self.thread = 0

    def enter(self, deadline: float) -> bool:
        """Go through before the deadline, or not; a thread that is through already cannot wait for itself."""
        if self.thread == threading.get_ident() or not self._next.acquire(timeout=_left(deadline)):
            return False
        try:
            is_through = self._inside.acquire(timeout=_left(deadline))
        finally:
            self._next.release()
        if is_through:
            self.thread = threading.get_ident()
        return is_through

    def leave(self) -> None:
        """Let the next one through."""
        self.thread = 0
        self._inside.release()


def _left(deadline: float) -> float:
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _turn(path: str, deadline: float, reads: bool) -> FileIO | None:
    """Wait for the turn, which keeps nobody apart: who cannot have it goes on without."""
    try:
        return _held(path, turn_path(path), deadline, _LONGEST_PAUSE, reads)
    except TimeoutError:
        raise
    except OSError:
        return None


def _held(path: str, name: str, deadline: float, longest_pause: float, reads: bool) -> FileIO:
    """Open a lock's file and wait for the lock; again, if the file was removed or replaced meanwhile."""
    while True:
        file = _opened(path, name, reads)
        _OPEN.add(file)
        try:
            _wait(file, deadline, longest_pause, fcntl.LOCK_SH if reads else fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _let_go(file: FileIO | None, ours: bool = True) -> None:
    """Release a lock for all copies of its descriptor; a child, whose parent still holds it, only closes its own."""
    if file is None:
        return
    try:
        if ours and not file.closed:
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        file.close()


def _opened(path: str, name: str, reads: bool) -> FileIO:
    """Open a lock's file; a writer makes one that is missing, with the rights of the file that it is for."""
    flags = (os.O_RDONLY if reads else os.O_RDWR) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        # Without O_CREAT first: some systems refuse it for another's file in a sticky folder.
        file = FileIO(name, opener=lambda name, _: os.open(name, flags))
    except FileNotFoundError:
        if reads:
            raise
        try:
            file = FileIO(name, opener=lambda name, _: os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return _opened(path, name, reads)
        with suppress(OSError):
            os.fchmod(file.fileno(), os.stat(path).st_mode & 0o666)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, f"{name} is no file to lock")
    return file


def _wait(file: FileIO, deadline: float, longest_pause: float, kind: int) -> None:
    pause = 0.001
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
        time.sleep(pause)
        pause = min(2 * pause, longest_pause)


# A thread that a fork catches in the middle of SQLite's work leaves its mutexes locked in the child, which would hang.
_FORK_PATIENCE = 5.0
_waited: list[_Gate] = []
_missed: set[str] = set()


def _forking() -> None:
    """Wait until no other thread is within a lock; where one stays too long, the child shall not use that file."""
    _registry.acquire()
    deadline = time.monotonic() + _FORK_PATIENCE
    for name, gate in _GATES.items():
        if gate.enter(deadline):
            _waited.append(gate)
        elif gate.thread != threading.get_ident():
            _missed.add(name)


def _forked_here() -> None:
    while _waited:
        _waited.pop().leave()
    _missed.clear()
    _registry.release()


def _forked() -> None:
    """Close a child's copies: they would keep the lock of a parent that dies. Closing leaves the parent's alone."""
    global _registry
    for file in list(_OPEN):
        file.close()
    _OPEN.clear()
    _SPOILED.update(_missed)
    for left_over in (_GATES, _waited, _missed):
        left_over.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking, after_in_parent=_forked_here, after_in_child=_forked)
