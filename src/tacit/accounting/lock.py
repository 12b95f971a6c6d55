"""A lock on a database file that reading or copying the file does not drop.

SQLite locks a file by fcntl, and POSIX drops all of a process's fcntl locks on a file as soon as the process closes
any descriptor of it: a backup in another thread, `open(path, "rb").read()`, lets other processes into the middle of a
transaction. So a second lock is held around the transaction: flock, on a file of its own beside the database. It
belongs to an open file, not to a process, and is held until it is released or the last descriptor of that open file
is closed. Readers share it, a writer has it alone, and a second file says whose turn it is, so that readers who never
pause cannot keep a writer waiting. Where there is no fcntl (Windows), SQLite's locks are not dropped that way, and
they are enough.
"""

import os
import stat
import threading
import time
from io import FileIO
from types import TracebackType
from typing import final
from weakref import WeakSet

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]


# Who has the turn is the only one to wait for readers, who are few and quick.
_LONGEST_PAUSE = 0.025
_LONGEST_PAUSE_IN_TURN = 0.002
_FORK_PATIENCE = 5.0

_OPEN: WeakSet[FileIO] = WeakSet()
_HELD: set[str] = set()
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
    comes to share it. Within a process a gate lets one thread at a time to the lock, in turn, and a fork waits at the
    gates until no other thread is in the middle of a database's work, which the child would inherit half done.

    The turn is taken by who is `among_readers`: where nobody shares the lock, it is not needed. The lock's file is made
    with the owner and rights of the file that it is for, unless `create` is false; who only `reads` needs no right to
    write it. TimeoutError: others held the lock for all that time, or this thread holds it
    itself. Any other OSError: it cannot be held here.
    """

    def __init__(
        self, path: str, patience: float, *, reads: bool = False, create: bool = True, among_readers: bool = False
    ) -> None:
        self._path, self._patience, self._reads, self._create = path, patience, reads, create
        self._takes_turns = reads or among_readers
        self._name = lock_path(path)
        self._owner = 0
        self._files: list[FileIO] = []
        self._gate: _Gate | None = None

    def __enter__(self) -> float:
        if fcntl is None:
            return self._patience
        deadline = time.monotonic() + self._patience
        gate = _gate_of(self._name)
        if self._name in _SPOILED or not gate.enter(deadline):
            raise TimeoutError
        self._gate, self._owner = gate, os.getpid()
        try:
            if self._name in _HELD:
                raise TimeoutError
            turn = _turn(self._path, deadline, self._reads) if self._takes_turns else None
            self._files = _taken(self._path, deadline, self._reads, self._create, turn)
            _HELD.add(self._name)
        except BaseException:
            gate.leave()
            raise
        return max(0.0, deadline - time.monotonic())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gate is None or not self._files:
            return
        files, self._files = self._files, []
        ours = os.getpid() == self._owner
        try:
            for file in files:
                _let_go(file, ours)
        finally:
            if ours:
                _HELD.discard(self._name)
                self._gate.leave()


@final
class _Gate:
    """Lets one thread at a time through; who waits for it is next, before one that has just left.

    A thread may enter again within its own block.
    """

    def __init__(self) -> None:
        self._turn, self._inside = threading.RLock(), threading.RLock()
        self._owner, self._depth = 0, 0

    def enter(self, deadline: float) -> bool:
        if self._owner == threading.get_ident():
            return self._entered(self._inside.acquire())
        if not self._turn.acquire(timeout=_left(deadline)):
            return False
        try:
            return self._entered(self._inside.acquire(timeout=_left(deadline)))
        finally:
            self._turn.release()

    def _entered(self, is_inside: bool) -> bool:
        if is_inside:
            self._owner = threading.get_ident()
            self._depth += 1
        return is_inside

    def leave(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._inside.release()


def _left(deadline: float) -> float:
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _gate_of(name: str) -> _Gate:
    with _registry:
        return _GATES.setdefault(name, _Gate())


def _taken(path: str, deadline: float, reads: bool, create: bool, turn: FileIO | None) -> list[FileIO]:
    """Wait for the lock with the turn in hand; a reader then leaves the turn at once to the next."""
    try:
        lock = _held(path, lock_path(path), deadline, _LONGEST_PAUSE_IN_TURN, reads, create)
    except BaseException:
        _let_go(turn)
        raise
    if reads:
        _let_go(turn)
    return [lock] if reads or turn is None else [lock, turn]


def _turn(path: str, deadline: float, reads: bool) -> FileIO | None:
    """Wait for the turn, which keeps nobody apart: who cannot have it goes on without."""
    try:
        return _held(path, turn_path(path), deadline, _LONGEST_PAUSE, reads, create=not reads)
    except TimeoutError:
        raise
    except OSError:
        return None


def _held(path: str, name: str, deadline: float, longest_pause: float, reads: bool, create: bool) -> FileIO:
    """Open a lock's file and wait for the lock; again, if the file was removed or replaced meanwhile."""
    while True:
        file = _opened(path, name, reads, create)
        _OPEN.add(file)
        try:
            _wait(file, deadline, longest_pause, fcntl.LOCK_SH if reads else fcntl.LOCK_EX)
            if _is_at(file, name):
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


def _opened(path: str, name: str, reads: bool, create: bool) -> FileIO:
    # Without O_CREAT first: some systems refuse it for another's file in a sticky folder.
    flags = (os.O_RDONLY if reads else os.O_RDWR) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        made = False
        try:
            file = FileIO(name, opener=lambda name, _: os.open(name, flags))
        except FileNotFoundError:
            if not create:
                raise
            try:
                file = FileIO(name, opener=lambda name, _: os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600))
                made = True
            except FileExistsError:
                continue
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(0, f"{name} is no file to lock")
        _adopt(file, path, made)
        return file


def _adopt(file: FileIO, path: str, made: bool) -> None:
    """Give the lock's file the owner, group and rights of the file that it is for, if we may.

    One that was there already may be a trap for a mighty user, another file under this name: it is changed only if it
    is empty, has no other name, and belongs to us as the file that it is for does.
    """
    ours, theirs = os.fstat(file.fileno()), os.stat(path)
    known = ours.st_uid == theirs.st_uid == os.geteuid() and ours.st_nlink == 1 and ours.st_size == 0
    if not made and not known:
        return
    try:
        if (ours.st_uid, ours.st_gid) != (theirs.st_uid, theirs.st_gid):
            os.fchown(file.fileno(), theirs.st_uid, theirs.st_gid)
    except OSError:
        pass
    rights = theirs.st_mode & 0o666
    try:
        if ours.st_mode & 0o666 != rights:
            os.fchmod(file.fileno(), rights)
    except OSError:
        pass


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


def _is_at(file: FileIO, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(name))
    except FileNotFoundError:
        return False


_waited: list[_Gate] = []
_missed: list[str] = []


def _forking() -> None:
    """Wait until no other thread is within a lock; where one stays too long, the child shall not use that file."""
    _registry.acquire()
    deadline = time.monotonic() + _FORK_PATIENCE
    for name, gate in _GATES.items():
        if gate.enter(deadline):
            _waited.append(gate)
        else:
            _missed.append(name)


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
    for names in (_HELD, _GATES, _waited, _missed):
        names.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking, after_in_parent=_forked_here, after_in_child=_forked)
