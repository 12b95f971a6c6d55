"""Registering a table on pages: where it is, what may be known of it, what is promised; signed by name."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from tacit.accounting.unit import PUBLIC
from tacit.data.columns import Key, Moment
from tacit.data.schema import Schema
from tacit.data.source_opening import open_source
from tacit.data.stored import check_declared
from tacit.errors import InvalidParameter, TacitError
from tacit.reports.facts import DECLARED
from tacit.service.access import TheService
from tacit.service.pages.forms import CustodianHere, Fields, PageRoute, beside, check_sender, text_of, texts_of
from tacit.service.pages.rendering import go, page
from tacit.service.refusals import missing
from tacit.service.registering import register
from tacit.service.routes.datasets import Registered, named_by
from tacit.service.service import Service
from tacit.service.sources import FORMATS, Place, take_in
from tacit.service.tokens import Caller

router = APIRouter(route_class=PageRoute)

_USUAL = {
    "name": "", "unit": "", "key": "", "epsilon": "1", "delta": "1e-6", "accountant": "basic", "shares": "",
    "signed_by": "", "public": "", "shares_ledger_with": "", "series": "", "column": "", "low": "", "high": "",
}  # fmt: skip
_BLOCK = ("series", "column", "low", "high")
_PIECE = 2**20


@router.get("/register")
def begun(request: Request, service: TheService, _: CustodianHere) -> Response:
    """Ask where the records are."""
    return _first(request, service)


@router.post("/custodian/uploads")
async def drafted(request: Request, service: TheService, _: CustodianHere) -> Response:
    """Take in a file, or find a table, and draft its schema from the catalogue: names and types, no value."""
    check_sender(request)
    try:
        return await _drafted(request, service)
    except ClientDisconnect:
        raise missing("end to this file: it broke off, or is larger than may be. There is no such file") from None


async def _drafted(request: Request, service: Service) -> Response:
    async with request.form(max_files=1, max_fields=20) as form:
        fields = texts_of(request, form)
        try:
            source = await _source(form.get("file"), fields, service)
            draft = await run_in_threadpool(lambda: Schema.draft(Place.of(source, service.settings).opened))
        except TacitError as error:
            return _first(request, service, **beside(error))
    return _second(request, json.dumps(source), draft)


@router.post("/register")
def declared(request: Request, service: TheService, caller: CustodianHere, fields: Fields) -> Response:
    """Check a schema against the stored types; or register what was signed."""
    source, schema = text_of(fields, "source"), text_of(fields, "schema")
    if text_of(fields, "step") == "2":
        try:
            known = Schema.from_toml(schema)
            check_declared(known.columns, open_source(_place(source, service).opened, known).stored)
        except TacitError as error:
            return _second(request, source, schema, **beside(error))
        # Persons are the stronger promise, whether or not an id comes twice.
        usual = {**_USUAL, "unit": next(iter(_keys(known)), "")}
        return _third(request, service, caller, source, schema, known, usual)
    given = {name: text_of(fields, name, usual) for name, usual in _USUAL.items()}
    try:
        if text_of(fields, "agreed") != "yes":
            raise InvalidParameter("somebody must say so: tick the box above the button.")
        body = named_by(caller, _body(given, _plain(source), schema))
        place = _place(source, service)
        register(body.declared, place, service.state, service.settings, by=caller.name, sees=caller.sees)
    except TacitError as error:
        return _third(request, service, caller, source, schema, Schema.from_toml(schema), given, **beside(error))
    return go("/custody")


async def _source(file: Any, fields: Mapping[str, str], service: Service) -> dict[str, str]:
    """Return where the records are, from whichever field says so; a file that is sent is kept until it was read."""
    if isinstance(file, UploadFile) and file.filename:
        form = file.filename.rpartition(".")[2].lower()
        if form not in FORMATS:
            raise InvalidParameter(f"a file must end in {' or '.join(f'.{each}' for each in FORMATS)}.")
        return {"upload": await take_in(_pieces(file), form, service.settings)}
    if text_of(fields, "inbox"):
        return {"file": text_of(fields, "inbox")}
    if text_of(fields, "address"):
        return {"address": text_of(fields, "address"), "table": text_of(fields, "table")}
    raise InvalidParameter("choose a file, or name a table.")


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(_PIECE):
        yield piece


def _place(source: str, service: Service) -> Place:
    return Place.of(_plain(source), service.settings)


def _plain(source: str) -> dict[str, str]:
    """Return what the form carries from step to step: where the records are."""
    try:
        plain = json.loads(source)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or not all(isinstance(each, str) for each in plain.values()):
        raise InvalidParameter("this form has another form than this page's. Begin again.")
    return plain


def _body(given: Mapping[str, str], source: dict[str, str], schema: str) -> Registered:
    body = {
        "name": given["name"],
        "source": source,
        "schema": schema,
        "budget": {"epsilon": given["epsilon"] or "0", "delta": given["delta"] or "0"},
        "signed_by": given["signed_by"],
        "unit": given["unit"] or None,
        "key": given["key"] or None if not given["unit"] else None,
        "accountant": given["accountant"],
        "shares": _shares(given["shares"]),
        "public": [line.strip() for line in given["public"].splitlines() if line.strip()],
        "shares_ledger_with": given["shares_ledger_with"] or None,
        "block_of": {name: given[name] for name in _BLOCK} if given["series"] else None,
    }
    try:
        return Registered.model_validate(body)
    except ValidationError as error:
        where = ", ".join(sorted({str(each["loc"][0]) for each in error.errors()}))
        raise InvalidParameter(f"these fields make no sense as they are: {where}.") from None


def _shares(text: str) -> dict[str, float]:
    """Read `alice 0.5, bob 0.25`."""
    found: dict[str, float] = {}
    for piece in filter(None, (each.strip() for each in text.split(","))):
        name, _, share = piece.rpartition(" ")
        try:
            found[name.strip()] = float(share)
        except ValueError:
            name = ""
        if not name.strip():
            raise InvalidParameter("shares are written like: alice 0.5, bob 0.25.")
    return found


def _first(request: Request, service: Service, **more: Any) -> Response:
    inbox = service.settings.inbox
    files = [] if inbox is None or not inbox.is_dir() else sorted(each.name for each in inbox.iterdir())
    listed = [(name, name) for name in files if not name.startswith(".") and _shown(name) == name]
    return page(request, "register", "Register a table", step=1, inbox=listed, **more)


def _shown(name: str) -> str:
    """Return a file's name as a page shows it, and sends it back: what is no UTF-8 in it becomes another letter."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _second(request: Request, source: str, schema: str, **more: Any) -> Response:
    return page(request, "register", "Register a table", step=2, source=source, schema=schema, **more)


def _keys(schema: Schema) -> list[str]:
    return [name for name, column in schema.columns.items() if isinstance(column, Key)]


def _third(
    request: Request, service: Service, caller: Caller, source: str, text: str, schema: Schema,
    given: Mapping[str, str], **more: Any,
) -> Response:  # fmt: skip
    keys, moments = _keys(schema), [name for name, column in schema.columns.items() if isinstance(column, Moment)]
    others = [("", "none")] + [(each.name, each.name) for each in service.datasets.seen_by(caller)]
    units = [("", "each record"), *((name, f"each person, by {name}") for name in keys)]
    fixed = [("", "its place in the file"), *((name, f"its key, {name}") for name in keys)]
    size = PUBLIC["record"]
    if keys:
        size = f"{size}, if each record is protected; {PUBLIC['person']}, if persons are"
    public = [size, DECLARED]
    return page(
        request, "register", "Register a table", step=3, source=source, schema=text, given=given, units=units,
        keys=fixed, public=public, others=others, moments=[(name, name) for name in moments], **more,
    )  # fmt: skip
