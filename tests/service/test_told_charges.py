"""What is told of charges: that nothing was charged only where this is known, and else by which key to come again."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from support.jobs import FIT, PATIENCE, begun, ended
from support.pages import ASK, field, send, sign_in
from support.service import ROWS, Running, running
from tacit.accounting.ledger import Ledger
from tacit.errors import InvalidParameter, LedgerBusy, LedgerMissing
from tacit.service import requests
from tacit.service.asking import PRICES
from tacit.service.datasets import RegisteredTable
from tacit.service.jobs import fits
from tacit.service.refusals import Refusal, unavailable
from tacit.service.settings import Limits
from tacit.service.state import State

ROUTE = "/v1/datasets/clinic/queries"
QUESTION = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
TRAIN = {"estimator": "PrivateLogisticRegression", "epsilon": "0.25", "delta": "0", "part": "train", "parameters": "{}"}


@contextmanager
def moved(path: Path) -> Iterator[None]:
    """Move something out of reach meanwhile, as a disk that is not there."""
    gone = path.with_name(f"{path.name} is gone")
    path.rename(gone)
    try:
        yield
    finally:
        gone.rename(path)


def failing(error: Exception) -> Callable[..., Any]:
    """Return what fails, however it is called."""

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    return fails


def _charged(answer: Any) -> bool | None:
    """Return what an error says of charges."""
    told: bool | None = answer.json()["error"]["charged"]
    return told


def _spent(served: Running) -> float:
    return served.service.datasets.get("clinic").account.spent.epsilon


def _last(served: Running) -> tuple[str, bool | None]:
    line = served.get("/v1/history").json()["requests"][0]
    return line["state"], line["charged"]


def test_a_job_whose_account_is_away_is_told_and_not_known(tmp_path: Path) -> None:
    """Asked for, looked at and listed: its id comes at once, and "charged" is null until the account can be asked."""
    with running(tmp_path, lease=0.2) as served:
        with moved(tmp_path / "ledgers" / "clinic.db"):
            job = begun(served, "fits", FIT)
            ways = (
                served.get(f"/v1/jobs/{job['id']}").json()["job"],
                served.get("/v1/jobs").json()["jobs"][0],
                served.get("/v1/datasets/clinic/jobs", "carol").json()["jobs"][0],
            )
            assert [each["charged"] for each in (job, *ways)] == [None] * 4
        done = ended(served, job)
        assert (done["state"], done["charged"], _spent(served)) == ("done", True, 0.5)


@contextmanager
def from_before(file: Path) -> Iterator[Callable[[], None]]:
    """Have an older copy of an account in its place meanwhile, from what is called until this is left."""
    old, new = file.with_suffix(".old"), file.with_suffix(".new")
    shutil.copyfile(file, old)

    def put_back() -> None:
        shutil.copyfile(file, new)
        shutil.copyfile(old, file)

    yield put_back
    shutil.copyfile(new, file)


def test_a_job_that_ended_while_its_account_was_damaged_is_never_charged_once_it_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end could not be written: null; and from when the account is mended it is told as free, and is."""
    reached, go, prepared = threading.Event(), threading.Event(), fits.prepared

    def slow(*what: Any) -> Any:
        if threading.current_thread().name == "tacit jobs":
            reached.set()
            go.wait(PATIENCE)
        return prepared(*what)

    with running(tmp_path, lease=0.5) as served:
        monkeypatch.setattr(fits, "prepared", slow)
        with from_before(tmp_path / "ledgers" / "clinic.db") as put_back:
            served.post(ROUTE, QUESTION)
            job = begun(served, "fits", FIT)
            assert reached.wait(PATIENCE)
            put_back()
            cancelled = served.delete(f"/v1/jobs/{job['id']}").json()["job"]
            assert (cancelled["state"], cancelled["charged"], _last(served)) == ("cancelled", None, ("cancelled", None))
        mended = served.get(f"/v1/jobs/{job['id']}").json()["job"]
        assert (mended["charged"], _last(served)) == (False, ("cancelled", False))
        go.set()
        assert ended(served, begun(served, "fits", FIT))["state"] == "done"
        account = served.service.datasets.get("clinic").account
        assert (account.is_ended(served.service.jobs.ended("clinic")[0]), _spent(served)) == (True, 1.0)


