"""Jobs over HTTP: fits and scores, charged once, kept before given, cancelled in words, and nobody else's."""

from pathlib import Path
from typing import Any

import pytest

import tacit
from support.jobs import FIT, POINTS, SESSION, TREE, begun, ended, made
from support.service import SCHEMA, Running, made_up_table, running, truth
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import LedgerMissing
from tacit.models.kinds import class_of
from tacit.service.jobs import fits
from tacit.service.registering import Declared, register
from tacit.service.settings import Limits


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


def test_what_is_kept_for_a_person_is_bounded(tmp_path: Path) -> None:
    """Whoever had as many jobs as are kept is refused more; a known key is answered, and others are not concerned."""
    with running(tmp_path, limits=Limits(kept=1)) as served:
        job = begun(served, "fits", FIT, key="one")
        assert ended(served, job)["state"] == "done"
        assert served.post("/v1/datasets/clinic/fits", FIT).status_code == 429
        assert begun(served, "fits", FIT, key="one")["id"] == job["id"]
        assert begun(served, "fits", FIT, who="bob")["id"] != job["id"]


def test_a_failure_that_nobody_expected_has_no_words(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another library says about records is told to nobody."""

    def fails(*_: Any) -> Any:
        raise ValueError("record 17 is Bob")

    monkeypatch.setattr(fits, "file_of", fails)
    job = ended(served, begun(served, "fits", FIT))
    assert (job["state"], job["charged"], job["error"]["charged"]) == ("failed", True, True)
    assert job["error"]["kind"] == "UnexpectedFailure"
    assert "Bob" not in str(job)


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
