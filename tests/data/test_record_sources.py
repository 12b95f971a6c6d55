"""Bad input: a clear refusal before anything is charged, and never a word of a record in it."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.sources import LINES, MARK, SCHEMA, ages, asked, refused, said, written
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Flag, Key, Moment, Number, Records, Schema
from tacit.erm.classification import PrivateLogisticRegression
from tacit.errors import InvalidParameter, TacitError
from tacit.evaluation import report
from tacit.model_selection import PrivateSearch
from tacit.queries import StatisticalOracle, StatisticalQuery

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "first line"),
        ("age,ward\n", "at least one record"),
        ("age,age\n1,2\n", "differ in case at most"),
        ("age,Age,ward\n1,2,a\n", "differ in case at most"),
        ("age,\n1,2\n", "must name every column"),
        ("age\n1\n", "'ward'"),
        (f"age,ward\n1,a\n2,b,{MARK}\n", "Line 3"),
        (f"age,ward\n1,a\n{MARK}\n", "Line 3"),
        (f'age,ward\n1,a\n2,"{MARK}\n', "quotes"),
        (b"age,ward\n1,a\n2," + MARK.encode() + b"\xff\n", "not UTF-8"),
        (b"age,w\xffard\n1,a\n", "first line"),
    ],
    ids=str,
)
def test_lines_that_are_no_table_are_refused_with_their_place(tmp_path: Path, content: Any, match: str) -> None:
    """Empty files, headers alone, double names, odd lines, broken quotes and bytes: where it is, never what."""
    refused(written(tmp_path / "bad.csv", content), match=match)


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.replace("\n", "\r\n"),
        "\ufeff" + LINES,
        '"age","ward"\n"50","a"\n" 60 ","b"\n',
        LINES.rstrip("\n"),
    ],
    ids=["plain", "CRLF", "BOM", "quotes", "no last newline"],
)
def test_ways_to_write_the_same_lines(tmp_path: Path, content: str) -> None:
    """A byte order mark, Windows' line ends, quotes and a missing last line end change nothing."""
    assert ages(Records(written(tmp_path / "a.csv", content), SCHEMA)) == [50, 60]
    packed = written(tmp_path / "b.csv.gz", gzip.compress(content.encode()))
    assert ages(Records(packed, SCHEMA)) == [50, 60]


def test_one_row_is_a_table(tmp_path: Path) -> None:
    """A single record is enough."""
    assert Records(written(tmp_path / "one.csv", "age,ward\n7,a\n"), SCHEMA).n == 1


def test_a_schema_with_a_column_too_many_is_refused(tmp_path: Path) -> None:
    """The column that is not there is named, with the place of the nearest that is."""
    schema = Schema({**SCHEMA.columns, "wards": Flag()})
    refused(written(tmp_path / "a.csv", LINES), schema, "'wards'.*did you mean its column 2?")


def test_a_first_line_that_is_a_record_is_not_quoted(tmp_path: Path) -> None:
    """A file without a line of names has a record there, which may be spelled much like a declared name."""
    path = written(tmp_path / "bare.csv", "ward A,50\nward B,60\n")
    assert "ward A" not in refused(path, Schema({"wardA": Flag()}), r"'wardA'.*did you mean its column 1\?")


def test_names_of_a_catalogue_are_public(tmp_path: Path) -> None:
    """Where a catalogue has names, and not a first line, the one that was nearly meant is quoted."""
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({"aged": [1]}), table)
    for source in (table, pd.DataFrame({"aged": [1]})):
        refused(source, Schema({"age": Number(0, 1)}), "did you mean 'aged'")


def test_ten_thousand_columns(tmp_path: Path) -> None:
    """A table of 10,000 columns opens, and a few of them are read."""
    names = [f"c{place}" for place in range(10_000)]
    path = written(tmp_path / "wide.csv", "\n".join([",".join(names), ",".join(["1"] * 10_000)]) + "\n")
    records = Records(path, Schema({name: Number(0, 2) for name in names[::100]}))
    assert [block["c9900"].tolist() for block in records.blocks(["c9900"])] == [[1.0]]


