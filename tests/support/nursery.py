"""Servers of a service as processes of their own, which start in a moment and may die at a chosen place.

A process that has imported all of it, and has no threads, forks a child for each server. Run as a program it is that
process: it reads one JSON object a line, and prints the number of the child.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 30.0


@dataclass
class Server:
    """A server that answers on a port, until it is killed."""

    pid: int
    port: int
    client: httpx.Client

    def kill(self) -> None:
        """End it at once, wherever it is."""
        os.kill(self.pid, signal.SIGKILL)
        self.gone()

    def gone(self) -> None:
        """Wait until it has died."""
        until = time.monotonic() + PATIENCE
        while Path(f"/proc/{self.pid}").exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    def ask(self, method: str, route: str, token: str, body: Any = None, key: str | None = None) -> httpx.Response:
        """Ask for something; an error of the connection is passed on."""
        headers = {"Authorization": f"Bearer {token}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        return self.client.request(method, route, json=body, headers=headers)


@dataclass
class Nursery:
    """Where servers come from."""

    process: "subprocess.Popen[str]"
    servers: list[Server] = field(default_factory=list)

    def server(self, folder: Path, *, wait: bool = True, **how: Any) -> Server:
        """Start a server over a folder; `how` says at what it dies, or what of it is broken."""
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"folder": str(folder), "port": port, **how}) + "\n")
        self.process.stdin.flush()
        server = Server(
            int(self.process.stdout.readline()), port, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        )
        self.servers.append(server)
        until = time.monotonic() + PATIENCE
        while wait:
            try:
                server.client.get("/healthz").raise_for_status()
                break
            except httpx.TransportError:
                assert time.monotonic() < until
                time.sleep(0.02)
        return server

    def close(self) -> None:
        """End all servers, and the nursery."""
        for server in self.servers:
            server.client.close()
            if Path(f"/proc/{server.pid}").exists():
                os.kill(server.pid, signal.SIGKILL)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Start a nursery for some tests."""
    command = [sys.executable, str(Path(__file__))]
    path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    found = Nursery(process)
    try:
        yield found
    finally:
        found.close()


def _main() -> None:
    from support import service  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _serve(json.loads(line))
            os._exit(0)
        print(child, flush=True)


def _serve(how: dict[str, Any]) -> None:
    import uvicorn

    from tacit.service.app import create_app
    from tacit.service.settings import Limits, Settings

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place in how.get("die", ()):
        _doom(place)
    if how.get("half_noise"):
        _halve()
    settings = Settings(
        Path(how["folder"]),
        padding=0.0,
        lease=how.get("lease", 0.5),
        port=how["port"],
        limits=Limits(requests_per_minute=10**6),
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=how["port"], log_level="critical")


def _doom(place: str) -> None:
    """Let this process kill itself before or after the first call of a function: "before module:Class.name"."""
    import importlib

    when, _, where = place.partition(" ")
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for step in owners:
        owner = getattr(owner, step)
    usual = getattr(owner, name)

    def doomed(*given: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        usual(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, doomed)


def _halve() -> None:
    """Draw half of the noise that was promised."""
    from tacit import noise

    laplace, gaussian = noise.laplace, noise.gaussian
    noise.laplace = lambda source, scale, size: laplace(source, scale, size) // 2  # type: ignore[assignment]
    noise.gaussian = lambda source, scale, size: gaussian(source, scale, size) // 2  # type: ignore[assignment]


if __name__ == "__main__":
    _main()
