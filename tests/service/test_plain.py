"""What goes over the wire and back is the same: reports of every kind, from the table that was released."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from tacit.errors import ServiceError
from tacit.estimators.learned_from import FITTED, HELD_OUT, PARTLY, UNKNOWN
from tacit.evaluation import report
from tacit.service.plain import plain_report, report_of

DRAW = np.random.default_rng(4)
X = DRAW.normal(size=(600, 2))
TARGETS = {
    "two": np.where(X[:, 0] > 0, "yes", "no"),
    "whole numbers": (X[:, 0] > 0).astype(np.int64),
    "several": DRAW.choice(["a", "b", "c"], 600),
    "numbers": np.clip(X[:, 0], -1, 1),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_report_goes_to_plain_values_and_back(kind, delta):
    """Its kind, its classes in their own type, its promise, and every figure to the last bit."""
    y = TARGETS[kind]
    model = LinearRegression().fit(X, y) if kind == "numbers" else LogisticRegression().fit(X, y)
    how = {"target_range": (-1, 1)} if kind == "numbers" else {}
    told = report(model, X, y, epsilon=2.0, delta=delta, **how)
    back = report_of(json.loads(json.dumps(plain_report(told), allow_nan=False)))
    assert type(back) is type(told)
    assert back.release.guarantee == told.release.guarantee
    assert back.release.event == told.release.event
    assert back.figures() == told.figures()
    assert back.judged == told.judged == "judged"
    if kind != "numbers":
        assert list(back.classes) == list(told.classes)
        assert [type(each) for each in back.classes] == [type(each) for each in told.classes]
    if kind == "several":
        assert back.of("b").figures() == told.of("b").figures()


@pytest.mark.parametrize("judged", [HELD_OUT, UNKNOWN, FITTED, PARTLY])
@pytest.mark.parametrize("kind", TARGETS)
def test_how_a_model_was_judged_goes_along(kind, judged):
    """Whatever the records are to the model, what comes back says the same, for each class too; no other words."""
    y = TARGETS[kind]
    model = LinearRegression().fit(X, y) if kind == "numbers" else LogisticRegression().fit(X, y)
    how = {"target_range": (-1, 1)} if kind == "numbers" else {}
    told = replace(report(model, X, y, epsilon=2.0, **how), judged=judged)
    plain = plain_report(told)
    back = report_of(plain)
    assert back.title == told.title
    if kind == "several":
        assert back.of("b").judged == judged
    plain["value"]["judged"] = "<b>well</b>"
    with pytest.raises(ServiceError):
        report_of(plain)


@pytest.mark.parametrize("plain", [None, {}, {"kind": "two", "value": {}}, {"kind": "other", "value": {}}, [1], "x"])
def test_what_is_no_report_is_refused_in_words(plain):
    """Another tacit, or no tacit: a service error, whatever it sent."""
    with pytest.raises(ServiceError, match="another form"):
        report_of(plain)
