"""A registered data set: what is public of it, its records behind the cleaning step, and who pays for what."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from http import HTTPStatus
from typing import Any, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.witness import Witness, witness_at
from tacit.budget import Budget
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import LedgerCorrupt, LedgerForeign, LedgerVersion
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.reports.facts import exact_amount
from tacit.service.opening import OpenTable
from tacit.service.refusals import Refusal, missing
from tacit.service.settings import Settings
from tacit.service.state import DATASET, State
from tacit.service.tokens import Caller

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@final
class RegisteredTable:
    """One table that a custodian registered.

    `document` is what was declared about it, all of it public; `file` is the name of its packed records, and is not.
    """

    def __init__(self, document: Mapping[str, Any], file: str, settings: Settings, witness: Witness) -> None:
        self.document, self._file, self._settings, self._witness = document, file, settings, witness
        self.name: str = document["name"]

    @cached_property
    def schema(self) -> Schema:
        """What was declared about the columns."""
        return Schema.from_toml(self.document["schema"])

    @property
    def n(self) -> int:
        """The number of records, or of persons where they are the unit: public."""
        return int(self.document["n"])

    @property
    def most_work(self) -> int:
        """How many letters the questions of one request may have, times records."""
        return self._settings.limits.work

    @property
    def padding(self) -> float:
        """At multiples of how many seconds answers about these records leave."""
        return self._settings.padding

    def part(self, name: str) -> Records:
        """Return all records, or one of the parts that were fixed when they were registered."""
        if name not in self.document["parts"]:
            raise missing("part")
        return self._table.part(name)

    @cached_property
    def _table(self) -> OpenTable:
        return OpenTable(self._settings.tables / self._file, self.document["parts"])

    @cached_property
    def account(self) -> Ledger:
        """The account of these records, as the service itself sees it: it pays for nothing by this handle.

        It is refused if its history lost what the witness was told, and if the witness lost all of it.
        """
        name = self.document["account"]
        told = self._witness.last(name)
        if told is None:
            raise LedgerCorrupt(
                f"the witness knows nothing of account {name!r}, which it was told of when the table was "
                "registered: it was emptied, or is another. "
                "Put it back, or tell it the head that you know (docs/deploying.md)."
            )
        return Ledger.open(self._settings.account(name), name=name, head=told[1])

    def ledger(self, caller: Caller, ticket: str | None = None) -> Ledger:
        """Return the account as a caller charges it: in their name, within their share, once for a ticket."""
        share = self.share(caller)
        return self.account.acting(payer=caller.name, share=share, ticket=ticket, witness=self._witness)

    def close(self, ticket: str) -> None:
        """Tell the witness that an answer under a ticket is kept."""
        self._witness.close(self.document["account"], ticket)

    def oracle(self, part: str, ledger: Ledger) -> StatisticalOracle:
        """Return who answers questions about a part, and charges an account."""
        records = self.part(part)
        paying = records.account(ledger)
        return StatisticalOracle(self._table.evaluator(part), ledger=paying)

    def share(self, caller: Caller) -> Fraction | None:
        """Return which part of the budget is the most that somebody may spend; None for all that is left."""
        share = self.document["shares"].get(caller.name)
        return None if share is None else Fraction(share)

    def summary(self, caller: Caller) -> dict[str, Any]:
        """Return what a list of data sets says of this one."""
        account, share = self.ledger(caller), self.share(caller)
        balance = account.balance()
        return {
            "name": self.name,
            "n": self.n,
            "unit": account.unit,
            "budget": amount(account.budget),
            "spent": amount(balance.spent),
            "left": amount(balance.remaining),
            "accountant": account.accountant,
            "share": None if share is None else {"of": str(share), "spent": amount(balance.paid)},
        }

    def facts(self, caller: Caller) -> dict[str, Any]:
        """Return all that is public of this data set."""
        document = self.document
        whom = self.account.whom.neighbours
        return {
            **self.summary(caller),
            "schema": document["schema"],
            "target": self.schema.target,
            "unit_column": document["unit"],
            "key": document["key"],
            "columns": list(self.schema.columns),
            "parts": list(document["parts"]),
            "public": list(document["public"]),
            "signed_by": document["signed_by"],
            "block_of": document["block_of"],
            "guarantee": (
                f"All answers about these records together are {self.account.budget} differentially private for "
                f"{whom}, whoever asked and whatever they tell each other; public: {', '.join(document['public'])}."
            ),
        }


@final
class Datasets:
    """The data sets that are registered, opened once in a process."""

    def __init__(self, state: State, settings: Settings) -> None:
        self._state, self._settings, self.witness = state, settings, witness_at(settings.witness)
        self._open: dict[str, RegisteredTable] = {}

    def check(self) -> None:
        """Open every account; refuse to start over one whose history lost what its witness was told."""
        for name in self.names():
            _ = self.get(name).account

    def names(self) -> list[str]:
        """Return the names of all data sets whose account was not given up."""
        rows = self._state.rows(sa.select(DATASET.c.name, DATASET.c.document).order_by(DATASET.c.name))
        return [row.name for row in rows if not self._is_given_up(json.loads(row.document))]

    def get(self, name: str) -> RegisteredTable:
        """Return a data set; refuse a name that none has."""
        if not NAME.fullmatch(name):
            raise missing("data set")
        if name not in self._open:
            row = self._state.row(sa.select(DATASET).where(DATASET.c.name == name))
            if row is None or self._is_given_up(json.loads(row.document)):
                raise missing("data set")
            found = RegisteredTable(json.loads(row.document), row.file, self._settings, self.witness)
            return self._open.setdefault(name, found)
        return self._open[name]

    def _is_given_up(self, document: Mapping[str, Any]) -> bool:
        return document["account"] in self._settings.given_up

    def seen_by(self, caller: Caller) -> list[RegisteredTable]:
        """Return the data sets that a caller's token is for."""
        return [self.get(name) for name in self.names() if caller.sees(name)]

    def note(self, names: Sequence[str] | None, text: str) -> None:
        """Write a line into the account of each data set that there is of these, None for all: it costs nothing."""
        found = [self.get(name) for name in self.names() if names is None or name in names]
        for account in {each.document["account"]: each.account for each in found}.values():
            account.acting(witness=self.witness).note(text)

    def end_ticket(self, name: str, ticket: str) -> None:
        """Let nothing more be charged under a ticket, unless its account is given up or damaged (see `settle`)."""
        try:
            self.get(name).account.acting(witness=self.witness).end_ticket(ticket)
        except (LedgerCorrupt, LedgerForeign, LedgerVersion):
            return
        except Refusal as gone:
            if gone.status != HTTPStatus.NOT_FOUND:
                raise

    def settle(self, name: str, tickets: Iterable[str]) -> None:
        """Let nothing more be charged under tickets that ended, if their account could not be told of it then."""
        account = self.get(name).account
        for ticket in tickets:
            if not account.is_ended(ticket):
                account.acting(witness=self.witness).end_ticket(ticket)

    def of(self, caller: Caller, name: str) -> RegisteredTable:
        """Return a data set that a caller's token is for; refuse others as if they were not there."""
        if not caller.sees(name):
            raise missing("data set")
        return self.get(name)


def amount(budget: Budget) -> dict[str, Any]:
    """Return an amount as numbers, as exact fractions, and in words."""
    exact = exact_amount(budget)
    words = exact.pop("words")
    return {"epsilon": budget.epsilon, "delta": budget.delta, "exact": exact, "words": words}
