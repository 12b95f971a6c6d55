"""The released kernel models: what they promise, what they hold, and what they refuse."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.kernels import (
    RBF,
    FunctionKernel,
    Laplacian,
    Linear,
    Polynomial,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
)

GENERATOR = np.random.default_rng(31)
X = GENERATOR.normal(size=(1_500, 2))
X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1, 0)
FEW = X[:400]
FEW_LABELS = Y[:400]
SAMPLE = GENERATOR.normal(size=(40, 2))
METHODS = ("landmarks", "fourier", "tddl", "matched", "tdil")


def _classifier(**changes: Any) -> PrivateKernelClassifier:
    landmarks = {"fourier": 60, "tdil": 400}.get(changes.get("method", ""), SAMPLE)
    given = {"kernel": RBF(2.0), "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "landmarks": landmarks, **changes}
    return PrivateKernelClassifier(**given)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account with room for one fit and a half."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(1.5, 1e-5))


@pytest.mark.parametrize("method", METHODS)
def test_one_fit_is_charged_once(method: str, ledger: Ledger) -> None:
    """Fitting spends the budget, predicting nothing; a second fit does not fit and changes nothing."""
    model = _classifier(method=method, ledger=ledger).fit(FEW, FEW_LABELS)
    before = model.decision_function(FEW[:20])
    assert ledger.spent == Budget(1, 1e-6)
    assert model.release_.private
    assert "replace-one" in model.release_.guarantee
    with pytest.raises(BudgetExceeded):
        model.fit(FEW, FEW_LABELS)
    assert np.array_equal(model.decision_function(FEW[:20]), before)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_model_holds_no_training_record(method: str) -> None:
    """Neither a row nor a single coordinate of a training record is in the bytes of a fitted model."""
    model = _classifier(method=method).fit(FEW, FEW_LABELS)
    text = pickle.dumps(model)
    for row in FEW:
        assert row.tobytes() not in text
        assert row[:1].tobytes() not in text
        assert row[1:].tobytes() not in text
        assert row.astype(np.float32).tobytes() not in text


def test_the_search_for_records_finds_them() -> None:
    """A model that kept its landmarks, did it take them from training rows, would be noticed."""
    text = pickle.dumps(_classifier(landmarks=X[:40].copy()).fit(X, Y))
    assert X[3].tobytes() in text


@pytest.mark.parametrize("method", ["landmarks", "fourier", "matched"])
def test_methods_learn_what_a_line_cannot(method: str) -> None:
    """At epsilon 5 an exclusive-or is learned, where a linear model is right in half of the cases."""
    assert _classifier(method=method, epsilon=5.0, random_state=1).fit(X, Y).score(X, Y) > 0.85


@pytest.mark.parametrize(("kernel", "delta"), [(RBF(2.0), 0.0), (RBF(2.0), 1e-6), (Linear(), 1e-6)])
def test_tdil_learns_from_few_measurements(kernel: Any, delta: float) -> None:
    """With a large budget a few rounds learn a line; over a net also without a delta."""
    labels = X[:, 0] > 0
    model = _classifier(method="tdil", kernel=kernel, epsilon=6.0, delta=delta, rounds=3, random_state=1).fit(X, labels)
    assert model.score(X, labels) > 0.85


def test_pure_budgets_are_kept_where_they_can_be(ledger: Ledger) -> None:
    """landmarks, fourier, tddl and tdil over a net are pure without a delta; matched refuses."""
    for method in METHODS:
        model = _classifier(method=method, delta=0.0, epsilon=0.25, alpha=0.1, ledger=ledger)
        if method == "matched":
            with pytest.raises(InvalidParameter, match="delta > 0"):
                model.fit(FEW, FEW_LABELS)
        else:
            assert model.fit(FEW, FEW_LABELS).release_.budget == Budget(0.25)
    assert ledger.spent == Budget(1)


def test_several_classes_are_joint() -> None:
    """Three classes are one softmax model over landmarks, with probabilities that sum to one."""
    labels = np.digitize(np.arctan2(X[:, 1], X[:, 0]), [-1.0, 1.0])
    model = _classifier(epsilon=20.0, random_state=2).fit(X, labels)
    assert model.score(X, labels) > 0.75
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.decision_function(X).shape == (1_500, 3)
    with pytest.raises(InvalidParameter, match="binary"):
        _classifier(method="matched").fit(X, labels)


def test_an_infinite_epsilon_is_the_ordinary_model() -> None:
    """Without privacy the model is nearly perfect, is marked so, and cannot be charged."""
    model = _classifier(epsilon=float("inf")).fit(X, Y)
    assert model.score(X, Y) > 0.97
    assert not model.release_.private


def test_sparse_rows_give_the_same_model() -> None:
    """Compressed rows and landmarks lead to the same model as dense ones, when no noise tells them apart."""
    dense = _classifier(epsilon=float("inf"), alpha=1e-3).fit(X, Y)
    sparse = _classifier(epsilon=float("inf"), alpha=1e-3, landmarks=sp.csr_array(SAMPLE)).fit(sp.csr_array(X), Y)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), atol=1e-4)


def test_regression_predicts_in_the_units_of_the_target() -> None:
    """A smooth function is learned within its range by every loss and method that allows it."""
    targets = 20 + 10 * X[:, 0] * X[:, 1]
    for method, loss in (("landmarks", "absolute"), ("matched", "absolute"), ("matched", "squared")):
        model = PrivateKernelRegressor(
            RBF(1.0) + 1.0, 20.0, 1e-6, target_range=(10, 30), landmarks=SAMPLE, method=method, loss=loss,
            data_norm=1.0, alpha=1e-3 if method == "landmarks" else "auto", random_state=1,
        ).fit(X, targets)  # fmt: skip
        assert model.score(X, targets) > 0.3, (method, loss)
        assert np.all(np.abs(model.predict(X) - 20) < 40)


def test_kernels_on_texts_are_classified() -> None:
    """Records may be texts: a kernel through a user's function, with public texts as landmarks."""
    words = ["".join(GENERATOR.choice(list("abcd"), 6)) for _ in range(300)]
    labels = [word.count("a") > word.count("b") for word in words]
    kernel = FunctionKernel(_letters, 36.0)
    public = ["aaaabb", "bbbbbb", "cccddd", "abcdab", "ddddaa", "bbbcca"]
    model = PrivateKernelClassifier(kernel, 5.0, 1e-6, landmarks=public, classes=[False, True], random_state=1)
    assert np.mean(model.fit(words, labels).predict(words) == labels) > 0.7