def test_a_cancel_that_waits_for_its_account_keeps_nobody_waiting(served: Running) -> None:
    """Its account may be locked for a minute: meanwhile others write into the state, and the job is not yet ended."""
    jobs, seen = served.service.jobs, []
    end_ticket = jobs._end_ticket
    served.service.runner.stop()
    job = begun(served, "fits", FIT)

    def waiting(*what: str) -> None:
        other = threading.Thread(target=lambda: seen.append(begun(served, "fits", FIT, "bob")["state"]), daemon=True)
        other.start()
        other.join(PATIENCE)
        seen.append(served.get("/v1/jobs").json()["jobs"][0]["state"])
        end_ticket(*what)

    jobs._end_ticket = waiting
    assert served.delete(f"/v1/jobs/{job['id']}").json()["job"]["state"] == "cancelled"
    assert seen == ["waiting", "waiting"]


@pytest.mark.parametrize("lost", ["the request's answer", "word that the job was added"])
def test_a_job_that_may_have_been_added_is_not_told_as_uncharged(
    served: Running, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state fails after a job was added, which runs: neither told as free nor asked for under another key."""
    add = type(served.service.jobs).add

    def added(*what: Any) -> Any:
        add(*what)
        raise unavailable("what the service remembers")

    sign_in(served, "alice")
    key = field(served.client.get("/datasets/clinic/train").text, "key")
    with monkeypatch.context() as patch:
        if lost == "the request's answer":
            patch.setattr(requests, "_keep", failing(unavailable("what the service remembers")))
        else:
            patch.setattr(type(served.service.jobs), "add", added)
        failed = served.post("/v1/datasets/clinic/fits", FIT, key="k")
        page = send(served, "/datasets/clinic/train", action="begin", key=key, **TRAIN)
    assert (failed.status_code, _charged(failed)) == (503, None)
    assert (page.status_code, "Nothing was charged" in page.text) == (503, False)
    again = ended(served, served.post("/v1/datasets/clinic/fits", FIT, key="k").json()["job"])
    page = send(served, "/datasets/clinic/train", action="begin", key=key, **TRAIN)
    ended(served, served.get(f"/v1{page.url.path}").json()["job"])
    assert (again["state"], len(served.get("/v1/jobs").json()["jobs"]), _spent(served)) == ("done", 2, 0.75)


def test_a_job_that_was_added_stands_whatever_would_be_refused_now(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for again where it would make no sense any more: it is not told as uncharged, but as the job that it is."""
    with monkeypatch.context() as patch:
        patch.setattr(requests, "_keep", failing(unavailable("what the service remembers")))
        served.post("/v1/datasets/clinic/fits", FIT, key="k")
    (job,) = served.get("/v1/jobs").json()["jobs"]
    with monkeypatch.context() as patch:
        patch.setattr("tacit.service.jobs.asking.fits.prepared", failing(InvalidParameter("too large by now.")))
        again = served.post("/v1/datasets/clinic/fits", FIT, key="k")
    assert (again.status_code, again.json()["job"]["id"]) == (202, job["id"])


def test_a_job_that_is_refused_is_told_as_uncharged(served: Running) -> None:
    """What makes no sense has no job, and never will."""
    refused = served.post("/v1/datasets/clinic/fits", {**FIT, "estimator": "Nobody"})
    assert (refused.status_code, _charged(refused), _last(served)) == (400, False, ("refused", False))


def test_a_request_that_was_refused_and_is_charged_later_is_told_as_charged(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused while the account is locked, charged when it comes again, its answer lost: never uncharged again."""
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "spend", failing(LedgerBusy("locked")))
        refused = served.post(ROUTE, QUESTION, key="k")
    assert (_charged(refused), _last(served)) == (False, ("refused", False))
    with monkeypatch.context() as patch:
        patch.setattr(requests, "_keep", failing(unavailable("what the service remembers")))
        lost = served.post(ROUTE, QUESTION, key="k")
    assert (_charged(lost), _last(served)) == (True, ("begun", True))
    with monkeypatch.context() as patch:
        patch.setattr(RegisteredTable, "ledger", failing(LedgerMissing("away")))
        assert _charged(served.post(ROUTE, QUESTION, key="k")) is None
    with monkeypatch.context() as patch:
        for name in ("spend", "entry_of"):
            patch.setattr(Ledger, name, failing(LedgerBusy("locked")))
        assert _charged(served.post(ROUTE, QUESTION, key="k")) is None
    assert served.post(ROUTE, QUESTION, key="k").json()["cost"]["epsilon"] == _spent(served) == 0.5


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_charged_request_is_found_whatever_is_too_long_by_now(
    tmp_path: Path, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered between two tries: an answer that is kept is given, a charge without one told as charged."""
    with running(tmp_path) as served, monkeypatch.context() as patch:
        if not is_kept:
            patch.setattr(requests, "_keep", failing(unavailable("what the service remembers")))
        first = served.post(ROUTE, QUESTION, key="k")
    with running(tmp_path, limits=Limits(work=ROWS)) as served:
        again, another = (served.post(ROUTE, QUESTION, key=key) for key in ("k", "another"))
        assert (another.status_code, _charged(another), _spent(served)) == (400, False, 0.5)
        assert (again.json() == first.json()) if is_kept else (again.status_code, _charged(again)) == (400, True)


@pytest.mark.parametrize("first_fails", [False, True])
def test_a_request_that_another_try_works_for_is_not_told_as_uncharged(
    served: Running, first_fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tries under one key, one of which fails while the other is at work, and is charged: null, in the history too.

    Which of them began the request makes no difference.
    """
    reached, go, oracle, tries = threading.Event(), threading.Event(), RegisteredTable.oracle, iter([True, False])

    def slow(*what: Any) -> Any:
        is_first = next(tries)
        if is_first:
            reached.set()
            assert go.wait(PATIENCE)
        if is_first == first_fails:
            raise LedgerBusy("locked")
        if not is_first:
            go.set()
            assert failed.wait(PATIENCE)
        return oracle(*what)

    monkeypatch.setattr(RegisteredTable, "oracle", slow)
    told, failed = {}, threading.Event()

    def ask(name: str) -> None:
        told[name] = served.post(ROUTE, QUESTION, key="k")
        if told[name].status_code != 200:
            told["history"] = _last(served)
            failed.set()
            go.set()

    first = threading.Thread(target=ask, args=["first"])
    first.start()
    assert reached.wait(PATIENCE)
    ask("second")
    first.join()
    failure, answer = ("first", "second") if first_fails else ("second", "first")
    assert (_charged(told[failure]), told["history"]) == (None, ("begun", None))
    assert (told[answer].status_code, _spent(served)) == (200, 0.5)


def test_a_charge_on_its_way_to_a_database_is_not_told_as_none(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks while a charge is written: that it is not there yet says nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_charged", failing(LedgerMissing("the server closed the connection")))
        assert _charged(served.post(ROUTE, QUESTION, key="k")) is None


def test_a_charged_request_that_comes_again_is_never_told_as_uncharged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its witness, the state, its token or its turn is not there when it comes again: nobody says that it was free."""
    witness = tmp_path / "witness" / "witness.jsonl"
    witness.parent.mkdir()
    with running(tmp_path / "service", witness=str(witness)) as served:
        close = failing(LedgerMissing("the disk is gone"))
        with monkeypatch.context() as patch:
            patch.setattr(type(served.service.datasets.witness), "close", close)
            told = [_charged(served.post(ROUTE, QUESTION, key="k")) for _ in range(3)]
        assert told == [True, None, None]
        with monkeypatch.context() as patch:
            patch.setattr(State, "row", failing(unavailable("what the service remembers")))
            assert _charged(served.post(ROUTE, QUESTION, key="k")) is None
        with monkeypatch.context() as patch:
            patch.setattr(RegisteredTable, "ledger", failing(RuntimeError("nobody expected this")))
            assert _charged(served.post(ROUTE, QUESTION, key="another")) is None
        token, served.tokens["alice"] = served.tokens["alice"], served.tokens["dora"]
        assert _charged(served.post(ROUTE, QUESTION, key="k")) is None
        served.tokens["alice"] = token
        with monkeypatch.context() as patch:
            patch.setattr(served.service.meter, "_room", 0)
            refused = served.post(ROUTE, QUESTION, key="k")
        assert (refused.status_code, _charged(refused), "othing was" in refused.text) == (429, None, False)
        assert served.post(ROUTE, QUESTION, key="k").json()["cost"]["epsilon"] == _spent(served) == 0.5


def test_a_page_that_fails_once_after_its_answer_was_charged_is_sent_again_for_nothing(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is there and its page is not: the same form again is answered, and nothing more is charged."""
    sign_in(served, "alice")
    key = field(served.client.get("/datasets/clinic").text, "key")
    facts, failures = RegisteredTable.facts, [LedgerMissing("the server was started anew")]

    def once(*what: Any) -> Any:
        if failures:
            raise failures.pop()
        return facts(*what)

    monkeypatch.setattr(RegisteredTable, "facts", once)
    told = send(served, "/datasets/clinic", "/", action="ask", key=key, **ASK)
    assert (told.status_code, "Nothing was charged" in told.text) == (503, False)
    assert "not known whether it was charged" in told.text
    assert 'class="answer"' in send(served, "/datasets/clinic", action="ask", key=key, **ASK).text
    assert _spent(served) == float(ASK["epsilon"])


@pytest.mark.parametrize("form", [{"question": "age >"}, {"question": "age > 60", "epsilon": "50"}])
def test_a_form_that_was_refused_has_a_new_key(served: Running, form: dict[str, str]) -> None:
    """Nothing was charged under its key, which stands for what was refused: what is sent next is another request."""
    sign_in(served, "alice")
    key = field(served.client.get("/datasets/clinic").text, "key")
    told = send(served, "/datasets/clinic", action="ask", key=key, **{**ASK, **form})
    assert ("Nothing was charged" in told.text, field(told.text, "key") == key) == (True, False)


@pytest.mark.parametrize(
    ("place", "priced", "form"),
    [
        ("/datasets/clinic/train", "fit", {**TRAIN, "action": "price"}),
        ("/datasets/clinic", "queries", {**ASK, "action": "price"}),
    ],
)
def test_a_price_that_is_refused_leaves_the_form_its_key(
    served: Running, place: str, priced: str, form: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun under the form's key may have been charged: a price does not drop it, or say that it was not."""
    sign_in(served, "alice")
    key = field(served.client.get(place).text, "key")
    refusal = Refusal(HTTPStatus.TOO_MANY_REQUESTS, "TooMuch", "come again.", charged=False)
    monkeypatch.setitem(PRICES, priced, failing(refusal))
    monkeypatch.setattr("tacit.service.routes.pages.asking.price_of_questions", failing(refusal))
    told = send(served, place, key=key, **form)
    assert (told.status_code, field(told.text, "key")) == (429, key)
    assert ("come again." in told.text, "othing was charged" in told.text) == (True, False)


def test_a_page_that_is_only_looked_at_says_nothing_of_charges(served: Running) -> None:
    """What is not there, or not now, was not asked to charge."""
    sign_in(served, "alice")
    told = served.client.get("/datasets/nothing")
    assert (told.status_code, "charged" in told.text) == (404, False)
