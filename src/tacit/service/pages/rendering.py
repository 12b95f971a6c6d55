"""From facts to a page: templates that escape everything, and headers that let a page do nothing but be read."""

from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import URL

from tacit.reports.drawing import budget_picture
from tacit.service.access import service_of
from tacit.service.pages.signing import COOKIE, Signing
from tacit.service.tokens import Caller
from tacit.version import VERSION

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cross-Origin-Opener-Policy": "same-origin"}
"""What pages have besides the headers that every answer gets from the guard."""
_EVERYBODY = (("/", "Data sets"), ("/epsilon", "What epsilon means"))
_CUSTODY = ("/custody", "Custody")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("tacit.service.pages"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["moment"] = lambda text: text[:16].replace("T", " ")
    return made


def signing_of(request: Request) -> Signing:
    """Return what signs this service's cookies and forms."""
    state = request.app.state
    if not hasattr(state, "signing"):
        service = service_of(request)
        state.signing = Signing(service.settings.folder, service.tokens)
    found: Signing = state.signing
    return found


def page(
    request: Request,
    template: str,
    title: str,
    *,
    status: int = HTTPStatus.OK,
    refresh: int | None = None,
    **facts: Any,
) -> HTMLResponse:
    """Return a page; every text in `facts` is text, whatever it holds."""
    signing = signing_of(request)
    who = signing.caller(request.cookies)
    places = [*_EVERYBODY, _CUSTODY] if who is not None and who.scope != "analyst" else list(_EVERYBODY)
    around = {
        "title": title,
        "who": who,
        "guard": signing.guard(request.cookies),
        "places": places,
        "here": request.url.path,
        "refresh": refresh,
        "refusal": None,
        "version": VERSION,
    }
    text = _environment().get_template(f"{template}.html").render({**around, **facts})
    return HTMLResponse(text, status, _HEADERS)


def go(place: str) -> RedirectResponse:
    """Send the browser on, after a form was taken."""
    return RedirectResponse(str(URL(place)), HTTPStatus.SEE_OTHER, _HEADERS)


def signed_in(response: Response, request: Request, token: str, caller: Caller) -> Response:
    """Keep a token in the browser: away from scripts, from other sites, and from the network where there is TLS."""
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure, path="/", max_age=12 * 3600)
    return response


def metered(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts of a data set with a picture of its budget."""
    spent, left = (float(facts[name]["epsilon"]) for name in ("spent", "left"))
    return {**facts, "picture": budget_picture(spent, 0.0, left)}
