"""One suite of fits for rows in memory, of stored cells and on a cluster: a table, its schemas, models of all kinds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit.erm.perturbations.perturbation as perturbation
from tacit.data import Category, Column, Flag, Key, Number, Schema
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.losses.standard import HuberRegression, Logistic
from tacit.erm.regression import PrivateLinearRegression

ROWS = 3000
FEATURES: dict[str, Column] = {"x": Number(-4, 4), "v": Number(-4, 4), "c": Category(["a", "b", "d"])}


def people() -> pd.DataFrame:
    """A table with a yes-or-no, a class and a number to predict, some of them undeclared, and who each row is of."""
    coins = np.random.default_rng(0)
    x, v = coins.normal(size=(2, ROWS))
    score = x - v + coins.logistic(size=ROWS)
    answers = np.where(score > 0, "yes", "no").astype(object)
    answers[::97] = "perhaps"
    return pd.DataFrame(
        {
            "x": x,
            "v": v,
            "c": coins.choice(["a", "b", "d"], ROWS),
            "answer": answers,
            "kind": np.array(["low", "mid", "high"], dtype=object)[np.digitize(score, [-1, 1])],
            "score": score,
            "who": coins.integers(0, 1500, ROWS),
        }
    )


def schema_for(target: str) -> Schema:
    """Declare the table with one of its columns as the target."""
    declared: dict[str, Column] = {
        "answer": Flag("no", "yes"),
        "kind": Category(["low", "mid", "high"]),
        "score": Number(-10, 10),
    }
    return Schema({**FEATURES, "who": Key(), target: declared[target]}, target=target)


MODELS: list[tuple[str, Callable[[], Any]]] = [
    ("answer", lambda: PrivateLogisticRegression(1.0, random_state=3)),
    ("answer", lambda: PrivateLogisticRegression(1.0, 1e-6, random_state=3, curves=5)),
    ("answer", lambda: PrivateLogisticRegression(1.0, 1e-6, perturbation="gradient", alpha=0.05, random_state=3)),
    ("answer", lambda: PrivateLogisticRegression(1.0, perturbation="output", random_state=3)),
    (
        "answer",
        lambda: PrivateLogisticRegression(1.0, class_weight={"no": 0.3, "yes": 1}, data_norm=0.5, random_state=3),
    ),
    ("kind", lambda: PrivateLogisticRegression(1.0, random_state=3)),
    ("answer", lambda: PrivateLinearSVC(1.0, random_state=3)),
    ("score", lambda: PrivateLinearRegression(1.0, random_state=3)),
    ("score", lambda: PrivateLinearRegression(1.0, 1e-6, perturbation="statistics", random_state=3)),
    ("score", lambda: PrivateLinearRegression(1.0, perturbation="output", random_state=3)),
    ("answer", lambda: PrivateERM(Logistic(), 1.0, random_state=3)),
    ("score", lambda: PrivateERM(HuberRegression(0.5, 1.0), 1.0, random_state=3)),
]


def watch_certificates(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Keep note of how far every solution of the fits that follow is from the exact minimiser at most."""
    found: list[float] = []
    honest = perturbation.solve

    def solved(*given: Any) -> Any:
        solution = honest(*given)
        found.append(solution.distance)
        return solution

    monkeypatch.setattr(perturbation, "solve", solved)
    return found


def check_same(held: Any, other: Any, target: str, certified: list[float]) -> None:
    """Compare fits of one seed: no farther apart than the certificates of both allow, and for the same guarantee.

    Without certificates what differs is the rounding of sums alone.
    """
    largest = np.abs(held.coef_).max()
    apart = np.linalg.norm(np.append(held.coef_ - other.coef_, held.intercept_ - other.intercept_))
    # Numbers are fitted in halves of their declared range.
    unit = 10.0 if target == "score" else 1.0
    assert len(certified) in (0, 2)
    assert apart <= 1.01 * unit * sum(certified) + 1e-12 * largest if certified else apart <= 1e-9 * largest
    assert held.alpha_ == other.alpha_
    assert held.release_.guarantee == other.release_.guarantee
