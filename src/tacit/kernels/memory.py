"""What was asked and answered, kept so that no copy of a predictor can answer the same question with other noise.

A predictor that answers on demand draws noise after it was charged. Two copies that went on by themselves, after a
pickle, a fork or a restart, would each draw, and a reader of both would learn twice as much. So all copies share one
memory: a file, or the memory of one process, and whoever has lost it can repeat and extrapolate but not draw.
"""

import hashlib
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt

__all__ = ["Entry", "FileMemory", "Memory", "ProcessMemory", "SealedMemory", "Turn"]

Head = tuple[int, bytes]
"""How many answers there are, and the hash of them all."""


@final
@dataclass(frozen=True)
class Entry:
    """One point, and the numbers that its answer left behind, both as bytes."""

    point: bytes
    numbers: bytes


class Turn(ABC):
    """The right to answer, held by one copy at a time."""

    @abstractmethod
    def since(self, place: int) -> list[Entry]:
        """Return what was answered from this place on."""

    @abstractmethod
    def keep(self, entries: list[Entry]) -> None:
        """Keep new answers for good, all or none; this is the last act of a turn."""


class Memory(ABC):
    """All answers so far, in order."""

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether new answers may be drawn here."""

    @abstractmethod
    def turn(self) -> Any:
        """Take a turn (a context manager); a turn within a turn is refused."""


_forks = 0


def _process() -> tuple[int, int]:
    """Return what no fork of this process has: a child may have the same number, in another namespace."""
    return os.getpid(), _forks


@final
class _Door:
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


@final
class _ListTurn(Turn):
    def __init__(self, memory: Memory, entries: list[Entry]) -> None:
        self._memory, self._entries = memory, entries

    def since(self, place: int) -> list[Entry]:
        """Return the rest of the list."""
        if place > len(self._entries):
            raise LedgerCorrupt("the memory holds fewer answers than were given from it. Fit again.")
        return self._entries[place:]

    def keep(self, entries: list[Entry]) -> None:
        """Add to the list; refused in a child that was forked in the middle of the turn."""
        if not self._memory.writable:
            raise InvalidParameter("new answers are not drawn in a copy, or a fork, of the process that fitted.")
        self._entries += entries


@final
class ProcessMemory(Memory):
    """Memory of this process: threads and copies share it, a fork may only read it."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._door = _Door()

    @property
    def writable(self) -> bool:
        """In the process where it was made."""
        return self._door.ours

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn among threads; a fork, where nothing is added any more, needs none."""
        if not self.writable:
            yield _ListTurn(self, self._entries)
            return
        with self._door.passed():
            yield _ListTurn(self, self._entries)

    def __deepcopy__(self, _: dict[int, Any]) -> "ProcessMemory":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise InvalidParameter("what was answered is pickled with its predictor, not by itself.")

    def sealed(self, public: Callable[[Entry], Entry]) -> "SealedMemory":
        """Return a copy that cannot draw, each entry reduced to what is public of it."""
        return SealedMemory(tuple(public(entry) for entry in self._entries.copy()))


@final
@dataclass(frozen=True)
class SealedMemory(Memory):
    """What was answered up to a pickle; nothing new can be drawn from it."""

    entries: tuple[Entry, ...]

    @property
    def writable(self) -> bool:
        """Never."""
        return False

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Read."""
        yield _ListTurn(self, list(self.entries))


def _linked(before: bytes, entry: Entry) -> bytes:
    """Return the hash of an entry and of all that came before it."""
    return hashlib.sha256(before + len(entry.point).to_bytes(8, "big") + entry.point + entry.numbers).digest()


