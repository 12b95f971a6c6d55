"""Models on a page: trained for a price, watched while they are made, fetched, read and scored."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from tacit.errors import InvalidParameter, TacitError
from tacit.noise import unique_name
from tacit.service.access import TheService
from tacit.service.asking import PRICES
from tacit.service.datasets import RegisteredTable
from tacit.service.jobs.asking import asked_for
from tacit.service.jobs.bodies import FitBody
from tacit.service.jobs.telling import shown as its_page
from tacit.service.jobs.telling import told
from tacit.service.pages.forms import Fields, PageRoute, SignedIn, beside, number_of, text_of
from tacit.service.pages.rendering import go, page
from tacit.service.refusals import forbidden
from tacit.service.requests import checked_key
from tacit.service.routes import models
from tacit.service.routes.pages.asking import dataset_page, parts_of, usual_of
from tacit.service.service import Service
from tacit.service.tokens import Caller

router = APIRouter(route_class=PageRoute)

ESTIMATORS = [
    ("PrivateLogisticRegression", "logistic regression: classes, with curves"),
    ("PrivateLinearSVC", "support vectors: two classes"),
    ("PrivateLinearRegression", "regression: a number, with curves"),
    ("SQDecisionTree", "a decision tree: classes"),
    ("SQNaiveBayes", "naive Bayes: classes"),
    ("PrivateKernelClassifier", "a kernel model: classes, smooth, by distance"),
    ("PrivateKernelRegressor", "a kernel model: a number, smooth, by distance"),
]
_SMOOTH = {"kernel": {"kind": "rbf", "value": {"gamma": 1.0}}, "landmarks": 200}
_OWN = {"PrivateKernelClassifier": _SMOOTH, "PrivateKernelRegressor": _SMOOTH}
"""Parameters that a model must have, unless others are given."""
_USUAL = {"estimator": "PrivateLogisticRegression", "epsilon": "0.5", "delta": "0", "part": "train", "parameters": "{}"}
_SCORED = {"epsilon": "0.5", "delta": "0", "part": "test"}
_LOOK_AGAIN = 2


@router.get("/datasets/{name}/train")
def shown(name: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show what may be trained, and what was."""
    dataset = service.datasets.of(caller, name)
    return _page(request, service, dataset, caller, usual_of(dataset, _USUAL))


@router.post("/datasets/{name}/train")
def trained(name: str, request: Request, service: TheService, caller: SignedIn, fields: Fields) -> Response:
    """Tell what a fit would cost, or begin it."""
    dataset = service.datasets.of(caller, name)
    given = {each: text_of(fields, each, usual) for each, usual in usual_of(dataset, _USUAL).items()}
    show = partial(_page, request, service, dataset, caller, given)
    return priced_or_begun(service, caller, fields, dataset, "fit", lambda: _body(given), show)


