"""What the owner of a job is told of it."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse

from tacit.service.jobs.table import UNFINISHED, Job, JobProduct
from tacit.service.refusals import Refusal, missing

if TYPE_CHECKING:
    from tacit.service.service import Service

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""Pages that jobs make bring their style with them, and nothing else."""


def told(service: "Service", job: Job) -> dict[str, Any]:
    """Return a job as plain values; what was charged is read from the account, whatever became of the job.

    It is not known, None, if the account was given up.
    """
    result = job.result if job.state == "done" else None
    try:
        entry = result["entry"] if result else service.datasets.get(job.dataset).account.entry_of(job.ticket)
        charged = entry is not None
    except Refusal as gone:
        if gone.status != HTTPStatus.NOT_FOUND:
            raise
        entry = charged = None
    counts = job.state in UNFINISHED or job.state == "done"
    return {
        "id": job.id,
        "kind": job.kind,
        "dataset": job.dataset,
        "state": job.state,
        "done": job.done if counts else 0,
        "total": job.total if counts else 0,
        "charged": charged,
        "cost": None if result is None else result["cost"],
        "entry": entry,
        "error": None if job.error is None else {**job.error, "charged": charged},
        "result": result,
        "created": job.created,
        "finished": job.finished,
    }


def overseen(service: "Service", job: Job) -> dict[str, Any]:
    """Return what a custodian is told of somebody's job: whose it is and how far, never what came of it."""
    facts = told(service, job)
    names = ("id", "kind", "dataset", "state", "done", "total", "charged", "entry", "created", "finished")
    return {"owner": job.owner, **{name: facts[name] for name in names}}


def shown(product: JobProduct) -> HTMLResponse:
    """Return the page of a product, as a page that loads and runs nothing."""
    if product.page is None:
        raise missing("page")
    return HTMLResponse(product.page, headers={"Content-Security-Policy": _POLICY})
