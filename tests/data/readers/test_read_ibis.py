"""Tables of an Ibis connection are read from their database as that database is read by itself."""

from types import SimpleNamespace
from typing import Any

import ibis
import pyarrow as pa
import pytest

from support.hostile_tables import COLUMNS, arrow_table
from support.reading import cleaned_rows, cleaned_table, raw_cells, refused_reading
from support.sources import MARK
from tacit.data import Column, Key, Moment, Number
from tacit.data.readers import ibis_table
from tacit.data.readers.ibis_table import open_ibis
from tacit.errors import InvalidParameter

pytestmark = pytest.mark.usefixtures("quiet")


def duckdb_table(*statements: str) -> Any:
    """Run statements in a database of DuckDB, and return its table of visits."""
    connection = ibis.duckdb.connect()
    for statement in statements:
        connection.raw_sql(statement)
    return connection.table("visits")


def test_stored_types_are_facts_of_the_catalogue() -> None:
    """Each type of DuckDB has its kind, and values that a type lists are in no word about it."""
    kinds = {
        "BOOLEAN": "truth", "UBIGINT": "whole", "TINYINT": "whole", "FLOAT": "real", "DECIMAL(5, 2)": "decimal",
        "VARCHAR": "text", "UUID": "uuid", "DATE": "day", "TIMESTAMP": "moment", "TIMESTAMP_NS": "moment",
        "TIMESTAMPTZ": "moment", f"ENUM('{MARK}')": "other", "BLOB": "other", "INTEGER[]": "other", "TIME": "other",
        "HUGEINT": "other",
    }  # fmt: skip
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
    source = open_ibis(duckdb_table(f"CREATE TABLE visits ({columns})"))
    assert [stored.kind for stored in source.stored.values()] == list(kinds.values())
    assert not any(MARK in stored.words for stored in source.stored.values())
    assert not source.ordered
    assert [len(batch) for batch in source.read(["c0"])] in ([], [0])


@pytest.mark.parametrize("rows", [2, 2**16])
def test_cells_of_duckdb_at_the_ends_of_their_types(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinite days and moments lie beyond all others, and the largest whole numbers are no floats."""
    monkeypatch.setattr(ibis_table, "_ROWS", rows)
    table = duckdb_table(
        "CREATE TABLE visits AS SELECT * FROM (VALUES (18446744073709551615::UBIGINT, 'infinity'::DATE, "
        "'infinity'::TIMESTAMP, TIMESTAMP_NS '2020-05-01 10:00:00'), (18446744073709551614, '-infinity', '-infinity', "
        "NULL), (NULL, NULL, NULL, TIMESTAMP_NS '1700-01-01'), (0, '0001-01-01', '1970-01-01', NULL)) v(u, d, t, n)"
    )
    columns: dict[str, Column] = {"u": Key(), **{name: Moment("1900-01-01", "2100-01-01") for name in "dtn"}}
    cells = {
        "u": [2**64 - 1, 2**64 - 2, None, 0],
        "d": ["9999-01-01", "0001-01-01", None, "0001-01-01"],
        "t": ["9999-01-01", "0001-01-01", None, "1970-01-01"],
        "n": ["2020-05-01T10:00:00", None, "1700-01-01", None],
    }
    assert cleaned_rows(open_ibis(table), columns) == cleaned_table(cells, columns)


@pytest.mark.parametrize("seed", [0, 1])
def test_hostile_cells_of_duckdb_read_as_those_of_the_frame(seed: int) -> None:
    """Every type at its extremes, NULs in texts and nulls: to the last bit."""
    table = arrow_table(400, seed)
    source = open_ibis(ibis.duckdb.connect().create_table("visits", table))
    assert cleaned_rows(source, COLUMNS) == cleaned_table(table, COLUMNS)


def test_nan_in_a_parquet_file_is_seen(tmp_path: Any) -> None:
    """The file's statistics leave NaN out; nothing here asks DuckDB whether a number is one."""
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0, float("nan"), 5.0]}), tmp_path / "nan.parquet")
    source = open_ibis(ibis.duckdb.connect().read_parquet(tmp_path / "nan.parquet"))
    columns: dict[str, Column] = {"x": Number(0, 10, missing=3)}
    assert sorted(row[0] for row in cleaned_rows(source, columns)) == [("1.0", 0), ("3.0", 1), ("5.0", 0)]


