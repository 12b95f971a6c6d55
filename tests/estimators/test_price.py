"""A price is told before a fit, without a record, and is what the fit then charges."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tacit import (
    Budget,
    Ledger,
    PrivateERM,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    Records,
)
from tacit.accounting.events import EpsilonDeltaDpEvent
from tacit.data import Category, Flag, Number, Schema
from tacit.erm import Logistic
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.kernels import RBF, InteractiveKernelPredictor, PrivateKernelClassifier
from tacit.queries import ConjunctionClassifier, SQDecisionTree, SQNaiveBayes, SQPerceptron

X = np.random.default_rng(0).normal(size=(300, 4)) / 4
Y = (X[:, 0] > 0).astype(int)
SCHEMA = Schema({"a": Number(0, 1), "b": Category(["u", "v"]), "c": Flag()}, target="c")
RECORDS = Records({"a": X[:, 0], "b": ["u", "v"] * 150, "c": Y}, SCHEMA)


@pytest.fixture
def ledger(tmp_path):
    """An account of 1."""
    return Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", name="l", budget=Budget(1, 1e-5))


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (PrivateLogisticRegression(0.5, data_norm=1.0), (X, Y)),
        (PrivateLogisticRegression(0.5, 1e-6, data_norm=1.0, classes=[0, 1, 2]), (X, Y)),
        (PrivateLogisticRegression(0.5, 1e-6, perturbation="output"), (RECORDS,)),
        (PrivateLinearSVC(0.5, data_norm=1.0), (csr_matrix(X), Y)),
        (PrivateLinearRegression(0.5, 1e-6, data_norm=1.0, target_range=(0, 1)), (X, Y)),
        (PrivateERM(Logistic(), 0.5, data_norm=1.0), (X, Y)),
        (PrivateKernelClassifier(RBF(1.0), 0.5, landmarks=10, data_norm=1.0), (X, Y)),
        (SQDecisionTree(0.5), (RECORDS,)),
        (SQNaiveBayes(0.5, 1e-6), (RECORDS,)),
        (SQPerceptron(0.5, rounds=2), (RECORDS,)),
        (ConjunctionClassifier(0.5), (X > 0, Y)),
        (InteractiveKernelPredictor(RBF(1.0), 0.5, 1e-6, data_norm=1.0), (X, Y)),
        (InteractiveKernelPredictor(RBF(1.0), 0.5, 1e-6, landmarks=10), (RECORDS,)),
        (InteractiveKernelPredictor(RBF(1.0), 0.5, 1e-6, method="pinp", data_norm=1.0, alpha=0.1), (X, Y)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_price_is_what_the_fit_charges(estimator, data, ledger):
    """Event and budget told before are those of the entry that the fit makes; the telling makes none."""
    estimator.ledger = ledger
    told = estimator.price(data[0])
    assert ledger.entries() == []
    assert told.affordable is True
    assert "enough" in str(told)
    entry = estimator.fit(*data).release_.entry
    assert entry.event == told.event
    assert entry.amount <= told.budget
    ledger.spend(EpsilonDeltaDpEvent(0.4), label="something else")
    assert estimator.price(data[0]).affordable is False
    assert "NOT enough" in str(estimator.price(data[0]))


def test_no_record_is_touched():
    """Rows that nobody may read have a price: their form is all that is looked at."""

    class Untouchable:
        shape = (300, 4)

        def __array__(self, *_):
            raise AssertionError

        def __getitem__(self, _):
            raise AssertionError

    told = PrivateLogisticRegression(0.5, data_norm=1.0).price(Untouchable())
    assert told.event == PrivateLogisticRegression(0.5, data_norm=1.0).price(X).event
    assert told.affordable is None
    assert "no ledger" in str(told)


def test_without_records_the_budget_is_told(ledger):
    """A basic account is compared with the budget; an interactive predictor has a price too."""
    told = PrivateLogisticRegression(0.5, ledger=ledger).price()
    assert (told.budget, told.event, told.affordable) == (Budget(0.5), None, True)
    assert PrivateLogisticRegression(2, ledger=ledger).price().affordable is False
    assert InteractiveKernelPredictor(RBF(1.0), 0.5, 1e-6, ledger=ledger).price().affordable is True
    assert PrivateLogisticRegression(np.inf).price().budget is None
    with pytest.raises(InvalidParameter, match="epsilon is missing"):
        PrivateLogisticRegression().price()


def test_an_account_of_another_kind_needs_records_to_say(tmp_path):
    """What fits a Renyi account follows from the event, which follows from the number of records."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", name="l", budget=Budget(1, 1e-5), accountant="renyi")
    model = PrivateLogisticRegression(0.5, 1e-6, data_norm=1.0, ledger=ledger)
    assert model.price().affordable is None
    assert model.price(X).affordable is True


