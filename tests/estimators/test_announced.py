"""scikit-learn's searches over a ledger that cannot pay them are refused before the first fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tacit import Budget, Ledger, PrivateLinearSVC, PrivateLogisticRegression
from tacit.errors import BudgetExceeded
from tacit.model_selection import PrivateSearch

X = np.random.default_rng(0).normal(size=(90, 3)) / 3
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path):
    """An account of 3."""
    return Ledger.create(tmp_path / "ledger.db", name="l", budget=Budget(3))


def _grids(ledger):
    model = PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger)
    pipe = make_pipeline(Normalizer(), model)
    many = {"alpha": [0.1, 1.0]}
    return {
        "seven fits at 0.5": GridSearchCV(model, many, cv=3),
        "in a pipeline": GridSearchCV(pipe, {"privatelogisticregression__alpha": [0.1, 1.0]}, cv=KFold(3)),
        "several processes": GridSearchCV(model, many, cv=3, n_jobs=2),
        "drawn": RandomizedSearchCV(model, {"alpha": [0.1, 1.0, 2.0]}, n_iter=2, cv=3, random_state=1),
        "epsilons": GridSearchCV(model, {"epsilon": [0.25, 0.7]}, cv=3),
        "another loss": GridSearchCV(PrivateLinearSVC(0.5, data_norm=1.0, ledger=ledger), many, cv=3),
    }


@pytest.mark.parametrize("case", list(_grids(None)))
def test_what_cannot_be_paid_to_the_end_is_not_begun(case, ledger):
    """All fits and the refit cost more than 3: nothing is fitted or charged, and the message says the cost."""
    with pytest.raises(BudgetExceeded, match="would fit 7 times"):
        _grids(ledger)[case].fit(X, Y)
    assert ledger.entries() == []


def test_what_can_be_paid_runs_as_before(ledger):
    """Without the refit, or with cheaper fits, the search runs and charges every fit."""
    model = PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger)
    GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3, refit=False, scoring=lambda *_: 0.0).fit(X, Y)
    assert ledger.spent == Budget(3)
    clone(model)


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
def test_rehearsals_and_models_without_privacy_cost_nothing(ledger):
    """With a seed nothing is charged, so nothing is refused."""
    model = PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger, random_state=1)
    assert GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3).fit(X, Y).best_score_ > 0.5
    assert ledger.entries() == []


def test_an_account_of_another_kind_adds_up_events(tmp_path):
    """What all fits would be charged as together is refused before the first, and what fits is not."""
    for candidates, fits in (([0.1, 1.0], 5), ([0.1], None)):
        ledger = Ledger.create(tmp_path / f"{fits}.db", name="r", budget=Budget(1, 1e-5), accountant="gaussian")
        model = PrivateLogisticRegression(0.6, 1e-6, perturbation="gradient", data_norm=1.0, ledger=ledger)
        search = GridSearchCV(model, {"alpha": candidates}, cv=2, error_score="raise", scoring=lambda *_: 0.0)
        if fits:
            with pytest.raises(BudgetExceeded, match=f"would fit {fits} times"):
                search.fit(X, Y)
            assert ledger.entries() == []
        else:
            search.fit(X, Y)
            assert len(ledger.entries()) == 3


def test_a_pipeline_on_an_account_of_another_kind_is_not_seen_through(tmp_path):
    """There the ledger refuses when it is asked, which is the guarantee."""
    ledger = Ledger.create(tmp_path / "r.db", name="r", budget=Budget(1, 1e-5), accountant="gaussian")
    model = PrivateLogisticRegression(0.6, 1e-6, perturbation="gradient", data_norm=1.0, ledger=ledger)
    grid = {"privatelogisticregression__alpha": [0.1, 1.0]}
    search = GridSearchCV(make_pipeline(Normalizer(), model), grid, cv=3, error_score="raise", scoring=lambda *_: 0.0)
    with pytest.raises(BudgetExceeded, match="does not fit"):
        search.fit(X, Y)
    assert ledger.entries() != []


def test_folds_that_can_be_read_once_are_counted(ledger):
    """A generator of folds is left as it is: what cannot be paid is refused, and what can be is fitted to all."""
    model = PrivateLogisticRegression(0.5, data_norm=1.0, ledger=ledger)
    folds = list(KFold(3).split(X))
    with pytest.raises(BudgetExceeded, match="would fit 7 times"):
        GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=iter(folds)).fit(X, Y)
    assert ledger.entries() == []
    GridSearchCV(model, {"alpha": [0.1]}, cv=iter(folds), scoring=lambda *_: 0.0).fit(X, Y)
    assert len(ledger.entries()) == 4


THREE = np.arange(len(X)) % 3


@pytest.mark.parametrize(
    ("around", "targets", "each"),
    [
        (lambda model: OneVsRestClassifier(model), THREE, 3),
        (lambda model: OneVsRestClassifier(model), Y, 1),
        (lambda model: OneVsOneClassifier(model), np.arange(len(X)) % 4, 6),
        (lambda model: CalibratedClassifierCV(model, cv=4), Y, 4),
        (lambda model: make_pipeline(Normalizer(), OneVsRestClassifier(model)), THREE, 3),
        (lambda model: OneVsRestClassifier(CalibratedClassifierCV(model, cv=2)), THREE, 6),
        (lambda model: StackingClassifier([("a", model)], cv=2), Y, 2),
        (lambda model: VotingClassifier([("a", model), ("b", model)]), Y, 2),
    ],
)
def test_what_fits_more_than_once_is_counted_with_as_many_fits(around, targets, each, tmp_path):
    """One candidate on two folds and a refit: a budget for all but one fit is refused, uncharged."""
    budget = Budget(3 * each * 0.25 - 0.125)
    ledger = Ledger.create(tmp_path / "l.db", name="l", budget=budget)
    model = around(PrivateLogisticRegression(0.25, data_norm=1.0, ledger=ledger))
    with pytest.raises(BudgetExceeded, match=f"costs epsilon={3 * each * 0.25:g},"):
        GridSearchCV(model, [{}], cv=2).fit(X, targets)
    assert ledger.entries() == []


def test_a_private_search_within_a_search_is_seen_through(ledger):
    """Its own price is what each of its fits costs."""
    inner = PrivateSearch(
        PrivateLogisticRegression(data_norm=1.0), [{"alpha": 0.1}], epsilon=0.5, runs=2, ledger=ledger
    )
    with pytest.raises(BudgetExceeded, match=r"would fit 7 times, which costs epsilon=3\.5"):
        GridSearchCV(inner, {"runs": [2, 3]}, cv=3).fit(X, Y)
    assert ledger.entries() == []
