"""Jobs over HTTP: fits and scores, charged once, kept before given, cancelled in words, and nobody else's."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tacit
from support.jobs import FIT, POINTS, SESSION, begun, ended, made
from support.service import SCHEMA, Running, made_up_table, running, truth
from tacit.accounting.ledger import Ledger
from tacit.accounting.witness import FileWitness
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt, LedgerError, LedgerMissing, WitnessFailed
from tacit.models.kinds import class_of
from tacit.noise import unique_name
from tacit.numerics.progress import told
from tacit.service.clock import now
from tacit.service.jobs import fits
from tacit.service.jobs.doing import acting_for
from tacit.service.jobs.table import MOST_ATTEMPTS, Jobs
from tacit.service.refusals import Refusal
from tacit.service.registering import Declared, register
from tacit.service.settings import Limits
from tacit.service.state import State

TREE = {"estimator": "SQDecisionTree", "parameters": {"epsilon": 0.5}, "part": "train"}


def test_a_fit_becomes_a_model_file_with_its_card(served: Running, tmp_path: Path) -> None:
    """The model predicts here, its card names the entry that paid, and its page stands by itself."""
    result = made(served, "fits", FIT)
    path = tmp_path / "m.tacit"
    path.write_bytes(served.get(f"/v1/models/{result['model']}").content)
    model = tacit.load(path)
    assert len(model.predict(truth(served))) == 400
    card = served.get(f"/v1/models/{result['model']}/card").json()
    assert card["tacit"]["entry"]["number"] == result["entry"]
    assert card["tacit"]["ledger"]["name"] == "clinic"
    page = served.get(f"/v1/models/{result['model']}/report")
    assert page.headers["content-type"].startswith("text/html")
    assert "PrivateLogisticRegression" in page.text
    spent = served.get("/v1/datasets/clinic").json()["spent"]
    assert spent["exact"] == {"epsilon": "1/2", "delta": "1/1000000"}
    assert str(tmp_path) not in page.text + str(card)
    (listed,) = served.get("/v1/models").json()["models"]
    assert listed["result"] == result


@pytest.mark.parametrize("kind", ["decision-tree", "naive-bayes", "perceptron", "k-means", "linear-svc", "erm"])
def test_other_learners_are_fitted_too(kind: str, served: Running) -> None:
    """Learners from queries and linear models of any loss come back with the entry that paid for them."""
    loss = {"loss": {"kind": "huber-hinge", "value": {"width": 0.3}}} if kind == "erm" else {}
    body = {"estimator": class_of(kind).__name__, "parameters": {"epsilon": 0.5, **loss}, "part": "train"}
    result = made(served, "fits", body)
    assert result["estimator"] == class_of(kind).__name__
    assert result["cost"]["words"] == "epsilon=0.5, delta=0"


def test_scores_come_as_figures_with_ranges_and_as_a_page(served: Running) -> None:
    """One charge on the test part, which costs nothing more than the train part has cost already."""
    model = made(served, "fits", FIT)["model"]
    left = served.get("/v1/datasets/clinic").json()["left"]
    result = made(served, "reports", {"model": model, "epsilon": 0.5})
    figure = result["report"]["figures"]["auc"]
    assert figure["interval"][0] <= figure["value"] <= figure["interval"][1]
    assert result["n"] < 400
    assert "replace-one" in result["report"]["guarantee"]
    assert served.get("/v1/datasets/clinic").json()["left"] == left
    job = served.get("/v1/jobs").json()["jobs"][0]
    assert "ROC" in served.get(f"/v1/jobs/{job['id']}/report").text
    with_tree = made(served, "fits", TREE)["model"]
    assert made(served, "reports", {"model": with_tree, "epsilon": 0.2})["model"] == with_tree


def test_the_history_tells_how_far_a_job_is_and_what_it_cost(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What began a job was called done, and cost nothing, whatever became of the job."""
    result = made(served, "fits", FIT)
    monkeypatch.setattr(fits, "file_of", lambda *_: 1 // 0)
    assert ended(served, begun(served, "fits", FIT))["state"] == "failed"
    failed, done = served.get("/v1/history", "alice").json()["requests"]
    assert (done["state"], done["cost"], done["entry"]) == ("done", result["cost"], result["entry"])
    assert (done["charged"], failed["charged"], failed["state"], failed["cost"]) == (True, True, "failed", None)
    assert failed["entry"] == done["entry"] + 1
    served.client.cookies.set("tacit_token", served.tokens["alice"])
    assert "<td>it was charged</td>" in served.client.get("/datasets/clinic/history").text
    monkeypatch.setattr(Ledger, "entry_of", lambda *_: (_ for _ in ()).throw(LedgerMissing("away")))
    failed, done = served.get("/v1/history", "alice").json()["requests"]
    assert (done["charged"], failed["charged"], failed["entry"]) == (True, None, None)
    assert "<td>not known</td>" in served.client.get("/datasets/clinic/history").text


def test_a_repeated_request_has_one_job(served: Running) -> None:
    """The same key with the same body is the same job, charged once; with another body it is refused."""
    first = begun(served, "fits", FIT, key="one")
    again = begun(served, "fits", FIT, key="one")
    assert again["id"] == first["id"]
    assert ended(served, first)["charged"]
    assert begun(served, "fits", FIT, key="one")["state"] == "done"
    assert served.get("/v1/datasets/clinic").json()["spent"]["words"] == "epsilon=0.5, delta=1e-06"
    other = served.post("/v1/datasets/clinic/fits", {**FIT, "part": "test"}, key="one")
    assert other.status_code == 409
    assert served.post("/v1/datasets/clinic/sessions", SESSION, key="one").status_code == 409
    # Another person's key of the same name is another key.
    assert begun(served, "fits", FIT, who="bob", key="one")["id"] != first["id"]


def test_what_does_not_fit_is_refused_and_not_charged(tmp_path: Path) -> None:
    """A job that the budget does not allow fails in words, and the account is as it was."""
    with running(tmp_path, budget=Budget(0.25, 1e-5)) as served:
        job = ended(served, begun(served, "fits", FIT))
        assert job["state"] == "failed"
        assert job["error"]["kind"] == "BudgetExceeded"
        assert (job["charged"], job["cost"], job["result"]) == (False, None, None)
        assert served.get(f"/v1/models/{job['id']}").status_code == 404
        assert served.get("/v1/datasets/clinic").json()["spent"]["epsilon"] == 0


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


def test_what_is_kept_for_a_person_is_bounded(tmp_path: Path) -> None:
    """Whoever had as many jobs as are kept is refused more; a known key is answered, and others are not concerned."""
    with running(tmp_path, limits=Limits(kept=1)) as served:
        job = begun(served, "fits", FIT, key="one")
        assert ended(served, job)["state"] == "done"
        assert served.post("/v1/datasets/clinic/fits", FIT).status_code == 429
        assert begun(served, "fits", FIT, key="one")["id"] == job["id"]
        assert begun(served, "fits", FIT, who="bob")["id"] != job["id"]


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


def test_a_failure_that_nobody_expected_has_no_words(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another library says about records is told to nobody."""

    def fails(*_: Any) -> Any:
        raise ValueError("record 17 is Bob")

    monkeypatch.setattr(fits, "file_of", fails)
    job = ended(served, begun(served, "fits", FIT))
    assert (job["state"], job["charged"], job["error"]["charged"]) == ("failed", True, True)
    assert job["error"]["kind"] == "UnexpectedFailure"
    assert "Bob" not in str(job)


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


def test_a_job_that_was_handed_back_is_before_those_that_come_later(tmp_path: Path) -> None:
    """A worker that stops with a job in hand, or a job that is put off, makes nobody wait for all who come after."""
    state = State(str(tmp_path / "state.db"))
    jobs = Jobs(state, Limits(jobs=9))
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


def test_a_token_for_some_data_sets_sees_the_jobs_of_those(served: Running) -> None:
    """With a token of her own for another data set, alice herself does not see what she had done here."""
    model = made(served, "fits", FIT)["model"]
    session = made(served, "sessions", SESSION)["session"]
    _, served.tokens["elsewhere"] = served.service.tokens.make("alice", "analyst", datasets=["other"])
    for route in (f"jobs/{model}", f"models/{model}", f"models/{model}/card", f"sessions/{session}"):
        assert served.get(f"/v1/{route}").status_code == 200
        assert served.get(f"/v1/{route}", "elsewhere").status_code == 404
    for what in ("jobs", "models", "sessions"):
        assert served.get(f"/v1/{what}", "elsewhere").json() == {what: []}


def test_jobs_about_a_data_set_that_was_given_up_are_listed(tmp_path: Path) -> None:
    """What they were charged is not known any more, unless it was told with their result; others' are as they were."""
    with running(tmp_path) as served:
        declared = Declared("other", SCHEMA, Budget(1.0, 1e-5), "Carol")
        register(declared, made_up_table(300, seed=9), served.service.state, served.settings)
        too_much = {**FIT, "parameters": {"epsilon": 50.0}}
        jobs = [("clinic", FIT), ("clinic", too_much), ("other", FIT), ("other", too_much)]
        for name, body in jobs:
            ended(served, served.post(f"/v1/datasets/{name}/fits", body).json()["job"])
    with running(tmp_path, given_up=["other"]) as served:
        listed = served.get("/v1/jobs").json()["jobs"]
        found = {(job["dataset"], job["state"]): job["charged"] for job in listed}
        assert found == {
            ("clinic", "done"): True,
            ("clinic", "failed"): False,
            ("other", "done"): True,
            ("other", "failed"): None,
        }
        assert all(served.get(f"/v1/jobs/{job['id']}").json()["job"] == job for job in listed)


def test_jobs_that_are_asked_for_at_once_keep_their_limits(address: str) -> None:
    """Of many at once as many are taken as may be, the others refused in words, and one ticket has one job."""
    states = [State(address), State(address)]
    owner, tickets = unique_name(), [*(f"{unique_name()}" for _ in range(12)), *["one"] * 12]

    def ask(place: int) -> str:
        who = owner if place < 12 else f"{owner} too"
        try:
            return Jobs(states[place % 2], Limits(jobs=4)).add(who, tickets[place], "clinic", "fit", FIT).id
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
    stores = [Jobs(state, Limits(jobs=30)) for state in states]
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


@pytest.mark.parametrize("accountant", ["basic", "gaussian"])
def test_jobs_are_priced_before_they_are_paid(accountant: str, tmp_path: Path) -> None:
    """What a price says is what is charged, whether it fits is said, and asking costs nothing and reads no record."""
    route, parameters = "/v1/datasets/clinic/price", {**SESSION["parameters"], "epsilon": 0.5}
    with running(tmp_path, budget=Budget(1.25, 1e-5), accountant=accountant) as served:
        ledger = served.service.datasets.get("clinic").account
        price = served.post(route, {"what": "session", "parameters": parameters}).json()
        assert price["affordable"]
        assert 0 < price["expected_error"]["error"] < 10
        assert not any(entry.event for entry in ledger.entries())
        result = made(served, "sessions", {"parameters": parameters})
        assert result["cost"] == price["cost"]
        answers = served.post(f"/v1/sessions/{result['session']}/answers", {"points": POINTS}).json()
        assert max(answers["error"]) == pytest.approx(price["expected_error"]["error"], rel=0.01)
        spent = ledger.spent
        beyond = {"what": "session", "parameters": {**parameters, "epsilon": 3.0}}
        assert served.post(route, beyond).json()["affordable"] is False
        fit = {"estimator": "SQDecisionTree", "parameters": {"epsilon": 0.25, "delta": 1e-6}}
        assert served.post(route, {"what": "fit", **fit}).json()["budget"]["epsilon"] == 0.25
        report = {"what": "report", "epsilon": 0.1, "delta": 1e-6}
        assert served.post(route, report).json()["budget"]["epsilon"] == 0.1
        # What the account would never pay for is refused as it would be when it is asked for.
        pure = served.post(route, {**report, "delta": 0.0})
        assert pure.status_code == (400 if accountant == "gaussian" else 200)
        assert served.post(route, {"what": "report", "epsilon": 0}).status_code == 400
        assert served.post(route, {"what": "fit", **fit, "ledger": 1}).status_code == 422
        assert ledger.spent == spent
