"""epsilon_for: rehearsals on made-up or public data, never on private ones."""

import math

import numpy as np
import pytest

import tacit
from tacit import PrivateLinearRegression, PrivateLogisticRegression, Records
from tacit.data import Flag, Key, Number, Schema
from tacit.errors import InvalidParameter
from tacit.model_selection import epsilon_for, sensible_epsilon
from tacit.model_selection.needed import LADDER

SCHEMA = Schema({"a": Number(0, 1), "b": Number(0, 1), "yes": Flag()}, target="yes")
MODEL = PrivateLogisticRegression()


def test_more_records_need_less_epsilon():
    """The epsilon for a target falls with n, lies within its own range, and rises with the target."""
    few, many = (epsilon_for(MODEL, SCHEMA, n=n, accuracy=0.7, repeats=4) for n in (300, 6000))
    assert few.low <= few.epsilon <= few.high
    assert many.epsilon < few.epsilon < math.inf
    assert epsilon_for(MODEL, SCHEMA, n=300, accuracy=0.999, repeats=2).epsilon == math.inf
    assert len(few.curve) == len(LADDER)
    assert few.without > 0.7
    assert "made-up" in str(few)
    assert "no epsilon" in str(epsilon_for(MODEL, SCHEMA, n=300, accuracy=0.999, repeats=2))


def test_private_records_are_never_touched():
    """Two tables of one form need the same epsilon, whatever they hold; public ones are rehearsed on as they are."""
    yes = np.arange(400) % 2 == 0
    learnable = Records({"a": yes.astype(float), "b": np.zeros(400), "yes": yes}, SCHEMA)
    constant = Records({"a": np.zeros(400), "b": np.zeros(400), "yes": yes}, SCHEMA)
    told = [epsilon_for(MODEL, each, accuracy=0.75, repeats=2) for each in (learnable, constant)]
    assert told[0] == told[1]
    with tacit.public_data():
        told = [epsilon_for(MODEL, each, accuracy=0.75, repeats=2) for each in (learnable, constant)]
    assert told[0].epsilon < 3 < told[1].epsilon == math.inf


def test_arrays_must_be_said_to_be_public():
    """Rows in arrays are refused unless they are public, and then rehearsed on."""
    X = np.random.default_rng(0).normal(size=(500, 2)) / 3
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(data_norm=1.0)
    with pytest.raises(InvalidParameter, match="public_data"):
        epsilon_for(model, (X, y), accuracy=0.8)
    with tacit.public_data():
        assert 0.01 < epsilon_for(model, (X, y), accuracy=0.85, repeats=3).epsilon < 10


@pytest.mark.parametrize(
    ("estimator", "data", "changes"),
    [(PrivateLinearRegression(), SCHEMA, {"n": 9}), (MODEL, SCHEMA, {}), (MODEL, SCHEMA, {"n": 9, "accuracy": 1}),
     (MODEL, SCHEMA, {"n": 0}), (MODEL, SCHEMA, {"n": 1}), (MODEL, SCHEMA, {"n": 9, "repeats": 0})],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(estimator, data, changes):
    """A classifier, a number of records, an accuracy between 0 and 1."""
    with pytest.raises(InvalidParameter):
        epsilon_for(estimator, data, **({"accuracy": 0.8} | changes))


@pytest.mark.parametrize(
    "data", [5, None, "ab", (1,), (np.zeros((9, 2)), np.arange(9) % 2, 3), np.zeros((2, 3))], ids=str
)
def test_what_is_no_data_is_refused_in_words(data):
    """Neither a schema nor records nor a pair: numpy's and Python's own errors said nothing of that."""
    with tacit.public_data(), pytest.raises(InvalidParameter, match=r"Records or a pair \(X, y\)"):
        epsilon_for(MODEL, data, accuracy=0.8)


def test_one_record_cannot_be_learned_from_and_judged_on():
    """Wherever it comes from; two can. Persons without an id are in one part together."""
    one = Records({"a": [0.5], "b": [0.5], "yes": [True]}, SCHEMA)
    with pytest.raises(InvalidParameter, match="at least 2 records"):
        epsilon_for(MODEL, one, accuracy=0.8)
    nobody = {"a": [0.5] * 9, "b": [0.5] * 9, "yes": [True] * 9, "who": [None] * 9}
    persons = Records(nobody, Schema({**SCHEMA.columns, "who": Key()}, target="yes"), unit="who")
    for data, kind in ((one, "record"), (persons, "person")):
        with tacit.public_data(), pytest.raises(InvalidParameter, match=f"at least 2 {kind}s"):
            epsilon_for(MODEL, data, accuracy=0.8)
    assert epsilon_for(MODEL, SCHEMA, n=2, accuracy=0.8, repeats=1).epsilon > 0


def test_the_rule_of_thumb_is_for_public_quantities():
    """With 569 records of 30 columns little is to be expected below epsilon 1; a delta and more records help."""
    assert 0.8 < sensible_epsilon(569, 30) < 1.2
    assert sensible_epsilon(569, 30, delta=1e-4) < sensible_epsilon(569, 30)
    assert sensible_epsilon(56_900, 30) == sensible_epsilon(569, 30) / 100
    for wrong in ({"n": 0}, {"columns": 0}, {"delta": 1}):
        with pytest.raises(InvalidParameter):
            sensible_epsilon(**({"n": 10, "columns": 2, "delta": 0.0} | wrong))
