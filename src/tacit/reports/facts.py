"""What software knows about a release, in the words that a card and a report share."""

import json
from collections.abc import Mapping
from typing import Any

from tacit.accounting.events import event_to_json
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import PUBLIC, Kind, Unit
from tacit.budget import Budget
from tacit.data.column_words import column_in_words
from tacit.data.schema import Schema
from tacit.version import VERSION

DECLARED = "the names of the columns and all that is declared about them"
_ROOM_FOR_COLUMNS = 20_000

DRAWING = (
    f"tacit {VERSION} draws all noise as integers on a public grid of powers of two, keyed by the operating system's "
    "source of randomness; the samplers' errors, rounding included, are proved and paid for out of epsilon. A ledger "
    "is charged before noise is drawn. How long a computation takes is not hidden, and is not shown to whoever gets "
    "the release alone."
)
CLEANING = (
    "Every cell is read by a total function of itself, by what was declared about its column: numbers are clamped to "
    "declared bounds, undeclared levels and missing values go to a declared place. Records are coded into a unit ball "
    "by the declarations alone, and clipped to it."
)
POST = "Predictions, pictures and tables of the released numbers: none of them reads a record again."


def domain_in_words(schema: Schema | None, features: int, unit: Kind) -> str:
    """Say over which tables the guarantee holds."""
    whose = "records" if unit == "record" else "persons with any number of records each"
    if schema is None:
        return f"All tables of the same number of {whose}, with {features} numbers each and a target."
    return f"All tables of the same number of {whose} with the columns {_columns_in_words(schema)}."


def _columns_in_words(schema: Schema) -> str:
    """Say what was declared about the columns, as many as there is room for, and how many more there are."""
    named, room = [], _ROOM_FOR_COLUMNS
    for name, column in schema.columns.items():
        words = f"{name}: {column_in_words(column)}"
        room -= len(words)
        if room < 0:
            break
        named.append(words)
    more = len(schema.columns) - len(named)
    return "; ".join([*named, f"and {more:,} more, which the model's schema declares"] if more else named)


def unit_in_words(whom: Unit) -> str:
    """Say who is protected."""
    return f"one {whom}" if whom.kind == "record" else f"one {whom}, with all their records"


def adjacency_in_words(whom: Unit) -> str:
    """Say which two tables are neighbours."""
    if whom.kind == "record":
        return "Two tables are adjacent when one record of the one is replaced by any other record (replace-one)."
    return (
        "Two tables are adjacent when the records of one person are replaced by any number of any other records with "
        f"the same id (replace-one {whom})."
    )


def public_in_words(unit: Kind, public: tuple[str, ...]) -> str:
    """Say what was taken to be public, and is not protected."""
    return "; ".join((PUBLIC[unit], DECLARED, *public)) + "."


def flavor(budget: Budget | None) -> str:
    """Return the registry's word for a kind of differential privacy."""
    return "other" if budget is None else "Pure DP" if budget.is_pure else "Approximate DP"


def parameters(budget: Budget | None) -> Mapping[str, Any]:
    """Return epsilon and delta as numbers."""
    if budget is None:
        return {}
    return {"epsilon": budget.epsilon} if budget.is_pure else {"epsilon": budget.epsilon, "delta": budget.delta}


def account(ledger: Ledger) -> dict[str, Any]:
    """Return what an account holds, as plain values."""
    return {
        "name": ledger.name,
        "accountant": ledger.accountant,
        "budget": exact_amount(ledger.budget),
        "spent": exact_amount(ledger.spent),
        "left": exact_amount(ledger.remaining),
        "head": ledger.head,
    }


def charge(entry: Entry) -> dict[str, Any]:
    """Return one entry of an account, as plain values."""
    return {
        "number": entry.number,
        "time": entry.time,
        "label": entry.label,
        "part": [list(step) for step in entry.path],
        "charged": exact_amount(entry.amount),
        "event": None if entry.event is None else json.loads(event_to_json(entry.event)),
        "parts": [] if entry.partition is None else list(entry.partition.parts),
        "payer": entry.payer,
        "share": None if entry.share is None else str(entry.share),
        "ticket": None if entry.ticket is None else list(entry.ticket),
        "hash": entry.hash,
    }


def exact_amount(budget: Budget) -> dict[str, str]:
    """Return epsilon and delta as they were typed, and as exact fractions."""
    return {
        "words": str(budget),
        "epsilon": str(budget.exact_epsilon),
        "delta": str(budget.exact_delta),
    }
