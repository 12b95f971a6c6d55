"""Registering a table: the custodian's act, and the only moment at which its defects are seen.

The table is read and cleaned once, kept, given an account of its own, and from then on only answered about.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import PUBLIC
from tacit.budget import Budget
from tacit.checks import exact_number
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.sources.kept import keep
from tacit.errors import InvalidParameter
from tacit.files import private_folder
from tacit.noise import unique_name
from tacit.service.clock import now
from tacit.service.datasets import NAME, PARTS, opened, split
from tacit.service.settings import Settings
from tacit.service.state import DATASET, State

Accountant = Literal["basic", "renyi", "gaussian"]


@final
@dataclass(frozen=True)
class Declared:
    """What a custodian declares about a table, all of it public, and signs."""

    name: str
    schema: Schema
    budget: Budget
    signed_by: str
    unit: str | None = None
    key: str | None = None
    accountant: Accountant = "basic"
    shares: Mapping[str, float] = field(default_factory=dict)
    public: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise InvalidParameter(
                "a data set's name has up to 63 small letters, digits, _ and -, and begins with a letter or a digit."
            )
        if not self.signed_by.strip():
            raise InvalidParameter("somebody must sign for what is declared public: signed_by = a name.")


def register(declared: Declared, source: Any, state: State, settings: Settings) -> None:
    """Read, clean and keep a table, open its account, and write down what is public of it."""
    records = Records(source, declared.schema, unit=declared.unit, key=declared.key)
    folder = private_folder(settings.tables) / f"{declared.name}-{unique_name()}"
    kept = {"folder": keep(records, folder).folder.name}
    document = _document(declared, records)
    _open_account(declared, document, opened(kept, document, declared.schema, settings.tables), settings)
    row = {"name": declared.name, "document": json.dumps(document), "kept": json.dumps(kept), "marks": "[]"}
    with state.writing() as connection:
        if connection.execute(sa.select(DATASET.c.name).where(DATASET.c.name == declared.name)).first():
            raise InvalidParameter(f"there is a data set {declared.name!r} already: its records cannot be changed.")
        connection.execute(sa.insert(DATASET).values(**row, created=now()))


def _document(declared: Declared, records: Records) -> dict[str, Any]:
    public = [PUBLIC[records.whom], "the names of the columns and all that is declared about them", *declared.public]
    return {
        "name": declared.name,
        "identity": f"{declared.name} {unique_name()}",
        "n": records.n,
        "unit": declared.unit,
        "key": declared.key,
        "schema": declared.schema.to_toml(),
        "account": declared.name,
        "shares": {name: str(_share(name, share)) for name, share in declared.shares.items()},
        "public": public,
        "signed_by": declared.signed_by,
        "parts": list(PARTS) if records.key is not None or records.table.ordered else ["all"],
        "block_of": None,
    }


def _open_account(declared: Declared, document: Mapping[str, Any], records: Records, settings: Settings) -> None:
    """Open the account, and declare its parts before anybody asks about one."""
    if "://" not in settings.ledgers:
        private_folder(settings.ledgers)
    name = document["account"]
    ledger = Ledger.open_or_create(
        settings.account(name),
        name=name,
        budget=declared.budget,
        accountant=declared.accountant,
        unit=records.whom,
    )
    if len(document["parts"]) > 1:
        split(records)[0].account(ledger)


def _share(name: str, share: object) -> Fraction:
    found = exact_number(f"the share of {name!r}", share)
    if not 0 < found <= 1:
        raise InvalidParameter(f"a share of the budget lies above 0 and is at most 1, got another for {name!r}.")
    return found
