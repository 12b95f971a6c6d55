"""Asking over HTTP: priced without a look at a record, answered once, charged once."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from support.opened import cells_of
from support.pages import ASK, field, send, sign_in
from support.service import Running, running, truth
from tacit.accounting.store import Store
from tacit.budget import Budget
from tacit.errors import LedgerBusy, WitnessFailed
from tacit.queries.oracle import oracle as oracle_module
from tacit.service import requests
from tacit.service.registering import Accountant
from tacit.service.remembering import Remembering
from tacit.service.state import ANSWER, REQUEST, State

ROUTE = "/v1/datasets/clinic/queries"
QUESTION: dict[str, Any] = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}


def _spent(served: Running) -> Budget:
    return served.service.datasets.get("clinic").account.spent


def test_an_answer_is_what_the_library_says(served: Running) -> None:
    """Value within its tolerance of the truth, its cost, entry and error bar; the entry says who paid."""
    body = {"queries": [{"mean": "age > 60"}, {"mean": "age", "low": 0, "high": 100}], "epsilon": 2, "of": "sample"}
    told = served.post(ROUTE, body).json()
    ages = cells_of(truth(served), "age")["age"]
    for answer, true in zip(told["answers"], [(ages > 60).mean(), ages.mean()], strict=True):
        assert abs(answer["value"] - true) <= 3 * answer["tolerance"]
        assert 0 < answer["noise_error"] <= answer["tolerance"]
    assert told["cost"]["exact"] == {"epsilon": "2", "delta": "0"}
    assert told["left"]["epsilon"] == 2.0
    (entry,) = (each for each in served.service.datasets.get("clinic").account.entries() if each.event is not None)
    assert (entry.number, entry.payer, entry.path) == (told["entry"], "alice", ())


def test_histograms_are_lists_and_parts_pay_for_themselves(served: Running) -> None:
    """Train and test compose in parallel: each may cost as much, and together they cost one."""
    question = {"queries": [{"histogram": "ward", "levels": ["A", "B", "C"]}], "epsilon": 1.5}
    for part in ("train", "test"):
        answer = served.post(ROUTE, {**question, "part": part}).json()
        assert len(answer["answers"][0]["value"]) == 3
    assert _spent(served) == Budget(1.5)


def test_a_price_is_what_is_charged_and_charges_nothing(served: Running) -> None:
    """Cost, expected error and whether it fits, for an epsilon and for a tolerance."""
    for how in ({"epsilon": 0.5}, {"tolerance": 0.2}):
        body = {"queries": QUESTION["queries"], **how}
        price = served.post("/v1/datasets/clinic/price", {"what": "queries", **body}).json()
        before = _spent(served)
        told = served.post(ROUTE, body).json()
        assert told["cost"] == price["cost"]
        assert told["answers"][0]["tolerance"] == price["expected_error"]["tolerance"]
        assert price["affordable"]
        assert _spent(served) == before + Budget(price["cost"]["epsilon"])
    dear = served.post("/v1/datasets/clinic/price", {"what": "queries", **QUESTION, "epsilon": 4}).json()
    assert not dear["affordable"]


@pytest.mark.parametrize("accountant", get_args(Accountant))
def test_one_question_is_answered_whatever_the_account_adds_up(tmp_path: Path, accountant: str) -> None:
    """As its page proposes, and over HTTP by epsilon and by tolerance."""
    with running(tmp_path / "service", accountant=accountant) as served:
        sign_in(served, "alice")
        page = served.client.get("/datasets/clinic").text
        proposed = {name: field(page, name) for name in ("key", "epsilon", "delta")}
        answered = send(served, "/datasets/clinic", action="ask", **{**ASK, **proposed})
        assert (answered.status_code, 'class="answer"' in answered.text) == (200, True)
        for how in ({"epsilon": 0.1}, {"tolerance": 0.2}):
            body = {"queries": QUESTION["queries"], "delta": float(proposed["delta"]), **how}
            before = _spent(served)
            assert served.post(ROUTE, body).status_code == 200
            assert _spent(served) != before


def test_the_same_key_is_told_the_same_and_charged_once(served: Running) -> None:
    """A retry gets the very answer, another body under that key is refused, another owner's key is another one."""
    first = served.post(ROUTE, QUESTION, key="k")
    again = served.post(ROUTE, QUESTION, key="k")
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert _spent(served) == Budget(0.5)
    other = served.post(ROUTE, {**QUESTION, "epsilon": 0.25}, key="k")
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "KeyUsed")
    assert _spent(served) == Budget(0.5)
    assert served.post(ROUTE, {**QUESTION, "epsilon": 0.25}, who="bob", key="k").status_code == 200
    assert _spent(served) == Budget(0.75)


