"""Asking: what something would cost, and statistical questions."""

from typing import Any, Literal

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.service.access import Analyst, AnalystOrCustodian, Key, TheService
from tacit.service.asking import PRICES, Questions, ask
from tacit.service.requests import checked_key

router = APIRouter(prefix="/v1/datasets/{name}", tags=["asking"])


class PriceBody(BaseModel):
    """What is to be priced: one of the actions, with the rest of its body as that action takes it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"what": "queries", "queries": [{"mean": "age > 60"}], "tolerance": 0.05}]},
    )

    what: Literal["queries", "fit", "report", "session"]


_SAID = (
    "1 number within 0.0557 of the population at 0.95 (sample 0.0525, noise 0.00316): Laplace noise, all records, ..."
)
_PLAN = {
    "noise": "laplace", "budget": {"exact_epsilon": "1/2", "exact_delta": "0"}, "sampling_error": 0.0525,
    "noise_error": 0.00316, "confidence": 0.95, "n": 1000, "size": 1, "of": "population", "parts": 1, "rounds": 1,
}  # fmt: skip
_HALF = {
    "epsilon": 0.5, "delta": 0.0, "exact": {"epsilon": "1/2", "delta": "0"}, "words": "epsilon=0.5, delta=0",
}  # fmt: skip
_ERROR = {
    "tolerance": 0.0557, "sampling_error": 0.0525, "noise_error": 0.00316, "confidence": 0.95, "of": "population",
}  # fmt: skip
_PRICED = {
    "what": "queries", "cost": _HALF, "affordable": True, "left": _HALF, "expected_error": _ERROR, "words": _SAID,
    "plan": _PLAN,
}  # fmt: skip
_ANSWERED = {
    "answers": [{"value": 0.31, "tolerance": 0.0557, "confidence": 0.95, "noise_error": 0.00316}], "cost": _HALF,
    "entry": 7, "repeated": False, "guarantee": "epsilon=0.5, delta=0, replace-one neighbours; public: n=1000, ...",
    "plan": _PLAN, "left": _HALF,
}  # fmt: skip


def _example(told: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return what the description of a route says of its answer."""
    return {200: {"content": {"application/json": {"example": told}}}}


@router.post("/price", responses=_example(_PRICED))
def price(name: str, body: PriceBody, service: TheService, caller: AnalystOrCustodian) -> dict[str, Any]:
    """Say what something would cost and how good it would be; no record is read, nothing is charged."""
    dataset = service.datasets.of(caller, name)
    try:
        return {"what": body.what, **PRICES[body.what](dataset, caller, body.model_extra or {})}
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_context=False)) from None


@router.post("/queries", responses=_example(_ANSWERED))
def queries(name: str, body: Questions, service: TheService, caller: Analyst, key: Key = None) -> dict[str, Any]:
    """Answer statistical queries with noise, charged once; the same request under the same key is told the same."""
    dataset = service.datasets.of(caller, name)
    return dict(ask(service.state, caller, checked_key(key), dataset, body))
