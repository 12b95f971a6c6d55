"""Records from every container: no cell changes how another is read, and the same content gives the same bits."""

import datetime
import gzip
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Category, Column, Flag, Key, Moment, Number, Ordinal, Records, Schema
from tacit.data.sources import files
from tacit.errors import InvalidParameter

NUMBER, WHOLE, WORD = Number(-1e18, 1e18), Category([2**53 + 1, 7]), Category(["a", "é", "1"])
TRUTH, TIME = Flag(missing=True), Moment("0001-01-01", "9999-12-31")
NOON, ZONE = datetime.datetime(2000, 2, 29, 12), datetime.timezone(datetime.timedelta(hours=5))


def _arrow(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pa.table({"c": pa.array(cells, kind)})


def _polars(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pl.DataFrame({"c": pl.Series(cells, dtype=kind, strict=False)})


def _pandas(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.DataFrame({"c": pd.Series(cells, dtype=kind)})


def _raw(unit: str, zone: str | None = None) -> Callable[[list[Any]], Any]:
    return lambda cells: pa.table({"c": pa.array(cells, pa.int64()).cast(pa.timestamp(unit, zone))})


def _undecodable(cells: list[Any]) -> Any:
    """Make a column of text, some of which is no text: Arrow believes whoever says so."""
    return pa.table({"c": pa.array(cells, pa.binary()).view(pa.string())})


_ENDS = [0, -1, 951825600000000, None, 2**63 - 1, -(2**63) + 1]
_WHOLE = [7, 2**53 + 1, None, -(2**63), 2**63 - 1]
_OBJECTS: list[Any] = [
    7,
    "7",
    2**53 + 1,
    None,
    1.5,
    float("nan"),
    "?",
    Decimal("sNaN"),
    10**400,
    b"7",
    [7],
    True,
    "a",
    NOON,
]
CONTAINERS: dict[str, tuple[Callable[[list[Any]], Any], Column, list[Any]]] = {
    "a list": (lambda cells: {"c": cells}, NUMBER, _OBJECTS),
    "a list of levels": (lambda cells: {"c": cells}, WHOLE, _OBJECTS),
    "a list of moments": (lambda cells: {"c": cells}, TIME, [*_OBJECTS, pd.NaT, "2000-02-29"]),
    "records": (lambda cells: [{"c": cell} for cell in cells], WHOLE, _OBJECTS),
    "rows": (lambda cells: [[cell] for cell in cells], NUMBER, _OBJECTS),
    "an array of objects": (lambda cells: {"c": np.fromiter(cells, object, len(cells))}, WHOLE, _OBJECTS),
    "pandas objects": (_pandas(object), WHOLE, _OBJECTS),
    "pandas Int64": (_pandas("Int64"), WHOLE, _WHOLE),
    "pandas boolean": (_pandas("boolean"), TRUTH, [True, False, None]),
    "pandas string": (_pandas("string"), WORD, ["a", " é", None, "1", "\0"]),
    "pandas category": (_pandas("category"), WORD, ["a", "é ", None, "1", "zz"]),
    "pandas category of numbers": (_pandas("category"), WHOLE, _WHOLE),
    "pandas moments": (_pandas("datetime64[ns]"), TIME, [NOON, None, pd.Timestamp.max, pd.Timestamp.min]),
    "pandas seconds": (_pandas("datetime64[s]"), TIME, [NOON, None, np.datetime64("290000-01-01", "s")]),
    "pandas zones": (_pandas("datetime64[us, Asia/Kolkata]"), TIME, [pd.Timestamp(NOON, tz="UTC"), None]),
    "pandas over arrow dates": (_pandas(pd.ArrowDtype(pa.date32())), TIME, [NOON.date(), None, datetime.date.max]),
    "pandas over arrow numbers": (_pandas(pd.ArrowDtype(pa.decimal128(38, 2))), NUMBER, [Decimal("1.25"), None]),
    "polars Int128": (_polars(pl.Int128), WHOLE, [*_WHOLE, 2**100]),
    "polars UInt64": (_polars(pl.UInt64), WHOLE, [7, 2**53 + 1, None, 2**64 - 1]),
    "polars Decimal": (_polars(pl.Decimal(38, 2)), NUMBER, [Decimal("1.25"), None, Decimal(10**30)]),
    "polars ns": (_polars(pl.Datetime("ns")), TIME, [NOON, None, datetime.datetime(2262, 1, 1)]),
    "polars ms with a zone": (_polars(pl.Datetime("ms", "Asia/Tokyo")), TIME, [NOON.replace(tzinfo=ZONE), None]),
    "polars dates": (lambda c: pl.DataFrame({"c": pl.Series(c, dtype=pl.Int32).cast(pl.Date)}), TIME,
                     [0, -1, None, 2**31 - 1, -(2**31), 2932897]),
    "polars far moments": (lambda c: pl.DataFrame({"c": pl.Series(c, dtype=pl.Int64).cast(pl.Datetime("us"))}), TIME,
                           _ENDS),
    "polars Enum": (_polars(pl.Enum(["a", "é", "zz"])), WORD, ["a", "é", None, "zz"]),
    "polars Categorical": (_polars(pl.Categorical), WORD, ["a", "é", None, "zz"]),
    "arrow dictionary": (lambda c: pa.table({"c": pa.array(c).dictionary_encode()}), WORD, ["a", "é", None, "zz"]),
    "arrow large_string": (_arrow(pa.large_string()), WORD, ["a", "é", None, "zz"]),
    "arrow string_view": (_arrow(pa.string_view()), WORD, ["a", "é", None, "a long text of no level"]),
    "arrow undecodable": (_undecodable, WORD, [b"a", b"\xff\xfe", None, b"\xc3\xa9"]),
    "arrow bool": (_arrow(pa.bool_()), TRUTH, [True, False, None]),
    "arrow decimal256": (_arrow(pa.decimal256(60, 5)), NUMBER, [Decimal("1.25"), None, Decimal(10**50)]),
    "arrow half": (_arrow(pa.float16()), NUMBER, [np.float16(1.5), None, np.float16("inf"), np.float16("nan")]),
    "arrow dates": (lambda c: pa.table({"c": pa.array(c, pa.int32()).cast(pa.date32())}), TIME,
                    [0, -1, None, 2**31 - 1, -(2**31), 2932897]),
    **{f"arrow {unit}": (_raw(unit), TIME, _ENDS) for unit in ("s", "ms", "us", "ns")},
    "arrow us with a zone": (_raw("us", "America/New_York"), TIME, _ENDS),
}  # fmt: skip


def read(table: Any, column: Column) -> tuple[list[bytes], list[float]]:
    """Return the bits of the one column `c`."""
    records = Records(table, Schema({"c": column}))
    cleaned = np.concatenate([block["c"] for block in records.blocks()])
    return [np.float64(each).tobytes() for each in cleaned], records.table.mismatches(None, None).ravel().tolist()


@pytest.mark.parametrize("name", list(CONTAINERS))
def test_one_cell_never_changes_how_another_is_read(name: str) -> None:
    """With each cell in turn left out or put first, all others have the same bits; nothing fails or warns."""
    make, column, content = CONTAINERS[name]
    with np.errstate(all="raise"):
        whole, states = read(make(content), column)
        assert sum(states) <= len(content)
        for place in range(len(content)):
            rest = [*content[:place], *content[place + 1 :]]
            assert read(make(rest), column)[0] == [*whole[:place], *whole[place + 1 :]]
            twice = [content[place], *content]
            assert read(make(twice), column)[0] == [whole[place], *whole]


SAME = {
    "n": [1.5, None, 1e19, -2.0, 0.1], "w": ["a", " é", None, "", "zz"], "k": [7, 2**53 + 1, None, -3, 0],
    "b": [True, False, None, True, False],
    "d": [datetime.date(2000, 2, 29), None, datetime.date.max, *[NOON.date()] * 2],
    "t": [NOON, None, datetime.datetime(1, 1, 1), NOON + datetime.timedelta(microseconds=1), datetime.datetime.max],
}  # fmt: skip
SAME_SCHEMA = Schema(
    {"n": NUMBER, "w": WORD, "k": WHOLE, "b": TRUTH, "d": TIME, "t": Moment("1999-12-31", "2020-01-01T06:00")}
)


def _sqlite(folder: Path) -> Any:
    with sqlite3.connect(folder / "same.db") as connection:
        connection.execute("CREATE TABLE same (n, w, k, b, d, t)")
        for row in zip(*SAME.values(), strict=True):
            words = {True: "true", False: "false"}
            b, d, t = words.get(row[3]), row[4] and row[4].isoformat(), row[5] and row[5].isoformat()  # type: ignore[call-overload]
            connection.execute("INSERT INTO same VALUES (?, ?, ?, ?, ?, ?)", (*row[:3], b, d, t))
    connection.close()
    return f"sqlite:///{folder}/same.db", "same"


def _csv(folder: Path) -> Any:
    table = pl.DataFrame(SAME).with_columns(pl.col("t").dt.strftime("%Y-%m-%dT%H:%M:%S.%6f"))
    table.write_csv(folder / "same.csv")
    return folder / "same.csv"


def _parquet(folder: Path) -> Any:
    pl.DataFrame(SAME).write_parquet(folder / "same.parquet")
    return str(folder / "same.parquet")


def _folder(folder: Path) -> Any:
    table = pl.DataFrame(SAME)
    (folder / "parts").mkdir()
    for number, part in enumerate((table[:2], table[2:])):
        part.write_parquet(folder / "parts" / f"{number}.parquet")
    return folder / "parts"


def _tabs(folder: Path) -> Any:
    table = pl.DataFrame(SAME).with_columns(pl.col("t").dt.strftime("%Y-%m-%dT%H:%M:%S.%6f"))
    (folder / "lines").mkdir()
    for number, part in enumerate((table[:2], table[2:])):
        written = part.write_csv(separator="\t").encode()
        (folder / "lines" / f"{number}.tsv.gz").write_bytes(gzip.compress(written))
    return folder / "lines"


def _array(folder: Path) -> Any:
    array = np.empty((5, len(SAME)), dtype=object)
    for place, cells in enumerate(SAME.values()):
        array[:, place] = cells
    return array


MAKES: dict[str, Callable[[Path], Any]] = {
    "records": lambda folder: [dict(zip(SAME, row, strict=True)) for row in zip(*SAME.values(), strict=True)],
    "rows": lambda folder: list(zip(*SAME.values(), strict=True)),
    "array": _array,
    "features and target": lambda folder: (_array(folder)[:, :-1], SAME["t"]),
    "pandas": lambda folder: pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in SAME.items()}),
    "polars": lambda folder: pl.DataFrame(SAME),
    "arrow": lambda folder: pa.table(SAME),
    "sqlite": _sqlite,
    "csv": _csv,
    "tabs, packed, in a folder": _tabs,
    "parquet": _parquet,
    "folder": _folder,
    "DuckDB through Ibis": lambda folder: ibis.duckdb.connect().create_table("same", pa.table(SAME)),
}


def _bits(records: Records) -> dict[str, bytes]:
    blocks = list(records.blocks())
    return {name: np.concatenate([block[name] for block in blocks]).astype(np.float64).tobytes() for name in SAME}


def _same_bits(source: Any, schema: Schema = SAME_SCHEMA) -> None:
    assert _bits(Records(source, schema)) == _bits(Records(SAME, SAME_SCHEMA))


@pytest.mark.parametrize("kind", MAKES)
def test_the_same_content_gives_the_same_bits(tmp_path: Path, kind: str) -> None:
    """From whichever source the records come, their cleaned cells are those of the plain lists."""
    last = "t" if kind == "features and target" else None
    _same_bits(MAKES[kind](tmp_path), Schema(SAME_SCHEMA.columns, target=last))


@pytest.mark.parametrize("through_ibis", [False, True])
def test_the_same_content_gives_the_same_bits_in_spark(spark: Any, tmp_path: Path, through_ibis: bool) -> None:
    """A Spark data frame, and a table of an Ibis connection to Spark."""
    frame = spark.read.parquet(_parquet(tmp_path))
    if not through_ibis:
        _same_bits(frame)
        return
    frame.createOrReplaceTempView("same_cells")
    _same_bits(ibis.pyspark.connect(spark).table("same_cells"))


def test_cells_of_sqlite_are_each_what_they_are(tmp_path: Path) -> None:
    """A column of SQLite may hold texts, numbers, blobs and broken text side by side; none changes another."""
    with sqlite3.connect(tmp_path / "mixed.db") as connection:
        connection.execute("CREATE TABLE mixed (c INTEGER)")
        for cell in ("7", "'a'", "7.0", "NULL", "x'ff'", "cast(x'ff61' AS TEXT)", "9007199254740993", "1e400"):
            connection.execute(f"INSERT INTO mixed VALUES ({cell})")
    connection.close()
    records = Records((f"sqlite:///{tmp_path}/mixed.db", "mixed"), Schema({"c": WHOLE}))
    assert next(records.blocks())["c"].tolist() == [1, -1, 1, -1, -1, -1, 0, -1]


def _parts(records: Records, by: Any) -> list[list[int]]:
    return [
        [int(each) for block in part.blocks(["c"]) for each in block["c"]]
        for part in records.split(0.5, 0.3, 0.2, by=by)
    ]


@pytest.mark.parametrize(
    ("shares", "names", "said"),
    [
        ((0.5, 0.5), 5, "names"), ((0.5, 0.5), "ab", "names"), ((0.5, 0.5), [[1], [2]], "names"),
        ((0.5, 0.5), [1, 2], "names"), ((0.5, 0.5), ["a", "a"], "names"), ((0.5, 0.5), ["a", "b", "a"], "names"),
        ((0.5, 0.5), ["a", ""], "names"), ((0.5, 0.5), {"a", "b"}, "names"), ((10**400, 0.5), None, "share"),
        ((1e308, 1e308), None, "share"), (("x", 0.5), None, "share"), ((True,), None, "share"), ((1.0,), None, "share"),
        ((1.5, -0.5), None, "share"), ((0.5, 0.6), None, "share"),
    ],
)  # fmt: skip
def test_shares_and_names_that_make_no_parts_are_refused(shares: Any, names: Any, said: str) -> None:
    """Parts are at least two shares that add up to 1, and have different texts as names, as many as there are parts."""
    records = Records({"c": list(range(50))}, Schema({"c": Number(0, 50)}))
    with pytest.raises(InvalidParameter, match=said):
        records.split(*shares, names=names)
    assert sum(part.n for part in records.split(np.float32(0.5), 0.5, names=np.array(["a", "b"]))) == 50


@pytest.mark.parametrize("by", ["index", "key"])
def test_parts_are_disjoint_cover_all_and_are_fixed_by_index_or_key_alone(tmp_path: Path, by: str) -> None:
    """The same records are in the same parts in memory and in files, and no other value moves one."""
    n, schema = 300, Schema({"c": Number(0, 1e6), "v": Number(0, 1), "id": Key()})
    content = {"c": list(range(n)), "v": [0.5] * n, "id": [f"p{k}" for k in range(n)]}
    pl.DataFrame(content).write_parquet(tmp_path / "parts.parquet")
    changed = {**content, "v": [None] * n}
    found = [_parts(Records(source, schema, key="id"), by) for source in (content, tmp_path / "parts.parquet", changed)]
    assert sorted(each for part in found[0] for each in part) == list(range(n))
    assert found[0] == found[1] == found[2]
    moved = _parts(Records({**content, "id": ["other", *content["id"][1:]]}, schema, key="id"), by)
    assert [[each for each in part if each] for part in moved] == [[each for each in part if each] for part in found[0]]


@pytest.mark.parametrize("name", ["tacit_index", "TACIT_INDEX", "column0", "records", "renamed", "rowid"])
def test_no_stored_column_says_which_part_a_record_is_in(tmp_path: Path, name: str) -> None:
    """Places are counted where records are read: a column that is called as a place, declared or not, is just that."""
    n = 300
    content = {"c": list(range(n)), name: [0] * n}
    pl.DataFrame(content).write_parquet(tmp_path / "parts.parquet")
    pl.DataFrame(content).write_csv(tmp_path / "parts.csv")
    schema = Schema({"c": Number(0, 1e6)})
    expected = _parts(Records(content, schema), "index")
    assert sorted(each for part in expected for each in part) == list(range(n))
    for path in (tmp_path / "parts.parquet", tmp_path / "parts.csv"):
        assert _parts(Records(path, schema), "index") == expected


def test_what_parts_cost_composes_in_parallel(tmp_path: Path) -> None:
    """An account of a part is that part's own: two parts together cost the dearer one."""
    from tacit.queries import StatisticalOracle, StatisticalQuery

    records = Records({"c": list(range(200))}, Schema({"c": Number(0, 200)}), name="parts")
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="parts", budget=Budget(1.0, 1e-6))
    train, test = records.split()
    for part, epsilon in ((train, 0.25), (test, 0.125)):
        StatisticalOracle(part, ledger=part.account(ledger)).ask(StatisticalQuery(lambda t: t.c > 100), epsilon=epsilon)
    assert ledger.spent.epsilon == pytest.approx(0.25)
    assert records.account(ledger) is ledger


