"""The classifiers as citizens of scikit-learn: checks, pipelines, searches, copies."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.weight_checks import expected_failures
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Number, PublicEncoder, Schema
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.errors import BudgetExceeded, InvalidParameter

GENERATOR = np.random.default_rng(8)
X = GENERATOR.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame({"age": GENERATOR.uniform(0, 90, 60), "town": GENERATOR.choice(["a", "b", "c"], 60)})
SCHEMA = Schema({"age": Number(0, 100), "town": Category(["a", "b", "c"])})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        PrivateLogisticRegression(epsilon=100.0, data_norm=10.0, largest_weight=1.0, random_state=0),
        PrivateLogisticRegression(epsilon=50.0, delta=1e-6, data_norm=10.0, largest_weight=1.0, random_state=0),
        PrivateLogisticRegression(epsilon=math.inf, data_norm=10.0, largest_weight=1.0),
        PrivateLinearSVC(epsilon=100.0, data_norm=10.0, largest_weight=1.0, random_state=0),
        PrivateLinearSVC(epsilon=100.0, data_norm=10.0, largest_weight=1.0, loss="hinge", random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """Every check of scikit-learn passes, but for those that weights of records must not."""
    check(estimator)


def test_a_clone_has_the_same_account(ledger: Ledger) -> None:
    """Clones, pickles and files of an estimator charge the account that the original charges."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger)
    copies = [clone(model), clone(clone(model)), pickle.loads(pickle.dumps(model))]
    for copy in copies:
        copy.fit(X, Y)
        assert copy.ledger == ledger
    assert ledger.spent == Budget(3)


def test_a_fitted_model_keeps_its_guarantee_through_a_pickle(ledger: Ledger, tmp_path: Path) -> None:
    """A saved model predicts the same and still says what was promised for it, and where it was charged."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert copy.release_.guarantee == model.release_.guarantee
        assert copy.release_.entry == model.release_.entry
        assert copy.release_.budget == Budget(1)
        assert copy.release_.private
        assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert ledger.spent == Budget(1)


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_five_folds_on_two_processes_spend_five_times(ledger: Ledger) -> None:
    """Cross-validation in other processes charges every fold to the one account."""
    scores = cross_val_score(PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger), X, Y, cv=5, n_jobs=2)
    assert len(scores) == 5
    assert ledger.spent == Budget(2.5)
    assert len(ledger.entries()) == 5


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_folds_that_do_not_fit_are_refused(ledger: Ledger) -> None:
    """The third fold of 4 does not fit into 10, and cross-validation fails aloud."""
    with pytest.raises(BudgetExceeded):
        cross_val_score(PrivateLogisticRegression(4.0, data_norm=1.0, ledger=ledger), X, Y, cv=5, error_score="raise")
    assert ledger.spent == Budget(8)


SPENT: dict[str, tuple[Callable[[Ledger], Any], float]] = {
    "a search of two on three folds, and the final fit": (
        lambda ledger: GridSearchCV(_half(ledger), {"alpha": [0.1, 1.0]}, cv=KFold(3)).fit(X, Y), 3.5),
    "predictions by three folds": (lambda ledger: cross_val_predict(_half(ledger), X, Y, cv=3), 1.5),
    "one of three classes against the rest": (
        lambda ledger: OneVsRestClassifier(PrivateLinearSVC(0.5, data_norm=1.0, ledger=ledger)).fit(
            X, np.digitize(X[:, 0], [-0.5, 0.5])), 1.5),
}  # fmt: skip


def _half(ledger: Ledger) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger)


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
@pytest.mark.parametrize("what", SPENT)
def test_whatever_fits_several_times_pays_for_each(what: str, ledger: Ledger) -> None:
    """Searches, folds and a model for each class are releases too."""
    SPENT[what][0](ledger)
    assert ledger.spent == Budget(SPENT[what][1])


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_no_norm_is_needed_behind_a_public_encoder(ledger: Ledger) -> None:
    """The encoder states the norm of its rows, also for folds, and its constant takes the place of the intercept."""
    pipeline = make_pipeline(PublicEncoder(SCHEMA), PrivateLogisticRegression(1.0, ledger=ledger))
    model = pipeline.fit(FRAME, Y)[-1]
    assert model.intercept_ == [0.0]
    assert "row norm 1," in model.release_.guarantee
    assert len(cross_val_score(pipeline, FRAME, Y, cv=3)) == 3
    assert ledger.spent == Budget(4)


@pytest.mark.filterwarnings("ignore:PCA learned:tacit.PrivacyWarning")
def test_a_step_that_breaks_the_statement_of_the_norm_is_noticed(ledger: Ledger) -> None:
    """After another step, or in a data frame, the norm must be given again: it is never read off the rows."""
    learner = PrivateLogisticRegression(1.0, ledger=ledger)
    broken = [
        make_pipeline(PublicEncoder(SCHEMA), PCA(2), learner),
        make_pipeline(PublicEncoder(SCHEMA), learner).set_output(transform="pandas"),
        make_pipeline(Normalizer(), learner),
    ]
    for pipeline, table in zip(broken, (FRAME, FRAME, X), strict=True):
        with pytest.raises(InvalidParameter, match="data_norm is missing"):
            pipeline.fit(table, Y)
    assert ledger.entries() == []
    stated = make_pipeline(PublicEncoder(SCHEMA), PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger))
    assert stated.set_output(transform="pandas").fit(FRAME, Y)[-1].feature_names_in_[-1] == "(constant)"
    assert ledger.spent == Budget(1)


def test_parameters_are_stored_as_they_were_given() -> None:
    """Nothing is checked or converted before `fit`, so that searches may set anything."""
    model = PrivateLogisticRegression()
    assert model.get_params()["epsilon"] is None
    assert model.set_params(epsilon=0.3, classes=[1, 0]).get_params()["classes"] == [1, 0]
    assert "epsilon=0.3" in repr(model)


def test_feature_names_are_kept_and_checked() -> None:
    """A model fitted on a data frame refuses other columns."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PrivateLogisticRegression(1.0, data_norm=1.0).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
