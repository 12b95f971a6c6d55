"""Answers that were paid for once: the same question again gets the same answer, at no cost.

An answer is written down after its noise was drawn, in the ledger's own database, under a digest of the question.
If the process dies in between, the charge stands and the answer is lost: asking again costs again.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.store import ANSWER, SELECT_ANSWER


def question_digest(ledger: Ledger | None, facts: Sequence[Any]) -> str:
    """Return a digest of everything that makes up a question; the part of the records is one of these things."""
    where = [] if ledger is None else [list(step) for step in ledger.path]
    return hashlib.sha256(json.dumps([where, list(facts)], sort_keys=True).encode()).hexdigest()


def recall(ledger: Ledger, question: str) -> Mapping[str, Any] | None:
    """Return what was answered to a question, or None."""
    with ledger.store.reading() as connection:
        content = connection.execute(SELECT_ANSWER, {"account": ledger.name, "question": question}).scalar()
    return None if content is None else dict(json.loads(content))


def record(ledger: Ledger, question: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write an answer down, and return the one that is there then: that of whoever was first.

    Two that drew at once under one ticket were charged once: only what is returned here may be told.
    """
    with ledger.store.writing(ledger.name) as connection:
        found = connection.execute(SELECT_ANSWER, {"account": ledger.name, "question": question}).scalar()
        if found is not None:
            return dict(json.loads(found))
        connection.execute(
            sa.insert(ANSWER).values(account=ledger.name, question=question, content=json.dumps(dict(content)))
        )
        return content
