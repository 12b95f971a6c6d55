"""Pages do what routes do: prices before every payment, several questions, levels, twins, blocks, jobs."""

import re
import time
from typing import Any

import numpy as np
import pytest

from support.pages import ASK, GUARD, field, send, sign_in
from support.service import Running, running
from tacit.budget import Budget

CSV = "id,age,seen\n" + "".join(f"{row},{20 + row % 60},2024-03-{1 + row % 28:02d}\n" for row in range(300))
SCHEMA = (
    '[columns]\nid = {kind = "key"}\nage = {kind = "number", low = 0, high = 120}\n'
    'seen = {kind = "moment", low = "2024-01-01", high = "2025-01-01"}\n'
)
GIVEN = {"step": "3", "schema": SCHEMA, "signed_by": "Carol", "agreed": "yes", "unit": "", "key": "id"}


@pytest.fixture
def clinic(tmp_path: Any) -> Any:
    """A service with an inbox."""
    for folder in ("inbox", "service"):
        (tmp_path / folder).mkdir()
    for name in ("one", "two"):
        (tmp_path / "inbox" / f"{name}.csv").write_text(CSV.replace(",2", ",3") if name == "two" else CSV, "utf-8")
    with running(tmp_path / "service", inbox=tmp_path / "inbox") as found:
        yield found


def _spent(clinic: Running) -> Budget:
    return clinic.service.datasets.get("clinic").account.spent


def _finished(clinic: Running, place: str) -> str:
    for _ in range(600):
        text = clinic.client.get(place).text
        if "http-equiv" not in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def test_several_questions_and_the_levels_of_a_column_are_asked_at_once(clinic: Running) -> None:
    """One on a line, for one cost; each is told with its own range and picture."""
    sign_in(clinic, "alice")
    two = {**ASK, "question": "age > 50\nsmoker", "epsilon": "2"}
    told = send(clinic, "/datasets/clinic", action="ask", key="two", **two).text
    assert len(re.findall(r'class="answer">', told)) == 2
    assert _spent(clinic) == Budget(2)
    levels = {**ASK, "question": "ward\nsmoker", "kind": "histogram", "epsilon": "1.5"}
    told = send(clinic, "/datasets/clinic", action="ask", key="levels", **levels).text
    assert re.findall(r"<h3>([^<]*: [^<]*)</h3>", told) == [
        "ward: A",
        "ward: B",
        "ward: C",
        "smoker: yes",
        "smoker: no",
    ]
    shares = [float(each) for each in re.findall(r'class="answer">([-\d.e]+)', told)]
    assert np.sum(shares[:3]) == pytest.approx(1, abs=0.2)
    refused = send(clinic, "/datasets/clinic", action="ask", key="no", **{**levels, "question": "age"})
    assert (refused.status_code, "declare levels" in refused.text) == (400, True)


def test_made_up_records_are_a_link_on_the_page(clinic: Running) -> None:
    """A file of the columns' names and made-up cells; others' data sets have none."""
    sign_in(clinic, "alice")
    assert 'href="/datasets/clinic/twin"' in clinic.client.get("/datasets/clinic").text
    found = clinic.client.get("/datasets/clinic/twin")
    assert found.text.splitlines()[0] == "id,age,ward,smoker,admitted,ill"
    assert "attachment" in found.headers["content-disposition"]
    assert clinic.client.get("/datasets/none/twin").status_code == 404


def test_a_session_and_scores_have_a_price_before_they_are_paid(clinic: Running) -> None:
    """What it costs and how far off it will be; nothing is charged for being told, and a refusal keeps the form."""
    sign_in(clinic, "alice")
    opened = {"epsilon": "0.75", "delta": "1e-6", "kernel": "rbf", "part": "all"}
    told = send(clinic, "/datasets/clinic/sessions", action="price", key="open", **opened).text
    assert "It costs <strong>epsilon=0.75, delta=1e-06</strong>, and about <strong>" in told
    assert (field(told, "key"), field(told, "epsilon")) == ("open", "0.75")
    fit = {"estimator": "SQNaiveBayes", "epsilon": "1", "delta": "0", "part": "train"}
    made = send(clinic, "/datasets/clinic/train", action="train", key="fit", **fit)
    model = re.search(r"/models/([0-9a-f]+)/file", _finished(clinic, made.url.path))[1]
    before = _spent(clinic)
    score = {"epsilon": "0.25", "delta": "0", "part": "test", "key": "score"}
    told = send(clinic, f"/models/{model}/score", made.url.path, action="price", **score).text
    assert "It costs <strong>epsilon=0.25, delta=0</strong>, and about <strong>" in told
    assert (field(told, "key"), field(told, "epsilon")) == ("score", "0.25")
    refused = send(clinic, f"/models/{model}/score", made.url.path, action="score", **{**score, "epsilon": "0"})
    assert (refused.status_code, "epsilon must be above 0" in refused.text) == (400, True)
    assert _spent(clinic) == before


