"""Where the records of an oracle may be, and what survives a pickle and a fork."""

import multiprocessing
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.engine_children import count_the_old
from support.nasty_tables import file_records
from tacit.data import Category, Flag, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.sums.engines.engine import Engine
from tacit.sums.engines.opening import engine_for

COLUMNS = {"age": [61, 70, 20, None], "sex": ["f", "m", "f", None], "y": [1, -1, 1, 1]}
SCHEMA = Schema({"age": Number(0, 120), "sex": Category(["f", "x", "m"]), "y": Number(-1, 1)}, target="y")
OLD = StatisticalQuery(lambda t: (t.age > 60) & (t.y == 1))


def _count(engine: Engine, query: Any = OLD) -> list[float]:
    return engine.sums([engine.prepare(query)])[0].tolist()


@pytest.mark.parametrize(
    "table",
    [
        COLUMNS,
        pa.table(COLUMNS),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[7, 7, 7, 7]),
        pd.DataFrame(COLUMNS).astype({"sex": "category"}),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).with_columns(pl.col("sex").cast(pl.Categorical)),
    ],
)
def test_frames_are_asked_where_they_stand(table: Any) -> None:
    """A dict, Arrow, pandas and polars, categories included; a level that no record has is at none."""
    engine = engine_for(Records(table, SCHEMA))
    assert engine.n == 4
    assert engine.names == ("age", "sex", "y")
    assert _count(engine) == [1]
    assert _count(engine, Histogram(lambda t: t.sex, ["f", "x", "m"])) == [2, 0, 1]
    assert _count(pickle.loads(pickle.dumps(engine))) == [1]


def test_lists_of_rows_are_arrays() -> None:
    """With bounds for each column, or of an array for all; the features are x0, x1, ... and the label is y."""
    rows = [[61.0, 0.5], [70.0, 1e300], [20.0, -3.0]]
    one = StatisticalOracle((rows, [1, -1, 1]), bounds=[(0, 100)] * 2)
    other = StatisticalOracle((np.array(rows), np.array([1, -1, 1])), bounds=[(0, 65), (0, 1)])
    assert one.columns == other.columns == ("x0", "x1", "y")
    assert _count(one.engine, StatisticalQuery(lambda t: t.x0, high=100)) == [1.51]
    assert _count(other.engine, StatisticalQuery(lambda t: t.x0 + t.x1, high=100)) == pytest.approx([1.475])
    assert _count(StatisticalOracle(np.array(rows), bounds=(0, 100)).engine, StatisticalQuery(lambda t: t.x1 == 0)) == [
        1
    ]


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
    assert oracle.engine.label == "ill"
    assert oracle.engine.labels == ("no", "yes")
    query = StatisticalQuery(lambda t: t.ill & (t.age == 1))
    prepared = [oracle.engine.prepare(query)]
    assert oracle.engine.sums(prepared)[0].tolist() == [1]
    assert oracle.engine.sums(prepared, flipped=True)[0].tolist() == [0]


def test_no_records_are_refused() -> None:
    """Arrays and tables alike."""
    with pytest.raises(InvalidParameter, match="at least one record"):
        Records(pa.table(COLUMNS).slice(0, 0), SCHEMA)
    for rows in (np.zeros((0, 2)), []):
        with pytest.raises(InvalidParameter, match="at least one record"):
            StatisticalOracle((rows, []), bounds=[(0, 1)] * 2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_several_processes_may_use_an_engine_over_files(method: str, tmp_path: Path) -> None:
    """Each opens the files anew, after a fork as after a pickle; no connection travels."""
    engine = engine_for(file_records(pa.table(COLUMNS), tmp_path / "a.parquet", SCHEMA))
    assert _count(engine) == [1]
    (tmp_path / "engine").write_bytes(pickle.dumps(engine))
    context = multiprocessing.get_context(method)
    inherited, count = (engine, 4) if method == "fork" else (None, 2)
    children = [context.Process(target=count_the_old, args=(tmp_path / "engine", inherited)) for _ in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [17] * count
    assert _count(engine) == [1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_live_connection_stays_in_its_process() -> None:
    """Neither pickles nor forks share what a server thinks is one client."""
    engine = engine_for(Records(ibis.duckdb.connect().create_table("records", pa.table(COLUMNS)), SCHEMA))
    with pytest.raises(InvalidParameter, match="belongs to the process that connected"):
        pickle.dumps(engine)
    child = os.fork()
    if child == 0:
        try:
            _count(engine)
        except InvalidParameter:
            os._exit(17)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_files_that_changed_are_refused_before_anything_is_charged(tmp_path: Path) -> None:
    """The oracle looks whether the files are those that were opened before the ledger is asked."""
    oracle = StatisticalOracle(file_records(pa.table(COLUMNS), tmp_path / "a.parquet", SCHEMA))
    os.utime(tmp_path / "a.parquet", ns=(1, 1))
    with pytest.raises(InvalidParameter, match="not those that were opened"):
        oracle.ask(OLD, epsilon=1.0)


def test_tables_without_a_name_are_told_apart() -> None:
    """Two oracles over tables of one name do not share answers, unless they are said to be the same records."""
    first, second, third, fourth = (
        engine_for(
            Records(ibis.duckdb.connect().create_table("records", pa.table(COLUMNS)), SCHEMA, name=name)
        ).identity
        for name in (None, None, "ward", "ward")
    )
    assert first != second
    assert third == fourth
    other = Schema({**SCHEMA.columns, "age": Number(0, 60)}, target="y")
    assert engine_for(Records(COLUMNS, other, name="ward")).identity != third


def test_without_duckdb_a_file_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names the extra."""
    pd.DataFrame(COLUMNS).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InvalidParameter, match=r"tacit\[cli\]"):
        Records(tmp_path / "a.parquet", SCHEMA)