def test_names_are_names(tmp_path: Path) -> None:
    """Brackets, stars, quotes and blanks in a file's name are letters: no other file is read in its place."""
    written(tmp_path / "visits1.csv", "age,ward\n1,a\n")
    for place, name in enumerate(
        ["visits[1].csv", "visits*.csv", "visits?.csv", "vis'its .csv", '"visits".csv', "~é.csv"]
    ):
        path = written(tmp_path / name, f"age,ward\n{place + 50},a\n")
        assert ages(Records(path, SCHEMA)) == [place + 50]
        assert ages(Records(str(path), SCHEMA)) == [place + 50]


def test_a_name_with_a_backslash_and_a_star_is_refused_in_our_words(tmp_path: Path) -> None:
    """DuckDB has no spelling of it that is no pattern; a backslash alone is a letter."""
    assert ages(Records(written(tmp_path / "a\\b.csv", LINES), SCHEMA)) == [50, 60]
    for name in ("a\\*b.csv", "[1]\\.csv"):
        refused(written(tmp_path / name, LINES), match="Rename it")


LONG = "a" * 5000


@pytest.mark.parametrize(
    "source", [LONG, f"{LONG}.csv", "a\0b.csv", "/dev/null/a.csv"], ids=lambda name: str(len(name))
)
def test_a_path_that_the_system_refuses_is_refused_in_our_words(source: str) -> None:
    """Where no name can be so long, or hold a NUL, or a file is asked for files."""
    refused(source, match="there are no")
    with pytest.raises(InvalidParameter, match="there are no"):
        Schema.draft(source)


@pytest.mark.parametrize("rows", [[[1, 2], [3]], [[1, 2], [3, 4]], [[1], "x"]], ids=["ragged", "even", "text"])
def test_lists_of_rows_are_not_drafted_whatever_they_hold(rows: list[Any]) -> None:
    """How wide a list is, its rows decide, and numpy's error told that one differs. An array has its own width."""
    for source in (rows, (rows, [0, 1])):
        with pytest.raises(InvalidParameter, match="a list of records has no stored types"):
            Schema.draft(source)
    with pytest.raises(InvalidParameter, match="must be 2-D"):
        Schema.draft(np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]))
    drafted = Schema.draft((np.zeros((2, 2)), [0, 1]))
    assert [f"[columns.{name}]" in drafted for name in ("x0", "x1", "x2", "y")] == [True, True, False, True]
    drafted = Schema.draft((pd.DataFrame({"age": [1]}), [0]))
    assert [f"[columns.{name}]" in drafted for name in ("x0", "age", "y")] == [False, True, True]


def test_a_folder_is_its_files_each_once(tmp_path: Path) -> None:
    """Hidden files are left out; links and other kinds of files beside are refused, and so is an empty folder."""
    folder = tmp_path / "records"
    folder.mkdir()
    refused(folder, match="no .parquet, .csv or .tsv files")
    written(folder / "a.csv", LINES)
    written(folder / ".hidden.csv", LINES)
    assert Records(folder, SCHEMA).n == 2
    os.link(folder / "a.csv", folder / "b.csv")
    refused(folder, match="are one file")
    (folder / "b.csv").unlink()
    os.symlink(folder / "a.csv", folder / "b.csv")
    refused(folder, match="are one file")
    (folder / "b.csv").unlink()
    for ending in (".gz", ".GZ"):
        packed = folder / f"a.csv{ending}"
        packed.write_bytes(gzip.compress(LINES.encode()))
        refused(folder, match="seem to be one file, once compressed")
        packed.unlink()
    written(folder / "b.tsv", LINES.replace(",", "\t"))
    refused(folder, match="all .parquet, all .csv or all .tsv")


def test_files_of_one_table_are_alike(tmp_path: Path) -> None:
    """Parquet files of other types or columns, and CSV files with another first line, are no part of one table."""
    for name, table in {"a": {"age": [1.0]}, "b": {"age": [1]}}.items():
        pq.write_table(pa.table({**table, "ward": ["a"]}), tmp_path / f"{name}.parquet")
    refused(tmp_path, match="same columns of the same types")
    folder = tmp_path / "lines"
    folder.mkdir()
    written(folder / "a.csv", LINES)
    written(folder / "b.csv", "ward,age\na,1\n")
    refused(folder, match="same first line")


