"""What stands before every route: how large, how deep and how slow a request may be, and how an answer leaves.

Nothing that fails behind it comes out but as one error without words. Answers that read records leave at public steps
of time: as early as the first step after they are ready.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.clock import now, until_step
from tacit.service.metrics import Metrics
from tacit.service.refusals import shape
from tacit.service.settings import Settings

LEAVING = "tacit.leaving"
"""Where in a request's scope stands what is called when it is over."""
WHO = "tacit.who"

_LOG = logging.getLogger("tacit.service")
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.S)
_BRACKETS = re.compile(rb"[\[\]{}]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ONCE = (b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key", b"transfer-encoding")
PADDED = frozenset(
    ("/v1/datasets/{name}/queries", "/v1/sessions/{session}/answers", "/datasets/{name}", "/sessions/{session}")
)
"""The routes to which questions and points are sent, by programs and by pages: however a path is written that they
take."""
_HEADERS: Mapping[bytes, bytes] = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}


@final
class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._limits, self._padding, self._metrics = app, settings.limits, settings.padding, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self._padding)
        try:
            await self._answer(scope, receive, exchange)
        except Exception as failure:
            # Its words may quote a record: not even the log has them.
            exchange.failure = type(failure).__name__
            if exchange.status is None:
                await exchange.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "UnexpectedFailure", "")
        finally:
            leaving: Callable[[], None] | None = scope.get(LEAVING)
            if leaving is not None:
                leaving()
            self._metrics.count(exchange.route, exchange.status or 0, exchange.seconds)
            _LOG.info("%s", json.dumps(exchange.facts))

    async def _answer(self, scope: Scope, receive: Receive, exchange: "_Exchange") -> None:
        largest = self._limits.upload if scope["path"] in UPLOADS else self._limits.body
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not scope["path"].isprintable() or b"%00" in scope["query_string"]:
            # No name has such letters, and some databases would not take them.
            await exchange.refuse(HTTPStatus.NOT_FOUND, "NotFound", "there is nothing of such a name.")
        elif _is_ambiguous([name for name, _ in scope["headers"]]):
            await exchange.refuse(HTTPStatus.BAD_REQUEST, "BadRequest", "a header comes twice, or contradicts another.")
        elif not length.isdigit() or len(length) > 15:
            await exchange.refuse(HTTPStatus.BAD_REQUEST, "BadRequest", "the length of the body is not a number.")
        elif int(length) > largest:
            await exchange.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", f"at most {largest} bytes.")
        elif scope["path"] in UPLOADS:
            await self._app(scope, _counted(receive, largest), exchange.send)
        else:
            await self._answer_small(scope, receive, exchange, largest)

    async def _answer_small(self, scope: Scope, receive: Receive, exchange: "_Exchange", largest: int) -> None:
        """Take the whole body first, for as long as it may take to arrive."""
        try:
            body = await asyncio.wait_for(_read(receive, largest), self._limits.seconds)
        except TimeoutError:
            await exchange.refuse(HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "the body took too long to arrive.")
            return
        except _Gone:
            return
        if body is None:
            await exchange.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", f"at most {largest} bytes.")
        elif body and (wrong := _wrong(body, self._limits.depth)):
            await exchange.refuse(HTTPStatus.BAD_REQUEST, "BadRequest", wrong)
        else:
            await self._app(scope, _replayed(body, receive), exchange.send)


UPLOADS = ("/v1/uploads", "/custodian/uploads")
"""Where bodies may be large: they go to the disk, not into memory."""


@final
class _Exchange:
    """One request and its answer: what is noted of it, and how it leaves."""

    def __init__(self, scope: Scope, send: Send, step: float) -> None:
        self._scope, self._send, self._step = scope, send, step
        self._began = time.monotonic()
        self.status: int | None = None
        self.failure: str | None = None

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that every answer has, not before its time."""
        if message["type"] == "http.response.start":
            if self._step and self._scope["method"] == "POST" and self.route in PADDED:
                await asyncio.sleep(until_step(self.seconds, self._step))
            self.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            more = [(name, value) for name, value in _HEADERS.items() if name not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        await self._send(message)

    async def refuse(self, status: HTTPStatus, kind: str, words: str) -> None:
        """Answer with an error of the one shape; what else was sent on the connection is not read."""
        body = json.dumps(shape(kind, words, False if status == HTTPStatus.BAD_REQUEST else None)).encode("ascii")
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": int(status), "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    @property
    def seconds(self) -> float:
        """How long the request took so far."""
        return time.monotonic() - self._began

    @property
    def route(self) -> str:
        """The route's own path, not what was put in its places."""
        return getattr(self._scope.get("route"), "path", "none")

    @property
    def facts(self) -> dict[str, Any]:
        """What is noted: nothing that somebody sent, but for who they are."""
        method = self._scope["method"] if self._scope["method"] in _METHODS else "other"
        found = {
            "time": now(),
            "method": method,
            "route": self.route,
            "status": self.status,
            "seconds": round(self.seconds, 4),
            "who": self._scope.get(WHO),
        }
        return found if self.failure is None else {**found, "failure": self.failure}


_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))


class _Gone(Exception):
    """Whoever asked has hung up."""


async def _read(receive: Receive, largest: int) -> bytes | None:
    """Return the whole body, or None if it is larger than it may be."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Gone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > largest:
            return None
        if not message.get("more_body", False):
            return b"".join(pieces)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to whoever wants it now."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _counted(receive: Receive, largest: int) -> Receive:
    """Hand pieces of a large body on; one that grows beyond what it said ends as if its sender had gone."""
    size = 0

    async def count() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        return {"type": "http.disconnect"} if size > largest else message

    return count


def _wrong(body: bytes, depth: int) -> str | None:
    """Say what of a body no parser should be given: what is too deep, or text that is none.

    Other encodings are refused first: a parser that guesses them would read other brackets than are counted here.
    """
    if b"\0" in body or not _is_utf8(body):
        return "the body is no text in UTF-8."
    level = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        level += 1 if bracket[0] in b"[{" else -1
        if level > depth:
            return f"the body is nested more than {depth} deep."
    if _SURROGATE.search(body):
        try:
            json.dumps(json.loads(body), ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return "a text in the body is no text."
    return None


def _is_ambiguous(names: Sequence[bytes]) -> bool:
    """Whether a proxy could have read a request otherwise than it is read here: another body, or another caller."""
    twice = any(names.count(name) > 1 for name in _ONCE)
    return twice or (b"content-length" in names and b"transfer-encoding" in names)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
