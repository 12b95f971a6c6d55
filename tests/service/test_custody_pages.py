"""Pages of custody: what was spent by whom, tokens shown once, ledgers verified, tables registered step by step."""

import io
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from support.pages import ASK, GUARD, field, send, sign_in
from support.service import running
from tacit.budget import Budget

CSV = "id,age,word\n" + "".join(f"{row},{20 + row % 60},{'ja' if row % 3 else 'nein'}\n" for row in range(300))
SCHEMA = 'target = "word"\n[columns]\nid = {kind = "key"}\nage = {kind = "number", low = 0, high = 120}\n' + (
    'word = {kind = "flag", true = "ja", false = "nein"}\n'
)


@pytest.fixture
def clinic(tmp_path):
    """A service with an inbox."""
    for folder in ("inbox", "service"):
        (tmp_path / folder).mkdir()
    (tmp_path / "inbox" / "people.csv").write_text(CSV, "utf-8")
    with running(tmp_path / "service", inbox=tmp_path / "inbox") as found:
        yield found


def draft(clinic, **how):
    """Do the first step of registering, as a form with a file does."""
    guard = GUARD.search(clinic.client.get("/register").text)[1]
    files = how.pop("files", None)
    return clinic.client.post("/custodian/uploads", data={"guard": guard, **how}, files=files or {"file": ("", b"")})


def source_of(text: str) -> str:
    """Return what the hidden field says about where the records are."""
    return field(text, "source").replace("&#34;", '"')


def test_only_those_who_oversee_accounts_see_them(clinic):
    """An analyst gets neither accounts nor registering; an auditor the accounts, and no token."""
    sign_in(clinic, "alice")
    for place in ("/custody", "/register", "/custody/clinic/bundle"):
        assert clinic.client.get(place).status_code == 403
    clinic.client.cookies.clear()
    sign_in(clinic, "dora")
    told = clinic.client.get("/custody")
    assert told.status_code == 200
    assert "A new token" not in told.text
    assert clinic.client.get("/register").status_code == 403
    assert send(clinic, "/custody/tokens", "/custody", name="eve", scope="custodian").status_code == 403


def test_who_spent_what_is_shown_and_verified(clinic):
    """Charges by payer with their shares, the course of the budget, a verified history, a bundle to take away."""
    sign_in(clinic, "alice")
    send(clinic, "/datasets/clinic", action="ask", key="1", **ASK)
    clinic.client.cookies.clear()
    sign_in(clinic, "carol")
    told = clinic.client.get("/custody").text
    assert re.search(r"alice</th>\s*<td>epsilon=0.2", told)
    assert re.search(r"bob</th>\s*<td>epsilon=0, delta=0</td>\s*<td>1/2 of the budget", told)
    assert ">1 charge<" in told
    assert "The ledger holds" in send(clinic, "/custody/clinic/verify", "/custody").text
    packed = zipfile.ZipFile(io.BytesIO(clinic.client.get("/custody/clinic/bundle").content))
    assert "clinic/ledger.db" in packed.namelist()
    assert "alice" in clinic.client.get("/datasets/clinic/history").text


def test_a_token_is_shown_once_and_can_be_revoked(clinic):
    """The next look at the page does not have it; revoked, it opens nothing."""
    sign_in(clinic, "carol")
    told = send(clinic, "/custody/tokens", "/custody", name="eve", scope="analyst", days="3").text
    token = re.search(r"tacit_[0-9a-f]{8}_[\w-]{43}", told)[0]
    assert token not in clinic.client.get("/custody").text
    clinic.tokens["eve"] = token
    assert clinic.get("/v1/me", "eve").json()["scope"] == "analyst"
    public = token.split("_")[1]
    send(clinic, f"/custody/tokens/{public}/revoke", "/custody")
    assert clinic.get("/v1/me", "eve").status_code == 401
    assert send(clinic, "/custody/tokens", "/custody", name="", scope="analyst").status_code == 400
    assert send(clinic, "/custody/tokens", "/custody", name="x", scope="king").status_code == 400
    assert send(clinic, "/custody/tokens", "/custody", name="x", scope="analyst", days="soon").status_code == 400


