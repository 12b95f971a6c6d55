"""Data sets that the service has forgotten, and the witness and the accounts have not.

A state or a ledger that is lost, or put back from a backup, forgets which records were registered and what was spent on
them. The witness knows each account, and an account has a note of each data set that it pays for: until these are there
again, or given up for good, nothing else is registered, since it could be their records with a second budget.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from tacit.accounting.ledger import Ledger
from tacit.accounting.witness import Witness
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt, LedgerForeign, LedgerMissing
from tacit.service.datasets import NAME
from tacit.service.settings import Settings

_REGISTERED = re.compile(f"data set '(?P<name>{NAME.pattern})'( of records (?P<bound>[0-9a-f/]+))? registered by ")


def note_of(name: str, bound: Sequence[str], by: str, signed_by: str) -> str:
    """Return the note by which an account says for good that it pays for a data set, `bound` to its records."""
    return f"data set {name!r} of records {'/'.join(bound)} registered by {by!r}, signed by {signed_by!r}"[:1000]


def head_of(
    name: str,
    bound: Sequence[str],
    account: str,
    registered: Mapping[str, str],
    witness: Witness,
    settings: Settings,
    sees: Callable[[str], bool],
) -> str | None:
    """Return the hash of an entry that the account of a new data set must have, None if it is new; nothing is written.

    `registered` are the data sets that the state knows, each with its account. Refused is an account that lost what the
    witness was told, one with charges of which it was told nothing, and, while data sets are forgotten, each other, and
    other records under their names: `bound` are the digests of this one's.
    """
    told = witness.last(account)
    found = _found(settings, account, None if told is None else told[1])
    if told is not None and found is None:
        raise InvalidParameter(
            f"the witness knows entry {told[0]} of the account {account!r}, and its ledger is not here, or lost it. "
            "Restore the ledger; if it is lost for good, its records have no budget any more (docs/deploying.md)."
        )
    if account in settings.given_up:
        raise InvalidParameter(f"{account!r} was given up in the settings: no records have a budget under that name.")
    if told is None and (account in registered.values() or (found is not None and found.spent != Budget(0))):
        raise InvalidParameter(
            f"the witness knows nothing of the account {account!r}, which was charged: it was emptied, or is another. "
            "Put it back, or tell it the head that you know (docs/deploying.md)."
        )
    forgotten = _forgotten(registered, witness, settings)
    if forgotten and forgotten.get(name) != account:
        names = ", ".join(_said(each, forgotten[each]) for each in forgotten if sees(each)) or "somebody else's"
        raise InvalidParameter(
            f"the witness knows of data sets that this service forgot ({names}): these may be their records. Register "
            "their own records first, under their names, and with shares_ledger_with= where another account paid; if "
            "their ledgers, or their records, are lost for good, give them up in the settings (docs/deploying.md)."
        )
    if forgotten and found is not None:
        _check_bound(name, bound, _paid_for(found)[name])
    return None if told is None else told[1]


def _check_bound(name: str, bound: Sequence[str], noted: Sequence[str]) -> None:
    """Refuse, under a forgotten name, records that are not, or may not be, those that its account has a note of."""
    if noted[:1] != bound[:1]:
        raise InvalidParameter(
            f"the account's note of {name!r} was made with another secret than marks.secret, so that it cannot be told "
            "whether these are the records that were charged. Put that file back; if it is lost for good, give the "
            "name up in the settings (docs/deploying.md)."
        )
    if not set(noted[1:]) & set(bound[1:]):
        raise InvalidParameter(
            f"the account was charged for other records under the name {name!r}, or for these declared in another way: "
            "a second budget for them would break the promise of the first. Register them under the names and with "
            "the schema that they had, or from the same file; if those of a name are lost for good, give it up in the "
            "settings (docs/deploying.md)."
        )


def _said(name: str, account: str) -> str:
    return repr(name) if name == account else f"{name!r}, which the account {account!r} paid for"


def _forgotten(registered: Mapping[str, str], witness: Witness, settings: Settings) -> dict[str, str]:
    """Return the data sets that the state does not know, each with its account; sessions have no such names.

    A registration that ended in the middle leaves an account of its own without a charge, which is no hindrance.
    """
    known, missing = set(registered.values()), {}
    for account in sorted({*filter(NAME.fullmatch, witness.accounts()), *known} - {*settings.given_up}):
        told = witness.last(account)
        ledger = _found(settings, account, None if told is None else told[1])
        if ledger is None:
            missing[account] = account
        elif account in known or ledger.spent != Budget(0):
            missing |= {name: account for name in _paid_for(ledger) if name not in registered}
    return {name: account for name, account in missing.items() if name not in settings.given_up}


def _paid_for(ledger: Ledger) -> dict[str, list[str]]:
    """Return all data sets that an account pays for, each with what it is bound to by the account's last note of it.

    Nobody's charges count as such notes.
    """
    notes = [each.label for each in ledger.entries() if each.event is None and each.partition is None]
    found = {each["name"]: each["bound"] for each in map(_REGISTERED.match, notes) if each}
    return {name: (bound or "").split("/") for name, bound in sorted({ledger.name: None, **found}.items())}


def _found(settings: Settings, account: str, head: str | None) -> Ledger | None:
    """Return an account with the entry it must have, None if there is no such one."""
    try:
        return Ledger.open(settings.account(account), name=account, head=head)
    except (LedgerForeign, LedgerMissing):
        # A database where no account was opened yet is no ledger.
        return None
    except LedgerCorrupt:
        if head is None:
            raise
        return None
