"""A model that changes what it is given, in place: each question is asked about rows as they were."""

from collections.abc import Callable
from threading import Lock
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from support.opened import view_of
from tacit import Records, Schema, evaluation
from tacit.data import Flag, Number
from tacit.data.records import taken
from tacit.errors import InvalidParameter

SIZE = 60
AGES = np.random.default_rng(0).uniform(1, 99, SIZE)
LABELS = (AGES > 50).astype(int)
FAR = 1e6


class Judge:
    """What these models share."""

    classes_ = np.array([0, 1])

    def said(self, ages: Any) -> Any:
        """Say who is old; fail if somebody is too old."""
        if max(ages) >= FAR:
            raise ValueError
        return [int(age > 50) for age in ages]


class Popping(Judge):
    """Takes the age out of each record."""

    def predict(self, rows: Any) -> Any:
        """Leave records without their age."""
        return self.said([row.pop("age") for row in rows])


class Scaling(Judge):
    """Scales the first cell of each row."""

    def predict(self, rows: Any) -> Any:
        """Write into the rows."""
        for row in rows:
            row[0] /= 2
        return self.said([2 * row[0] for row in rows])


class Emptying(Judge):
    """Empties the cells of a column."""

    def predict(self, rows: Any) -> Any:
        """Leave lists without their numbers."""
        cells = rows if isinstance(rows, np.ndarray | pd.Series) else rows["age"]
        return self.said([cell.pop() for cell in np.asarray(cells).ravel()])


def _lists(ages: Any) -> Any:
    cells = np.empty(len(ages), dtype=object)
    cells[:] = [[age] for age in ages]
    return cells


MAKES: dict[str, tuple[Judge, Callable[[Any], Any]]] = {
    "list of dicts": (Popping(), lambda ages: [{"age": age} for age in ages]),
    "tuple of lists": (Scaling(), lambda ages: tuple([age] for age in ages)),
    "list of arrays": (Scaling(), lambda ages: list(ages[:, None].copy())),
    "array": (Scaling(), lambda ages: ages[:, None].copy()),
    "array of lists": (Emptying(), lambda ages: _lists(ages)[:, None]),
    "masked array": (Emptying(), lambda ages: np.ma.array(_lists(ages))),
    "frame of lists": (Emptying(), lambda ages: pd.DataFrame({"x": 1, "age": _lists(ages)})),
    "series of lists": (Emptying(), lambda ages: pd.Series(_lists(ages))),
}


@pytest.mark.parametrize("make", MAKES)
def test_a_model_that_changes_its_rows_fails_on_one_alone(make: str) -> None:
    """One record that it failed on took all others from right to wrong: they had been changed when it was asked again.

    Nor is anything of the caller's changed.
    """
    model, container = MAKES[make]
    found = []
    for last in (99.0, FAR):
        rows = container(np.append(AGES[:-1], last))
        before = repr(rows)
        found.append(evaluation.accuracy(model, rows, LABELS, epsilon=1e6, random_state=0).value * SIZE)
        assert repr(rows) == before
    assert found[0] > SIZE - 1.5
    assert abs(found[0] - found[1]) < 1.1


def test_a_row_that_cannot_be_copied_says_nothing_and_changes_no_other() -> None:
    """Whether a cell can be copied is its record's secret: nothing is refused for it."""
    rows: list[dict[str, Any]] = [{"age": age} for age in AGES]
    plain = evaluation.accuracy(Popping(), rows, LABELS, epsilon=1e6, random_state=0).value * SIZE
    for place in (0, SIZE - 1):
        odd = [*rows]
        odd[place] = {"age": AGES[place], "lock": Lock()}
        found = evaluation.accuracy(Popping(), odd, LABELS, epsilon=1e6, random_state=0).value * SIZE
        assert 0.9 < plain - found < 1.1


class Rewriting(Judge):
    """Writes its answers where those before were."""

    def __init__(self) -> None:
        self.answers = np.zeros(SIZE, dtype=int)

    def predict(self, rows: Any) -> Any:
        """Fail unless asked about one row."""
        if len(rows) > 1:
            raise ValueError
        self.answers[:1] = self.said(np.asarray(rows)[:, 0])
        return self.answers[:1].reshape(1)


class RewritingLists(Rewriting):
    """The same with lists."""

    def __init__(self) -> None:
        self.row = [0.0, 0.0]

    def predict_proba(self, rows: Any) -> Any:
        """Fail unless asked about one row."""
        if len(rows) > 1:
            raise ValueError
        (self.row[1],) = self.said(np.asarray(rows)[:, 0])
        self.row[0] = 1 - self.row[1]
        return [self.row]


def test_answers_that_are_written_over_are_those_that_were_given() -> None:
    """Kept as they were, all would be the last one."""
    rows = AGES[:, None]
    assert evaluation.accuracy(Rewriting(), rows, LABELS, epsilon=1e6, random_state=0).value > 0.99
    assert evaluation.log_loss(RewritingLists(), rows, LABELS, epsilon=1e6, random_state=0, largest=2.0).value < 0.01


@pytest.mark.parametrize("wrap", [lambda frame: frame, nw.from_native, lambda frame: frame["age"]])
def test_objects_that_cannot_be_put_back_are_refused_by_their_type(wrap: Callable[[Any], Any]) -> None:
    """A frame of polars may hold objects, and makes no copies of them; so may an array of records."""
    frame = wrap(pl.DataFrame({"age": pl.Series(_lists(AGES).tolist(), dtype=pl.Object)}))
    for rows in (frame, np.array([(age,) for age in AGES], dtype=[("age", object)])):
        with pytest.raises(InvalidParameter, match="Python objects"):
            evaluation.accuracy(Emptying(), rows, LABELS, epsilon=1.0, random_state=0)


def test_nobody_writes_into_what_records_hand_out() -> None:
    """A model that scaled the cells of a block scaled those of the table, for whoever asked next."""
    schema = Schema({"age": Number(0, 100), "old": Flag()}, target="old")
    records, stored = (Records({"age": AGES, "old": LABELS}, schema, memory=memory) for memory in (None, 1))
    for each in (records, stored, stored.split()[0], taken(records, np.arange(3))):
        for block in view_of(each).blocks(("age", "old")):
            for cells in block.values():
                with pytest.raises(ValueError, match="read-only"):
                    cells *= 2