@pytest.mark.parametrize(
    ("column", "cells", "said"),
    [
        (Number(0, 1), pa.array(["a"]), "text"),
        (Number(0, 1), pa.array([True]), "truth values"),
        (Number(0, 1), pa.array([NOON]), "dates with times"),
        (Category(["1"]), pa.array([1.0]), "floating-point"),
        (Ordinal(["1", "2"]), pa.array([NOON.date()]), "dates"),
        (Moment("2000-01-01", "2001-01-01"), pa.array([1]), "whole numbers"),
        (Moment("2000-01-01", "2001-01-01"), pa.array(["2000-01-01"]), "text"),
        (Key(), pa.array([1.5]), "floating-point"),
        (Number(0, 1), pa.array([[1]]), "does not read"),
    ],
)
def test_declarations_against_the_stored_type_are_refused(column: Column, cells: Any, said: str) -> None:
    """What the catalogue contradicts is a public mistake, said with the stored type and what to do."""
    with pytest.raises(InvalidParameter, match=said):
        Records(pa.table({"c": cells}), Schema({"c": column}))


def test_a_column_that_is_not_there_is_named_with_the_nearest() -> None:
    """A slip in a name is answered with the name that was meant."""
    with pytest.raises(InvalidParameter, match=r"'salary'.*did you mean 'Salary '"):
        Records({"Salary ": [1], "age": [2]}, Schema({"salary": Number(0, 1)}))


def test_the_name_of_a_table_does_not_follow_from_how_long_its_file_is(tmp_path, monkeypatch):
    """Cards publish it, and the length of a file of lines is that of its records."""
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n", "utf-8")
    known, state = [], files._state
    for size in (6, 7):
        monkeypatch.setattr(files, "_state", lambda file, size=size: (*state(file)[:3], size, *state(file)[4:]))
        known.append(Records(path, Schema({"a": Number(0, 9)})).table_name)
    assert known[0] == known[1]
