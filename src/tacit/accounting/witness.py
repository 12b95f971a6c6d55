"""Witnesses: a second place that remembers how far an account's history went.

A ledger that is restored from a backup forgets what was spent since, and by itself cannot know. So each charge is told,
once it is durable and before anything is drawn, to a place that is not restored with it; and so is each ticket under
which an answer was kept, since nothing may be drawn under it again.

    Witness
    ├── FileWitness       a file, of one line for each thing told
    ├── DatabaseWitness   two tables of another PostgreSQL or SQLite database
    └── WebWitness        a URL: what is told is posted, what is asked is read with parameters
"""

import json
import os
import threading
import urllib.parse
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, TypeVar, final
from urllib.error import HTTPError

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from tacit.accounting.store import Store
from tacit.checks import is_whole
from tacit.errors import InvalidParameter, LedgerCorrupt, WitnessFailed

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

Answer = TypeVar("Answer")
_SECONDS = 10.0
_MOST_BYTES = 2**26
"""How long an answer of a URL may be: the names of half a million accounts, of which each session is one."""
_DISAGREES = "the witness cannot be reached, or did not agree."


class Witness(ABC):
    """A place that is told, durably, and can be asked."""

    @abstractmethod
    def append(self, account: str, number: int, head: str) -> None:
        """Remember that an account has an entry with this number and hash; `WitnessFailed` if that is not sure.

        `LedgerCorrupt` if the entry of that number is known with another hash: the ledger is of another history.
        """

    @abstractmethod
    def close(self, account: str, ticket: str) -> None:
        """Remember that an answer was kept under a ticket; `WitnessFailed` if that is not sure."""

    @abstractmethod
    def last(self, account: str) -> tuple[int, str] | None:
        """Return the number and the hash of the last entry that was told, if any was."""

    @abstractmethod
    def accounts(self) -> frozenset[str]:
        """Return the names of all accounts of which an entry was told."""

    @abstractmethod
    def is_closed(self, account: str, ticket: str) -> bool:
        """Whether an answer was kept under a ticket."""


def witness_at(place: str) -> Witness:
    """Return the witness at a place: a URL, a database's address, or a path."""
    if place.startswith(("http://", "https://")):
        return WebWitness(place)
    return DatabaseWitness(place) if "://" in place else FileWitness(os.path.abspath(place))


def checked_witness(witness: object) -> Witness:
    """Return a witness; refuse anything else."""
    if not isinstance(witness, Witness):
        raise InvalidParameter(f"witness must be a Witness, as witness_at(place) gives, got {type(witness).__name__}.")
    return witness


def _forked(account: str, number: int) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the witness knows another entry {number} of account {account!r}: this ledger is older than what was "
        "spent, and went on from there. Stop, and restore the ledger that the witness knows."
    )


