"""A seed that scikit-learn's ensembles make up is refused; one beside a ledger that somebody gave is warned of."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, BaggingRegressor
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tacit import (
    Budget,
    Ledger,
    PrivacyWarning,
    PrivateKernelClassifier,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    public_data,
)
from tacit.data import Flag, Number, Schema
from tacit.errors import InvalidParameter
from tacit.kernels import Linear
from tacit.model_selection import PrivateSearch
from tacit.queries import SQNaiveBayes, SQPerceptron

X = np.random.default_rng(0).normal(size=(80, 3)) / 3
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path: Any) -> Ledger:
    """Return an account that can pay for everything here."""
    return Ledger.create(tmp_path / "ledger.db", name="l", budget=Budget(100))


def _linear(**rest: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(0.3, data_norm=1.0, largest_weight=10.0, **rest)


ESTIMATORS: list[Callable[..., Any]] = [
    _linear,
    lambda **rest: PrivateKernelClassifier(
        Linear() + 1.0, 0.3, landmarks=10, data_norm=1.0, largest_weight=10.0, **rest
    ),
    lambda **rest: SQNaiveBayes(0.3, **rest),
    lambda **rest: SQPerceptron(0.3, data_norm=1.0, **rest),
    lambda **rest: make_pipeline(Normalizer(), _linear(**rest)),
    lambda **rest: PrivateSearch(
        PrivateLogisticRegression(data_norm=1.0), [{"alpha": 0.1}], epsilon=0.3, runs=2, **rest
    ),
]


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("paid", [True, False])
@pytest.mark.parametrize("jobs", [None, 2])
def test_bagging_makes_no_rehearsal_of_a_private_estimator(
    make: Callable[..., Any], paid: bool, jobs: int | None, ledger: Ledger
) -> None:
    """Its members would be neither private nor charged: nothing is fitted, with a ledger or without."""
    bagged = BaggingClassifier(make(ledger=ledger if paid else None), n_estimators=2, n_jobs=jobs)
    with pytest.raises(InvalidParameter, match="neither private nor charged"):
        bagged.fit(X, Y)
    assert ledger.entries() == []


def test_boosting_and_regressions_are_refused_alike(ledger: Ledger) -> None:
    """So do AdaBoost, whose weights would be made of exact errors, and bags of regressions."""
    numbers = PrivateLinearRegression(0.3, data_norm=1.0, target_range=(-1, 1), ledger=ledger)
    for ensemble, targets in ((AdaBoostClassifier(_linear(ledger=ledger)), Y), (BaggingRegressor(numbers), X[:, 0])):
        with pytest.raises(InvalidParameter, match="neither private nor charged"):
            ensemble.fit(X, targets)
    assert ledger.entries() == []


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_who_passes_over_the_refusal_fits_privately(ledger: Ledger) -> None:
    """RANSAC goes on without the seed that it wanted to give: what it fits is private, and charged."""
    numbers = PrivateLinearRegression(0.3, data_norm=1.0, target_range=(-1, 1), ledger=ledger)
    found = RANSACRegressor(numbers, min_samples=40, max_trials=2, residual_threshold=9.0).fit(X, X[:, 0])
    assert found.estimator_.release_.private
    assert ledger.entries() != []


def test_seeds_of_ones_own_are_taken() -> None:
    """Set at once, later, through a pipeline or a grid, or before an ensemble gives its members others."""
    model = clone(_linear()).set_params(random_state=3)
    assert not model.fit(X, Y).release_.private
    pipe = make_pipeline(Normalizer(), _linear()).set_params(privatelogisticregression__random_state=3)
    assert not pipe.fit(X, Y)[-1].release_.private
    bagged = BaggingClassifier(_linear()).set_params(estimator__random_state=3)
    assert not bagged.fit(X, Y).estimators_[0].release_.private
    assert GridSearchCV(_linear(), {"random_state": [1, 2]}, cv=2).fit(X, Y).best_params_["random_state"] in (1, 2)
    assert clone(model).set_params(random_state=None).fit(X, Y).release_.private


def _heard(action: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        action()
    return [str(each.message) for each in heard if each.category is PrivacyWarning]


@pytest.mark.parametrize("make", ESTIMATORS[:4])
def test_a_seed_beside_a_ledger_is_warned_of(make: Callable[..., Any], ledger: Ledger) -> None:
    """Who has a ledger expects to be charged: the fit says that it is not private, and not charged."""
    (said,) = _heard(lambda: make(ledger=ledger, random_state=1).fit(X, Y))
    assert "not private and not charged" in said
    assert ledger.entries() == []


@pytest.mark.parametrize("make", ESTIMATORS[:4])
def test_rehearsals_without_a_ledger_on_made_up_or_public_rows_are_silent(
    make: Callable[..., Any], ledger: Ledger
) -> None:
    """A rehearsal that can be taken for nothing else needs no warning; nor does a fit that is charged."""
    twin = Schema({"a": Number(-1, 1), "b": Flag(), "y": Flag()}, target="y").twin(60)
    assert _heard(lambda: make(random_state=1).fit(X, Y)) == []
    assert _heard(lambda: make(random_state=1, ledger=ledger).fit(twin)) == []
    assert _heard(lambda: make(ledger=ledger).fit(X, Y)) == []

    def public() -> None:
        with public_data():
            make(random_state=1, ledger=ledger).fit(X, Y)

    assert _heard(public) == []
