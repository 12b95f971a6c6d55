"""Where accounts are kept: three tables in SQLite or PostgreSQL, one writer at a time, durable commits.

Nothing is cached across calls but an address: each call opens a connection of its own, so a store may be
forked, threaded, copied and pickled freely.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool

from tacit.errors import (
    InvalidParameter,
    LedgerBusy,
    LedgerCorrupt,
    LedgerForeign,
    LedgerMissing,
    LedgerVersion,
)

__all__ = ["ACCOUNT", "ENTRY", "VERSION", "Store"]

VERSION = 1
_WAIT_SECONDS = 60

# What opens a transaction, by whether it only reads. A reader must see one state of several tables.
_SQLITE = {
    False: ("PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE"),
    True: ("BEGIN",),
}
_POSTGRESQL = {
    False: (f"SET LOCAL lock_timeout = '{_WAIT_SECONDS}s'", "SET LOCAL synchronous_commit = on"),
    True: ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
}

_TABLES = sa.MetaData()
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


@final
@dataclass(frozen=True)
class Store:
    """The address of a database that holds accounts."""

    url: sa.URL

    @classmethod
    def at(cls, address: str) -> "Store":
        """Read an address: "sqlite:///file.db" (made absolute) or "postgresql://user@host/database"."""
        try:
            url = sa.make_url(address)
        except (ArgumentError, AttributeError) as error:
            raise InvalidParameter(
                'a ledger\'s address looks like "sqlite:///hospital.db" or "postgresql://user@host/database", '
                f"got {type(address).__name__} that is not one."
            ) from error
        backend = url.get_backend_name()
        if backend == "sqlite":
            if url.database in (None, "", ":memory:") or "mode=memory" in str(url.database):
                raise InvalidParameter("a ledger must survive the process: give a file, sqlite:///hospital.db.")
            return cls(sa.URL.create("sqlite", database=os.path.abspath(str(url.database))))
        if backend == "postgresql":
            return cls(url if "+" in url.drivername else url.set(drivername="postgresql+psycopg"))
        raise InvalidParameter(f"a ledger lives in SQLite or PostgreSQL, got {backend!r}.")

    @property
    def _is_file(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def prepare(self) -> None:
        """Create the tables where they are missing; refuse a file or database that holds something else."""
        if self._is_file and (not os.path.exists(self._path) or not os.path.getsize(self._path)):
            _make_file(self._path)
        with self._begin() as connection:
            if not self._is_file:
                # Two processes may prepare one server at once; creating tables is not atomic by itself.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7461636974)")
            present = set(sa.inspect(connection).get_table_names())
            if self._is_file and present - set(_TABLES.tables):
                raise LedgerForeign(f"{self} holds other tables; give the ledger a file of its own.")
            if LEDGER.name not in present:
                _TABLES.create_all(connection)
                connection.execute(sa.insert(LEDGER).values(version=VERSION))
            self._check_version(connection)

    @contextmanager
    def writing(self, account: str | None = None) -> Iterator[sa.Connection]:
        """Open a transaction with the only right to write (to one account); commit durably or change nothing."""
        self._check_file()
        with self._begin() as connection:
            self._check_version(connection)
            if account is not None and not self._is_file:
                connection.execute(sa.select(ACCOUNT.c.name).where(ACCOUNT.c.name == account).with_for_update())
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
            raise LedgerMissing(f"there is no ledger at {self}. Create one with Ledger.create(...).")

    @property
    def _path(self) -> str:
        return str(self.url.database)

    def _check_version(self, connection: sa.Connection) -> None:
        if not sa.inspect(connection).has_table(LEDGER.name):
            raise LedgerForeign(f"{self} is a database, but not a tacit ledger. Nothing was changed.")
        version = connection.execute(sa.select(LEDGER.c.version)).scalar()
        if version is None or version > VERSION:
            raise LedgerVersion(
                f"{self} was written by a newer tacit (format {version}, this one reads {VERSION}). "
                "Nothing was changed. Upgrade tacit."
            )

    @contextmanager
    def _begin(self, *, read_only: bool = False) -> Iterator[sa.Connection]:
        statements = _SQLITE if self._is_file else _POSTGRESQL
        with _translated(str(self)), self._engine().connect() as connection:
            for statement in statements[read_only]:
                connection.exec_driver_sql(statement)
            yield connection
            connection.commit()

    def _engine(self) -> sa.Engine:
        if not self._is_file:
            return sa.create_engine(self.url, poolclass=NullPool)
        # mode=rw never creates a file; isolation_level=None leaves BEGIN and COMMIT to us.
        location = f"file:{_quoted(self._path)}?mode=rw"
        return sa.create_engine("sqlite://", poolclass=NullPool, creator=lambda: _connect(location))


def _connect(location: str) -> Any:
    return sqlite3.connect(location, uri=True, timeout=_WAIT_SECONDS, isolation_level=None)


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _make_file(path: str) -> None:
    """Create an empty file, private to its owner; a missing folder is the user's mistake."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerMissing(f"cannot create a ledger at {path}: {error.strerror}.") from error


@contextmanager
def _translated(where: str) -> Iterator[None]:
    """Turn a database's errors into ledger errors."""
    try:
        yield
    except NoSuchModuleError as error:
        raise InvalidParameter(f"no driver for {where}.") from error
    except ModuleNotFoundError as error:
        raise InvalidParameter(f"{where} needs a driver: pip install 'tacit[postgres]'.") from error
    except DBAPIError as error:
        text = str(error.orig).lower()
        if "locked" in text or "lock timeout" in text or "busy" in text:
            raise LedgerBusy(f"{where} was locked by another process for too long. Nothing was charged.") from error
        if "not a database" in text:
            raise LedgerForeign(f"{where} is not a database. Nothing was changed.") from error
        if "malformed" in text or "corrupt" in text:
            raise LedgerCorrupt(f"{where} is damaged: {error.orig}. Restore it from a backup.") from error
        if isinstance(error, OperationalError):
            raise LedgerMissing(f"cannot use the ledger at {where}: {error.orig}") from error
        raise LedgerCorrupt(f"{where} does not look like a ledger inside: {error.orig}") from error
