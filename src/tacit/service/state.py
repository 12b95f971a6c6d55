"""What a service remembers besides its accounts: data sets, tokens, requests and what was answered.

SQLite for one machine, PostgreSQL for several. One transaction writes at a time in SQLite; in PostgreSQL rows are
locked. Who spent what is in the ledgers alone: losing the state costs answers, tokens and fingerprints. That no table
is registered twice meanwhile, the witness sees to, which knows the accounts that were forgotten.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.errors import InvalidParameter
from tacit.service.refusals import unavailable

TABLES = sa.MetaData()


def table(name: str, key: str, texts: str, perhaps: str = "", *more: sa.schema.SchemaItem) -> sa.Table:
    """Declare a table of texts: its key, those that every row has, those that a row may lack, and what is no text."""
    columns = [
        *(sa.Column(each, sa.Text, primary_key=True) for each in key.split()),
        *(sa.Column(each, sa.Text, nullable=False) for each in texts.split()),
        *(sa.Column(each, sa.Text) for each in perhaps.split()),
    ]
    return sa.Table(f"tacit_service_{name}", TABLES, *columns, *more)


DATASET = table("dataset", "name", "document file marks created")
TOKEN = table("token", "id", "name scope hash datasets created expires", "revoked")
_BY_AGE = sa.Index("tacit_service_request_created", "created")
REQUEST = table("request", "owner key", "digest ticket route state created", "dataset answer", _BY_AGE)
ANSWER = table("answer", "account question", "content")


@final
class State:
    """The database of a service; each worker has connections of its own."""

    def __init__(self, address: str, seconds: float = 30.0, connections: int = 16) -> None:
        try:
            url = sa.make_url(address if "://" in address else f"sqlite:///{os.path.abspath(address)}")
        except (ArgumentError, ValueError):
            raise InvalidParameter("state must be a path, or like postgresql://user@host/database.") from None
        kind = url.get_backend_name()
        if kind not in ("sqlite", "postgresql"):
            raise InvalidParameter(f"a service keeps its state in SQLite or PostgreSQL, got {kind!r}.")
        self._is_file = kind == "sqlite"
        self._turn = threading.Lock()
        try:
            self._engine = (_of_file if self._is_file else _of_server)(url, seconds, connections)
        except (ArgumentError, ImportError):
            raise InvalidParameter(f"there is no driver here for a state at {url.drivername}://.") from None
        except (OSError, ValueError):
            raise InvalidParameter(f"the state cannot be kept at {url.database!r}: name a file of yours.") from None
        with self.writing() as connection:
            self.alone(connection)
            TABLES.create_all(connection)

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[sa.Connection]:
        """Open a transaction that may write; it is durable when this is left, or nothing of it happened.

        One that need not be `lasting` may be lost if the machine fails, with what follows it or alone; not by a crash
        of this process.
        """
        if not self._is_file:
            with _translated(), self._engine.begin() as connection:
                # Whatever the database's own setting is.
                connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {'on' if lasting else 'off'}")
                yield connection
            return
        with self._turn, _translated(), self._engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that only reads."""
        with _translated(), self._engine.connect() as connection:
            yield connection

    def rows(self, query: sa.Executable, values: Mapping[str, Any] | None = None) -> Sequence[sa.Row[Any]]:
        """Return all rows that a query finds."""
        with self.reading() as connection:
            return connection.execute(query, values).all()

    def row(self, query: sa.Executable, values: Mapping[str, Any] | None = None) -> Any:
        """Return the first row that a query finds, None if it finds none."""
        with self.reading() as connection:
            return connection.execute(query, values).first()

    def alone(self, connection: sa.Connection) -> None:
        """Wait until nobody else is alone in a transaction that writes, until this one ends."""
        if not self._is_file:
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7461636975)")

    def insert_new(self, connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> None:
        """Insert a row unless there is one of its key."""
        insert = sqlite_insert if self._is_file else postgresql_insert
        connection.execute(insert(table).values(**values).on_conflict_do_nothing())

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _of_file(url: sa.URL, seconds: float, connections: int) -> sa.Engine:
    path = Path(url.database or "")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))

    def connect() -> Any:
        found = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
        found.execute("PRAGMA journal_mode = WAL")
        return found

    return sa.create_engine("sqlite://", creator=connect, poolclass=sa.QueuePool, pool_size=connections)


def _of_server(url: sa.URL, seconds: float, connections: int) -> sa.Engine:
    wait = f"-c lock_timeout={int(1000 * seconds)} -c statement_timeout={int(2000 * seconds)}"
    return sa.create_engine(
        url if "+" in url.drivername else url.set(drivername="postgresql+psycopg"),
        pool_size=connections,
        max_overflow=2,
        pool_timeout=seconds,
        pool_pre_ping=True,
        connect_args={"connect_timeout": max(2, int(seconds)), "options": wait},
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Say of any failure of the database that it cannot be used now, and nothing of its words."""
    try:
        yield
        return
    except (DBAPIError, sqlite3.Error, PoolTimeout, OSError):
        pass
    raise unavailable("what the service remembers")
