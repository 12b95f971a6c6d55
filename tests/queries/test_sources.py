"""Where the records of an oracle may be, and what survives a fork and a change of their source."""

import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit.data import Category, Flag, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle, StatisticalQuery
from tacit.sums.evaluator import Evaluator
from tacit.sums.record_evaluator import evaluator_for

COLUMNS = {"age": [61, 70, 20, None], "sex": ["f", "m", "f", None], "y": [1, -1, 1, 1]}
SCHEMA = Schema({"age": Number(0, 120), "sex": Category(["f", "x", "m"]), "y": Number(-1, 1)}, target="y")
OLD = StatisticalQuery(lambda t: (t.age > 60) & (t.y == 1))


def _count(evaluator: Evaluator, query: Any = OLD) -> list[float]:
    return evaluator.sums([evaluator.prepare(query)])[0].tolist()


def test_lists_of_rows_are_arrays() -> None:
    """With bounds for each column, or of an array for all; the features are x0, x1, ... and the label is y."""
    rows = [[61.0, 0.5], [70.0, 1e300], [20.0, -3.0]]
    one = StatisticalOracle((rows, [1, -1, 1]), bounds=[(0, 100)] * 2)
    other = StatisticalOracle((np.array(rows), np.array([1, -1, 1])), bounds=[(0, 65), (0, 1)])
    assert one.columns == other.columns == ("x0", "x1", "y")
    assert _count(one.evaluator, StatisticalQuery(lambda t: t.x0, high=100)) == [1.51]
    assert _count(other.evaluator, StatisticalQuery(lambda t: t.x0 + t.x1, high=100)) == pytest.approx([1.475])
    plain = StatisticalOracle(np.array(rows), bounds=(0, 100)).evaluator
    assert _count(plain, StatisticalQuery(lambda t: t.x1 == 0)) == [1]


@pytest.mark.parametrize("table", ["nowhere.parquet", 7, None, COLUMNS, pd.DataFrame(COLUMNS), object(), (1, 2, 3)])
def test_what_is_neither_records_nor_arrays_is_refused(table: Any) -> None:
    """With words about what an oracle needs; a table without a schema is not asked."""
    with pytest.raises(InvalidParameter, match=r"needs Records\(source, schema\), or arrays"):
        StatisticalOracle(table)


def test_arrays_need_bounds_and_records_none() -> None:
    """Bounds read off the data would be a release that nobody paid for; a schema has them already."""
    with pytest.raises(InvalidParameter, match="bounds is missing"):
        StatisticalOracle((np.ones((3, 1)), None))
    with pytest.raises(InvalidParameter, match="bounds are for arrays"):
        StatisticalOracle(Records(COLUMNS, SCHEMA), bounds=(0, 1))
    with pytest.raises(InvalidParameter, match="a pair for each of its columns"):
        StatisticalOracle((np.ones((3, 2)), None), bounds=[(0, 1)] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "z"}, "label must be one of"),
        ({"labels": (1, 2, 3)}, "the two labels"),
        ({"labels": "no"}, "the two labels"),
        ({"ledger": "hospital"}, "ledger must be"),
    ],
)
def test_declarations_that_disagree_with_the_records_are_refused(options: Any, message: str) -> None:
    """Columns that are not there, labels that are no pair, an account that is none."""
    with pytest.raises(InvalidParameter, match=message):
        StatisticalOracle(Records(COLUMNS, SCHEMA), **options)


def test_labels_that_the_column_does_not_have_are_refused_when_they_are_needed() -> None:
    """Before anything is charged: there is nothing to exchange."""
    oracle = StatisticalOracle(Records(COLUMNS, SCHEMA), label="sex", labels=("f", "both"))
    with pytest.raises(InvalidParameter, match="no declared level"):
        oracle.ask(StatisticalQuery(lambda t: t.sex == "f"), epsilon=1.0, noise_rate=0.1)


def test_a_target_with_two_levels_declares_the_labels() -> None:
    """So a noise rate needs nothing more than the schema."""
    schema = Schema({"age": Number(0, 120), "ill": Flag("no", "yes")}, target="ill")
    oracle = StatisticalOracle(Records({"age": [1, 2], "ill": ["yes", "no"]}, schema))
    assert oracle.evaluator.label == "ill"
    assert oracle.evaluator.labels == ("no", "yes")
    query = StatisticalQuery(lambda t: t.ill & (t.age == 1))
    prepared = [oracle.evaluator.prepare(query)]
    assert oracle.evaluator.sums(prepared)[0].tolist() == [1]
    assert oracle.evaluator.sums(prepared, flipped=True)[0].tolist() == [0]


def test_no_records_are_refused() -> None:
    """Arrays and tables alike."""
    with pytest.raises(InvalidParameter, match="at least one record"):
        Records(pa.table(COLUMNS).slice(0, 0), SCHEMA)
    for rows in (np.zeros((0, 2)), []):
        with pytest.raises(InvalidParameter, match="at least one record"):
            StatisticalOracle((rows, []), bounds=[(0, 1)] * 2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("memory", [None, 1])
def test_a_fork_asks_the_records_it_inherits(memory: int | None) -> None:
    """In memory, and in a private file, which processes read at places of their own."""
    evaluator = evaluator_for(Records(COLUMNS, SCHEMA, memory=memory))
    child = os.fork()
    if child == 0:
        os._exit(17 if _count(evaluator) == [1] else 1)
    assert _count(evaluator) == [1]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_tables_without_a_name_are_told_apart() -> None:
    """Two oracles over tables of one name do not share answers, unless they are said to be the same records."""
    first, second, third, fourth = (
        evaluator_for(Records(pa.table(COLUMNS), SCHEMA, name=name)).identity for name in (None, None, "ward", "ward")
    )
    assert first != second
    assert third == fourth
    other = Schema({**SCHEMA.columns, "age": Number(0, 60)}, target="y")
    assert evaluator_for(Records(COLUMNS, other, name="ward")).identity != third