def test_a_query_of_ibis_is_a_table() -> None:
    """What Ibis was told to compute is read, from DuckDB by what it computes when it is read."""
    table = duckdb_table("CREATE TABLE visits AS SELECT range AS age FROM range(10)")
    older = table.filter(table.age > 6).mutate(double=table.age * 2)
    assert sorted(raw_cells(open_ibis(older), "double")) == [14, 16, 18]


def test_a_view_that_fails_for_one_row_is_refused_unquoted() -> None:
    """DuckDB quotes what it could not convert."""
    table = duckdb_table(
        f"CREATE TABLE wards AS SELECT CASE WHEN range = 99999 THEN '{MARK}' ELSE '5' END AS ward FROM range(100000)",
        "CREATE VIEW visits AS SELECT CAST(ward AS INTEGER) AS age FROM wards",
    )
    refused_reading(open_ibis(table), "age")


def test_what_changed_since_it_was_described_is_refused() -> None:
    """A column of another type by its declared name, a dropped table by the failure's type."""
    table = duckdb_table(f"CREATE TABLE visits AS SELECT 1 AS age, '{MARK}' AS ward")
    source = open_ibis(table)
    table.get_backend().raw_sql("ALTER TABLE visits ALTER COLUMN age TYPE VARCHAR")
    refused_reading(source, "age", match="'age' is no longer stored as it was")
    table.get_backend().raw_sql("DROP TABLE visits")
    refused_reading(source, "ward")


def test_two_tables_of_a_connection_that_are_read_at_once_lose_no_rows() -> None:
    """A connection of DuckDB does one thing at a time: whichever reading it ends is refused, not cut short."""
    table = duckdb_table("CREATE TABLE visits AS SELECT range AS age FROM range(500000)")
    readings = [open_ibis(table).read(["age"]) for _ in range(2)]
    counts, refusals = [0, 0], 0
    for _ in range(20):
        for place, reading in enumerate(readings):
            try:
                counts[place] += len(next(reading, []))
            except InvalidParameter:
                counts[place], refusals = 500_000, refusals + 1
    assert counts == [500_000, 500_000]
    assert refusals == 1


def test_a_table_of_another_database_is_refused() -> None:
    """It is said which one it is of. (What is no table at all: `test_record_databases`.)"""
    backend, node = SimpleNamespace(name="mysql", con=None), SimpleNamespace(find=lambda kind: [])
    with pytest.raises(InvalidParameter, match="got a table of mysql"):
        open_ibis(SimpleNamespace(op=lambda: node, get_backend=lambda: backend))


def test_sqlite_through_ibis_rounds_no_whole_number() -> None:
    """A missing cell beside an id of 2^53 + 1 leaves the id what it is, and texts are decoded as before afterwards."""
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE visits (id INTEGER, ward TEXT)").close()
    for cells in ((2**53 + 1, "a"), (None, b"\xff"), ("odd", None)):
        connection.con.execute("INSERT INTO visits VALUES (?, CAST(? AS TEXT))", cells)
    connection.con.commit()
    decode = connection.con.text_factory
    source = open_ibis(connection.table("visits"))
    assert raw_cells(source, "id") == [2**53 + 1, None, "odd"]
    assert raw_cells(source, "ward") == ["a", "\ufffd", None]
    assert connection.con.text_factory is decode


@pytest.mark.parametrize("digits", [-15, 3])
def test_postgresql_through_ibis_is_read_as_by_its_address(postgresql: Any, database: str, digits: int) -> None:
    """In binary, with dates that Python has no object for; a failure leaves the session as it was."""
    folder = postgresql.address(database).partition("?host=")[2]
    connection = ibis.postgres.connect(host=folder, user="postgres", database=database)
    try:
        connection.con.execute(f"SET extra_float_digits = {digits}")
        connection.con.execute(
            "CREATE TABLE visits AS SELECT 1 / 3.0::float8 AS age, date 'infinity' AS day, 'Infinity'::numeric AS cost,"
            f" '{MARK}'::text AS ward"
        )
        source = open_ibis(connection.table("visits"))
        assert raw_cells(source, "age") == [1 / 3]
        assert raw_cells(source, "cost") == [float("inf")]
        columns: dict[str, Column] = {"day": Moment("1900-01-01", "2100-01-01")}
        assert cleaned_rows(source, columns) == cleaned_table({"day": ["9999-01-01"]}, columns)
        connection.con.execute("CREATE VIEW wards AS SELECT ward::int FROM visits")
        refused_reading(open_ibis(connection.table("wards")), "ward")
        assert raw_cells(source, "age") == [1 / 3]
        assert connection.con.execute("SHOW transaction_read_only").fetchall() == [("off",)]
    finally:
        connection.disconnect()
