"""Workers and the jobs in their hands: stopped, silent or dead, each job is charged once and in one hand."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.jobs import FIT, TREE, begun, ended
from support.service import Running, running
from tacit.accounting.witness import FileWitness
from tacit.errors import LedgerCorrupt, LedgerError, LedgerMissing, WitnessFailed
from tacit.noise import unique_name
from tacit.numerics.progress import told
from tacit.service.clock import now
from tacit.service.jobs import fits
from tacit.service.jobs.doing import acting_for
from tacit.service.jobs.table import MOST_ATTEMPTS, Jobs
from tacit.service.refusals import Refusal
from tacit.service.settings import Limits
from tacit.service.state import State


class Gate:
    """Stops fits after some of their steps, until it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, *given: Any) -> Any:
        """Stand in for what follows a charge and a draw: tell of steps until somebody opens."""
        self.reached.set()
        step = 0
        while not self.open.wait(0.02):
            step = min(step + 1, 9)
            told(step, 10)
        return self.usual(*given)

    usual = staticmethod(fits.file_of)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Give a gate that fits stop at once they are charged, and open it in the end."""
    found = Gate()
    monkeypatch.setattr(fits, "file_of", found)
    yield found
    found.open.set()


def test_a_cancelled_job_stays_charged_and_says_so(gate: Gate, tmp_path: Path) -> None:
    """One that ran is charged and gives nothing; one that waited is not; neither is begun again."""
    with running(tmp_path, lease=0.5) as served:
        runs = begun(served, "fits", FIT)
        assert gate.reached.wait(30)
        waits = begun(served, "fits", FIT)
        for job, charged in ((runs, True), (waits, False)):
            found = served.delete(f"/v1/jobs/{job['id']}").json()["job"]
            assert (found["state"], found["charged"], found["result"]) == ("cancelled", charged, None)
        # The thread lets go of it at its next step, and takes what comes next.
        gate.open.set()
        assert ended(served, begun(served, "fits", TREE))["state"] == "done"
        assert served.get(f"/v1/jobs/{runs['id']}").json()["job"]["state"] == "cancelled"
        assert served.get(f"/v1/models/{runs['id']}").status_code == 404
        assert served.get(f"/v1/jobs/{runs['id']}/report").status_code == 404
        spent = served.service.datasets.get("clinic").account.entries()
        assert sum(entry.label == "PrivateLogisticRegression" for entry in spent) == 1


def test_a_job_outlives_the_token_that_asked_for_it(gate: Gate, tmp_path: Path) -> None:
    """Revoked while it runs: the job is charged once and done, and nobody has it but by another token of its owner."""
    with running(tmp_path) as served:
        public, served.tokens["first"] = served.service.tokens.make("erin", "analyst")
        job = begun(served, "fits", FIT, "first")
        assert gate.reached.wait(30)
        assert served.delete(f"/v1/tokens/{public}", "carol").status_code == 200
        gate.open.set()
        routes = [f"/v1/jobs/{job['id']}", f"/v1/models/{job['id']}"]
        assert {served.get(route, "first").status_code for route in routes} == {401}
        _, served.tokens["second"] = served.service.tokens.make("erin", "analyst")
        assert ended(served, job, "second")["state"] == "done"
        assert {served.get(route, "second").status_code for route in routes} == {200}
        assert {served.get(route, "alice").status_code for route in routes} == {404}
        assert len([each for each in served.service.datasets.get("clinic").account.entries() if each.amount]) == 1


def test_progress_is_that_of_public_steps(gate: Gate, tmp_path: Path) -> None:
    """How far a job is can be seen while it runs."""
    with running(tmp_path, lease=0.2) as served:
        job = begun(served, "fits", FIT)
        assert gate.reached.wait(30)
        while (seen := served.get(f"/v1/jobs/{job['id']}").json()["job"])["total"] == 0:
            assert seen["state"] in ("waiting", "running")
        assert seen["total"] == 10
        assert 0 < seen["done"] < 10


def test_there_are_only_so_many_jobs_at_once(gate: Gate, tmp_path: Path) -> None:
    """A person's own limit comes before that of all, with the seconds to wait; known keys are answered."""
    with running(tmp_path) as served:
        first = begun(served, "fits", FIT, key="first")
        for _ in range(3):
            begun(served, "fits", FIT)
        refused = served.post("/v1/datasets/clinic/fits", FIT)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert begun(served, "fits", FIT, key="first")["id"] == first["id"]
        assert begun(served, "fits", FIT, who="bob")["state"] == "waiting"
        for job in served.get("/v1/jobs").json()["jobs"]:
            served.delete(f"/v1/jobs/{job['id']}")
        gate.open.set()
        assert begun(served, "fits", FIT)["id"]


