"""Hostile clients: whatever the OpenAPI document allows, and what it does not, is answered and changes nothing."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from support.service import Running, running
from support.statistical import sample_size
from tacit.budget import Budget
from tacit.service import requests
from tacit.service.guard import PADDED
from tacit.service.settings import Limits

WHO = ("alice", "carol", "dora")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve to clients that may ask without an end."""
    limits = Limits(requests_per_minute=10**7, at_once=10**4, jobs=1)
    with running(tmp_path_factory.mktemp("hostile"), limits=limits) as served:
        yield served


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_makes_the_service_fail(hostile: Running, mode: GenerationMode) -> None:
    """Requests made from the OpenAPI document, valid and not, by three scopes: none ends in a 5xx."""
    document = schemathesis.openapi.from_dict(hostile.client.get("/openapi.json").json())
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) > 20
    statuses: set[int] = set()
    for operation in operations:

        @settings(
            max_examples=sample_size(10), suppress_health_check=list(HealthCheck), deadline=None, database=None,
            derandomize=True,
        )  # fmt: skip
        @given(operation.as_strategy(generation_mode=mode), st.sampled_from(WHO), st.booleans())
        def send(case: Any, who: str, named: bool) -> None:
            path = case.formatted_path
            if named:
                # A made-up name is nearly always one that there is not.
                path = case.path.replace("{name}", "clinic")
            statuses.add(_status(hostile, case, path, who))

        try:
            send()
        except Unsatisfiable:
            assert not operation.path_parameters, operation.label
    assert {200, 404} <= statuses or mode is GenerationMode.NEGATIVE
    assert max(statuses) < 500


def _status(hostile: Running, case: Any, path: str, who: str) -> int:
    """Send a case as it is; what no client can write on the wire counts as nothing sent."""
    headers = {name: str(value).encode("latin-1", "replace") for name, value in (case.headers or {}).items()}
    body: dict[str, Any] = {}
    if isinstance(case.body, bytes):
        body = {"content": case.body}
    elif case.body is not None and type(case.body).__name__ != "NotSet":
        body = {"json": case.body}
    try:
        request = hostile.client.build_request(
            case.method, path, params=case.query or None, headers={**headers, **hostile.headers(who)}, **body
        )
    except (ValueError, TypeError, httpx.InvalidURL):
        return 0
    answer = hostile.client.send(request)
    assert answer.status_code < 500, (case.method, path, case.query, body, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()["error"]) == {"kind", "message", "charged"}
    return int(answer.status_code)


PATHS = [
    "/v1/datasets/..%2f..%2fetc%2fpasswd", "/v1/datasets/%00",
    "/v1/datasets/clinic%0d%0aX: y", "/v1/datasets/clinic%00",
    "/v1/jobs/..",
    "/v1/datasets/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/v1/datasets/" + "x" * 5000, "/v1/datasets/CLINIC",
    "/v1/datasets/clin%C3%AFc", "/v1/datasets//clinic", "/v1/datasets/clinic/../../me", "/v1//datasets/clinic",
    "/v1/models/..%2fstate.db", "/v1/sessions/%F0%9F%8F%A5", "/static/../state.db", "//evil.example/v1/me",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_tricks_with_paths_find_nothing(hostile: Running, path: str) -> None:
    """Neither a way up nor markup nor other letters: not found, and what was sent is not given back."""
    answer = hostile.get(path)
    assert answer.status_code in (404, 307, 405) or answer.json() == hostile.get("/v1/me").json()
    assert "script" not in answer.text
    assert "evil" not in answer.headers.get("location", "")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "-1"},
        {"Content-Length": "9" * 30},
        {"Content-Length": "many"},
        {"Content-Type": "application/x-python-pickle"},
        {"Content-Type": "text/plain"},
        {"Content-Encoding": "gzip"},
        {"Transfer-Encoding": "chunked, chunked"},
        {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "evil.example", "Host": "evil.example"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"Authorization": "Basic YWxpY2U6YWxpY2U="},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer " + "x" * 10_000},
        {"Idempotency-Key": "\x01\x02"},
        {"Idempotency-Key": "é"},
        {"Cookie": "tacit_token=" + "x" * 5000},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_tricks_with_headers_change_nothing(hostile: Running, headers: dict[str, str]) -> None:
    """A clear 4xx, or the answer that there would be without the header; nothing charged."""
    account = hostile.service.datasets.get("clinic").account
    before = account.spent
    sent = {**hostile.headers("alice"), **{name: text.encode("utf-8") for name, text in headers.items()}}
    body = b'{"queries": [{"mean": "age > 60"}], "epsilon": 0.5, "no": 1}'
    answer = hostile.client.post("/v1/datasets/clinic/queries", content=body, headers=sent)
    assert 400 <= answer.status_code < 500
    assert "evil" not in answer.text
    assert account.spent == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_other_methods_are_refused(hostile: Running, method: str) -> None:
    """A route has the methods that it says."""
    answer = hostile.client.request(method, "/v1/datasets/clinic/queries", headers=hostile.headers("alice"))
    assert answer.status_code == 405


