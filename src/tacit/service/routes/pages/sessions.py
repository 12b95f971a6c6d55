"""Sessions on a page: a model that stays here, and a form for a point."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.data.column_words import column_in_words
from tacit.data.columns import Moment, Number
from tacit.data.levels import Flag, Levelled
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter, TacitError
from tacit.service.access import TheService
from tacit.service.datasets import RegisteredTable
from tacit.service.pages.forms import Fields, PageRoute, SignedIn, beside, number_of, text_of
from tacit.service.pages.pictures import answer_picture
from tacit.service.pages.rendering import page
from tacit.service.routes.pages.asking import dataset_page
from tacit.service.routes.pages.training import priced_or_begun
from tacit.service.service import Service
from tacit.service.tokens import Caller

router = APIRouter(route_class=PageRoute)

_KERNELS = {
    "rbf": ("smooth, by distance", {"kind": "rbf", "value": {"gamma": 1.0}}),
    "cubic": ("a polynomial of degree 3", {"kind": "polynomial", "value": {"degree": 3, "constant": 1.0}}),
}
_USUAL = {"epsilon": "1", "delta": "1e-6", "kernel": "rbf", "part": "all"}
_LANDMARKS = 200


@router.get("/datasets/{name}/sessions")
def shown(name: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show the sessions there are, and how to open one."""
    dataset = service.datasets.of(caller, name)
    return _page(request, service, dataset, caller, _USUAL)


@router.post("/datasets/{name}/sessions")
def opened(name: str, request: Request, service: TheService, caller: SignedIn, fields: Fields) -> Response:
    """Tell what a session would cost, or open it."""
    dataset = service.datasets.of(caller, name)
    given = {each: text_of(fields, each, usual) for each, usual in _USUAL.items()}
    show = partial(_page, request, service, dataset, caller, given)
    return priced_or_begun(service, caller, fields, dataset, "session", lambda: _body(given, dataset.schema), show)


@router.get("/sessions/{session}")
def one(session: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show a session, and a form for a point."""
    return _session(request, service, caller, session, {})


@router.post("/sessions/{session}")
def answered(session: str, request: Request, service: TheService, caller: SignedIn, fields: Fields) -> Response:
    """Answer a point."""
    found = service.session_table.of(caller, session)
    schema = service.datasets.get(found.dataset).schema
    given = {name: text_of(fields, f"point-{name}") for name in schema.features}
    point = {name: _cell(schema, name, text) for name, text in given.items()}
    try:
        told = service.sessions.answer(found, [point])
    except TacitError as error:
        return _session(request, service, caller, session, given, **beside(error))
    return _session(request, service, caller, session, given, answer=_shown(told))


def _body(given: Mapping[str, str], schema: Schema) -> dict[str, Any]:
    """Return what a session is asked for with; a target that is a number has a loss of its own."""
    if given["kernel"] not in _KERNELS:
        raise InvalidParameter(f"the kernel must be one of {', '.join(_KERNELS)}.")
    parameters = {
        "epsilon": number_of(given, "epsilon"),
        "delta": number_of(given, "delta", 0.0),
        "kernel": _KERNELS[given["kernel"]][1],
        "landmarks": _LANDMARKS,
        **({"loss": "squared"} if isinstance(schema.target_column, Number) else {}),
    }
    return {"parameters": parameters, "part": given["part"]}


def _cell(schema: Schema, name: str, text: str) -> Any:
    """Return what was written for a column: a number for numbers, nothing where nothing was written."""
    if not text:
        return None
    return number_of({name: text}, name) if isinstance(schema.columns[name], Number) else text


def _shown(told: Mapping[str, Any]) -> dict[str, Any]:
    value, error = told["values"][0], told["error"][0]
    classes = told.get("classes")
    words = "" if told["guaranteed"][0] else "No noise was left to draw: this follows from earlier answers. "
    words += "" if classes is None else f"Above 0 speaks for one class, below for the other: {classes[0]} is likelier."
    known = value is not None and error is not None
    reach = max(1.0, abs(value) + error) if known else 1.0
    return {
        "shown": f"{value:.4g}" if value is not None else "unknown",
        "near": f"{error:.2g}" if error is not None else "unknown",
        "picture": answer_picture(value, error, -reach, reach) if known else "",
        "words": words,
    }


def _session(
    request: Request, service: Service, caller: Caller, session: str, given: Mapping[str, str], **more: Any
) -> Response:
    found = service.session_table.of(caller, session)
    schema = service.datasets.get(found.dataset).schema
    facts = {**found.public(), **service.sessions.left(found)}
    inputs = [
        (name, column_in_words(schema.columns[name]), given.get(name, _middle(schema, name)))
        for name in schema.features
    ]
    usual: dict[str, Any] = {"answer": None}
    return page(request, "session", "Points", session=facts, inputs=inputs, **{**usual, **more})


def _middle(schema: Schema, name: str) -> str:
    """Return a value of a column that says nothing of records: what lies in the middle of what was declared."""
    column = schema.columns[name]
    if isinstance(column, Number):
        return f"{(column.low + column.high) / 2:g}"
    if isinstance(column, Moment):
        return str(column.low)
    if isinstance(column, Flag):
        return str(column.spellings[0][0])
    return str(column.classes[0]) if isinstance(column, Levelled) else ""


def _page(
    request: Request, service: Service, dataset: RegisteredTable, caller: Caller, given: Mapping[str, str], **more: Any
) -> Response:
    sessions = [
        {**each.public(), **service.sessions.left(each)}
        for each in service.session_table.listed(caller)
        if each.dataset == dataset.name
    ]
    kernels = [(name, words) for name, (words, _) in _KERNELS.items()]
    return dataset_page(request, "sessions", dataset, caller, given=given, kernels=kernels, sessions=sessions, **more)
