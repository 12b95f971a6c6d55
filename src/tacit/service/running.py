"""Running a service: by uvicorn, on one address, until it is told to stop."""

import json
import logging
import os
from dataclasses import asdict, replace
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tacit.service.app import create_app
from tacit.service.demo import prepare_demo
from tacit.service.service import Service
from tacit.service.settings import Settings

__all__ = ["make_custodian", "prepare_demo", "serve", "settings_of"]

_SETTINGS = "TACIT_SERVICE_SETTINGS"
_PATIENCE = 30


def settings_of(config: Path | None, folder: Path, port: int | None) -> Settings:
    """Return the settings of a file, or of a demonstration in a folder."""
    settings = Settings(folder) if config is None else Settings.load(config)
    return settings if port is None else replace(settings, port=port)


def make_custodian(settings: Settings, name: str) -> str:
    """Make a token for somebody who registers tables and gives out tokens: whoever may do this owns the folder."""
    service = Service(settings)
    try:
        return service.tokens.make(name, "custodian")[1]
    finally:
        service.close()


def serve(settings: Settings) -> None:
    """Answer until a signal says to stop; what is under way is finished first."""
    # What keeps a service from starting is said once, here: a worker that cannot start is begun again, for ever.
    Service(settings).close()
    # Workers are processes of their own, which read the settings again.
    os.environ[_SETTINGS] = json.dumps(asdict(settings), default=str)
    uvicorn.run(
        "tacit.service.running:worker",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        access_log=False,
        server_header=False,
        date_header=False,
        log_level="warning",
        timeout_graceful_shutdown=_PATIENCE,
    )


def worker() -> FastAPI:
    """Make the application of one worker, and write a line of JSON to stderr for every request."""
    log = logging.getLogger("tacit.service")
    log.handlers, log.propagate = [logging.StreamHandler()], False
    log.setLevel(logging.INFO)
    # It quotes what was sent.
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    return create_app(Settings.of(json.loads(os.environ[_SETTINGS]), Path("/")))
