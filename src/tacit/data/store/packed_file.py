"""Packed records: a store kept for later in one private file, under a random identity that ledgers know it by.

    magic | lots, column by column | catalogue as JSON | its length, 8 bytes | its digest, 32 bytes | magic

The catalogue has what was declared, the stored types, the identity, and for each lot and column where its cells are,
with a check sum. No digest of the contents leaves the file: published, it would be an exact test of membership.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np

from tacit.data.columns import Ignored
from tacit.data.counted import CountedPersons
from tacit.data.schema import Schema
from tacit.data.store.lots import ROWS_OF_OWNER, Filed, Lots
from tacit.data.store.private_file import PrivateFile
from tacit.data.store.store import Store
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter, TacitError
from tacit.files import write_whole
from tacit.noise import unique_name

MAGIC = b"tacit records 1\n"
ENDING = ".tacit-records"
_TAIL = 8 + 32 + len(MAGIC)
Read = TypeVar("Read")


@final
@dataclass(frozen=True)
class Packed:
    """What a packed file says of its records besides their cells."""

    store: Store
    schema: Schema
    unit: str | None
    key: str | None
    identity: str


def is_packed(source: object) -> bool:
    """Whether this is the path of packed records, by its ending alone."""
    return isinstance(source, str | Path) and str(source).endswith(ENDING)


def pack(store: Store, schema: Schema, unit: str | None, key: str | None, path: str | Path) -> None:
    """Write a store into a file that its owner alone can read, whole or not at all."""
    write_whole(path, _pieces(store, schema, unit, key), rights=0o600)


def _pieces(store: Store, schema: Schema, unit: str | None, key: str | None) -> Iterator[bytes]:
    names = [*store.columns, *([] if store.persons is None else [ROWS_OF_OWNER])]
    place, index = len(MAGIC), []
    yield MAGIC
    for lot, length in enumerate(store.lots.lengths):
        known: dict[str, list[Any]] = {}
        for name in names:
            cells, states = store.lots.cells(lot, name, 0, length), store.lots.states(lot, name)
            content = cells.tobytes()
            fared = b"" if states is None else states.astype(np.int8).tobytes()
            begins = place + len(content) if fared else -1
            known[name] = [place, cells.dtype.str, begins, zlib.crc32(fared, zlib.crc32(content))]
            place += len(content) + len(fared)
            yield content
            yield fared
        index.append(known)
    catalogue = {
        "identity": unique_name(), "schema": schema.to_toml(), "unit": unit, "key": key, "ordered": store.ordered,
        "stored": {name: [stored.kind, stored.name, stored.digits] for name, stored in store.stored.items()},
        "lengths": store.lots.lengths, "index": index,
    }  # fmt: skip
    written = json.dumps(catalogue).encode()
    yield written
    yield len(written).to_bytes(8, "big")
    yield hashlib.sha256(written).digest()
    yield MAGIC


def open_packed(path: Path) -> Packed:
    """Open packed records, and check that every cell is as it was packed."""
    return _readable(_opened, path)


def schema_of_packed(path: Path) -> Schema:
    """Return what packed records declare, without a look at their cells."""
    return _readable(lambda path: Schema.from_toml(_catalogue(PrivateFile(path))["schema"]), path)


def _readable(read: Callable[[Path], Read], path: Path) -> Read:
    """Return what is read of a file; refuse one that is damaged, or is something else."""
    try:
        return read(path)
    except (OSError, ValueError, KeyError, TypeError, IndexError, TacitError):
        pass
    raise InvalidParameter(f"{str(path)!r} has no packed records that can be read. Restore it, or pack them anew.")


def _catalogue(file: PrivateFile) -> dict[str, Any]:
    """Return what a file says of its records, if it says it as it was packed."""
    tail = file.read(file.size - _TAIL, _TAIL, np.dtype(np.uint8)).tobytes()
    length = int.from_bytes(tail[:8], "big")
    _require(tail[40:] == MAGIC and length < file.size)
    written = file.read(file.size - _TAIL - length, length, np.dtype(np.uint8)).tobytes()
    _require(hashlib.sha256(written).digest() == tail[8:40])
    return dict(json.loads(written))


def _opened(path: Path) -> Packed:
    file = PrivateFile(path)
    found = _catalogue(file)
    schema, unit = Schema.from_toml(found["schema"]), found["unit"]
    lots = Lots(file, list(found["lengths"]))
    counted = None if unit is None else CountedPersons()
    for lot, (rows, columns) in enumerate(zip(found["lengths"], found["index"], strict=True)):
        lots.kept.append({name: _checked(file, rows, *each) for name, each in columns.items()})
        if counted is not None:
            counted.add(lots.cells(lot, str(unit), 0, rows).astype(np.int64))
    columns = {name: column for name, column in schema.columns.items() if not isinstance(column, Ignored)}
    stored = {name: Stored(*each) for name, each in found["stored"].items()}
    store = Store(
        columns, stored, lots, found["ordered"], found["identity"], f"the file {str(path)!r}", unit or "", counted, path
    )
    return Packed(store, schema, unit, found["key"], found["identity"])


def _checked(
    file: PrivateFile, rows: int, start: int, kind: str, states: int, check: int
) -> tuple[Filed, Filed | None]:
    """Return where the cells of a column lie, and how each fared, if they are as they were packed."""
    cells = Filed(file, start, rows, np.dtype(kind))
    fared = None if states < 0 else Filed(file, states, rows, np.dtype(np.int8))
    _require(zlib.crc32(b"" if fared is None else fared[:].tobytes(), zlib.crc32(cells[:].tobytes())) == check)
    return cells, fared


def _require(holds: bool) -> None:
    """Refuse a file that is not as it was packed, also where Python leaves assertions out."""
    if not holds:
        raise ValueError
