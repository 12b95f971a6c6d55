"""Who somebody is here."""

from typing import Any

from fastapi import APIRouter

from tacit.service.access import Anyone

router = APIRouter(prefix="/v1", tags=["people"])


@router.get("/me")
def me(caller: Anyone) -> dict[str, Any]:
    """Say whose token this is, what it may do, and until when."""
    return {"name": caller.name, "scope": caller.scope, "expires": caller.expires, "datasets": caller.datasets}
