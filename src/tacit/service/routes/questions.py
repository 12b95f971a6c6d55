"""Asking: what something would cost, and statistical questions."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.service.access import Analyst, AnalystOrCustodian, TheService
from tacit.service.asking import PRICES, Questions, ask
from tacit.service.requests import checked_key

router = APIRouter(prefix="/v1/datasets/{name}", tags=["asking"])

Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same for a retry, else another one.")]


class PriceBody(BaseModel):
    """What is to be priced: one of the actions, with the rest of its body as that action takes it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"what": "queries", "queries": [{"mean": "age > 60"}], "tolerance": 0.05}]},
    )

    what: Literal["queries", "fit", "report", "session"]


@router.post("/price")
def price(name: str, body: PriceBody, service: TheService, caller: AnalystOrCustodian) -> dict[str, Any]:
    """Say what something would cost and how good it would be; no record is read, nothing is charged."""
    dataset = service.datasets.of(caller, name)
    try:
        return {"what": body.what, **PRICES[body.what](dataset, caller, body.model_extra or {})}
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_context=False)) from None


@router.post("/queries")
def queries(name: str, body: Questions, service: TheService, caller: Analyst, key: Key = None) -> dict[str, Any]:
    """Answer statistical queries with noise, charged once; the same request under the same key is told the same."""
    dataset = service.datasets.of(caller, name)
    return dict(ask(service.state, caller, checked_key(key), dataset, body))
