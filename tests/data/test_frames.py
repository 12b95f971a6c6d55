import sys
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, dok_array

from tacit import PrivateLogisticRegression
from tacit.data import Category, Flag, Ignored, Number, Ordinal, PublicEncoder, Records, Schema
from tacit.errors import InvalidParameter

SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "id": Ignored(),
        "ward": Category(["1", "2"]),
        "ill": Flag("no", "yes"),
        "grade": Ordinal([1, 2, 3]),
        "smokes": Flag(),
    },
    target="ill",
)
TABLE = {
    "age": [50, None, 120],
    "id": ["x", "y", "z"],
    "ward": ["1", "2", None],
    "grade": [1, None, 3],
    "smokes": [True, None, False],
    "extra": [7, 8, 9],
}
RECORDS = [dict(zip(TABLE, record, strict=True)) for record in zip(*TABLE.values(), strict=True)]
ROWS = [[record[name] for name in SCHEMA.inputs] for record in RECORDS]
ENCODER = PublicEncoder(SCHEMA)
EXPECTED = ENCODER.transform(TABLE)


@pytest.mark.parametrize(
    "table",
    [
        RECORDS,
        ROWS,
        [tuple(row) for row in ROWS],
        np.array(ROWS, dtype=object),
        {name: np.array(column, dtype=object) for name, column in TABLE.items()},
        {name: pd.Series(column) for name, column in TABLE.items()},
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).convert_dtypes(),
        pd.DataFrame(TABLE).astype({"ward": "category", "age": "float32"}),
        pl.DataFrame(TABLE),
        pl.DataFrame(TABLE, schema_overrides={"ward": pl.Categorical, "grade": pl.UInt8}),
        pl.DataFrame(TABLE | {"age": [Decimal(50), None, Decimal(120)]}),
        pa.table(TABLE),
        pa.table(TABLE | {"ward": pa.array(TABLE["ward"]).dictionary_encode()}),
        pa.RecordBatch.from_pydict(TABLE),
    ],
    ids=lambda table: type(table).__name__,
)
def test_every_make_of_table_encodes_alike(table: object) -> None:
    """The same records give the same rows, bit for bit, in whatever container they come."""
    np.testing.assert_array_equal(ENCODER.transform(table), EXPECTED)


def test_numeric_arrays_are_read_by_position() -> None:
    """A plain array of numbers stands for the inputs in their declared order, ignored ones included."""
    array = np.array([[50.0, 99.0, 1.0, 1.0, 1.0], [np.nan, 0.0, 2.0, np.nan, np.nan]])
    np.testing.assert_array_equal(ENCODER.transform(array), EXPECTED[:2])
    np.testing.assert_array_equal(ENCODER.transform(np.ma.array(array, mask=np.isnan(array))), EXPECTED[:2])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_an_absent_column_is_named(make: object) -> None:
    """A table without a declared column is refused by that column's name."""
    assert callable(make)
    with pytest.raises(InvalidParameter, match=r"lacks \['ward', 'grade'\]"):
        ENCODER.fit(make({"age": [1], "smokes": [1]}))


@pytest.mark.parametrize(
    "odd", [{}, {"age": 50}, None, 7, "text", [], [50], RECORDS, object()], ids=lambda odd: type(odd).__name__
)
def test_a_record_that_lacks_cells_has_missing_ones(odd: object) -> None:
    """In a list, which of the records are mappings or long enough is their own affair: the others read as before."""
    rows = ENCODER.transform([RECORDS[0], odd, ROWS[2]])
    np.testing.assert_array_equal(rows[[0, 2]], EXPECTED[[0, 2]])
    assert rows.shape == EXPECTED.shape


def test_a_column_that_is_not_declared_is_not_read() -> None:
    """Whatever its cells do when they are looked at: a draft and records look at what a column is stored as."""

    class Watched(dict[str, Any]):
        def __init__(self) -> None:
            super().__init__(age=[1, 2], other=_Untouchable())

    assert "columns.other" in Schema.draft(Watched())
    assert Records(Watched(), Schema({"age": Number(0, 5)})).n == 2
    far = pl.DataFrame({"age": [1, 2], "other": pl.Series([[2**31 - 1], [0]]).cast(pl.List(pl.Date))})
    assert Records(far, Schema({"age": Number(0, 5)})).n == 2


