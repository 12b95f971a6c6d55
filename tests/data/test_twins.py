"""Twins: made-up records that follow the schema and nothing else, and are never charged or called private."""

import numpy as np
import pandas as pd
import pytest

from support.opened import cells_of, view_of
from tacit import (
    Budget,
    Ledger,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    Records,
    StatisticalOracle,
    StatisticalQuery,
)
from tacit.data import Category, Flag, Ignored, Key, Moment, Number, Ordinal, Schema
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, PrivateKernelClassifier
from tacit.queries import SQDecisionTree, SQPerceptron

SCHEMA = Schema(
    {
        "id": Key(),
        "age": Number(18, 90),
        "income": Number(0, 1e6, log=True),
        "seen": Moment("2015-01-01", "2020-01-01"),
        "ward": Category(["A", "B", "C"]),
        "pain": Ordinal(["none", "some", "much"]),
        "note": Ignored(),
        "ill": Flag(),
    },
    target="ill",
)


@pytest.fixture
def ledger(tmp_path):
    """A real ledger that must stay as it is."""
    return Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", name="l", budget=Budget(1))


def test_a_twin_follows_the_schema_and_says_what_it_is():
    """Every cell is as declared, in all its range; the same seed gives the same records; the repr says made up."""
    twin = SCHEMA.twin(3000, 5, key="id")
    found = cells_of(twin)
    assert twin.mismatches(epsilon=1).release.private is False
    assert not view_of(twin).mismatches(tuple(twin.columns)).any()
    assert 18 <= found["age"].min() < 19 < 89 < found["age"].max() <= 90
    assert set(found["ward"]) == {0, 1, 2}
    assert abs((found["age"] > 54).mean() - 0.5) < 0.1
    again = cells_of(SCHEMA.twin(3000, 5, key="id"))
    assert all(np.array_equal(found[name], again[name]) for name in found)
    assert not np.array_equal(found["age"], cells_of(SCHEMA.twin(3000, 6))["age"])
    assert "MADE UP" in repr(twin)
    assert all("MADE UP" in repr(part) and part.is_twin for part in twin.split(by="key"))


def test_a_twin_knows_nothing_of_the_records_but_their_number_and_schema():
    """Two tables under one schema have the same twin, whatever is in them."""
    frames = [
        pd.DataFrame({name: [value] * 50 for name, value in row.items()})
        for row in (
            {
                "id": 1,
                "age": 20,
                "income": 1,
                "seen": pd.Timestamp("2015-02-01"),
                "ward": "A",
                "pain": "none",
                "ill": "true",
            },
            {"id": 2, "age": 80, "income": 9e5, "seen": pd.NaT, "ward": "nowhere", "pain": "much", "ill": "false"},
        )
    ]
    first, second = (cells_of(Records(frame, SCHEMA).twin(3)) for frame in frames)
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLogisticRegression(1.0),
        PrivateLogisticRegression(1.0, 1e-6),
        PrivateKernelClassifier(RBF(1.0), 1.0, landmarks=20),
        SQDecisionTree(1.0),
        SQPerceptron(1.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_fit_on_a_twin_is_a_rehearsal_that_no_ledger_pays(estimator, ledger):
    """The whole analysis runs under the real ledger and leaves it as it was; the model is marked as not private."""
    model = estimator.set_params(ledger=ledger) if hasattr(estimator, "set_params") else estimator
    model.fit(SCHEMA.twin(2000, 1))
    assert not model.release_.private
    assert model.release_.entry is None
    assert model.random_state is None
    assert model.ledger is ledger
    assert ledger.entries() == []


def test_an_oracle_over_a_twin_answers_without_a_charge(ledger):
    """Answers are marked as rehearsals, for a part of the twin too."""
    for records in (SCHEMA.twin(2000, 1), *SCHEMA.twin(2000, 1).split()):
        oracle = StatisticalOracle(records, ledger=ledger)
        answer = oracle.ask(StatisticalQuery(lambda t: t.age > 54), tolerance=0.1, confidence=0.9)
        assert "NOT private" in str(answer)
    assert ledger.entries() == []


def test_there_is_something_to_learn_unless_the_signal_is_none():
    """A model finds the made-up rule; without a signal it finds nothing (the twin)."""
    for signal, low, high in ((3.0, 0.75, 1.0), (0.0, 0.4, 0.6)):
        train, test = SCHEMA.twin(6000, 2, signal=signal).split()
        model = PrivateLogisticRegression(np.inf).fit(train)
        right = model.predict(test) == np.array(["false", "true"])[cells_of(test)["ill"]]
        assert low < right.mean() < high


def test_numbers_to_predict_follow_a_rule_too():
    """A regression on a twin explains most of its target."""
    schema = Schema({"x": Number(0, 1), "z": Flag(), "y": Number(-5, 5)}, target="y")
    twin = schema.twin(4000, 3)
    model = PrivateLinearRegression(np.inf).fit(twin)
    y = cells_of(twin)["y"]
    assert np.mean((model.predict(twin) - y) ** 2) < 0.5 * np.var(y)


def test_what_makes_no_sense_is_refused():
    """A number, a seed and a signal must be what they are."""
    for wrong in ({"n": 0}, {"n": 1.5}, {"seed": -1}, {"seed": None}, {"signal": -1}, {"signal": np.nan}):
        with pytest.raises(InvalidParameter):
            SCHEMA.twin(**({"n": 10, "seed": 0} | wrong))
