"""Coming in: the style, signing in and out, and the data sets there are."""

from importlib.resources import files

from fastapi import APIRouter, Request, Response

from tacit.service.access import TheService, let_in
from tacit.service.pages.forms import Fields, PageRoute, text_of
from tacit.service.pages.rendering import go, metered, page, signed_in, signing_of
from tacit.service.pages.signing import COOKIE

router = APIRouter(route_class=PageRoute)


@router.get("/pages/style.css")
def styled() -> Response:
    """Return the style of all pages."""
    text = files("tacit.service.pages").joinpath("templates/style.css").read_text("utf-8")
    return Response(text, media_type="text/css")


@router.get("/")
def front(request: Request, service: TheService) -> Response:
    """Show the data sets, or ask for a token."""
    who = signing_of(request).caller(request.cookies)
    if who is None:
        return page(request, "sign_in", "Sign in")
    let_in(request, who)
    datasets = [metered(each.summary(who)) for each in service.datasets.seen_by(who)]
    return page(request, "datasets", "Data sets", datasets=datasets)


@router.post("/sign-in")
def sign_in(request: Request, service: TheService, fields: Fields) -> Response:
    """Keep a token in the browser, if it counts."""
    token = text_of(fields, "token")
    caller = service.tokens.caller(token)
    if caller is None:
        told = {"kind": "Unauthorized", "message": "This token is nobody's, has ended or was revoked."}
        return page(request, "sign_in", "Sign in", status=401, refusal=told)
    return signed_in(go("/"), request, token, caller)


@router.post("/sign-out")
def sign_out(_: Fields) -> Response:
    """Forget the token in this browser."""
    response = go("/")
    response.delete_cookie(COOKIE, path="/")
    return response
