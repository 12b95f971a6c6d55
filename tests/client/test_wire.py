"""The wire: tokens stay safe, retries are one request, refusals are tacit's own exceptions."""

import json
from typing import Any

import httpx
import pytest

from tacit.client.wire import Wire, charged_once
from tacit.errors import BudgetExceeded, InvalidParameter, ServiceError


class Service:
    """Answers from a list, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer the next."""
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def wire_to(*answers: Any, url: str = "http://127.0.0.1:1") -> tuple[Wire, Service, list[float]]:
    """Return a wire to a service with these answers, and the pauses it makes."""
    service, pauses = Service(*answers), []
    wire = Wire.to(url, "tacit_token", 1.0, httpx.MockTransport(service))
    object.__setattr__(wire, "sleep", pauses.append)
    return wire, service, pauses


def refused(status: int, kind: str = "BudgetExceeded", **headers: str) -> httpx.Response:
    """Return a refusal in the service's own form."""
    return httpx.Response(status, json={"error": {"kind": kind, "message": "no."}}, headers=headers)


@pytest.mark.parametrize(
    "url",
    ["http://learner.example", "ftp://127.0.0.1", "learner.example", "", "http://", 7, "http://127.0.0.1.evil.example"],
)
def test_a_token_never_leaves_in_the_clear(url):
    """Addresses without TLS are refused unless they are this machine's; so is what is no address."""
    with pytest.raises(InvalidParameter):
        Wire.to(url, "tacit_token", 1.0, None)


@pytest.mark.parametrize("url", ["https://learner.example/base", "http://localhost:8765", "http://[::1]:8765"])
def test_addresses_with_tls_and_of_this_machine_are_taken(url):
    """The token is in the header of every request."""
    wire, service, _ = wire_to(httpx.Response(200, json={}), url=url)
    assert wire.get("me") == {}
    assert service.asked[0].headers["Authorization"] == "Bearer tacit_token"


def test_a_retry_is_the_same_request_with_the_same_key():
    """A lost connection, a service that starts and one that is busy: asked again with one key and one body."""
    wire, service, pauses = wire_to(
        httpx.ConnectError("refused"), refused(503, "Starting"), refused(429, "TooMany", **{"Retry-After": "2"}),
        httpx.Response(200, json={"answers": []}),
    )  # fmt: skip
    with charged_once(None) as key:
        assert wire.post("datasets", "a", "queries", body={"queries": []}, key=key) == {"answers": []}
    assert len({request.headers["Idempotency-Key"] for request in service.asked}) == 1
    assert len({request.content for request in service.asked}) == 1
    assert len(service.asked) == 4
    assert pauses[2] == 2.0


def test_two_calls_have_two_keys_and_a_key_given_is_kept():
    """A second question is a second request, unless its caller says that it is the first again."""
    wire, service, _ = wire_to(*[httpx.Response(200, json={}) for _ in range(4)])
    for given in (None, None, "mine", "mine"):
        with charged_once(given) as key:
            wire.post("datasets", "a", "queries", body={}, key=key)
    keys = [request.headers["Idempotency-Key"] for request in service.asked]
    assert keys[0] != keys[1]
    assert keys[2:] == ["mine", "mine"]


def test_whoever_gets_no_answer_is_told_how_to_ask_again():
    """After the last try: a ServiceError that quotes no address, no token and nothing of the library below."""
    wire, _, _ = wire_to(*[httpx.ReadTimeout("secret words") for _ in range(4)])
    with pytest.raises(ServiceError, match="key='mine'") as caught, charged_once("mine") as key:
        wire.post("datasets", "a", "queries", body={}, key=key)
    assert "secret words" not in str(caught.value)
    assert "tacit_token" not in str(caught.value)


def test_a_refusal_is_the_exception_that_it_names():
    """BudgetExceeded by name, what is unknown as ServiceError, and never a class that is no exception of tacit's."""
    for status, kind, expected in [
        (402, "BudgetExceeded", BudgetExceeded), (422, "InvalidParameter", InvalidParameter),
        (401, "NoToken", ServiceError), (400, "TacitError", Exception), (400, "ValueError", ServiceError),
        (500, "__class__", ServiceError),
    ]:  # fmt: skip
        wire, _, _ = wire_to(refused(status, kind))
        with pytest.raises(expected, match="no\\."):
            wire.get("me")


@pytest.mark.parametrize("answer", [
    httpx.Response(500, text="<html>"), httpx.Response(404, json=[]), httpx.Response(400, json={"error": "x"}),
    httpx.Response(302, headers={"Location": "https://elsewhere.example"}), httpx.Response(200, text="<html>"),
])  # fmt: skip
def test_what_is_no_tacit_service_is_said_to_be_none(answer):
    """Pages of proxies, redirections (which the token does not follow) and other JSON."""
    wire, service, _ = wire_to(answer)
    with pytest.raises(ServiceError):
        wire.get("me")
    assert len(service.asked) == 1


def test_a_name_is_one_step_of_a_path_whatever_it_is():
    """Slashes, dots and questions in a data set's name reach no other route."""
    wire, service, _ = wire_to(*[httpx.Response(200, json={}) for _ in range(3)])
    for name in ("../tokens", "a/b?c=d#e", "ä%2f"):
        wire.get("datasets", name)
    assert [request.url.raw_path for request in service.asked] == [
        b"/v1/datasets/..%2Ftokens", b"/v1/datasets/a%2Fb%3Fc%3Dd%23e", b"/v1/datasets/%C3%A4%252f",
    ]  # fmt: skip


def test_bodies_hold_what_was_given_and_nothing_else():
    """Plain JSON."""
    wire, service, _ = wire_to(httpx.Response(200, json={}))
    wire.post("datasets", "a", "price", body={"what": "queries", "epsilon": 0.1})
    assert json.loads(service.asked[0].content) == {"what": "queries", "epsilon": 0.1}
