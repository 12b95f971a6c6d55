"""Data sets: what is public of them, and made-up records to write an analysis on."""

from typing import Any

from fastapi import APIRouter

from tacit.service.access import Anyone, TheService

router = APIRouter(prefix="/v1/datasets", tags=["data sets"])


@router.get("")
def listed(service: TheService, caller: Anyone) -> dict[str, Any]:
    """List the data sets that the token is for, with what is spent and left of each."""
    return {"datasets": [dataset.summary(caller) for dataset in service.datasets.seen_by(caller)]}


@router.get("/{name}")
def one(name: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Tell all that is public of a data set."""
    return service.datasets.of(caller, name).facts(caller)
