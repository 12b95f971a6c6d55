"""A service under load: 200 clients at once, who ask, price and look, over one budget that ends on the way.

    python benchmarks/service.py                  60 s each on SQLite and on PostgreSQL, two workers
    python benchmarks/service.py --seconds 5      a short one

Beside it, in the same run and by the same workers, a route that gives back what it is sent: no token, no limits, no
state, no account. Clients speak HTTP/1.1 over connections that stay open, from a process of their own on the same
machine. Afterwards the account is opened again and compared with every answer that was given.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROWS, TOKENS, COST = 10_000, 20, 0.001
PORT = 8791
MIX = (("ask", 0.6), ("price", 0.2), ("look", 0.1), ("again", 0.1))


def settings_of(folder: Path, database: str | None) -> Any:
    """Return the settings of a service whose limits are no matter here."""
    from tacit.service.settings import Limits, Settings

    where = {} if database is None else {"state": database, "ledgers": database}
    limits = Limits(requests_per_minute=10**7, at_once=10**4)
    return Settings(folder, port=PORT, workers=2, threads=8, limits=limits, **where)


def prepare(folder: Path, database: str | None, budget: float) -> list[str]:
    """Register a made-up table; return the tokens of the analysts."""
    import numpy as np

    from tacit.budget import Budget
    from tacit.data import Number, Schema
    from tacit.service.registering import Declared, register
    from tacit.service.service import Service

    settings = settings_of(folder, database)
    service = Service(settings)
    ages = np.random.default_rng(1).integers(0, 101, ROWS)
    declared = Declared("load", Schema({"age": Number(0, 100)}), Budget(budget), signed_by="nobody")
    register(declared, {"age": ages}, service.state, settings)
    tokens = [service.tokens.make(f"analyst {number}", "analyst")[1] for number in range(TOKENS)]
    service.close()
    return tokens


def worker() -> Any:
    """Make the application of one worker, with the route beside it that does nothing."""
    from fastapi import Request, Response

    from tacit.service.app import create_app

    folder, database = json.loads(os.environ["TACIT_LOAD"])
    app = create_app(settings_of(Path(folder), database))

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    return app


@contextmanager
def served(folder: Path, database: str | None) -> Iterator[None]:
    """Run two workers, and stop them."""
    import httpx

    how = f"factory=True, app_dir={str(HERE)!r}, port={PORT}, workers=2, access_log=False, log_level='error'"
    code = f"import uvicorn; uvicorn.run('service:worker', {how})"
    environment = {**os.environ, "TACIT_LOAD": json.dumps([str(folder), database]), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    try:
        for _ in range(600):
            try:
                if httpx.get(f"http://127.0.0.1:{PORT}/healthz", timeout=1).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@dataclass
class Seen:
    """What clients saw: how often each status, how long each kind took, and the answers to questions."""

    statuses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    lasted: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    differing: int = 0


async def exchange(reader: Any, writer: Any, method: str, route: str, headers: dict[str, str], body: bytes) -> Any:
    """Send one request over an open connection; return the status and the body of its answer."""
    lines = [f"{method} {route} HTTP/1.1", "Host: load", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    length = next(int(line.split(":")[1]) for line in head if line.startswith("content-length:"))
    return int(head[0].split(" ")[1]), await reader.readexactly(length)


def request_of(kind: str, draw: random.Random) -> tuple[str, str, dict[str, Any] | None]:
    """Return a request of a kind: its method, its route and its body."""
    question = {"queries": [{"mean": f"age > {draw.random() * 100:.9f}"}], "epsilon": COST}
    match kind:
        case "ask" | "again":
            return "POST", "/v1/datasets/load/queries", question
        case "price":
            return "POST", "/v1/datasets/load/price", {"what": "queries", **question}
        case "echo":
            return "POST", "/echo", question
    return "GET", "/v1/datasets/load", None


async def client(number: int, token: str, kinds: tuple[tuple[str, float], ...], until: float, seen: Seen) -> None:
    """Send one request after the other over one connection; now and then one that was sent before, under its key."""
    draw = random.Random(number)
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    sent: list[tuple[str, bytes]] = []
    count = 0
    while time.monotonic() < until:
        kind = draw.choices([name for name, _ in kinds], [weight for _, weight in kinds])[0]
        method, route, plain = request_of(kind, draw)
        count += 1
        key, body = f"{number} {count}", b"" if plain is None else json.dumps(plain).encode()
        if kind == "again":
            if not sent:
                continue
            key, body = draw.choice(sent)
        elif kind == "ask":
            sent.append((key, body))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
        start = time.perf_counter()
        status, text = await exchange(reader, writer, method, route, headers, body)
        seen.lasted[kind].append(time.perf_counter() - start)
        said = "200" if status == 200 else f"{status} {json.loads(text)['error']['kind']}"
        seen.statuses[kind][said] += 1
        if kind in ("ask", "again") and status == 200:
            told = json.loads(text)
            seen.differing += seen.answers.setdefault(key, told) != told
    writer.close()


async def load(clients: int, tokens: list[str], kinds: tuple[tuple[str, float], ...], seconds: float) -> Seen:
    """Let so many clients ask for so long."""
    seen, until = Seen(), time.monotonic() + seconds
    await asyncio.gather(
        *(client(number, tokens[number % len(tokens)], kinds, until, seen) for number in range(clients))
    )
    return seen


def checked(folder: Path, database: str | None, seen: Seen) -> dict[str, Any]:
    """Open the account again, and compare it with what was told."""
    from tacit.accounting import Ledger
    from tacit.accounting.witness import witness_at
    from tacit.budget import Budget

    settings = settings_of(folder, database)
    last = witness_at(settings.witness).last("load")
    ledger = Ledger.open(settings.account("load"), name="load", head=last and last[1])
    charges = {entry.number: entry for entry in ledger.entries() if entry.event is not None}
    numbers = [told["entry"] for told in seen.answers.values() if told["entry"] is not None]
    return {
        "charges": len(charges),
        "answers": len(seen.answers),
        "answers without a charge": sum(number not in charges for number in numbers) + len(seen.answers) - len(numbers),
        "charges told twice": len(numbers) - len(set(numbers)),
        "charges without an answer": len(charges) - len(set(numbers)),
        "retries answered otherwise": seen.differing,
        "overspent": not ledger.spent <= ledger.budget,
        "sum": ledger.spent == Budget(COST) * len(charges),
        "spent": str(ledger.spent),
        "budget": str(ledger.budget),
    }


@contextmanager
def postgresql() -> Iterator[str | None]:
    """Start a PostgreSQL server, which has room for 50 connections; give a database of it, None without a server."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from conftest import _programs, _running_server

    programs = _programs()
    if programs is None:
        yield None
        return
    with _running_server(programs) as server:
        yield server.address(server.new_database())


