"""Questions that were answered before: the same one again, under whatever key and by whomever, costs nothing.

An answer is remembered once it is kept for its request and the ticket that paid for it is closed: from here it is told
to others, and what anybody was told must not be drawn again, whatever the state is restored from. It need not last:
what is forgotten is paid for again.
"""

import json
from collections.abc import Mapping
from typing import Any, final

import sqlalchemy as sa

from tacit.accounting.answers import Memory
from tacit.accounting.ledger import Ledger
from tacit.service.state import ANSWER, State

_SELECT = sa.text("SELECT content FROM tacit_service_answer WHERE account = :account AND question = :question")


@final
class Remembering(Memory):
    """What one request looks up, and what it will leave to be looked up.

    Guarantee: what is told to anybody was kept before; nothing is told from here that another request did not pay for,
    or whose ticket is open.
    Assumes: `keep` is called once the request's answer is kept and its ticket is closed, or never.
    Reference: docs/decisions/0027-the-service.md.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._new: list[dict[str, str]] = []

    def recall(self, ledger: Ledger, question: str) -> Mapping[str, Any] | None:
        """Look among the answers that were kept."""
        row = self._state.row(_SELECT, {"account": ledger.name, "question": question})
        return None if row is None else dict(json.loads(row.content))

    def record(self, ledger: Ledger, question: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note an answer that will be kept."""
        self._new.append({"account": ledger.name, "question": question, "content": json.dumps(dict(content))})
        return content

    def keep(self, connection: sa.Connection) -> None:
        """Keep what was noted; an answer that is there already, which somebody else paid for meanwhile, stays."""
        for row in self._new:
            self._state.insert_new(connection, ANSWER, row)
