"""Tables and views of PostgreSQL are read by a binary COPY as the same cells in memory are."""

import random
import time
from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
import pytest

from support.hostile_tables import PAIRS, write_pairs
from support.reading import cleaned_rows, cleaned_table, raw_cells, refused_reading
from support.sources import MARK, said
from tacit.data import Key, Number
from tacit.data.readers import binary_copy
from tacit.data.readers.postgresql import open_postgresql
from tacit.data.values import as_float
from tacit.errors import InvalidParameter

pytestmark = pytest.mark.usefixtures("quiet")
COLUMNS = {name: column for name, (_, column, _) in PAIRS.items()}


@pytest.fixture
def home(postgresql: Any, database: str) -> str:
    """Give the address of an empty database."""
    address: str = postgresql.address(database)
    return address


def run(address: str, *statements: str) -> None:
    """Run statements in a session of their own, and commit."""
    with psycopg.connect(address) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("rows", [7, 2**16])
def test_hostile_cells_read_as_the_same_objects_in_memory(
    home: str, seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every type at its extremes and nulls: to the last bit, however many rows come at a time."""
    monkeypatch.setattr(binary_copy, "_ROWS", rows)
    table, cells = write_pairs(home, 400, seed)
    assert cleaned_rows(open_postgresql(home, table), COLUMNS) == cleaned_table(cells, COLUMNS)


def test_stored_types_are_facts_of_the_catalogue(home: str) -> None:
    """Each type has its kind and name, domains those of their base; what is not read is said to be other."""
    kinds = {
        "boolean": ("truth", "boolean"), "bigint": ("whole", "bigint"), "smallint": ("whole", "smallint"),
        "integer": ("whole", "integer"), "real": ("real", "real"), "float8": ("real", "double precision"),
        "numeric(5, 2)": ("decimal", "numeric"), "text": ("text", "text"), "varchar(3)": ("text", "character varying"),
        "char(3)": ("text", "character"), "uuid": ("uuid", "uuid"), "date": ("day", "date"),
        "timestamp": ("moment", "timestamp"), "timestamptz": ("moment", "timestamp with time zone"),
        "small": ("whole", "integer"), "bytea": ("other", ""), "int[]": ("other", ""), "mood": ("other", ""),
        "interval": ("other", ""), "json": ("other", ""),
    }  # fmt: skip
    run(
        home,
        "CREATE DOMAIN small AS integer CHECK (value < 10)",
        f"CREATE TYPE mood AS ENUM ('{MARK}')",
        f"CREATE TABLE visits ({', '.join(f'c{place} {kind}' for place, kind in enumerate(kinds))})",
    )
    source = open_postgresql(home, "visits")
    assert [(stored.kind, stored.name) for stored in source.stored.values()] == list(kinds.values())
    assert not source.ordered
    assert list(source.read(["c0"])) == []


def test_decimals_of_any_size_are_the_nearest_floats(home: str) -> None:
    """By one rounding, with a point anywhere among up to 40 digits, and at the ends of the type."""
    draw = random.Random(3)
    cells = [
        f"{draw.choice('+-')}{draw.randrange(10 ** draw.randrange(1, 41))}e{draw.randrange(-45, 30)}"
        for _ in range(4000)
    ]
    cells += ["NaN", "Infinity", "-Infinity", "9" * 131_072, "1e-16383", "9007199254740993", "9007199254740992.5", "0"]
    with psycopg.connect(home) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE costs (cost numeric)")
        cursor.executemany("INSERT INTO costs VALUES (%s::numeric)", [(cell,) for cell in cells])
    found = np.sort(np.array(raw_cells(open_postgresql(home, "costs"), "cost")))
    np.testing.assert_array_equal(found, np.sort([as_float(Decimal(cell)) for cell in cells]))


def test_rows_of_many_bytes_come_a_few_at_a_time(home: str) -> None:
    """A lot ends after so many bytes, too: twenty texts of four million letters are more than two lots."""
    run(home, "CREATE TABLE notes AS SELECT repeat('x', 4000000 + place) AS note FROM generate_series(1, 20) place")
    lots = [[len(cell) for cell in batch["note"]] for batch in open_postgresql(home, "notes").read(["note"])]
    assert max(map(len, lots)) < 6
    assert sorted(size for lot in lots for size in lot) == [4_000_000 + place for place in range(1, 21)]


def test_all_rows_are_of_one_state(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another session writes between two lots is not seen; the transaction is repeatable and only reads."""
    monkeypatch.setattr(binary_copy, "_ROWS", 10)
    run(
        home,
        "CREATE TABLE visits AS SELECT 1 AS age, repeat('x', 1000) AS note FROM generate_series(1, 20000)",
        "CREATE VIEW manners AS SELECT current_setting('transaction_isolation') AS isolation, "
        "current_setting('transaction_read_only') AS only_reads",
    )
    batches = open_postgresql(home, "visits").read(["age", "note"])
    ages = [next(batches)["age"].sum()]
    run(home, "UPDATE visits SET age = 5", "INSERT INTO visits SELECT 7, 'x' FROM generate_series(1, 1000)")
    assert sum(ages + [batch["age"].sum() for batch in batches]) == 20_000
    (manners,) = open_postgresql(home, "manners").read(["isolation", "only_reads"])
    assert [manners["isolation"][0], manners["only_reads"][0]] == ["repeatable read", "on"]


@pytest.mark.parametrize("row", [1, 20_000])
def test_a_view_that_fails_for_one_row_is_refused_unquoted(home: str, row: int) -> None:
    """The first row or the last, after thousands were handed over: the type of the failure alone is said."""
    run(
        home,
        f"CREATE TABLE visits AS SELECT CASE WHEN place = {row} THEN '{MARK}' ELSE '5' END AS age "
        "FROM generate_series(1, 20000) place",
        "CREATE VIEW ages AS SELECT age::int AS age FROM visits",
    )
    source = open_postgresql(home, "ages")
    assert source.stored["age"].kind == "whole"
    assert "InvalidTextRepresentation" in refused_reading(source, "age")


def test_what_changed_since_it_was_described_is_refused(home: str) -> None:
    """A column of another type by its declared name, a dropped one and a dropped table by the failure's type."""
    run(home, f"CREATE TABLE visits AS SELECT 1 AS age, '{MARK}' AS ward")
    source = open_postgresql(home, "visits")
    run(home, "ALTER TABLE visits ALTER COLUMN age TYPE text")
    refused_reading(source, "age", match="'age' is no longer stored as it was")
    assert [batch["ward"].tolist() for batch in source.read(["ward"])] == [[MARK]]
    run(home, "ALTER TABLE visits DROP COLUMN age")
    refused_reading(source, "age", match="UndefinedColumn")
    run(home, "DROP TABLE visits")
    refused_reading(source, "ward", match="UndefinedTable")


def test_what_cannot_be_opened_is_refused_unquoted(home: str, postgresql: Any) -> None:
    """No such table, no right to read it, no such user or server: no password and no word of the server is said."""
    name = home.split("@/")[1].split("?")[0]
    run(home, f"CREATE TABLE visits AS SELECT '{MARK}' AS ward", f'CREATE ROLE "{name}" LOGIN')
    stranger = postgresql.address(name, user=name)
    elsewhere = "postgresql://nowhere.invalid/x"
    nobody = postgresql.address(name, user="nobody", password=MARK)
    for address, table, match in [
        (home, MARK, "no such table.*UndefinedTable"),
        (home, "a.b.c.d", "no such table"),
        (home, "visits\0", "no such table"),
        (home, "visits\ud800", "no such table"),
        (stranger, "visits", "InsufficientPrivilege"),
        (nobody, "visits", "cannot be reached"),
        (elsewhere, "visits", "cannot be reached"),
        ("postgresql://a b:c", "visits", "cannot be reached"),
    ]:
        with pytest.raises(InvalidParameter, match=match) as caught:
            open_postgresql(address, table)
        assert MARK not in said(caught.value)
    run(home, f'DROP ROLE "{name}"')


def test_a_lost_connection_is_refused_unquoted(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the server ends the session between two lots; the records are read whole or not at all."""
    monkeypatch.setattr(binary_copy, "_ROWS", 10)
    run(home, f"CREATE TABLE notes AS SELECT repeat('{MARK}', 100) AS note FROM generate_series(1, 50000)")
    run(home, "CREATE VIEW visits AS SELECT pg_backend_pid() AS session, note FROM notes")
    batches = open_postgresql(home, "visits").read(["session", "note"])
    run(home, f"SELECT pg_terminate_backend({next(batches)['session'][0]})")
    with pytest.raises(InvalidParameter, match="cannot be read") as caught:
        list(batches)
    assert MARK not in said(caught.value)


def test_whoever_stops_reading_leaves_no_session_behind(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that is closed after its first lot closes its connection, and reads again from the beginning."""
    monkeypatch.setattr(binary_copy, "_ROWS", 10)
    run(
        home,
        "CREATE TABLE visits AS SELECT place AS age, repeat('x', 1000) AS note FROM generate_series(1, 20000) place",
    )
    source = open_postgresql(home, "visits")
    batches: Any = source.read(["age", "note"])
    next(batches)
    batches.close()
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(home, autocommit=True) as connection:
        for _ in range(200):
            left = connection.execute(others).fetchall()
            if left == [(0,)]:
                break
            time.sleep(0.05)
    assert left == [(0,)]
    assert sum(batch["age"].sum() for batch in source.read(["age"])) == 20_000 * 20_001 // 2


NAMES = ["Ward", "ward", 'a"b', "a b;--", "%s", "é日本", "records", "select", "a.b", "a'b"]


def test_names_are_names(home: str) -> None:
    """Quotes, blanks, percent signs and words of SQL in a name, two that differ in case, a schema and a table."""
    wanted = ", ".join(f"""{place} AS "{name.replace('"', '""')}\"""" for place, name in enumerate(NAMES))
    run(home, 'CREATE SCHEMA "other schema"', f'CREATE TABLE "other schema"."visits""" AS SELECT {wanted}')
    source = open_postgresql(home, 'other schema.visits"')
    assert list(source.stored) == NAMES
    (batch,) = source.read(NAMES[::-1])
    assert {name: int(cells[0]) for name, cells in batch.items()} == {name: place for place, name in enumerate(NAMES)}
    run(home, 'DROP SCHEMA "other schema" CASCADE')


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_texts_are_read_in_every_encoding(postgresql: Any, encoding: str) -> None:
    """The server says them in UTF-8; where it has no encoding, bytes that are no UTF-8 are refused unquoted."""
    name = f"encoded_{encoding.lower()}"
    postgresql.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    address = postgresql.address(name)
    with psycopg.connect(address, client_encoding="utf8") as connection:
        connection.execute("CREATE TABLE visits (ward text)")
        connection.execute("INSERT INTO visits VALUES ('é'), (''), (NULL)")
    for options in ("", "&options=-c%20client_encoding%3DLATIN1"):
        assert raw_cells(open_postgresql(address + options, "visits"), "ward") == ["é", "", None]
    if encoding == "SQL_ASCII":
        run(address, rf"INSERT INTO visits VALUES (E'{MARK}\xe9')")
        refused_reading(open_postgresql(address, "visits"), "ward")
    postgresql.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize("digits", [-15, 0, 3])
def test_a_session_that_rounds_what_it_prints_rounds_no_cell(home: str, digits: int) -> None:
    """Cells come in binary, whatever `extra_float_digits` says."""
    run(home, "CREATE TABLE visits AS SELECT 1 / 3.0::float8 AS age")
    rounds = f"{home}&options=-c%20extra_float_digits%3D{digits}"
    assert raw_cells(open_postgresql(rounds, "visits"), "age") == [1 / 3]


def test_uuids_have_the_keys_of_their_texts(home: str) -> None:
    """As the same ids in a file would."""
    run(home, "CREATE TABLE visits AS SELECT gen_random_uuid() AS id, 1.5 AS age FROM generate_series(1, 100)")
    with psycopg.connect(home) as connection:
        texts = [text for (text,) in connection.execute("SELECT id::text FROM visits")]
    source = open_postgresql(home, "visits")
    assert sorted(raw_cells(source, "id")) == sorted(texts)
    columns = {"id": Key(), "age": Number(0, 2)}
    assert cleaned_rows(source, columns) == cleaned_table({"id": texts, "age": [1.5] * 100}, columns)
