"""Models that were fitted: their files, cards and pages, for whoever had them fitted and for the custodian."""

import json
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from tacit.service.access import Anyone, TheService
from tacit.service.jobs.table import Job, JobProduct
from tacit.service.jobs.telling import shown, told
from tacit.service.refusals import missing
from tacit.service.service import Service
from tacit.service.tokens import Caller

router = APIRouter(prefix="/v1/models", tags=["models"])


@router.get("")
def listed(service: TheService, caller: Anyone) -> dict[str, Any]:
    """List the models that one had fitted, the newest first."""
    return {"models": [told(service, job) for job in service.jobs.listed(caller, "fit", "done")]}


@router.get("/{model}")
def file(model: str, service: TheService, caller: Anyone) -> Response:
    """Return the model file, which `tacit.load` reads."""
    name = {"Content-Disposition": 'attachment; filename="model.tacit"'}
    return Response(_product(service, caller, model).model, media_type="application/octet-stream", headers=name)


@router.get("/{model}/card")
def card(model: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Return the privacy card, with the entry of the account that paid."""
    found: dict[str, Any] = json.loads(_product(service, caller, model).card or "{}")
    return found


@router.get("/{model}/report")
def page(model: str, service: TheService, caller: Anyone) -> HTMLResponse:
    """Return the page about the model."""
    return shown(_product(service, caller, model))


def fitted(service: Service, caller: Caller, model: str, *, anybodys: bool = False) -> Job:
    """Return the job that made a model of a caller's, or of anybody's."""
    job = service.jobs.of(caller, model, anybodys=anybodys)
    if job.kind != "fit" or job.state != "done":
        raise missing("model")
    return job


def _product(service: Service, caller: Caller, model: str) -> JobProduct:
    return service.jobs.product(fitted(service, caller, model, anybodys=caller.scope == "custodian"))
