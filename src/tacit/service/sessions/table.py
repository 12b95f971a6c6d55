"""The sessions of a service, in its state: public facts, and where on this machine their files are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import sqlalchemy as sa

from tacit.service.clock import now
from tacit.service.jobs.table import JOB
from tacit.service.refusals import missing
from tacit.service.state import State, table
from tacit.service.tokens import Caller

_BY_OWNER = sa.Index("tacit_service_session_owner", "owner", "created")
SESSION = table("session", "id", "owner dataset folder facts created", "", _BY_OWNER)
_MOST_LISTED = 200
_OPEN = sa.select(SESSION).join(JOB, (JOB.c.id == SESSION.c.id) & (JOB.c.state == "done"))
"""Sessions whose job is done: before that its ticket may not be closed, and nothing may be given."""


@final
@dataclass(frozen=True)
class KeptSession:
    """A session that was opened: whose it is, what is public of it, and its folder's name."""

    id: str
    owner: str
    dataset: str
    folder: str
    facts: Mapping[str, Any]
    created: str

    @classmethod
    def of(cls, row: Any) -> Self:
        """Read a row of the table."""
        plain = {name: row._mapping[name] for name in cls.__dataclass_fields__}
        return cls(**{**plain, "facts": json.loads(plain["facts"])})

    def public(self) -> dict[str, Any]:
        """Return what its owner is told."""
        return {"id": self.id, "dataset": self.dataset, "created": self.created, **self.facts}


def inserted(session: str, owner: str, dataset: str, folder: str, facts: Mapping[str, Any]) -> sa.Insert:
    """Return what adds a session, in the transaction in which its job is done."""
    row = {"id": session, "owner": owner, "dataset": dataset, "folder": folder, "facts": json.dumps(facts)}
    return sa.insert(SESSION).values(**row, created=now())


@final
class SessionTable:
    """All sessions of a service."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of(self, caller: Caller, session: str) -> KeptSession:
        """Return a caller's session; others' are refused as if they were not there."""
        row = self._state.row(_OPEN.where(SESSION.c.id == session))
        if row is None or row.owner != caller.name or not caller.sees(row.dataset):
            raise missing("session")
        return KeptSession.of(row)

    def listed(self, caller: Caller) -> list[KeptSession]:
        """Return a caller's last sessions, the newest first."""
        wanted = _OPEN.where(SESSION.c.owner == caller.name).order_by(SESSION.c.created.desc())
        rows = self._state.rows(wanted.limit(_MOST_LISTED))
        return [KeptSession.of(row) for row in rows if caller.sees(row.dataset)]
