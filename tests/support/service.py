"""A service over a small made-up table, with a token for each scope and a client that speaks to it."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from tacit.budget import Budget
from tacit.data import Flag, Key, Number, Records, Schema
from tacit.data.columns import Moment
from tacit.data.levels import Category
from tacit.service.app import create_app
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings

ROWS = 400
SCHEMA = Schema(
    {
        "id": Key(),
        "age": Number(0, 100),
        "ward": Category(["A", "B", "C"]),
        "smoker": Flag(),
        "admitted": Moment("2020-01-01", "2021-01-01"),
        "ill": Flag(),
    },
    target="ill",
)


def made_up_table(rows: int = ROWS, seed: int = 5) -> dict[str, Any]:
    """Return columns of patients who never were."""
    draw = np.random.default_rng(seed)
    age, smoker = draw.integers(0, 101, rows), draw.random(rows) < 0.4
    return {
        "id": np.arange(rows) + 1000 * seed,
        "age": age,
        "ward": draw.choice(["A", "B", "C"], rows),
        "smoker": smoker,
        "admitted": np.datetime64("2020-01-01") + draw.integers(0, 366, rows).astype("timedelta64[D]"),
        "ill": draw.random(rows) < age / 150 + 0.2 * smoker,
    }


@dataclass
class Running:
    """A service that answers in this process."""

    settings: Settings
    service: Service
    client: TestClient
    tokens: dict[str, str]
    keys: int = field(default=0)

    def headers(self, who: str) -> dict[str, str]:
        """Return what a caller sends with every request."""
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def get(self, route: str, who: str = "alice", **how: Any) -> Any:
        """Ask for something."""
        return self.client.get(route, headers=self.headers(who), **how)

    def post(self, route: str, body: Any, who: str = "alice", key: str | None = None, **how: Any) -> Any:
        """Send something, under a key of its own unless one is given."""
        self.keys += 1
        headers = {**self.headers(who), "Idempotency-Key": f"key {self.keys}" if key is None else key}
        return self.client.post(route, json=body, headers=headers, **how)

    def delete(self, route: str, who: str = "alice") -> Any:
        """Take something away."""
        return self.client.delete(route, headers=self.headers(who))


@cache
def _registered() -> Path:
    """Return a folder with the clinic as nobody asked about it yet, made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-clinic-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    service = Service(Settings(folder))
    _register(service, Budget(4.0, 1e-5), None)
    service.close()
    return folder


def _register(service: Service, budget: Budget, table: Any, **declared: Any) -> None:
    declared = {"key": "id", "shares": {"bob": 0.5}, "signed_by": "Carol", "schema": SCHEMA, **declared}
    whole = Declared("clinic", budget=budget, **declared)
    register(whole, made_up_table() if table is None else table, service.state, service.settings)


@contextmanager
def running(folder: Path, *, budget: Budget | None = None, table: Any = None, **changes: Any) -> Iterator[Running]:
    """Run a service in a folder: a data set "clinic", analysts alice and bob, a custodian and an auditor.

    `changes` are settings, or what is declared of the data set.
    """
    declared = {name: changes.pop(name) for name in list(changes) if name in Declared.__dataclass_fields__}
    elsewhere = {"state", "ledgers", "witness"} & changes.keys()
    folder.mkdir(exist_ok=True)
    if not (elsewhere or declared or budget or table is not None or any(folder.iterdir())):
        shutil.copytree(_registered(), folder, dirs_exist_ok=True)
    settings = Settings(folder, **{"padding": 0.0, **changes})
    app = create_app(settings)
    service: Service = app.state.service
    if "clinic" not in service.datasets.names():
        _register(service, budget or Budget(4.0, 1e-5), table, **declared)
    scopes = {"alice": "analyst", "bob": "analyst", "carol": "custodian", "dora": "auditor"}
    tokens = {who: service.tokens.make(who, scope)[1] for who, scope in scopes.items()}
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Running(settings, service, client, tokens)


def truth(running: Running) -> Records:
    """Return the records themselves: for tests, which know everything."""
    return running.service.datasets.get("clinic").part("all")
