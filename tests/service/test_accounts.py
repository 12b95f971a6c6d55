"""Accounts and people over HTTP: who may look, what they see, and that a bundle can be verified by anybody."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.databases import roll_back
from support.opened import view_of
from support.service import SCHEMA, Running, running
from tacit import Records, StatisticalOracle, StatisticalQuery
from tacit.cli.app import app
from tacit.errors import LedgerCorrupt
from tacit.service.app import create_app
from tacit.service.settings import Settings

QUESTION = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}


def _asked(served: Running) -> None:
    for who in ("alice", "bob"):
        body = {**QUESTION, "epsilon": 0.5 if who == "alice" else 0.25}
        assert served.post("/v1/datasets/clinic/queries", body, who).status_code == 200


def test_a_custodian_and_an_auditor_see_who_spent_what(served: Running) -> None:
    """Entries with their payers; analysts see their own requests and no account."""
    _asked(served)
    for who in ("carol", "dora"):
        entries = served.get("/v1/datasets/clinic/ledger", who).json()["entries"]
        assert [(each["payer"], each["share"]) for each in entries if each["event"]] == [
            ("alice", None),
            ("bob", "1/2"),
        ]
        assert served.get("/v1/datasets/clinic/ledger?after=2&limit=1", who).json()["entries"] == entries[2:3]
    for what in ("ledger", "verify", "bundle"):
        assert served.get(f"/v1/datasets/clinic/{what}", "alice").status_code == 403
    mine = served.get("/v1/history", "alice").json()["requests"]
    assert [(each["owner"], each["cost"]["epsilon"]) for each in mine] == [("alice", 0.5)]
    assert {each["owner"] for each in served.get("/v1/history", "dora").json()["requests"]} == {"alice", "bob"}
    assert served.get("/v1/history?dataset=none", "dora").json() == {"requests": []}


@pytest.mark.parametrize("forged", [False, True])
def test_a_bundle_is_verified_without_the_service(served: Running, tmp_path: Path, forged: bool) -> None:
    """`tacit ledger verify` accepts what is in the archive, and refuses it if its last entry is taken away."""
    _asked(served)
    with zipfile.ZipFile(io.BytesIO(served.get("/v1/datasets/clinic/bundle", "dora").content)) as archive:
        archive.extractall(tmp_path / "bundle")
    folder = tmp_path / "bundle" / "clinic"
    if forged:
        roll_back(f"sqlite:///{folder / 'ledger.db'}")
    command = ["ledger", "verify", str(folder / "ledger.db"), "--witness", str(folder / "witness.json")]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == (1 if forged else 0), ended.output
    assert not any(text in (folder / "dataset.json").read_text() for text in served.tokens.values())


def test_a_service_does_not_start_on_a_ledger_that_forgot(tmp_path: Path) -> None:
    """A ledger restored from a backup is refused by its witness at the start, and `verify` says so of a running one."""
    with running(tmp_path) as served:
        address = f"sqlite:///{served.settings.account('clinic')}"
        _asked(served)
        assert served.get("/v1/datasets/clinic/verify", "dora").json()["holds"]
        roll_back(address)
        assert not served.get("/v1/datasets/clinic/verify", "dora").json()["holds"]
        assert served.post("/v1/datasets/clinic/queries", {**QUESTION, "epsilon": 0.1}).status_code == 503
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        create_app(Settings(tmp_path))


def test_tokens_are_made_listed_and_revoked_by_a_custodian(served: Running) -> None:
    """A new token works until it is revoked; nobody else may do any of it."""
    for who in ("alice", "dora"):
        assert served.post("/v1/tokens", {"name": "eve", "scope": "analyst"}, who).status_code == 403
        assert served.get("/v1/tokens", who).status_code == 403
    made = served.post("/v1/tokens", {"name": "eve", "scope": "analyst", "days": 1}, "carol")
    assert made.status_code == 201
    served.tokens["eve"] = made.json()["token"]
    assert served.get("/v1/me", "eve").json()["scope"] == "analyst"
    listed = served.get("/v1/tokens", "carol")
    assert made.json()["id"] in listed.text
    assert made.json()["token"] not in listed.text
    assert served.delete(f"/v1/tokens/{made.json()['id']}", "alice").status_code == 403
    assert served.delete(f"/v1/tokens/{made.json()['id']}", "carol").status_code == 200
    assert served.delete(f"/v1/tokens/{made.json()['id']}", "carol").status_code == 200  # once more: it is revoked
    assert served.delete("/v1/tokens/00000000", "carol").status_code == 404
    assert served.get("/v1/me", "eve").status_code == 401


@pytest.mark.parametrize("name", ["<img src=x>", "", "a\0b", "x" * 65])
def test_a_name_with_markup_makes_no_token(shared: Running, name: str) -> None:
    """Owners' names are plain, so that no page and no log has to be careful."""
    refused = shared.post("/v1/tokens", {"name": name, "scope": "analyst"}, "carol")
    assert 400 <= refused.status_code < 500
    assert "<img" not in refused.text


def test_a_twin_is_made_up_and_reads_like_the_table(shared: Running, tmp_path: Path) -> None:
    """The same for the same seed, marked, of the schema's columns; an oracle asks about it as about the table."""
    told = shared.get("/v1/datasets/clinic/twin?rows=50&seed=3")
    assert told.headers["x-tacit-twin"] == "made-up"
    assert told.text == shared.get("/v1/datasets/clinic/twin?rows=50&seed=3", "bob").text
    rows = list(csv.reader(io.StringIO(told.text)))
    assert rows[0] == list(SCHEMA.columns)
    assert len(rows) == 51
    (tmp_path / "twin.csv").write_text(told.text)
    twin = Records(str(tmp_path / "twin.csv"), SCHEMA, key="id")
    answer = StatisticalOracle(twin, random_state=1).ask(StatisticalQuery(lambda t: t.age > 60), epsilon=1)
    assert answer.value + 1 >= 0
    assert not view_of(twin).mismatches(tuple(SCHEMA.columns)).any()
    assert shared.get("/v1/datasets/clinic/twin?rows=100000000").status_code == 422


def test_what_the_outside_sees_of_a_service_is_public(shared: Running) -> None:
    """Health and metrics say no name of anybody; every answer has the headers that keep a browser strict."""
    health = shared.client.get("/healthz")
    assert health.json()["status"] == "ok"
    shared.get("/v1/datasets/clinic")
    metrics = shared.client.get("/metrics").text
    assert 'route="/v1/datasets/{name}"' in metrics
    assert "clinic" not in metrics
    assert "alice" not in metrics
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"):
        assert name in health.headers