def test_a_job_is_taken_from_a_worker_that_fell_silent(gate: Gate, tmp_path: Path) -> None:
    """Two workers have a job one after the other: it is charged once, and only the present holder can keep it."""
    with running(tmp_path, lease=0.3) as first:
        job = begun(first, "fits", FIT)
        assert gate.reached.wait(30)
        # It says nothing more, and does not know that it was given up.
        first.service.runner._hands.clear()
        gate.reached.clear()
        with running(tmp_path, lease=0.3) as second:
            assert gate.reached.wait(30)
            gate.open.set()
            done = ended(second, job | {"state": "running"})
            assert done["state"] == "done"
            assert second.get(f"/v1/models/{job['id']}").status_code == 200
            assert second.get("/v1/datasets/clinic").json()["spent"]["words"] == "epsilon=0.5, delta=1e-06"


def test_a_worker_that_stops_leaves_its_jobs_to_the_next(gate: Gate, tmp_path: Path) -> None:
    """A graceful stop gives a job back at its next step, and the next worker does it at no further charge."""
    with running(tmp_path) as served:
        job = begun(served, "fits", FIT)
        assert gate.reached.wait(30)
    with running(tmp_path) as served:
        assert served.service.jobs.of(acting_for("alice"), job["id"]).attempts <= 1
        gate.open.set()
        assert ended(served, job)["state"] == "done"
        assert served.get("/v1/datasets/clinic").json()["spent"]["words"] == "epsilon=0.5, delta=1e-06"


def test_a_job_whose_worker_always_dies_is_given_up(tmp_path: Path) -> None:
    """After five attempts a job fails, so that no number of deaths chooses among draws."""
    with running(tmp_path) as served:
        job = served.service.jobs.add("alice", "a ticket", "clinic", "fit", FIT)
        for attempt in range(6):
            served.service.runner.stop()
            known = served.service.jobs.of(acting_for("alice"), job.id)
            taken = served.service.jobs.take(job.id, known.beat, "waiting" if attempt == 0 else "running")
            assert taken is not None
        served.service.runner._do(taken)
        found = served.get(f"/v1/jobs/{job.id}").json()["job"]
        assert (found["state"], found["error"]["kind"]) == ("failed", "Interrupted")
        assert not found["charged"]


def test_a_job_is_begun_again_when_its_disk_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be otherwise in a moment ends no job that was paid for: it is done later, at no further charge."""
    # A server that is away, and a disk that is full, are told by a ledger as what the last two say.
    failures = iter([OSError(28, "disk"), WitnessFailed("away"), LedgerMissing("away"), LedgerError("full")])
    usual = fits.file_of

    def full(*given: Any) -> Any:
        for failure in failures:
            raise failure
        return usual(*given)

    monkeypatch.setattr(fits, "file_of", full)
    with running(tmp_path, lease=0.1) as served:
        job = ended(served, begun(served, "fits", FIT))
        assert job["state"] == "done"
        assert served.get("/v1/datasets/clinic").json()["spent"]["words"] == "epsilon=0.5, delta=1e-06"


def test_a_job_whose_ledger_is_damaged_fails_at_once(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only a person can mend is not tried again and again."""
    monkeypatch.setattr(fits, "fit", lambda *_: (_ for _ in ()).throw(LedgerCorrupt("it is damaged.")))
    job = ended(served, begun(served, "fits", FIT))
    assert (job["state"], job["error"]["kind"]) == ("failed", "LedgerCorrupt")


