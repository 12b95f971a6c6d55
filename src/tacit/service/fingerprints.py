"""Fingerprints of a table, so that its records do not get a second budget under another name.

Whoever registers a table again seldom has the very same one: a column less, a view of some rows, a few rows more,
levels in another order. So what is compared is which values stand together, and how often: of each column, and of many
sets of columns, some combinations of values are marked. A view of a share of the rows has about that share of the
table's marks, whatever else is changed.

Tables of other records have marks in common, too: few where combinations are rare, more where columns have few values.
How many is estimated from each table by itself; only what is beyond that is taken for the same records.

Marks are made with a secret of the service and say with which: those of another secret have nothing in common, and are
not compared but refused. The secret is kept in the folder and the marks in the state, so that neither alone tells a
value. They are compared when a table is registered: by the custodian's own act, which is not private.
"""

import base64
import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy import special

from tacit.data.columns import Column, Key
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes
from tacit.service.sketches import Sketch, Words

_SIZES = (2, 3, 5, 8, 13)
_ORDERS = 64
"""The first so many columns are marked together, in so many orders."""
_RARE = 1e-9
"""So unlikely by chance is what two sets of columns have in common where they are taken for those of one table."""
_FORM = "marks of form 1"
"""Changes with whatever changes marks: those of another form are not compared either."""
_TRUTHS = {"false": "0", "true": "1"}


def marks_of(records: Records, given: Iterable[str], secret: bytes) -> dict[str, Any]:
    """Return the marks of a table, as JSON; each of `given` is a text that no other table has."""
    columns = dict(sorted(records.table.columns.items()))
    readers = {name: _Reader(column, secret) for name, column in columns.items()}
    sets = _sets(columns)
    own, strangers = [Sketch() for _ in sets], [Sketch() for _ in sets]
    rows, total = 0, 0
    for block in records.table.blocks(tuple(columns), None, records.key):
        words = {name: reader.words(block[name]) for name, reader in readers.items()}
        apart = {name: each[_shuffle(len(each), name)] for name, each in words.items()}
        for names, sketch, stranger in zip(sets, own, strangers, strict=True):
            sketch.add(_together([words[name] for name in names]), block[names[0]])
            if len(names) > 1:
                stranger.add(_together([apart[name] for name in names]), block[names[0]])
        whole = _scattered(np.add.reduce(list(words.values()), dtype=np.uint64), 1)
        rows, total = rows + len(whole), (total + int(np.add.reduce(whole, dtype=np.uint64))) % 2**64
    kept = []
    for names, sketch, stranger in zip(sets, own, strangers, strict=True):
        # What unrelated tables with such columns share, a table shares with itself when each column is shuffled.
        by_rule = sketch.shared_by_rule(columns[names[0]]) if len(names) == 1 else sketch.shared_with(stranger)
        chances = [sketch.shared_by_chance(), by_rule]
        kept.append([*chances, base64.b64encode(_marks(sketch, len(names), secret)).decode("ascii")])
    said = [*given, f"{rows} records of {len(columns)} columns {total}"]
    outright = [_digest(secret, each).hex() for each in said]
    return {"made_with": _digest(secret, _FORM).hex(), "outright": outright, "rows": rows, "sets": kept}


def outright_of(file: Path) -> str:
    """Return what no file of other content has."""
    with file.open("rb") as opened:
        return f"file {hashlib.file_digest(opened, 'sha256').hexdigest()}"


def known(marks: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of those tables that are the same outright, or have too much in common with this one."""
    if any(each["made_with"] != marks["made_with"] for each in others.values()):
        raise InvalidParameter(
            "the secret by which records are known again is not the one of the tables that are registered: the folder "
            "was lost, or is another. Put its file marks.secret back; if it is lost for good, begin with a new state "
            "and register each table under its own name again (docs/deploying.md)."
        )
    own, outright = _Marked(marks), set(marks["outright"])
    return [name for name, each in others.items() if outright & set(each["outright"]) or own.is_like(_Marked(each))]


@final
class _Marked:
    """The marks of each set of columns, in order, and how likely each of them is in an unrelated table."""

    def __init__(self, marks: Mapping[str, Any]) -> None:
        self.rows = int(marks["rows"])
        self.by_chance: list[float] = [each[0] for each in marks["sets"]]
        self.by_rule: list[float] = [each[1] for each in marks["sets"]]
        found = [np.frombuffer(base64.b64decode(each[2]), dtype=np.uint64) for each in marks["sets"]]
        self.marks = np.concatenate([np.zeros(0, dtype=np.uint64), *found])
        self.sets = [number for number, each in enumerate(found) for _ in each]
        self.places = [place for each in found for place in range(len(each))]

    def is_like(self, other: "_Marked") -> bool:
        """Whether some set of columns has more marks in common with one of the other's than chance would have it."""
        together: dict[tuple[int, int], list[int]] = defaultdict(list)
        theirs = defaultdict(list)
        for at in np.flatnonzero(np.isin(other.marks, self.marks)).tolist():
            theirs[int(other.marks[at])].append(at)
        for at in np.flatnonzero(np.isin(self.marks, other.marks)).tolist():
            for there in theirs[int(self.marks[at])]:
                # As far as the shorter of the two goes to this mark, as many could have been shared.
                together[self.sets[at], other.sets[there]].append(1 + min(self.places[at], other.places[there]))
        return any(
            _tail(withins, self._chance(mine, other, their)) < _RARE for (mine, their), withins in together.items()
        )

    def _chance(self, mine: int, other: "_Marked", their: int) -> float:
        """Return how likely a mark of one set is in another; rows come up in the larger table as often as it has it."""
        by_chance = self.by_chance[mine] if self.rows >= other.rows else other.by_chance[their]
        return max(by_chance, self.by_rule[mine], other.by_rule[their])


def _tail(withins: Sequence[int], chance: float) -> float:
    """Return the least chance, at any of the marks that are shared, that as many are up to there."""
    shared = np.arange(1, len(withins) + 1)
    return float(special.bdtrc(shared - 1.0, np.sort(withins), min(chance, 1.0)).min())


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


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _marks(sketch: Sketch, size: int, secret: bytes) -> bytes:
    """Return the marks of a set of so many columns, from which nobody without the secret learns a value."""
    pairs = zip(sketch.hashes.tolist(), sketch.times.tolist(), strict=True)
    return b"".join(_digest(secret, f"{size} columns: {each} {times}")[:8] for each, times in pairs)


def _together(words: Sequence[Words]) -> Words:
    """Return a hash of the words that stand in one row."""
    found = words[0]
    for place, each in enumerate(words[1:], 1):
        found = found + np.uint64(2 * place + 1) * each
    return _scattered(found, len(words))


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
