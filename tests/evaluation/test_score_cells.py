"""Scores read labels and predictions cell by cell; no label, probability or failure of a model tells a record."""

import math
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import Budget, Ledger, evaluation
from tacit.errors import InvalidParameter


class Fixed:
    """A model that says what it was made to say."""

    def __init__(self, classes: Any, predictions: Any, chances: Any = None) -> None:
        self.classes_, self._predictions, self._chances = classes, predictions, chances

    def predict(self, X: object) -> Any:
        """Return the predictions, whatever is asked."""
        return self._predictions() if callable(self._predictions) else self._predictions

    def predict_proba(self, X: object) -> Any:
        """Return the probabilities, whatever is asked."""
        return self._chances() if callable(self._chances) else self._chances


class Hostile:
    """An object that fails whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __hash__(self) -> int:
        raise RuntimeError("secret")


ODD = [
    None, "?", "1", b"1", 1j, math.nan, math.inf, 10**400, 2**53 + 1, Decimal("sNaN"), Fraction(1, 3), date(2020, 1, 1),
    pd.NA, pd.NaT, [1], (1,), {}, object(), Hostile(), np.array([1, 2]), np.array(1), True, np.float32(0.5), "\ud800",
]  # fmt: skip
SIZE = 100
LABELS = [0, 1] * (SIZE // 2)
CHANCES = np.tile([[0.75, 0.25]], (SIZE, 1))


def _scores(model: Any, y: Any) -> tuple[float, float, np.ndarray]:
    """Return accuracy, log-loss and confusion matrix with one and the same noise, nearly none."""
    named: dict[str, Any] = {"epsilon": 1e6, "random_state": 0}
    return (
        evaluation.accuracy(model, [None] * len(y), y, **named).value,
        evaluation.log_loss(model, [None] * len(y), y, largest=5.0, **named).value,
        evaluation.confusion_matrix(model, [None] * len(y), y, **named).value,
    )


@pytest.mark.parametrize("odd", range(len(ODD)))
def test_one_odd_label_changes_no_other_record(odd: int) -> None:
    """Whatever one label is, scores move by one record's share at most, without an error or a warning."""
    model = Fixed([0, 1], np.zeros(SIZE, dtype=int), CHANCES)
    with np.errstate(all="raise"):
        before, after = _scores(model, LABELS), _scores(model, [*LABELS[:-1], ODD[odd]])
    assert abs(before[0] - after[0]) <= 1 / SIZE + 1e-6
    assert abs(before[1] - after[1]) <= 5 / SIZE + 1e-6
    assert np.sum(np.abs(before[2] - after[2])) <= 2.001


@pytest.mark.parametrize("odd", range(len(ODD)))
def test_one_odd_prediction_changes_no_other_record(odd: int) -> None:
    """Whatever a model predicts for one record, the others are scored as before."""
    plain = [0] * SIZE
    before = _scores(Fixed([0, 1], plain, CHANCES.tolist()), LABELS)
    strange: list[Any] = CHANCES.tolist()
    strange[0] = [ODD[odd], 0.25]
    after = _scores(Fixed([0, 1], [ODD[odd], *plain[1:]], strange), LABELS)
    assert abs(before[0] - after[0]) <= 1 / SIZE + 1e-6
    assert abs(before[1] - after[1]) <= 5 / SIZE + 1e-6
    assert np.sum(np.abs(before[2] - after[2])) <= 2.001


def test_labels_read_as_a_whole_are_caught() -> None:
    """The twin: compared after `np.asarray`, one "?" makes every record wrong."""
    whole = [np.mean(np.zeros(SIZE, dtype=int) == np.asarray([*LABELS[:-1], last])) for last in (1, "?")]
    assert whole[0] - whole[1] > 0.4


@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda y: np.array(y, dtype=object),
     lambda y: pd.Series(y, dtype="Int64"), lambda y: np.array(y, dtype=float), lambda y: [float(each) for each in y],
     lambda y: np.array(y, dtype=bool)],
)  # fmt: skip
def test_labels_in_every_container_are_scored_alike(make: Callable[[list[int]], Any]) -> None:
    """Lists, arrays and series, of whole numbers, floats or truth values, are the same labels."""
    model = Fixed(np.array([0, 1]), np.zeros(SIZE, dtype=int), CHANCES)
    for wanted, found in zip(_scores(model, LABELS), _scores(model, make(LABELS)), strict=True):
        assert np.array_equal(wanted, found)


def test_whole_numbers_beyond_the_digits_of_a_float_are_compared_exactly() -> None:
    """A prediction of 2^53 is not right about 2^53 + 1, and a float label is of one class at most."""
    classes = [2**53, 2**53 + 1]
    for y in ([2**53 + 1], np.array([2**53 + 1]), [Fraction(2**53 + 1)]):
        for predicted in ([2**53], np.array([2**53]), np.array([2.0**53]), np.array([2**53], dtype=object)):
            share, _, counts = _scores(Fixed(classes, predicted, [[0.5, 0.5]]), y)
            assert share == pytest.approx(0, abs=1e-3)
            assert counts[1, 0] == pytest.approx(1, abs=1e-3)
    assert np.sum(_scores(Fixed(classes, [2.0**53], [[0.5, 0.5]]), [2.0**53])[2]) == pytest.approx(1, abs=1e-2)


