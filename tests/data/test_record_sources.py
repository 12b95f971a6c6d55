"""Bad input: a clear refusal before anything is charged, and never a word of a record in it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.opened import cells_of
from support.sources import LINES, MARK, SCHEMA, asked, refused, written
from tacit.data import Flag, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalQuery
from tacit.sums.record_evaluator import evaluator_for

pytestmark = pytest.mark.usefixtures("quiet")


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


OLD = StatisticalQuery(lambda t: t.age > 55)


@pytest.mark.parametrize("change", ["append", "replace", "remove", "touch"])
def test_a_file_that_changes_after_it_was_read_changes_nothing(tmp_path: Path, change: str) -> None:
    """Written to, replaced, removed or touched: the answer is about the records that were read."""
    path = written(tmp_path / "a.csv", LINES)
    records = Records(path, SCHEMA)
    oracle, ledger = asked(records, tmp_path)
    match change:
        case "append":
            written(path, LINES + f"70,{MARK}\n")
        case "replace":
            os.replace(written(tmp_path / "b.csv", LINES + f"70,{MARK}\n"), path)
        case "remove":
            path.unlink()
        case "touch":
            os.utime(path, ns=(0, 0))
    (sums,) = evaluator_for(records).sums([evaluator_for(records).prepare(OLD)])
    assert sums.tolist() == [1.0]
    assert oracle.ask(OLD, epsilon=0.5).plan.n == 2
    assert ledger.spent.epsilon == 0.5


_OPENING = """
import glob, resource, sys
import pyarrow.parquet
import tacit.data.readers.csv_file
import tacit.data.readers.parquet_file
from tacit.data import Number, Records, Schema

lines = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
most = int(lines["VmSize"].split()[0]) * 1024 + 300 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
threads = len(glob.glob("/proc/self/task/*"))
assert Records(sys.argv[1], Schema({"x": Number(0, 1)})).n == 4
assert len(glob.glob("/proc/self/task/*")) == threads
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux shows them")
def test_files_are_opened_without_threads_where_a_process_may_map_little(tmp_path: Path) -> None:
    """Each thread of Arrow maps some 70 MiB for its own, which a process that may map 300 MiB more does not have."""
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"x": [0.0, 1.0]}), tmp_path / name)
    subprocess.run([sys.executable, "-c", _OPENING, str(tmp_path)], timeout=120, check=True)


JUDGED = Schema({"y": Flag("no", "yes"), "age": Number(0, 100)}, target="y")


def test_a_list_of_records_has_the_target_too() -> None:
    """By its name, or in a row of all declared columns; which of the two a record is changes no other."""
    table = [{"age": 5, "y": "yes"}, ["no", 6], {"age": 7}, None]
    block = cells_of(Records(table, JUDGED))
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
