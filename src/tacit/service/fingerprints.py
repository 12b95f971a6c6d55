"""Fingerprints of a table, so that its records do not get a second budget under another name.

Whoever registers a table again seldom has the very same one: a column less, a view of some rows, a few rows more,
levels in another order. So what is compared is which values stand together, and how often: of each column, and of many
sets of columns, some combinations of values are marked. A view of a share of the rows has about that share of the
combinations that one record has alone, and a view without columns has those of other columns as often as the table.

Tables of other records have marks in common, too: few where combinations are rare, more where columns have few values.
How many is estimated from each table by itself; only what is beyond that is taken for the same records.

Marks are made with a secret of the service and say with which: those of another secret have nothing in common, and are
not compared but refused. The secret is kept in the folder and the marks in the state, so that neither alone tells a
value. They are compared when a table is registered: by the custodian's own act, which is not private.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from tacit.data.columns import Column, Key
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes
from tacit.secret import open_secret
from tacit.service.alike import MARK, Marks, SetMarks, are_alike
from tacit.service.sketches import Sketch, Words

_SIZES = (2, 3, 4, 5, 6, 8, 13)
_ORDERS = 64
"""The first so many columns are marked together, in so many orders."""
_FORM = "marks of form 1"
"""Changes with whatever changes marks: those of another form are not compared either."""
_SELDOM = 1e-6
"""All counts of a table are compared where unrelated records have the same ones more seldom than this."""
_BOUND = 16
"""So many letters of a digest are enough where records are mixed up by mistake."""
_TRUTHS = {"false": "0", "true": "1"}


def marks_of(records: Records, given: Iterable[str], secret: bytes) -> dict[str, Any]:
    """Return the marks of a table, as JSON; each of `given` is a text that no other table has."""
    view = open_secret(records.secret)
    columns = dict(sorted(view.store.columns.items()))
    readers = {name: _Reader(column, secret) for name, column in columns.items()}
    sets = _sets(columns)
    own, strangers = [Sketch() for _ in sets], [Sketch() for _ in sets]
    alone, rows, total = {name: Sketch() for name in columns}, 0, 0
    for block in view.blocks(tuple(columns)):
        words = {name: reader.words(block[name]) for name, reader in readers.items()}
        apart = {name: each[_shuffle(len(each), name)] for name, each in words.items()}
        for name, sketch in alone.items():
            sketch.add(words[name], block[name])
        for names, sketch, stranger in zip(sets, own, strangers, strict=True):
            sketch.add(_together([words[name] for name in names]), block[names[0]])
            if len(names) > 1:
                stranger.add(_together([apart[name] for name in names]), block[names[0]])
        whole = _scattered(np.add.reduce(list(words.values()), dtype=np.uint64), 1)
        rows, total = rows + len(whole), (total + int(np.add.reduce(whole, dtype=np.uint64))) % 2**64
    kept = []
    for names, sketch, stranger in zip(sets, own, strangers, strict=True):
        # What unrelated tables with such columns share, a table shares with itself when each column is shuffled.
        found = sketch.found_by_rule(columns[names[0]]) if len(names) == 1 else sketch.found_in(stranger)
        kept.append(SetMarks.of(sketch, found, rows, _marks(sketch, len(names), secret)).plain())
    same = _same_by_chance(columns, alone, dict(zip(sets, own, strict=True)), rows)
    whole_table = f"{rows} records of {len(columns)} columns {total}"
    said = [*given, *([whole_table] if same < _SELDOM else [])]
    outright = [_digest(secret, each).hex() for each in said]
    whole_mark = _digest(secret, whole_table).hex()
    return {"made_with": _digest(secret, _FORM).hex(), "outright": outright, "whole": whole_mark, "sets": kept}


def bound_to(name: str, marks: Mapping[str, Any]) -> list[str]:
    """Return digests that bind a name to its table: first of the secret, then of all that are the same outright.

    Whoever has not the secret learns nothing from them, not even that two names are of one table.
    """
    tables = sorted({*marks["outright"], marks["whole"]})
    return [_digest(bytes.fromhex(each), name).hex()[:_BOUND] for each in (marks["made_with"], *tables)]


def outright_of(files: Iterable[Path]) -> str:
    """Return what no files of other content have, whatever they are called."""
    return f"file {' '.join(sorted(map(_digest_of, files)))}"


def _digest_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def known(marks: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of those tables that are the same outright, or have too much in common with this one.

    A table of other records is so by chance about once in a million; a view may be none of them: docs/deploying.md.
    """
    if any(each["made_with"] != marks["made_with"] for each in others.values()):
        raise InvalidParameter(
            "the secret by which records are known again is not the one of the tables that are registered: the folder "
            "was lost, or is another. Put its file marks.secret back; if it is lost for good, no records that were "
            "paid for are known again (docs/deploying.md)."
        )
    own, outright = _sets_of(marks), set(marks["outright"])
    return [name for name, each in others.items() if outright & set(each["outright"]) or are_alike(own, _sets_of(each))]


