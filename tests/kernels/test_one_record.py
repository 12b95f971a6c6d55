"""What one record cannot do: change how others are clipped, what is refused, warned of or kept, or a later answer."""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit import (
    Budget,
    InteractiveKernelPredictor,
    Ledger,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter, OddTerms
from tacit.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps import landmarks as module
from tacit.kernels.maps.landmarks import Landmarks

GENERATOR = np.random.default_rng(9)
X = GENERATOR.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
Z = GENERATOR.normal(size=(12, 3))
OVERLAP = FunctionKernel(lambda one, other: float(len(set(one) & set(other))), 10.0)
TEXTS = ["abc", "bcd", "cde", "abd", "ace", "bde"] * 5
PUBLIC = ["ab", "bc", "cd", "de"]


def _classifier(**changes: Any) -> PrivateKernelClassifier:
    given: dict[str, Any] = {"kernel": RBF(1.0) + 1.0, "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "landmarks": Z}
    return PrivateKernelClassifier(**{**given, **changes})


def _predictor(**changes: Any) -> InteractiveKernelPredictor:
    given: dict[str, Any] = {"kernel": RBF(1.0) + 1.0, "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0}
    return InteractiveKernelPredictor(**{**given, **changes})


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_full_row_does_not_change_how_other_rows_are_clipped(make: Any) -> None:
    """Clipping is a map of each record by itself, to the last bit, whatever stands in the other rows."""
    thin = np.zeros((50, 400))
    thin[:, :2] = GENERATOR.normal(size=(50, 2)) * 3
    full = thin.copy()
    full[-1] = GENERATOR.normal(size=400)
    one, other = (Domain(Laplacian(1e6), 1.0, 400).clipped(make(rows)) for rows in (thin, full))
    dense = [rows.toarray() if sparse.issparse(rows) else rows for rows in (one, other)]
    assert np.array_equal(dense[0][:-1], dense[1][:-1])
    scales = [Rows.clipped(make(rows), 1.0).scale for rows in (thin, full)]
    assert np.array_equal(scales[0][:-1], scales[1][:-1])  # type: ignore[index]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_what_a_caller_does_to_records_later_changes_no_answer(kind: str) -> None:
    """The secret model holds records of its own: values of the model stay as they were at the fit."""
    records: Any = X / 10
    points: Any = Z
    predictor = _predictor(random_state=1)
    if kind == "sparse":
        records = sparse.csr_array(records)
    predictor.fit(records, Y)
    model = predictor._session.secret[0]
    before = model.values(predictor._domain.clipped(points))
    (records.data if kind == "sparse" else records)[:] = 7.0
    assert np.array_equal(model.values(predictor._domain.clipped(points)), before)


def test_a_point_in_another_memory_layout_is_the_same_point() -> None:
    """Rows and columns first, sparse or one by one: equal points have equal answers."""
    points = GENERATOR.normal(size=(200, 3)) * 3
    predictor = _predictor(random_state=1).fit(X, Y)
    values = predictor.answer(points).values
    for again in (np.asfortranarray(points), pd.DataFrame(points).to_numpy(), sparse.csr_array(points)):
        assert np.array_equal(predictor.answer(again).values, values)


@pytest.mark.parametrize("value", [0.5, 60.0, 1e160, 5e-324])
def test_no_record_makes_a_floating_point_error(value: float) -> None:
    """Under numpy's strictest error state and with warnings as errors, every record is fitted and asked about alike."""
    records = np.vstack([X[:-1], np.full((1, 3), value)])
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OddTerms)
        for method in ("landmarks", "matched", "tddl"):
            _classifier(method=method, kernel=RBF(50.0), data_norm=30.0).fit(records, Y)
        _classifier(method="tdil", kernel=Linear(), landmarks=5, rounds=2).fit(records, Y)
        _classifier(method="fourier", landmarks=20, kernel=RBF(1.0)).fit(records, Y)
        _predictor(kernel=RBF(50.0), data_norm=30.0).fit(records, Y).answer(Z)
        PrivateLogisticRegression(epsilon=1.0, data_norm=1.0).fit(records, Y)


@pytest.mark.parametrize("value", [0.5, 60.0, 1e160, 5e-324, -1.7e308])
def test_no_record_makes_a_floating_point_error_in_an_answer(value: float) -> None:
    """Nor with other losses, methods and maps: the caller's error state and filter are not the records' voice."""
    records = np.vstack([X[:-1], np.full((1, 3), value)])
    targets = np.where(np.arange(60) == 0, value, 0.25)
    own = FunctionKernel(lambda x, z: float(np.exp(-np.sum((x - z) ** 2) * 1e3)), 1.0, vectors=True)
    given: dict[str, Any] = {"target_range": (0.0, 0.5), "landmarks": Z, "data_norm": 1.0}
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OddTerms)
        for loss in ("hinge", "huber"):
            _predictor(loss=loss, kernel=Polynomial(9), data_norm=30.0).fit(records, Y).answer(Z)
        _predictor(method="pinp", kernel=RBF(900.0), alpha=0.1).fit(records, Y).answer(Z)
        _predictor(kernel=own, landmarks=Z).fit(records, Y).answer(Z)
        for method, loss in (("landmarks", "absolute"), ("tddl", "squared"), ("tdil", "squared")):
            PrivateKernelRegressor(RBF(900.0), 1.0, 1e-6, method=method, loss=loss, rounds=2, alpha=0.1, **given).fit(
                records, targets
            )


@pytest.mark.parametrize("value", [0.5, 1e160, 5e-324])
def test_no_record_makes_a_floating_point_error_in_a_prediction(value: float) -> None:
    """A private score asks models about secret records, so predictions do not fail because of one either."""
    records = np.vstack([X[:-1], np.full((1, 3), value)])
    given: dict[str, Any] = {"epsilon": 1.0, "data_norm": 30.0, "landmarks": Z}
    for kernel in (RBF(900.0), Laplacian(900.0)):
        models = (
            PrivateKernelClassifier(kernel, **given).fit(X, Y),
            PrivateKernelRegressor(kernel, target_range=(0.0, 1e300), **given).fit(X, X[:, 0]),
        )
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", OddTerms)
            assert all(np.all(np.isfinite(model.predict(records))) for model in models)
            assert np.all(np.isfinite(models[0].predict_proba(records)))


@pytest.mark.parametrize("target", [0.5, 1.7e308, -1.7e308])
def test_no_target_makes_a_warning(target: float) -> None:
    """Targets are clipped before anything is computed with them."""
    targets = np.where(np.arange(60) == 0, target, 0.25)
    given: dict[str, Any] = {"epsilon": 1.0, "data_norm": 1.0, "target_range": (0.0, 0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OddTerms)
        PrivateKernelRegressor(RBF(1.0), landmarks=Z, **given).fit(X, targets)
        PrivateLinearRegression(**given).fit(X, targets)


@pytest.mark.parametrize("estimator", [_classifier(), PrivateLogisticRegression(epsilon=1.0, data_norm=1.0)])
def test_declared_classes_decide_alone_which_labels_are_taken(estimator: Any) -> None:
    """With declared classes neither the number of different labels nor a label's being a fraction matters."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OddTerms)
        estimator.set_params(classes=list(range(40))).fit(X[:30], np.arange(30))
        estimator.set_params(classes=[0.0, 0.5, 1.0]).fit(X[:30], np.array([0.0, 0.5, 1.0] * 10))
    with pytest.raises(InvalidParameter, match="not among the declared"):
        estimator.set_params(classes=[0.0, 1.0]).fit(X[:30], np.array([0.0, 0.5, 1.0] * 10))


@pytest.mark.parametrize("cell", ["secret 123-45", 10**400])
def test_a_refusal_carries_no_record(cell: object) -> None:
    """Neither the message nor the errors behind it quote a cell."""
    records = X.astype(object)
    records[3, 1] = cell
    with pytest.raises(InvalidParameter) as refusal:
        _classifier().fit(records, Y)
    seen: BaseException | None = refusal.value
    while seen is not None:
        assert "secret" not in str(seen)
        seen = seen.__context__ or seen.__cause__


def test_landmarks_in_the_memory_of_the_records_are_refused() -> None:
    """Arrays, frames and sparse tables over the same memory; a copy is not noticed, as that would take a look."""
    frame = pd.DataFrame(X)
    table = sparse.csr_array(X)
    shared = [
        (X, X),
        (X[:20], X),
        (frame.iloc[:20], frame),
        (frame.to_numpy(), frame),
        (sparse.csr_array(table), table),
    ]
    for landmarks, records in shared:
        with pytest.raises(InvalidParameter, match="the training records themselves"):
            _classifier(landmarks=landmarks).fit(records, Y)
    _classifier(landmarks=X.copy()).fit(X, Y)


def test_tdil_over_points_of_a_linear_kernel_takes_a_net(tmp_path: Any) -> None:
    """Points that are given are the net; the training records are none, and a number of points leaves the ball."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="l", budget=Budget(5.0, 1e-3))
    for landmarks, message in ((X, "training records"), (np.ones((2, 7)), "columns"), ("abc", "public points")):
        with pytest.raises(InvalidParameter, match=message):
            _classifier(kernel=Linear(), method="tdil", landmarks=landmarks, ledger=ledger).fit(X, Y)
    assert ledger.spent.epsilon == 0
    for landmarks, base in ((5, "the ball"), (Z, "a public net")):
        model = _classifier(kernel=Linear(), method="tdil", landmarks=landmarks, rounds=2).fit(X, Y)
        assert base in model.release_.guarantee
        assert not any(row.tobytes() in pickle.dumps(model) for row in X)
    _classifier(method="tdil", landmarks=np.int64(7), rounds=2).fit(X, Y)


def test_landmarks_have_the_columns_of_the_records() -> None:
    """Frames are compared by their columns' names, as scikit-learn does."""
    records, landmarks = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Z, columns=list("abc"))
    _classifier(landmarks=landmarks).fit(records, Y)
    with pytest.raises(InvalidParameter, match="columns of the records"):
        _classifier(landmarks=landmarks[["c", "b", "a"]]).fit(records, Y)


def test_texts_come_as_lists_or_columns() -> None:
    """A column of a frame works like a list; a whole frame, of which only names would be read, is refused."""
    labels = Y[: len(TEXTS)]
    column = pd.Series(PUBLIC, index=range(100, 104))
    model = _classifier(kernel=OVERLAP, landmarks=column, data_norm=None).fit(pd.Series(TEXTS), labels)
    assert model.predict(pd.Series(TEXTS)).shape == (len(TEXTS),)
    with pytest.raises(InvalidParameter, match="one column"):
        model.predict(pd.DataFrame({"text": TEXTS}))
    for wrong in (pd.DataFrame({"text": PUBLIC}), "abc", 5):
        with pytest.raises(InvalidParameter, match=r"one column|list of public|public points"):
            _classifier(kernel=OVERLAP, landmarks=wrong, data_norm=None).fit(TEXTS, labels)


@pytest.mark.parametrize("method", ["tddl", "matched", "tdil"])
def test_methods_that_rest_on_a_kernel_refuse_a_function(method: str) -> None:
    """What is only declared to be a kernel is sent to landmarks, where the guarantee does not need it."""
    with pytest.raises(InvalidParameter, match="method='landmarks'"):
        _classifier(kernel=OVERLAP, method=method, landmarks=PUBLIC, data_norm=None).fit(TEXTS, Y[: len(TEXTS)])


def test_very_long_features_are_kept_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision is for features that it can hold."""
    monkeypatch.setattr(module, "_MANY_NUMBERS", 10)
    for norm, kind in ((1.0, np.float32), (1e5, np.float64)):
        mapped = Landmarks.at(Domain(Polynomial(10), norm, 3), Z * norm)
        features = mapped.features(X * norm)
        assert features.dtype == kind
        assert np.all(np.isfinite(features))


@pytest.mark.parametrize("method", ["landmarks", "fourier", "tddl", "matched", "tdil"])
def test_a_guarantee_says_what_was_taken_for_public(method: str) -> None:
    """The kernel with its numbers and bound, the columns, the norm, the loss and the classes."""
    model = _classifier(kernel=RBF(2.0) + 1.0, method=method, landmarks=10, rounds=2, alpha=0.5).fit(X, Y)
    said = model.release_.guarantee
    for part in ("RBF(gamma=2.0) + 1", "K(x, x) <= 2", "3 columns", "norm 1", "logistic loss", "labels", "alpha=0.5"):
        assert part in said
    assert ("frequencies" in said) == (method == "fourier")


def test_an_interactive_guarantee_says_what_was_taken_for_public() -> None:
    """Also that a user's function was taken to depend on two records alone, and that landmarks were public."""
    said = _predictor(landmarks=Z).fit(X, Y).release_.guarantee
    assert "public landmarks" in said
    assert "norm 1" in said
    texts = _predictor(kernel=OVERLAP, data_norm=None, landmarks=PUBLIC).fit(TEXTS, Y[: len(TEXTS)])
    assert "function of two records alone" in texts.release_.guarantee


def test_options_that_would_be_ignored_are_refused() -> None:
    """Published constants belong to PINP, and a range is a pair of any kind."""
    with pytest.raises(InvalidParameter, match="pinp"):
        _predictor(constants="published").fit(X, Y)
    with pytest.raises(InvalidParameter, match="pair"):
        PrivateKernelRegressor(RBF(1.0), 1.0, landmarks=Z, data_norm=1.0, target_range=(0.0, 1.0, 2.0)).fit(X, X[:, 0])
    PrivateKernelRegressor(RBF(1.0), 1.0, landmarks=Z, data_norm=1.0, target_range=np.array([0.0, 1.0])).fit(X, X[:, 0])