def test_too_many_requests_are_told_when_to_come_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Beyond its rate a token gets 429 with the seconds to wait; another token is answered meanwhile."""
    limits = Limits(requests_per_minute=5)
    with running(tmp_path_factory.mktemp("limited"), limits=limits) as served:
        statuses = [served.get("/v1/me").status_code for _ in range(8)]
        assert statuses == [200] * 5 + [429] * 3
        refused = served.get("/v1/me")
        assert 1 <= int(refused.headers["retry-after"]) <= 61
        assert refused.json()["error"] == {**refused.json()["error"], "kind": "TooMuch", "charged": None}
        assert served.get("/v1/me", "bob").status_code == 200
        assert served.service.datasets.get("clinic").account.spent == Budget(0)


def test_a_failure_that_nobody_expected_has_no_words(
    hostile: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another library's error, with a record in it, leaves as one kind without words, in answers and in the log."""

    def fails(*_: Any) -> Any:
        raise RuntimeError("the record of Zebra")

    monkeypatch.setattr(type(hostile.service.datasets), "seen_by", fails)
    with caplog.at_level("DEBUG"):
        answer = hostile.get("/v1/datasets?Zebra=1")
    (line,) = [json.loads(each.message) for each in caplog.records if each.name == "tacit.service"]
    assert line == {**line, "route": "/v1/datasets", "status": 500, "who": "alice", "failure": "RuntimeError"}
    assert "Zebra" not in str([each.getMessage() for each in caplog.records if not each.name.startswith("httpx")])
    assert answer.status_code == 500
    assert answer.json() == {"error": {"kind": "UnexpectedFailure", "message": "", "charged": None}}


@pytest.mark.parametrize("letter", ["%0A", "%0D", "%09", "%7F", "%E2%80%A8"])
def test_a_path_with_letters_that_no_name_has_reaches_no_route(hostile: Running, letter: str) -> None:
    """A line's end after a route's path was taken for the route, by whatever else looked at the path for another."""
    body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.1}
    assert hostile.post(f"/v1/datasets/clinic/queries{letter}", body).status_code == 404
    assert hostile.service.datasets.get("clinic").account.spent == Budget(0)


def test_what_is_padded_are_routes(hostile: Running, caplog: pytest.LogCaptureFixture) -> None:
    """A route that is renamed is padded under its new name, or this fails."""
    with caplog.at_level("INFO", "tacit.service"):
        for path in PADDED:
            hostile.client.post(path, follow_redirects=False)
    routes = {json.loads(each.message)["route"] for each in caplog.records if each.name == "tacit.service"}
    assert routes == PADDED


def test_answers_about_records_leave_at_public_steps(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The time to an answer of a question is a step, or twice, four times, ... as long; prices are not held back."""
    import time

    with running(tmp_path_factory.mktemp("padded"), padding=0.4) as served:
        body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
        served.post("/v1/datasets/clinic/price", {"what": "queries", **body})
        start = time.monotonic()
        assert served.post("/v1/datasets/clinic/queries", body).status_code == 200
        lasted = time.monotonic() - start
        assert any(0 <= lasted - 0.4 * 2**step < 0.3 for step in range(6))


def test_an_answer_is_there_for_others_at_public_steps(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history told when an answer was ready, long before it left: it is kept half a step before it may leave."""
    import time

    keep, kept = requests._keep, []

    def noting(*what: Any) -> Any:
        kept.append(time.monotonic())
        return keep(*what)

    monkeypatch.setattr(requests, "_keep", noting)
    with running(tmp_path_factory.mktemp("padded"), padding=0.8) as served:
        start = time.monotonic()
        assert served.post(
            "/v1/datasets/clinic/queries", {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
        ).is_success
        (found,) = kept
        assert found - start >= 0.4
