"""Where records may be: arrays, frames, files and folders; what survives a pickle and a fork."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.queries.engine import Engine
from tacit.queries.sources import engine_for

COLUMNS = {"age": [61, 70, 20, None], "sex": ["f", "m", "f", None], "y": [1, -1, 1, 1]}
OLD = StatisticalQuery(lambda t: (t.age > 60) & (t.y == 1))


def _count(engine: Engine, query: Any = OLD) -> list[float]:
    return engine.sums([engine.prepare(query)])[0].tolist()


def _categories() -> Any:
    return pd.DataFrame(COLUMNS).astype({"sex": "category"})


@pytest.mark.parametrize(
    "table",
    [
        COLUMNS,
        pa.table(COLUMNS),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[7, 7, 7, 7]),
        _categories(),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).with_columns(pl.col("sex").cast(pl.Categorical)),
    ],
)
def test_frames_are_read_where_they_stand(table: Any) -> None:
    """A dict, Arrow, pandas and polars, categories included; a value that is no category is at no record."""
    engine = engine_for(table)
    assert engine.n == 4
    assert engine.names == ("age", "sex", "y")
    assert _count(engine) == [1]
    assert _count(engine, Histogram(lambda t: t.sex, ["f", "x", "m"])) == [2, 0, 1]
    assert _count(pickle.loads(pickle.dumps(engine))) == [1]


def _written(folder: Path, kind: str) -> Path:
    table = pa.table(COLUMNS)
    if kind == "parquet":
        pq.write_table(table, folder / "a.parquet")
        return folder / "a.parquet"
    if kind == "csv":
        table.to_pandas().to_csv(folder / "a.csv", index=False)
        return folder / "a.csv"
    for number in range(4):
        pq.write_table(table.slice(number, 1), folder / f"{number}.parquet")
    return folder if kind == "folder" else folder / "*.parquet"


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "pattern"])
def test_files_are_found_and_named(kind: str, tmp_path: Path) -> None:
    """As a path or as text; the same files are the same records, until they are written anew."""
    path = _written(tmp_path, kind)
    engine = engine_for(str(path), n=4)
    assert _count(engine) == [1]
    assert engine.identity == engine_for(path).identity
    for file in tmp_path.iterdir():
        os.utime(file, ns=(1, 1))
    assert engine.identity != engine_for(path).identity


def test_a_late_line_of_another_kind_makes_a_column_of_texts(tmp_path: Path) -> None:
    """Types come from the whole file before anything is asked, so that no line can fail to be read afterwards."""
    (tmp_path / "a.csv").write_text("x,y\n" + "1,1\n" * 60_000 + "secret,1\n")
    engine = engine_for(tmp_path / "a.csv")
    assert _count(engine, StatisticalQuery(lambda t: t.x == "1")) == [60_000]
    with pytest.raises(InvalidParameter, match="string as a number"):
        engine.prepare(StatisticalQuery(lambda t: t.x))


@pytest.mark.parametrize(
    "table", ["nowhere", "nowhere.parquet", ".", 7, None, [1, 2], {"a": [1], "b": [1, 2]}, object()]
)
def test_what_is_no_table_is_refused(table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With words about what would be one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match=r"no \.parquet or \.csv files|an oracle needs"):
        engine_for(table)


@pytest.mark.parametrize(
    "options",
    [{"n": 5}, {"label": "z"}, {"key": "sex"}, {"key": "z"}, {"label": "sex"}, {"label": "y", "labels": ("a", "b")}],
)
def test_declarations_that_disagree_with_the_table_are_refused(options: Any) -> None:
    """A wrong number of records, columns that are not there, labels and keys of another kind."""
    with pytest.raises(InvalidParameter):
        engine_for(COLUMNS, **options)


def test_no_records_are_refused() -> None:
    """Arrays and tables alike."""
    with pytest.raises(InvalidParameter, match="at least one record"):
        engine_for(pa.table(COLUMNS).slice(0, 0))
    with pytest.raises(InvalidParameter, match="at least one record"):
        engine_for((np.zeros((0, 2)), []))


def _in_child(path: Path, engine: Engine | None = None) -> None:
    found = engine or pickle.loads(path.read_bytes())
    assert _count(found) == [1]
    os._exit(17)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_four_processes_may_use_an_engine_over_files(method: str, tmp_path: Path) -> None:
    """Each opens the files anew, after a fork as after a pickle; no connection travels."""
    engine = engine_for(_written(tmp_path, "parquet"))
    assert _count(engine) == [1]
    (tmp_path / "engine").write_bytes(pickle.dumps(engine))
    context = multiprocessing.get_context(method)
    inherited = engine if method == "fork" else None
    children = [context.Process(target=_in_child, args=(tmp_path / "engine", inherited)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [17] * 4
    assert _count(engine) == [1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_live_connection_stays_in_its_process(tmp_path: Path) -> None:
    """It is refused before anything is charged: neither pickles nor forks share what a server thinks is one client."""
    engine = engine_for(ibis.duckdb.connect().create_table("records", pa.table(COLUMNS)))
    with pytest.raises(InvalidParameter, match="cannot be pickled"):
        pickle.dumps(engine)
    child = os.fork()
    if child == 0:
        try:
            engine.prepare(OLD)
        except InvalidParameter:
            os._exit(17)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_tables_without_a_name_are_told_apart() -> None:
    """Two oracles over tables of one name do not share answers, unless they are said to be the same records."""
    engines = [
        engine_for(ibis.duckdb.connect().create_table("records", pa.table(COLUMNS)), name=name)
        for name in (None, None, "ward", "ward")
    ]
    first, second, third, fourth = (engine.identity for engine in engines)
    assert first != second
    assert third == fourth == "ward"


def test_importing_tacit_loads_neither_ibis_nor_spark() -> None:
    """Arrays need neither."""
    code = (
        "import sys, numpy as np\n"
        "from tacit.queries import StatisticalOracle, StatisticalQuery\n"
        "StatisticalOracle((np.ones((9, 1)), np.ones(9))).ask(StatisticalQuery(lambda t: t.x0 > 0), epsilon=1.0)\n"
        "print(sorted({'ibis', 'duckdb', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_ibis_a_table_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, "ibis", None)
    for name in [name for name in sys.modules if name.startswith("tacit.queries.") and name.endswith("tables")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(InvalidParameter, match=r"tacit\[sql\]"):
        StatisticalOracle(COLUMNS)
