"""PrivateSearch: one charge for everything, fixed parts, nothing told but the best run."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression

from tacit import (
    Budget,
    Ledger,
    PrivacyWarning,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    Records,
)
from tacit.data import Flag, Key, Number, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.model_selection import PrivateSearch, private_cross_validate
from tacit.model_selection.data import Data, places
from tacit.queries import SQDecisionTree, SQKMeans

COINS = np.random.default_rng(0)
X = COINS.normal(size=(600, 3)) / 3
Y = np.where(X[:, 0] + 0.1 * COINS.normal(size=600) > 0, "yes", "no")
SCHEMA = Schema({"who": Key(), "a": Number(-1, 1), "b": Number(-1, 1), "yes": Flag()}, target="yes")
RECORDS = Records({"who": np.arange(600) // 2, "a": X[:, 0], "b": X[:, 1], "yes": Y == "yes"}, SCHEMA)
RIDGES = {"alpha": [0.01, 0.1, 1.0]}


@pytest.fixture
def ledger(tmp_path):
    """An account of 10."""
    return Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", name="l", budget=Budget(10))


def search(**changes):
    """Return a short search for a ridge."""
    told = {"candidates": RIDGES, "epsilon": 4.0, "runs": 6} | changes
    return PrivateSearch(
        told.pop("estimator", PrivateLogisticRegression(data_norm=1.0)), told.pop("candidates"), **told
    )


@pytest.mark.parametrize("data", [(X, Y), (csr_matrix(X), Y), (pd.DataFrame(X, columns=list("abc")), Y), (RECORDS,)])
def test_a_search_is_one_charge_and_its_model_carries_the_whole_guarantee(data, ledger):
    """One entry pays for all runs; the best model and the search state the whole budget, and both predict."""
    asked = search(ledger=ledger)
    told = asked.price(data[0])
    assert (told.budget, told.affordable) == (Budget(4), True)
    found = asked.fit(*data)
    (entry,) = ledger.entries()
    assert entry.amount == Budget(4)
    assert entry.event == told.event
    assert found.best_estimator_.release_.entry == found.release_.entry == entry
    assert "epsilon=4" in found.best_estimator_.release_.guarantee
    assert 2.53 < found.best_estimator_.epsilon < 4 * 2 / 3 * 0.95 + 1e-9
    assert found.best_params_ == ([{"alpha": each} for each in [0.01, 0.1, 1.0, "auto"]])[found.best_index_]
    assert 0.5 < found.best_score_ < 1.3
    assert np.array_equal(found.predict(data[0]), found.best_estimator_.predict(data[0]))
    assert found.predict_proba(data[0]).shape == (600, 2)
    assert is_classifier(found)
    with pytest.raises(BudgetExceeded):
        search(epsilon=7.0, ledger=ledger).fit(*data)
    assert len(ledger.entries()) == 1


def test_the_best_candidate_wins():
    """Between hopeless ridges and a good one, the estimator's own or a candidate, the good one wins where it was drawn:
    in one search of three at least.
    """
    for own, other in ((0.01, 1e4), (1e4, 0.01)):
        estimator = PrivateLogisticRegression(data_norm=1.0, alpha=own)
        asked = search(
            estimator=estimator, candidates=[{"alpha": other}, {"alpha": 2e4}], epsilon=100.0, runs=200,
            scoring="log_loss",
        )  # fmt: skip
        found = [clone(asked).set_params(random_state=seed).fit(X, Y) for seed in range(12)]
        wins = [each.best_estimator_.alpha == 0.01 for each in found]
        assert sum(wins) >= 4
        assert wins == [each.best_params_ == {"alpha": 0.01} for each in found]
    assert not any(each.best_estimator_.release_.private for each in found)


def test_no_run_tells_anything(monkeypatch):
    """Warnings and failures of single runs do not come out; if all fail, nothing but that is said, after the charge."""

    def failing(model, test, scoring):
        raise ValueError("record 17 says so")

    monkeypatch.setattr("tacit.model_selection.judging.goodness", failing)
    with pytest.raises(Exception, match="no run of the search succeeded") as caught:
        search().fit(X, Y)
    assert caught.value.__context__ is None


def test_parts_are_fixed_by_place_and_persons_are_whole():
    """Whatever the labels, the same places are held out; with a unit no person is on both sides."""
    model = PrivateLogisticRegression(data_norm=1.0)
    first, second = (Data.of(model, X, labels).part(places(600) < 100) for labels in (Y, Y[::-1]))
    assert np.array_equal(first.X, second.X)
    assert not np.array_equal(first.y, second.y)
    persons = Records({"who": np.arange(600) // 2, "a": X[:, 0], "b": X[:, 1], "yes": Y == "yes"}, SCHEMA, unit="who")
    data = Data.of(PrivateLogisticRegression(), persons, None)
    assert (data.slots, data.unit.kind) == (300, "person")
    chosen = np.zeros(300, dtype=bool)
    chosen[::3] = True
    one, other = data.part(chosen), data.part(~chosen)
    assert one.X.n == one.slots == 100
    assert other.X.n == 200
    assert float(one.weights().sum()) == 100.0


@pytest.mark.parametrize("form", ["records", "arrays"])
def test_a_search_does_not_depend_on_the_order_of_persons_rows(form):
    """For one seed the same candidate wins with the same score and model, with ids or without."""
    who = np.array([None if row % 8 == 0 else f"p{row // 3}" for row in range(600)], dtype=object)
    found = []
    for order in (np.arange(600), np.random.default_rng(1).permutation(600)):
        if form == "records":
            cells = {"who": who[order], "a": X[order, 0], "b": X[order, 1], "yes": Y[order] == "yes"}
            asked = search(estimator=PrivateLogisticRegression(), random_state=0)
            found.append(asked.fit(Records(cells, SCHEMA, unit="who")))
        else:
            found.append(search(random_state=0).fit(X[order], Y[order], groups=who[order]))
    one, other = found
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == pytest.approx(other.best_score_, abs=1e-9)
    assert np.allclose(one.best_estimator_.coef_, other.best_estimator_.coef_, rtol=0, atol=1e-6)


def test_regressions_trees_and_log_loss_are_searched_too():
    """Errors of regressions, log-losses, and learners from queries: each by its own figure."""
    y = X[:, 0]
    found = search(
        estimator=PrivateLinearRegression(data_norm=1.0, target_range=(-1, 1)), epsilon=50.0, random_state=0
    ).fit(X, y)
    assert found.scoring_ == "error"
    assert 0 < found.best_score_ < 0.4
    found = search(scoring="log_loss", epsilon=50.0, random_state=0).fit(X, Y)
    assert 0.1 < found.best_score_ < 0.8
    tree = search(estimator=SQDecisionTree(), candidates=[{"max_depth": 1}, {"max_depth": 2}], random_state=0)
    assert tree.fit(RECORDS).best_estimator_.rules()


def test_a_twin_is_searched_for_nothing(ledger):
    """The whole search can be rehearsed on made-up records under the real ledger, and is marked."""
    found = search(estimator=PrivateLogisticRegression(), ledger=ledger).fit(SCHEMA.twin(300))
    assert not found.release_.private
    assert not found.best_estimator_.release_.private
    assert ledger.entries() == []


def test_the_exact_score_warns():
    """`score` is scikit-learn's, exact, and says so."""
    found = search().fit(X, Y)
    with pytest.warns(PrivacyWarning, match="exact"):
        found.score(X, Y)


