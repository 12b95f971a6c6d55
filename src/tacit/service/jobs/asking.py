"""Asking for a job: what can be refused by public facts is refused at once, and a repeated request has one job."""

import hashlib
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tacit.service.jobs import fits, scores
from tacit.service.jobs.table import Job
from tacit.service.refusals import Refusal
from tacit.service.sessions import opening
from tacit.service.tokens import Caller

if TYPE_CHECKING:
    from tacit.service.service import Service


def job_of(service: "Service", caller: Caller, name: str, kind: str, key: str, body: Mapping[str, Any]) -> Job:
    """Return the job that was asked for under a key; the same request under the same key has the same job for ever."""
    dataset = service.datasets.of(caller, name)
    ticket = "job " + hashlib.sha256(json.dumps([caller.name, key]).encode()).hexdigest()
    known = service.jobs.under(ticket)
    if known is None:
        if kind == "fit":
            fits.prepared(dataset, body)
        elif kind == "report":
            scores.prepared(dataset, body, caller, service)
        else:
            opening.prepared(dataset, body)
        known = service.jobs.add(caller.name, ticket, name, kind, body)
    if (known.dataset, known.kind, known.body) != (name, kind, body):
        raise Refusal(HTTPStatus.CONFLICT, "KeyReused", "this Idempotency-Key came with another request before.")
    return known
