"""Records kept for good: their cleaned cells in a folder, one array a column, never pickled.

Whoever keeps records has read and cleaned them once; whoever opens them reads no file of anybody else's, and cannot
meet a value that no declaration allows. Arrays are mapped into memory: processes share what they read.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tacit.data.columns import Column, Ignored
from tacit.data.sources.memory import MemoryTable
from tacit.data.stored import Stored
from tacit.data.toml import render
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.data.records import Records

_CATALOGUE = "kept.json"


@final
@dataclass(frozen=True)
class Kept:
    """The folder that records were kept in: a source of `Records`."""

    folder: Path


def keep(records: "Records", folder: Path) -> Kept:
    """Write the cleaned cells of records into a new folder, durably; their order is kept, and no other fact of them."""
    folder.mkdir(mode=0o700)
    table = records.table
    names = list(table.columns)
    found: dict[str, list[AnyArray]] = {name: [] for name in names}
    for block in records.blocks(names):
        for name in names:
            found[name].append(block[name])
    for place, name in enumerate(names):
        _write(folder / f"{place}.npy", np.concatenate(found[name]))
    catalogue = {
        "columns": names,
        "declared": render(table.columns, None),
        "stored": {name: [stored.kind, stored.name, stored.digits] for name, stored in table.stored.items()},
        "ordered": table.ordered,
    }
    with (folder / _CATALOGUE).open("w", encoding="utf-8") as file:
        json.dump(catalogue, file)
        file.flush()
        os.fsync(file.fileno())
    _sync(folder)
    _sync(folder.parent)
    return Kept(folder)


def open_kept(source: Kept, columns: Mapping[str, Column], identity: str) -> MemoryTable:
    """Open kept records; they must have been kept under the same columns."""
    wanted = {name: column for name, column in columns.items() if not isinstance(column, Ignored)}
    try:
        catalogue = json.loads((source.folder / _CATALOGUE).read_text("utf-8"))
        cells = {name: _read(source.folder / f"{place}.npy") for place, name in enumerate(catalogue["columns"])}
        stored = {name: Stored(*each) for name, each in catalogue["stored"].items()}
        ordered, declared = bool(catalogue["ordered"]), catalogue["declared"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidParameter(f"there are no kept records in {str(source.folder)!r}. Restore them.") from None
    # Not the names alone: a cell that was cleaned for other bounds may lie beyond these, or at none of these levels.
    if declared != render(wanted, None) or len({len(each) for each in cells.values()}) != 1:
        raise InvalidParameter(f"the records in {str(source.folder)!r} were kept under other columns.")
    return MemoryTable.cleaned_before(cells, wanted, stored, identity, ordered=ordered)


def _write(path: Path, cells: AnyArray) -> None:
    with path.open("wb") as file:
        np.save(file, cells, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _sync(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
