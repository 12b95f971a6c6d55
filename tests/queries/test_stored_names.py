"""No name of a column is a name of tacit's own: what columns are called, in whatever case, changes no sum."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.nasty_tables import file_records, postgresql_records, spark_records
from tacit.data import Category, Column, Flag, Key, Number, Records, Schema
from tacit.data.sources.files import FileTable
from tacit.erm.classification import PrivateLogisticRegression
from tacit.queries import Histogram, RowSums, SecondMoments, StatisticalQuery
from tacit.sums.engines.engine import Part
from tacit.sums.engines.opening import engine_for

N = 60
KNOWN = (
    "tacit_numbers", "tacit_rows_of_owner", "tacit_witness", "scan0", "layer0", "records", "placed", "count", "select",
    "rowid", "filename", "file_row_number", 'a"b', "a`b", "a.b", "日本", " ",
)  # fmt: skip
QUICK, CASES = ("file", "lines", "duckdb", "postgresql"), (str.lower, str.upper, str.title)


def _table(names: list[str]) -> tuple[pa.Table, Schema]:
    """Return cells far beyond what a query clips to, under these names, and what is declared about them."""
    rng = np.random.default_rng(7)
    table = {name: rng.normal(size=N) * 1e6 for name in names}
    declared: dict[str, Column] = {name: Number(-1e6, 1e6) for name in names}
    rest = {
        "id": [f"p{place % 20}" for place in range(N)],
        "ward": rng.choice(["a", "b"], N),
        "y": (rng.random(N) < 0.5).astype(int),
    }
    columns = {**declared, "id": Key(), "ward": Category(["a", "b"]), "y": Flag("0", "1")}
    return pa.table({**table, **rest}), Schema(columns, target="y")


def _asked(records: Records, names: list[str]) -> list[Any]:
    """Return all that statements compute of records: sums of every kind, mismatches, cells and parts."""
    three = tuple(names[:3])
    queries: list[Any] = [
        RowSums(tuple(names), norm=1.0),
        RowSums(tuple(names), lambda t: t.ward, ("a", "b"), norm=1.0),
        RowSums(three, low=-1, high=2),
        SecondMoments(three, norm=1.0),
        Histogram(lambda t: [t.ward, t.y], [("a", 0), ("b", 1)]),
        *(StatisticalQuery(lambda t, name=name: t[name].clip(-1, 1) ** 3 * t.y.ifelse(1, 2), -2, 2) for name in three),
    ]
    engine = engine_for(records)
    prepared = [engine.prepare(query) for query in queries]
    found = [engine.sums(prepared), engine.sums(prepared, flipped=True)]
    if engine.fixed_by == "key":
        halves = [engine.sums(prepared, part=Part(number, 2)) for number in range(2)]
        assert all(np.allclose(a + b, both) for a, b, both in zip(*halves, found[0], strict=True))
    splits = [records.split(by="key"), *([records.split()] if records.table.ordered else [])]
    for part in (records, *itertools.chain(*splits)):
        cells = [list(block.values()) for block in part.blocks()]
        found.append([np.sort(np.concatenate(each)) for each in zip(*cells, strict=True)])
        found += [[part.table.mismatches(part.part, part.key, unit) for unit in (None, "id")]]
    return found


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(itertools.chain(*one), itertools.chain(*other), strict=True))


@pytest.fixture(scope="module")
def own_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return every name that statements give anything, as it is written in them."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for method in ("_run", "_stream"):
            honest = getattr(FileTable, method)

            def heard(table: FileTable, connection: Any, sql: str, honest: Callable[..., Any] = honest) -> Any:
                said.append(sql)
                return honest(table, connection, sql)

            patch.setattr(FileTable, method, heard)
        table, schema = _table(["p", "q", "r", "s"])
        path = tmp_path_factory.mktemp("names") / "t.parquet"
        _asked(file_records(table, path, schema, "id"), ["p", "q", "r", "s"])
    names = sorted({name.lower() for sql in said for name in re.findall(r"AS (\w+)", sql)})
    assert {"tacit_0_0", "tacit_0_length", "tacit_0_share_0", "tacit_1_level", "tacit_v1", "tacit_index"} <= {*names}
    return [*names, *(name for name in KNOWN if name not in names)]


@pytest.mark.parametrize(("place", "case"), [*itertools.product(QUICK, CASES), ("spark", str.upper)])
def test_columns_may_be_called_as_anything_that_statements_name(
    place: str, case: Callable[[str], str], own_names: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All names that statements give, in any case, as declared columns: every sum is that of memory."""
    names = [case(name) for name in own_names]
    table, schema = _table(names)
    if place == "file":
        records = file_records(table, tmp_path / "t.parquet", schema, "id")
    elif place == "lines":
        pl.from_arrow(table).write_csv(tmp_path / "t.csv")
        records = Records(tmp_path / "t.csv", schema, key="id")
    elif place == "duckdb":
        records = Records(ibis.duckdb.connect().create_table("records", table), schema, key="id")
    elif place == "spark":
        records = spark_records(request.getfixturevalue("spark"), table, schema, "id")
    else:
        server = request.getfixturevalue("postgresql")
        records = postgresql_records(table, server.address(server.new_database()), schema, "id")
    expected = Records(table, schema, key="id")
    memory, found = _asked(expected, names), _asked(records, names)
    if not records.table.ordered:
        memory = memory[: len(found)]
    assert _same(found, memory)


def test_undeclared_columns_may_be_called_so_too(own_names: list[str], tmp_path: Path) -> None:
    """Only declared columns are read, whatever the others are called."""
    names = ["p", "q", "r"]
    table, schema = _table(names)
    strange = table
    for name in own_names:
        strange = strange.append_column(name.upper(), pa.array([{"p": 0.0}] * N))
    records = file_records(strange, tmp_path / "t.parquet", schema, "id")
    assert _same(_asked(records, names), _asked(file_records(table, tmp_path / "u.parquet", schema, "id"), names))


def test_a_cluster_fits_columns_of_any_name(spark: Any) -> None:
    """Numbers travel to the executors, and a person's number of rows beside them, under no column's name."""
    table, schema = _table(["tacit_numbers", "TACIT_ROWS_OF_OWNER", "column1"])
    frame = table.to_pandas()
    plain = frame.rename(columns={"tacit_numbers": "p", "TACIT_ROWS_OF_OWNER": "q", "column1": "r"})
    renamed = Schema(dict(zip(plain.columns, schema.columns.values(), strict=True)), target="y")
    fits = []
    for cells, columns in ((frame, schema), (plain, renamed)):
        records = Records(spark.createDataFrame(pd.DataFrame(cells)), columns, unit="id", memory=1)
        fits.append(PrivateLogisticRegression(1.0, random_state=0).fit(records).coef_)
    assert np.array_equal(*fits)