def test_parquet_that_cannot_be_read_is_refused_unquoted(tmp_path: Path) -> None:
    """No Parquet file, an empty or broken one, text that is no text, a time that overflows: refused when opened."""
    refused(written(tmp_path / "no.parquet", MARK), match="Parquet")
    refused(written(tmp_path / "empty.parquet", ""), match="Parquet")
    pq.write_table(
        pa.table({"age": [1.0] * 1000, "ward": [MARK] * 1000}), tmp_path / "whole.parquet", compression="none"
    )
    content = (tmp_path / "whole.parquet").read_bytes()
    refused(written(tmp_path / "half.parquet", content[: len(content) // 2]), match="Parquet")
    broken = pa.array([MARK.encode() + b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"age": [1.0], "ward": broken}), tmp_path / "broken.parquet")
    refused(tmp_path / "broken.parquet", match="cannot be read")
    late = pa.array([2**62], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"when": late}), tmp_path / "late.parquet")
    refused(tmp_path / "late.parquet", Schema({"when": Moment("2000-01-01", "2001-01-01")}), "cannot be read")


@pytest.mark.parametrize("column", ["age", "ward"])
def test_a_page_that_cannot_be_read_is_met_when_a_file_is_opened(tmp_path: Path, column: str) -> None:
    """Whatever a Parquet file states of its columns, every page of a declared one is decoded before any budget."""
    path = tmp_path / "a.parquet"
    numbers = np.random.default_rng(0).normal(size=4000)
    table = pa.table({"age": numbers, "ward": np.where(numbers > 0, "a", "b"), "other": numbers})
    pq.write_table(table, path, row_group_size=2000, compression="snappy", use_dictionary=False)
    place = pq.ParquetFile(path).metadata.row_group(1).column(table.column_names.index(column)).data_page_offset
    content = path.read_bytes()
    content = content[:place] + b"\xff" * 40 + content[place + 40 :]
    refused(written(path, content), match="cannot be read")


def test_parquet_without_records_or_columns_is_refused_in_our_words(tmp_path: Path) -> None:
    """A footer alone, a table without columns (DuckDB's own words came out), and two columns of one name."""
    no_rows = pa.table({"age": pa.array([], pa.float64()), "ward": pa.array([], pa.string())})
    twice = pa.table([pa.array([1.0]), pa.array([MARK]), pa.array([2.0])], names=["age", "ward", "Age"])
    for table, match in [(no_rows, "at least one record"), (pa.table({}), "cannot be read"), (twice, "differ in case")]:
        pq.write_table(table, tmp_path / "odd.parquet")
        refused(tmp_path / "odd.parquet", match=match)
    pq.write_table(pa.table({}), tmp_path / "odd.parquet")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Schema.draft(tmp_path / "odd.parquet")


