"""The terms of an account, fixed when it is created, and how they are stored."""

import json
from collections.abc import Sequence
from typing import Any

from tacit.accounting.account import Account
from tacit.accounting.accounts import account_for
from tacit.accounting.history import History
from tacit.accounting.links import digest
from tacit.accounting.unit import Kind, checked_kind
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt

_LONGEST = 1000


def terms_of(name: str, account: Account, unit: Kind, ids: Sequence[str]) -> dict[str, Any]:
    """Return the terms as they are stored."""
    return {
        "name": name,
        "epsilon": str(account.budget.exact_epsilon),
        "delta": str(account.budget.exact_delta),
        "neighbours": "replace-one",
        "unit": unit,
        "ids": list(ids),
        **account.describe(),
    }


def read_terms(name: str, text: str) -> tuple[Account, Kind, tuple[str, ...], History]:
    """Rebuild the account, whom it promises for and the start of its history from the stored terms."""
    try:
        terms = json.loads(text)
        budget = Budget.parse(f"epsilon={terms['epsilon']}, delta={terms['delta']}")
        account = account_for(budget, terms["accountant"], terms.get("order"))
        unit = checked_kind(terms["unit"])
        ids = checked_ids(terms["ids"], unit)
        if terms_of(name, account, unit, ids) != terms:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LedgerCorrupt(f"the terms of account {name!r} are damaged. Restore the ledger from a backup.") from error
    return account, unit, ids, History(0, digest("", terms))


def refuse_other(wanted: dict[str, Any], own: dict[str, Any]) -> None:
    """Refuse an account that was created with other terms than those wanted."""
    differ = ", ".join(f"{term}={own.get(term)!r}" for term in own if own.get(term) != wanted.get(term))
    if differ or own != wanted:
        raise InvalidParameter(
            f"account {own['name']!r} was created with other terms ({differ}). They are fixed for good: open it as it "
            "is with Ledger.open, or give these terms to an account of another name, for other records."
        )


def check_partition(name: object, parts: object, fixed_by: object, unit: Kind) -> None:
    """Refuse parts that a replaced record, or person, could leave, and names that are none."""
    check_text("name", name)
    if fixed_by not in ("index", "key"):
        raise InvalidParameter(
            f"fixed_by must be 'index' or 'key', got {fixed_by!r}. Parallel composition holds only if a "
            "replaced record stays in its part."
        )
    if fixed_by == "index" and unit == "person":
        raise InvalidParameter(
            "fixed_by must be 'key' on an account that promises for persons: parts by index cut persons in two. "
            'Records(..., unit=...).split(by="key"), or commands --unit COLUMN, keep them whole.'
        )
    if not isinstance(parts, list | tuple) or not parts:
        raise InvalidParameter(f"parts must be a list of names, got {type(parts).__name__} that is not one.")
    for part in parts:
        check_text("part", part)
    if len(set(parts)) != len(parts):
        raise InvalidParameter("parts must be different names, got one twice.")


def checked_ids(ids: object, unit: Kind) -> tuple[str, ...]:
    """Return the names of the columns of ids, each once and in their order; refuse what are none."""
    names = [ids] if isinstance(ids, str) else ids
    if not isinstance(names, list | tuple):
        raise InvalidParameter(f"ids must be the name of a column, or a list of names, got {type(ids).__name__}.")
    for name in names:
        check_text("ids", name)
    if names and unit == "record":
        raise InvalidParameter('ids tell persons apart: give unit="person" as well, or leave them out.')
    return tuple(sorted(set(names)))


def check_text(what: str, text: object) -> None:
    """Refuse a name or label that is not a short, printable text."""
    if not isinstance(text, str):
        got = type(text).__name__
    elif not text.strip():
        got = "an empty one"
    elif len(text) > _LONGEST:
        got = f"one of {len(text)}: shorten it"
    elif not text.isprintable():
        got = "one with letters that cannot be printed: leave them out"
    else:
        return
    raise InvalidParameter(f"{what} must be a printable text of at most {_LONGEST} letters, got {got}.")
