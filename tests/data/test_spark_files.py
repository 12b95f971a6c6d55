"""Parquet files that executors read themselves: the cells that SQL finds, and only where Spark would just scan."""

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipimport import zipimporter

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.fits import MODELS, check_same, people, schema_for, watch_certificates
from support.nasty_tables import SCHEMA, nasty_table
from tacit import Budget, Ledger
from tacit.data import Category, Number, Records, Schema
from tacit.data.sources.live import SparkTable
from tacit.data.sources.spark_files import Piece, _counted, cleaned_cells
from tacit.data.sources.spark_jobs import worked
from tacit.data.values import AnyArray
from tacit.erm.regression import PrivateLinearRegression
from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.arrays import Floats

ROWS = 600
NAMES = ("f", "g", "s", "i", "j", "k", "b", "y", "w", "o", "t", "m", "z", "n")
_TEXTS = [b"a", b"\xff", b" a\x00", b"a\x00", b"\xe2a ", b" \xc3\xa9\t", b"", b"\xf0\x9f\x99\x82", b"\xe2\x80\x83a"]
DECLARED = Schema(
    {
        **{name: SCHEMA.columns[name] for name in NAMES if name in SCHEMA.columns},
        "t": Category(["a", "é", "🙂", "a\0"], other="é"),
        "m": Category([str(2**63 - 1), "7", str(2**53 + 1)]),
        "z": Number(-1e19, 1e19),
        "n": Number(0, ROWS),
    },
    target="y",
)


