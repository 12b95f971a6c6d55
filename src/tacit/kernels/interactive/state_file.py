"""Answers in a file: every copy of a predictor that knows its path shares it, across processes and restarts."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from tacit.accounting.lock import lock_path, locked
from tacit.accounting.store import opened
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels.interactive.memory import FILE_LOCKS, KeptAnswer, TurnLock

_PATIENCE = 60.0
_BUSY = "another process has held the state file for a minute. Ask again."


def _linked(before: bytes, answer: KeptAnswer) -> bytes:
    """Return the hash of an answer and of all that came before it."""
    return hashlib.sha256(before + len(answer.point).to_bytes(8, "big") + answer.point + answer.numbers).digest()


@final
class FileTurn:
    """The right to answer, held by one copy at a time."""

    def __init__(self, connection: sqlite3.Connection, memory: "FileMemory", lock: TurnLock) -> None:
        self._connection, self._memory, self._lock = connection, memory, lock
        self._began = self._head(connection)
        for count, link in (lock.seen, memory.seen):
            if count and self._link(connection, count) != link:
                raise LedgerCorrupt(
                    "the state file is shorter or replaced: answers that were given from it are not in it. "
                    "Restore the newest one."
                )
        lock.seen = self._began

    def _link(self, connection: sqlite3.Connection, count: int) -> bytes | None:
        if count == 0:
            return hashlib.sha256(self._memory.mark.encode()).digest()
        row = connection.execute("SELECT link FROM answers WHERE place = ?", (count - 1,)).fetchone()
        return row[0] if row else None

    def _head(self, connection: sqlite3.Connection) -> tuple[int, bytes]:
        (last,) = connection.execute("SELECT MAX(place) FROM answers").fetchone()
        count = 0 if last is None else last + 1
        return count, self._link(connection, count) or b""

    def since(self, place: int) -> list[KeptAnswer]:
        """Return what was answered from this place on, each answer linked to the one before it."""
        rows = self._connection.execute(
            "SELECT point, numbers, link FROM answers WHERE place >= ? ORDER BY place", (place,)
        ).fetchall()
        answers, link = [KeptAnswer(point, numbers) for point, numbers, _ in rows], self._link(self._connection, place)
        for answer, (_, _, stored) in zip(answers, rows, strict=True):
            link = _linked(link or b"", answer)
            if link != stored:
                raise LedgerCorrupt("the state file is damaged. Restore the newest one.")
        if (place + len(answers), link) != self._began:
            raise LedgerCorrupt("the state file is shorter or replaced, or lacks answers. Restore the newest one.")
        return answers

    def keep(self, answers: list[KeptAnswer]) -> None:
        """Write at the end and commit durably, all answers or none, as the last act of a turn.

        Nothing is written before: a child forked in the middle of the turn inherits no journal that it could spoil.
        """
        if not self._lock.ours:
            raise LedgerBusy("this process was forked in the middle of an answer, which is its parent's.")
        # The connection trusts its lock and would repeat what it has read; a new one looks into the file.
        with closing(opened(self._memory.path, "ro", 0)) as fresh:
            if self._head(fresh) != self._began:
                raise LedgerCorrupt(
                    "the state file was changed in the middle of an answer, which was dropped. "
                    "Only predictors may use the file; ask again."
                )
        count, link = self._began
        for place, answer in enumerate(answers, count):
            link = _linked(link, answer)
            row = (place, answer.point, answer.numbers, link)
            self._connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)
        self._connection.execute("COMMIT")
        self._lock.seen = count + len(answers), link


@final
@dataclass(frozen=True)
class FileMemory:
    """An SQLite file: every copy that knows its path and its mark shares it, across processes and restarts.

    `seen` is what was in it when this handle was pickled: the file must go on from there.
    """

    path: str
    mark: str
    seen: tuple[int, bytes] = (0, b"")

    writable = True

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
        # What was seen in a file before this one is forgotten: a rehearsal has the mark of its twin before it.
        FILE_LOCKS[memory.path, mark] = TurnLock()
        return memory

    @property
    def _lock(self) -> TurnLock:
        return FILE_LOCKS.setdefault((self.path, self.mark), TurnLock())

    @property
    def head(self) -> tuple[int, bytes]:
        """How many answers this process has seen in the file, and the hash of them all."""
        return max(self._lock.seen, self.seen)

    def going_on_from(self, count: int, link: str) -> "FileMemory":
        """Return a handle that refuses a file without these answers."""
        try:
            seen = count, bytes.fromhex(link)
        except ValueError:
            raise LedgerCorrupt("what is to be in the state file is no hash of answers.") from None
        return replace(self, seen=max(seen, self.seen))

    def __reduce__(self) -> tuple[Any, ...]:
        return FileMemory, (self.path, self.mark, self.head)

    @contextmanager
    def turn(self) -> Iterator[FileTurn]:
        """Take a turn among all threads and processes."""
        lock = self._lock
        with lock.held():
            if not Path(self.path).exists():
                raise LedgerCorrupt("the predictor's state file is missing. Put it back: it holds the answers given.")
            with self._connected() as connection:
                if connection.execute("SELECT mark FROM mark").fetchall() != [(self.mark,)]:
                    raise LedgerCorrupt("the state file belongs to another fit of a predictor.")
                yield FileTurn(connection, self, lock)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Hold the only right to write, by a lock that backups do not drop and by SQLite's own.

        What is not committed at the end is dropped.
        """
        with ExitStack() as stack:
            try:
                patience = stack.enter_context(locked(self.path, _PATIENCE))
            except TimeoutError as error:
                raise LedgerBusy(_BUSY) from error
            except OSError as error:
                raise LedgerCorrupt(f"the predictor's state file cannot be locked: {error.strerror}.") from error
            try:
                connection = stack.enter_context(closing(opened(self.path, "rw", patience)))
                # EXTRA: not even a power cut may bring back a journal that undoes what was answered.
                connection.execute("PRAGMA synchronous=EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                    raise LedgerBusy(_BUSY) from error
                raise LedgerCorrupt(f"the predictor's state file cannot be used: {type(error).__name__}.") from error


def check_new(path: str | os.PathLike[str]) -> None:
    """Refuse a state file that exists already, or that cannot be made."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidParameter(f"state must be a path, or None to keep answers in memory, got {type(path).__name__}.")
    if str(path).endswith(".lock"):
        raise InvalidParameter("a state file's name must not end in .lock, which is for the lock of another.")
    if Path(path).exists():
        raise InvalidParameter("the state file exists already and holds another fit's answers. Choose a new path.")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InvalidParameter("the folder of the state file does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidParameter("the folder of the state file cannot be written to.")
    lock = lock_path(str(path))
    if os.path.lexists(lock) and not os.access(lock, os.R_OK | os.W_OK):
        raise InvalidParameter(f"{lock}, the lock of the state file, is there and somebody else's. Choose a new path.")
