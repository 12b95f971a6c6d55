"""Labels and tasks that cannot match are refused by what is public, whatever the records, and not charged."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema, evaluation
from tacit.data import Category, Flag, Number
from tacit.errors import InvalidParameter
from tacit.queries import SQKMeans

SIZE = 60
X = np.linspace(-1, 1, SIZE)[:, None]
Y = (X[:, 0] > 0).astype(int)
NAMES = np.where(Y, "yes", "no")
NUMBERS, TEXTS = LogisticRegression().fit(X, Y), LogisticRegression().fit(X, NAMES)
ASK = [evaluation.accuracy, evaluation.log_loss, evaluation.confusion_matrix, evaluation.report]
OF_TEXTS: list[Callable[[Any], Any]] = [
    np.array,
    pd.Series,
    lambda names: pd.Series(names, dtype="string"),
    lambda names: pd.Series(names, dtype="string[pyarrow]"),
    lambda names: pd.Series(names).astype("category"),
    pl.Series,
    pa.array,
]
OF_NUMBERS: list[Callable[[Any], Any]] = [
    np.array,
    pd.Series,
    lambda labels: pd.Series(labels, dtype="Int64"),
    lambda labels: pd.Series(labels, dtype="int64[pyarrow]"),
    lambda labels: pd.Series(labels == 1, dtype="boolean"),
    lambda labels: pd.Series(labels).astype("category"),
    lambda labels: pl.Series(labels.astype(float)),
    lambda labels: pa.array(labels.astype(float)),
]


@pytest.mark.parametrize("ask", ASK)
def test_labels_of_another_stored_type_are_refused(ask: Callable[..., Any], ledger: Ledger) -> None:
    """Texts for classes that are numbers, and numbers for texts, in the columns of every library."""
    for model, labels, makes in ((NUMBERS, NAMES, OF_TEXTS), (TEXTS, Y, OF_NUMBERS)):
        for make in makes:
            with pytest.raises(InvalidParameter, match="none can match"):
                ask(model, X, make(labels), epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("ask", ASK)
def test_labels_of_the_same_type_are_answered_whatever_they_are(ask: Callable[..., Any], ledger: Ledger) -> None:
    """Also where none of them matches, and where a type says nothing: which labels there are is theirs alone."""
    asked = 0
    for model, labels, makes in ((TEXTS, NAMES, OF_TEXTS), (NUMBERS, Y, OF_NUMBERS)):
        for make in makes:
            ask(model, X, make(labels), epsilon=1.0, ledger=ledger)
            asked += 1
    for odd in (Y + 0.5, np.array([*NAMES[1:], 7], dtype=object), list(NAMES)):
        ask(NUMBERS, X, odd, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(asked + 3)


@pytest.mark.parametrize("ask", ASK)
def test_records_that_declare_none_of_the_classes_are_refused(ask: Callable[..., Any], ledger: Ledger) -> None:
    """By the schema, which is public; with one class in common they are answered."""
    first = Schema({"a": Number(-1, 1), "t": Flag("no", "yes")}, target="t")
    model = PrivateLogisticRegression(1.0, random_state=0).fit(Records({"a": X[:, 0], "t": NAMES}, first))
    for levels, fits in ((["lo", "hi"], False), (["yes", "hi"], True)):
        schema = Schema({"a": Number(-1, 1), "t": Category(levels, positive=levels[0])}, target="t")
        records = Records({"a": X[:, 0], "t": np.where(Y, "hi", "lo")}, schema)
        if fits:
            ask(model, records, epsilon=1.0, ledger=ledger)
        else:
            with pytest.raises(InvalidParameter, match="none of the model's classes"):
                ask(model, records, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(1)


@pytest.mark.parametrize("ask", ASK)
def test_what_predicts_no_target_and_what_is_not_fitted_is_refused(ask: Callable[..., Any], ledger: Ledger) -> None:
    """A clusterer is no regression, and a classifier that is not fitted none either."""
    bounded: dict[str, Any] = {"target_range": (0, 1)} if ask is evaluation.report else {}
    for model, words in (
        (KMeans(2, n_init=1).fit(X), "predicts no target"),
        (make_pipeline(FunctionTransformer(), KMeans(2, n_init=1)).fit(X), "predicts no target"),
        (SQKMeans(2, 5.0, bounds=(-1, 1), random_state=0).fit(X), "predicts no target"),
        (LogisticRegression(), "not fitted"),
        (PrivateLogisticRegression(1.0, data_norm=1.0), "not fitted"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            ask(model, X, Y, epsilon=1.0, ledger=ledger, **bounded)
    assert ledger.entries() == []


class Bare:
    """A model of somebody's own that lists no classes."""

    def predict(self, rows: Any) -> Any:
        """Return a class."""
        return np.zeros(len(rows), dtype=int)


def test_without_a_list_of_classes_there_is_accuracy_and_no_more(ledger: Ledger) -> None:
    """Predictions are compared with labels; counts and probabilities of classes need to know which there are."""
    for ask in (evaluation.confusion_matrix, evaluation.log_loss):
        with pytest.raises(InvalidParameter, match="classes_"):
            ask(Bare(), X, Y, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []
    assert 0 <= evaluation.accuracy(Bare(), X, Y, epsilon=1.0, ledger=ledger).value <= 1


class Lists(Bare):
    """A model that lists its classes in some way."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes

    def predict_proba(self, rows: Any) -> Any:
        """Return what a model of two classes does."""
        return NUMBERS.predict_proba(rows)


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize(
    "classes",
    [{0, 1}, {0: "a", 1: "b"}, 2, "01", iter([0, 1]), [np.array([0, 1])] * 2, np.array([[0, 1]]), [[0], [1]], [None, 1],
     [0, math.nan], [object(), 1]],
    ids=lambda classes: type(classes).__name__,
)  # fmt: skip
def test_classes_without_an_order_are_refused_before_the_charge(
    classes: Any, ask: Callable[..., Any], ledger: Ledger
) -> None:
    """A set was counted and paid for, and then no report could be made of it."""
    with pytest.raises(InvalidParameter, match="classes_ must list"):
        ask(Lists(classes), X, Y, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("make", [list, tuple, pd.Series, pd.Categorical, pl.Series, pa.array])
def test_classes_in_any_list_are_those_in_an_array(make: Callable[[Any], Any]) -> None:
    """A report and a matrix over them are the same."""
    classes = make([0, 1])
    for ask in (evaluation.report, evaluation.confusion_matrix):
        told = [str(ask(Lists(each), X, Y, epsilon=1.0, random_state=1)) for each in (np.array([0, 1]), classes)]
        assert told[0] == told[1]


@pytest.mark.parametrize("ask", ASK)
def test_rows_and_targets_are_equally_long(ask: Callable[..., Any], ledger: Ledger) -> None:
    """One target for each row; a regression is asked for numbers."""
    for rows in (X[:-1], X[:-1].tolist(), pd.DataFrame(X[:-1]), pa.array(X[:-1, 0]), pa.array(np.append(X, 0.0))):
        with pytest.raises(InvalidParameter, match="equally long"):
            ask(NUMBERS, rows, Y, epsilon=1.0, ledger=ledger)
    model = LinearRegression().fit(X, Y)
    for make in OF_TEXTS:
        with pytest.raises(InvalidParameter, match="texts"):
            evaluation.report(model, X, make(NAMES), epsilon=1.0, target_range=(0, 1), ledger=ledger)
    assert ledger.entries() == []
