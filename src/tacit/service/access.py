"""Who asks: the token of a request, checked before anything else is looked at."""

from http import HTTPStatus
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tacit.service.guard import LEAVING, WHO
from tacit.service.refusals import Refusal, forbidden
from tacit.service.service import Service
from tacit.service.tokens import Caller, Scope

_BEARER = HTTPBearer(auto_error=False, description="A token: tacit_<8 letters>_<43 letters>.")


def service_of(request: Request) -> Service:
    """Return the service that answers."""
    return cast("Service", request.app.state.service)


async def _service(request: Request) -> Service:
    # What is no coroutine is called in a thread of its own, which costs more than this does.
    return service_of(request)


TheService = Annotated[Service, Depends(_service)]


def caller_of(
    request: Request, service: TheService, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Caller:
    """Return who asks; refuse whoever has no token that counts, or asks for too much."""
    found = None if given is None else service.tokens.caller(given.credentials)
    if found is None:
        words = "a token is needed (Authorization: Bearer tacit_...), and one that was neither mistyped nor revoked."
        raise Refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized", words)
    return let_in(request, found)


def let_in(request: Request, caller: Caller) -> Caller:
    """Note who asks, and count the request until it is over."""
    request.scope[WHO] = caller.name
    request.scope[LEAVING] = service_of(request).meter.enter(caller.token)
    return caller


Anyone = Annotated[Caller, Depends(caller_of)]


def of_scope(who: Any, *scopes: Scope) -> Any:
    """Return what finds out who asks, and refuses whoever has another scope."""

    async def check(caller: Caller = who) -> Caller:
        if caller.scope not in scopes:
            raise forbidden(caller.scope)
        return caller

    return Depends(check)


_ANYONE = Depends(caller_of)
Custodian = Annotated[Caller, of_scope(_ANYONE, "custodian")]
Analyst = Annotated[Caller, of_scope(_ANYONE, "analyst")]
AnalystOrCustodian = Annotated[Caller, of_scope(_ANYONE, "analyst", "custodian")]
Inspector = Annotated[Caller, of_scope(_ANYONE, "custodian", "auditor")]
"""Who may look at accounts: the custodian and auditors."""

Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same for a retry, else another one.")]
