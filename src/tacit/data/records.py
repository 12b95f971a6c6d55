"""Records: a table and what is publicly declared about it, the one way from storage to any computation."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tacit.accounting.ledger import Ledger
from tacit.accounting.terms import check_text
from tacit.accounting.unit import RECORD, Unit
from tacit.checks import finite_number, shown
from tacit.data.columns import Column, Key, Uncoded
from tacit.data.counted import CountedPersons
from tacit.data.parts import Fixed, Slice
from tacit.data.persons import Persons
from tacit.data.room import Room
from tacit.data.schema import Schema
from tacit.data.sources.held import HeldTable
from tacit.data.sources.memory import MemoryTable
from tacit.data.sources.opening import open_table
from tacit.data.sources.table import Block, Table
from tacit.data.values import KEYS, AnyArray
from tacit.errors import InvalidParameter
from tacit.notebook import card
from tacit.numerics.arrays import Codes, Floats
from tacit.numerics.disk import can_keep_files

if TYPE_CHECKING:
    from tacit.data.mismatches import Mismatches


@final
@dataclass(frozen=True)
class _Share:
    """One part of a split: its name, its interval, and the names of all parts of that split."""

    name: str
    interval: Slice
    parts: tuple[str, ...]
    title: str


@final
class Records:
    """A table and what is publicly declared about it: its schema, and perhaps a key.

    `source` is where the records are: arrays `(X, y)` or a 2-D array in the order of the schema, a dict of columns, a
    list of dicts (or of rows, which hold all declared columns in their order), a pandas, polars or Arrow table, the
    path of a CSV or Parquet file or of a folder of them, `(address, table)` of a database (the address in the form that
    a `Ledger` takes), an Ibis table of DuckDB, PostgreSQL or Spark, or a Spark data frame.

    Guarantee: every declared column is read by a total function of that record alone into a bounded float, a whole
    number or a truth value, the same bits from every source; columns that are not declared do not exist. Nothing that
    is computed from Records fails, warns or stops because of a value in them.
    Assumes: the schema was declared without a look at the records; their number, the names and the stored types of
    the columns are public. Opening is the custodian's act, before any budget: a file that cannot be read is refused
    then, with its place and never its content.
    Reference: docs/guarantees.md, "Records"; tacit/queries/oracle/oracle.md, "Cleaning".

    `key` names a Key column that belongs to the record for good: it fixes the part that a record is in. `name` names
    these records, in this order, for good, so that answers about them are recognised after a restart.

    `unit` names a Key column of persons' ids: what is released is then private for whole persons, whatever number of
    rows they have, and `n` is the number of persons. Neighbours differ in all the rows of one person, who has at least
    one row in either and keeps their id; public is who is in the table, and how many rows anybody has is not. A row
    without an id is a person of its own. One human under several ids is protected as several; two under one id are safe
    (docs/persons.md).

    A linear model is fitted in memory if the encoded rows take at most `memory` bytes, and else from a private file on
    local disk, of at most `disk` bytes, which is gone when the fit is over, however it ends (docs/scale.md).
    """

    def __init__(
        self,
        source: Any,
        schema: Schema,
        *,
        unit: str | None = None,
        key: str | None = None,
        name: str | None = None,
        memory: int | None = None,
        disk: int = Room.disk,
    ) -> None:
        if not isinstance(schema, Schema):
            raise InvalidParameter(
                f"schema must be a tacit.Schema, got {type(schema).__name__}. Schema.draft(source) begins one."
            )
        if name is not None and (not isinstance(name, str) or not name):
            raise InvalidParameter(f"name must be a text that names these records for good, got {type(name).__name__}.")
        keys = [each for each, column in schema.columns.items() if isinstance(column, Key)]
        if key is not None and key not in keys:
            raise InvalidParameter(f"key must name a column that the schema declares as a Key ({keys!r}), got {key!r}.")
        if unit is not None and unit not in keys:
            raise InvalidParameter(
                f"unit must name a column of persons' ids that the schema declares as a Key ({keys!r}), got {unit!r}."
            )
        if unit is not None and key not in (None, unit):
            raise InvalidParameter(
                f"key must be the unit {unit!r} or be left out, got {key!r}: another key would cut persons in two."
            )
        self._schema, self._key, self._unit, self._name = schema, key if unit is None else unit, unit, name
        self._room = Room(memory, disk)
        self._table = open_table(source, schema, name, unit)
        self._share: _Share | None = None
        self._size: int | None = None
        self._twin: int | None = None
        self._persons: Persons | None = None

    @property
    def schema(self) -> Schema:
        """What is declared."""
        return self._schema

    @property
    def table(self) -> Table:
        """Where the records are, behind the cleaning step."""
        return self._table

    @property
    def room(self) -> Room:
        """How much memory and disk these records may take, encoded."""
        return self._room

    @property
    def rows(self) -> int:
        """How many rows the table has for these records: private where persons are the unit."""
        return self._table.size(self.part, self._key)

    @property
    def key(self) -> str | None:
        """The column that fixes a record's part."""
        return self._key

    @property
    def unit(self) -> str | None:
        """The column of persons' ids, if whole persons are protected; None where each record is."""
        return self._unit

    @property
    def whom(self) -> Unit:
        """What a release about these records protects, and what a ledger for it must promise for."""
        return RECORD if self._unit is None else Unit.persons(self._unit)

    @property
    def n(self) -> int:
        """The number of records, or of persons where they are the unit: public."""
        if self._unit is not None and self._size is None and hasattr(self._table, "persons"):
            self._size = self._table.persons(self.part, self._key, self._unit)
        if self._unit is not None and self._size is None:
            counted = CountedPersons()
            for block in self._table.blocks((self._unit,), self.part, self._key):
                counted.add(block[self._unit])
            self._size = counted.n
        if self._size is None:
            self._size = self._table.size(self.part, self._key)
        return self._size

    def persons(self) -> Persons | None:
        """Return whose each row is, in row order; None where each record is by itself.

        How many rows there are is private, and so is this: it is for computing what is then released.
        """
        if self._unit is None:
            return None
        if not self._table.steady:
            raise InvalidParameter("rows of a database have no fixed place: ask records.held() whose rows they are.")
        return self._owned()

    def owners(self) -> Codes | None:
        """Return for each row the number of the person whose it is; None where each record is by itself. Private."""
        found = self.persons()
        return None if found is None else found.owners

    def targets(self) -> AnyArray:
        """Return the target of every record, cleaned: a number, or the place of a declared level, -1 for none."""
        target = str(self.schema.target)
        return np.concatenate([block[target] for block in self.blocks((target,))])

    def labels(self) -> AnyArray:
        """Return the target of every record: the name of its class, None where it has none, or a number."""
        found, classes = self.targets(), self._schema.classes
        return np.array([*classes, None], dtype=object)[found] if classes else found

    def weights(self) -> Floats | None:
        """Return for each row 1/k, rounded down, if its person has k rows; None where each record is by itself."""
        found = self.persons()
        return None if found is None else found.weights

    def _owned(self) -> Persons:
        """Read whose the rows are, once."""
        if self._persons is None:
            name = str(self._unit)
            blocks = [block[name] for block in self._table.blocks((name,), self.part, self._key)]
            self._persons = Persons.of(np.concatenate(blocks), self.whom)
        return self._persons

    def __len__(self) -> int:
        return self.n

    @property
    def part(self) -> Slice | None:
        """Which part of the table these records are; None for all of it."""
        return None if self._share is None else self._share.interval

    @property
    def part_name(self) -> str | None:
        """What that part is called."""
        return None if self._share is None else self._share.name

    @property
    def split_name(self) -> str | None:
        """What an account calls the split that these records are a part of."""
        return None if self._share is None else self._share.title

    @property
    def table_name(self) -> str:
        """Which table these records are of, told apart as splits are in a ledger: one text for all parts of it."""
        return hashlib.sha256(self._table.identity.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def identity(self) -> str:
        """A text that is the same only for the same records, cleaned in the same way."""
        share = "" if self._share is None else f" part {self._share.interval} of {self._share.title!r}"
        whom = "" if self._unit is None else f" of persons {self._unit!r}"
        return f"{self._table.identity}{share}{whom} under {self._schema.to_toml()}"

    @property
    def columns(self) -> Mapping[str, Column]:
        """The declared columns that can be asked about: neither ignored nor keys."""
        return {name: column for name, column in self._schema.columns.items() if not isinstance(column, Uncoded)}

    def split(self, *shares: float, by: Fixed = "index", names: Sequence[str] | None = None) -> "tuple[Records, ...]":
        """Cut the records into parts, fixed by their place or by the key; the default is 0.8 and 0.2.

        Guarantee: what is charged to a ledger for different parts composes in parallel: together they cost the largest.
        Assumes: places do not depend on values (`by="index"`), or keys belong to their records for good (`by="key"`).
        Persons are in one part with all their rows: records with a unit are split by it (`by="key"`).
        Reference: parallel composition, tacit/accounting/ledger.md.
        """
        cut = tuple(finite_number("each share", share) for share in shares or (0.8, 0.2))
        if by not in ("index", "key"):
            raise InvalidParameter(f'by must be "index" or "key", got {by!r}.')
        if by == "index" and self._unit is not None:
            raise InvalidParameter(
                f'by="index" would cut persons in two: split records with a unit by it, {self._unit!r}, with by="key".'
            )
        if by == "key" and self._key is None:
            raise InvalidParameter('by="key" needs a key: Records(..., key="the column declared as a Key").')
        if by == "index" and not self._table.ordered:
            raise InvalidParameter('rows of a database have no fixed place: split them by="key".')
        if self._share is not None:
            raise InvalidParameter(
                "these records are a part already. Split the whole table into all the parts at once."
            )
        if min(cut) <= 0 or abs(sum(cut) - 1.0) > 1e-9 or len(cut) < 2:
            raise InvalidParameter(f"shares must be two or more positive numbers that add up to 1, got {shown(cut)}.")
        usual = ("train", "test") if len(cut) == 2 else [f"part {number + 1}" for number in range(len(cut))]
        labels = _names(usual if names is None else names, len(cut))
        ends = [0, *(round(KEYS * sum(cut[: place + 1])) for place in range(len(cut) - 1)), KEYS]
        title = f"split by {self._key if by == 'key' else 'index'} at {ends[1:-1]} of {self.table_name}"
        parts = tuple(
            self._with(_share=_Share(label, Slice(by, low, high), labels, title))
            for label, low, high in zip(labels, ends, ends[1:], strict=False)
        )
        if any(part.n == 0 for part in parts):
            raise InvalidParameter(
                f"every part needs at least one {self.whom.kind}, got {[part.n for part in parts]!r} of them."
            )
        return parts

    def account(self, ledger: Ledger | None) -> Ledger | None:
        """Return the account that pays for what is asked about these records: for a part, that part's own.

        Nobody pays for made-up records: whoever asks this takes the coins from `coins`, which make it a rehearsal.
        """
        if ledger is None or self.is_twin:
            return None
        if not isinstance(ledger, Ledger):
            raise InvalidParameter(
                f"ledger must be an account that is open, got {type(ledger).__name__}. Use Ledger.open(address)."
            )
        if self._share is None:
            return ledger
        share = self._share
        # What is refused for its unit leaves no split behind.
        ledger.require(self.whom)
        return ledger.partition(share.title, list(share.parts), fixed_by=share.interval.by)[share.name]

    @property
    def is_twin(self) -> bool:
        """Whether these records are made up."""
        return self._twin is not None

    def twin(self, seed: int = 0, *, signal: float = 3.0) -> "Records":
        """Return as many made-up records under the same schema: for writing and trying an analysis before it costs.

        Guarantee: nothing of these records but their number, which is public, and what was declared about them.
        Assumes: nothing.
        Reference: `Schema.twin`.
        """
        return self._schema.twin(self.n, seed, signal=signal, key=self._key)._with(_unit=self._unit)

    def marked_as_twin(self, seed: int) -> "Records":
        """Return the records marked as made up: what is asked about them is a rehearsal from this seed."""
        return self._with(_twin=seed)

    def coins(self, random_state: object) -> object:
        """Return what noise about these records is drawn from: for made-up ones always a seed, which never charges."""
        return self._twin if random_state is None else random_state

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield the cleaned cells of some declared columns, in blocks of bounded size; nobody can write into them."""
        wanted = tuple(self.columns if names is None else names)
        for name in wanted:
            if name not in self._table.columns:
                raise InvalidParameter(f"there is no declared column {name!r}.")
        return map(_sealed, self._table.blocks(wanted, self.part, self._key))

    def held(self) -> "Records":
        """Return the same records, read once if rows have no fixed place, so that two readings have the same order.

        More than the records' memory are held in a private file, which is gone with them; so are all rows of persons,
        whose number decides nothing that could fail before a charge.

        Who pays for what is asked about them is said by `account` of these records, not of those.
        """
        if self._table.steady:
            return self
        in_file = can_keep_files() if self._unit is not None else not self._room.holds(self.n, len(self._table.columns))
        return self._with(_table=HeldTable(self) if in_file else MemoryTable.of(self), _share=None)

    def chosen(self, rows: Codes) -> "Records":
        """Return some rows, by their place among these, read into memory.

        Who pays for what is asked about them is said by `account` of these records, not of those.
        """
        return self._with(_table=MemoryTable.of(self, rows), _share=None)

    def mismatches(
        self, *, epsilon: float, delta: float = 0.0, ledger: Ledger | None = None, random_state: object = None
    ) -> "Mismatches":
        """Release, for one charge, how many values of each column were missing or undeclared; warn above 5 %.

        Guarantee: (epsilon, delta)-private, for whole persons where they are the unit.
        Assumes: replace-one neighbours; n and the schema are public.
        Reference: `tacit.data.mismatches.mismatches`.
        """
        from tacit.data.mismatches import mismatches

        return mismatches(self, epsilon=epsilon, delta=delta, ledger=ledger, random_state=random_state)

    def _with(self, **changes: object) -> "Records":
        other = object.__new__(Records)
        other.__dict__.update(vars(self) | {"_size": None, "_persons": None} | changes)
        return other

    def _repr_html_(self) -> str:
        facts = {"n": self.n, "protected": str(self.whom), "real": "NO: made up, a twin" if self.is_twin else "yes"}
        return card("Records", facts) + self._schema._repr_html_()

    def __repr__(self) -> str:
        where = "" if self._share is None else f", part={self._share.name!r}"
        where += ", MADE UP (a twin: no record is real)" if self.is_twin else ""
        whom = "" if self._unit is None else f", unit={self._unit!r}"
        return f"Records(n={self.n}, columns={len(self.columns)}{where}{whom})"


def _names(names: object, count: int) -> tuple[str, ...]:
    """Return the names of so many parts, if they are different texts."""
    given: Any = names.tolist() if isinstance(names, np.ndarray) else names
    texts = isinstance(given, list | tuple) and all(isinstance(name, str) and name for name in given)
    if not texts or not len(given) == len(set(given)) == count:
        raise InvalidParameter(f"names must be a list of {count} different texts, one a part, got {shown(names)}.")
    for name in given:
        check_text("part", name)
    return tuple(given)


def _sealed(block: Block) -> Block:
    for cells in block.values():
        cells.flags.writeable = False
    return block


def payer(X: Any, ledger: Ledger | None, random_state: object) -> tuple[Ledger | None, Any]:
    """Return who pays for what is released about a table, and its coins: `Records` may have an account of their own."""
    return (X.account(ledger), X.coins(random_state)) if isinstance(X, Records) else (ledger, random_state)