@pytest.mark.parametrize("key", [None, "", " ", "k" * 201])
def test_without_a_key_nothing_is_spent(shared: Running, key: str | None) -> None:
    """A retry by accident must not cost."""
    headers = shared.headers("alice") | ({} if key is None else {"Idempotency-Key": key})
    refused = shared.client.post(ROUTE, json=QUESTION, headers=headers)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (400, "NoKey")
    assert _spent(shared) == Budget(0)


def test_beyond_the_budget_nothing_is_charged(served: Running) -> None:
    """402 with what is left; the share of bob ends before the budget does, whatever alice leaves."""
    assert served.post(ROUTE, {**QUESTION, "epsilon": 1.5}, who="bob").status_code == 200
    refused = served.post(ROUTE, {**QUESTION, "epsilon": 0.75}, who="bob")
    assert refused.status_code == 402
    assert refused.json()["error"] == {**refused.json()["error"], "kind": "BudgetExceeded", "charged": False}
    assert "1/2 of it for 'bob'" in refused.json()["error"]["message"]
    share = served.get("/v1/datasets/clinic", "bob").json()
    assert share["share"]["of"] == "1/2"
    assert share["left"]["epsilon"] == 0.5
    assert served.post(ROUTE, {**QUESTION, "epsilon": 2.5}, who="alice").status_code == 200
    assert served.post(ROUTE, {**QUESTION, "epsilon": 0.01}, who="alice").status_code == 402
    assert _spent(served) == Budget(4.0)


def test_a_question_asked_before_is_told_again_for_nothing(served: Running) -> None:
    """Whoever asks: the answer is public by then."""
    first = served.post(ROUTE, QUESTION).json()
    again = served.post(ROUTE, QUESTION, who="bob").json()
    assert again["answers"] == first["answers"]
    assert again["repeated"]
    assert again["cost"]["epsilon"] == 0
    assert _spent(served) == Budget(0.5)