def test_groups_make_it_private_for_persons(tmp_path):
    """Rows of one person weigh one together, in fits and scores; the entry is for persons, as with records."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'persons.db'}", name="p", budget=Budget(20), unit="person")
    who = np.arange(600) // 3
    data = Data.of(PrivateLogisticRegression(data_norm=1.0), X, Y, who)
    assert (data.slots, data.unit.kind) == (200, "person")
    assert abs(float(data.weights().sum()) - 200) < 1e-9
    found = search(ledger=ledger).fit(X, Y, groups=who)
    assert found.release_.unit == found.best_estimator_.release_.unit == "person"
    assert 0 < found.best_score_ < 1.5
    folds = private_cross_validate(
        PrivateLogisticRegression(1.0, data_norm=1.0), X, Y, epsilon=1.0, groups=who, ledger=ledger
    )
    assert folds.release.unit == "person"
    with pytest.raises(InvalidParameter, match="account"):
        search(ledger=ledger).fit(X, Y)
    with pytest.raises(InvalidParameter, match="one entry for each row"):
        search().fit(X, Y, groups=who[1:])
    with pytest.raises(InvalidParameter, match="own persons"):
        search(estimator=PrivateLogisticRegression()).fit(RECORDS, groups=who)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": LogisticRegression()}, "of tacit"),
        ({"estimator": SQKMeans(1.0)}, "of tacit|no target"),
        ({"estimator": PrivateLogisticRegression(delta=1e-6, data_norm=1.0)}, "pure"),
        ({"estimator": PrivateLogisticRegression(data_norm=1.0, random_state=1)}, "leave them out"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": math.inf}, "finite"),
        ({"candidates": []}, "candidates must be"),
        ({"candidates": {"alpha": 5}}, "candidates must be"),
        ({"candidates": {"alpha": []}}, "candidates must be"),
        ({"candidates": {"alpha": "auto"}}, "candidates must be"),
        ({"candidates": {5: [1.0]}}, "no parameter 5"),
        ({"candidates": [{"epsilon": 1}]}, "cannot be searched"),
        ({"candidates": [{"ridge": 1}]}, "no parameter ridge"),
        ({"candidates": [{"alpha": -1}]}, "alpha"),
        ({"runs": 1}, "runs"),
        ({"scoring": "error"}, "scoring"),
    ],
)
def test_what_is_public_is_refused_before_the_charge(changes, message, ledger):
    """Each refusal says what is wrong, and charges nothing."""
    with pytest.raises(InvalidParameter, match=message):
        search(ledger=ledger, **changes).fit(X, Y)
    assert ledger.entries() == []


@pytest.mark.parametrize("home", ["mine", "tacit.mine", PrivateLogisticRegression.__module__])
def test_an_estimator_of_ones_own_is_refused_whatever_it_claims(home, ledger):
    """A subclass may keep the records it is given; the name of a module that it writes on itself changes nothing."""

    class Kept(PrivateLogisticRegression):
        def fit(self, X, y=None, sample_weight=None, groups=None):
            fitted = super().fit(X, y)
            fitted.kept = X
            return fitted

    Kept.__module__ = home
    for ask in (
        lambda: search(estimator=Kept(data_norm=1.0), ledger=ledger).fit(X, Y),
        lambda: private_cross_validate(Kept(1.0, data_norm=1.0), X, Y, epsilon=1.0, ledger=ledger),
    ):
        with pytest.raises(InvalidParameter, match="estimator must be a classifier or regression of tacit, got Kept"):
            ask()
    assert not ledger.spent


def test_it_is_cloned_and_its_parameters_are_kept():
    """A meta-estimator as scikit-learn has them."""
    asked = clone(search())
    assert asked.get_params()["estimator__data_norm"] == 1.0
    assert asked.candidates == RIDGES
