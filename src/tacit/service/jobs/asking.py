"""Asking for a job: what can be refused by public facts is refused at once, and a repeated request has one job."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger import Ledger
from tacit.service.jobs import fits, scores
from tacit.service.jobs.table import JOB_TICKET, Job
from tacit.service.refusals import status_of
from tacit.service.requests import Asked, answered
from tacit.service.sessions import opening
from tacit.service.tokens import Caller

if TYPE_CHECKING:
    from tacit.service.service import Service


def asked_for(service: "Service", caller: Caller, name: str, kind: str, key: str, body: Mapping[str, Any]) -> Job:
    """Have a job begun, and return it; the same request under the same key has the same job for ever.

    What the request itself is answered with, which job it is, costs nothing: the job has a ticket of its own.
    """
    asked = Asked(caller, key, f"{kind}s", service.datasets.of(caller, name), body)

    def compute(ledger: Ledger) -> Mapping[str, Any]:
        assert ledger.standing.ticket is not None
        ticket = JOB_TICKET + ledger.standing.ticket.name
        known = service.jobs.under(ticket)
        if known is not None:
            return {"job": known.id}
        if kind == "fit":
            fits.prepared(asked.dataset, body)
        elif kind == "report":
            scores.prepared(asked.dataset, body, caller, service)
        else:
            opening.prepared(asked.dataset, body)
        return {"job": service.jobs.add(caller.name, ticket, name, kind, body).id}

    job = service.jobs.of(caller, answered(service.state, asked, compute, was_charged=_was_charged)["job"])
    service.runner.wake()
    return job


def _was_charged(_: Ledger, error: BaseException) -> bool | None:
    """Whether a job is charged that was not begun: not one that was refused; any other may have been added for all."""
    return False if status_of(error) < HTTPStatus.INTERNAL_SERVER_ERROR else None