@final
class FileWitness(Witness):
    """A file that is only ever appended to, synced to the disk after every line.

    A line that a crash left unfinished was never answered for, and counts for nothing.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._turn = threading.Lock()
        self._read = 0
        self._heads: dict[str, dict[int, str]] = {}
        self._closed: set[tuple[str, str]] = set()

    def append(self, account: str, number: int, head: str) -> None:
        """Write a line, unless there is another of that number, and wait for the disk."""
        self._write({"account": account, "number": number, "head": head})

    def close(self, account: str, ticket: str) -> None:
        """Write a line, and wait for the disk."""
        self._write({"account": account, "ticket": ticket})

    def last(self, account: str) -> tuple[int, str] | None:
        """Read what was written since the file was read before."""
        self._catch_up()
        with self._turn:
            return max(self._heads.get(account, {}).items(), default=None)

    def accounts(self) -> frozenset[str]:
        """Read what was written since the file was read before."""
        self._catch_up()
        with self._turn:
            return frozenset(self._heads)

    def is_closed(self, account: str, ticket: str) -> bool:
        """Read what was written since the file was read before."""
        self._catch_up()
        return (account, ticket) in self._closed

    def _write(self, told: Mapping[str, Any]) -> None:
        line = json.dumps(told, sort_keys=True).encode("ascii") + b"\n"
        failure = None
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX)
                self._refuse_another(told)
                size = os.fstat(handle).st_size
                torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                whole = b"\n" * torn + line
                if os.write(handle, whole) != len(whole):
                    raise OSError
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            failure = error.strerror or "not all was written"
        if failure is not None:
            raise WitnessFailed(f"the witness at {self._path!r} cannot be written to ({failure}).")

    def _refuse_another(self, told: Mapping[str, Any]) -> None:
        """Refuse an entry of which another hash is known, while nobody else writes."""
        if "number" in told:
            self._catch_up()
            account, number, head = told["account"], told["number"], told["head"]
            if self._heads.get(account, {}).get(number, head) != head:
                raise _forked(account, number)

    def _catch_up(self) -> None:
        with self._turn:
            try:
                with open(self._path, "rb") as file:
                    file.seek(self._read)
                    lines = file.read(max(0, os.fstat(file.fileno()).st_size - self._read))
            except FileNotFoundError:
                return
            except OSError as error:
                raise WitnessFailed(f"the witness at {self._path!r} cannot be read ({error.strerror}).") from None
            whole, end, _ = lines.rpartition(b"\n")
            self._read += len(whole) + len(end)
            for line in whole.splitlines():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            told = json.loads(line)
            account = told["account"]
            if "ticket" in told:
                self._closed.add((account, told["ticket"]))
            elif isinstance(number := told["number"], int) and isinstance(head := told["head"], str):
                self._heads.setdefault(account, {}).setdefault(number, head)
        except (ValueError, KeyError, TypeError):
            return

    def __reduce__(self) -> Any:
        return FileWitness, (self._path,)


_TABLES = sa.MetaData()
_HEAD = sa.Table(
    "tacit_witness",
    _TABLES,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("head", sa.Text, nullable=False),
)
_CLOSED = sa.Table(
    "tacit_witness_ticket",
    _TABLES,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("ticket", sa.Text, primary_key=True),
)


@final
class DatabaseWitness(Witness):
    """Two tables of a database: one with the heads of accounts, one with tickets under which an answer was kept."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._url = Store.at(address).url
        self._is_file = self._url.get_backend_name() == "sqlite"
        self._engine: sa.Engine | None = None
        self._turn = threading.Lock()

    def append(self, account: str, number: int, head: str) -> None:
        """Insert a row; one of the same number and another hash is of another history."""
        found = self._add(_HEAD, {"account": account, "number": number}, {"head": head})
        if found is not None and found.head != head:
            raise _forked(account, number)

    def close(self, account: str, ticket: str) -> None:
        """Write down, once, that the ticket's answer was kept."""
        self._add(_CLOSED, {"account": account, "ticket": ticket}, {})

    def last(self, account: str) -> tuple[int, str] | None:
        """Return the row of the largest number."""
        query = sa.select(_HEAD).where(_HEAD.c.account == account).order_by(_HEAD.c.number.desc()).limit(1)
        row = self._with(lambda connection: connection.execute(query).first())
        return None if row is None else (row.number, row.head)

    def accounts(self) -> frozenset[str]:
        """Return the accounts that have a row."""
        query = sa.select(_HEAD.c.account).distinct()
        return frozenset(self._with(lambda connection: connection.execute(query).scalars().all()))

    def is_closed(self, account: str, ticket: str) -> bool:
        """Whether it was written down that the ticket's answer was kept."""
        query = sa.select(_CLOSED).where(_CLOSED.c.account == account, _CLOSED.c.ticket == ticket)
        return self._with(lambda connection: connection.execute(query).first()) is not None

    def _add(self, table: sa.Table, key: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
        """Insert a row unless there is one of that key; return the one that was there."""
        query = sa.select(table).where(*(table.c[name] == value for name, value in key.items()))

        def add(connection: sa.Connection) -> Any:
            found = connection.execute(query).first()
            if found is None:
                connection.execute(sa.insert(table).values(**key, **more))
            return found

        return self._with(add)

    def _with(self, act: Callable[[sa.Connection], Any]) -> Any:
        # Whoever comes upon a row that another is inserting meanwhile finds it the second time.
        for last in (False, True):
            try:
                with self._opened().connect() as connection:
                    if self._is_file:
                        # Two that both began by reading could not both go on to write.
                        connection.exec_driver_sql("BEGIN IMMEDIATE")
                    else:
                        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                    found = act(connection)
                    connection.commit()
                    return found
            except sa.exc.IntegrityError:
                if last:
                    break
            except sa.exc.SQLAlchemyError:
                break
        raise WitnessFailed("the witness's database cannot be used.")

    def _opened(self) -> sa.Engine:
        with self._turn:
            if self._engine is None:
                waits: dict[str, Any] = {"connect_timeout": int(_SECONDS)}
                if self._is_file:
                    waits = {"timeout": _SECONDS, "isolation_level": None}
                engine = sa.create_engine(self._url, poolclass=NullPool, connect_args=waits)
                # Another process may make them meanwhile: then they are there the second time.
                with suppress(sa.exc.SQLAlchemyError):
                    _TABLES.create_all(engine)
                _TABLES.create_all(engine)
                self._engine = engine
            return self._engine

    def __reduce__(self) -> Any:
        return DatabaseWitness, (self._address,)


@final
class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: what is posted would be asked for at another place, and whoever answers kept nothing."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request, so that the answer that sends on counts as a failure."""


_STRAIGHT = urllib.request.build_opener(_Straight)


@final
class WebWitness(Witness):
    """A URL. What is told is posted as JSON, and counts once the answer's status is 200 to 299, and no redirection.

    An entry is {"account", "number", "head"}; one whose number it knows with another head it must answer with 409, and
    not keep. Asked with ?account=, it answers {"number", "head"} of the largest number, or null; with &ticket=,
    {"closed": true or false}; with nothing, {"accounts": [...]}, those of which it was told an entry.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def append(self, account: str, number: int, head: str) -> None:
        """Post the head that an account has now; 409 says that it is of another history."""
        if self._ask({}, {"account": account, "number": number, "head": head}) == HTTPStatus.CONFLICT:
            raise _forked(account, number)

    def close(self, account: str, ticket: str) -> None:
        """Post that the ticket's answer was kept; there is nothing that it could be in conflict with."""
        if self._ask({}, {"account": account, "ticket": ticket}) == HTTPStatus.CONFLICT:
            raise WitnessFailed(_DISAGREES)

    def last(self, account: str) -> tuple[int, str] | None:
        """Ask for the last head."""
        found = self._ask({"account": account})
        if found is None:
            return None
        if isinstance(found, dict) and is_whole(found.get("number")) and isinstance(found.get("head"), str):
            return found["number"], found["head"]
        raise WitnessFailed("the witness answers in another form than agreed.")

    def accounts(self) -> frozenset[str]:
        """Ask for all accounts."""
        found = self._ask({})
        names = found.get("accounts") if isinstance(found, dict) else None
        if not isinstance(names, list):
            raise WitnessFailed("the witness answers in another form than agreed.")
        return frozenset(map(str, names))

    def is_closed(self, account: str, ticket: str) -> bool:
        """Ask whether the ticket's answer was kept."""
        found = self._ask({"account": account, "ticket": ticket})
        if not isinstance(found, dict) or not isinstance(found.get("closed"), bool):
            raise WitnessFailed("the witness answers in another form than agreed.")
        return bool(found["closed"])

    def _ask(self, parameters: Mapping[str, str], told: Mapping[str, Any] | None = None) -> Any:
        query = ("&" if "?" in self._url else "?") + urllib.parse.urlencode(parameters) if parameters else ""
        body = None if told is None else json.dumps(told).encode("ascii")
        request = urllib.request.Request(self._url + query, body, {"Content-Type": "application/json"})
        try:
            status, text = _within(_SECONDS, lambda: _answer(request))
            if told is not None and status == HTTPStatus.CONFLICT:
                return status
            if status < HTTPStatus.MULTIPLE_CHOICES:
                return None if told is not None else json.loads(text)
        except (OSError, ValueError, RecursionError, HTTPException):
            pass
        raise WitnessFailed(_DISAGREES)


def _answer(request: urllib.request.Request) -> tuple[int, bytes]:
    try:
        with _STRAIGHT.open(request, timeout=_SECONDS) as answer:
            return answer.status, answer.read(_MOST_BYTES)
    except HTTPError as error:
        with error:
            return error.code, b""


def _within(seconds: float, act: Callable[[], Answer]) -> Answer:
    """Do something in a thread of its own; TimeoutError if it takes longer, whichever of its steps takes so long."""
    found: Future[Answer] = Future()

    def do() -> None:
        try:
            found.set_result(act())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=do, daemon=True, name="tacit witness").start()
    return found.result(seconds)