def test_a_result_that_was_kept_is_given_however_long_its_witness_was_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempts that only failed to reach a place are not counted, and a job that has a result cannot fail any more."""
    usual, failures = FileWitness.close, [WitnessFailed("disk full")] * (2 * MOST_ATTEMPTS) + [ValueError("unexpected")]

    def away(*given: Any) -> Any:
        # What it closes is the job's ticket, and before that the request's.
        if failures and given[2].startswith("job "):
            raise failures.pop(0)
        return usual(*given)

    monkeypatch.setattr(FileWitness, "close", away)
    with running(tmp_path, lease=0.05) as served:
        job = ended(served, begun(served, "fits", FIT))
        assert (job["state"], failures) == ("done", [])
        assert served.get(f"/v1/models/{job['id']}").status_code == 200
        assert served.get("/v1/datasets/clinic").json()["spent"]["words"] == "epsilon=0.5, delta=1e-06"


def test_a_job_that_cannot_go_on_now_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread has jobs of two people, and the first one's meets a full disk again and again."""
    usual, alone = fits.fit, threading.Event()

    def full(dataset: Any, job: Any, ledger: Any) -> Any:
        if job.owner == "alice" and not alone.is_set():
            raise OSError(28, "No space left on device")
        return usual(dataset, job, ledger)

    monkeypatch.setattr(fits, "fit", full)
    with running(tmp_path, lease=0.05) as served:
        first = begun(served, "fits", FIT)
        assert ended(served, begun(served, "fits", FIT, "bob"), "bob")["state"] == "done"
        assert served.get(f"/v1/jobs/{first['id']}").json()["job"]["state"] in ("waiting", "running")
        alone.set()
        assert ended(served, first)["state"] == "done"


def _nothing_is_charged(dataset: str, ticket: str) -> None:
    """Jobs that nobody does have no account."""


def test_a_job_that_was_handed_back_is_before_those_that_come_later(tmp_path: Path) -> None:
    """A worker that stops with a job in hand, or a job that is put off, makes nobody wait for all who come after."""
    state = State(str(tmp_path / "state.db"))
    jobs = Jobs(state, Limits(jobs=9), _nothing_is_charged)
    old, other = (jobs.add("alice", ticket, "clinic", "fit", FIT).id for ticket in ("one", "two"))
    taken = jobs.claim()
    assert taken is not None
    assert jobs.beating(taken, 0, 0)
    jobs.hand_back(taken)
    put_off = {old: now()}
    later = jobs.add("bob", "three", "clinic", "fit", FIT).id
    first = jobs.claim()
    assert first is not None
    assert first.id == old
    jobs.hand_back(first)
    found = [jobs.claim(put_off) for _ in range(3)]
    assert [job and job.id for job in found] == [other, old, later]
    state.close()


def test_jobs_that_are_asked_for_at_once_keep_their_limits(address: str) -> None:
    """Of many at once as many are taken as may be, the others refused in words, and one ticket has one job."""
    states = [State(address), State(address)]
    stores = [Jobs(state, Limits(jobs=4), _nothing_is_charged) for state in states]
    owner, tickets = unique_name(), [*(f"{unique_name()}" for _ in range(12)), *["one"] * 12]

    def ask(place: int) -> str:
        who = owner if place < 12 else f"{owner} too"
        try:
            return stores[place % 2].add(who, tickets[place], "clinic", "fit", FIT).id
        except Refusal as refusal:
            return refusal.kind

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, range(24)))
    assert found[:12].count("TooManyJobs") == 8
    assert len(set(found[12:])) == 1
    assert not set(found) & {"Unavailable"}
    for state in states:
        state.close()


def test_every_job_is_in_one_hand(address: str) -> None:
    """Eight threads of two workers that take thirty jobs at once, and take over what they hold, never share one."""
    states = [State(address), State(address)]
    stores = [Jobs(state, Limits(jobs=30), _nothing_is_charged) for state in states]
    wanted = {stores[0].add("alice", f"ticket {unique_name()}", "clinic", "fit", FIT).id for _ in range(30)}
    taken: list[str] = []

    def work(store: Jobs) -> None:
        for _ in range(40):
            job = store.claim()
            if job is not None:
                taken.append(job.id)

    threads = [threading.Thread(target=work, args=(stores[place % 2],)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(wanted)
    one = taken[0]
    beat = stores[0].beats()[one]
    both = [store.take(one, beat) for store in stores]
    assert [found is None for found in both] == [False, True]
    assert both[0] is not None
    assert stores[1].beating(both[0], 1, 2)
    for state in states:
        state.close()
