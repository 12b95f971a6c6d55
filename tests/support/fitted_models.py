"""One small fitted model of every kind that a file can hold, with rows to predict."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from tacit import (
    PrivateERM,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    Records,
    Schema,
)
from tacit.data import Category, Flag, Moment, Number, Ordinal
from tacit.erm import HuberHinge, HuberRegression, Logistic
from tacit.kernels import RBF, Laplacian, Polynomial
from tacit.queries import (
    SQPCA,
    ConjunctionClassifier,
    DecisionListClassifier,
    SQDecisionTree,
    SQKMeans,
    SQNaiveBayes,
    SQPerceptron,
)

SCHEMA = Schema(
    {
        "age": Number(0, 120, missing=50),
        "income": Number(0, 1e6, log=True),
        "ward": Category(["A", "B ü", "C"], other="C"),
        "stage": Ordinal([1, 2, 3]),
        "smoker": Flag("no", ["yes", "ja"], missing=False),
        "seen": Moment("2015-01-01", "2020-12-31"),
        "ill": Flag(),
    },
    target="ill",
)


def table(count: int = 300, seed: int = 0) -> dict[str, Any]:
    """Return a table that the schema declares, with cells that make no sense among them."""
    generator = np.random.default_rng(seed)
    age = generator.uniform(-5, 130, count)
    return {
        "age": np.where(generator.random(count) < 0.1, np.nan, age),
        "income": generator.lognormal(9, 2, count),
        "ward": generator.choice(["A", "B ü", "C", "?"], count),
        "stage": generator.choice(["1", "2", "3", ""], count),
        "smoker": generator.choice(["no", "yes", "ja", "perhaps"], count),
        "seen": generator.choice(np.array(["2016-02-29", "2019-07-01T12:00", "NaT"], dtype="M8[s]"), count),
        "ill": np.where(age + generator.normal(0, 20, count) > 60, "true", "false"),
    }


def rows(count: int = 300) -> tuple[Any, Any]:
    """Return rows of numbers, and a number for each."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(count, 4))
    return X, X[:, 0] + 0.3 * generator.normal(size=count)


def _numbers(estimator: Any, target: str = "two", *, sparse: bool = False) -> Callable[[], tuple[Any, Any]]:
    """Return how to fit an estimator to rows of numbers."""

    def fit() -> tuple[Any, Any]:
        X, number = rows()
        targets = {
            "two": np.where(number > 0, "up", "down"),
            "three": np.digitize(number, [-0.5, 0.5]),
            "truth": number > 0,
            "number": number,
        }
        table = csr_matrix(_THIN) if sparse else X
        return estimator.fit(table, targets[target]), table

    return fit


def _records(
    estimator: Any, target: str = "ill", columns: tuple[str, ...] = tuple(SCHEMA.columns)
) -> Callable[[], tuple[Any, Any]]:
    """Return how to fit an estimator to records."""

    def fit() -> tuple[Any, Any]:
        schema = Schema({name: SCHEMA.columns[name] for name in columns}, target=target)
        return estimator.fit(Records(table(), schema)), table(50, seed=2)

    return fit


def _declared(estimator: Any) -> Callable[[], tuple[Any, Any]]:
    """Return how to fit a learner with a schema of its own to a table."""

    def fit() -> tuple[Any, Any]:
        whole = table()
        return estimator.fit({name: whole[name] for name in SCHEMA.inputs}, whole["ill"]), table(50, seed=2)

    return fit


