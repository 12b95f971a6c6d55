"""Where a table to be registered is read from: a file that was sent, a file in the inbox, or a table of a database.

It is read once, and never looked at again. A file that was sent holds records as they are: it is removed when they are
registered, and else when it has waited for some hours, when the service starts and when the next file is sent.
"""

import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from tacit.data.readers.file_listing import list_files
from tacit.errors import InvalidParameter
from tacit.files import private_folder
from tacit.noise import unique_name
from tacit.service.fingerprints import outright_of
from tacit.service.refusals import Refusal, missing
from tacit.service.settings import Settings

FORMATS = ("csv", "parquet")
HOURS = 6
"""How long a file that was sent may wait to be registered."""
MOST_WAITING = 20
"""How many such files there may be."""
_UPLOAD = re.compile(r"[0-9a-f]{32}\.(csv|parquet)")


@final
@dataclass(frozen=True)
class Place:
    """A file, perhaps one that is ours to take away, or a database's address and the name of a table."""

    file: Path | None = None
    ours: bool = False
    address: str = ""
    table: str = ""

    @classmethod
    def of(cls, plain: Mapping[str, Any], settings: Settings) -> Self:
        """Find what a custodian named; of files there are those of the inbox and those that were sent."""
        keys = frozenset(plain)
        if keys == {"upload"}:
            return cls(_sent(plain["upload"], settings), ours=True)
        if keys == {"file"}:
            return cls(_in_inbox(plain["file"], settings))
        if keys == {"address", "table"}:
            named = plain["address"] in settings.sources
            address = settings.sources[plain["address"]] if named else plain["address"]
            if not address.startswith(("postgresql://", "postgresql+psycopg://")):
                raise InvalidParameter(
                    "a table of a database has the name of one of the service's [sources] for its address, or a "
                    "postgresql:// address of its own."
                )
            if not named and _has_password(address):
                raise InvalidParameter(
                    "an address with a password is a secret, and is not sent here: name it among the service's "
                    "[sources]."
                )
            return cls(address=address, table=plain["table"])
        raise InvalidParameter("a source is {upload}, {file} within the inbox, or {address, table}.")

    @property
    def opened(self) -> Any:
        """Where the records are, as `Records` are told: a file, or an address and a table."""
        return (self.address, self.table) if self.file is None else self.file

    @property
    def outright(self) -> list[str]:
        """What no other table has: the content of a file, or of all files of a folder, or the place of a table."""
        if self.file is not None:
            return [outright_of(list_files(self.file))]
        url = sa.make_url(self.address)
        host, port = (given or url.query.get(name) for name, given in (("host", url.host), ("port", url.port)))
        table = self.table.removeprefix("public.")
        return [f"table {table!r} of {url.database or url.username!r} at {host!r} {port or 5432}"]

    def take_away(self) -> None:
        """Remove a file that was sent, once it was read."""
        if self.ours and self.file is not None:
            self.file.unlink(missing_ok=True)


def _has_password(address: str) -> bool:
    try:
        return sa.make_url(address).password is not None or "password" in address.partition("?")[2]
    except (ArgumentError, ValueError):
        return "@" in address


async def take_in(pieces: AsyncIterator[bytes], form: str, settings: Settings) -> str:
    """Write a file that is sent; return the name it goes by from then on."""
    remove_old(settings)
    if len(os.listdir(private_folder(settings.uploads))) >= MOST_WAITING:
        raise Refusal(
            HTTPStatus.TOO_MANY_REQUESTS,
            "TooMany",
            f"{MOST_WAITING} files wait to be registered: register them, or come again after {HOURS} hours.",
            wait=3600,
        )
    name = f"{unique_name()}.{form}"
    path = private_folder(settings.uploads) / name
    size = 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > settings.limits.upload:
                    raise Refusal(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", f"at most {settings.limits.upload} bytes."
                    )
                file.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return name


def remove_old(settings: Settings) -> None:
    """Remove the files that were sent and have waited too long; those from a time to come, too."""
    for path in settings.uploads.glob("*"):
        with suppress(FileNotFoundError):
            if abs(time.time() - path.stat().st_mtime) > 3600 * HOURS:
                path.unlink()


def _sent(name: str, settings: Settings) -> Path:
    path = settings.uploads / name
    if not _UPLOAD.fullmatch(name) or not path.is_file():
        raise missing("file that was sent")
    return path


def _in_inbox(name: str, settings: Settings) -> Path:
    if settings.inbox is None:
        raise InvalidParameter("this service has no inbox: send the file, or name an inbox in the settings.")
    inbox = settings.inbox.resolve()
    try:
        path = (inbox / name).resolve()
        inside = path.is_relative_to(inbox) and path != inbox and path.exists()
    except (OSError, ValueError):
        inside = False
    if not inside:
        raise missing("file in the inbox")
    return path
