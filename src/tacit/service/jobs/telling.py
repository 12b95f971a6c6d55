"""What the owner of a job is told of it."""

from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse

from tacit.service.jobs.table import UNFINISHED, Job, JobProduct
from tacit.service.refusals import missing
from tacit.service.requests import EntryOf

if TYPE_CHECKING:
    from tacit.service.service import Service

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""Pages that jobs make bring their style with them, and nothing else."""


def told(service: "Service", job: Job, entry_of: EntryOf | None = None) -> dict[str, Any]:
    """Return a job as plain values; what it was charged so far is read from the account, whatever became of the job.

    It is not known, None, while the account cannot be asked, or if it was given up. Of a job that failed or was
    cancelled it is False only once its end is in the account.
    """
    result = job.result if job.state == "done" else None
    find = entry_of or service.entry_finder()
    found = (result["entry"] or 0) if result else find(job.dataset, job.ticket, job.state)
    charged, entry = None if found is None else found > 0, found or None
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


def overseen(service: "Service", job: Job, entry_of: EntryOf | None = None) -> dict[str, Any]:
    """Return what a custodian is told of somebody's job: whose it is and how far, never what came of it."""
    facts = told(service, job, entry_of)
    names = ("id", "kind", "dataset", "state", "done", "total", "charged", "entry", "created", "finished")
    return {"owner": job.owner, **{name: facts[name] for name in names}}


def shown(product: JobProduct) -> HTMLResponse:
    """Return the page of a product, as a page that loads and runs nothing."""
    if product.page is None:
        raise missing("page")
    return HTMLResponse(product.page, headers={"Content-Security-Policy": _POLICY})
