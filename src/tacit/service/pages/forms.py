"""What a form sent: bounded, checked to come from a page of this service, as plain texts."""

import math
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import FormData, UploadFile

from tacit.errors import InvalidParameter, TacitError
from tacit.service.access import let_in, of_scope
from tacit.service.pages.rendering import go, page, signing_of
from tacit.service.pages.signing import not_from_here
from tacit.service.refusals import Refusal, body_of, status_of
from tacit.service.tokens import Caller

_MOST_FIELDS = 400
_LONGEST_FIELD = 2**18


class PageRoute(APIRoute):
    """A route whose refusals are pages: who is not signed in is asked to, others are told what is wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answered = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await answered(request)
            except TacitError as error:
                return refused(request, error)

        return answer


def beside(error: TacitError, key: str = "", *, priced: bool = False) -> dict[str, Any]:
    """Return what a form's page tells of an error, and the form's key, which it keeps unless nothing was charged.

    A price charges nothing, and says nothing of what was begun under the form's key before. What passes and may have
    charged is raised again, for a page of its own: the account that the form's page shows may not be there, and that
    page, reloaded, sends the same again.
    """
    told = _said(error, sent=True)
    if priced:
        told.pop("charged", None)
        return {"refusal": told, "status": status_of(error), "key": key}
    if told.get("charged", False) is None:
        raise error
    return {"refusal": told, "status": status_of(error), "key": "" if told.get("charged") is False else key}


def refused(request: Request, error: TacitError) -> Response:
    """Return the page of a refusal."""
    status = status_of(error)
    if status == HTTPStatus.UNAUTHORIZED:
        return go("/")
    return page(request, "refused", "Not done", status=status, refusal=_said(error, sent=request.method == "POST"))


def _said(error: TacitError, *, sent: bool) -> dict[str, Any]:
    """Return what a page says of an error: not that a charge is not known, unless it helps to send a form again."""
    told = dict(body_of(error)["error"])
    if told["charged"] is None and not (sent and status_of(error) >= HTTPStatus.TOO_MANY_REQUESTS):
        del told["charged"]
    return told


def check_sender(request: Request) -> None:
    """Refuse a form that a browser says another site sent, or that names an encoding, as no page's form does.

    Whoever is not signed in has the same word in every form: without this, another site could sign people in as
    somebody else.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise not_from_here()
    if "charset" in request.headers.get("content-type", "").lower():
        raise Refusal(HTTPStatus.BAD_REQUEST, "BadRequest", "a form is in UTF-8, and names no charset.")


def texts_of(request: Request, form: FormData) -> dict[str, str]:
    """Return the texts of a form, if it came from a page of this service."""
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    signing_of(request).check(request.cookies, fields)
    return fields


async def form_of(request: Request) -> Mapping[str, Any]:
    """Return the fields of a form: texts, and the files that were sent with it."""
    check_sender(request)
    async with request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=_LONGEST_FIELD) as form:
        fields = texts_of(request, form)
        sent = {
            name: (value.filename, await value.read())
            for name, value in form.items()
            if isinstance(value, UploadFile) and value.filename
        }
    return {**fields, **sent}


def caller_of(request: Request) -> Caller:
    """Return who is signed in."""
    found = signing_of(request).caller(request.cookies)
    if found is None:
        raise Refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized", "sign in first.")
    return let_in(request, found)


_SIGNED_IN = Depends(caller_of)
Fields = Annotated[Mapping[str, Any], Depends(form_of)]
SignedIn = Annotated[Caller, _SIGNED_IN]
CustodianHere = Annotated[Caller, of_scope(_SIGNED_IN, "custodian")]
InspectorHere = Annotated[Caller, of_scope(_SIGNED_IN, "custodian", "auditor")]


def text_of(fields: Mapping[str, Any], name: str, usual: str = "") -> str:
    """Return what was written into a field."""
    value = fields.get(name, usual)
    return value.strip() if isinstance(value, str) else usual


def number_of(fields: Mapping[str, Any], name: str, usual: float | None = None) -> float | None:
    """Return the number in a field; `usual` where nothing was written."""
    text = text_of(fields, name)
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidParameter(f"{name} must be a number, such as 0.1.")
    return value
