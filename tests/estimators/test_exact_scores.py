"""Exact scores of private models say so, once a call, whoever asks; public rows and rehearsals need no warning."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.ensemble import VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit import (
    ConjunctionClassifier,
    InteractiveKernelPredictor,
    PrivacyWarning,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    Records,
    Schema,
    public_data,
)
from tacit.data import Flag, Number
from tacit.errors import InvalidParameter
from tacit.kernels import Linear
from tacit.queries import SQDecisionTree, SQNaiveBayes, SQPerceptron

X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
VALUES = X[:, 0]
KERNEL = Linear() + 1.0

CLASSIFIERS: list[Callable[..., Any]] = [
    lambda epsilon=2.0, **rest: PrivateLogisticRegression(epsilon, data_norm=1.0, **rest),
    lambda epsilon=2.0, **rest: PrivateLinearSVC(epsilon, data_norm=1.0, **rest),
    lambda epsilon=2.0, **rest: PrivateKernelClassifier(KERNEL, epsilon, landmarks=10, data_norm=1.0, **rest),
    lambda epsilon=2.0, **rest: SQNaiveBayes(epsilon, **rest),
    lambda epsilon=2.0, **rest: SQDecisionTree(epsilon, **rest),
    lambda epsilon=2.0, **rest: SQPerceptron(epsilon, data_norm=1.0, **rest),
    lambda epsilon=2.0, **rest: ConjunctionClassifier(epsilon, **rest),
]
REGRESSIONS: list[Callable[..., Any]] = [
    lambda epsilon=2.0, **rest: PrivateLinearRegression(epsilon, data_norm=1.0, target_range=(-1, 1), **rest),
    lambda epsilon=2.0, **rest: PrivateKernelRegressor(
        KERNEL, epsilon, landmarks=10, data_norm=1.0, target_range=(-1, 1), **rest
    ),
]
EVERY = [(make, Y) for make in CLASSIFIERS] + [(make, VALUES) for make in REGRESSIONS]


def _heard(action: Callable[[], object]) -> list[str]:
    """Return what was warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        action()
    return [str(each.message) for each in heard if each.category is PrivacyWarning]


@pytest.mark.parametrize(("make", "targets"), EVERY)
def test_every_score_of_a_private_model_warns_once(make: Callable[..., Any], targets: Any) -> None:
    """`score` says that it is exact, what it costs and what to use instead; its value is scikit-learn's."""
    model = make().fit(X, targets)
    (said,) = _heard(lambda: model.score(X, targets))
    assert "exact" in said
    assert "evaluation.report" in said
    measure = get_scorer("r2" if targets is VALUES else "accuracy")
    with public_data():
        assert model.score(X, targets) == measure(model, X, targets)


@pytest.mark.parametrize(("make", "targets"), EVERY)
def test_rehearsals_infinite_epsilons_and_public_rows_are_silent(make: Callable[..., Any], targets: Any) -> None:
    """Nothing private is told by a seed, by a model without privacy, or where rows were said to be public."""
    assert _heard(lambda: make(random_state=1).fit(X, targets).score(X, targets)) == []
    assert _heard(lambda: make(math.inf).fit(X, targets).score(X, targets)) == []

    def public() -> None:
        with public_data():
            make().fit(X, targets).score(X, targets)

    assert _heard(public) == []


@pytest.mark.parametrize(("make", "targets"), EVERY)
def test_a_scorer_of_scikit_learn_warns_too(make: Callable[..., Any], targets: Any) -> None:
    """A prediction that sklearn.metrics asks for becomes an exact score, and says so once; others are silent."""
    model = make().fit(X, targets)
    scorer = get_scorer("neg_mean_squared_error" if targets is VALUES else "accuracy")
    assert len(_heard(lambda: scorer(model, X, targets))) == 1
    assert _heard(lambda: model.predict(X)) == []


def test_an_interactive_score_warns() -> None:
    """The answers are private, the labels that they are compared with are not."""
    model = InteractiveKernelPredictor(KERNEL, 2.0, 1e-6, data_norm=1.0).fit(X, Y)
    assert len(_heard(lambda: model.score(X[:3], Y[:3]))) == 1
    assert len(_heard(lambda: get_scorer("accuracy")(model, X[:3], Y[:3]))) == 1
    assert _heard(lambda: model.predict(X[:3])) == []


def test_a_score_without_targets_says_what_scores_records() -> None:
    """Records hold their targets, and have no exact score: it is said which function scores them privately."""
    schema = Schema({"a": Number(0, 1), "y": Flag()}, target="y")
    records = Records({"a": np.linspace(0, 1, 50), "y": np.arange(50) % 2}, schema)
    model = PrivateLogisticRegression(1.0).fit(records)
    with pytest.raises(InvalidParameter, match=r"tacit\.evaluation\.report\(model, records"):
        model.score(records)


