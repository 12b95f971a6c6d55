"""Workers of a service that can be killed and started again at once; run as a script by the tests.

Everything is imported once; each worker is a fork that serves on a socket that stays open between them. Each line that
comes in is a command with its arguments as JSON; what happened goes out as a line of JSON.
"""

import json
import os
import resource
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from tacit.service.app import create_app
from tacit.service.settings import Settings

_LISTENING = socket.create_server(("127.0.0.1", 0), backlog=256)
_RUNNING: set[int] = set()


def _serve(document: dict, largest: int | None) -> None:
    app = create_app(Settings.of(document, Path("/")))
    if largest is not None:
        # As on a full disk: what would make a file larger than this fails.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    config = uvicorn.Config(app, access_log=False, log_level="critical", timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[_LISTENING])


def start(document: dict, largest: int | None = None) -> int:
    """Start a worker; return its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _serve(document, largest)
            code = 0
        finally:
            os._exit(code)
    _RUNNING.add(child)
    return child


def port() -> int:
    """Return where workers listen."""
    return int(_LISTENING.getsockname()[1])


def end(child: int, how: int) -> int:
    """Send a worker a signal, wait for its end, and return how it ended."""
    os.kill(child, how)
    _RUNNING.discard(child)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end_all() -> int:
    """Kill the workers that a test which failed left behind."""
    return len([end(child, signal.SIGKILL) for child in list(_RUNNING)])


if __name__ == "__main__":
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        print(json.dumps(globals()[command](*arguments)), flush=True)
