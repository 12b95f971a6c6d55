"""Records from every container: no cell changes how another is read, and the same content gives the same bits."""

import datetime
import decimal
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.opened import cells_of, view_of
from tacit.data import Category, Column, Key, Moment, Number, Ordinal, Records, Schema
from tacit.data.readers import file_listing
from tacit.data.records import subset
from tacit.errors import InvalidParameter

NOON, ZONE = datetime.datetime(2000, 2, 29, 12), datetime.timezone(datetime.timedelta(hours=5))


def read(table: Any, column: Column) -> tuple[list[bytes], list[float]]:
    """Return the bits of the one column `c`."""
    records = Records(table, Schema({"c": column}))
    states = view_of(records).mismatches(("c",)).ravel().tolist()
    return [np.float64(each).tobytes() for each in cells_of(records)["c"]], states


def _parts(records: Records, by: Any) -> list[list[int]]:
    return [cells_of(part, "c")["c"].tolist() for part in records.split(0.5, 0.3, 0.2, by=by)]


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


def test_the_name_of_a_table_does_not_follow_from_how_long_its_file_is(tmp_path, monkeypatch):
    """Cards publish it, and the length of a file of lines is that of its records."""
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n", "utf-8")
    known, state = [], file_listing._state
    for size in (6, 7):
        monkeypatch.setattr(file_listing, "_state", lambda file, size=size: (*state(file)[:3], size, *state(file)[4:]))
        known.append(Records(path, Schema({"a": Number(0, 9)})).table_name)
    assert known[0] == known[1]


def test_packed_records_are_neither_written_over_nor_taken_for_others(tmp_path: Path) -> None:
    """Ledgers know them by their file: a second packing is refused, and what was handed on opens those records only."""
    schema = Schema({"a": Number(0, 9), "id": Key()})
    first, second = tmp_path / "first.tacit-records", tmp_path / "second.tacit-records"
    ids = [1, 1, *range(2, 40)]
    packed = Records({"a": [3] * 40, "id": ids}, schema, unit="id").pack(first)
    with pytest.raises(InvalidParameter, match=r"there is .* already"):
        Records({"a": [1], "id": [1]}, schema).pack(first)
    handed, part = pickle.dumps(packed), pickle.dumps(packed.split(by="key")[0])
    again = pickle.loads(handed)
    assert (again.n, again.unit, again.identity) == (39, "id", packed.identity)
    assert pickle.loads(part).identity == packed.split(by="key")[0].identity
    with pytest.raises(InvalidParameter, match="by one process"):
        pickle.dumps(subset(packed, np.arange(40) < 9))
    Records({"a": [4], "id": [5]}, schema).pack(second)
    second.replace(first)
    with pytest.raises(InvalidParameter, match="other packed records"):
        pickle.loads(handed)


def test_public_facts_follow_from_no_cell() -> None:
    """Levels of a frame's categories, widths of its texts and where cells are kept are those of the neighbour."""
    schema = Schema({"w": Category(["a", "b"]), "t": Category(["a"]), "d": Number(0, 9), "id": Key()})
    told = []
    for word, number, rows in (("b", 1, 1), ("HIV+" * 9, decimal.Decimal("1000.25"), 7_000)):
        table = {
            "w": pd.Series(pd.Categorical(["a", *[word] * rows], ordered=True)), "t": np.array(["a", *[word] * rows]),
            "d": pa.array([decimal.Decimal(1), *[decimal.Decimal(number)] * rows]), "id": [1] + [2] * rows,
        }  # fmt: skip
        records = Records(table, schema, unit="id", memory=8_500, name="these")
        told.append((records.facts, records.describe(), repr(records), records.identity))
    assert told[0] == told[1]


def test_a_damaged_packed_file_is_refused_where_python_leaves_assertions_out(tmp_path: Path) -> None:
    """One bit of a cell is enough, and `python -O` checks it as well."""
    path = tmp_path / "p.tacit-records"
    Records({"a": [1.0, 2.0, 3.0]}, Schema({"a": Number(0, 9)})).pack(path)
    damaged = bytearray(path.read_bytes())
    damaged[18] ^= 1
    path.write_bytes(damaged)
    code = "import sys; from tacit.data import Records; Records(sys.argv[1])"
    command = [sys.executable, "-O", "-c", code, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "no packed records that can be read" in found.stderr
