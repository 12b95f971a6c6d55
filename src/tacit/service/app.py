"""The web application: routes, errors of one shape, and what guards them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tacit.errors import TacitError
from tacit.service.guard import Guard
from tacit.service.refusals import Refusal, body_of, shape, status_of
from tacit.service.routes import accounts, datasets, health, jobs, models, pages, people, questions, sessions
from tacit.service.service import Service
from tacit.service.settings import Settings
from tacit.version import VERSION

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")


def create_app(settings: Settings) -> FastAPI:
    """Make the application of a service."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = settings.threads
        service.runner.wake()
        yield
        service.close()

    app = FastAPI(
        title="tacit: a trusted learner",
        version=VERSION,
        description="Answers about records that nobody but the service sees, out of one budget.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.add_middleware(Guard, settings=settings, metrics=service.metrics)
    for routes in (health, people, datasets, accounts, questions, jobs, models, sessions, pages):
        app.include_router(routes.router)
    app.add_exception_handler(TacitError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _elsewhere)
    return app


def _refused(_: Request, error: Exception) -> JSONResponse:
    """Answer with an error of tacit's own."""
    assert isinstance(error, TacitError)
    headers = {"WWW-Authenticate": "Bearer"} if status_of(error) == HTTPStatus.UNAUTHORIZED else {}
    if isinstance(error, Refusal) and error.wait is not None:
        headers["Retry-After"] = str(error.wait)
    return JSONResponse(body_of(error), status_of(error), headers)


def _malformed(_: Request, error: Exception) -> JSONResponse:
    """Say where a body has another form than the route's, never what was there."""
    assert isinstance(error, RequestValidationError)
    found = []
    for each in error.errors()[:10]:
        where = [str(step) for step in each["loc"] if isinstance(step, int) or _PLAIN.fullmatch(str(step))]
        found.append(f"{'.'.join(where)}: {each['type'].replace('_', ' ')}")
    words = f"the request has another form than this route's: {'; '.join(found)}. See /openapi.json."
    return JSONResponse(shape("Malformed", words, charged=False), HTTPStatus.UNPROCESSABLE_ENTITY)


def _elsewhere(_: Request, error: Exception) -> JSONResponse:
    """Answer what no route was found for."""
    assert isinstance(error, HTTPException)
    words = HTTPStatus(error.status_code).phrase
    return JSONResponse(shape(words.replace(" ", ""), f"{words.lower()}."), error.status_code, error.headers)