def test_an_ask_waits_for_the_disk_no_more_often_than_it_must(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request, the charge, the witness, the answer, the closed ticket: once each; and nothing for a retry."""
    waits: list[str] = []

    def counted(kind: type[Any], name: str, what: str) -> None:
        real = getattr(kind, name)

        def call(self: Any, *given: Any, **how: Any) -> Any:
            if how.get("lasting", True):
                waits.append(what)
            return real(self, *given, **how)

        monkeypatch.setattr(kind, name, call)

    counted(State, "writing", "state")
    counted(Store, "writing", "ledger")
    counted(type(served.service.datasets.witness), "_write", "witness")
    assert served.post(ROUTE, QUESTION, key="k").status_code == 200
    assert waits == ["state", "ledger", "witness", "state", "witness"]
    assert served.post(ROUTE, QUESTION, key="k").status_code == 200
    assert len(waits) == 5


MOMENTS = ["charge", "draw", "write down", "keep", "close", "mark"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_whenever_it_fails_a_retry_is_answered_and_charged_once(
    served: Running, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure at every step between charging and giving: 503 that says what was charged, then one answer."""

    def fails(*_: Any, **__: Any) -> Any:
        raise LedgerBusy("busy with a Zebra")

    witness = type(served.service.datasets.witness)
    where = {
        "charge": (witness, "append"),
        "draw": (oracle_module, "corrected_sums"),
        "write down": (Remembering, "keep"),
        "keep": (requests, "_keep"),
        "close": (witness, "close"),
        "mark": (requests, "_mark"),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(*where, fails)
        failed = served.post(ROUTE, QUESTION, key="k")
        assert "Zebra" not in failed.text
        if moment in ("write down", "close", "mark"):
            # The answer is kept by then: whoever fails after that finds it, once the rest can be done.
            assert failed.status_code in (200, 503)
        else:
            assert failed.status_code == 503
            assert failed.json()["error"]["charged"]
    first, second = (served.post(ROUTE, QUESTION, key="k") for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert first.json()["entry"] is not None
    assert first.json()["cost"]["epsilon"] == 0.5
    assert _spent(served) == Budget(0.5)
    with served.service.state.reading() as connection:
        assert connection.execute(REQUEST.select()).one().state == "done"


def test_many_at_once_under_one_key_are_told_one_answer(tmp_path: Path) -> None:
    """Sixteen threads send the same request: one charge, one answer."""
    with running(tmp_path) as served, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: served.post(ROUTE, QUESTION, key="k"), range(16)))
        told = [answer.json() for answer in answers if answer.status_code == 200]
        assert {answer.status_code for answer in answers} <= {200, 429}
        assert told
        assert all(answer["answers"] == told[0]["answers"] for answer in told)
        assert _spent(served) == Budget(0.5)


def test_an_answer_that_was_given_and_lost_is_not_drawn_again(served: Running) -> None:
    """A state restored to before the answer was kept: the ledger's charge is there, its ticket is closed."""
    first = served.post(ROUTE, QUESTION, key="k").json()
    with served.service.state.writing() as connection:
        connection.execute(REQUEST.update().values(state="begun", answer=None))
    # What is remembered of the answer is told again; without that, nothing is.
    assert served.post(ROUTE, QUESTION, key="k").json()["answers"] == first["answers"]
    with served.service.state.writing() as connection:
        connection.execute(REQUEST.update().values(state="begun", answer=None))
        connection.execute(ANSWER.delete())
    lost = served.post(ROUTE, QUESTION, key="k")
    # To come again would not help, and that is told.
    assert (lost.status_code, lost.headers.get("Retry-After")) == (409, None)
    assert (lost.json()["error"]["kind"], lost.json()["error"]["charged"]) == ("TicketUsed", True)
    assert f"what was charged as entry {first['entry']} was answered" in lost.json()["error"]["message"]
    assert _spent(served) == Budget(0.5)
    assert served.post(ROUTE, QUESTION, key="another").status_code == 200


def test_what_the_witness_was_not_told_is_not_answered(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge whose witness fails stands, and nothing is drawn under it."""

    def fails(*_: Any) -> None:
        raise WitnessFailed("disk full at /secret/path")

    drawn: list[int] = []
    sums = oracle_module.corrected_sums
    monkeypatch.setattr(oracle_module, "corrected_sums", lambda *how: drawn.append(1) or sums(*how))
    with monkeypatch.context() as patch:
        patch.setattr(type(served.service.datasets.witness), "append", fails)
        failed = served.post(ROUTE, QUESTION, key="k")
    assert failed.status_code == 503
    assert "secret" not in failed.text
    assert failed.json()["error"]["charged"]
    assert drawn == []
    assert _spent(served) == Budget(0.5)
    assert served.post(ROUTE, QUESTION, key="k").status_code == 200
    assert _spent(served) == Budget(0.5)


BAD: list[Any] = [
    {},
    [],
    None,
    "queries",
    {"queries": []},
    {**QUESTION, "epsilon": None},
    {**QUESTION, "tolerance": 0.1},
    {**QUESTION, "epsilon": 0},
    {**QUESTION, "epsilon": -1},
    {**QUESTION, "epsilon": "0.5"},
    {**QUESTION, "epsilon": 1e308},
    {**QUESTION, "epsilon": 10**400},
    {**QUESTION, "delta": 2},
    {**QUESTION, "confidence": 1},
    {**QUESTION, "noise_rate": 0.7},
    {**QUESTION, "of": "me"},
    {**QUESTION, "part": "../all"},
    {**QUESTION, "random_state": 7},
    {**QUESTION, "ledger": None},
    {**QUESTION, "queries": [{"mean": "age >"}]},
    {**QUESTION, "queries": [{"mean": "__import__('os').system('true')"}]},
    {**QUESTION, "queries": [{"mean": "nothing > 1"}]},
    {**QUESTION, "queries": [{"mean": "id > 1"}]},
    {**QUESTION, "queries": [{"mean": "<script>alert(1)</script>"}]},
    {**QUESTION, "queries": [{"mean": "(" * 5000 + "age" + ")" * 5000}]},
    {**QUESTION, "queries": [{"mean": "age > 1" + " and age > 1" * 2000}]},
    {**QUESTION, "queries": [{"mean": "age", "low": 5, "high": 1}]},
    {**QUESTION, "queries": [{"histogram": "ward", "levels": [f"{each}" for each in range(20_000)]}]},
    {**QUESTION, "queries": [{"histogram": "ward", "levels": ["A", "A"]}]},
    {**QUESTION, "queries": [{"mean": "age > 60"}] * 201},
    {**QUESTION, "queries": [{"mean": "age > 60", "_function": 1}]},
]


@pytest.mark.parametrize("body", BAD, ids=lambda body: str(body)[:40])
def test_a_bad_body_is_refused_in_one_shape_and_nothing_changes(shared: Running, body: Any) -> None:
    """Asking and pricing: a clear 4xx, never a value or markup echoed, nothing charged."""
    priced = {"what": "queries", **body} if isinstance(body, dict) else body
    for route, said in ((ROUTE, body), ("/v1/datasets/clinic/price", priced)):
        refused = shared.post(route, said)
        assert 400 <= refused.status_code < 500, refused.text
        assert set(refused.json()["error"]) == {"kind", "message", "charged"}
        assert "<script>" not in refused.text
    assert _spent(shared) == Budget(0)


RAW = [
    b"",
    b"{",
    b'{"queries": [{"mean": "age > 60"}], "epsilon": NaN}',
    b'{"queries": [{"mean": "age > 60"}], "epsilon": 1e999}',
    b'{"queries": [{"mean": "age > 60", "low": -Infinity}], "epsilon": 1}',
    b'{"queries": [{"mean": "age > \\ud800"}], "epsilon": 1}',
    b'{"queries": [{"mean": "ward == \'\\u0000\'"}], "epsilon": 1e-300}',
    b"[" * 100_000,
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b"\xff\xfe",
    b'"' + b"x" * 2**20 + b'"',
    b"[" + b"1" * 5000 + b"]",
]


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: repr(raw[:30]))
def test_bytes_that_are_no_request_are_refused(shared: Running, raw: bytes) -> None:
    """Malformed, too deep, too large, NaN: 4xx in the one shape, soon."""
    headers = {**shared.headers("alice"), "Idempotency-Key": "k", "Content-Type": "application/json"}
    refused = shared.client.post(ROUTE, content=raw, headers=headers)
    assert 400 <= refused.status_code < 500
    assert set(refused.json()["error"]) == {"kind", "message", "charged"}
    assert _spent(shared) == Budget(0)


def test_the_examples_of_the_description_are_answers_that_come(served: Running) -> None:
    """What a route is said to answer with has the parts that its answers have, all the way down."""

    def parts(plain: Any) -> Any:
        if isinstance(plain, dict):
            return {name: parts(each) for name, each in plain.items() if name != "whom"}
        return [parts(each) for each in plain] if isinstance(plain, list) else None

    document = served.get("/openapi.json").json()["paths"]
    body = {"queries": QUESTION["queries"], "epsilon": 0.5}
    for route, more in (("price", {"what": "queries"}), ("queries", {})):
        told = served.post(f"/v1/datasets/clinic/{route}", {**more, **body}).json()
        described = document[f"/v1/datasets/{{name}}/{route}"]["post"]["responses"]["200"]
        assert parts(described["content"]["application/json"]["example"]) == parts(told)


def test_custodians_price_and_only_analysts_ask(shared: Running) -> None:
    """A scope goes as far as it goes; who may not is told so, and nothing is charged."""
    assert shared.post("/v1/datasets/clinic/price", {"what": "queries", **QUESTION}, "carol").status_code == 200
    assert {shared.post(ROUTE, QUESTION, who).status_code for who in ("carol", "dora")} == {403}
    assert shared.post("/v1/datasets/clinic/price", {"what": "queries", **QUESTION}, "dora").status_code == 403
    assert _spent(shared) == Budget(0)


def test_every_number_that_leaves_is_finite(served: Running) -> None:
    """Even the largest noise: an answer can always be written as JSON."""
    told = served.post(ROUTE, {**QUESTION, "epsilon": 1e-9}).json()
    assert math.isfinite(told["answers"][0]["value"])


def test_a_service_on_postgresql_answers_as_one_on_files(tmp_path: Path, postgresql: Any, database: str) -> None:
    """State, accounts and witness in databases: the same answers, charges, retries and refusals."""
    address, elsewhere = postgresql.address(database), f"sqlite:///{tmp_path / 'witness.db'}"
    with running(tmp_path / "s", state=address, ledgers=address, witness=elsewhere) as served:
        first = served.post(ROUTE, {**QUESTION, "part": "train"}, key="k")
        assert first.status_code == 200, first.text
        assert served.post(ROUTE, {**QUESTION, "part": "train"}, key="k").json() == first.json()
        assert served.post(ROUTE, {**QUESTION, "epsilon": 9}).status_code == 402
        assert _spent(served) == Budget(0.5)
        assert served.get("/v1/datasets/clinic/verify", "dora").json()["witness"]["number"] == first.json()["entry"]


def test_what_must_last_waits_for_the_disk_whatever_the_database_does_else(postgresql: Any, database: str) -> None:
    """A database that commits asynchronously would forget an answer that was given, and keep its charge."""
    postgresql.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = off', database)
    state = State(postgresql.address(database))
    for lasting, wanted in ((True, "on"), (False, "off")):
        with state.writing(lasting=lasting) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == wanted
    state.close()
