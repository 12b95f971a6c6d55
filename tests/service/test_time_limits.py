"""How long things may take: a job by the clock, a question by its length and the number of records."""

import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from dp_accounting.dp_event import LaplaceDpEvent

from support.service import Running, running
from tacit import PrivateKernelClassifier
from tacit.budget import Budget
from tacit.errors import InvalidParameter, TicketUsed
from tacit.service.jobs import fits
from tacit.service.jobs.sizes import check_work
from tacit.service.jobs.table import JOB
from tacit.service.service import Service
from tacit.service.settings import Limits, Settings

FIT = {"estimator": "SQNaiveBayes", "parameters": {"epsilon": 0.25}, "part": "all"}


def _begin(served: Running, who: str) -> str:
    return str(served.post("/v1/datasets/clinic/fits", FIT, who).json()["job"]["id"])


def _ended(served: Running, job: str, who: str) -> Any:
    for _ in range(400):
        found = served.get(f"/v1/jobs/{job}", who).json()["job"]
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def test_a_job_that_takes_too_long_fails_and_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was charged, stays charged and says so; what it makes in the end is kept by nobody, and nobody waits."""
    really, slow, over = fits.fit, threading.Event(), threading.Event()

    def fit(dataset: Any, job: Any, ledger: Any) -> Any:
        made = really(dataset, job, ledger)
        if job.owner == "alice":
            slow.wait(30)
            over.set()
        return made

    monkeypatch.setattr(fits, "fit", fit)
    with running(tmp_path, limits=Limits(job_seconds=3.0), lease=1.0) as served:
        mine, others = _begin(served, "alice"), _begin(served, "bob")
        assert _ended(served, others, "bob")["state"] == "done"
        found = _ended(served, mine, "alice")
        assert (found["state"], found["error"]["kind"], found["charged"]) == ("failed", "TookTooLong", True)
        assert "stays charged" in found["error"]["message"]
        slow.set()
        assert over.wait(10)
        third = _begin(served, "bob")
        assert _ended(served, third, "bob")["state"] == "done"
        assert served.get(f"/v1/jobs/{mine}").json()["job"]["state"] == "failed"
        assert served.get(f"/v1/models/{mine}").status_code == 404


def test_a_job_that_was_ended_for_time_is_charged_nothing_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told stays true: the late thread comes to its charge, and is refused."""
    really, slow, over = fits.fit, threading.Event(), threading.Event()

    def fit(*what: Any) -> Any:
        slow.wait(30)
        try:
            return really(*what)
        finally:
            over.set()

    monkeypatch.setattr(fits, "fit", fit)
    with running(tmp_path, limits=Limits(job_seconds=0.3), lease=0.5) as served:
        job = _begin(served, "alice")
        found = _ended(served, job, "alice")
        assert (found["error"]["kind"], found["charged"]) == ("TookTooLong", False)
        slow.set()
        assert over.wait(30)
        found = _ended(served, job, "alice")
        assert (found["error"]["kind"], found["charged"]) == ("TookTooLong", False)
        assert not served.service.datasets.get("clinic").account.spent


def test_a_job_that_ended_uncharged_is_charged_by_nobody(served: Running) -> None:
    """Neither by a worker that had it in hand before and wakes, nor when the state is put back from a backup."""
    jobs, account = served.service.jobs, served.service.datasets.get("clinic").account
    served.service.runner.stop()
    cancelled, failed = (_begin(served, "alice") for _ in range(2))
    asleep = [account.acting(ticket=row.ticket) for row in served.service.state.rows(sa.select(JOB))]
    assert len(asleep) == 2
    first = jobs.take(failed, 0, "waiting")
    assert first is not None
    taken_over = jobs.take(failed, first.beat)
    assert taken_over is not None
    assert jobs.fail(taken_over, {"kind": "TookTooLong", "message": "it was ended."})
    served.delete(f"/v1/jobs/{cancelled}")
    told = [served.get(f"/v1/jobs/{job}").json()["job"] for job in (cancelled, failed)]
    assert [(each["state"], each["charged"]) for each in told] == [("cancelled", False), ("failed", False)]
    for handle in asleep:
        with pytest.raises(TicketUsed, match="was ended"):
            handle.spend(LaplaceDpEvent(10.0), label="q")
    with served.service.state.writing() as connection:
        connection.execute(sa.update(JOB).values(state="waiting", holder=None, error=None, finished=None))
    service = Service(served.settings)
    service.runner.wake()
    for job in (cancelled, failed):
        again = _ended(served, job, "alice")
        assert (again["state"], again["error"]["kind"], again["charged"]) == ("failed", "TicketUsed", False)
    service.close()
    assert account.spent == Budget(0)