def row(kind: str, seen: Seen, seconds: float) -> str:
    """Return the line of a table about one kind of request."""
    lasted = sorted(seen.lasted[kind])
    if not lasted:
        return f"| {kind} | 0 | | | | |"
    ends = ", ".join(f"{status}: {number:,}" for status, number in sorted(seen.statuses[kind].items()))
    p50, p99 = (1000 * lasted[min(len(lasted) - 1, int(share * len(lasted)))] for share in (0.5, 0.99))
    mean = 1000 * statistics.fmean(lasted)
    return f"| {kind} | {len(lasted) / seconds:,.0f} | {p50:,.0f} | {p99:,.0f} | {mean:,.0f} | {ends} |"


def measured(name: str, database: str | None, arguments: argparse.Namespace) -> None:
    """Run one service under load, and print what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = prepare(Path(folder), database, arguments.budget)
        with served(Path(folder), database):
            echoed = asyncio.run(load(arguments.clients, tokens, (("echo", 1.0),), arguments.seconds / 6))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            seen = asyncio.run(load(arguments.clients, tokens, MIX, arguments.seconds))
            own = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        found = checked(Path(folder), database, seen)
    print(f"\n## {name}: {arguments.clients} clients, {arguments.seconds:g} s, 2 workers\n")
    print("| what | a second | p50, ms | p99, ms | mean, ms | ends |\n|---|---|---|---|---|---|")
    print(row("echo", echoed, arguments.seconds / 6))
    for kind, _ in MIX:
        print(row(kind, seen, arguments.seconds))
    print(
        f"\nClients took {own:.0f} s of processor time; load {os.getloadavg()[0]:.1f} at the end. The account then:\n"
    )
    for what, value in found.items():
        print(f"- {what}: {value}")
    sys.stdout.flush()


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--budget", type=float, default=0.6)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    arguments = parser.parse_args()
    if arguments.only != "postgresql":
        measured("SQLite", None, arguments)
    if arguments.only == "sqlite":
        return
    with postgresql() as database:
        if database is not None:
            measured("PostgreSQL", database, arguments)


if __name__ == "__main__":
    main()