def test_a_predictor_that_cannot_be_paid_is_refused_before_it_is_solved(ledger, monkeypatch):
    """The noise of a kernel model follows from public bounds: neither its price nor its refusal solves anything."""
    monkeypatch.setattr("tacit.kernels.fit.reading.minimise", pytest.fail)
    predictor = InteractiveKernelPredictor(RBF(1.0), 2, 1e-6, data_norm=1.0, ledger=ledger)
    assert predictor.price(X).affordable is False
    with pytest.raises(BudgetExceeded, match="Nothing was charged"):
        predictor.fit(X, Y)


def test_what_fit_would_refuse_the_price_refuses():
    """Public refusals come with the price already."""
    with pytest.raises(InvalidParameter, match="alpha"):
        PrivateLogisticRegression(0.5, data_norm=1.0, alpha=-1).price(X)
    with pytest.raises(InvalidParameter, match="data_norm"):
        PrivateLogisticRegression(0.5).price(X)
    with pytest.raises(InvalidParameter, match="rows and columns"):
        PrivateLogisticRegression(0.5, data_norm=1.0).price(3)


def test_a_part_pays_for_itself(ledger):
    """The price of a part is compared with what is left for that part."""
    train, test = RECORDS.split()
    model = PrivateLogisticRegression(0.6, ledger=ledger).fit(train)
    assert model.price(train).affordable is False
    with pytest.raises(BudgetExceeded):
        model.fit(train)
    assert model.price(test).affordable is True


def test_a_twin_is_priced_as_the_real_records_would_be(ledger):
    """A rehearsal costs nothing, and tells what the fit that is meant will cost."""
    model = PrivateLogisticRegression(0.5, ledger=ledger)
    assert model.price(RECORDS.twin()).event == model.price(RECORDS).event
    assert model.set_params(random_state=3).price(RECORDS).affordable is True


def test_a_price_says_whom_it_protects_and_an_account_for_others_refuses(ledger, tmp_path):
    """Of persons' rows the neighbours are persons; the refusal is the one that the fit would meet."""
    model, ids = PrivateLogisticRegression(0.5, data_norm=1.0), np.arange(300) // 2
    assert model.price(X).unit == "record"
    assert "(replace-one person neighbours by 'groups')" in str(model.price(X, groups=ids))
    people = Ledger.create(f"sqlite:///{tmp_path / 'people.db'}", name="p", budget=Budget(1), unit="person")
    assert str(PrivateLogisticRegression(0.5, ledger=people).price()).startswith(
        "PrivateLogisticRegression costs epsilon=0.5, delta=0 (replace-one person neighbours)"
    )
    for account, groups in ((people, None), (ledger, ids)):
        paid = PrivateLogisticRegression(0.5, data_norm=1.0, classes=[0, 1], ledger=account)
        with pytest.raises(InvalidParameter, match="Nothing was charged") as told:
            paid.price(X, groups=groups)
        with pytest.raises(InvalidParameter) as met:
            paid.fit(X, Y, groups=groups)
        assert str(told.value) == str(met.value)
