"""What a model answers for one row moves that row's share of a score, however odd it is, and no other row's."""

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import evaluation
from tacit.errors import InvalidParameter
from tacit.mechanisms.reading import numbers

SIZE = 100
LABELS = [0, 1] * (SIZE // 2)
NONE = math.nan


class Hostile(list[float]):
    """A row that fails when it is asked for its cells."""

    def __iter__(self) -> Any:
        raise RuntimeError("secret")


ODD: list[Any] = [
    None, NONE, "0.5", [0.5], [[0.5]], [], (0.5, 0.5, 0.5), {}, {"a": 1}, object(), 10**400, 1j, b"1", np.array(0.5),
    np.array([0.5]), np.float32(0.5), Hostile([0.5, 0.5]),
]  # fmt: skip


class Says:
    """A model that says what it was made to say."""

    classes_ = np.array([0, 1])

    def __init__(self, method: str, answer: Any) -> None:
        setattr(self, method, lambda rows: answer)


class Predicts:
    """A regression that says what it was made to say."""

    def __init__(self, answer: Any) -> None:
        self.predict = lambda rows: answer


def _auc(method: str, answer: Any) -> float:
    report = evaluation.report(Says(method, answer), LABELS, LABELS, epsilon=1e6, random_state=0, threshold=0.5)
    return report.auc.value


@pytest.mark.parametrize("row", range(len(ODD)))
@pytest.mark.parametrize("wrap", [list, lambda rows: _array(rows)], ids=["list", "array of objects"])
def test_an_odd_row_of_probabilities_is_that_rows_alone(row: int, wrap: Callable[..., Any]) -> None:
    """A row that is no row, or of another length, has the least score; rows that say nothing stay as they are."""
    plain: list[Any] = [[0.5, 0.5] if place % 3 else [NONE, NONE] for place in range(SIZE)]
    moved = abs(_auc("predict_proba", wrap([*plain[:-1], ODD[row]])) - _auc("predict_proba", wrap(plain)))
    assert moved <= 2 / SIZE + 1e-3


@pytest.mark.parametrize("cell", range(len(ODD)))
@pytest.mark.parametrize("wrap", [list, lambda rows: _array(rows)], ids=["list", "array of objects"])
def test_an_odd_score_is_that_rows_alone(cell: int, wrap: Callable[..., Any]) -> None:
    """A score that is none has the least score of all, whether the others are floats or objects.

    Before, one None among floats turned every NaN from the least score into 0, and a list was refused, uncharged.
    """
    plain: list[Any] = [-0.5 if label else NONE for label in LABELS]
    moved = abs(_auc("decision_function", wrap([*plain[:-1], ODD[cell]])) - _auc("decision_function", wrap(plain)))
    assert moved <= 2 / SIZE + 1e-3


@pytest.mark.parametrize("cell", range(len(ODD)))
@pytest.mark.parametrize("where", ["prediction", "target"])
def test_an_odd_number_is_that_rows_alone(cell: int, where: str) -> None:
    """A prediction or target that is none counts as the middle of the range, whatever stands beside it."""

    def mean_error(last: object) -> float:
        said: list[Any] = [20.0 if place % 2 else NONE for place in range(SIZE - 1)]
        true: list[Any] = [NONE if place % 2 else 12.0 for place in range(SIZE - 1)]
        said, true = [*said, last if where == "prediction" else 15.0], [*true, last if where == "target" else 15.0]
        report = evaluation.report(Predicts(said), LABELS, true, epsilon=1e6, target_range=(10, 20), random_state=0)
        return report.mean_error.value

    assert abs(mean_error(ODD[cell]) - mean_error(15.0)) <= 10 / SIZE + 1e-2


class Guesses:
    """A classifier that says what it was made to say."""

    def __init__(self, classes: list[int], answer: Any) -> None:
        self.classes_, self.predict = np.array(classes), lambda rows: answer


@pytest.mark.parametrize(
    ("make", "odd"),
    [(deque, "?"), (deque, b"1"), (pl.Series, None), (pa.array, None), (lambda rows: pd.array(rows, "Int64"), None)],
    ids=["deque and text", "deque and bytes", "polars", "arrow", "pandas"],
)
def test_an_odd_prediction_is_that_rows_alone(make: Callable[..., Any], odd: Any) -> None:
    """One that is no class is counted nowhere, and all others where they were, in a container of any make.

    Before, a text among a deque's numbers made texts of all, and a null in polars or Arrow rounded 2^53 + 1.
    """
    classes = [0, 2**53 + 1]
    said = [classes[label] for label in LABELS]

    def counts(last: Any) -> Any:
        model = Guesses(classes, make([*said[:-1], last]))
        return evaluation.confusion_matrix(model, LABELS, said, epsilon=1.0, random_state=0).value

    assert np.abs(counts(odd) - counts(said[-1])).sum() == 1


def test_cells_read_in_the_light_of_another_are_caught() -> None:
    """The twin: read as values to release are, where NaN among floats stays and is 0 beside an object."""

    def mean(cells: list[Any]) -> float:
        read = numbers("cells", cells, (SIZE,)).astype(np.float64)
        return float(np.mean(np.nan_to_num(read, nan=15.0)))

    assert abs(mean([NONE] * SIZE) - mean([NONE] * (SIZE - 1) + [None])) > 10 / SIZE


@pytest.mark.parametrize("answer", [np.zeros((SIZE, 3)), np.zeros(SIZE), np.zeros((SIZE, 2, 1)), np.float64(1), 5])
def test_an_array_of_another_shape_is_refused(answer: Any) -> None:
    """The shape of an array of numbers is the same for every row, and public."""
    with pytest.raises(InvalidParameter, match="another shape"):
        evaluation.log_loss(Says("predict_proba", answer), np.zeros((SIZE, 4)), LABELS, epsilon=1.0, random_state=0)


def _array(rows: list[Any]) -> Any:
    cells = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        cells[place] = row
    return cells