def test_a_kernel_model_is_among_the_models_to_train(clinic: Running) -> None:
    """With a kernel and landmarks of its own unless others are given."""
    sign_in(clinic, "alice")
    fit = {"estimator": "PrivateKernelClassifier", "epsilon": "1", "delta": "1e-6", "part": "train"}
    assert 'value="PrivateKernelClassifier"' in clinic.client.get("/datasets/clinic/train").text
    made = send(clinic, "/datasets/clinic/train", action="train", key="fit", **fit)
    assert "Fetch the model" in _finished(clinic, made.url.path)


def _source(clinic: Running, name: str) -> str:
    """Take the first step of registering a file of the inbox; return where it is."""
    guard = GUARD.search(clinic.client.get("/register").text)[1]
    drafted = clinic.client.post(
        "/custodian/uploads", data={"guard": guard, "inbox": f"{name}.csv"}, files={"file": ("", b"")}
    )
    return field(drafted.text, "source").replace("&#34;", '"')


def test_further_facts_and_blocks_are_declared_on_the_page(clinic: Running) -> None:
    """One fact on a line; a block by a Moment; both stand among what is public."""
    sign_in(clinic, "carol")
    source = _source(clinic, "one")
    third = send(clinic, "/register", step="2", source=source, schema=SCHEMA).text
    for name in ("public", "shares_ledger_with", "series", "column", "low", "high"):
        assert f'name="{name}"' in third, name
    block = {"series": "visits", "column": "seen", "low": "2024-01-01", "high": "2025-01-01"}
    facts = "who is in the register\n\nthat it is of one town"
    given = {**GIVEN, "name": "visits-2024", "source": source, "public": facts, **block}
    assert send(clinic, "/register", **given).url.path == "/custody"
    told = clinic.get("/v1/datasets/visits-2024").json()
    assert {"who is in the register", "that it is of one town"} <= set(told["public"])
    assert (told["block_of"]["series"], told["block_of"]["column"]) == ("visits", "seen")


def test_the_same_records_again_share_an_account_by_the_form(clinic: Running) -> None:
    """Refused without it, with the form as it was; with it there is one budget for both names."""
    sign_in(clinic, "carol")
    first = {**GIVEN, "name": "first", "source": _source(clinic, "one")}
    assert send(clinic, "/register", **first).url.path == "/custody"
    second = {**GIVEN, "name": "second", "source": _source(clinic, "one")}
    refused = send(clinic, "/register", **second)
    assert (refused.status_code, 'value="first"' in refused.text) == (400, True)
    assert send(clinic, "/register", **second, shares_ledger_with="first").url.path == "/custody"
    accounts = [clinic.service.datasets.get(name).document["account"] for name in ("first", "second")]
    assert accounts == ["first", "first"]


def test_a_custodian_ends_a_job_on_the_page(clinic: Running) -> None:
    """Jobs that wait are listed with whose they are, and are ended by a button; an auditor has none."""
    clinic.service.runner.stop()
    fit = {"estimator": "SQNaiveBayes", "parameters": {"epsilon": 0.1}, "part": "train"}
    job = clinic.post("/v1/datasets/clinic/fits", fit).json()["job"]["id"]
    sign_in(clinic, "carol")
    cancel = f"/custody/clinic/jobs/{job}/cancel"
    assert cancel in clinic.client.get("/custody").text
    assert send(clinic, cancel, "/custody").status_code == 200
    assert clinic.get(f"/v1/jobs/{job}").json()["job"]["state"] == "cancelled"
    assert cancel not in clinic.client.get("/custody").text
    clinic.client.cookies.clear()
    sign_in(clinic, "dora")
    assert send(clinic, cancel, "/custody").status_code == 403