def test_a_token_is_for_the_data_sets_that_were_named_and_its_end_is_shown(clinic, monkeypatch):
    """Named data sets stand in the list; a token past its end is told as ended, and one's own cannot be revoked."""
    sign_in(clinic, "carol")
    made = send(clinic, "/custody/tokens", "/custody", name="eve", scope="analyst", datasets="other, third").text
    clinic.tokens["eve"] = re.search(r"tacit_[0-9a-f]{8}_[\w-]{43}", made)[0]
    assert re.search(r"eve</th>\s*<td>analyst</td><td>other, third</td>", made)
    assert clinic.get("/v1/datasets", "eve").json() == {"datasets": []}
    mine = clinic.tokens["carol"].split("_")[1]
    assert f"/custody/tokens/{mine}/revoke" not in made
    monkeypatch.setattr("tacit.service.routes.pages.custody.now", lambda: "9999")
    assert "<td>ended</td>" in clinic.client.get("/custody").text


@pytest.mark.parametrize("way", ["upload", "inbox"])
def test_a_table_is_registered_step_by_step(clinic, way):
    """A file that is sent, or one that lies in the inbox: drafted, declared, signed, and then asked about."""
    sign_in(clinic, "carol")
    how = {"files": {"file": ("people.csv", CSV.encode())}} if way == "upload" else {"inbox": "people.csv"}
    drafted = draft(clinic, **how)
    assert drafted.status_code == 200
    assert "age" in drafted.text
    assert "nein" not in drafted.text
    source = source_of(drafted.text)
    third = send(clinic, "/register", step="2", source=source, schema=SCHEMA)
    assert re.search(r"<option[^>]*selected>each person, by id<", third.text)
    assert "if persons are" in third.text
    terms = {
        "name": "people", "unit": "id", "key": "", "epsilon": "0.5", "delta": "0", "accountant": "basic",
        "shares": "alice 0.5, bob 0.25", "signed_by": "Carol <b>", "agreed": "yes",
    }  # fmt: skip
    done = send(clinic, "/register", step="3", source=source, schema=SCHEMA, **terms)
    assert done.url.path == "/custody"
    assert "<b>" not in done.text
    found = clinic.service.datasets.get("people")
    assert (found.n, found.account.unit, found.account.budget) == (300, "person", Budget(0.5))
    assert list(clinic.settings.uploads.iterdir() if clinic.settings.uploads.exists() else []) == []
    answered = clinic.post("/v1/datasets/people/queries", {"queries": [{"mean": "age > 40"}], "epsilon": 0.2})
    assert answered.status_code == 200


def test_a_file_of_another_coding_does_not_hide_the_others(clinic):
    """A name that is no UTF-8 can neither be shown nor sent back: it is left out, and the others are there."""
    sign_in(clinic, "carol")
    Path(os.fsdecode(os.fsencode(clinic.settings.inbox) + b"/M\xfcller.csv")).write_text(CSV, "utf-8")
    shown = clinic.client.get("/register")
    assert shown.status_code == 200
    assert "people.csv" in shown.text
    assert "ller.csv" not in shown.text


def test_what_makes_no_sense_is_refused_where_it_was_written(clinic):
    """No file, no known form, a broken file, a schema that contradicts it, terms that are none, nobody who signs."""
    sign_in(clinic, "carol")
    assert draft(clinic).status_code == 400
    assert draft(clinic, inbox="../service/state.db").status_code == 404
    assert draft(clinic, address="sqlite:///x.db", table="t").status_code == 400
    assert draft(clinic, files={"file": ("people.exe", CSV.encode())}).status_code == 400
    broken = draft(clinic, files={"file": ("people.csv", b"a,b\n\xff\xfe,1\n1\n")})
    assert broken.status_code in (200, 400)
    source = source_of(draft(clinic, inbox="people.csv").text)
    for schema in ("", "[[", "[columns]\nnobody = {kind = 'key'}", "[columns]\nword = {kind = 'number', low = 0}"):
        told = send(clinic, "/register", step="2", source=source, schema=schema)
        assert told.status_code == 400, schema
    for wrong in (
        {"name": "No Name"}, {"epsilon": "much"}, {"epsilon": "-1"}, {"epsilon": "0"}, {"delta": "2"},
        {"shares": "alice"}, {"shares": "alice 2"}, {"signed_by": ""}, {"agreed": ""}, {"accountant": "x"},
        {"unit": "age"}, {"name": "clinic"},
    ):  # fmt: skip
        terms = {"name": "people", "epsilon": "1", "delta": "0", "signed_by": "Carol", "agreed": "yes", **wrong}
        told = send(clinic, "/register", step="3", source=source, schema=SCHEMA, **terms)
        assert told.status_code == 400, wrong
    assert clinic.service.datasets.names() == ["clinic"]
    for forged in ("x", "[]", json.dumps({"file": 3}), json.dumps({"file": "/etc/passwd"})):
        told = send(clinic, "/register", step="2", source=forged, schema=SCHEMA)
        assert told.status_code in (400, 404), forged
