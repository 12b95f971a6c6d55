"""What a service is told when it starts: one TOML file, and secrets from the environment or from files of their own."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self, final
from urllib.parse import urlsplit

from tacit.accounting.store import Store
from tacit.checks import finite_number, is_whole
from tacit.errors import InvalidParameter


@final
@dataclass(frozen=True)
class Limits:
    """How much one token may ask for, and how much one request may be."""

    requests_per_minute: int = 600
    at_once: int = 16
    body: int = 2**20
    upload: int = 2**28
    depth: int = 40
    jobs: int = 4
    """How many unfinished jobs one person may have."""
    queue: int = 100
    """How many unfinished jobs there may be."""
    kept: int = 10_000
    """How many jobs one person may have had: what they made is kept for good."""
    job_seconds: float = 3600.0
    """How long a job may be at work before it fails: what it was charged stays charged."""
    work: int = 10**12
    """How long the questions of one request may be, in letters, times the number of records that they are about."""
    seconds: float = 30.0
    """How long a body may take to arrive, and the state or an account to answer."""

    def __post_init__(self) -> None:
        _check(self)


@final
@dataclass(frozen=True)
class Settings:
    """Where a service keeps what it knows, and what it allows.

    `state` and `ledgers` are addresses: a path or sqlite:/// file for the one and a folder for the other, or
    postgresql://... for several workers on several machines. `witness` is a second place that remembers how far each
    account went: a path, an address or a URL. `inbox` is the folder whose files a custodian may register by name.
    `given_up` names accounts whose ledgers, and data sets whose records, are lost for good: they are there no more.
    """

    folder: Path
    state: str = ""
    ledgers: str = ""
    witness: str = ""
    inbox: Path | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    given_up: Sequence[str] = ()
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    threads: int = 16
    """How many requests each worker answers at once, which are also the most connections to each database it has."""
    padding: float = 0.05
    job_threads: int = 1
    """How many jobs each worker does at once."""
    lease: float = 10.0
    """How many seconds a worker may say nothing of a job before another takes it over."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _check(self)
        folder = Path(os.path.abspath(self.folder))
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "state", self.state or f"sqlite:///{folder / 'state.db'}")
        object.__setattr__(self, "ledgers", self.ledgers or str(folder / "ledgers"))
        object.__setattr__(self, "witness", self.witness or str(folder / "witness.jsonl"))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read settings from a TOML file; a text "env:NAME" or "file:PATH" stands for a secret kept there."""
        try:
            document = tomllib.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError):
            raise InvalidParameter(f"there are no settings that can be read at {str(path)!r}: a TOML file.") from None
        return cls.of(document, Path(path).resolve().parent)

    @classmethod
    def of(cls, document: Mapping[str, Any], beside: Path) -> Self:
        """Read settings from a document; paths in it count from a folder."""
        given = {name: _revealed(name, value) for name, value in document.items()}
        _refuse_unknown("settings", given, {each.name for each in fields(cls)})
        if "folder" not in given:
            raise InvalidParameter("settings must name a folder for what the service keeps: folder = '...'.")
        for name in ("folder", "inbox"):
            if given.get(name) is not None:
                given[name] = beside / _place(name, given[name])
        return cls(**given)

    @property
    def uploads(self) -> Path:
        """Where files wait that a custodian sent."""
        return self.folder / "uploads"

    @property
    def sessions(self) -> Path:
        """Where the secrets and the answers of interactive sessions are kept, on this machine."""
        return self.folder / "sessions"

    @property
    def tables(self) -> Path:
        """Where cleaned records are kept."""
        return self.folder / "tables"

    def account(self, dataset: str) -> str:
        """Return the address of a data set's account."""
        return self.ledgers if "://" in self.ledgers else f"{self.ledgers}/{dataset}.db"