def _sets_of(marks: Mapping[str, Any]) -> list[SetMarks]:
    return [SetMarks.read(each) for each in marks["sets"]]


@final
class _Reader:
    """Reads cleaned cells of a column as 64 bits: the same for the same value, however its column was declared."""

    def __init__(self, column: Column, secret: bytes) -> None:
        self._seed = _number(_digest(secret, "values"))
        texts = column.classes if isinstance(column, Levelled) else ()
        # The code -1, of no level, finds the last.
        self._levels = np.array([*(_word_of(text) for text in texts), _number(b"no level")], dtype=np.uint64)
        self._levelled = isinstance(column, Levelled)

    def words(self, cells: AnyArray) -> Words:
        """Return the words of some cells."""
        bits = self._levels[cells] if self._levelled else (cells.astype(np.float64) + 0.0).view(np.uint64)
        return _scattered(bits, self._seed)


def _word_of(text: str) -> int:
    """Return the bits of a level: those of the number, if it is one."""
    text = _TRUTHS.get(text.lower(), text)
    try:
        return _number(np.float64(float(text) + 0.0).tobytes())
    except ValueError:
        return _number(hashlib.sha256(text.encode("utf-8")).digest())


def _sets(columns: Mapping[str, Column]) -> list[tuple[str, ...]]:
    """Return the sets of columns that are marked: each alone, all together, and the first few in some fixed orders.

    A table with other columns besides, or without some, has many of the same sets. An id by itself says nothing: in
    many tables ids count the rows.
    """
    orders = [sorted(columns, key=lambda name: _order(f"{number} {name}")) for number in range(_ORDERS)]
    few = {tuple(sorted(order[:size])) for order in orders for size in _SIZES if size <= len(columns)}
    alone = {(name,) for name, column in columns.items() if not isinstance(column, Key)}
    together = few | ({tuple(columns)} if len(columns) > 1 else set())
    return sorted(alone | together)


def _same_by_chance(
    columns: Mapping[str, Column], alone: Mapping[str, Sketch], sets: Mapping[tuple[str, ...], Sketch], rows: int
) -> float:
    """Return a bound on how likely other records have all counts of these; columns that count are given, not drawn."""
    counted = {name for name, sketch in alone.items() if sketch.counts(columns[name])}
    fixed = any(alone[name].times.max(initial=0.0) == 1.0 for name in counted)
    telling = [sketch for names, sketch in sets.items() if counted.isdisjoint(names)]
    return min((sketch.same_by_chance(rows, fixed) for sketch in telling), default=1.0)


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _marks(sketch: Sketch, size: int, secret: bytes) -> Marks:
    """Return the marks of a set of so many columns, from which nobody without the secret learns a value."""
    pairs = zip(sketch.hashes.tolist(), (sketch.times / sketch.unit).tolist(), strict=True)
    words = (_digest(secret, f"{size} columns: {each} {times}") for each, times in pairs)
    return np.frombuffer(b"".join(each[: MARK.itemsize] for each in words), dtype=MARK)


def _together(words: Sequence[Words]) -> Words:
    """Return a hash of the words that stand in one row, in whatever order: columns may have other names."""
    return _scattered(np.add.reduce(list(words), dtype=np.uint64), len(words))


def _shuffle(rows: int, name: str) -> Codes:
    """Return another order of some rows, one for each column."""
    return np.argsort(_scattered(np.arange(rows, dtype=np.uint64), _number(_order(name))))


def _scattered(words: Words, seed: int) -> Words:
    """Scatter words over all 64 bits, each by itself."""
    with np.errstate(over="ignore"):
        found = words + np.uint64(seed)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = found ^ (found >> np.uint64(31))
    return mixed


def _number(eight: bytes) -> int:
    return int.from_bytes(eight[:8], "little")


def _digest(secret: bytes, text: str) -> bytes:
    return hmac.digest(secret, text.encode("utf-8", "replace"), "sha256")