@pytest.mark.parametrize("change", ["append", "replace", "remove", "touch"])
def test_a_file_that_changed_is_not_read(tmp_path: Path, change: str) -> None:
    """Written to, replaced, removed or only touched since it was opened: refused, nothing answered, nothing charged."""
    path = written(tmp_path / "a.csv", LINES)
    records = Records(path, SCHEMA)
    oracle, ledger = asked(records, tmp_path)
    match change:
        case "append":
            written(path, LINES + f"70,{MARK}\n")
        case "replace":
            os.replace(written(tmp_path / "b.csv", LINES), path)
        case "remove":
            path.unlink()
        case "touch":
            os.utime(path, ns=(0, 0))
    with pytest.raises(TacitError) as caught:
        oracle.ask(StatisticalQuery(lambda t: t.age > 5), epsilon=0.1)
    assert MARK not in said(caught.value)
    assert ledger.spent.epsilon == 0
    with pytest.raises(TacitError):
        list(records.blocks())


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("door", ["fit", "streamed fit", "report", "search", "mismatches"])
def test_no_door_charges_for_a_file_that_changed(tmp_path: Path, door: str, unit: str | None) -> None:
    """Fits, in memory and on disk, scores, searches and mismatches refuse it before the ledger is asked."""
    schema = Schema({**SCHEMA.columns, "id": Key(), "ill": Flag()}, target="ill")
    lines = "age,ward,id,ill\n" + "".join(f"{age},a,{age % 20},{age % 2}\n" for age in range(60))
    path, small = written(tmp_path / "a.csv", lines), 1 if door == "streamed fit" else 2**29
    records = Records(path, schema, unit=unit, memory=small)
    model = PrivateLogisticRegression(1.0, random_state=1).fit(records)
    ledger = Ledger.create(tmp_path / "ledger.db", name="l", budget=Budget(9), unit=records.whom.kind)
    written(path, lines + f"70,{MARK},1,1\n")
    doors: dict[str, Callable[[], object]] = {
        "fit": lambda: PrivateLogisticRegression(1.0, ledger=ledger).fit(records),
        "report": lambda: report(model, records, epsilon=1.0, ledger=ledger),
        "search": lambda: PrivateSearch(PrivateLogisticRegression(), [{}], epsilon=1.0, ledger=ledger).fit(records),
        "mismatches": lambda: records.mismatches(epsilon=1.0, ledger=ledger),
    }
    with pytest.raises(TacitError) as caught:
        doors[door.removeprefix("streamed ")]()
    assert MARK not in said(caught.value)
    assert not ledger.spent


def test_keys_are_read_but_never_asked_about() -> None:
    """A key fixes parts; a question cannot name it."""
    records = Records({"age": [1, 2], "id": [MARK, "b"]}, Schema({"age": Number(0, 3), "id": Key()}), key="id")
    with pytest.raises(InvalidParameter) as caught:
        StatisticalOracle(records).ask(StatisticalQuery(lambda t: t.id == MARK), epsilon=0.1)
    assert "no declared column 'id'" in str(caught.value)


_OPENING = """
import glob, resource, sys
import duckdb, pyarrow.parquet
import tacit.data.sources.files
from tacit.data import Number, Records, Schema

resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))


def size():
    lines = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
    return int(lines["VmSize"].split()[0]) / 1024


threads, before = len(glob.glob("/proc/self/task/*")), size()
assert Records(sys.argv[1], Schema({"x": Number(0, 1)})).n == 4
print(len(glob.glob("/proc/self/task/*")) - threads, size() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux shows them")
def test_files_are_opened_without_threads_where_a_process_may_map_so_much(tmp_path: Path) -> None:
    """Each thread of an engine maps some 70 MiB for its own, which a process that may map 2 GiB does not have."""
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"x": [0.0, 1.0]}), tmp_path / name)
    told = subprocess.run(
        [sys.executable, "-c", _OPENING, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    threads, mapped = map(float, told.stdout.split())
    assert threads == 0
    assert mapped < 300


JUDGED = Schema({"y": Flag("no", "yes"), "age": Number(0, 100)}, target="y")


def test_a_list_of_records_has_the_target_too() -> None:
    """By its name, or in a row of all declared columns; which of the two a record is changes no other."""
    table = [{"age": 5, "y": "yes"}, ["no", 6], {"age": 7}, None]
    (block,) = Records(table, JUDGED).blocks()
    assert block["age"].tolist() == [5.0, 6.0, 7.0, 50.0]
    assert block["y"].tolist()[:2] == [True, False]


@pytest.mark.parametrize("width", [1, 2])
def test_an_array_alone_has_no_target(width: int) -> None:
    """What to give instead is said, and nothing of files."""
    with pytest.raises(InvalidParameter, match=r"\(X, y\)") as told:
        Records(np.zeros((3, width)), JUDGED)
    assert "commas" not in str(told.value)
    with pytest.raises(InvalidParameter, match="does not have") as told:
        Records({"age": [1]}, JUDGED)
    assert "commas" not in str(told.value)
