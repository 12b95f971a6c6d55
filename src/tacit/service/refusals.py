"""What is answered when something is refused: one shape, a status for each kind, and no value of a record.

400  what was asked makes no sense                      InvalidParameter, UnsupportedEvent, ...
401  no token, or none that counts
402  the budget, or a person's share of it, is spent    BudgetExceeded
403  the token's scope does not go that far
404  there is none, or it is somebody else's: which of the two is not told
409  the same key came with another request before, or what it was charged for was answered and the answer is lost
413  too large
422  the body has another form than the route's
429  too much at once, with the seconds to wait
503  busy, or a place that must remember cannot be reached

`charged` is null, not known, unless somebody knows: a request that is refused now may have been charged when it came
before. It is false where what was asked makes no sense, whenever it comes, and where the account was asked.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, final

from tacit.errors import (
    BudgetExceeded,
    FileNotWritten,
    InvalidParameter,
    LedgerError,
    ModelFileError,
    QueryFailed,
    TacitError,
    TicketUsed,
    UnsupportedEvent,
)


@final
class Refusal(TacitError):
    """A request that the service refuses by itself; `wait` is the number of seconds after which to come again."""

    def __init__(
        self, status: HTTPStatus, kind: str, message: str, *, charged: bool | None = None, wait: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.charged, self.wait = status, kind, charged, wait


def missing(what: str) -> Refusal:
    """Return the refusal of what is not there, or is not the caller's to know of."""
    return Refusal(HTTPStatus.NOT_FOUND, "NotFound", f"there is no such {what} for you.")


def forbidden(scope: str) -> Refusal:
    """Return the refusal of what another scope may do."""
    return Refusal(HTTPStatus.FORBIDDEN, "Forbidden", f"a token of scope {scope!r} may not do this.")


def unavailable(what: str) -> Refusal:
    """Return the refusal for a place that cannot be reached now."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Unavailable", f"{what} cannot be used now; come again.", wait=5)


_STATUS: tuple[tuple[type[TacitError], HTTPStatus], ...] = (
    (BudgetExceeded, HTTPStatus.PAYMENT_REQUIRED),
    (QueryFailed, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelFileError, HTTPStatus.BAD_REQUEST),
    (InvalidParameter, HTTPStatus.BAD_REQUEST),
    (UnsupportedEvent, HTTPStatus.BAD_REQUEST),
    (FileNotWritten, HTTPStatus.SERVICE_UNAVAILABLE),
    (TicketUsed, HTTPStatus.CONFLICT),
    (LedgerError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_WITHHELD = (FileNotWritten, LedgerError)
"""Their words name files and databases of the host, where it may be otherwise in a moment."""


def status_of(error: BaseException) -> HTTPStatus:
    """Return the status that an error is answered with."""
    if isinstance(error, Refusal):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def body_of(error: BaseException) -> Mapping[str, Any]:
    """Return the one shape of all errors; of what nobody expected neither kind nor words are told."""
    if isinstance(error, Refusal):
        return shape(error.kind, str(error), error.charged)
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return shape("UnexpectedFailure", "")
    withheld = status == HTTPStatus.SERVICE_UNAVAILABLE and isinstance(error, _WITHHELD)
    words = "what keeps the account cannot be used now; come again." if withheld else str(error)
    charged = True if isinstance(error, QueryFailed) else False if status == HTTPStatus.BAD_REQUEST else None
    return shape(type(error).__name__, words, charged)


def told(error: BaseException, *, charged: bool | None) -> Refusal:
    """Return the refusal that an error is told as, with what was charged."""
    said = body_of(error)["error"]
    wait = error.wait if isinstance(error, Refusal) else None
    return Refusal(status_of(error), said["kind"], said["message"], charged=charged, wait=wait)


def shape(kind: str, message: str, charged: bool | None = None) -> Mapping[str, Any]:
    """Return an error as plain values."""
    return {"error": {"kind": kind, "message": message, "charged": charged}}
