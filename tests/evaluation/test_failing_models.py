"""A model that fails on a record is answered about, charged for, and judged by what it says of all others."""

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema, evaluation
from tacit.data import Category, Flag, Number
from tacit.errors import InvalidParameter
from tacit.evaluation import reporting

SIZE = 90
X = np.random.default_rng(0).normal(size=(SIZE, 2))
Y = (X[:, 0] > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
ODD = X.copy()
ODD[[7, 8, 60]] = [[math.nan, 0.0], [0.0, math.inf], [math.nan, math.nan]]
ASK = [evaluation.accuracy, evaluation.log_loss, evaluation.confusion_matrix, evaluation.report]
ROWS: list[Callable[[Any], Any]] = [
    np.asarray, csr_matrix, pd.DataFrame, pl.DataFrame, lambda rows: rows.tolist(), lambda rows: tuple(rows.tolist()),
    lambda rows: pa.table({str(place): column for place, column in enumerate(rows.T)}),
]  # fmt: skip


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("make", ROWS)
def test_rows_that_a_model_fails_on_are_charged_like_any(
    ask: Callable[..., Any], make: Callable[[Any], Any], ledger: Ledger
) -> None:
    """Both neighbours pay and are answered: before, whether any row was no number was told for nothing."""
    for rows in (X, ODD):
        ask(MODEL, make(rows), Y, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(2)


@pytest.mark.parametrize("make", ROWS)
def test_a_row_that_a_model_fails_on_is_that_rows_alone(
    make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as wrong, or nowhere; the others are judged as if it were not there."""
    good = [place for place in range(SIZE) if np.all(np.isfinite(ODD[place]))]
    named: dict[str, Any] = {"epsilon": 1e6, "random_state": 0}
    exact = np.zeros((2, 2))
    np.add.at(exact, (Y[good], MODEL.predict(X[good])), 1)
    assert np.allclose(evaluation.confusion_matrix(MODEL, make(ODD), Y, **named).value, exact, atol=1e-2)
    right = MODEL.predict(X[good]) == Y[good]
    assert evaluation.accuracy(MODEL, make(ODD), Y, **named).value == pytest.approx(right.sum() / SIZE, abs=1e-4)
    own = -np.log(MODEL.predict_proba(X[good])[np.arange(len(good)), Y[good]]).clip(-5, 5)
    worst = evaluation.log_loss(MODEL, make(ODD), Y, largest=5.0, **named).value
    assert worst == pytest.approx((own.sum() + 3 * 5) / SIZE, abs=1e-3)
    monkeypatch.setattr(reporting, "_can_choose", lambda *_: False)
    both = [evaluation.report(MODEL, make(rows), Y, **named).release.value.counts for rows in (X, ODD)]
    assert 0 < sum(np.abs(one - other).sum() for one, other in zip(*both, strict=True)) <= 2 * 3 + 1e-2


def test_a_regression_that_fails_on_a_row_is_taken_to_say_the_middle() -> None:
    """As a prediction that is no number is."""
    model = LinearRegression().fit(X, X[:, 0])
    errors = [
        evaluation.report(model, rows, X[:, 0], epsilon=1e6, target_range=(-3, 3), random_state=0).mae.value
        for rows in (X, ODD)
    ]
    assert abs(errors[0] - errors[1]) <= 3 * 3 / SIZE


def test_all_rows_that_a_model_fails_on_are_answered_too(ledger: Ledger) -> None:
    """Whoever holds nothing but such rows learns that with noise, for a charge."""
    found = evaluation.accuracy(MODEL, np.full((SIZE, 2), math.nan), Y, epsilon=10.0, ledger=ledger)
    assert found.value < 0.2
    assert ledger.spent == Budget(10)


class Dropping:
    """A model that leaves out rows with missing values."""

    classes_ = np.array([0, 1])

    def predict(self, rows: Any) -> Any:
        """Return predictions of the rows that are whole."""
        return MODEL.predict(rows[np.all(np.isfinite(rows), axis=1)])


def test_a_model_that_leaves_out_rows_tells_nothing_by_their_number(ledger: Ledger) -> None:
    """Rows that it leaves out are wrong; the others are asked without them."""
    found = evaluation.accuracy(Dropping(), ODD, Y, epsilon=1e6, random_state=0)
    assert found.value == pytest.approx(np.mean((MODEL.predict(X) == Y) & np.all(np.isfinite(ODD), axis=1)), abs=1e-4)


def test_a_model_that_fails_on_some_made_up_rows_only_is_not_refused() -> None:
    """A logarithm fails at 0 and is right elsewhere."""
    rows = np.exp(X)
    model = make_pipeline(FunctionTransformer(np.log), LogisticRegression()).fit(rows, Y)
    assert evaluation.accuracy(model, rows, Y, epsilon=1e6, random_state=0).value > 0.9


MIXED = Schema({"a": Number(-3, 3), "b": Category(["u", "v"]), "t": Flag("no", "yes")}, target="t")


@pytest.mark.parametrize("ask", ASK)
def test_a_model_of_other_columns_is_refused_in_public(ask: Callable[..., Any], ledger: Ledger) -> None:
    """Whatever the records: too many columns, another schema, a model of arrays asked about records, one not fitted."""
    table = {"a": X[:, 0], "b": ["u", "v"] * (SIZE // 2), "t": np.where(Y, "yes", "no")}
    of_records = PrivateLogisticRegression(1.0, random_state=0).fit(Records(table, MIXED))
    other = Schema({"c": Number(-3, 3), "t": Flag("no", "yes")}, target="t")
    named = LogisticRegression().fit(X, np.where(Y, "yes", "no"))
    cases = [
        (MODEL, np.column_stack([ODD, ODD]), Y),
        (MODEL, pd.DataFrame(np.column_stack([X, X])), Y),
        (of_records, Records({"c": X[:, 0], "t": table["t"]}, other), None),
        (named, Records(table, MIXED), None),
    ]
    for model, rows, targets in cases:
        with pytest.raises(InvalidParameter, match="made-up rows"):
            ask(model, rows, targets, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []
    ask(of_records, Records(table, MIXED), epsilon=1.0, ledger=ledger)
    ask(of_records, of_records.encoder_.transform(table), table["t"], epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(2)


@pytest.mark.parametrize(
    "make", [np.asarray, np.asfortranarray, lambda rows: rows[::-1], pd.DataFrame, lambda rows: rows.tolist()]
)
@pytest.mark.parametrize("columns", [7, 11, 20])
def test_a_row_that_a_model_fails_on_leaves_the_last_bit_of_all_others(
    make: Callable[[Any], Any], columns: int
) -> None:
    """Records on the edge of a class: what fewer rows add up to took a dozen of them to the other side."""
    generator, size = np.random.default_rng(columns), 1023
    model = PrivateLogisticRegression(1.0, data_norm=1.0, classes=[0, 1], random_state=0)
    model.fit(generator.normal(size=(50, columns)), np.arange(50) % 2)
    rows = np.tile(generator.normal(size=columns), (size, 1))
    model.coef_, model.intercept_ = generator.normal(size=(1, columns)), np.zeros(1)
    scores = model.decision_function(rows)
    odd = rows.copy()
    odd[size // 3] = np.nan
    for edge in {scores[0], np.nextafter(scores[0], math.inf), np.nextafter(scores[0], -math.inf)}:
        model.intercept_ = -np.array([edge])
        counts = [
            evaluation.accuracy(model, make(each), np.zeros(size, dtype=int), epsilon=1e6, random_state=0).value * size
            for each in (rows, odd)
        ]
        assert abs(counts[0] - counts[1]) < 1.1


@pytest.mark.parametrize("make", [memoryview, lambda rows: dict(enumerate(rows.T)), lambda rows: deque(rows)])
def test_a_table_without_rows_to_take_is_refused(make: Callable[[Any], Any], ledger: Ledger) -> None:
    """If a model failed on one of its rows, it could not be asked about the others."""
    with pytest.raises(InvalidParameter, match="rows cannot be taken out of a"):
        evaluation.accuracy(MODEL, make(X), Y, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(0)


class Odd:
    """A model whose answers are of a kind of array that gives other cells than it seems to hold; it fails on NaN."""

    classes_ = np.array(["0 ", "1 "])

    def predict(self, rows: Any) -> Any:
        """Return texts, whose blanks go when one of them is taken."""
        return np.char.chararray.__new__(np.char.chararray, len(rows), 2, unicode=True) + self._known(rows)

    def predict_proba(self, rows: Any) -> Any:
        """Return a matrix, each row of which is a matrix again."""
        return np.matrix(MODEL.predict_proba(rows))

    def _known(self, rows: Any) -> Any:
        return self.classes_[MODEL.predict(rows)]


@pytest.mark.parametrize("ask", [evaluation.log_loss, evaluation.accuracy])
def test_answers_of_odd_arrays_are_read_alike_whether_a_row_fails_or_not(ask: Callable[..., Any]) -> None:
    """One record replaced took all others to the worst there is."""
    labels = Odd.classes_[Y]
    odd = X.copy()
    odd[7] = math.nan
    found = [ask(Odd(), rows, labels, epsilon=1e6, random_state=0).value * SIZE for rows in (X, odd)]
    assert abs(found[0] - found[1]) < 11


def test_rows_of_a_frame_may_have_any_names() -> None:
    """An index of intervals could not be read anew for made-up rows."""
    frame = pd.DataFrame(X, index=pd.interval_range(0, SIZE))
    assert evaluation.accuracy(MODEL, frame, Y, epsilon=1e6, random_state=0).value > 0.9
