"""Jobs: fits, reports and sessions that are asked for, how far they are, and their end."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from tacit.service.access import Analyst, Anyone, Custodian, Key, TheService
from tacit.service.asking import PRICES
from tacit.service.jobs.asking import asked_for
from tacit.service.jobs.bodies import FitBody, ReportBody, SessionBody
from tacit.service.jobs.pricing import price_of_fit, price_of_report, price_of_session
from tacit.service.jobs.telling import overseen, shown, told
from tacit.service.refusals import missing
from tacit.service.requests import checked_key
from tacit.service.service import Service
from tacit.service.tokens import Caller

router = APIRouter(prefix="/v1", tags=["jobs"])

PRICES.update(fit=price_of_fit, report=price_of_report, session=price_of_session)


@router.post("/datasets/{name}/fits", status_code=202)
def fit(name: str, body: FitBody, service: TheService, caller: Analyst, key: Key = None) -> dict[str, Any]:
    """Fit an estimator, charged once; the model is fetched when the job is done."""
    return _begun(service, caller, name, "fit", key, body.model_dump())


@router.post("/datasets/{name}/reports", status_code=202)
def report(name: str, body: ReportBody, service: TheService, caller: Analyst, key: Key = None) -> dict[str, Any]:
    """Score a model of one's own on records that it did not learn from, charged once for all its figures."""
    return _begun(service, caller, name, "report", key, body.model_dump())


@router.post("/datasets/{name}/sessions", status_code=202)
def session(name: str, body: SessionBody, service: TheService, caller: Analyst, key: Key = None) -> dict[str, Any]:
    """Fit a model that stays here and answers points with noise, charged once for all its answers."""
    return _begun(service, caller, name, "session", key, body.model_dump())


@router.get("/jobs")
def listed(service: TheService, caller: Anyone) -> dict[str, Any]:
    """List one's last jobs, the newest first."""
    entry_of = service.entry_finder()
    return {"jobs": [told(service, job, entry_of) for job in service.jobs.listed(caller)]}


@router.get("/jobs/{job}")
def one(job: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Tell how far a job is, what it cost, and what came of it."""
    return {"job": told(service, service.jobs.of(caller, job))}


@router.delete("/jobs/{job}")
def cancel(job: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Cancel a job. What it was charged stays charged, and nothing more is charged for it."""
    return {"job": told(service, service.jobs.end(service.jobs.of(caller, job)))}


@router.get("/datasets/{name}/jobs")
def about(name: str, service: TheService, caller: Custodian) -> dict[str, Any]:
    """List the last jobs about a data set, the newest first: whose they are and how far, not what came of them."""
    dataset = service.datasets.of(caller, name)
    entry_of = service.entry_finder()
    return {"jobs": [overseen(service, job, entry_of) for job in service.jobs.of_dataset(dataset.name)]}


@router.delete("/datasets/{name}/jobs/{job}")
def end(name: str, job: str, service: TheService, caller: Custodian) -> dict[str, Any]:
    """Cancel anybody's job about a data set. What it was charged stays charged."""
    return {"job": ended_by(service, caller, name, job)}


def ended_by(service: Service, caller: Caller, dataset: str, job: str) -> dict[str, Any]:
    """Cancel a job about a data set for its custodian."""
    found = service.jobs.of(caller, job, anybodys=True)
    if found.dataset != dataset:
        raise missing("job")
    return overseen(service, service.jobs.end(found))


@router.get("/jobs/{job}/report")
def page(job: str, service: TheService, caller: Anyone) -> HTMLResponse:
    """Return the page about what a job made: a model, or the scores of one."""
    return shown(service.jobs.product(service.jobs.of(caller, job)))


def _begun(
    service: Service, caller: Caller, dataset: str, kind: str, key: str | None, body: Mapping[str, Any]
) -> dict[str, Any]:
    return {"job": told(service, asked_for(service, caller, dataset, kind, checked_key(key), body))}
