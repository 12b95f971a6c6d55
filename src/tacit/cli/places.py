"""Which files a command reads, and that it writes none of them: told apart by what they are, not by their names."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tacit.accounting.lock import lock_path, turn_path
from tacit.accounting.store import Store
from tacit.cli.sources import source_of
from tacit.data.readers.file_listing import list_files
from tacit.errors import FileNotWritten, InvalidParameter

# What SQLite keeps beside a database, and what it may make there at any time.
_BESIDE = ("", "-wal", "-shm", "-journal")


@final
@dataclass(frozen=True)
class Inputs:
    """What a command reads: tables as they were named, an account's address, and further files."""

    tables: tuple[str | None, ...] = ()
    ledger: str | None = None
    files: tuple[Path | None, ...] = ()

    def spare(self, outputs: Iterable[Path]) -> None:
        """Refuse to write over anything that is read, or into a folder of records."""
        read = [*self._files()]
        identities = {identity for path in read for identity in _identities(path)}
        folders = [Path(os.path.realpath(each)) for each in self._tables() if os.path.isdir(each)]
        for output in outputs:
            target = Path(os.path.realpath(output))
            if identities & _identities(target) or any(folder in (target, *target.parents) for folder in folders):
                raise InvalidParameter(
                    f"{str(output)!r} would be written over something that this command reads, or among it: the table, "
                    "its schema, a model, the ledger with its locks, or another file that was named. Name another."
                )

    def _tables(self) -> Iterator[str]:
        for table in self.tables:
            source = None if table is None else source_of(table)
            if isinstance(source, str):
                yield source
            elif source is not None:
                yield from map(str, database_files(source[0]))

    def _files(self) -> Iterator[Path]:
        yield from (path for path in self.files if path is not None)
        for table in self._tables():
            yield from list_files(Path(table)) if os.path.isdir(table) else (Path(table),)
        yield from () if self.ledger is None else database_files(self.ledger)


def database_files(address: str) -> list[Path]:
    """Return the files of a database and those beside it, locks included; none of one that is behind a network."""
    url = Store.at(address).url
    if url.get_backend_name() != "sqlite" or url.database is None:
        return []
    path = os.path.realpath(url.database)
    return [Path(name) for name in (*(f"{path}{end}" for end in _BESIDE), lock_path(path), turn_path(path))]


def make_folder(path: Path) -> None:
    """Make the folder that a command writes into, where it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise FileNotWritten(f"{str(path)!r} cannot be made a folder. Name another with --output.") from None


def same_records(first: str, second: str) -> bool:
    """Return whether two tables have a file in common, or seem to be one table of one database.

    The same server has many addresses: tables of one name in PostgreSQL are taken for one, wherever they are.
    """
    return bool(_records_of(first) & _records_of(second))


def _records_of(text: str) -> set[object]:
    source = source_of(text)
    if isinstance(source, str):
        path = Path(source)
        return {each for file in (list_files(path) if path.is_dir() else (path,)) for each in _identities(file)}
    address, table = source
    files = database_files(address)[:1]
    if files:
        return {(identity, table.lower()) for identity in _identities(files[0])}
    return {table.rpartition(".")[2].strip('"').lower()}


def _identities(path: Path) -> set[object]:
    """Return the name of a file without links, and what the system knows it by."""
    found: set[object] = {os.path.realpath(path)}
    try:
        status = os.stat(path)
    except OSError:
        return found
    return found | {(status.st_dev, status.st_ino)}
