"""The budget account: charged before anything is released, durably, and never refunded."""

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from numbers import Rational
from typing import Literal, final

import sqlalchemy as sa

from tacit.accounting.account import Account
from tacit.accounting.accounts import account_for
from tacit.accounting.chain import Chain, written
from tacit.accounting.events import Event, check_event, event_to_json
from tacit.accounting.history import Entry, History, Partition, totals
from tacit.accounting.links import PartPath, digest
from tacit.accounting.standing import Balance, Standing
from tacit.accounting.statement import Statement
from tacit.accounting.store import SELECT_ACCOUNT, Store
from tacit.accounting.terms import check_partition, check_text, checked_ids, read_terms, refuse_other, terms_of
from tacit.accounting.tickets import END, Place
from tacit.accounting.unit import RECORD, Kind, Unit, checked_kind, checked_unit, refuse_other_unit
from tacit.accounting.witness import Witness
from tacit.budget import Budget, plain_budget
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerExists, LedgerMissing, TicketUsed

_NOBODY = Standing()


@final
@dataclass(repr=False, unsafe_hash=True)
class Ledger:
    """A handle to a durable budget account.

    Guarantee: everything released under the ledger is together (epsilon, delta)-private with the budget it
    was created with, however many processes, threads, copies and crashes there were.
    Assumes: replace-one neighbours with public n, or, with unit "person", neighbours that differ in all the records of
    one person, with a public number of persons; every release about the records is charged here.
    Reference: ledger.md; the accounts' own docstrings.

    Copies, clones and pickles of a handle are the same account. Create one with `Ledger.create`, come back
    to it with `Ledger.open`. The handle remembers the last entry it saw and refuses a history that lost it;
    `head` can be written down elsewhere and given to `open` to extend that memory beyond the process.
    """

    store: Store
    name: str
    path: PartPath
    """Which part of the records the handle is for: ((partition, part), ...); () is all of them."""
    unit: Kind = field(compare=False)
    """Whom the account promises for: a record, or a person, who may own several."""
    _ids: tuple[str, ...] = field(compare=False)
    _account: Account = field(compare=False)
    _chain: Chain = field(compare=False)
    standing: Standing = _NOBODY
    """In whose name the handle charges; see `acting`."""
    _looks: bool = field(default=False, compare=False)

    @classmethod
    def create(
        cls,
        address: str | os.PathLike[str],
        *,
        name: str,
        budget: Budget,
        accountant: Literal["basic", "renyi", "gaussian"] = "basic",
        order: float | None = None,
        unit: Kind = "record",
        ids: str | Sequence[str] = (),
    ) -> "Ledger":
        """Open a new account; refuse if one of that name exists.

        The address is the path of a file or "postgresql://user@host/database". The accountant is fixed for good:
        "basic" adds up epsilons and deltas, "renyi" divergences of one order (chosen from the budget unless given),
        "gaussian" admits Gaussian releases alone, and the most of them. So is the unit: "person" accounts take releases
        that are private for whole persons, "record" accounts those for records, and neither the other's. A person is
        an id in a column: `ids` names that column, or all that hold the ids of the same persons, each in a table of
        its own. Without `ids` the first release for persons fixes the column. Any other column is refused.
        """
        check_text("name", name)
        unit = checked_kind(unit)
        names = checked_ids(ids, unit)
        account = account_for(plain_budget("budget", budget), accountant, order)
        terms = terms_of(name, account, unit, names)
        store = Store.at(address)
        store.prepare()
        head = digest("", terms)
        store.add_account(name, json.dumps(terms, sort_keys=True), head)
        return cls(store, name, (), unit, names, account, Chain(store, name, History(0, head)))

    @staticmethod
    def names(address: str | os.PathLike[str]) -> list[str]:
        """Return the names of all accounts at an address."""
        store = Store.at(address)
        with store.reading() as connection:
            return store.names(connection)

    @classmethod
    def open(cls, address: str | os.PathLike[str], *, name: str | None = None, head: str | None = None) -> "Ledger":
        """Come back to an account, verifying its whole history; the name may be left out if there is one.

        If `head` is given, the history must contain the entry with that hash.
        """
        store = Store.at(address)
        with store.reading() as connection:
            name = store.name_of(connection, name)
            terms = connection.execute(SELECT_ACCOUNT, {"account": name}).one().terms
        account, unit, names, start = read_terms(name, terms)
        chain = Chain(store, name, start)
        chain.verify(head)
        return cls(store, name, (), unit, names, account, chain)

    @classmethod
    def open_or_create(
        cls,
        address: str | os.PathLike[str],
        *,
        name: str,
        budget: Budget,
        accountant: Literal["basic", "renyi", "gaussian"] = "basic",
        order: float | None = None,
        unit: Kind = "record",
        ids: str | Sequence[str] = (),
    ) -> "Ledger":
        """Come back to an account of these terms, or open a new one: no budget is ever reset or widened by it."""
        try:
            ledger = cls.open(address, name=name)
        except LedgerMissing:
            try:
                return cls.create(
                    address, name=name, budget=budget, accountant=accountant, order=order, unit=unit, ids=ids
                )
            except LedgerExists:  # somebody was faster
                ledger = cls.open(address, name=name)
        account, kind = account_for(plain_budget("budget", budget), accountant, order), checked_kind(unit)
        wanted = terms_of(name, account, kind, checked_ids(ids, kind))
        refuse_other(wanted, terms_of(name, ledger._account, ledger.unit, ledger._ids))
        return ledger

    def show(self, last: int = 20) -> Statement:
        """Return what was spent, what is left and the last entries, which a notebook shows as a table."""
        return Statement.of(self, last)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    @property
    def address(self) -> str:
        """Where the account is kept, without any password."""
        return str(self.store)

    @property
    def budget(self) -> Budget:
        """The budget the account was created with."""
        return self._account.budget

    @property
    def accountant(self) -> str:
        """How the account adds up: "basic", "gaussian", or "renyi" with its order."""
        return " ".join(str(term) for term in self._account.describe().values())

    @property
    def whom(self) -> Unit:
        """Whom the account promises for, with the columns whose ids are the persons; none before a release fixed it."""
        return self._whom(self._chain.current())

    @property
    def head(self) -> str:
        """The hash of the last entry; write it down elsewhere to notice a shortened history later."""
        return self._chain.current().head

    @property
    def spent(self) -> Budget:
        """What has been spent so far (in this part, if the handle is a part of a partition)."""
        return self.balance().spent

    @property
    def remaining(self) -> Budget:
        """What can still be spent: in a part also as much as its siblings did, by a payer what their share has left."""
        return self.balance().remaining

    @property
    def paid(self) -> Budget:
        """What all charges to this handle's payer come to, in whatever parts of the records."""
        return self.balance().paid

    def balance(self, *, as_seen: bool = False) -> Balance:
        """Return what is spent, left and paid, all of one moment: now, or when this handle last looked or charged."""
        history, spent = self._chain.seen if as_seen else self._chain.current(), self._account.spent
        paid = spent(history.paid_by(self.standing.payer))
        return Balance(spent(history.total(self.path)), self._left(history), paid)

    def entries(self) -> list[Entry]:
        """Return the whole history, verified from its first entry."""
        with self.store.reading() as connection:
            *_, start = read_terms(self.name, self._chain.row(connection).terms)
        return [Entry.read(text, link) for _, links in self._chain.pieces(start) for text, link in links]

    def course(self, entries: Sequence[Entry]) -> list[Budget]:
        """Return what had been spent in all after each of the account's entries, given from the first on."""
        return [self._account.spent(total) for total in totals(entries)]

    def said(self, amount: Budget) -> str:
        """Say what an amount is in the account's own units."""
        return self._account.show(amount)

    def acting(
        self,
        *,
        payer: str | None = None,
        share: float | Rational | None = None,
        ticket: str | None = None,
        witness: Witness | None = None,
    ) -> "Ledger":
        """Return a handle of the same account that charges in somebody's name; what is left out stays as it is.

        Guarantee: the account's own. With a share, all charges to the payer together, added up over all parts, stay
        within that share of the budget. A charge is told to the witness before `spend` returns. The k-th charge under
        a ticket that is in the ledger already is not made again, and must be of the same event and label.
        Assumes: of all that was ever drawn under one ticket, the answers of one run at most are given to anybody, and
        which run that is does not depend on what was drawn.
        Reference: ledger.md, "In somebody's name" and "Tickets".

        Copies, parts and pickles act in the same name. In another process a ticket has another name, since two
        processes would count its charges twice: what they charge is charged anew.
        """
        return replace(self, standing=self.standing.changed(payer, share, ticket, witness))

    def looking(self) -> "Ledger":
        """Return a handle of the same account through which nothing can be written: to ask what something would cost.

        Parts that are not named in the account yet have spent nothing: each has left what the whole has.
        """
        return replace(self, _looks=True)

    def close_ticket(self) -> None:
        """Tell the witness that what was drawn under this handle's ticket is kept: nothing is drawn under it again."""
        ticket, witness = self.standing.ticket, self.standing.witness
        if ticket is not None and witness is not None and (ticket.entries or self.entry_of(ticket.name) is not None):
            witness.close(self.name, ticket.name)

    def entry_of(self, ticket: str) -> int | None:
        """Return the number of the first entry that was charged under a ticket, None if nothing was."""
        found = self._chain.seen.places.find((ticket, 1)) or self._chain.current().places.find((ticket, 1))
        return None if found is None else found[0]

    def is_ended(self, ticket: str) -> bool:
        """Whether nothing more is charged under a ticket, for good."""
        return bool(self._chain.seen.places.find((ticket, END)) or self._chain.current().places.find((ticket, END)))

    def price(self, event: Event, *, at: Budget | None = None) -> Budget:
        """Return by how much charging an event would raise what the whole account has spent; charge nothing.

        In a part this is less than the event's own cost while other parts have spent more.
        """
        history = self._chain.current()
        amount = self._amount(event, at)
        after = self._account.spent(history.with_amount(self.path, amount).total())
        return after - self._account.spent(history.total())

    def affords(self, event: Event, *, at: Budget | None = None) -> bool:
        """Whether an event would fit into what is left now; charge nothing."""
        return self._fits(self._chain.current(), self._amount(event, at))

    def require_room(self, event: Event, *, label: str, at: Budget | None = None) -> None:
        """Refuse as `spend` would an event that does not fit into what is left now; charge nothing."""
        history, ticket = self._chain.current(), self.standing.ticket
        if ticket is None or history.places.find(ticket.next) is None:
            self._refuse_beyond(history, self._amount(event, at), event, label, at)

    def require(self, unit: Unit | Kind) -> None:
        """Refuse what is private for another unit than the account promises for; nothing is charged."""
        history = self._chain.seen if self.unit == "record" else self._chain.current()
        refuse_other_unit(self.name, self._whom(history), checked_unit(unit))

    def _whom(self, history: History) -> Unit:
        """Return whom the account promises for: by the columns of ids that were declared, or that the history fixed."""
        if self.unit == "record":
            return RECORD
        return Unit(self._ids or (() if history.ids is None else (history.ids,)))

    def spend(self, event: Event, *, label: str, at: Budget | None = None, unit: Unit | Kind = RECORD) -> Entry:
        """Charge an event, durably, or refuse and change nothing; return the entry.

        `unit` says for whom the event is private; it must be the account's own. `at` names the (epsilon, delta) at
        which to charge an event that is private along a whole curve (Gaussian noise on a "basic" account); it is
        checked that the event keeps it.
        """
        check_text("label", label)
        whom = checked_unit(unit)
        self.require(whom)
        event = check_event(event)
        amount = self._amount(event, at)
        ticket = self.standing.ticket
        with nullcontext() if ticket is None else ticket.place() as place:
            entry = self._charged(place, label, amount, event, at, whom)
            if ticket is not None:
                ticket.done(entry)
        self.standing.tell(self.name, entry)
        return entry

    def _charged(
        self, place: Place | None, label: str, amount: Budget, event: Event, at: Budget | None, whom: Unit
    ) -> Entry:
        """Append a charge, or find the one that was made at a ticket's place before."""
        text = event_to_json(event)
        with self._writing() as (connection, history):
            self._chain.remember(history)
            if place is not None and history.places.find((place[0], END)) is not None:
                raise TicketUsed("this act was ended: nothing more is charged under its ticket.")
            entry = self._chain.entry_at(connection, history, place)
            if entry is not None:
                self.standing.check_same(self.name, entry, self.path, label, amount, text)
                return entry
            refuse_other_unit(self.name, self._whom(history), whom)
            self._refuse_beyond(history, amount, event, label, at)
            fixes = {"ids": whom.ids[0]} if whom.ids and not self._whom(history).ids else {}
            said = {**self.standing.written(place), **fixes}
            content = written(label, self.path, amount, event=text, said=said)
            longer, entry = self._chain.append(connection, history, content)
        self._chain.remember(longer)
        return entry

    def note(self, text: str) -> Entry:
        """Write a line that costs nothing into the history: what was done about the account, for whoever reads it."""
        check_text("text", text)
        return self._noted(text, None)

    def end_ticket(self, ticket: str) -> None:
        """Let nothing more be charged under a ticket, by whatever process runs its act, now or later.

        The end stands in the history, as an entry that costs nothing: what was charged by then is all that ever is.
        """
        check_text("ticket", ticket)
        self._noted("an act was ended: nothing more is charged under its ticket", (ticket, END))

    def _noted(self, text: str, place: Place | None) -> Entry:
        """Append an entry that costs nothing, or find the one at its place."""
        said = self.standing.written(place)
        with self._writing() as (connection, longer):
            entry = self._chain.entry_at(connection, longer, place)
            if entry is None:
                content = written(text, self.path, Budget(0), said=said)
                longer, entry = self._chain.append(connection, longer, content)
        self._chain.remember(longer)
        self.standing.tell(self.name, entry)
        return entry

    def partition(self, name: str, parts: Sequence[str], *, fixed_by: Literal["index", "key"]) -> "dict[str, Ledger]":
        """Return one handle for each disjoint part of the records; together they cost the largest part.

        Guarantee: spends on the parts compose in parallel.
        Assumes: the part a record belongs to is fixed by its index, or by a key that replacing the record
        cannot change; parts that depend on values (sorted, stratified, grouped by an attribute) are not
        covered, and `fixed_by` is where you say which of the two holds.
        Reference: theory of parallel composition, McSherry 2009; ledger.md.

        Asking again for the same partition returns the same accounts.
        """
        check_partition(name, parts, fixed_by, self.unit)
        wanted = Partition(tuple(parts), fixed_by)
        handles = {part: replace(self, path=(*self.path, (name, part))) for part in parts}
        if self._chain.seen.partitions.get((self.path, name)) == wanted:
            return handles
        if self._looks:
            return handles if self._chain.current().has(self.path, name, wanted) else dict.fromkeys(parts, self)
        declared = None
        with self._writing() as (connection, history):
            if not history.has(self.path, name, wanted):
                content = written(name, self.path, Budget(0), parts=parts, fixed_by=fixed_by)
                history, declared = self._chain.append(connection, history, content)
        self._chain.remember(history)
        if declared is not None:
            self.standing.tell(self.name, declared)
        return handles

    def _writing(self) -> AbstractContextManager[tuple[sa.Connection, History]]:
        if self._looks:
            raise InvalidParameter("this handle only looks at the account: nothing can be charged through it.")
        return self._chain.writing()

    def _amount(self, event: Event, at: Budget | None) -> Budget:
        return self._account.charge(event, None if at is None else plain_budget("at", at))

    def _refuse_beyond(self, history: History, amount: Budget, event: Event, label: str, at: Budget | None) -> None:
        if self._fits(history, amount):
            return
        part = "".join(f", part {part!r} of {name!r}" for name, part in self.path)
        refusal = BudgetExceeded(
            f"{label!r} does not fit: it costs {self._account.show(amount)}, and {self._left(history)} is left of "
            f"{self.budget}{self.standing.words} (account {self.name!r}{part}; {self._whom(history).neighbours}). "
            "Nothing was charged. Ask for less, or stop here: a spent budget cannot be refilled for the same records."
        )
        refusal.event, refusal.at = event, at
        raise refusal

    def _fits(self, history: History, amount: Budget) -> bool:
        """Whether an amount fits into what is left, and into what is left of the payer's share."""
        whole = self._account.fits(history.with_amount(self.path, amount).total())
        return whole and self.standing.fits(self._account, history, amount)

    def _left(self, history: History) -> Budget:
        left = self._account.left(history.total(), history.free(self.path))
        own = self.standing.left(self._account, history)
        return left if own is None else Budget.smallest([left, own])

    def __sklearn_clone__(self) -> "Ledger":
        return self

    def __repr__(self) -> str:
        part = "".join(f", {name}={part!r}" for name, part in self.path)
        whom = f", unit={self.unit!r}" if self.unit != "record" else ""
        whom += f", ids={list(self._ids)!r}" if self._ids else ""
        payer = f", payer={self.standing.payer!r}" if self.standing.payer is not None else ""
        where = f"{self.address!r}, name={self.name!r}{part}"
        return f"Ledger({where}, budget={self.budget!r}, {self.accountant}{whom}{payer})"
