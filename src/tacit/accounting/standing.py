"""In whose name a handle charges: who pays, up to which share, under which ticket, and who is told."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

from tacit.accounting.account import Account
from tacit.accounting.events import event_to_json
from tacit.accounting.history import Entry, History
from tacit.accounting.links import PartPath
from tacit.accounting.terms import check_text
from tacit.accounting.tickets import Place, Ticket
from tacit.accounting.witness import Witness, checked_witness
from tacit.budget import Budget
from tacit.checks import exact_number
from tacit.errors import InvalidParameter, TicketUsed


@final
@dataclass(frozen=True)
class Balance:
    """What was spent, what is left and what a payer paid, all as of one moment."""

    spent: Budget
    remaining: Budget
    paid: Budget


@final
@dataclass(frozen=True)
class Standing:
    """What every charge of a handle says besides its event; none of it loosens what the account allows.

    `share` is the part of the account's budget that all of the payer's charges together may reach, added up over all
    parts of the records and in the account's own units.
    """

    payer: str | None = None
    share: Fraction | None = None
    ticket: Ticket | None = None
    witness: Witness | None = None

    def changed(self, payer: object, share: object, ticket: object, witness: object) -> "Standing":
        """Return the standing with what is given in place of what it has."""
        found = self
        if payer is not None:
            check_text("payer", payer)
            found = replace(found, payer=str(payer))
        if share is not None:
            found = replace(found, share=_checked_share(share))
        if ticket is not None:
            check_text("ticket", ticket)
            found = replace(found, ticket=Ticket(str(ticket)))
        if witness is not None:
            found = replace(found, witness=checked_witness(witness))
        if found.share is not None and found.payer is None:
            raise InvalidParameter("a share is somebody's: give payer, the name of who pays, as well.")
        return found

    def written(self, place: Place | None) -> dict[str, Any]:
        """Return what an entry says of it: nothing if there is nothing to say."""
        if self.payer is None and place is None:
            return {}
        ticket, number = place or (None, None)
        share = None if self.share is None else str(self.share)
        return {"standing": {"payer": self.payer, "place": number, "share": share, "ticket": ticket}}

    def fits(self, account: Account, history: History, amount: Budget) -> bool:
        """Whether the payer's charges stay within their share with one more amount."""
        if self.share is None:
            return True
        # A sum is within a share of the limit exactly if the sum over the share is within the limit.
        return account.fits((history.paid_by(self.payer) + amount) / self.share)

    def left(self, account: Account, history: History) -> Budget | None:
        """Return what of the share is left, in the account's own way of telling; None without a share."""
        if self.share is None:
            return None
        paid = history.paid_by(self.payer)
        if not account.fits(paid / self.share):
            return Budget(0)
        return account.told(account.largest * self.share - paid, history.total())

    def check_same(self, account: str, entry: Entry, path: PartPath, label: str, amount: Budget, event: str) -> None:
        """Refuse the entry at a ticket's place unless it is this very charge and no answer to it was kept."""
        own = None if entry.event is None else event_to_json(entry.event)
        if (entry.label, entry.path, entry.amount, entry.payer, own) != (label, path, amount, self.payer, event):
            raise TicketUsed(
                f"entry {entry.number} was charged under this ticket for something else: {entry.label!r}. "
                "Nothing more was charged. What is asked anew needs a ticket of its own."
            )
        name = "" if entry.ticket is None else entry.ticket[0]
        if self.witness is not None and self.witness.is_closed(account, name):
            raise TicketUsed(
                f"what was charged as entry {entry.number} was answered, and the answer is not here any more. "
                "Nothing more was charged. What is asked anew needs a ticket of its own."
            )

    def tell(self, account: str, entry: Entry) -> None:
        """Tell the witness that an entry is there."""
        if self.witness is not None:
            self.witness.append(account, entry.number, entry.hash)

    @property
    def words(self) -> str:
        """Say whose share it is."""
        return "" if self.share is None else f", {self.share} of it for {self.payer!r}"


def _checked_share(share: object) -> Fraction:
    found = exact_number("share", share)
    if not 0 < found <= 1:
        raise InvalidParameter("share must lie above 0 and be at most 1: the part of the budget that a payer may use.")
    return found
