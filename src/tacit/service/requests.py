"""One answer to one request, whatever fails meanwhile: charge durably, draw, keep the answer, then give it.

A request is its owner, their Idempotency-Key, and what it asks. It is written down with a ticket before anything is
charged; charges carry the ticket, so that whoever takes the request up again after a crash finds them; the first
answer that is kept is the only one that is ever given (ledger.md, "Tickets").

    begun     one try computes, or died while computing
    joined    another came meanwhile: while it has no answer, nobody can say that it is charged nothing
    refused   nothing was charged, and no try computes; whoever comes again begins it again
    kept      the answer is here, and the witness may not know yet that it is
    done      it does
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.errors import LedgerBusy, LedgerError, TacitError
from tacit.noise import unique_name
from tacit.service.clock import now
from tacit.service.datasets import RegisteredTable
from tacit.service.refusals import Refusal, told
from tacit.service.state import State
from tacit.service.tokens import Caller

Answer = Mapping[str, Any]
EntryOf = Callable[[str, str, str], int | None]
"""Finds the first entry that was charged for a data set under a ticket, by the state of what was asked: 0 if there is
none, None if that is not known while the account cannot be asked."""
_LONGEST_KEY = 200

# As text: to build them anew for each request took longer than to execute them.
_MINE = "owner = :owner AND key = :key"
_SELECT = sa.text(f"SELECT digest, ticket, state, answer FROM tacit_service_request WHERE {_MINE}")
_INSERT = sa.text(
    "INSERT INTO tacit_service_request (owner, key, digest, ticket, route, dataset, state, created) "
    "VALUES (:owner, :key, :digest, :ticket, :route, :dataset, 'begun', :created) ON CONFLICT DO NOTHING"
)
_UPDATE_ANSWER = sa.text(
    f"UPDATE tacit_service_request SET answer = :answer, state = 'kept' WHERE {_MINE} AND answer IS NULL"
)
_UPDATE_STATE = sa.text(f"UPDATE tacit_service_request SET state = :after WHERE {_MINE} AND state = :before")


def _nothing(_: sa.Connection) -> None:
    """Keep nothing more."""


@final
@dataclass(frozen=True)
class Asked:
    """What somebody asked: a route, of a data set, with a body of plain values, under a key of theirs."""

    caller: Caller
    key: str
    route: str
    dataset: RegisteredTable
    body: Any

    @property
    def digest(self) -> str:
        """What is the same if the same was asked."""
        said = json.dumps([self.route, self.dataset.name, self.body], sort_keys=True)
        return hashlib.sha256(said.encode("ascii")).hexdigest()


def checked_key(key: str | None) -> str:
    """Return the key of a request; without one, a retry could not be told from another request."""
    if key is None or not key.strip() or len(key) > _LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            "NoKey",
            "what spends needs a header Idempotency-Key: any plain text of up to 200 letters, the same for a retry and "
            "another one for every other request, so that nobody pays twice.",
            charged=False,
        )
    return key


def charged_under(ledger: Ledger, error: BaseException) -> bool | None:
    """Whether anything was charged under the ticket of a handle, by it or before; None if that is not known now."""
    ticket = ledger.standing.ticket
    if ticket is None or ticket.entries:
        return ticket is not None
    try:
        found = ledger.entry_of(ticket.name) is not None
    except TacitError:
        return None
    # A charge on its way to a database that did not answer may be written after this.
    on_its_way = isinstance(error, LedgerError) and not isinstance(error, LedgerBusy)
    return True if found else None if on_its_way else False


def answered(
    state: State,
    asked: Asked,
    compute: Callable[[Ledger], Answer],
    *,
    also: Callable[[sa.Connection], None] = _nothing,
    was_charged: Callable[[Ledger, BaseException], bool | None] = charged_under,
) -> Answer:
    """Return the one answer to a request; compute it if there is none yet, charged once however often that is begun.

    `also` keeps more of the answer that was kept, once its ticket is closed. `was_charged` says of a failure whether
    anything was charged, or will be by this try: this is the one place where that is known. What another try may still
    be charged for is not told as uncharged.
    """
    ticket, known, is_alone = _begin(state, asked)
    if known is not None:
        return known
    ledger = None
    try:
        ledger = asked.dataset.ledger(asked.caller, ticket)
        answer, is_ours = _keep(state, asked, compute(ledger))
        ledger.close_ticket()
        _mark(state, asked, "kept", "done", also if is_ours else _nothing)
        return answer
    except Exception as error:
        # Another who computes for the same request may have been faster, and have closed the ticket.
        known = _found(state, asked)
        if known is not None:
            return known
        charged = None if ledger is None else was_charged(ledger, error)
        if charged is False and not (is_alone and _mark(state, asked, "begun", "refused")):
            charged = None
        refusal = told(error, charged=charged)
    raise refusal


def asked_before(row: Any, entry_of: EntryOf) -> dict[str, Any]:
    """Return what is told of a request later: by whom, what for, how far it came and what it cost.

    What was charged for an answer that there is not is read from the account.
    """
    answer = json.loads(row.answer or "{}")
    # What began a job is as far as the job.
    is_job = row.became is not None
    result = answer if not is_job else json.loads(row.result) if row.became == "done" else {}
    told = {name: getattr(row, name) for name in ("owner", "key", "route", "dataset", "state", "created")}
    told |= {"cost": result.get("cost"), "entry": result.get("entry"), "job": answer.get("job")}
    told["state"] = row.became if is_job else "begun" if row.state == "joined" else row.state
    told["charged"] = told["entry"] is not None
    if not result:
        found = entry_of(row.dataset, row.job_ticket if is_job else row.ticket, told["state"])
        is_open = not is_job and told["state"] == "begun"
        told |= {"charged": None if found is None or (is_open and not found) else found > 0, "entry": found or None}
    return told


def _begin(state: State, asked: Asked) -> tuple[str, Answer | None, bool]:
    """Write a request down unless it is there; return its ticket, its answer if it has one, and whether no other try
    of it can be at work.
    """
    row, is_alone = state.row(_SELECT, _whose(asked)), False
    _check_same(asked, row)
    if row is None or row.answer is None:
        values = {
            "digest": asked.digest, "ticket": unique_name(), "route": asked.route, "dataset": asked.dataset.name,
            "created": now(), **_whose(asked),
        }  # fmt: skip
        with state.writing() as connection:
            is_alone = connection.execute(_INSERT, values).rowcount == 1
            row = connection.execute(_SELECT, _whose(asked)).one()
            _check_same(asked, row)
            is_alone = is_alone or _moved(connection, asked, "refused", "begun")
            if not is_alone:
                _moved(connection, asked, "begun", "joined")
    return row.ticket, _given(state, asked, row), is_alone


def _check_same(asked: Asked, row: Any) -> None:
    """Refuse a key that came with another request."""
    if row is not None and row.digest != asked.digest:
        raise Refusal(
            HTTPStatus.CONFLICT,
            "KeyUsed",
            "this Idempotency-Key came with another request before. Give every request its own; nothing was charged.",
            charged=False,
        )


def _found(state: State, asked: Asked) -> Answer | None:
    """Return the answer if somebody kept one; nothing if that cannot be told now."""
    try:
        row = state.row(_SELECT, _whose(asked))
        return None if row is None else _given(state, asked, row)
    except TacitError:
        return None


def _given(state: State, asked: Asked, row: Any) -> Answer | None:
    """Return an answer that was kept; its ticket is closed first, if whoever kept it did not come to that."""
    if row.answer is None:
        return None
    if row.state != "done":
        asked.dataset.close(row.ticket)
        _mark(state, asked, "kept", "done")
    answer: Answer = json.loads(row.answer)
    return answer


def _keep(state: State, asked: Asked, answer: Answer) -> tuple[Answer, bool]:
    """Keep an answer unless one is kept; return the one that is, and whether it is this one."""
    text = json.dumps(answer, allow_nan=False)
    with state.writing() as connection:
        is_ours = connection.execute(_UPDATE_ANSWER, {"answer": text, **_whose(asked)}).rowcount == 1
        if not is_ours:
            text = connection.execute(_SELECT, _whose(asked)).one().answer
    kept: Answer = json.loads(text)
    return kept, is_ours


def _mark(
    state: State, asked: Asked, before: str, after: str, also: Callable[[sa.Connection], None] = _nothing
) -> bool:
    """Note how far a request came, and whether it had come that far; a note that is lost, or cannot be made, is made by
    whoever comes next.
    """
    try:
        with state.writing(lasting=False) as connection:
            has_moved = _moved(connection, asked, before, after)
            also(connection)
    except TacitError:
        return False
    return has_moved


def _moved(connection: sa.Connection, asked: Asked, before: str, after: str) -> bool:
    """Move a request from one state to another, if it is in that."""
    return connection.execute(_UPDATE_STATE, {"before": before, "after": after, **_whose(asked)}).rowcount == 1


def _whose(asked: Asked) -> dict[str, str]:
    return {"owner": asked.caller.name, "key": asked.key}
