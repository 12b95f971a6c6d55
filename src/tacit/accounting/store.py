"""Where accounts are kept: four tables in SQLite or PostgreSQL, one writer at a time, durable commits.

Each call opens a connection of its own and closes it, so a store may be forked, threaded, copied and pickled freely.
What is kept between calls is how connections are made, by each process for itself.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from tacit.accounting.failures import translated
from tacit.accounting.lock import lock_path, locked
from tacit.errors import (
    InvalidParameter,
    LedgerBusy,
    LedgerCorrupt,
    LedgerError,
    LedgerExists,
    LedgerForeign,
    LedgerMissing,
    LedgerVersion,
)
from tacit.numerics.process import this_process

VERSION = 1
_WAIT_SECONDS = 60

# What opens a transaction, by whether it only reads. A reader must see one state of several tables.
_SQLITE = {False: ("PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE"), True: ("BEGIN",)}
_POSTGRESQL = {
    False: (
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET LOCAL lock_timeout = '{_WAIT_SECONDS}s'",
        "SET LOCAL synchronous_commit = on",
    ),
    True: ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
}

# Creating tables and accounts is done by one process at a time; SQLite has one writer in any case.
_LOCK_ALL = "SELECT pg_advisory_xact_lock(7461636974)"

_TABLES = sa.MetaData()
# Answers already paid for, by question; what is in here is public, and losing it only costs money.
ANSWER = sa.Table(
    "tacit_answer",
    _TABLES,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("question", sa.Text, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
)
LEDGER = sa.Table("tacit_ledger", _TABLES, sa.Column("version", sa.Integer, nullable=False))
ACCOUNT = sa.Table(
    "tacit_account",
    _TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)
ENTRY = sa.Table(
    "tacit_entry",
    _TABLES,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
# What every charge and every look executes, as text: to build it anew each time took longer than to execute it.
_SELECT_VERSION = sa.text("SELECT version FROM tacit_ledger")
_LOCK_ACCOUNT = sa.text("SELECT name FROM tacit_account WHERE name = :account FOR UPDATE")
SELECT_ACCOUNT = sa.text("SELECT name, terms, count, head FROM tacit_account WHERE name = :account")
SELECT_ENTRIES = sa.text(
    "SELECT content, hash FROM tacit_entry WHERE account = :account AND number >= :number ORDER BY number LIMIT :limit"
)
INSERT_ENTRY = sa.text(
    "INSERT INTO tacit_entry (account, number, content, hash) VALUES (:account, :number, :content, :hash)"
)
UPDATE_ACCOUNT = sa.text("UPDATE tacit_account SET count = :number, head = :hash WHERE name = :account")
SELECT_ANSWER = sa.text("SELECT content FROM tacit_answer WHERE account = :account AND question = :question")


@final
@dataclass(frozen=True, repr=False)
class Store:
    """The address of a database that holds accounts."""

    url: sa.URL

    @classmethod
    def at(cls, address: str | os.PathLike[str]) -> "Store":
        """Read an address: a path (made absolute), "sqlite:///file.db" or "postgresql://user@host/database"."""
        try:
            path = _plain_path(address)
            url = sa.make_url(address) if path is None else sa.URL.create("sqlite", database=path)  # type: ignore[arg-type]
        except (ArgumentError, AttributeError, ValueError) as error:
            raise InvalidParameter(
                'a ledger\'s address is a path like "hospital.db", or like "postgresql://user@host/database", '
                f"got {type(address).__name__} that is not one."
            ) from error
        backend = url.get_backend_name()
        if backend == "sqlite":
            database = url.database or ""
            if database in ("", ":memory:") or "mode=memory" in database or "\0" in database:
                raise InvalidParameter("a ledger must survive the process: give a file, sqlite:///hospital.db.")
            if database.endswith((".lock", ".lock-turn")):
                raise InvalidParameter("a ledger's name must not end in .lock or .lock-turn: a lock of another does.")
            return cls(sa.URL.create("sqlite", database=os.path.abspath(database)))
        if backend == "postgresql":
            if "password" in url.query:
                url = url.set(password=str(url.query["password"])).difference_update_query(["password"])
            return cls(url if "+" in url.drivername else url.set(drivername="postgresql+psycopg"))
        raise InvalidParameter(f"a ledger lives in SQLite or PostgreSQL, got {backend!r}.")

    @property
    def _is_file(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    def __str__(self) -> str:
        return self.url.difference_update_query(["sslpassword", "passfile"]).render_as_string(hide_password=True)

    __repr__ = __str__

    def prepare(self) -> None:
        """Create the tables where they are missing; refuse a file or database that holds something else."""
        if self._is_file and (not os.path.isfile(self._path) or not os.path.getsize(self._path)):
            _make_file(self._path)
        elif self._is_file:
            # Nothing is put beside a file that is somebody else's, not even a lock.
            with self._begin(read_only=True) as connection:
                self._tables(connection)
        with self._begin() as connection:
            if not self._is_file:
                connection.exec_driver_sql(_LOCK_ALL)
            if LEDGER.name not in self._tables(connection):
                _TABLES.create_all(connection)
                connection.execute(sa.insert(LEDGER).values(version=VERSION))
            self._check_version(connection)

    def _tables(self, connection: sa.Connection) -> set[str]:
        present = set(sa.inspect(connection).get_table_names())
        if self._is_file and present - set(_TABLES.tables):
            raise LedgerForeign(f"{self} holds other tables; give the ledger a file of its own.")
        return present

    def add_account(self, name: str, terms: str, head: str) -> None:
        """Write down a new account without entries; refuse if there is one of that name."""
        with self.writing() as connection:
            if connection.execute(SELECT_ACCOUNT, {"account": name}).first():
                raise LedgerExists(f"{self} already has an account {name!r}. Open that one, or use another name.")
            connection.execute(sa.insert(ACCOUNT).values(name=name, terms=terms, count=0, head=head))

    def names(self, connection: sa.Connection) -> list[str]:
        """Return the names of all accounts, sorted."""
        names = [row.name for row in connection.execute(sa.select(ACCOUNT.c.name).order_by(ACCOUNT.c.name))]
        if not all(isinstance(known, str) for known in names):
            raise LedgerCorrupt(f"{self} has an account without a name. Restore it from a backup.")
        return names

    def name_of(self, connection: sa.Connection, wanted: str | None) -> str:
        """Return the name of the account that is wanted, or of the only one there is; refuse what is not there."""
        names = self.names(connection)
        if wanted in names or (wanted is None and len(names) == 1):
            return str(wanted or names[0])
        listed = ", ".join(names) or "none"
        raise LedgerMissing(
            f"{self} has {len(names)} accounts; say which: {listed}."
            if wanted is None
            else f"{self} has no account {wanted!r}; it has: {listed}."
        )

    @contextmanager
    def writing(self, account: str | None = None) -> Iterator[sa.Connection]:
        """Open a transaction with the only right to write (to one account); commit durably or change nothing."""
        self._check_file()
        with self._begin() as connection:
            self._check_version(connection)
            if not self._is_file and account is not None:
                connection.execute(_LOCK_ACCOUNT, {"account": account})
            elif not self._is_file:
                connection.exec_driver_sql(_LOCK_ALL)
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the database throughout."""
        self._check_file()
        with self._begin(read_only=True) as connection:
            self._check_version(connection)
            yield connection

    def _check_file(self) -> None:
        if self._is_file and not os.path.isfile(self._path):
            raise LedgerMissing(f"there is no ledger at {self}. Use Ledger.create(...), or tacit ledger create.")

    @property
    def _path(self) -> str:
        return str(self.url.database)

    def _check_version(self, connection: sa.Connection) -> None:
        try:
            versions = connection.execute(_SELECT_VERSION).scalars().all()
        except DBAPIError:
            connection.rollback()
            if not sa.inspect(connection).has_table(LEDGER.name):
                raise LedgerForeign(f"{self} is a database, but not a tacit ledger. Nothing was changed.") from None
            raise
        if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 1:
            raise LedgerCorrupt(f"{self} does not say which format it has. Restore it from a backup.")
        if versions[0] > VERSION:
            raise LedgerVersion(
                f"{self} was written by a newer tacit (format {versions[0]}, this one reads {VERSION}). "
                "Nothing was changed. Upgrade tacit."
            )

    @contextmanager
    def _begin(self, *, read_only: bool = False) -> Iterator[sa.Connection]:
        statements = _SQLITE if self._is_file else _POSTGRESQL
        with translated(str(self)), self._engine(read_only) as (engine, patience), engine.connect() as connection:
            if self._is_file:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * patience)}")
            for statement in statements[read_only]:
                connection.exec_driver_sql(statement)
            yield connection
            connection.commit()

    @contextmanager
    def _engine(self, read_only: bool) -> Iterator[tuple[sa.Engine, float]]:
        """Give what makes connections, and how long they may wait.

        A file is locked meanwhile, and who cannot lock it can only read it.
        """
        if not self._is_file:
            yield _connecting(self.url, "", this_process()), _WAIT_SECONDS
            return
        with ExitStack() as stack:
            mode, patience = self._locked(stack, read_only)
            yield _connecting(self.url, mode, this_process()), patience

    def _locked(self, stack: ExitStack, read_only: bool) -> tuple[str, float]:
        """Hold the file's lock; give the mode to open it in, and the seconds of patience that are left."""
        patience = float(_WAIT_SECONDS)
        try:
            if read_only:
                mode = "ro"
                with suppress(FileNotFoundError):
                    patience = stack.enter_context(locked(self._path, patience, reads=True))
                    mode = "rw"
                if not os.path.exists(f"{os.path.realpath(self._path)}-journal"):
                    return mode, patience
                # What a killed writer left half done is finished by one who is alone.
                stack.close()
            return "rw", stack.enter_context(locked(self._path, patience, among_readers=True))
        except TimeoutError as error:
            raise LedgerBusy(f"the ledger at {self} was locked by others for too long, nothing was charged.") from error
        except OSError as error:
            if read_only:
                return "ro", patience
            raise LedgerError(
                f"the ledger at {self} is read-only here, nothing was charged: to write to it, its lock "
                f"{lock_path(self._path)} is needed, too ({error.strerror})."
            ) from error