def test_a_question_may_be_so_long_that_it_is_answered_in_time(tmp_path: Path) -> None:
    """By its letters and the public number of records: refused before anything is charged, with what to do."""
    with running(tmp_path, limits=Limits(work=400 * 100)) as served:
        body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.1}
        assert served.post("/v1/datasets/clinic/queries", body).status_code == 200
        long = {**body, "queries": [{"mean": " + ".join(["age"] * 40)}]}
        for route, more in (("queries", {}), ("price", {"what": "queries"})):
            refused = served.post(f"/v1/datasets/clinic/{route}", {**more, **long})
            assert refused.status_code == 400
            assert "ask in several" in refused.json()["error"]["message"]
        assert served.service.datasets.get("clinic").account.spent == Budget(0.1)


def test_landmarks_are_counted_among_themselves(served: Running) -> None:
    """A fit that is priced by a made-up one holds landmarks times landmarks, however few records there are."""
    records = served.service.datasets.get("clinic").part("all")
    check_work(PrivateKernelClassifier(landmarks=np.zeros((2000, 7))), records)
    with pytest.raises(InvalidParameter, match="400,000,000"):
        check_work(PrivateKernelClassifier(landmarks=np.zeros((20_000, 7))), records)


def test_the_limits_are_settings() -> None:
    """Both are read from the file, as the others are."""
    found = Settings.of({"folder": "x", "limits": {"job_seconds": 2.5, "work": 1000}}, Path("."))
    assert (found.limits.job_seconds, found.limits.work) == (2.5, 1000)
    usual = Limits()
    assert Settings.of({"folder": "x", "limits": asdict(usual)}, Path(".")).limits == usual


def test_a_custodian_sees_and_ends_the_jobs_of_their_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose they are and how far, never what came of them; of other people's data sets nothing."""
    really, slow = fits.fit, threading.Event()
    monkeypatch.setattr(fits, "fit", lambda *what: (slow.wait(30), really(*what))[1])
    with running(tmp_path) as served:
        job, route = _begin(served, "alice"), "/v1/datasets/clinic/jobs"
        (listed,) = served.get(route, "carol").json()["jobs"]
        assert (listed["id"], listed["owner"], listed["kind"]) == (job, "alice", "fit")
        for who in ("alice", "bob", "dora"):
            assert served.get(route, who).status_code == 403
        _, served.tokens["eve"] = served.service.tokens.make("eve", "custodian", datasets=["other"])
        assert served.get(route, "eve").status_code == 404
        for who, status in (("alice", 403), ("dora", 403), ("eve", 404)):
            assert served.delete(f"{route}/{job}", who).status_code == status
        assert served.delete(f"/v1/datasets/other/jobs/{job}", "carol").status_code == 404
        ended = served.delete(f"{route}/{job}", "carol").json()["job"]
        assert (ended["state"], ended["owner"]) == ("cancelled", "alice")
        slow.set()
        second = _begin(served, "alice")
        assert _ended(served, second, "alice")["state"] == "done"
        for told in (*served.get(route, "carol").json()["jobs"], ended):
            assert not {"result", "error", "cost"} & told.keys()
        assert served.get(f"/v1/jobs/{second}", "carol").status_code == 404
