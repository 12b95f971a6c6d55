"""A lock on a database file that reading or copying the file does not drop.

SQLite locks a file by fcntl, and POSIX drops all of a process's fcntl locks on a file as soon as the process closes
any descriptor of it: a backup in another thread, `open(path, "rb").read()`, lets other processes into the middle of a
transaction. So a second lock is held around the transaction: flock, on a file of its own beside the database. It
belongs to an open file, not to a process, and is held until it is released or the last descriptor of that open file
is closed. Where there is no fcntl (Windows), SQLite's locks are not dropped that way, and they are enough.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock_path", "locked"]

_LONGEST_PAUSE = 0.025

_OPEN: set[FileIO] = set()


def lock_path(path: str) -> str:
    """Return where the lock of a file is: beside the file itself, whatever links lead to it."""
    return f"{os.path.realpath(path)}.lock"


@contextmanager
def locked(path: str, patience: float, *, shared: bool = False, create: bool = True) -> Iterator[float]:
    """Hold the lock of a file, alone or with others who share it; give the seconds of patience that are left.

    The lock's file is made with the rights of the file that it is for, unless `create` is false. TimeoutError: others
    held the lock for all that time. Any other OSError: it cannot be held here.
    """
    if fcntl is None:
        yield patience
        return
    owner, deadline = os.getpid(), time.monotonic() + patience
    file = _taken(path, deadline, shared, create)
    try:
        yield max(0.0, deadline - time.monotonic())
    finally:
        # For all copies of the descriptor, those of children too; a child, whose parent still holds it, must not.
        if os.getpid() == owner and not file.closed:
            fcntl.flock(file, fcntl.LOCK_UN)
        _closed(file)


def _taken(path: str, deadline: float, shared: bool, create: bool) -> FileIO:
    """Open the lock's file and wait for the lock; again, if the file was removed or replaced meanwhile."""
    name, rights = lock_path(path), os.stat(path).st_mode & 0o666
    flags = (os.O_RDONLY if shared else os.O_RDWR) | (os.O_CREAT if create else 0) | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        file = FileIO(name, opener=lambda name, _: os.open(name, flags, rights))
        _OPEN.add(file)
        try:
            _wait(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, deadline)
            if _is_at(file, name):
                return file
        except BaseException:
            _closed(file)
            raise
        _closed(file)


def _wait(file: FileIO, kind: int, deadline: float) -> None:
    pause = 0.001
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _is_at(file: FileIO, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(name))
    except FileNotFoundError:
        return False


def _closed(file: FileIO) -> None:
    file.close()
    _OPEN.discard(file)


def _forked() -> None:
    """Close a child's copies: they would keep the lock of a parent that dies. Closing leaves the parent's alone."""
    for file in _OPEN:
        file.close()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