@final
class _FileTurn(Turn):
    def __init__(self, connection: sqlite3.Connection, start: bytes, door: _Door) -> None:
        self._connection, self._start, self._door = connection, start, door

    def go_on(self, seen: Head) -> None:
        """Refuse a file that does not go on from what was seen here and in the pickle; see what it has now."""
        for count, link in (self._door.seen, seen):
            if count and self._link(count) != link:
                raise LedgerCorrupt(
                    "the state file is shorter or replaced: answers that were given from it are not in it. "
                    "Restore the newest one."
                )
        self._door.seen = self._head()

    def _link(self, count: int) -> bytes | None:
        if count == 0:
            return self._start
        row = self._connection.execute("SELECT link FROM answers WHERE place = ?", (count - 1,)).fetchone()
        return row[0] if row else None

    def _head(self) -> Head:
        (last,) = self._connection.execute("SELECT MAX(place) FROM answers").fetchone()
        count = 0 if last is None else last + 1
        return count, self._link(count) or b""

    def since(self, place: int) -> list[Entry]:
        """Read the rest, each entry linked to the one before it."""
        rows = self._connection.execute(
            "SELECT point, numbers, link FROM answers WHERE place >= ? ORDER BY place", (place,)
        ).fetchall()
        entries, link = [Entry(point, numbers) for point, numbers, _ in rows], self._link(place)
        for entry, (_, _, stored) in zip(entries, rows, strict=True):
            link = _linked(link or b"", entry)
            if link != stored:
                raise LedgerCorrupt("the state file is damaged. Restore the newest one.")
        if (place + len(entries), link) != self._head():
            raise LedgerCorrupt("the state file is shorter or replaced, or lacks answers. Restore the newest one.")
        return entries

    def keep(self, entries: list[Entry]) -> None:
        """Write at the end and commit durably.

        Nothing is written before: a child forked in the middle of the turn inherits no journal that it could spoil.
        """
        if not self._door.ours:
            raise LedgerBusy("this process was forked in the middle of an answer, which is its parent's.")
        count, link = self._head()
        for place, entry in enumerate(entries, count):
            link = _linked(link, entry)
            self._connection.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?)", (place, entry.point, entry.numbers, link)
            )
        self._connection.execute("COMMIT")
        self._door.seen = count + len(entries), link


_DOORS: dict[tuple[str, str], _Door] = {}


def _forked() -> None:
    global _forks
    _forks += 1
    for door in _DOORS.values():
        door.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@final
@dataclass(frozen=True)
class FileMemory(Memory):
    """An SQLite file: every copy that knows its path and its mark shares it, across processes and restarts.

    `seen` is what was in it when this handle was pickled: the file must go on from there.
    """

    path: str
    mark: str
    seen: Head = (0, b"")

    @classmethod
    def create(cls, path: str | os.PathLike[str], mark: str) -> "FileMemory":
        """Make a new file, private to its owner; refuse one that exists, whose answers belong to another fit."""
        check_new(path)
        memory = cls(str(Path(path).resolve()), mark)
        try:
            os.close(os.open(memory.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise InvalidParameter(f"the state file cannot be made: {error.strerror}.") from error
        with memory._connected() as connection:
            connection.execute("CREATE TABLE mark (mark TEXT NOT NULL)")
            connection.execute("CREATE TABLE answers (place INTEGER PRIMARY KEY, point BLOB, numbers BLOB, link BLOB)")
            connection.execute("INSERT INTO mark VALUES (?)", (mark,))
            connection.execute("COMMIT")
        # A rehearsal has the mark of its twin, whose file may have been here.
        _DOORS[memory.path, mark] = _Door()
        return memory

    @property
    def _door(self) -> _Door:
        return _DOORS.setdefault((self.path, self.mark), _Door())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileMemory, (self.path, self.mark, max(self._door.seen, self.seen))

    @property
    def writable(self) -> bool:
        """Always, one copy at a time."""
        return True

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn among all threads and processes."""
        door = self._door
        with door.passed():
            if not Path(self.path).exists():
                raise LedgerCorrupt("the predictor's state file is missing. Put it back: it holds the answers given.")
            with self._connected() as connection:
                if connection.execute("SELECT mark FROM mark").fetchall() != [(self.mark,)]:
                    raise LedgerCorrupt("the state file belongs to another fit of a predictor.")
                turn = _FileTurn(connection, hashlib.sha256(self.mark.encode()).digest(), door)
                turn.go_on(self.seen)
                yield turn

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Hold the only right to write; what is not committed at the end is dropped."""
        try:
            # mode=rw never creates a file; isolation_level=None leaves BEGIN and COMMIT to us.
            location = f"{Path(self.path).as_uri()}?mode=rw"
            connection = sqlite3.connect(location, uri=True, timeout=60, isolation_level=None)
            try:
                # EXTRA: not even a power cut may bring back a journal that undoes what was answered.
                connection.execute("PRAGMA synchronous=EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise LedgerCorrupt(f"the predictor's state file cannot be used: {type(error).__name__}.") from error


def check_new(path: str | os.PathLike[str]) -> None:
    """Refuse a state file that exists already, or that cannot be made."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidParameter(f"state must be a path, or None to keep answers in memory, got {type(path).__name__}.")
    if Path(path).exists():
        raise InvalidParameter("the state file exists already and holds another fit's answers. Choose a new path.")
    if not Path(path).resolve().parent.is_dir():
        raise InvalidParameter("the folder of the state file does not exist.")