def _revealed(name: str, value: Any) -> Any:
    """Return a setting; a secret is read from where it is kept."""
    if isinstance(value, Mapping):
        return {each: _revealed(each, inner) for each, inner in value.items()}
    if not isinstance(value, str) or not value.startswith(("env:", "file:")):
        return value
    kind, _, where = value.partition(":")
    try:
        return os.environ[where] if kind == "env" else Path(where).read_text("utf-8").strip()
    except (KeyError, OSError):
        raise InvalidParameter(f"the setting {name!r} is to be read from {value!r}, and there is nothing.") from None


def _refuse_unknown(what: str, given: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise InvalidParameter(f"there are no {what} named {', '.join(unknown)}; there are {', '.join(sorted(known))}.")


def _place(name: str, value: Any) -> Path:
    return Path(value if isinstance(value, Path) else _text(name, value))


def _inbox(name: str, value: Any) -> Path | None:
    return None if value is None else _place(name, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidParameter(f"the setting {name} must be a text of at least one letter, none of them NUL.")
    return value


def _address(name: str, value: Any) -> str:
    """Return where something is kept, "" for the usual place."""
    found = _text(name, value) if value != "" else ""
    try:
        if name == "witness" and found.startswith(("http://", "https://")):
            # A port that is none is refused only when it is asked for.
            _ = urlsplit(found).port
        elif "://" in found:
            Store.at(found)
    except ValueError:
        # What it is may have a password in it.
        raise InvalidParameter(
            f"the setting {name} is no address: a path, or like postgresql://user@host:5432/database, with :, / and @ "
            "in a password written as %3A, %2F and %40."
        ) from None
    return found


def _names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise InvalidParameter(f"{name} must be a list of the names of accounts.")
    return tuple(value)


def _addresses(name: str, value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidParameter(f"{name} must be a table of its own, of names and addresses: [{name}].")
    return {each: _text(f"{name}.{each}", inner) for each, inner in value.items()}


def _limits(_: str, value: Any) -> Limits:
    if isinstance(value, Limits):
        return value
    if not isinstance(value, Mapping):
        raise InvalidParameter("limits must be a table of its own: [limits].")
    _refuse_unknown("limits", value, {each.name for each in fields(Limits)})
    return Limits(**value)


def _whole(most: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        # A number such as 1e12 is a whole one, too.
        found = int(value) if isinstance(value, float) and value.is_integer() else value
        if not is_whole(found) or not 1 <= found <= most:
            raise InvalidParameter(f"the setting {name} must be a whole number from 1 to {most:,}.")
        return int(found)

    return check


def _seconds(least: float) -> Callable[[str, Any], float]:
    def check(name: str, value: Any) -> float:
        found = finite_number(name, value)
        if not least <= found <= _MOST_SECONDS:
            raise InvalidParameter(
                f"the setting {name} must be a number of seconds from {least:g} to {_MOST_SECONDS:,}."
            )
        return found

    return check


_MOST_SECONDS = 10**6
_MANY = _whole(2**32)
_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "folder": _place, "inbox": _inbox, "state": _address, "ledgers": _address, "witness": _address,
    "sources": _addresses, "given_up": _names, "host": _text, "port": _whole(2**16 - 1), "workers": _whole(1000),
    "threads": _whole(1000), "job_threads": _whole(1000), "padding": _seconds(0.0), "lease": _seconds(0.01),
    "limits": _limits, "requests_per_minute": _MANY, "at_once": _MANY, "body": _MANY, "upload": _whole(2**63),
    "depth": _whole(500), "jobs": _MANY, "queue": _MANY, "kept": _MANY, "job_seconds": _seconds(0.01),
    "work": _whole(10**30), "seconds": _seconds(0.01),
}  # fmt: skip
"""What every setting may be: one without a line here cannot be set at all."""


def _check(record: Settings | Limits) -> None:
    """Refuse a setting of another type, or out of its range."""
    for each in fields(record):
        object.__setattr__(record, each.name, _CHECKS[each.name](each.name, getattr(record, each.name)))
