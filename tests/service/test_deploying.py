"""docs/deploying.md: its container starts, its settings are settings, its drill ends as it says."""

import json
import math
import re
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from typer.testing import CliRunner

from support.extras import absent, narrow
from support.service import running
from tacit.cli.app import app
from tacit.errors import InvalidParameter, LedgerCorrupt
from tacit.service.running import serve
from tacit.service.service import Service
from tacit.service.settings import Limits, Settings
from tacit.service.state import State

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "deploying.md").read_text("utf-8")


def written(tmp_path: Path) -> Path:
    """Write the page's settings down, with its places beneath a folder of the test's."""
    text = re.search(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
    for place in ("/var/lib/tacit-inbox", "/var/lib/tacit", "/mnt/elsewhere"):
        text = text.replace(f'"{place}', f'"{tmp_path}{place}')
    for folder in ("var/lib/tacit-inbox", "mnt/elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "service.toml"
    file.write_text(text, "utf-8")
    return file


def test_the_pages_settings_are_read(tmp_path, monkeypatch):
    """Secrets come from the environment; every setting named in its table exists, with the value said there."""
    file = written(tmp_path)
    monkeypatch.setenv("TACIT_LEDGERS", str(tmp_path / "ledgers"))
    monkeypatch.setenv("TACIT_STATE", f"sqlite:///{tmp_path / 'state.db'}")
    settings = Settings.load(file)
    assert (settings.workers, settings.ledgers) == (2, str(tmp_path / "ledgers"))
    usual = Settings(tmp_path / "usual")
    assert (usual.host, usual.port, usual.workers, usual.padding) == ("127.0.0.1", 8765, 1, 0.05)
    limits = usual.limits
    assert (limits.requests_per_minute, limits.at_once, limits.body) == (600, 16, 2**20)
    for name in re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE):
        assert hasattr(usual, name), name


WRONG = [
    {name: value}
    for names, values in {
        ("folder", "host"): [5, True, ["a"], "", "a\0", {"a": 1}],
        ("state", "ledgers", "witness", "inbox"): [5, [], "a\0"],
        ("state", "ledgers", "witness"): ["foo://", "postgresql://h:54E32/d", "postgresql://a:b@4:c@h/d"],
        ("witness",): ["http://[::1", "https://h:port/"],
        ("sources",): ["x", {"people": 5}, ["x"]],
        ("given_up",): ["x", [1], 5],
        ("port", "workers", "threads", "job_threads"): [-1, 0, 1.5, "x", True, 2**40],
        ("lease",): [0],
        ("padding", "lease"): [-0.05, "x", math.nan, 1e10, True],
        ("limits",): [5, {"none": 1}],
    }.items()
    for name in names
    for value in values
] + [
    {"limits": {each.name: value}} for each in fields(Limits) for value in (-1, 0, "x", True, None, math.inf, 1e40)
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_setting_of_another_type_or_range_is_refused(wrong, tmp_path):
    """Wherever it comes from, a file or a call, it is refused in words that name it."""
    (name,) = wrong["limits"] if isinstance(wrong.get("limits"), dict) else wrong
    with pytest.raises(InvalidParameter, match=name.rstrip("s")):
        Settings.of({"folder": "f", **wrong}, tmp_path)
    with pytest.raises(InvalidParameter):
        Settings(**{"folder": tmp_path, **wrong})


@pytest.mark.parametrize("place", ["/dev/null/state.db", "/", "postgresql+nobody://h/d"])
def test_a_state_that_can_be_nowhere_is_refused_in_words(place):
    """A file where none can be, and a driver that there is not, are told without a traceback."""
    with pytest.raises(InvalidParameter, match="state"):
        State(place)


def test_settings_are_the_same_when_they_are_read_again(tmp_path):
    """Workers read what the first process wrote, and have the same settings."""
    for found in (Settings(tmp_path), Settings(tmp_path, given_up=["a"], sources={"b": "c"}, inbox=tmp_path)):
        assert Settings.of(json.loads(json.dumps(asdict(found), default=str)), Path("/")) == found
    assert Settings.of({"folder": "f", "limits": {"work": 1e12}}, tmp_path).limits.work == 10**12


def test_the_first_custodian_gets_a_token_on_the_machine(tmp_path, monkeypatch):
    """Printed once; it counts, with the scope it should have."""
    file = written(tmp_path)
    monkeypatch.setenv("TACIT_LEDGERS", str(tmp_path / "ledgers"))
    monkeypatch.setenv("TACIT_STATE", f"sqlite:///{tmp_path / 'state.db'}")
    made = CliRunner().invoke(app, ["serve", "--config", str(file), "--custodian", "carol", "--json"])
    assert made.exit_code == 0, made.output
    service = Service(Settings.load(file))
    caller = service.tokens.caller(json.loads(made.stdout)["custodian"])
    service.close()
    assert (caller.name, caller.scope) == ("carol", "custodian")


def test_the_pages_container_needs_nothing_but_its_extras(tmp_path, monkeypatch):
    """With all hidden that they do not bring, it starts, and CSV and Parquet become tables, answers, models, pages."""
    hidden = absent(*re.search(r"^RUN pip install .*\[([\w,]+)\]'", PAGE, re.MULTILINE)[1].split(","))
    assert {"ibis", "pandas", "pyspark", "pytest"} <= hidden
    assert "psycopg" not in hidden
    file = written(tmp_path)
    monkeypatch.setenv("TACIT_LEDGERS", str(tmp_path / "ledgers"))
    monkeypatch.setenv("TACIT_STATE", f"sqlite:///{tmp_path / 'state.db'}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Other workers would be processes in which nothing is hidden.
    text = file.read_text("utf-8").replace("workers = 2", f"workers = 1\nport = {port}")
    file.write_text(text, "utf-8")
    columns = {"age": np.arange(300) % 90, "ill": np.arange(300) % 3 == 0}
    inbox = tmp_path / "var/lib/tacit-inbox"
    pq.write_table(pa.table(columns), inbox / "one.parquet")
    lines = (f"{100 - age},{ill}\n" for age, ill in zip(*columns.values(), strict=True))
    (inbox / "two.csv").write_text("age,ill\n" + "".join(lines), "utf-8")
    made = narrow(hidden, tmp_path, "serve --config service.toml --custodian carol").communicate()
    token = re.search(r"tacit_\S+", made[0])
    assert token, made
    process = narrow(hidden, tmp_path, "serve --config service.toml")
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            _use(client, token[0], process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _use(client: httpx.Client, custodian: str, process: subprocess.Popen[str]) -> None:
    """Wait until a service answers; register what lies in its inbox, ask about it and learn from it."""

    def ask(token: str, method: str, route: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": route}
        answer = client.request(method, f"/v1{route}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json() if "json" in answer.headers["Content-Type"] else answer.text

    while True:
        assert process.poll() is None
        with suppress(httpx.TransportError):
            client.get("/healthz")
            break
        time.sleep(0.05)
    schema = 'target = "ill"\n[columns]\nage = {kind = "number", low = 0, high = 120}\nill = {kind = "flag"}\n'
    declared = {"budget": {"epsilon": 4}, "signed_by": "Carol", "schema": schema}
    analyst = ask(custodian, "POST", "/tokens", {"name": "alice", "scope": "analyst"})["token"]
    for name, file in (("one", "one.parquet"), ("two", "two.csv")):
        ask(custodian, "POST", "/datasets", {"name": name, "source": {"file": file}, **declared})
        ask(analyst, "POST", f"/datasets/{name}/queries", {"queries": [{"mean": "age > 60"}], "epsilon": 0.1})
        fit = {"estimator": "PrivateLogisticRegression", "parameters": {"epsilon": 0.5}}
        job = ask(analyst, "POST", f"/datasets/{name}/fits", fit)["job"]
        while job["state"] in ("waiting", "running"):
            time.sleep(0.05)
            job = ask(analyst, "GET", f"/jobs/{job['id']}")["job"]
        assert job["state"] == "done", job
        assert "PrivateLogisticRegression" in ask(analyst, "GET", f"/models/{job['result']['model']}/report")


def test_the_drill_ends_with_a_refusal(tmp_path, monkeypatch):
    """A backup of last night is put back beside the witness of today: the service refuses, before any worker starts."""
    folder = tmp_path / "learner"
    asked = {"queries": [{"mean": "age > 60"}], "epsilon": 0.1}
    with running(folder) as found:
        assert found.post("/v1/datasets/clinic/queries", asked, key="before").status_code == 200
        settings = found.settings
    backup = tmp_path / "backup"
    shutil.copytree(settings.ledgers, backup)
    with running(folder) as found:
        assert found.post("/v1/datasets/clinic/queries", {**asked, "epsilon": 0.2}, key="after").status_code == 200
    shutil.copytree(backup, settings.ledgers, dirs_exist_ok=True)
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        Service(settings)
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: pytest.fail("workers were started"))
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        serve(replace(settings, workers=2))
