"""Bad input from databases: a clear refusal before anything is charged, and never a word of a record in it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.sources import MARK, SCHEMA, ages, refused
from tacit.accounting.store import Store
from tacit.data import Category, Number, Records, Schema
from tacit.errors import InvalidParameter

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_type_that_lists_values_is_not_quoted() -> None:
    """The levels of an ENUM, or of a list of categories, may have been taken from records; digits are sizes."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE TABLE t AS SELECT '{MARK}'::ENUM('{MARK}') AS mood, [1.5::DECIMAL(4, 1)] AS costs")
    assert "(enum(...))" in refused(connection.table("t"), Schema({"mood": Category(["a"])}), "does not read")
    assert "(decimal(4,1)[])" in refused(connection.table("t"), Schema({"costs": Number(0, 1)}), "does not read")
    moods = pl.DataFrame({"moods": pl.Series([[MARK]], dtype=pl.List(pl.Enum([MARK])))})
    refused(moods, Schema({"moods": Category(["a"])}), "does not read")
    for source in (connection.table("t"), moods):
        assert MARK not in Schema.draft(source)


def _of_no_connection() -> list[Any]:
    frame = pa.table({"age": [1.0], "ward": ["a"]})
    connection = ibis.duckdb.connect()
    return [ibis.table({"age": "float"}, name="q"), ibis.memtable(frame), connection, connection.table, connection.con]


@pytest.mark.parametrize("place", range(5), ids=["unbound", "memtable", "backend", "method", "DuckDB's own"])
def test_what_is_no_table_of_a_connection_is_refused_in_our_words(place: int) -> None:
    """Errors of Ibis and of its engines came through; a table that Ibis made of a frame is told what to give."""
    match = "Give the frame itself" if place == 1 else "there is no such table|must be a data frame"
    refused(_of_no_connection()[place], match=match)
    with pytest.raises(InvalidParameter, match=match):
        Schema.draft(_of_no_connection()[place])


@pytest.mark.parametrize("address", ["mysql://x", "postgres://x", "a.csv", ""])
def test_a_draft_says_of_an_address_what_records_say(address: str) -> None:
    """Which databases there are, and not that one of them cannot be reached."""
    refused((address, "t"), match="begins with sqlite:/// or postgresql://")
    with pytest.raises(InvalidParameter, match="begins with sqlite:/// or postgresql://"):
        Schema.draft((address, "t"))


@pytest.mark.parametrize("name", ["a#1.db", "a%2520b.db", "a b.db", "[1].db", "a'b.db", "é+&=.db"])
def test_an_sqlite_file_is_the_one_that_a_ledger_of_its_address_would_be(tmp_path: Path, name: str) -> None:
    """Behind a hash another file was read, and a name was decoded twice."""
    address = f"sqlite:///{tmp_path}/{name}"
    named = Path(str(Store.at(address).url.database))
    for age, path in [(1, tmp_path / "a"), (2, tmp_path / "a%20b.db"), (3, tmp_path / "a b.db"), (50, named)]:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                f"DROP TABLE IF EXISTS visits; CREATE TABLE visits AS SELECT {age}.0 AS age, 'a' AS ward"
            )
    assert ages(Records((address, "visits"), SCHEMA)) == [50]
    assert "age" in Schema.draft((address, "visits"))
    refused((f"{address}?mode=rw", "visits"), match="takes no options")


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_no_row_and_of_one(table: tuple[str, str], tmp_path: Path, rows: int) -> None:
    """In every kind of source an empty table is refused, in the same words, and a single record is enough."""
    sqlite = tmp_path / "few.db"
    with psycopg.connect(table[0]) as remote, closing(sqlite3.connect(sqlite)) as local:
        remote.execute(f"DELETE FROM visits WHERE id > {rows}")
        local.execute("CREATE TABLE visits (age REAL, ward TEXT)")
        local.executemany("INSERT INTO visits VALUES (?, ?)", [(50, "a")] * rows)
        local.commit()
    duckdb = ibis.duckdb.connect()
    duckdb.raw_sql(f"CREATE TABLE visits AS SELECT 50.0::DOUBLE AS age, 'a' AS ward FROM range({rows})")
    cells = {"age": [50.0] * rows, "ward": ["a"] * rows}
    arrow = pa.table(cells, schema=pa.schema({"age": pa.float64(), "ward": pa.string()}))
    sources: list[Any] = [table, (f"sqlite:///{sqlite}", "visits"), duckdb.table("visits"), cells, arrow]
    arrow.to_pandas().to_csv(tmp_path / "few.csv", index=False)
    pq.write_table(arrow, tmp_path / "few.parquet")
    sources += [
        tmp_path / "few.csv",
        tmp_path / "few.parquet",
        pl.from_arrow(arrow),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        list(zip(*cells.values(), strict=True)),
    ]
    for source in sources:
        if rows:
            assert ages(Records(source, SCHEMA)) == [50]
        else:
            refused(source, match="at least one record, got 0")


@pytest.fixture
def table(postgresql: Any, database: str) -> tuple[str, str]:
    """Make a table of PostgreSQL with two records."""
    address = postgresql.address(database)
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE visits (age float8, ward text, id int8)")
        connection.execute(f"INSERT INTO visits VALUES (50, 'a', 1), (60, '{MARK}', 2)")
    return address, "visits"