_THIN = np.where(np.abs(rows()[0]) > 1, rows()[0], 0.0)
_POINTS = np.asfortranarray(rows(30)[0])
_LINEAR: dict[str, Any] = {"data_norm": 2.0}
_FOURIER: dict[str, Any] = {**_LINEAR, "method": "fourier", "landmarks": 40}
_TDIL: dict[str, Any] = {**_LINEAR, "method": "tdil", "landmarks": 50, "rounds": 5}
_MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "two classes": _numbers(PrivateLogisticRegression(1.0, **_LINEAR, classes=["down", "up"])),
    "three classes": _numbers(PrivateLogisticRegression(1.0, 1e-6, **_LINEAR), "three"),
    "not private": _numbers(PrivateLogisticRegression(float("inf"), **_LINEAR), "truth"),
    "rehearsal": _numbers(PrivateLogisticRegression(0.1, **_LINEAR, random_state=3), sparse=True),
    "machine": _numbers(PrivateLinearSVC(1.0, **_LINEAR, loss="hinge", perturbation="output")),
    "statistics": _numbers(PrivateLinearRegression(1.0, 1e-6, **_LINEAR, target_range=(-3, 3)), "number"),
    "margin": _numbers(PrivateERM(HuberHinge(0.3), 1.0, **_LINEAR)),
    "residual": _numbers(PrivateERM(HuberRegression(1.0, 2.0), 1.0, **_LINEAR), "number"),
    "landmarks": _numbers(PrivateKernelClassifier(RBF(0.5) + 1, 1.0, **_LINEAR, landmarks=_POINTS)),
    "fourier": _numbers(PrivateKernelClassifier(Laplacian(0.5) + 1, 1.0, **_FOURIER), "three"),
    "tdil": _numbers(PrivateKernelClassifier(Polynomial(2) * RBF(0.1), 5.0, **_TDIL)),
    "sparse": _numbers(
        PrivateKernelClassifier(Polynomial(2), 1.0, **_LINEAR, landmarks=csr_matrix(_THIN[:20])), sparse=True
    ),
    "kernel regression": _numbers(
        PrivateKernelRegressor(RBF(0.5), 1.0, **_LINEAR, landmarks=20, target_range=(-3, 3)), "number"
    ),
    "records": _records(PrivateLogisticRegression(1.0)),
    "records, curves": _records(PrivateLogisticRegression(50.0, 1e-6, interactions=[("age", "ward")])),
    "records, knots": _records(PrivateLogisticRegression(5.0, curves=(5, 0.5))),
    "records, regression": _records(PrivateLinearRegression(1.0, 1e-6), "age"),
    "records, kernel": _records(PrivateKernelClassifier(RBF(1.0), 1.0, landmarks=20)),
    "records, loss": _records(PrivateERM(Logistic(), 1.0)),
    "conjunction": _numbers(ConjunctionClassifier(5.0, classes=["down", "up"])),
    "conjunction, records": _records(ConjunctionClassifier(5.0, monotone=False), columns=("smoker", "ill")),
    "list": _numbers(DecisionListClassifier(50.0, bounds=[(-3, 3)] * 4, bins=4)),
    "list, records": _records(DecisionListClassifier(50.0)),
    "tree": _numbers(SQDecisionTree(50.0, bounds=(-3, 3), bins=4, noise_rate=0.1)),
    "tree, schema": _declared(SQDecisionTree(50.0, schema=SCHEMA)),
    "tree, records": _records(SQDecisionTree(50.0)),
    "naive bayes": _numbers(SQNaiveBayes(5.0, 1e-6, bounds=(-3, 3)), "three"),
    "naive bayes, codes": _numbers(SQNaiveBayes(float("inf"), levels=np.array([2, 3, 2, 4])), "three"),
    "naive bayes, records": _records(SQNaiveBayes(5.0)),
    "perceptron": _numbers(SQPerceptron(5.0, data_norm=2.0)),
    "perceptron, records": _records(SQPerceptron(5.0)),
    "k-means": _numbers(SQKMeans(3, 5.0, bounds=(-3, 3), init=[[0] * 4, [1] * 4, [2] * 4])),
    "k-means, records": _records(SQKMeans(3, 5.0)),
    "components": _numbers(SQPCA(2, 5.0, data_norm=2.0)),
    "components, records": _records(SQPCA(3, 5.0, random_state=0)),
}
NAMES = tuple(_MODELS)


@cache
def fitted_model(name: str) -> tuple[Any, Any]:
    """Return a model by its name, fitted once, with rows that it predicts."""
    return _MODELS[name]()
