"""The learners from statistical queries as citizens of scikit-learn: checks, pipelines, searches, copies."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.tree import SQDecisionTree

LEARNERS = [ConjunctionClassifier, DecisionListClassifier, SQNaiveBayes, SQDecisionTree]
X = (np.random.default_rng(4).random((80, 4)) < 0.6).astype(float)
Y = X[:, :2].all(axis=1).astype(int)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ConjunctionClassifier(epsilon=10.0, delta=1e-6, monotone=False, noise_rate=0.1, random_state=0),
        DecisionListClassifier(epsilon=1000.0, bounds=(-3, 3), random_state=0),
        SQNaiveBayes(epsilon=100.0, delta=1e-6, bounds=(-3, 3), random_state=0),
        SQDecisionTree(epsilon=1000.0, bounds=(-3, 3), random_state=0),
        SQDecisionTree(epsilon=math.inf, bounds=(-3, 3)),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """Every check of scikit-learn passes, without exceptions."""
    check(estimator)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 10."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_clone_has_the_same_account(learner: Any, ledger: Ledger) -> None:
    """Clones and pickles of a learner charge the account that the original charges, each for its own fit."""
    model = learner(1.0, ledger=ledger)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        copy.fit(X, Y)
        assert copy.ledger == ledger
    assert ledger.spent == Budget(2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fitted_model_keeps_its_guarantee_through_a_pickle(learner: Any) -> None:
    """A saved model predicts the same and still says what was promised for it."""
    model = learner(1.0).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.release_ == model.release_
    assert copy.release_.private
    assert np.array_equal(copy.predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_folds_and_searches_spend_for_every_fit(ledger: Ledger) -> None:
    """Three folds, then two candidates on two folds and the final fit: eight fits."""
    cross_val_score(SQNaiveBayes(0.5, ledger=ledger), X, Y, cv=3)
    GridSearchCV(SQNaiveBayes(0.5, ledger=ledger), {"smoothing": [1.0, 2.0]}, cv=KFold(2)).fit(X, Y)
    assert ledger.spent == Budget(4)


@pytest.mark.parametrize("learner", LEARNERS)
def test_parameters_are_stored_as_they_were_given(learner: Any) -> None:
    """Nothing is checked or converted before `fit`, so that searches may set anything."""
    model = learner()
    assert model.get_params()["epsilon"] is None
    assert model.set_params(epsilon=0.3, classes=[1, 0]).get_params()["classes"] == [1, 0]
    assert "epsilon=0.3" in repr(model)


@pytest.mark.parametrize("learner", LEARNERS)
def test_feature_names_are_kept_and_checked(learner: Any) -> None:
    """A model fitted on a data frame refuses other columns."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = learner(1.0).fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])