def _letters(x: str, z: str) -> float:
    return float(sum(x.count(letter) * z.count(letter) for letter in "abcd"))


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_cross_validation_spends_for_every_fold(tmp_path: Path) -> None:
    """Five folds on two processes are five charges."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/folds.db", name="test", budget=Budget(10, 1e-4))
    assert len(cross_val_score(_classifier(ledger=ledger), X, Y, cv=5, n_jobs=2)) == 5
    assert ledger.spent.epsilon == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"kernel": None}, "kernel must be"), ({"epsilon": None}, "epsilon is missing"),
     ({"data_norm": None}, "data_norm"), ({"method": "nystrom"}, "method must be"),
     ({"loss": "squared"}, "loss must be"), ({"perturbation": "x"}, "perturbation"),
     ({"landmarks": X}, "training records"), ({"landmarks": np.ones((2, 3))}, "2 columns"),
     ({"landmarks": []}, "table"),
     ({"landmarks": np.ones((0, 2))}, "at least one row"), ({"method": "tdil", "rounds": 0}, "rounds"),
     ({"method": "tdil", "epsilon": float("inf")}, "finite epsilon"), ({"classes": [0, 2]}, "declared classes"),
     ({"method": "fourier", "kernel": Polynomial(2), "landmarks": 9}, "fourier"), ({"alpha": 0.0}, "alpha"),
     ({"loss": "hinge", "perturbation": "objective"}, "smooth")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_the_charge(
    changes: dict[str, Any], message: str, ledger: Ledger
) -> None:
    """A clear message, nothing charged, nothing fitted."""
    account = None if changes.get("epsilon") == float("inf") else ledger
    model = _classifier(ledger=account, **changes)
    with pytest.raises(InvalidParameter, match=message):
        model.fit(X, Y)
    assert ledger.entries() == []
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("method", ["tddl", "matched", "tdil"])
@pytest.mark.parametrize(("alpha", "fitted"), [(1e-8, False), (1e-6, True)])
def test_whether_a_fit_is_charged_does_not_depend_on_records(
    method: str, alpha: float, fitted: bool, ledger: Ledger
) -> None:
    """At a tiny ridge all data sets are refused uncharged, at the smallest that is taken all are charged."""
    budget = {"method": method, "epsilon": 0.01, "delta": 1e-8, "alpha": alpha, "ledger": ledger, "classes": [0, 1]}
    for flipped in (0, 1, 2):
        model = _classifier(**budget, rounds=1)
        labels = (np.arange(5) < flipped).astype(int)
        if fitted:
            model.fit(np.zeros((5, 2)), labels)
        else:
            with pytest.raises(InvalidParameter, match="alpha must be at least"):
                model.fit(np.zeros((5, 2)), labels)
    assert len(ledger.entries()) == (3 if fitted else 0)


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplacian(1.0), Polynomial(3)])
def test_a_net_needs_few_dimensions(kernel: Any) -> None:
    """Beyond eight dimensions a lattice is refused."""
    wide = GENERATOR.normal(size=(50, 9))
    with pytest.raises(InvalidParameter, match="8 dimensions"):
        PrivateKernelClassifier(kernel, 1.0, 1e-6, method="tdil", data_norm=1.0).fit(wide, wide[:, 0] > 0)


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
def test_a_rehearsal_repeats_and_costs_nothing(ledger: Ledger) -> None:
    """With a seed every method gives the same model again, marked as not private."""
    for method in METHODS:
        one, two = (_classifier(method=method, random_state=4, ledger=ledger).fit(FEW, FEW_LABELS) for _ in range(2))
        assert np.array_equal(one.decision_function(X), two.decision_function(X))
        assert not one.release_.private
    assert ledger.entries() == []


def test_probabilities_account_for_the_margin_of_noisy_gradients_too() -> None:
    """With three classes gradients are of scores with a margin; reading them without it costs log-loss."""
    chance = np.random.default_rng(5)
    labels = chance.integers(0, 3, 6000)
    rows = 0.35 * np.eye(3)[labels] + 0.25 * chance.normal(size=(6000, 3))
    model = PrivateKernelClassifier(
        RBF(1.0), 4.0, 1e-6, landmarks=chance.normal(size=(40, 3)), data_norm=1.0, perturbation="gradient",
        classes=[0, 1, 2], random_state=3,
    ).fit(rows, labels)  # fmt: skip
    with_margin = log_loss(labels, model.predict_proba(rows))
    assert model.margin_ == 2.0
    model.margin_ = 0.0
    assert with_margin < log_loss(labels, model.predict_proba(rows)) - 0.01