def test_records_warn_as_arrays_do() -> None:
    """A model that learned from records, asked by a scorer, warns."""
    schema = Schema({"a": Flag(), "b": Flag(), "y": Flag()}, target="y")
    table = {"a": X[:, 0] > 0, "b": X[:, 1] > 0, "y": Y == 1}
    model = ConjunctionClassifier(2.0).fit(Records(table, schema))
    inputs = {name: table[name] for name in ("a", "b")}
    labels = np.where(Y, *model.classes_[::-1])
    assert len(_heard(lambda: get_scorer("accuracy")(model, inputs, labels))) == 1


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_log_loss", "average_precision"])
def test_cross_validation_works_and_warns(scoring: str | None) -> None:
    """Every kind of scoring gives its scores, one warning a fold, also behind a pipeline."""
    model = make_pipeline(FunctionTransformer(), PrivateLogisticRegression(2.0, data_norm=1.0))
    scores: list[Any] = []
    said = _heard(lambda: scores.extend(cross_val_score(model, X, Y, cv=3, scoring=scoring, error_score="raise")))
    assert len(said) == 3
    assert np.all(np.isfinite(scores))


def test_searches_displays_and_importances_warn() -> None:
    """Whatever scikit-learn computes from private rows and predictions is noticed."""
    model = PrivateLogisticRegression(2.0, data_norm=1.0).fit(X, Y)
    assert len(_heard(lambda: RocCurveDisplay.from_estimator(model, X, Y))) == 1
    assert _heard(lambda: permutation_importance(model, X, Y, n_repeats=1)) != []
    search = GridSearchCV(PrivateLogisticRegression(2.0, data_norm=1.0), {"alpha": [0.1, 1.0]}, cv=2)
    assert len(_heard(lambda: search.fit(X, Y))) == 4
    assert _heard(lambda: cross_val_predict(PrivateLogisticRegression(2.0, data_norm=1.0), X, Y, cv=2)) == []


def test_the_warning_points_to_whoever_asked() -> None:
    """It names this file, not the library's, so that it is shown once for each place that asks."""
    model = PrivateLogisticRegression(2.0, data_norm=1.0).fit(X, Y)
    with pytest.warns(PrivacyWarning) as heard:
        model.score(X, Y)
    assert heard[0].filename == __file__


def test_a_warning_that_is_an_error_leaves_nothing_said() -> None:
    """After an interrupted score the next one warns again, and other models are not concerned."""
    model = PrivateLogisticRegression(2.0, data_norm=1.0).fit(X, Y)
    for _ in range(2):
        with pytest.raises(PrivacyWarning):
            model.score(X, Y)
    with pytest.raises(ValueError, match="broken"), public_data():
        raise ValueError("broken")
    assert len(_heard(lambda: model.score(X, Y))) == 1
    assert _heard(lambda: LogisticRegression().fit(X, Y).score(X, Y)) == []


@pytest.mark.parametrize(("make", "targets"), EVERY)
def test_docstrings_say_that_scores_are_exact(make: Callable[..., Any], targets: Any) -> None:
    """Whoever asks for help on `score` reads that it is not private."""
    assert "NOT private" in str(type(make()).score.__doc__)
    assert issubclass(tacit.PrivacyWarning, UserWarning)


@pytest.mark.parametrize(
    "score",
    [
        lambda: CalibrationDisplay.from_estimator(PrivateLogisticRegression(2.0, data_norm=1.0).fit(X, Y), X, Y),
        lambda: VotingClassifier([("a", PrivateLogisticRegression(2.0, data_norm=1.0))]).fit(X, Y).score(X, Y),
        lambda: OneVsRestClassifier(PrivateLogisticRegression(2.0, data_norm=1.0)).fit(X, Y).score(X, Y),
        lambda: CalibratedClassifierCV(PrivateLogisticRegression(2.0, data_norm=1.0), cv=2, ensemble=False).fit(X, Y),
    ],
)
def test_what_others_make_of_a_private_model_warns(score: Callable[[], object]) -> None:
    """Displays of calibration, ensembles' scores and calibrations are exact, whichever part of scikit-learn asks."""
    assert any("exact" in said for said in _heard(score))


def test_predictions_by_a_calibrated_or_voting_model_are_silent() -> None:
    """They hand on what the private models predict, which tells of no label."""
    with public_data():
        calibrated = CalibratedClassifierCV(PrivateLogisticRegression(2.0, data_norm=1.0), cv=2).fit(X, Y)
    voting = VotingClassifier([("a", PrivateLogisticRegression(2.0, data_norm=1.0))]).fit(X, Y)
    assert _heard(lambda: (calibrated.predict_proba(X), calibrated.predict(X), voting.predict(X))) == []