class _Untouchable(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("somebody looked")

    __getitem__ = __len__ = __iter__


def test_ignored_columns_and_the_target_may_be_absent() -> None:
    """Only the columns that are encoded must be there."""
    assert ENCODER.transform({"age": [1], "ward": [1], "grade": [1], "smokes": [1]}).shape == (1, 6)


@pytest.mark.parametrize(
    "table",
    [
        None,
        3,
        "table.csv",
        {},
        [],
        TABLE | {"age": [1]},
        TABLE | {"age": 3},
        TABLE | {"age": "123"},
        TABLE | {"age": np.zeros((3, 1))},
        {name: [] for name in TABLE},
        np.zeros((3, 4)),
        np.zeros(5),
        np.zeros((0, 5)),
        np.zeros((3, 5), dtype=complex),
        csr_array(np.zeros((3, 5))),
        dok_array((3, 5)),
        pd.Series([1, 2]),
        pd.concat([pd.DataFrame(TABLE)] * 2, axis=1),
        pl.LazyFrame(TABLE),
        pa.table(TABLE).to_reader(),
        pa.RecordBatch.from_arrays([pa.array([1]), pa.array([1])], ["age", "age"]),
        pa.RecordBatch.from_pydict(TABLE).to_struct_array(),
        pl.DataFrame(TABLE).to_struct(),
    ],
    ids=lambda table: type(table).__name__,
)
def test_what_is_no_table_is_refused(table: object) -> None:
    """Anything that cannot be read by column is an InvalidParameter, whatever it is."""
    with pytest.raises(InvalidParameter):
        ENCODER.transform(table)


def test_a_query_that_runs_when_it_is_read_is_refused() -> None:
    """It may fail because of a record, with a message that quotes it."""
    with duckdb.connect() as connection:
        query = connection.sql("SELECT CAST('secret' AS INT) AS age, 1 AS ward, 1 AS grade, true AS smokes")
        with pytest.raises(InvalidParameter, match="Collect"):
            ENCODER.transform(query)


KINDS: Any = (pa.table, pa.RecordBatch.from_pydict)


def _text(cell: bytes) -> Any:
    return pa.array([b"x", cell]).view(pa.string())


@pytest.mark.parametrize("kind", KINDS, ids=["table", "batch"])
def test_a_table_of_arrow_where_an_array_is_wanted_quotes_no_cell(kind: Any) -> None:
    """As rows of a fit and as a column of labels: a text that is not UTF-8 was printed."""
    table = kind({"c": _text(b"secret\xff"), "a": pa.array([1, 2])})
    model = PrivateLogisticRegression(1.0, data_norm=1.0, classes=[0, 1], random_state=0)
    for rows, labels in ((table, [0, 1]), (np.zeros((2, 1)), table)):
        with pytest.raises((InvalidParameter, TypeError)) as refused:
            model.fit(rows, labels)
        assert "secret" not in str(refused.value)


class _Sheet:
    """A table of a make of its own, which has an array of all its cells: the least type that holds them."""

    columns = ("age", "ward", "grade", "smokes")
    shape = (2, 4)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([[1, "1", 1, 1], [2, "2", 2, 0]])


def test_a_table_that_only_turns_into_an_array_as_a_whole_is_refused() -> None:
    """One of its cells would decide of what type all are; what has one type for all is an array of another make."""
    with pytest.raises(InvalidParameter, match="_Sheet"):
        ENCODER.transform(_Sheet())

    class Tensor(_Sheet):
        dtype, shape = "float32", (2, 5)

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.array([[50.0, 99.0, 1.0, 1.0, 1.0]] * 2, dtype="f4")

    np.testing.assert_array_equal(ENCODER.transform(Tensor()), EXPECTED[[0, 0]])


def test_frames_need_narwhals_and_plain_containers_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without narwhals a data frame is refused with what to install; dicts, lists and arrays work."""
    monkeypatch.setitem(sys.modules, "narwhals", None)
    for table in (TABLE, RECORDS, ROWS, np.array(ROWS, dtype=object)):
        np.testing.assert_array_equal(ENCODER.transform(table), EXPECTED)
    with pytest.raises(InvalidParameter, match="pip install narwhals"):
        ENCODER.transform(pl.DataFrame(TABLE))
