"""Tables that the executors of a Spark cluster read once: the cells of memory, in private files that go with them."""

import gc
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipimport import zipimporter

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.nasty_tables import SCHEMA, nasty_table, needs_java, write_files
from support.opened import view_of
from tacit import Budget, Ledger
from tacit.data import Category, Key, Number, Records, Schema, SparkFolder
from tacit.data.readers.spark_jobs import worked
from tacit.data.records import subset
from tacit.data.store import spark_store
from tacit.data.store.lots import ROWS_OF_OWNER
from tacit.data.store.spark_store import SparkCluster
from tacit.erm.regression import PrivateLinearRegression
from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.process import this_process
from tacit.queries import Histogram, StatisticalQuery
from tacit.sums.evaluator import Part
from tacit.sums.record_evaluator import evaluator_for

ROWS = 600
NASTY = nasty_table(ROWS)
OWNED = NASTY.append_column("who", pa.array([None if row % 50 == 0 else row * row % 97 for row in range(ROWS)]))
PERSONS = Schema({**SCHEMA.columns, "who": Key()}, target="y")
WAYS = ("folder", "frame", "ibis")
QUERIES = [
    StatisticalQuery(lambda t: (t.g > 0) & (t.y == 1)),
    StatisticalQuery(lambda t: t.f * t.g, low=-1, high=1),
    Histogram(lambda t: [t.w, t.o], [("a", "low"), ("é", "high")]),
    StatisticalQuery(lambda t: t.at > "2000-02-29"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the table as a folder of files, with several groups of rows each."""
    return write_files(OWNED, tmp_path_factory.mktemp("nasty") / "a folder, %20 of é +#letters")


def _source(way: str, spark: Any, folder: Path) -> Any:
    if way == "folder":
        return SparkFolder(spark, folder)
    frame = spark.read.option("recursiveFileLookup", "true").parquet(str(folder))
    if way == "frame":
        return frame
    frame.createOrReplaceTempView("nasty_cells")
    return ibis.pyspark.connect(spark).table("nasty_cells")


def _cells(records: Records, *beside: str) -> dict[str, bytes]:
    """Return all cells, and how they fared, in the order of a column that tells rows apart."""
    view = view_of(records)
    order, lots = np.argsort(view.column("id")), view.store.lots
    found = {name: view.column(name)[order].tobytes() for name in (*view.store.columns, *beside)}
    for name in view.store.columns if view.marks is None else ():
        states = [lots.states(lot, name) for lot in range(lots.count)]
        whole = [np.zeros(length) if each is None else each for each, length in zip(states, lots.lengths, strict=True)]
        found[f"states of {name}"] = np.concatenate(whole)[order].astype(np.int8).tobytes()
    return found


def _sums(records: Records, **how: Any) -> list[list[float]]:
    evaluator = evaluator_for(records)
    return [sums.tolist() for sums in evaluator.sums([evaluator.prepare(query) for query in QUERIES], **how)]


@pytest.mark.parametrize("way", WAYS)
def test_cells_are_those_in_memory(spark: Any, folder: Path, way: str) -> None:
    """NaN, infinities, -0.0, holes, whole numbers that no float holds, odd texts and dates: no bit differs."""
    held, there = Records(NASTY, SCHEMA), Records(_source(way, spark, folder), SCHEMA)
    assert there.n == held.n == ROWS
    assert not there.facts.ordered
    assert _cells(there) == _cells(held)
    assert _sums(there) == _sums(held)
    assert _sums(there, flipped=True) == _sums(held, flipped=True)


@pytest.mark.parametrize("way", WAYS)
def test_persons_and_parts_are_those_in_memory(spark: Any, folder: Path, way: str) -> None:
    """Ids are counted on the executors, and a row without one is a person; parts and slots have the same rows."""
    held = Records(OWNED, PERSONS, unit="who")
    there = Records(_source(way, spark, folder), PERSONS, unit="who")
    assert there.n == held.n
    slots = np.arange(view_of(held).persons.named + 1) % 3 != 0  # type: ignore[union-attr]
    pairs = [(held, there), *zip(held.split(by="key"), there.split(by="key"), strict=True)]
    pairs.append((subset(held, slots), subset(there, slots)))
    for one, other in pairs:
        assert other.n == one.n
        assert _cells(other, ROWS_OF_OWNER) == _cells(one, ROWS_OF_OWNER)
        assert _sums(other) == _sums(one)
        names = tuple(one.columns)
        assert np.array_equal(view_of(other).mismatches(names), view_of(one).mismatches(names))


def test_parts_by_key_are_those_in_memory(spark: Any, folder: Path) -> None:
    """Of records with a key, a split and the parts of an oracle; by their places there is none."""
    held, there = Records(NASTY, SCHEMA, key="id"), Records(SparkFolder(spark, folder), SCHEMA, key="id")
    for one, other in zip(held.split(by="key"), there.split(by="key"), strict=True):
        assert _cells(other) == _cells(one)
        assert _sums(other) == _sums(one)
    # In memory an oracle's parts go by place.
    parts = [_sums(there, part=Part(number, 3)) for number in range(3)]
    for whole, *cut in zip(_sums(there), *parts, strict=True):
        assert np.allclose(whole, np.sum(cut, axis=0), rtol=1e-12)
    with pytest.raises(InvalidParameter, match="no fixed place"):
        there.split()


def test_many_lots_and_files_are_one_table(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of rows are dealt out, lots are cut anywhere, and every row is there once."""
    monkeypatch.setattr("tacit.data.readers.spark._TO_A_TASK", 2**12)
    there = Records(SparkFolder(spark, folder), SCHEMA)
    assert len(view_of(there).store.cluster.files) > 3  # type: ignore[attr-defined]
    assert _cells(there) == _cells(Records(NASTY, SCHEMA))


@pytest.mark.parametrize("way", WAYS)
def test_the_source_is_read_once(spark: Any, tmp_path: Path, way: str) -> None:
    """Nothing of the source is needed any more once the records are open."""
    path = write_files(NASTY, tmp_path / "records")
    records = Records(_source(way, spark, path), SCHEMA)
    for file in path.rglob("*.parquet"):
        file.unlink()
    assert _sums(records) == _sums(Records(NASTY, SCHEMA))


def _folder_of(records: Records) -> Path:
    cluster = view_of(records).store.cluster
    assert isinstance(cluster, SparkCluster)
    return Path(cluster.folder)


def test_files_are_private_and_go_with_the_records(spark: Any, folder: Path) -> None:
    """Nobody else can look into the folder, parts keep it, and it is gone when nobody has the records."""
    records = Records(SparkFolder(spark, folder), PERSONS, unit="who")
    there = _folder_of(records)
    assert stat.S_IMODE(there.stat().st_mode) == 0o700
    # Files without the numbers of persons' rows are gone already.
    assert len(list(there.iterdir())) == len(view_of(records).store.cluster.files)  # type: ignore[attr-defined]
    part = records.split(by="key")[0]
    del records
    gc.collect()
    assert there.exists()
    del part
    gc.collect()
    assert not there.exists()


_DRIVER = """
import os, signal, sys
from pyspark.sql import SparkSession
from tacit.data import Number, Records, Schema
from tacit.secret import open_secret
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
session = builder.config("spark.driver.host", "127.0.0.1").config("spark.tacit.folder", sys.argv[1]).getOrCreate()
records = Records(session.createDataFrame([(0.5,), (1.0,)], "x double"), Schema({"x": Number(0, 1)}))
print(open_secret(records.secret).store.cluster.folder, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_the_folder_goes_with_the_process(tmp_path: Path, end: str) -> None:
    """When the process ends it goes; when it is killed Spark's own process removes it. A setting says where it lies."""
    needs_java()
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(tmp_path), end],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as driver:
        # Until Java, too, has closed it.
        written = driver.communicate(timeout=300)[0]
    made = Path(written.strip())
    assert made.parent == tmp_path
    assert not made.exists()


SMALL = pa.table({"x": pa.array([0.5, None, 2.0]), "y": pa.array([1, 2, 3], pa.int32()), "p": pa.array([1, 1, 2])})
WIDE = Schema({"x": Number(0, 1), "y": Number(0, 3)}, target="y")


def _written(folder: Path, *tables: pa.Table) -> Path:
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def _mistyped() -> pa.Table:
    texts = pa.array([b"a", b"a-secret-\xff"], pa.binary())
    return pa.table({"x": pa.StringArray.from_buffers(2, *texts.buffers()[1:])})


TEXTS = Schema({"x": Category(["a"])})
REFUSED: dict[str, tuple[str, Callable[[Path], Any], Schema]] = {
    "no files": ("no .parquet", lambda folder: None, WIDE),
    "lines": ("read Parquet files", lambda folder: (folder / "0.csv").write_text("x,y\n1,2\n"), WIDE),
    "other types": ("same columns of", lambda folder: _written(folder, SMALL, SMALL.drop_columns("p")), WIDE),
    "no rows": ("at least one record", lambda folder: _written(folder, SMALL[:0]), WIDE),
    "another type": ("stored as", lambda folder: _written(folder, SMALL), TEXTS),
    "no column": ("does not have", lambda folder: _written(folder, SMALL), Schema({"z": Number(0, 1)})),
    "no file of Parquet": ("not a Parquet file", lambda folder: (folder / "0.parquet").write_text("secret"), WIDE),
    "texts that are none": ("cannot be read", lambda folder: _written(folder, _mistyped()), TEXTS),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_folder_that_is_no_table_is_refused_at_opening(spark: Any, tmp_path: Path, kind: str) -> None:
    """Whatever can fail fails then, in words that quote no cell, and no private folder stays."""
    match, make, schema = REFUSED[kind]
    make(tmp_path)
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    with pytest.raises(InvalidParameter, match=match) as caught:
        Records(SparkFolder(spark, tmp_path), schema)
    words = f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"
    assert "secret" not in words
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before


def test_a_frame_that_fails_is_refused_at_opening(spark: Any) -> None:
    """What Spark says of a row that cannot be computed quotes it; the refusal does not."""
    frame = spark.sql("SELECT CAST(raise_error(concat('a-secret-', id)) AS double) AS x FROM range(3)")
    with pytest.raises(InvalidParameter, match="cannot be read") as caught:
        Records(frame, Schema({"x": Number(0, 1)}))
    assert "secret" not in f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"


def test_columns_of_one_name_are_refused_and_names_that_differ_in_case_are_not(spark: Any) -> None:
    """Spark itself takes x and X for the same column."""
    frame = spark.createDataFrame([(0.25, 1.0), (0.5, 1.0)], "x double, `a.b ``c` double")
    with pytest.raises(InvalidParameter, match="two columns of the same name"):
        Records(frame.select("x", "x"), Schema({"x": Number(0, 1)}))
    other = frame.toDF("X", "x")
    assert sorted(view_of(Records(other, Schema({"X": Number(0, 1)}))).column("X")) == [0.25, 0.5]
    assert sorted(view_of(Records(other, Schema({"x": Number(0, 1)}))).column("x")) == [1.0, 1.0]
    assert view_of(Records(frame, Schema({"a.b `c": Number(0, 1)}))).rows == 2


def test_drafts_are_made_of_the_catalogue(spark: Any, tmp_path: Path) -> None:
    """A draft names the columns of a folder, and of a frame, with what they are stored as."""
    path = _written(tmp_path, SMALL)
    for source in (SparkFolder(spark, path), spark.read.parquet(str(path))):
        draft = Schema.draft(source)
        assert all(f"[columns.{name}]" in draft for name in SMALL.column_names)


def test_files_that_change_while_they_are_read_are_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of two versions of a file would be one table."""
    path = _written(tmp_path, SMALL, SMALL)
    honest = spark_store._read

    def read(cluster: Any, source: Any, *others: Any) -> Any:
        os.utime(path / "1.parquet", ns=(0, 0))
        return honest(cluster, source, *others)

    monkeypatch.setattr(spark_store, "_read", read)
    with pytest.raises(InvalidParameter, match="not those that were opened"):
        Records(SparkFolder(spark, path), WIDE)


@pytest.mark.parametrize(("master", "root"), [("spark://head:7077", None), ("local[2]", "/nowhere/at/all\0")])
def test_a_cluster_needs_a_folder_that_its_nodes_share(spark: Any, master: str, root: str | None) -> None:
    """Nodes elsewhere have not got this machine's temporary folder; one that cannot be written is refused, too."""
    context = SimpleNamespace(master=master, _jvm=spark.sparkContext._jvm)
    session = SimpleNamespace(sparkContext=context, conf={} if root is None else {spark_store.SETTING: root})
    with pytest.raises(InvalidParameter, match=r"spark\.tacit\.folder"):
        spark_store._private_folder(session)


def test_a_session_that_is_none_is_refused(tmp_path: Path) -> None:
    """Spark Connect has no storage of executors at hand, and a folder needs a session."""
    with pytest.raises(InvalidParameter, match="classic SparkSession"):
        Records(SparkFolder("local", tmp_path), WIDE)


def test_a_private_file_that_is_gone_is_one_clear_error(spark: Any, tmp_path: Path) -> None:
    """Whoever removes the private folder ends what is asked about the records; what was charged is said."""
    ledger = Ledger.create(tmp_path / "l.db", name="x", budget=Budget(1))
    records = Records(SparkFolder(spark, _written(tmp_path, SMALL)), WIDE)
    spark_store._remove(str(_folder_of(records)), this_process())
    with pytest.raises(QueryFailed, match="is gone"):
        view_of(records).column("x")
    with pytest.raises(QueryFailed, match="the cluster failed") as caught:
        PrivateLinearRegression(1.0, ledger=ledger).fit(records)
    assert "charged for it: epsilon=1" in " ".join(caught.value.__notes__)
    assert len(ledger.entries()) == 1


def test_a_folder_is_removed_by_the_process_that_made_it_alone(tmp_path: Path) -> None:
    """A fork that ends takes nothing from its parent."""
    spark_store._remove(str(tmp_path), "another process")
    assert tmp_path.exists()


def test_records_on_a_cluster_are_packed_as_others_are(spark: Any, folder: Path, tmp_path: Path) -> None:
    """The packed file has the cells of memory, and is opened without a cluster."""
    packed = Records(SparkFolder(spark, folder), PERSONS, unit="who").pack(tmp_path / "a.tacit-records")
    assert _cells(packed, ROWS_OF_OWNER) == _cells(Records(OWNED, PERSONS, unit="who"), ROWS_OF_OWNER)


def test_no_finder_of_an_archive_outlives_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would read the archive's list again before the next task; modules are found as before."""
    archive = str(tmp_path / "a.zip")
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("tacit_packed_one.py", "")
        packed.writestr("tacit_packed_two.py", "two = 2")
    monkeypatch.syspath_prepend(archive)
    __import__("tacit_packed_one")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    assert list(worked(_sizes, iter([-1, 2]))) == [1, 2]
    assert archive not in sys.path_importer_cache
    assert __import__("tacit_packed_two").two == 2


def _sizes(numbers: Iterator[int]) -> Iterator[int]:
    return map(abs, numbers)