@router.get("/jobs/{job}")
def watched(job: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show how far a job is, and what came of it."""
    return _job(request, service, caller, job)


def _job(
    request: Request, service: Service, caller: Caller, job: str, given: Mapping[str, str] | None = None, **more: Any
) -> Response:
    found = service.jobs.of(caller, job)
    dataset = service.datasets.get(found.dataset)
    facts = told(service, found)
    result = facts["result"] or {}
    going = facts["state"] in ("waiting", "running")
    return page(
        request, "job", f"{found.kind}: {found.state}", job=facts, refresh=_LOOK_AGAIN if going else None,
        model=result.get("model") if found.kind == "fit" else None, session=result.get("session"),
        guarantee=result.get("guarantee", ""), figures=_figures(result), parts=parts_of(dataset),
        given=given or usual_of(dataset, _SCORED), **{"price": None, **more, "key": more.get("key") or unique_name()},
    )  # fmt: skip


@router.post("/jobs/{job}/cancel")
def cancelled(job: str, service: TheService, caller: SignedIn, _: Fields) -> Response:
    """Cancel a job: what was charged stays charged."""
    service.jobs.end(service.jobs.of(caller, job))
    return go(f"/jobs/{job}")


@router.get("/models/{model}/file")
def file(model: str, service: TheService, caller: SignedIn) -> Response:
    """Give the model file."""
    return models.file(models.fitted(service, caller, model).id, service, caller)


@router.get("/models/{model}/card")
def card(model: str, service: TheService, caller: SignedIn) -> Response:
    """Give the privacy card."""
    found = service.jobs.product(models.fitted(service, caller, model))
    headers = {"Content-Disposition": 'attachment; filename="card.json"'}
    return Response(found.card, media_type="application/json", headers=headers)


@router.get("/models/{model}/report")
def report(model: str, service: TheService, caller: SignedIn) -> Response:
    """Show what a model learned."""
    return its_page(service.jobs.product(models.fitted(service, caller, model)))


@router.post("/models/{model}/score")
def scored(model: str, request: Request, service: TheService, caller: SignedIn, fields: Fields) -> Response:
    """Tell what scores would cost, or begin to score a model."""
    job = models.fitted(service, caller, model)
    given = {each: text_of(fields, each, usual) for each, usual in _SCORED.items()}
    body = {
        "model": model,
        "epsilon": number_of(fields, "epsilon", 0.5),
        "delta": number_of(fields, "delta", 0.0),
        "part": text_of(fields, "part", "test"),
    }
    show = partial(_job, request, service, caller, model, given)
    dataset = service.datasets.of(caller, job.dataset)
    return priced_or_begun(service, caller, fields, dataset, "report", lambda: body, show)


def priced_or_begun(
    service: Service, caller: Caller, fields: Mapping[str, Any], dataset: RegisteredTable, kind: str,
    body: Callable[[], Mapping[str, Any]], show: Callable[..., Response],
) -> Response:  # fmt: skip
    """Show what a form asks for would cost, or begin it, or go to what the same form began; or show why not."""
    key, is_price = text_of(fields, "key"), text_of(fields, "action") == "price"
    try:
        asked = body()
        if is_price:
            more = {"price": PRICES[kind](dataset, caller, asked), "key": key}
        elif caller.scope != "analyst":
            raise forbidden(caller.scope)
        else:
            return go(f"/jobs/{asked_for(service, caller, dataset.name, kind, checked_key(key), asked).id}")
    except TacitError as error:
        more = beside(error, key, priced=is_price)
    return show(**more)


def _body(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a fit is asked for with."""
    body = {"estimator": given["estimator"], "parameters": _parameters(given), "part": given["part"]}
    try:
        return FitBody.model_validate(body).model_dump()
    except ValidationError:
        raise InvalidParameter("this form has another form than a fit's. Reload the page.") from None


def _parameters(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a form: epsilon and delta from their fields, the rest as JSON."""
    try:
        more = json.loads(given["parameters"] or "{}")
    except (ValueError, RecursionError):
        more = None
    if not isinstance(more, dict):
        raise InvalidParameter('more parameters are JSON such as {"curves": false}, or nothing.')
    return {
        **_OWN.get(given["estimator"], {}),
        **more,
        "epsilon": number_of(given, "epsilon"),
        "delta": number_of(given, "delta", 0.0),
    }


def _figures(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the scores of a report in words: for several classes those of each against the rest, too."""
    told_ = result.get("report")
    if told_ is None:
        return []
    found = [(name, figure) for name, figure in told_["figures"].items()]
    for label, one in told_["classes"].items():
        found += [(f"{name} of {label}", figure) for name, figure in one["figures"].items()]
    return [
        (name.replace("_", " "), _number(figure["value"]), " to ".join(map(_number, figure["interval"])))
        for name, figure in found
    ]


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _page(
    request: Request, service: Service, dataset: RegisteredTable, caller: Caller, given: Mapping[str, str], **more: Any
) -> Response:
    entry_of = service.entry_finder()
    jobs = [told(service, job, entry_of) for job in service.jobs.listed(caller) if job.dataset == dataset.name]
    return dataset_page(request, "train", dataset, caller, given=given, estimators=ESTIMATORS, jobs=jobs, **more)
