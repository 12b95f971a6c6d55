"""Fingerprints of a table, so that its records do not get a second budget under another name.

Marks are made from the file's bytes, from whole records, and from each column with many values, whatever its name; all
but the first do not depend on the order of the records. Some 64 records are marked one by one, each with how often it
occurs, by a secret of the service: tables that have most of these in common are the same but for some records. Marks
are secret, kept with the service's state, and compared when a table is registered: by the custodian's own act, which is
not private.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.data.records import Records

Words = npt.NDArray[np.uint64]
_TELLING = 50
"""A column with so many different values is in no other table by accident."""
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


_SOME = 64
"""So many records are marked one by one: those of the least hashes, which are nearly the same ones in a like table."""


def marks_of(records: Records, file: Path | None, secret: bytes) -> list[str]:
    """Return the marks of a table."""
    names = tuple(records.table.columns)
    sums: dict[str, list[int]] = {name: [0, 0] for name in ("", *names)}
    seen: dict[str, set[int]] = {name: set() for name in names}
    count, whole = 0, [np.zeros(0, dtype=np.uint64)]
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
        whole.append(_unordered(block, names))
    telling = [name for name in names if len(seen[name]) > _TELLING]
    marks = [_mark("column", count, sums[name]) for name in telling]
    marks.append(_mark("records", count, [*sums[""], len(names)]))
    marks += _some(np.concatenate(whole), secret)
    if file is not None:
        marks.append(f"file {_digest_of(file)}")
    return marks


def known(marks: Sequence[str], others: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of those tables that share a mark of the whole, or most of those of single records."""
    own = set(marks)
    return [name for name, theirs in others.items() if _are_same(own & set(theirs))]


def _are_same(shared: Set[str]) -> bool:
    single = sum(mark.startswith("record ") for mark in shared)
    return len(shared) > single or 2 * single > _SOME


def _unordered(block: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> Words:
    """Return a hash of each record that does not depend on the order or the names of its columns."""
    with np.errstate(over="ignore"):
        rows: Words = np.add.reduce([_mixed(_words(block[name]), _SEEDS[0]) for name in names], dtype=np.uint64)
        return _mixed(rows, _SEEDS[1])


def _some(whole: Words, secret: bytes) -> list[str]:
    """Return marks of a few different records, none where all tables of a kind would have the same few."""
    records, times = np.unique(whole, return_counts=True)
    if len(records) < 2 * _SOME:
        return []
    said = (f"{record} {often}" for record, often in zip(records[:_SOME].tolist(), times.tolist(), strict=False))
    return [f"record {hmac.digest(secret, each.encode('ascii'), 'sha256').hex()}" for each in said]


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
