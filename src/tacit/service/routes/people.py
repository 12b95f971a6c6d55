"""Who somebody is here, what they asked, and the tokens that a custodian gives out."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field

from tacit.service.access import Anyone, Custodian, TheService
from tacit.service.asking import Body

router = APIRouter(prefix="/v1", tags=["people"])

_MANY = 1000


@router.get("/me")
def me(caller: Anyone) -> dict[str, Any]:
    """Say whose token this is, what it may do, and until when."""
    return {"name": caller.name, "scope": caller.scope, "expires": caller.expires, "datasets": caller.datasets}


@router.get("/history")
def history(
    service: TheService,
    caller: Anyone,
    dataset: Annotated[str | None, Query(max_length=63)] = None,
    limit: Annotated[int, Query(ge=1, le=_MANY)] = 100,
) -> dict[str, Any]:
    """Tell what was asked, the last first: one's own requests, or everybody's for a custodian and an auditor."""
    return {"requests": service.requests(caller, dataset, limit)}


class NewToken(Body):
    """Whom a token is for, what it may do, for how long, and with which data sets (all, if none are named)."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "alice", "scope": "analyst", "days": 90, "datasets": ["visits"]}]},
    )

    name: str = Field(max_length=64)
    scope: str = Field(max_length=20)
    days: float = Field(default=90, allow_inf_nan=False)
    datasets: list[str] | None = Field(default=None, max_length=1000)


@router.get("/tokens")
def tokens(service: TheService, caller: Custodian) -> dict[str, Any]:
    """List the tokens for data sets that one looks after, without their secrets."""
    return {"tokens": service.tokens.known_to(caller)}


@router.post("/tokens", status_code=201)
def new_token(body: NewToken, service: TheService, caller: Custodian) -> dict[str, Any]:
    """Make a token; its text is told this once, and is not kept."""
    public, text = service.tokens.give(caller, body.name, body.scope, body.days, body.datasets)
    return {"id": public, "token": text}


@router.delete("/tokens/{token}")
def revoke(token: str, service: TheService, caller: Custodian) -> dict[str, Any]:
    """End a token at once."""
    service.tokens.take(caller, token)
    return {"id": token, "revoked": True}
