"""Accounts that the witness knows and the service has forgotten.

A state or a ledger that is lost, or put back from a backup, forgets which records were registered and what was spent on
them. The witness does not: until what it knows is there again, or given up for good, no new account is opened, since
it could be a second budget for the records of a forgotten one.
"""

from collections.abc import Callable, Set

from tacit.accounting.ledger import Ledger
from tacit.accounting.witness import Witness
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt, LedgerForeign, LedgerMissing
from tacit.service.datasets import NAME
from tacit.service.settings import Settings


def head_of(
    account: str, accounts: Set[str], witness: Witness, settings: Settings, sees: Callable[[str], bool]
) -> str | None:
    """Return the hash of an entry that an account must have, None if it is new; nothing is written.

    `accounts` are those that the state knows. Refused is an account that lost what the witness was told, one with
    charges of which it was told nothing, and a new one while there are forgotten ones.
    """
    told = witness.last(account)
    found = _found(settings, account, None if told is None else told[1])
    if told is not None and found is None:
        raise InvalidParameter(
            f"the witness knows entry {told[0]} of the account {account!r}, and its ledger is not here, or lost it. "
            "Restore the ledger; if it is lost for good, its records have no budget any more (docs/deploying.md)."
        )
    if told is not None and found is not None:
        return told[1]
    if account in accounts or (found is not None and found.spent != Budget(0)):
        raise InvalidParameter(
            f"the witness knows nothing of the account {account!r}, which was charged: it was emptied, or is another. "
            "Put it back, or tell it the head that you know (docs/deploying.md)."
        )
    forgotten = [name for name in sorted(witness.accounts() - accounts) if _is_forgotten(name, witness, settings)]
    if forgotten:
        names = ", ".join(map(repr, filter(sees, forgotten))) or "somebody else's"
        raise InvalidParameter(
            f"the witness knows of accounts that this service forgot ({names}): these may be their records. Register "
            "their own records under their names first; if their ledgers are lost for good, give the accounts up in "
            "the settings (docs/deploying.md)."
        )
    return None


def _is_forgotten(name: str, witness: Witness, settings: Settings) -> bool:
    """Whether an account that the state does not know was, or may have been, charged. Sessions have no such names."""
    if not NAME.fullmatch(name) or name in settings.given_up:
        return False
    told = witness.last(name)
    found = None if told is None else _found(settings, name, told[1])
    return found is None or found.spent != Budget(0)


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
