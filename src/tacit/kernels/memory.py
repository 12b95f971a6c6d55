"""What was asked and answered, kept so that no copy of a predictor can answer the same question with other noise.

A predictor that answers on demand draws noise after it was charged. Two copies that went on by themselves, after a
pickle, a fork or a restart, would each draw, and a reader of both would learn twice as much. So all copies share one
memory: a file, or the memory of one process, and whoever has lost it can repeat and extrapolate but not draw.
"""

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tacit.errors import InvalidParameter, LedgerCorrupt

__all__ = ["Entry", "FileMemory", "Memory", "ProcessMemory", "SealedMemory", "Turn"]


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
    def append(self, entries: list[Entry]) -> None:
        """Record new answers; they count when the turn ends without an error."""


class Memory(ABC):
    """All answers so far, in order."""

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether new answers may be drawn here."""

    @abstractmethod
    def turn(self) -> Any:
        """Take a turn (a context manager); new answers are kept for good before it ends."""


@final
class _ListTurn(Turn):
    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self.added: list[Entry] = []

    def since(self, place: int) -> list[Entry]:
        """Return the rest of the list."""
        return self._entries[place:]

    def append(self, entries: list[Entry]) -> None:
        """Hold them back until the turn ends."""
        self.added += entries


@final
class ProcessMemory(Memory):
    """Memory of this process: threads and copies share it, a fork may only read it."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.RLock()
        self._process = os.getpid()

    @property
    def writable(self) -> bool:
        """In the process where it was made."""
        return os.getpid() == self._process

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn among threads."""
        if not self.writable:
            # The lock may have been held by a thread that the fork left behind.
            yield _ListTurn(self._entries)
            return
        with self._lock:
            turn = _ListTurn(self._entries)
            yield turn
            self._entries += turn.added

    def __deepcopy__(self, _: dict[int, Any]) -> "ProcessMemory":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise InvalidParameter("what was answered is pickled with its predictor, not by itself.")

    def sealed(self, public: Callable[[Entry], Entry]) -> "SealedMemory":
        """Return a copy that cannot draw, each entry reduced to what is public of it."""
        with self.turn() as turn:
            return SealedMemory(tuple(public(entry) for entry in turn.since(0)))


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
        yield _ListTurn(list(self.entries))


@final
class _FileTurn(Turn):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def since(self, place: int) -> list[Entry]:
        """Read the rest; a file shorter than what was answered from it has been put back."""
        (count,) = self._connection.execute("SELECT COUNT(*) FROM answers").fetchone()
        if count < place:
            raise LedgerCorrupt("the state file holds fewer answers than were given from it. Restore the newest one.")
        rows = self._connection.execute(
            "SELECT point, numbers FROM answers WHERE place >= ? ORDER BY place", (place,)
        ).fetchall()
        return [Entry(point, numbers) for point, numbers in rows]

    def append(self, entries: list[Entry]) -> None:
        """Write at the end."""
        (count,) = self._connection.execute("SELECT COUNT(*) FROM answers").fetchone()
        self._connection.executemany(
            "INSERT INTO answers (place, point, numbers) VALUES (?, ?, ?)",
            [(count + offset, entry.point, entry.numbers) for offset, entry in enumerate(entries)],
        )


@final
@dataclass(frozen=True)
class FileMemory(Memory):
    """An SQLite file: every copy that knows its path and its mark shares it, across processes and restarts."""

    path: str
    mark: str

    @classmethod
    def create(cls, path: str | os.PathLike[str], mark: str) -> "FileMemory":
        """Make a new file; refuse one that exists, whose answers belong to another fit."""
        check_new(path)
        memory = cls(str(Path(path).resolve()), mark)
        connection = sqlite3.connect(memory.path, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE mark (mark TEXT NOT NULL)")
            connection.execute("CREATE TABLE answers (place INTEGER PRIMARY KEY, point BLOB, numbers BLOB)")
            connection.execute("INSERT INTO mark VALUES (?)", (mark,))
            connection.execute("COMMIT")
        finally:
            connection.close()
        return memory

    @property
    def writable(self) -> bool:
        """Always, one copy at a time."""
        return True

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn among all processes; commit at its end, durably, or change nothing."""
        if not Path(self.path).exists():
            raise LedgerCorrupt("the predictor's state file is missing. Put it back: it holds the answers given.")
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT mark FROM mark").fetchall() != [(self.mark,)]:
                raise LedgerCorrupt("the state file belongs to another fit of a predictor.")
            yield _FileTurn(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise LedgerCorrupt(f"the predictor's state file cannot be used: {type(error).__name__}.") from error
        finally:
            connection.close()


def check_new(path: str | os.PathLike[str]) -> None:
    """Refuse a state file that exists already, or that cannot be made."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidParameter(f"state must be a path, or None to keep answers in memory, got {type(path).__name__}.")
    if Path(path).exists():
        raise InvalidParameter("the state file exists already and holds another fit's answers. Choose a new path.")
    if not Path(path).resolve().parent.is_dir():
        raise InvalidParameter("the folder of the state file does not exist.")
