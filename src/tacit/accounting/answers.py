"""Answers that were paid for once: the same question again gets the same answer, at no cost.

An answer is written down after its noise was drawn, in the ledger's own database, under a digest of the question.
If the process dies in between, the charge stands and the answer is lost: asking again costs again.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.store import ANSWER, SELECT_ANSWER


def question_digest(ledger: Ledger | None, facts: Sequence[Any]) -> str:
    """Return a digest of everything that makes up a question; the part of the records is one of these things."""
    where = [] if ledger is None else [list(step) for step in ledger.path]
    return hashlib.sha256(json.dumps([where, list(facts)], sort_keys=True).encode()).hexdigest()


def needed_no_charge(ledger: Ledger | None) -> None:
    """Note that an answer was paid for before: under a ticket, what is charged after it has the place it always has.

    Else an act that is taken up again, and finds its first answer, would find its first charge for its second one.
    """
    if ledger is not None and ledger.standing.ticket is not None:
        ledger.standing.ticket.pass_over()


class Memory(ABC):
    """Where answers are kept that were paid for. What it forgets is paid for again, and is no harm to anybody."""

    @abstractmethod
    def recall(self, ledger: Ledger, question: str) -> Mapping[str, Any] | None:
        """Return what was answered to a question, or None."""

    @abstractmethod
    def record(self, ledger: Ledger, question: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keep an answer, and return the one to tell."""


@final
class InLedger(Memory):
    """Answers beside the account that paid for them."""

    def recall(self, ledger: Ledger, question: str) -> Mapping[str, Any] | None:
        """Look into the ledger's database."""
        with ledger.store.reading() as connection:
            content = connection.execute(SELECT_ANSWER, {"account": ledger.name, "question": question}).scalar()
        return None if content is None else dict(json.loads(content))

    def record(self, ledger: Ledger, question: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write into the ledger's database, and return the answer that is there then: that of whoever was first.

        Two that drew at once under one ticket were charged once: only what is returned here may be told.
        """
        with ledger.store.writing(ledger.name) as connection:
            found = connection.execute(SELECT_ANSWER, {"account": ledger.name, "question": question}).scalar()
            if found is not None:
                return dict(json.loads(found))
            values = {"account": ledger.name, "question": question, "content": json.dumps(dict(content))}
            connection.execute(sa.insert(ANSWER), values)
            return content
