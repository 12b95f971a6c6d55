"""Fingerprints of a table, so that its records do not get a second budget under another name.

Marks are made from the file's bytes, from whole records, and from each column with many values, whatever its name; all
but the first do not depend on the order of the records. They are secret, kept with the service's state, and compared
when a table is registered: by the custodian's own act, which is not private.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.data.records import Records

Words = npt.NDArray[np.uint64]
_TELLING = 50
"""A column with so many different values is in no other table by accident."""
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def marks_of(records: Records, file: Path | None) -> list[str]:
    """Return the marks of a table."""
    names = tuple(records.table.columns)
    sums: dict[str, list[int]] = {name: [0, 0] for name in ("", *names)}
    seen: dict[str, set[int]] = {name: set() for name in names}
    count = 0
    for block in records.table.blocks(names, None, records.key):
        rows = [np.zeros(len(next(iter(block.values()))), dtype=np.uint64) for _ in _SEEDS]
        count += len(rows[0])
        for name in names:
            words = _words(block[name])
            if len(seen[name]) <= _TELLING:
                seen[name].update(np.unique(words)[: _TELLING + 1].tolist())
            for place, seed in enumerate(_SEEDS):
                mixed = _mixed(words, seed)
                _add(sums[name], place, mixed)
                rows[place] = _mixed(rows[place] ^ mixed, seed)
        for place, row in enumerate(rows):
            _add(sums[""], place, row)
    telling = [name for name in names if len(seen[name]) > _TELLING]
    marks = [_mark("column", count, sums[name]) for name in telling]
    marks.append(_mark("records", count, [*sums[""], len(names)]))
    if file is not None:
        marks.append(f"file {_digest_of(file)}")
    return marks


def known(marks: Sequence[str], others: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of those tables that share a mark."""
    own = set(marks)
    return [name for name, theirs in others.items() if own & set(theirs)]


def _words(cells: npt.NDArray[Any]) -> Words:
    """Return each cleaned cell as 64 bits: the same for the same cell."""
    wide = cells.astype(np.float64 if cells.dtype.kind == "f" else np.int64)
    return np.ascontiguousarray(wide).view(np.uint64)


def _mixed(words: Words, seed: int) -> Words:
    """Scatter words over all 64 bits, each by itself."""
    with np.errstate(over="ignore"):
        found = words + np.uint64(seed)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = found ^ (found >> np.uint64(31))
    return mixed


def _add(sums: list[int], place: int, words: Words) -> None:
    sums[place] = (sums[place] + int(np.add.reduce(words, dtype=np.uint64))) % 2**64


def _mark(kind: str, count: int, numbers: Sequence[int]) -> str:
    said = f"{kind} {count} {' '.join(map(str, numbers))}"
    return f"{kind} {hashlib.sha256(said.encode('ascii')).hexdigest()}"


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