def _nasty() -> pa.Table:
    """Return cells of every type that is read directly, as bad as they can be; the last column tells rows apart."""
    table, rng = nasty_table(ROWS), np.random.default_rng(1)
    texts = pa.array([_TEXTS[place] for place in rng.integers(0, len(_TEXTS), ROWS)], pa.binary())
    huge = [2**63 - 1, -(2**63), 2**53 + 1, 2**53 - 1, 7, 2**62 + 2**9 + 1]
    whole = pa.array([huge[place] for place in rng.integers(0, len(huge), ROWS)], pa.int64())
    table = table.append_column("t", pa.StringArray.from_buffers(ROWS, *texts.buffers()[1:]))
    table = table.append_column("m", whole).append_column("z", whole)
    return table.append_column("n", pa.array(range(ROWS), pa.int16()))


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write it as a folder of files, with several groups of rows each."""
    folder = tmp_path_factory.mktemp("nasty") / "a folder, %20 of é +#letters"
    folder.mkdir()
    table = _nasty()
    for number, start in enumerate(range(0, ROWS, 250)):
        ways: dict[str, Any] = {"compression": ["snappy", "gzip", "zstd"][number], "use_dictionary": number != 1}
        pq.write_table(table[start : start + 250], folder / f"{number}.parquet", row_group_size=70, **ways)
    return folder


def _as_they_are(names: tuple[str, ...]) -> Callable[[dict[str, AnyArray]], Iterator[Floats]]:
    """Return what encodes cells as they are, sent to executors as a whole: they have no tests to import it from."""

    def encode(cells: dict[str, AnyArray]) -> Iterator[Floats]:
        yield np.column_stack([np.asarray(cells[name], dtype=np.float64) for name in names])

    return encode


def _encoded(table: Any, **others: Any) -> Floats:
    """Return cleaned cells that executors encoded as they are, in the order of the last column."""
    given = {"part": None, "key": None, "unit": None} | others
    lots = table.encoded_there(NAMES, encode=_as_they_are(NAMES), width=len(NAMES) - 2, **given)
    rows = np.frombuffer(np.asarray(lots.together(np.ravel)).tobytes(), dtype=np.float64).reshape(-1, len(NAMES))
    return np.asarray(rows[np.argsort(rows[:, -1])])


def _read_by_files(records: Records) -> bool:
    assert isinstance(records.table, SparkTable)
    return bool(records.table._files)


def test_cells_are_the_same_bits_as_by_sql_and_in_memory(
    spark: Any, nasty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN, infinities, -0.0, holes, whole numbers that no float holds, texts that are no UTF-8: no bit differs."""
    monkeypatch.setattr("tacit.data.sources.spark_files._TO_A_TASK", 2**14)
    settings = {"spark.sql.files.maxPartitionBytes": "8k", "spark.sql.files.openCostInBytes": "1"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    frame = spark.read.parquet(str(nasty))
    direct = Records(frame, DECLARED)
    assert direct.n == ROWS
    assert len({piece for tasks in direct.table._files["f"] for piece in tasks}) > 6  # type: ignore[attr-defined]
    found = _encoded(direct.table)
    for name, value in before.items():
        spark.conf.set(name, value)
    with monkeypatch.context() as patch:
        patch.setattr("tacit.data.sources.live.plain_files", lambda *_: None)
        by_sql = Records(frame, DECLARED)
        assert not _read_by_files(by_sql)
        wanted = _encoded(by_sql.table)
    assert found.tobytes() == wanted.tobytes()
    cells = next(iter(Records(_nasty(), DECLARED).blocks(NAMES)))
    assert found.tobytes() == next(_as_they_are(NAMES)(dict(cells))).tobytes()


def test_parts_and_persons_go_by_sql(spark: Any, nasty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which part a row is in, and how many rows its person has, is for SQL to find out."""
    schema = Schema({**DECLARED.columns, "id": SCHEMA.columns["id"]}, target="y")
    monkeypatch.setattr("tacit.data.sources.live.encode_files", None)
    frame = spark.read.parquet(str(nasty))
    whole, parts = Records(frame, schema, unit="id"), Records(frame, schema, key="id").split(by="key")
    assert _read_by_files(whole)
    assert len(_encoded(whole.table, unit="id")) == whole.n == ROWS
    found = [_encoded(part.table, part=part.part, key="id") for part in parts]
    assert [len(rows) for rows in found] == [part.n for part in parts]
    assert sum(map(len, found)) == ROWS


@pytest.mark.parametrize("number", [0, 5, 7])
def test_fits_are_those_in_memory(spark: Any, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one seed the released coefficients agree within the certified radius; no cell passes through SQL."""
    table, (target, make) = people(), MODELS[number]
    for place in range(3):
        table[place * 1000 : (place + 1) * 1000].to_parquet(tmp_path / f"{place}.parquet", index=False)
    certified = watch_certificates(monkeypatch)
    held = make().fit(Records(table, schema_for(target)))
    monkeypatch.setattr("tacit.data.sources.live.encode_there", None)
    check_same(held, make().fit(Records(spark.read.parquet(str(tmp_path)), schema_for(target))), target, certified)


SMALL = pa.table({"x": pa.array([0.5, None, 2.0]), "y": pa.array([1, 2, 3], pa.int32()), "p": pa.array([1, 1, 2])})
WIDE = Schema({"x": Number(0, 1), "y": Number(0, 3)}, target="y")


def _written(folder: Path, *tables: pa.Table) -> str:
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder)


def _cast(kind: pa.DataType) -> pa.Table:
    return SMALL.set_column(1, "y", SMALL["y"].cast(kind))


def _through_a_view(spark: Any, folder: Path) -> Any:
    spark.read.parquet(_written(folder, SMALL)).createOrReplaceTempView("all_of_them")
    spark.sql("CREATE OR REPLACE TEMP VIEW some_of_them AS SELECT * FROM all_of_them WHERE p = 1")
    return ibis.pyspark.connect(spark).table("some_of_them")


def _partitioned(spark: Any, folder: Path) -> Any:
    for place in (1, 2):
        (folder / f"p={place}").mkdir()
        pq.write_table(SMALL.drop_columns("p"), folder / f"p={place}" / "0.parquet")
    return spark.read.parquet(str(folder))


def _frame(change: Callable[[Any], Any]) -> Callable[[Any, Path], Any]:
    return lambda spark, folder: change(spark.read.parquet(_written(folder, SMALL)))


def _given(types: str, *tables: pa.Table) -> Callable[[Any, Path], Any]:
    return lambda spark, folder: spark.read.schema(types).parquet(_written(folder, *tables))


def _of_views(spark: Any, folder: Path, text: str) -> Any:
    spark.read.parquet(_written(folder, SMALL)).createOrReplaceTempView("all_of_them")
    return spark.sql(text)


REFUSED: dict[str, tuple[int, Callable[[Any, Path], Any]]] = {
    "a filter": (2, _frame(lambda frame: frame.where("p = 1"))),
    "a filter that is always true": (3, _frame(lambda frame: frame.where("y > 0"))),
    "a view that filters": (2, _through_a_view),
    "a join": (5, _frame(lambda frame: frame.join(frame.select("p"), "p"))),
    "a semi-join": (3, _frame(lambda frame: frame.join(frame.select("p"), "p", "left_semi"))),
    "a limit": (2, _frame(lambda frame: frame.limit(2))),
    "an offset": (2, _frame(lambda frame: frame.offset(1))),
    "a sample": (3, _frame(lambda frame: frame.sample(1.0, seed=1).where("y < 9"))),
    "distinct rows": (3, _frame(lambda frame: frame.distinct())),
    "a union": (6, _frame(lambda frame: frame.union(frame))),
    "groups": (2, _frame(lambda frame: frame.groupBy("p").agg({"x": "max", "y": "max"}).toDF("p", "x", "y"))),
    "an order": (3, _frame(lambda frame: frame.orderBy("y"))),
    "other partitions": (3, _frame(lambda frame: frame.repartition(2))),
    "a column that is computed": (3, _frame(lambda frame: frame.selectExpr("x / 2 AS x", "y"))),
    "columns in each other's place": (3, _frame(lambda frame: frame.selectExpr("y AS x", "y", "x AS p"))),
    "a column that is called another": (3, _frame(lambda frame: frame.withColumnRenamed("p", "q").toDF("q", "y", "x"))),
    "a frame that is cached": (3, _frame(lambda frame: frame.where("true").cache())),
    "a hint": (3, lambda spark, folder: _of_views(spark, folder, "SELECT /*+ REPARTITION(2) */ * FROM all_of_them")),
    "a mask": (3, lambda spark, folder: _of_views(spark, folder, "SELECT IF(p = 1, 0D, x) AS x, y FROM all_of_them")),
    "folders that are values": (6, _partitioned),
    "a type that is given": (3, _given("x double, y bigint, p bigint", SMALL)),
    "a column that a file lacks": (6, _given("x double, y int, p bigint", SMALL, SMALL.drop_columns("x"))),
    "mixed types": (6, _given("x double, y bigint, p bigint", _cast(pa.int64()), SMALL)),
    "an unsigned type": (3, _given("x double, y smallint, p bigint", _cast(pa.uint8()))),
    "columns whose names differ in case": (
        3, lambda spark, folder: spark.read.parquet(_written(folder, SMALL.rename_columns(["X", "y", "p"])))
        .selectExpr("x", "y"),
    ),
    "another codec": (
        3, lambda spark, folder: (
            pq.write_table(SMALL, folder / "0.parquet", compression="lz4"), spark.read.parquet(str(folder))
        )[1],
    ),
    "files of lines": (
        3, lambda spark, folder: (
            (folder / "0.csv").write_text("0.5,1\n,2\n2,3\n"), spark.read.schema("x double, y int").csv(str(folder))
        )[1],
    ),
    "rows of the session": (2, lambda spark, _: spark.createDataFrame([(0.5, 1), (None, 2)], "x double, y int")),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_more_than_a_scan_is_read_by_spark(spark: Any, tmp_path: Path, kind: str) -> None:
    """No filter, view, mask or conversion is passed by: where Spark would do more than hand over cells, it does it."""
    rows, make = REFUSED[kind]
    source = make(spark, tmp_path)
    records = Records(source, WIDE)
    assert not _read_by_files(records)
    assert records.n == rows
    if kind == "a frame that is cached":
        source.unpersist()


@pytest.mark.parametrize(
    "name", ["parquet.fieldId.read.enabled", "files.ignoreCorruptFiles", "files.ignoreMissingFiles"]
)
def test_settings_that_change_what_a_scan_finds_leave_it_to_spark(spark: Any, tmp_path: Path, name: str) -> None:
    """Columns by another name, files that are left out: what such a setting means is Spark's to know."""
    frame = spark.read.parquet(_written(tmp_path, SMALL))
    spark.conf.set(f"spark.sql.{name}", "true")
    try:
        assert not _read_by_files(Records(frame, WIDE))
    finally:
        spark.conf.unset(f"spark.sql.{name}")
    assert _read_by_files(Records(frame, WIDE))


def test_a_selection_of_columns_is_a_plain_scan(spark: Any, tmp_path: Path) -> None:
    """Columns in another order, some of them left out, and a view of no more than that."""
    frame = spark.read.parquet(_written(tmp_path, SMALL, SMALL))
    assert _read_by_files(Records(frame.select("y", "p", "x"), WIDE))
    assert _read_by_files(Records(frame.drop("p"), WIDE))
    frame.createOrReplaceTempView("as_they_are")
    assert _read_by_files(Records(ibis.pyspark.connect(spark).table("as_they_are"), WIDE))


def _later(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "gone": lambda path: path.unlink(),
    "longer": lambda path: pq.write_table(pa.concat_tables([SMALL, SMALL]), path),
    "shorter": lambda path: pq.write_table(SMALL[:2], path),
    "written again": _later,
}


def _outcome(model: Any, records: Records) -> str:
    try:
        model.fit(records)
    except (InvalidParameter, QueryFailed) as error:
        return f"{type(error).__name__}: {error}, {error.__context__}"
    return "fitted"


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_opening_is_left_to_spark(
    spark: Any, tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit says what it says of one that is read by SQL, or reads what is there by now; no failure is charged."""
    told = []
    for way in ("files", "sql"):
        with monkeypatch.context() as patch:
            if way == "sql":
                patch.setattr("tacit.data.sources.live.plain_files", lambda *_: None)
            folder = tmp_path / way
            folder.mkdir()
            records = Records(spark.read.parquet(_written(folder, SMALL, SMALL)), WIDE)
            assert _read_by_files(records) == (way == "files")
            CHANGES[change](folder / "1.parquet")
            ledger = Ledger.create(folder / "l.db", name="x", budget=Budget(1))
            told.append(_outcome(PrivateLinearRegression(1.0, ledger=ledger), records))
            assert len(ledger.entries()) == (told[-1] == "fitted")
    assert told[0] == told[1]
    assert str(tmp_path) not in told[0]
    assert ("fitted" in told) == (change == "written again")


def test_a_file_that_changes_between_plan_and_task_is_an_error_without_its_words(tmp_path: Path) -> None:
    """A task that finds another file than was opened stops, and at opening leaves it to Spark."""
    path = Path(_written(tmp_path, SMALL)) / "0.parquet"
    state = path.stat()
    piece = Piece(str(path), 0, state.st_size, state.st_size, state.st_mtime_ns)
    types = {"x": "double", "y": "int"}
    assert list(_counted(types, piece)) == [3]
    _later(path)
    assert list(_counted(types, piece)) == [-1]
    with pytest.raises(ValueError, match="no longer what it was") as caught:
        next(cleaned_cells(piece, WIDE.columns, 10))
    assert str(path) not in str(caught.value)


def test_a_failure_on_an_executor_quotes_nothing(spark: Any, tmp_path: Path) -> None:
    """What a task says when it fails stays in the cluster's own log."""

    def broken(_: object) -> Any:
        raise RuntimeError("a record's secret")

    table: Any = Records(spark.read.parquet(_written(tmp_path, SMALL)), WIDE).table
    with pytest.raises(QueryFailed, match="the cluster failed") as caught:
        table.encoded_there(("x", "y"), None, None, None, broken, 2)
    assert "secret" not in f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"


def test_no_finder_of_an_archive_outlives_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would read the archive's list again before the next task; modules are found as before."""
    archive = str(tmp_path / "a.zip")
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("tacit_packed_one.py", "")
        packed.writestr("tacit_packed_two.py", "two = 2")
    monkeypatch.syspath_prepend(archive)
    __import__("tacit_packed_one")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    assert list(worked(lambda given: map(abs, given), iter([-1, 2]))) == [1, 2]
    assert archive not in sys.path_importer_cache
    assert __import__("tacit_packed_two").two == 2
