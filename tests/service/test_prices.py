"""Prices: what is charged is what was said, whatever the account adds up, and how good it will be is said with it."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from support.service import SCHEMA, Running, running
from tacit import Schema
from tacit.budget import Budget
from tacit.service.jobs import pricing
from tacit.service.registering import Accountant

PRICE, KERNEL = "/v1/datasets/clinic/price", {"kind": "rbf", "value": {"gamma": 1.0}}
LANDMARKS = {"kernel": KERNEL, "landmarks": 20}
ASKED: dict[str, dict[str, Any]] = {
    "queries": {"queries": [{"mean": "age > 60"}], "epsilon": 0.5, "delta": 1e-6},
    "fit": {
        "estimator": "PrivateLogisticRegression",
        "parameters": {"epsilon": 0.5, "delta": 1e-6, "perturbation": "gradient"},
        "part": "all",
    },
    "session": {"parameters": {"epsilon": 0.5, "delta": 1e-6, **LANDMARKS}, "part": "all"},
    "report": {"epsilon": 0.5, "delta": 1e-6, "part": "all"},
}


def done(served: Running, kind: str, body: Any) -> Any:
    """Have something done, and return what is told of it."""
    if kind == "queries":
        return served.post("/v1/datasets/clinic/queries", body).json()
    job = served.post(f"/v1/datasets/clinic/{kind}s", body).json()["job"]["id"]
    for _ in range(600):
        found = served.get(f"/v1/jobs/{job}").json()["job"]
        if found["state"] == "done":
            return found["result"]
        time.sleep(0.05)
    raise AssertionError(found)


@pytest.mark.filterwarnings("ignore:these are records that the model was fitted to")
@pytest.mark.parametrize("accountant", get_args(Accountant))
def test_a_price_is_what_the_account_loses(tmp_path: Path, accountant: str) -> None:
    """Of a question, a fit, a session and scores: what was priced, what is said to be paid and what is gone agree."""
    with running(tmp_path / "s", accountant=accountant, budget=Budget(8.0, 1e-5)) as served:
        account = served.service.datasets.get("clinic").account
        for kind, body in ASKED.items():
            price = served.post(PRICE, {"what": kind, **body}).json()
            if kind == "report":
                fits = served.get("/v1/models").json()["models"]
                body = {**body, "model": fits[0]["id"]}
            before = account.spent
            told = done(served, kind, body)
            raised = account.spent - before
            assert price["affordable"] is True, kind
            assert price["cost"] == told["cost"], kind
            assert raised.epsilon == pytest.approx(told["cost"]["epsilon"]), kind


def test_a_delta_that_a_release_leaves_out_is_not_priced(tmp_path: Path) -> None:
    """An account without delta pays a fit that has no use for the delta it may spend: it is priced as it is charged."""
    schema = Schema(SCHEMA.columns, target="age")
    fit = {"estimator": "PrivateLinearRegression", "parameters": {"epsilon": 1.0, "delta": 1e-6}, "part": "all"}
    with running(tmp_path / "s", budget=Budget(4.0), schema=schema) as served:
        price = served.post(PRICE, {"what": "fit", **fit}).json()
        assert price["affordable"] is True
        assert price["cost"] == price["budget"] == done(served, "fit", fit)["cost"]
        assert served.service.datasets.get("clinic").account.spent == Budget(1.0)


@pytest.mark.parametrize("accountant", ["renyi", "gaussian"])
def test_what_raises_nothing_is_told_to_cost_nothing(tmp_path: Path, accountant: str) -> None:
    """Where amounts are no budgets, a part that spends less than another raises nothing, before and afterwards."""
    with running(tmp_path / "s", accountant=accountant, budget=Budget(8.0, 1e-5)) as served:
        account = served.service.datasets.get("clinic").account
        done(served, "queries", {**ASKED["queries"], "part": "train"})
        less, before = {**ASKED["queries"], "epsilon": 0.2, "part": "test"}, account.spent
        price = served.post(PRICE, {"what": "queries", **less}).json()
        told = done(served, "queries", less)
        assert told["entry"] is not None
        assert price["cost"]["words"] == told["cost"]["words"] == "epsilon=0, delta=0"
        assert account.spent == before


@pytest.mark.parametrize("accountant", get_args(Accountant))
def test_what_does_not_fit_is_told_beforehand(tmp_path: Path, accountant: str) -> None:
    """Of every kind, under every account: affordable is true or false, never unknown."""
    with running(tmp_path / "s", accountant=accountant, budget=Budget(3.0, 1e-5)) as served:
        for kind, body in ASKED.items():
            large = {**body, "epsilon": 40.0} if "epsilon" in body else body
            if "parameters" in body:
                large = {**body, "parameters": {**body["parameters"], "epsilon": 40.0}}
            assert served.post(PRICE, {"what": kind, **large}).json()["affordable"] is False, kind


def test_scores_and_sessions_are_priced_by_the_error_that_is_wanted(shared: Running) -> None:
    """The budget that is told keeps the error, and asked for by itself it is told the same error."""
    for kind, body, error in (
        ("report", {"delta": 0.0, "part": "all"}, 0.1),
        ("session", {"parameters": {"delta": 1e-6, "alpha": 0.1, **LANDMARKS}}, 0.5),
    ):
        price = shared.post(PRICE, {"what": kind, **body, "error": error}).json()
        epsilon = price["budget"]["epsilon"]
        assert 0.9 * error <= price["expected_error"]["error"] <= error
        again = {**body, "epsilon": epsilon}
        if kind == "session":
            again = {"parameters": {**body["parameters"], "epsilon": epsilon}}
        assert shared.post(PRICE, {"what": kind, **again}).json()["expected_error"] == price["expected_error"]


def test_where_the_ridge_grows_with_the_noise_no_epsilon_is_told_for_an_error(shared: Running) -> None:
    """Its error is about the same at every epsilon: what is to be given instead is said."""
    body = {"what": "session", "parameters": {"delta": 1e-6, **LANDMARKS}, "error": 0.5}
    assert "alpha" in shared.post(PRICE, body).json()["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"epsilon": 0.1, "error": 0.1}, {"error": 1e-9}, {"error": -1}, {"epsilon": 0}])
def test_a_price_of_scores_is_by_an_epsilon_or_by_an_error(shared: Running, body: Any) -> None:
    """One of the two, and one that can be."""
    assert shared.post(PRICE, {"what": "report", **body}).status_code in (400, 422)


def test_prices_of_fits_are_found_one_at_a_time(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once filled the memory, for nothing: whoever does not come to their turn is told when to come again."""
    price, at_once = pricing._priced, []
    most = 0

    def counting(*what: Any) -> Any:
        nonlocal most
        at_once.append(what)
        most = max(most, len(at_once))
        time.sleep(0.2)
        try:
            return price(*what)
        finally:
            at_once.pop()

    monkeypatch.setattr(pricing, "_priced", counting)
    monkeypatch.setattr(pricing, "_MOMENT", 0.3)
    bodies = [{"what": kind, **ASKED[kind]} for kind in ("fit", "session")] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: served.post(PRICE, body), bodies))
    assert most == 1
    assert {answer.status_code for answer in answers} == {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            assert int(answer.headers["Retry-After"]) > 0
            assert answer.json()["error"]["charged"] is False
