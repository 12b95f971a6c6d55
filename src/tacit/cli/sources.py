"""What commands take: the address of a table, a schema, records, a ledger."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tacit.accounting.ledger import Ledger
from tacit.cli.answering import Answering
from tacit.data.columns import Key
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.store.packed_file import is_packed, schema_of_packed
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import HELD_OUT, LearnedFrom
from tacit.numerics.progress import progress

Source = Annotated[
    str,
    typer.Argument(
        help="A CSV or Parquet file, a folder of them, a database's address and #table, or records that were packed."
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", help="The columns, declared: tacit schema draft begins one. Packed records have theirs."),
]
LedgerAddress = Annotated[
    str | None, typer.Option("--ledger", help="The account to charge: sqlite:///file.db or postgresql://host/database.")
]
AccountName = Annotated[str | None, typer.Option("--account", help="Which account, if there are several.")]
UnitColumn = Annotated[str | None, typer.Option("--unit", help="Protect persons: the key column of their ids.")]
KeyColumn = Annotated[
    str | None, typer.Option("--key", help="The key column that fixes the part of a record; a --unit does, too.")
]
_PARTS = "Which part: all, train or test of a split in 80 and 20 %, or one of `ledger partition`, site=north."


def _known_part(part: str | None) -> str | None:
    """Refuse what names no part."""
    if part is not None and part not in ("all", "train", "test") and not all(part.partition("=")):
        raise typer.BadParameter(f"{part!r} is not one of all, train, test, or TITLE=PART of a ledger partition.")
    return part


Part = Annotated[str, typer.Option(help=_PARTS, callback=_known_part)]
PartToJudge = Annotated[
    str | None,
    typer.Option("--part", help=f"{_PARTS} By default the one not learned from.", callback=_known_part),
]

Seed = Annotated[int | None, typer.Option(help="Rehearse: repeatable, NOT private, never charged.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and do nothing.")]
ModelOutput = Annotated[Path, typer.Option(help="The model file.")]
ModelReport = Annotated[Path | None, typer.Option(help="The report; by default beside the model, as .html.")]


def source_of(text: str) -> Any:
    """Return what `Records` take: a path, or an address and a table where the text is address#table."""
    address, mark, table = text.rpartition("#")
    if mark and "://" in address:
        return address, table
    return text


def schema_of(schema: Path | None, text: str) -> Schema:
    """Read what was declared about a table, which packed records bring along."""
    if is_packed(text):
        if schema is not None:
            raise InvalidParameter("packed records bring their schema along. Leave --schema out.")
        return schema_of_packed(Path(text))
    if schema is None:
        raise InvalidParameter("a table needs its --schema: `tacit schema draft` begins one.")
    return Schema.load(schema)


def opened(text: str, schema: Schema, out: Answering, *, unit: str | None = None, key: str | None = None) -> Records:
    """Open records, packed ones under the schema that they bring along, and show how far that is where it is public."""
    with (
        out.progress("reading records") as step,
        progress(rows=lambda done, total: step(completed=done, total=total)),
    ):
        return Records(source_of(text), None if is_packed(text) else schema, unit=unit, key=key)


def part_of(records: Records, part: str) -> Records:
    """Take a part of records; parts are fixed by the key or the unit if there is one, else by place.

    A table that is a part of an account's own partition is that part as a whole.
    """
    if part not in ("train", "test"):
        return records
    train, test = records.split(by="index" if records.key is None else "key")
    return train if part == "train" else test


def to_judge(
    origin: LearnedFrom | None,
    text: str,
    schema: Schema,
    out: Answering,
    *,
    unit: str | None,
    key: str | None,
    part: str | None,
) -> tuple[Records, str]:
    """Open the records to judge a model on, and say which part they are: by default one that it did not learn from."""
    records = opened(text, schema, out, unit=unit, key=key)
    known = origin is not None and origin.table == records.table_name
    if origin is None or origin.whole or (part is not None and not known):
        return part_of(records, part or "all"), part or "all"
    if not known:
        raise InvalidParameter(
            f"the model learned from {origin}. Whether any of these are among them is not known: the table is another, "
            "or the same one copied, moved or touched since. If it is another, give --part all; if it is the same, the "
            f"part that was not learned from: --part train or test{f' with --key {origin.key}' if origin.key else ''}."
        )
    if records.key is None and origin.key:
        records = opened(text, schema, out, unit=origin.unit or None, key=origin.key)
    if part in (None, "train", "test") and (records.key or "") != origin.key:
        raise InvalidParameter(
            f"the model learned from {origin}: parts by {records.key or 'their place'} overlap that, so none of them "
            f"is held out. {f'Give --key {origin.key}' if origin.key else 'Leave --key and --unit out'}, or --part all."
        )
    if part is not None:
        return part_of(records, part), part
    for name in ("test", "train"):
        judged = part_of(records, name)
        if origin.says_of(LearnedFrom.of(judged)) == HELD_OUT:
            return judged, name
    raise InvalidParameter(
        f"the model learned from {origin}, which reaches into both 'train' and 'test': none of them is held out. Judge "
        "it in Python, on another part of its split, or say which records you mean: --part all, train or test."
    )


def account(
    address: str | None,
    name: str | None,
    seed: int | None = None,
    epsilon: float | None = None,
    part: str | None = None,
) -> Ledger | None:
    """Open a ledger if one is named; refuse a seed beside it, which makes a rehearsal: not private, not charged.

    An infinite epsilon is a rehearsal as well, and has to be asked for as one.
    """
    if epsilon == math.inf and seed is None:
        raise InvalidParameter("an infinite epsilon is NOT private: give a finite --epsilon, or --seed to rehearse.")
    if seed is not None and address is not None:
        raise InvalidParameter(
            "a seed makes a rehearsal, which is not private and never charged: give --seed or --ledger, not both."
        )
    if address is None and name is not None:
        raise InvalidParameter("--account names an account of a ledger: give --ledger as well.")
    found = None if address is None else Ledger.open(address, name=name)
    title, mark, own = (part or "").partition("=")
    if not mark:
        return found
    if found is None:
        raise InvalidParameter(f"--part {part} is a part of an account: give --ledger as well.")
    for entry in found.entries():
        if entry.partition is not None and not entry.path and entry.label == title and own in entry.partition.parts:
            return found.partition(title, entry.partition.parts, fixed_by=cast("Any", entry.partition.fixed_by))[own]
    raise InvalidParameter(f"the account has no part {part!r}. `tacit ledger partition` makes parts.")


def to_predict(schema: Schema, features: Sequence[str]) -> Schema:
    """Return the part of a schema that predictions need: neither target nor ids."""
    columns = {name: column for name, column in schema.columns.items() if name in features}
    return Schema({name: column for name, column in columns.items() if not isinstance(column, Key)}, form=schema.form)