def test_a_record_is_counted_once_or_nowhere() -> None:
    """A prediction that is no class is counted nowhere: before, it was put at the next class's first column."""
    counts = _scores(Fixed(["a", "b"], ["a", "z", "b", "b"], np.full((4, 2), 0.5)), ["a", "a", "b", None])[2]
    assert np.allclose(counts, [[1, 0], [0, 1]], atol=1e-3)
    twice = _scores(Fixed([1, True], [1], [[0.5, 0.5]]), [1])[2]
    assert np.sum(twice) == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize(
    ("chance", "loss"),
    [(0.0, 1000.0), (math.nan, 1000.0), (-0.5, 1000.0), (-math.inf, 1000.0), (5e-324, 744.4400719213812), (1.0, 0.0),
     (1.5, 0.0), (math.inf, 0.0), (math.exp(-3), 3.0)],
)  # fmt: skip
def test_every_probability_has_a_loss(chance: float, loss: float, ledger: Ledger) -> None:
    """Zero, NaN and what lies outside [0, 1] cost `largest` or nothing, in arrays and lists, without a warning."""
    for chances in (np.array([[chance, 0.5]]), [[chance, 0.5]], [np.array([chance, 0.5])]):
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            score = evaluation.log_loss(
                Fixed([0, 1], None, chances), [None], [0], epsilon=1e6, largest=1000, random_state=0
            )
        assert score.value == pytest.approx(loss, abs=1e-2)
    charged = evaluation.log_loss(
        Fixed([0, 1], None, np.array([[chance, 0.5]])), [None], [0], epsilon=1, largest=1000, ledger=ledger
    )
    assert ledger.spent == Budget(1)
    assert charged.release.private


def _failing() -> Any:
    raise ValueError("row 17 holds secret")


def _warning() -> Any:
    warnings.warn("row 17 holds secret", stacklevel=1)
    np.float64(1e308) * np.float64(10)
    return [0]


ASK = [evaluation.accuracy, evaluation.log_loss, evaluation.confusion_matrix]


@pytest.mark.parametrize("ask", ASK)
def test_a_model_that_fails_on_made_up_rows_is_refused(ask: Callable[..., Any], ledger: Ledger) -> None:
    """It fails in public, before the charge; neither the message nor what led to it quotes a record."""
    with pytest.raises(InvalidParameter, match="made-up rows") as caught:
        ask(Fixed([0, 1], _failing, _failing), np.full((1, 2), 5.0), [0], epsilon=1, ledger=ledger)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert ledger.entries() == []


@pytest.mark.parametrize("ask", ASK)
def test_a_model_that_fails_where_no_rows_can_be_made_up_is_charged_for(
    ask: Callable[..., Any], ledger: Ledger
) -> None:
    """Whether a model answers for records is not told for nothing: it says nothing about them, and that is judged."""
    ask(Fixed([0, 1], _failing, _failing), ["a record"], [0], epsilon=1, ledger=ledger)
    assert ledger.spent == Budget(1)


def test_the_warnings_of_a_model_are_not_passed_on() -> None:
    """Warnings, also of numpy, that a model gives about some row are silenced, whatever the caller wants of them."""
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="raise"):
        warnings.simplefilter("always")
        evaluation.accuracy(Fixed([0, 1], _warning), [None], [0], epsilon=1)
    assert heard == []


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("said", [np.zeros((2, 1)), None, 5, "ab", np.zeros((2, 3))])
def test_answers_of_another_shape_are_refused(ask: Callable[..., Any], said: Any, ledger: Ledger) -> None:
    """One prediction, or one row of probabilities, for each row: a model with others is refused, and not charged."""
    with pytest.raises(InvalidParameter, match="another shape"):
        ask(Fixed([0, 1], said, said), np.zeros((2, 4)), [0, 1], epsilon=1, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("said", [[0], [0, 1, 0], [[0, 1]]])
def test_answers_of_another_number_are_refused(ask: Callable[..., Any], said: Any, ledger: Ledger) -> None:
    """How many answers a model has for made-up rows is public: of one that never fits all records would be wrong."""
    with pytest.raises(InvalidParameter, match="another shape or number"):
        ask(Fixed([0, 1], said, said), np.zeros((2, 4)), [0, 1], epsilon=1, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("labels", [(y for y in [0, 1]), iter([0, 1]), np.zeros((2, 1)), {0, 1}, 5, None, "01"])
@pytest.mark.parametrize("ask", ASK)
def test_labels_are_one_column_of_public_length(ask: Callable[..., Any], labels: Any, ledger: Ledger) -> None:
    """What has no public length, or is no column, is refused before anything is charged."""
    with pytest.raises(InvalidParameter):
        ask(Fixed([0, 1], [0, 1], np.full((2, 2), 0.5)), [None] * 2, labels, epsilon=1, ledger=ledger)
    assert ledger.entries() == []


class Scores:
    """A model with scores and no probabilities."""

    classes_ = np.array([0, 1])

    def __init__(self, odd: float) -> None:
        self._scores = [odd, *np.linspace(-1, 1, SIZE - 1)]

    def decision_function(self, X: object) -> Any:
        """Return the scores."""
        return np.array(self._scores)


@pytest.mark.parametrize("odd", [0.5, 5e-324, -1e-310, 1e308, -math.inf, math.nan])
def test_where_floating_point_errors_are_raised_no_score_raises_one(odd: float) -> None:
    """A score that is subnormal beside a public edge was told apart by an exception after the charge."""
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluation.report(Scores(odd), LABELS, LABELS, epsilon=1.0)
    assert found.release.private


@pytest.mark.parametrize("threshold", [1e-99, -1e-99, 1.0 + 2**-52, 5e-324])
def test_a_threshold_next_to_an_edge_makes_figures_without_a_warning(threshold: float) -> None:
    """Parts of such bins have no width: what lies in them is on one side of every threshold."""
    found = evaluation.report(Scores(0.5), LABELS, LABELS, epsilon=1.0, threshold=threshold)
    assert all(math.isfinite(figure.value) for figure in found.figures().values())
