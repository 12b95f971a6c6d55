"""Estimators as plain JSON: all of tacit's and nothing else, of bounded size."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import (
    InteractiveKernelPredictor,
    PrivateERM,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from tacit.erm import HuberHinge
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial
from tacit.models.kinds import NAMES, class_of
from tacit.queries import SQPCA, SQDecisionTree, SQKMeans, SQNaiveBayes, SQPerceptron
from tacit.service.estimators import estimator_of, plain_of, predictor_of

ESTIMATORS = [
    PrivateLogisticRegression(
        0.5, 1e-6, class_weight={"no": 0.2, "yes": 1}, curves=(5, 0.5), interactions=[("a", "b")]
    ),
    PrivateLinearSVC(1, loss="hinge", width=0.25, alpha=0.1, fit_intercept=False),
    PrivateLinearRegression(1.0, target_range=(0.0, 1.0)),
    PrivateERM(HuberHinge(0.3), 1.0),
    PrivateKernelClassifier(RBF(0.5) + 1, 1.0, landmarks=np.ones((3, 4)), classes=["a", "b"]),
    PrivateKernelRegressor(Polynomial(3) * Laplacian(0.1), 1.0, 1e-6, landmarks=30, method="matched"),
    SQKMeans(3, 5.0, init=[[0.0, 0.5], [1.0, 1.0], [2.0, 2.0]], bounds=(-3, 3)),
    SQPCA(2, 1.0),
    SQDecisionTree(1.0, max_depth=3, noise_rate=0.1),
    SQNaiveBayes(1.0, levels=[2, 3]),
    SQPerceptron(1.0, rounds=7),
    InteractiveKernelPredictor(RBF(1.0) + Linear(), 1.0, 1e-6, landmarks=20, method="pinp", queries=50),
]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (
        np.array_equal(one, other)
        if isinstance(one, np.ndarray)
        else one == other
        if one is not None
        else other is None
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_an_estimator_comes_back_as_it_was(estimator: Any) -> None:
    """Every parameter, of the same type, and nothing that was left at its default is sent."""
    plain = json.loads(json.dumps(plain_of(estimator), allow_nan=False))
    predicts = isinstance(estimator, InteractiveKernelPredictor)
    back = predictor_of(plain["parameters"]) if predicts else estimator_of(plain)
    assert type(back) is type(estimator)
    before, after = estimator.get_params(deep=False), back.get_params(deep=False)
    for name, value in before.items():
        wanted = np.array(value) if name == "init" else value
        assert _same(wanted, after[name]), name
    assert plain_of(back) == plain
    assert "perturbation" not in plain["parameters"]


@pytest.mark.parametrize("kind", NAMES)
def test_every_estimator_of_model_files_can_be_asked_for(kind: str) -> None:
    """The closed list is that of model files, by the names of the classes."""
    assert type(estimator_of({"estimator": class_of(kind).__name__, "parameters": {"epsilon": 1}})) is class_of(kind)


def test_a_person_may_write_objects_and_lists() -> None:
    """Weights as an object and a range as a list are what they look like."""
    weights = estimator_of(
        {
            "estimator": "PrivateLogisticRegression",
            "parameters": {"epsilon": 0.5, "class_weight": {"no": 0.2, "yes": 1}},
        }
    ).class_weight
    assert weights == {"no": 0.2, "yes": 1}
    sent = {"estimator": "PrivateLinearRegression", "parameters": {"epsilon": 1, "target_range": [0, 1]}}
    assert list(estimator_of(sent).target_range) == [0, 1]


def _deep(levels: int) -> Any:
    return [] if levels == 0 else [_deep(levels - 1)]


def _kernel(depth: int) -> Any:
    if depth == 0:
        return {"kind": "linear", "value": {}}
    return {"kind": "sum", "value": [_kernel(depth - 1), _kernel(depth - 1)]}


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "epsilon is missing"),
        ({"epsilon": {"float": "inf"}}, "finite"),
        ({"epsilon": 1e999}, "finite"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "one"}, "epsilon"),
        ({"epsilon": 1, "delta": 2}, "delta"),
        ({"epsilon": 1, "ledger": None}, "service's own"),
        ({"epsilon": 1, "random_state": 0}, "service's own"),
        ({"epsilon": 1, "state": "/etc/passwd"}, "service's own"),
        ({"epsilon": 1, "schema": {}}, "service's own"),
        ({"epsilon": 1, "__class__": "x"}, "no such parameter"),
        ({"epsilon": 1, "kernel": "RBF(1.0)"}, "kernel should be one of"),
        ({"epsilon": 1, "kernel": {"kind": "function", "value": {"function": "eval"}}}, "kernel should be one of"),
        ({"epsilon": 1, "kernel": {"kind": "rbf", "value": {"gamma": -1}}}, "kernel"),
        ({"epsilon": 1, "kernel": {"kind": "polynomial", "value": {"degree": 10**9, "constant": 1}}}, "degree"),
        ({"epsilon": 1, "kernel": _kernel(4)}, "at most 10 parts"),
        ({"epsilon": 1, "kernel": _kernel(1) | {"more": 1}}, "kernel"),
        ({"epsilon": 1, "landmarks": 10**9}, "landmarks must be at most 2000"),
        ({"epsilon": 1, "landmarks": {"points": [[1.0]] * 2001}}, "landmarks must be at most 2000"),
        ({"epsilon": 1, "landmarks": {"points": [[1.0] * 1000] * 101}}, "fewer numbers"),
        ({"epsilon": 1, "landmarks": {"points": [[1.0], [1.0, 2.0]]}}, "rows of one length"),
        ({"epsilon": 1, "landmarks": {"points": [[]]}}, "at least one number"),
        ({"epsilon": 1, "landmarks": {"points": [["1"]]}}, "nothing else"),
        ({"epsilon": 1, "landmarks": {"points": [[10**400]]}}, "64 bits"),
        ({"epsilon": 1, "landmarks": {"path": "x.npy"}}, "landmarks should be"),
        ({"epsilon": 1, "rounds": 10**6}, "rounds must be at most 1000"),
        ({"epsilon": 1, "classes": list(range(101))}, "classes must be at most 100"),
        ({"epsilon": 1, "class_weight": {"pairs": [[n, 1] for n in range(101)]}}, "class_weight must be at most 100"),
        ({"epsilon": 1, "classes": _deep(30)}, "nested too deeply"),
        ({"epsilon": 1, "classes": [[0] * 300_000]}, "too many values"),
        ({"epsilon": 1, "loss": "x" * 2000}, "longer than 1000 letters"),
        ([], "parameters must be an object"),
    ],
)  # fmt: skip
def test_what_no_estimator_of_a_service_has_is_refused(parameters: Any, said: str) -> None:
    """Infinite budgets, the service's own parameters, code, paths, and work without bounds are refused in words."""
    with pytest.raises(InvalidParameter, match=said):
        estimator_of({"estimator": "PrivateKernelClassifier", "parameters": parameters})


