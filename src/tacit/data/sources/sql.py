"""Records behind an engine of SQL: one subquery cleans them, and everything else is asked of that."""

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tacit.data.columns import Column, Ignored, Moment, Number
from tacit.data.dialects import Dialect
from tacit.data.parts import Slice
from tacit.data.sources.table import STEPS, Block, Table
from tacit.data.stored import Stored, check_declared
from tacit.data.values import MISSING_KEY
from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.process import this_process

INDEX = "tacit_index"
_AT_ONCE = 256
# Connections that a fork brought along: they belong to the parent, and closing them here would disturb it.
_INHERITED: list[Any] = []
_TURNS: "weakref.WeakKeyDictionary[Any, threading.RLock]" = weakref.WeakKeyDictionary()
_TURNING = threading.Lock()


class SQLTable(Table):
    """A relation of an engine, and how to ask it.

    Assumes: reading the relation itself cannot fail because of a record that came after it was opened, as a view that
    divides by a column could. All records are read once when it is opened, and cleaned; of what is stored as a float
    its comparisons with the bounds are left out, which cannot fail.
    """

    dialect: ClassVar[Dialect]
    ordered: bool = False
    _opened: tuple[tuple[int, int], Any, Any] | None
    relation: str
    """What stands behind FROM, as `records`: the raw records."""
    own: Mapping[str, str]
    """What each declared column is called in statements: no stored name gets further than to the raw records, so that
    none, in whatever case, stands for what a statement computes."""

    def _prepare(self, stored: Mapping[str, Stored], columns: Mapping[str, Column], identity: str) -> None:
        """Check the declarations against the catalogue, then read every record once and count them."""
        self.stored, self.identity = dict(stored), identity
        self.columns = {name: column for name, column in columns.items() if not isinstance(column, Ignored)}
        self.own = {name: f"column{place}" for place, name in enumerate(self.columns)}
        _refuse_alike(self.stored, self.columns)
        check_declared(self.columns, self.stored)
        counts = {self._looked_at(some) for some in _groups(tuple(self.columns))}
        if len(counts) > 1:
            raise InvalidParameter("the table changed while it was opened. Open it when nobody writes to it.")
        (self.n,) = counts
        if not self.n:
            raise InvalidParameter("a table needs at least one record, got 0.")

    def _looked_at(self, names: tuple[str, ...]) -> int:
        """Look at every cell of some columns once, and count the records."""
        checked = [self.dialect.of_all([self.own[name] for name in names])] if names else []
        wanted = [self.own[name] if self._is_float(name) else self._cleaned(name) for name in names]
        source = self._relation_of(wanted, self._read(names, None, None, self._bare(names)))
        found = self._rows(f"SELECT {', '.join(['count(*)', *checked])} FROM {source}", "opened")
        return int(found[0][0])

    @abstractmethod
    def _connect(self) -> Any:
        """Open the relation in this process, or refuse."""

    def _catalogue(self) -> Mapping[str, Stored]:
        """Return what the catalogue says of every column by now; files are other files if it says anything else."""
        return self.stored

    @abstractmethod
    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that a statement gives."""

    @abstractmethod
    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        """Yield the columns of a statement's rows, a block at a time."""

    def check(self) -> None:
        """Refuse a table that cannot be reached any more, of other columns, or that records came to or went from."""
        ((count,),) = self._rows(f"SELECT count(*) FROM {self.relation}", "opened")
        if int(count) != self.n:
            raise InvalidParameter("the table no longer has as many records as when it was opened.")
        self.check_columns()

    def check_columns(self) -> None:
        """Refuse a table whose declared columns are stored otherwise than when it was opened; no record is read."""
        now = self._catalogue()
        if changed := [name for name in self.columns if now.get(name) != self.stored[name]]:
            raise InvalidParameter(
                f"the column {changed[0]!r} is no longer stored as it was when the table was opened. Open it anew."
            )

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement over cleaned records; a failure says nothing but its type."""
        return self._rows(sql, "read")

    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Stream the cleaned cells."""
        self.check()
        count = 0
        failure: str | None = None
        # Rows of a database come in no fixed order: all their columns come with one statement.
        groups = _groups(names) if self.ordered else [names]
        try:
            for streams in zip(*(self._streamed(some, part, key) for some in groups), strict=True):
                columns = [column for stream in streams for column in stream]
                if len({len(column) for column in columns}) != 1:
                    raise ValueError
                block = {name: self._typed(name, cells) for name, cells in zip(names, columns, strict=True)}
                count += len(next(iter(block.values())))
                yield block
        except Exception as error:
            failure = type(error).__name__
        if failure is not None:
            raise QueryFailed(_withheld("read", failure))
        self.check()
        if part is None and count != self.n:
            raise InvalidParameter("the table no longer has as many records as when it was opened.")

    def _streamed(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Sequence[Any]]:
        bare = self._bare(names)
        wanted = [self.own[name] if name in bare else self._cleaned(name) for name in names]
        source = self._relation_of(wanted, self._read(names, part, key, bare))
        return self._stream(self.connection, f"SELECT {', '.join(self.own[name] for name in names)} FROM {source}")

    def mismatches(self, part: Slice | None, key: str | None, unit: str | None = None) -> Floats:
        """Count the states of every column: of all rows at once, or of each person's by themselves."""
        found: list[float] = []
        for some in _groups(tuple(self.columns)):
            states = [self._from(self.dialect.state, name) for name in some]
            counts = [self.dialect.count(f"{state} = {each}") for state in states for each in (1, 2)]
            if unit is None:
                found += self.run(f"SELECT {', '.join(counts)} FROM {self._read(some, part, key)}")[0]
            else:
                source = self._read(tuple(dict.fromkeys([*some, unit])), part, key)
                found += self._counted_persons(counts, source, self.own[unit])
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def _counted_persons(self, counts: Sequence[str], source: str, owner: str) -> list[float]:
        """Add up what each person's rows come to, rounded down to a whole number of steps."""
        total = np.zeros(len(counts), dtype=np.int64)
        for columns in self._stream(
            self.connection, f"SELECT {', '.join([owner, 'count(*)', *counts])} FROM {source} GROUP BY {owner}"
        ):
            owners, rows, *found = (np.asarray(column).astype(np.int64) for column in columns)
            # Rows without an id are persons of their own.
            divisors = np.where(owners == MISSING_KEY, 1, rows)
            total += [int((STEPS * each // divisors).sum()) for each in found]
        return list(total / STEPS)

    def size(self, part: Slice | None, key: str | None) -> int:
        """Count the records of a part."""
        if part is None:
            return self.n
        (row,) = self.run(f"SELECT count(*) FROM {self._read((), part, key)}")
        return int(row[0])

    def cleaned(self, names: Sequence[str], part: Slice | None, key: str | None) -> str:
        """Print the relation of some columns, cleaned."""
        return self._relation_of([self._cleaned(name) for name in names], self._read(names, part, key))

    def _relation_of(self, wanted: Sequence[str], source: str) -> str:
        return f"(SELECT {', '.join(wanted) or '1 AS tacit_one'} FROM {source}{self.dialect.fence}) AS cleaned"

    def _cleaned(self, name: str) -> str:
        return f"{self._from(self.dialect.clean, name)} AS {self.own[name]}"

    def _is_float(self, name: str) -> bool:
        return isinstance(self.columns[name], Number) and self.stored[name].kind == "real"

    def _from(self, printed: Callable[[str, Column, Stored], str], name: str) -> str:
        return printed(self.own[name], self.columns[name], self.stored[name])

    def _bare(self, names: Sequence[str]) -> Sequence[str]:
        """Return which of some columns an engine hands over as they are stored, to be cleaned here: by default none."""
        return ()

    def _read(self, names: Sequence[str], part: Slice | None, key: str | None, bare: Sequence[str] = ()) -> str:
        """Print the relation of what is read off the cells of some columns, of the records of a part."""
        wanted = [self.own[name] if name in bare else f"{self._read_off(name)} AS {self.own[name]}" for name in names]
        needed, beside, chosen = [*names], "", ""
        if part is not None and part.by == "key":
            needed, chosen = [*names, str(key)], f" WHERE {part.sql(self._read_off(str(key)))}"
        elif part is not None:
            beside, chosen = f"row_number() OVER () - 1 AS {INDEX}", f" WHERE {part.sql(INDEX)}"
        source = f"{self._renamed(dict.fromkeys(needed), beside)}{chosen}{self.dialect.fence}"
        return f"(SELECT {', '.join(wanted) or '1 AS tacit_one'} FROM {source}) AS cells"

    def _renamed(self, names: Iterable[str], beside: str) -> str:
        """Print the relation of some stored columns under their own names."""
        columns = [f"records.{self.dialect.quoted(name)} AS {self.own[name]}" for name in names]
        columns += [beside] * bool(beside)
        return f"(SELECT {', '.join(columns) or '1 AS tacit_one'} FROM {self.relation}) AS renamed"

    def _read_off(self, name: str) -> str:
        return self.dialect.read(self.own[name], self.columns[name], self.stored[name])

    def _typed(self, name: str, cells: Any) -> Any:
        kind = np.float64 if isinstance(self.columns[name], Number | Moment) else np.int64
        return np.asarray(cells, dtype=kind)

    def _rows(self, sql: str, what: str) -> list[tuple[Any, ...]]:
        try:
            return self._run(self.connection, sql)
        except InvalidParameter:
            raise
        except Exception as error:
            failure = type(error).__name__
        # Raised out here, so that what the engine said is not even in the exception's context.
        if what == "opened":
            raise InvalidParameter(self._unreadable(failure))
        raise QueryFailed(_withheld(what, failure))

    def _unreadable(self, failure: str) -> str:
        """Say that the table cannot be opened, and where, as far as that is known; never what is there."""
        return (
            f"the table cannot be read ({failure}). What the engine said is withheld, as it may quote records; its own "
            "log has it."
        )

    @property
    def connection(self) -> Any:
        """The connection of this process."""
        return self._of_this_process()[0]

    @property
    def _turn(self) -> "threading.RLock":
        """Held by the thread that uses a connection which cannot do two things at a time, whichever table it is for."""
        return self._of_this_process()[1]

    def _of_this_process(self) -> "tuple[Any, threading.RLock]":
        known = getattr(self, "_opened", None)
        if known is None or known[0] != this_process():
            _INHERITED.append(known)
            self._hold(self._connect())
        assert self._opened is not None
        return self._opened[1:]

    def _hold(self, connection: Any) -> None:
        """Keep a connection that was made in this process."""
        with _TURNING:
            turn = _TURNS.setdefault(connection, threading.RLock())
        self._opened = (this_process(), connection, turn)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_opened": None}


def _withheld(what: str, failure: str) -> str:
    return (
        f"the engine failed ({failure}) when the records were {what}; nothing was answered. Details are withheld, as "
        "they may quote records: the engine's own log has them."
    )


def _groups(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Cut columns into groups: a statement about thousands at once takes engines as long as their square."""
    return [names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE)] or [()]


def _refuse_alike(stored: Mapping[str, Stored], columns: Mapping[str, Column]) -> None:
    """Refuse names that an engine takes for the same; quote declared ones alone."""
    seen: dict[str, str] = {}
    for name in stored:
        other = seen.setdefault(name.casefold(), name)
        if other != name and (declared := sorted({other, name} & columns.keys())):
            raise InvalidParameter(
                f"the table has another column whose name differs from {declared[0]!r} in case only. Rename one."
            )
