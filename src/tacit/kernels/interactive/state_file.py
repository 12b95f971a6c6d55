"""Answers in a file: every copy of a predictor that knows its path shares it, across processes and restarts."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tacit.accounting.lock import lock_path, locked
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels.interactive.door import Door, Head, new_door, shared_door
from tacit.kernels.interactive.memory import Entry, Memory, Turn

_PATIENCE = 60.0
_BUSY = "another process has held the state file for a minute. Ask again."


def _opened(path: str, mode: str, patience: float) -> sqlite3.Connection:
    """Open a file that is there: no mode that is used here makes one; BEGIN and COMMIT are left to us."""
    location = f"{Path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(location, uri=True, timeout=patience, isolation_level=None)


def _linked(before: bytes, entry: Entry) -> bytes:
    """Return the hash of an entry and of all that came before it."""
    return hashlib.sha256(before + len(entry.point).to_bytes(8, "big") + entry.point + entry.numbers).digest()


@final
class _FileTurn(Turn):
    def __init__(self, connection: sqlite3.Connection, path: str, start: bytes, door: Door) -> None:
        self._connection, self._path, self._start, self._door = connection, path, start, door
        self._began = self._head(connection)

    def go_on(self, seen: Head) -> None:
        """Refuse a file that does not go on from what was seen here and in the pickle; see what it has now."""
        for count, link in (self._door.seen, seen):
            if count and self._link(self._connection, count) != link:
                raise LedgerCorrupt(
                    "the state file is shorter or replaced: answers that were given from it are not in it. "
                    "Restore the newest one."
                )
        self._door.seen = self._began

    def _link(self, connection: sqlite3.Connection, count: int) -> bytes | None:
        if count == 0:
            return self._start
        row = connection.execute("SELECT link FROM answers WHERE place = ?", (count - 1,)).fetchone()
        return row[0] if row else None

    def _head(self, connection: sqlite3.Connection) -> Head:
        (last,) = connection.execute("SELECT MAX(place) FROM answers").fetchone()
        count = 0 if last is None else last + 1
        return count, self._link(connection, count) or b""

    def since(self, place: int) -> list[Entry]:
        """Read the rest, each entry linked to the one before it."""
        rows = self._connection.execute(
            "SELECT point, numbers, link FROM answers WHERE place >= ? ORDER BY place", (place,)
        ).fetchall()
        entries, link = [Entry(point, numbers) for point, numbers, _ in rows], self._link(self._connection, place)
        for entry, (_, _, stored) in zip(entries, rows, strict=True):
            link = _linked(link or b"", entry)
            if link != stored:
                raise LedgerCorrupt("the state file is damaged. Restore the newest one.")
        if (place + len(entries), link) != self._began:
            raise LedgerCorrupt("the state file is shorter or replaced, or lacks answers. Restore the newest one.")
        return entries

    def keep(self, entries: list[Entry]) -> None:
        """Write at the end and commit durably.

        Nothing is written before: a child forked in the middle of the turn inherits no journal that it could spoil.
        """
        if not self._door.ours:
            raise LedgerBusy("this process was forked in the middle of an answer, which is its parent's.")
        # The connection trusts its lock and would repeat what it has read; a new one looks into the file.
        with closing(_opened(self._path, "ro", 0)) as fresh:
            if self._head(fresh) != self._began:
                raise LedgerCorrupt(
                    "the state file was changed in the middle of an answer, which was dropped. "
                    "Only predictors may use the file; ask again."
                )
        count, link = self._began
        for place, entry in enumerate(entries, count):
            link = _linked(link, entry)
            self._connection.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?)", (place, entry.point, entry.numbers, link)
            )
        self._connection.execute("COMMIT")
        self._door.seen = count + len(entries), link


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
        new_door(memory.path, mark)
        return memory

    @property
    def _door(self) -> Door:
        return shared_door(self.path, self.mark)

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
                turn = _FileTurn(connection, self.path, hashlib.sha256(self.mark.encode()).digest(), door)
                turn.go_on(self.seen)
                yield turn

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Hold the only right to write, by a lock that backups do not drop and by SQLite's own."""
        with ExitStack() as stack:
            try:
                patience = stack.enter_context(locked(self.path, _PATIENCE))
            except TimeoutError as error:
                raise LedgerBusy(_BUSY) from error
            except OSError as error:
                raise LedgerCorrupt(f"the predictor's state file cannot be locked: {error.strerror}.") from error
            yield stack.enter_context(self._transaction(patience))

    @contextmanager
    def _transaction(self, patience: float) -> Iterator[sqlite3.Connection]:
        """Give a connection that may write; what is not committed at the end is dropped."""
        try:
            with closing(_opened(self.path, "rw", patience)) as connection:
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