@pytest.mark.parametrize(
    "plain", [None, [], {}, {"estimator": "os.system"}, {"estimator": ["x"]}, {"estimator": "PrivateSearch"},
              {"estimator": "SQPCA", "more": 1}],
)  # fmt: skip
def test_what_is_no_estimator_is_refused(plain: Any) -> None:
    """Only the listed names are estimators."""
    with pytest.raises(InvalidParameter):
        estimator_of(plain)


def test_code_seeds_and_paths_are_not_sent() -> None:
    """Before anything is sent, a client is told what a service does not take."""
    own = FunctionKernel(lambda x, z: 1.0, largest=1.0)
    for estimator, said in (
        (PrivateKernelClassifier(own, 1.0), "kernel cannot be sent"),
        (PrivateLogisticRegression(1.0, random_state=3), "random_state"),
        (InteractiveKernelPredictor(RBF(), 1.0, 1e-6, state="x.db"), "state"),
        (SQKMeans(2, 1.0, init=[[float("nan")]]), "init cannot be sent"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            plain_of(estimator)

    class Mine(PrivateLogisticRegression):  # type: ignore[misc]
        pass

    with pytest.raises(InvalidParameter, match="does not fit"):
        plain_of(Mine(1.0))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(PLAIN, PLAIN, st.sampled_from(["kernel", "landmarks", "classes", "class_weight", "rounds", "alpha"]))
def test_any_json_is_an_estimator_or_refused(epsilon: Any, plain: Any, name: str) -> None:
    """Whatever is sent, there is an estimator with a finite budget, or one kind of error."""
    try:
        found = estimator_of({"estimator": "PrivateKernelClassifier", "parameters": {"epsilon": epsilon, name: plain}})
    except InvalidParameter:
        return
    assert 0 < float(found.epsilon) < float("inf")
