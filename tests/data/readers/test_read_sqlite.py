"""Tables and views of SQLite are read cell by cell, each of whatever type it is."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.reading import cleaned_rows, cleaned_table, raw_cells, refused_reading
from support.sources import MARK, said
from tacit.data import Category, Column, Key, Number
from tacit.data.readers import sqlite
from tacit.data.readers.sqlite import open_sqlite
from tacit.errors import InvalidParameter

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Say where a new file may be."""
    return tmp_path / "visits.db"


def run(path: Path, *statements: str) -> str:
    """Run statements on a file, commit, and return its address."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return f"sqlite:///{path}"


ODD = [1, 2.5, "7", " 8 ", "", None, b"9", 2**63 - 1, -(2**63), 1e300, float("inf"), "a\0b", "\0", "é", MARK]


@pytest.mark.parametrize("rows", [4, 2**16])
def test_a_cell_of_any_type_reads_as_the_same_object_in_memory(
    path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was declared for its column, as a number, a level or a key, and however many rows come at a time."""
    monkeypatch.setattr(sqlite, "_ROWS", rows)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE visits (age, ward, id)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(cell,) * 3 for cell in ODD])
        connection.commit()
    source = open_sqlite(f"sqlite:///{path}", "visits")
    columns: dict[str, Column] = {"age": Number(0, 120), "ward": Category(["7", "8", "é", "a\0b"]), "id": Key()}
    assert cleaned_rows(source, columns) == cleaned_table(dict.fromkeys(columns, ODD), columns)
    assert raw_cells(source, "age") == ODD
    assert {stored.kind for stored in source.stored.values()} == {"cells"}
    assert not source.ordered


def test_a_text_that_is_not_utf8_is_a_text(path: Path) -> None:
    """With a letter of its own for the bytes that are none."""
    address = run(path, "CREATE TABLE visits AS SELECT CAST(x'61ff62' AS TEXT) AS ward")
    assert raw_cells(open_sqlite(address, "visits"), "ward") == ["a\ufffdb"]


def test_all_rows_are_of_one_state(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another session writes between two lots is not seen."""
    monkeypatch.setattr(sqlite, "_ROWS", 10)
    address = run(
        path,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE visits AS WITH RECURSIVE counted(age) AS "
        "(SELECT 1 UNION ALL SELECT age + 1 FROM counted LIMIT 1000) SELECT 1 AS age FROM counted",
    )
    batches = open_sqlite(address, "visits").read(["age"])
    ages = [*next(batches)["age"]]
    run(path, "UPDATE visits SET age = 5", "INSERT INTO visits VALUES (7)")
    assert ages + [age for batch in batches for age in batch["age"]] == [1] * 1000


def test_a_view_that_fails_for_one_row_is_refused_unquoted(path: Path) -> None:
    """After a thousand rows were handed over: the type of the failure alone is said."""
    address = run(
        path,
        "CREATE TABLE visits AS WITH RECURSIVE counted(age) AS "
        f"(SELECT 1 UNION ALL SELECT age + 1 FROM counted LIMIT 1000) SELECT age, '{MARK}' AS ward FROM counted",
        "CREATE VIEW ages AS SELECT CASE WHEN age < 1000 THEN age ELSE json_extract(ward, '$') END AS age FROM visits",
    )
    assert "OperationalError" in refused_reading(open_sqlite(address, "ages"), "age")


def test_what_changed_or_is_not_there_is_refused(path: Path) -> None:
    """No such file or table, options, a table that was dropped, and a column, whose name SQLite takes for a text."""
    address = run(path, "CREATE TABLE visits (age, ward)", f"INSERT INTO visits VALUES (1, '{MARK}')")
    for where, table, match in [
        (f"{address}?mode=rw", "visits", "takes no options"),
        (address, MARK, "no such table"),
        (f"{address}x", "visits", "no such table"),
        (f"sqlite:///{path.parent}", "visits", "no such table"),
    ]:
        with pytest.raises(InvalidParameter, match=match) as caught:
            open_sqlite(where, table)
        assert MARK not in said(caught.value)
    assert not Path(f"{path}x").exists()
    source = open_sqlite(address, "visits")
    run(path, "ALTER TABLE visits DROP COLUMN age")
    refused_reading(source, "age")
    run(path, "DROP TABLE visits")
    refused_reading(source, "ward")


def test_names_are_names(path: Path) -> None:
    """Quotes, blanks and words of SQL in a name."""
    names = ["ward", 'a"b', "a b;--", "%s", "é日本", "records", "select", "a.b", "a'b"]
    wanted = ", ".join(f"""{place} AS "{name.replace('"', '""')}\"""" for place, name in enumerate(names))
    source: Any = open_sqlite(run(path, f'CREATE TABLE "main.visits""" AS SELECT {wanted}'), 'main.visits"')
    assert list(source.stored) == names
    (batch,) = source.read(names[::-1])
    assert {name: cells[0] for name, cells in batch.items()} == {name: place for place, name in enumerate(names)}
