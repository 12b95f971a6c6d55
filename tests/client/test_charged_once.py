"""Charged once: a client that is refused says what was charged, and the key with which to come again for nothing."""

import re
from types import SimpleNamespace

import httpx
import pytest

from support.served import served
from support.service import running
from tacit import Client, PrivateLogisticRegression, StatisticalQuery
from tacit.client import dataset
from tacit.client.wire import charged_once, refusal
from tacit.errors import BudgetExceeded, LedgerMissing, ServiceError, TacitError
from tacit.service import requests
from tacit.service.refusals import unavailable

OLD = StatisticalQuery("age > 60")


@pytest.fixture
def clinic(tmp_path):
    """A service, and a data set of it seen by a client that waits for nothing."""
    with running(tmp_path, lease=0.2) as found, served(found.client.app) as url:
        client = Client(url, found.tokens["alice"])
        object.__setattr__(client._wire, "sleep", lambda _: None)
        yield found, client.dataset("clinic")
        client.close()


def spent(found):
    """Return what the clinic's account has spent."""
    return found.service.datasets.get("clinic").account.spent.epsilon


def failing(*_, **__):
    """Fail as a state that cannot be reached."""
    raise unavailable("what the service remembers")


def interrupted(*_):
    """Fail as a call that its user ends."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"charged": True}, "away. It was charged: the same call with key='mine' costs nothing more."),
        ({"charged": False}, "away. Nothing was charged."),
        (
            {"charged": None},
            "away. It is not known whether it was charged: the same call with key='mine' is charged once.",
        ),
        ({}, "away. It is not known whether it was charged: the same call with key='mine' is charged once."),
    ],
)
def test_what_was_charged_is_said_with_the_key(answer, words):
    """Charged, not charged, not known, and nothing said, which is not known either; the kind stays what it was."""
    told = {"error": {"kind": "LedgerMissing", "message": "away.", **answer}}
    with pytest.raises(LedgerMissing) as caught, charged_once("mine"):
        raise refusal(httpx.Response(503, json=told))
    assert str(caught.value) == words
    assert caught.value.charged is answer.get("charged")


@pytest.mark.parametrize("answer", [httpx.Response(504, text="<html>"), httpx.Response(502, json=[])])
def test_a_proxy_that_answers_for_a_service_knows_of_no_charge(answer):
    """Its pages say nothing of charges: that nothing is known is said, with the key."""
    with (
        pytest.raises(ServiceError, match="not known whether it was charged: the same call with key='mine'"),
        charged_once("mine"),
    ):
        raise refusal(answer)


def test_a_question_that_was_charged_and_not_answered_is_asked_again_for_nothing(clinic, monkeypatch):
    """The key that the client made is in its words: without it, to come again was charged again."""
    found, data = clinic
    with monkeypatch.context() as patch:
        patch.setattr(requests, "_keep", failing)
        with pytest.raises(TacitError, match="It was charged") as caught:
            data.oracle().ask(OLD, epsilon=0.5)
    key = re.search(r"key='(\w+)'", str(caught.value))[1]
    data.oracle().ask(OLD, epsilon=0.5, key=key)
    assert spent(found) == 0.5


def test_a_fit_whose_file_cannot_be_fetched_is_not_paid_twice(clinic, monkeypatch):
    """It was charged and done, and the connection was lost: the key is said, and the same call has the same model."""
    found, data = clinic
    with monkeypatch.context() as patch:
        patch.setattr(type(found.service.jobs), "product", failing)
        with pytest.raises(TacitError, match="not known whether it was charged") as caught:
            data.fit(PrivateLogisticRegression(epsilon=0.5))
    key = re.search(r"key='(\w+)'", str(caught.value))[1]
    data.fit(PrivateLogisticRegression(epsilon=0.5), key=key)
    assert spent(found) == 0.5


@pytest.mark.parametrize("how", ["interrupted", "its file cut"])
def test_a_fit_that_ends_by_anything_else_names_its_key(clinic, monkeypatch, how):
    """Interrupted while it waits, or its file does not load: with the key that is said it is paid once."""
    found, data = clinic
    with monkeypatch.context() as patch:
        if how == "interrupted":
            patch.setattr(dataset, "time", SimpleNamespace(sleep=interrupted))
        else:
            patch.setattr(type(data._wire), "file", lambda *_: b"not all of it")
        with pytest.raises((TacitError, KeyboardInterrupt)) as caught:
            data.fit(PrivateLogisticRegression(epsilon=0.5))
    said = " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    data.fit(PrivateLogisticRegression(epsilon=0.5), key=re.search(r"key='(\w+)'", said)[1])
    assert spent(found) == 0.5


def test_a_client_goes_on_waiting_for_its_job_while_the_service_is_away(clinic):
    """Twenty times it is told to come again, or nothing, and comes: its fit goes on, a second one would be paid too."""
    found, data = clinic
    send, lost = data._wire.http.send, [httpx.Response(503), httpx.ConnectError("refused")] * 10

    def losing(request, **how):
        if not (request.method == "GET" and lost):
            return send(request, **how)
        answer = lost.pop()
        if isinstance(answer, Exception):
            raise answer
        return answer

    data._wire.http.send = losing
    data.fit(PrivateLogisticRegression(epsilon=0.5))
    assert (lost, spent(found)) == ([], 0.5)


def test_a_refusal_that_is_known_to_be_free_says_so(clinic):
    """What does not fit into the budget is not charged: to ask for it with another key is as well."""
    _, data = clinic
    with pytest.raises(BudgetExceeded, match="othing was charged") as caught:
        data.oracle().ask(OLD, epsilon=50)
    assert "key=" not in str(caught.value)
    assert caught.value.charged is False


def test_what_charges_nothing_speaks_of_no_key(clinic, monkeypatch):
    """Prices and public facts: a failure is a failure."""
    found, data = clinic
    monkeypatch.setattr(type(found.service.datasets), "of", failing)
    for asked in (lambda: data.price(OLD, epsilon=0.1), lambda: data.left):
        with pytest.raises(ServiceError) as caught:
            asked()
        assert "charged" not in str(caught.value)
