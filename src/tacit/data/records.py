"""Records: a table and what is publicly declared about it, read once."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tacit.accounting.ledger import Ledger
from tacit.accounting.terms import check_text
from tacit.accounting.unit import RECORD, Unit
from tacit.checks import finite_number, is_whole, shown
from tacit.data.column_words import column_in_words
from tacit.data.columns import Column, Key, Uncoded
from tacit.data.parts import Fixed, Slice
from tacit.data.readers.spark import is_spark, open_spark
from tacit.data.schema import Schema
from tacit.data.source_opening import open_source
from tacit.data.store.packed_file import ENDING, is_packed, open_packed, pack
from tacit.data.store.reading import read_store
from tacit.data.store.store import View
from tacit.data.stored import Stored
from tacit.data.values import KEYS
from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.notebook import card
from tacit.numerics.arrays import Codes, Truths
from tacit.numerics.process import address_limit
from tacit.secret import Secret, open_secret

if TYPE_CHECKING:
    from tacit.data.mismatches import Mismatches


@final
@dataclass(frozen=True)
class PublicFacts:
    """What everybody may know of records: their declarations, how many there are, and which part of which table.

    `n` is the number of records, or of persons where they are the unit. `ordered` says whether records have a place
    that no value decides. `where` says where the store of their cells lies.
    """

    schema: Schema
    n: int
    whom: Unit
    key: str | None
    ordered: bool
    stored: Mapping[str, Stored]
    where: str
    name: str
    share: "Share | None" = None
    twin: int | None = None


@final
@dataclass(frozen=True)
class Share:
    """One part of a split: its name, its interval, the names of all parts, and what an account calls that split."""

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
    a `Ledger` takes), an Ibis table, a Spark data frame, a folder of Parquet that the executors of Spark read
    (`SparkFolder`), or the path of records that were packed (`Records.pack`), which bring their schema, unit and key
    along.

    Guarantee: the source is read once, here: every declared column by a total function of one record alone, into
    bounded floats, whole numbers or truth values; columns that are not declared do not exist. Nothing that is computed
    from Records later fails, warns or stops because of a value in them, or sees the source again.
    Assumes: the schema was declared without a look at the records; their number, the names and the stored types of
    the columns are public. Opening is the custodian's act, before any budget: what cannot be read is refused then, with
    its place and never its content.
    Reference: docs/guarantees.md, "Records"; tacit/queries/oracle/oracle.md, "Cleaning".

    `key` names a Key column that belongs to the record for good: it fixes the part that a record is in. `name` names
    these records, in this order, for good, so that answers about them are recognised after a restart.

    `unit` names a Key column of persons' ids: what is released is then private for whole persons, whatever number of
    rows they have, and `n` is the number of persons. Neighbours differ in all the rows of one person, who has at least
    one row in either and keeps their id; public is who is in the table, and how many rows anybody has is not. A row
    without an id is a person of its own. One human under several ids is protected as several; two under one id are safe
    (docs/persons.md).

    Cleaned cells that take more than `memory` bytes lie in a private file on local disk instead, those of a Spark table
    in private files that its cluster shares (docs/scale.md).
    """

    def __init__(
        self,
        source: Any,
        schema: Schema | None = None,
        *,
        unit: str | None = None,
        key: str | None = None,
        name: str | None = None,
        memory: int | None = None,
    ) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise InvalidParameter(f"name must be a text that names these records for good, got {type(name).__name__}.")
        self._memory = _checked_memory(memory)
        if is_packed(source):
            packed = open_packed(Path(source))
            if (schema, unit, key) != (None, None, None) and (schema, unit, key) != (
                packed.schema, packed.unit, packed.key,
            ):  # fmt: skip
                raise InvalidParameter("packed records bring their schema, unit and key along: leave them out.")
            store, schema, unit, key = packed.store, packed.schema, packed.unit, packed.key
        elif is_spark(source):
            from tacit.data.store.spark_store import read_on_cluster

            schema = _checked(schema, unit, key)
            store = read_on_cluster(open_spark(source), schema, unit=unit, name=name)
        else:
            schema = _checked(schema, unit, key)
            store = read_store(open_source(source, schema, unit), schema, unit=unit, memory=self._memory, name=name)
        view = View(store)
        self._secret = Secret(view)
        whom = RECORD if unit is None else Unit.persons(unit)
        self._facts = PublicFacts(
            schema, view.n, whom, key if unit is None else unit, store.ordered, store.stored, store.where,
            name or store.name,
        )  # fmt: skip

    @property
    def facts(self) -> PublicFacts:
        """All that is public about these records."""
        return self._facts

    @property
    def memory(self) -> int:
        """How many bytes cells, or rows that are made of them, may take in memory."""
        return self._memory

    @property
    def secret(self) -> Secret[View]:
        """The cleaned cells, for the sealed section."""
        return self._secret

    @property
    def schema(self) -> Schema:
        """What is declared."""
        return self._facts.schema

    @property
    def key(self) -> str | None:
        """The column that fixes a record's part."""
        return self._facts.key

    @property
    def unit(self) -> str | None:
        """The column of persons' ids, if whole persons are protected; None where each record is."""
        return None if self.whom == RECORD else self.key

    @property
    def whom(self) -> Unit:
        """What a release about these records protects, and what a ledger for it must promise for."""
        return self._facts.whom

    @property
    def n(self) -> int:
        """The number of records, or of persons where they are the unit: public."""
        return self._facts.n

    def __len__(self) -> int:
        return self.n

    @property
    def table_name(self) -> str:
        """Which table these records are of, told apart as splits are in a ledger: one text for all parts of it."""
        return hashlib.sha256(self._facts.name.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def identity(self) -> str:
        """A text that is the same only for the same records, cleaned in the same way."""
        share = self._facts.share
        part = "" if share is None else f" part {share.interval} of {share.title!r}"
        whom = "" if self.unit is None else f" of persons {self.unit!r}"
        return f"{self._facts.name}{part}{whom} under {self.schema.to_toml()}"

    @property
    def columns(self) -> Mapping[str, Column]:
        """The declared columns that can be asked about: neither ignored nor keys."""
        return {name: column for name, column in self.schema.columns.items() if not isinstance(column, Uncoded)}

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
        if by == "index" and self.unit is not None:
            raise InvalidParameter(
                f'by="index" would cut persons in two: split records with a unit by it, {self.unit!r}, with by="key".'
            )
        if by == "key" and self.key is None:
            raise InvalidParameter('by="key" needs a key: Records(..., key="the column declared as a Key").')
        if by == "index" and not self._facts.ordered:
            raise InvalidParameter('rows of a database have no fixed place: split them by="key".')
        if self._facts.share is not None:
            raise InvalidParameter(
                "these records are a part already. Split the whole table into all the parts at once."
            )
        if min(cut) <= 0 or abs(sum(cut) - 1.0) > 1e-9 or len(cut) < 2:
            raise InvalidParameter(f"shares must be two or more positive numbers that add up to 1, got {shown(cut)}.")
        usual = ("train", "test") if len(cut) == 2 else [f"part {number + 1}" for number in range(len(cut))]
        labels = _names(usual if names is None else names, len(cut))
        ends = [0, *(round(KEYS * sum(cut[: place + 1])) for place in range(len(cut) - 1)), KEYS]
        title = f"split by {self.key if by == 'key' else 'index'} at {ends[1:-1]} of {self.table_name}"
        column = self.key if by == "key" else None
        cuts = [
            Share(label, Slice(low, high, column), labels, title)
            for label, low, high in zip(labels, ends, ends[1:], strict=False)
        ]
        parts = tuple(self._over(open_secret(self._secret).within(cut.interval), share=cut) for cut in cuts)
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
        if self._facts.share is None:
            return ledger
        share = self._facts.share
        # What is refused for its unit leaves no split behind.
        ledger.require(self.whom)
        return ledger.partition(share.title, list(share.parts), fixed_by=share.interval.by)[share.name]

    @property
    def is_twin(self) -> bool:
        """Whether these records are made up."""
        return self._facts.twin is not None

    def twin(self, seed: int = 0, *, signal: float = 3.0) -> "Records":
        """Return as many made-up records under the same schema: for writing and trying an analysis before it costs.

        Guarantee: nothing of these records but their number, which is public, and what was declared about them.
        Assumes: nothing.
        Reference: `Schema.twin`.
        """
        made = self.schema.twin(self.n, seed, signal=signal, key=self.key)
        return made._with(replace(made._facts, whom=self.whom))

    def marked_as_twin(self, seed: int) -> "Records":
        """Return the records marked as made up: what is asked about them is a rehearsal from this seed."""
        return self._with(replace(self._facts, twin=seed))

    def coins(self, random_state: object) -> object:
        """Return what noise about these records is drawn from: for made-up ones always a seed, which never charges."""
        return self._facts.twin if random_state is None else random_state

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

    def pack(self, path: str | Path) -> "Records":
        """Keep these records in a file that its owner alone can read, and return them as opened from there.

        The file has an identity of its own, drawn at random, by which ledgers and answers know its records from then
        on, wherever it is moved: ask about the packed records, not about the source as well, or a ledger takes them for
        others.
        """
        if not is_packed(path):
            raise InvalidParameter(f"packed records are files that end with {ENDING}, got {str(path)!r}.")
        if self._facts.share is not None or self.is_twin:
            raise InvalidParameter("whole tables of real records are packed, neither parts nor twins.")
        if Path(path).exists():
            raise InvalidParameter(
                f"there is {str(path)!r} already, and ledgers know its records by it. Name another file, or remove it."
            )
        pack(open_secret(self._secret).store, self.schema, self.unit, self.key, path)
        return Records(path)

    def describe(self) -> str:
        """Say what is public about these records: how many, whose, where they are kept, and what was declared."""
        facts, schema = self._facts, self.schema
        count = f"{self.n:,} {facts.whom.kind}{'' if self.n == 1 else 's'}"
        rows = "" if self.unit is None else f", each with all rows of one {self.unit!r}"
        classes = f", one of {', '.join(schema.classes)}" if schema.classes else ""
        lines = {
            "records": f"{count}, MADE UP (a twin: no record is real)" if self.is_twin else f"{count}{rows}",
            "part": "all" if facts.share is None else f"{facts.share.name}, of {', '.join(facts.share.parts)}",
            "split by": self.key or ("place" if facts.ordered else "nothing: rows have no place, and there is no key"),
            "target": "none" if schema.target is None else f"{schema.target}{classes}",
            "weight": "all count alike" if schema.weight is None else f"{schema.weight}, of fits",
            "kept in": facts.where,
        }
        width = max(map(len, schema.columns))
        columns = [f"  {name:{width}}  {column_in_words(column)}" for name, column in schema.columns.items()]
        return "\n".join([*(f"{name:9} {words}" for name, words in lines.items()), "columns", *columns])

    def _over(self, view: View, **changes: Any) -> "Records":
        """Return the records of some rows of these."""
        found = self._with(replace(self._facts, n=view.n, **changes))
        found._secret = Secret(view)
        return found

    def _with(self, facts: PublicFacts) -> "Records":
        other = object.__new__(Records)
        other.__dict__.update(vars(self) | {"_facts": facts})
        return other

    def __reduce__(self) -> Any:
        view = open_secret(self._secret)
        path, is_whole = view.store.path, (view.marks is None) == (self._facts.share is None)
        if path is None or not is_whole or self.is_twin:
            raise InvalidParameter(
                "records are read once, by one process. To hand them to others, pack them: "
                f"Records(...).pack('name{ENDING}') writes a private file that each process opens by its path."
            )
        return _unpickled, (str(Path(path).absolute()), view.store.name, self._facts.name, self._facts.share)

    def __copy__(self) -> "Records":
        return self

    def __deepcopy__(self, memo: Any) -> "Records":
        return self

    def _repr_html_(self) -> str:
        facts = {"n": self.n, "protected": str(self.whom), "real": "NO: made up, a twin" if self.is_twin else "yes"}
        return card("Records", facts) + self.schema._repr_html_()

    def __repr__(self) -> str:
        where = "" if self._facts.share is None else f", part={self._facts.share.name!r}"
        where += ", MADE UP (a twin: no record is real)" if self.is_twin else ""
        whom = "" if self.unit is None else f", unit={self.unit!r}"
        return f"Records(n={self.n}, columns={len(self.columns)}{where}{whom})"


def subset(records: Records, slots: Truths) -> Records:
    """Return the records, or all rows of the persons, of some slots, in place; persons without an id are one slot.

    Who pays for what is asked about them is said by `account` of those records, not of these.
    """
    return records._over(open_secret(records._secret).of_slots(slots), share=None, name=unique_name())


def taken(records: Records, places: Codes) -> Records:
    """Return the rows at some places, in this order, copied into memory; as `subset` otherwise."""
    return records._over(open_secret(records._secret).taken(places), share=None, name=unique_name())


def _unpickled(path: str, identity: str, name: str, share: Share | None) -> Records:
    """Open packed records in another process, if they are the ones that were sent there."""
    records = Records(path, name=name)
    view = open_secret(records._secret)
    if view.store.name != identity:
        raise InvalidParameter(f"{path!r} has other packed records than those that were handed on. Put them back.")
    return records if share is None else records._over(view.within(share.interval), share=share)


def _checked(schema: object, unit: str | None, key: str | None) -> Schema:
    """Return the schema, if its keys are those that are named."""
    if not isinstance(schema, Schema):
        raise InvalidParameter(
            f"schema must be a tacit.Schema, got {type(schema).__name__}. Schema.draft(source) begins one."
        )
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
    return schema


def _checked_memory(memory: Any) -> int:
    """Return how many bytes cells may take in memory: half a GiB, or a 32nd part of what the process may map."""
    if memory is None:
        return min(2**29, (address_limit() or 2**34) // 32)
    if not is_whole(memory) or not 1 <= memory < 2**63:
        raise InvalidParameter(f"memory must be a whole number of bytes, such as 2**30, got {memory!r}.")
    return int(memory)


def _names(names: object, count: int) -> tuple[str, ...]:
    """Return the names of so many parts, if they are different texts."""
    given: Any = names.tolist() if isinstance(names, np.ndarray) else names
    texts = isinstance(given, list | tuple) and all(isinstance(name, str) and name for name in given)
    if not texts or not len(given) == len(set(given)) == count:
        raise InvalidParameter(f"names must be a list of {count} different texts, one a part, got {shown(names)}.")
    for name in given:
        check_text("part", name)
    return tuple(given)


def payer(X: Any, ledger: Ledger | None, random_state: object) -> tuple[Ledger | None, Any]:
    """Return who pays for what is released about a table, and its coins: `Records` may have an account of their own."""
    return (X.account(ledger), X.coins(random_state)) if isinstance(X, Records) else (ledger, random_state)