@lru_cache(maxsize=64)
def _connecting(url: sa.URL, mode: str, process: object) -> sa.Engine:
    """Return what makes connections to a place, and keeps none; to make it anew took longer than to connect."""
    if not mode:
        return sa.create_engine(url, poolclass=NullPool)
    # Neither mode creates a file.
    return sa.create_engine(
        "sqlite://", poolclass=NullPool, creator=lambda: opened(str(url.database), mode, _WAIT_SECONDS)
    )


def opened(path: str, mode: str, patience: float) -> sqlite3.Connection:
    """Open a file of SQLite's in a mode that makes none; BEGIN and COMMIT are left to us."""
    return sqlite3.connect(f"{Path(path).as_uri()}?mode={mode}", uri=True, timeout=patience, isolation_level=None)


def _make_file(path: str) -> None:
    """Create an empty file, private to its owner; a missing folder is the user's mistake."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerMissing(f"cannot create a ledger at {path}: {error.strerror}.") from error


def _plain_path(address: object) -> str | None:
    """Return the path that an address is: anything but an address of a database; None for those."""
    given = os.fspath(address) if isinstance(address, os.PathLike) else address
    if not isinstance(given, str) or (given is address and ("://" in given or given.split(":")[0] == "sqlite")):
        return None
    # What looks like a login is a mistyped address, whose password a message about a missing file would show.
    login = given is address and ":" in given.partition("@")[0] and "@" in given
    if login or not os.path.basename(given) or "\0" in given:
        raise ValueError
    return given
