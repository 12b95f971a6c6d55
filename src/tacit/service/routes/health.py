"""Whether the service works: for whoever keeps it running. No token, no fact but public ones."""

import sqlalchemy as sa
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from tacit.service.access import TheService
from tacit.version import VERSION

router = APIRouter(tags=["health"])


@router.get("/healthz")
def healthz(service: TheService) -> dict[str, str]:
    """Say that the service answers, and that what it remembers can be read."""
    service.state.row(sa.text("SELECT 1"))
    return {"status": "ok", "version": VERSION}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: TheService) -> str:
    """Tell what this worker has done, as Prometheus reads it."""
    return service.metrics.text()
