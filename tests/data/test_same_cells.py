"""One cleaner: the same cells have the same cleaned bits, in whatever container or file they come."""

import csv
import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.data import Category, Column, Flag, Key, Moment, Number, Ordinal
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.frames import read_table
from tacit.data.readers.csv_file import open_csv
from tacit.data.readers.file_listing import list_files
from tacit.data.readers.parquet_file import open_parquet
from tacit.data.values import objects

Cleaned = dict[str, tuple[bytes, list[int]]]
FORM = FileForm(decimal=",", missing=["NA", "-"], dates=["%d.%m.%Y"])


def cleaned(batches: list[Any], columns: dict[str, Column], form: FileForm) -> Cleaned:
    """Return the bits of every cleaned cell, and how it fared."""
    tables = [read_table(batch, (), list(columns)) for batch in batches]
    read = {name: [table[name].cleaned(column, form) for table in tables] for name, column in columns.items()}
    return {
        name: (
            np.concatenate([values for values, _ in parts]).tobytes(),
            [int(state) for _, states in parts for state in states],
        )
        for name, parts in read.items()
    }


def parquet(table: pa.Table, folder: Path, **options: Any) -> list[Any]:
    """Write a table and read it back as a source does."""
    pq.write_table(table, folder / "t.parquet", row_group_size=2, **options)
    return list(open_parquet(list_files(folder / "t.parquet")).read(table.column_names))


def lines(cells: dict[str, list[str | None]], folder: Path, form: FileForm = STANDARD) -> list[Any]:
    """Write texts as a CSV file, every field in quotes, and read it back as a source does."""
    path = folder / "t.csv"
    with path.open("w", encoding=form.encoding, newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n", delimiter=form.separator or ",")
        writer.writerow(cells)
        writer.writerows(zip(*cells.values(), strict=True))
    return list(open_csv([path], form).read(list(cells)))


_TEXTS = st.one_of(
    st.sampled_from(["a", " a", "b\t", "1", "1,5", "-0,0", "1e5", "1e400", "1e-400", "NA", " - ", "2000-02-29", "1.5",
                     "31.12.1999", "30.02.2000", "2000-01-01T12:00:00.5", "true", "low", "é", "nan", "inf", "'\"",
                     "a,b", "x\ny"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)  # fmt: skip
TEXT_COLUMNS: list[Column] = [
    Number(-5, 1e10, missing=2), Category(["a", "é", "1", "x\ny"], other="a"), Ordinal(["low", "b"]),
    Flag(["a"], ["true", "1"], missing=True), Moment("1999-01-01", "2001-01-01"), Key(),
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.lists(_TEXTS | st.none(), min_size=1, max_size=7), st.sampled_from([STANDARD, FORM]))
def test_texts_are_cleaned_alike_in_every_container(tmp_path: Path, cells: list[str | None], form: FileForm) -> None:
    """In lists, frames, dictionaries, Parquet and CSV files, whatever the form makes of them."""
    columns = {f"c{place}": column for place, column in enumerate(TEXT_COLUMNS)}
    alone = {
        name: (
            b"".join(column.clean(objects([cell]), form)[0].tobytes() for cell in cells),
            [int(column.clean(objects([cell]), form)[1][0]) for cell in cells],
        )
        for name, column in columns.items()
    }
    table: dict[str, list[Any]] = {name: list(cells) for name in columns}
    arrow = pa.table(table, pa.schema([(name, pa.string()) for name in columns]))
    coded = pa.table({name: column.dictionary_encode() for name, column in zip(columns, arrow.columns, strict=True)})
    wide = arrow.cast(pa.schema([(name, pa.large_string()) for name in columns]))
    containers: dict[str, list[Any]] = {
        "lists": [table],
        "records": [[dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]],
        "objects": [pd.DataFrame({name: pd.Series(cells, dtype=object) for name in columns})],
        "pandas": [pd.DataFrame({name: pd.array(cells, dtype="str") for name in columns})],
        "pandas categories": [pd.DataFrame({name: pd.Categorical(cells) for name in columns})],
        "polars": [pl.DataFrame(table, schema=dict.fromkeys(columns, pl.String))],
        "polars categories": [pl.DataFrame(table, schema=dict.fromkeys(columns, pl.Categorical))],
        "Arrow": [arrow],
        "Arrow batches": arrow.to_batches(max_chunksize=2),
        "Arrow chunks": [pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)])],
        "Arrow large": [wide],
        "Arrow dictionary": [coded],
        "Parquet": parquet(arrow, tmp_path),
        "Parquet dictionary": parquet(coded, tmp_path),
        "CSV": lines(table, tmp_path, form),
    }
    for name, batches in containers.items():
        assert cleaned(batches, columns, form) == alone, name


def _numbers(kind: str, cells: list[Any]) -> dict[str, list[Any]]:
    """Return numbers, some of which may be missing, in all containers that hold this type."""
    arrow = pa.table({"x": pa.array(cells, kind)})
    nullable = {"double": "Float64", "float": "Float32", "bool": "boolean"}.get(
        kind, kind.replace("i", "I").replace("uI", "UI")
    )
    found = {
        "lists": [{"x": cells}],
        "pandas": [pd.DataFrame({"x": pd.array(cells, dtype=nullable)})],
        "pandas Arrow": [pd.DataFrame({"x": pd.array(cells, dtype=pd.ArrowDtype(pa.table(arrow)["x"].type))})],
        "polars": [pl.DataFrame({"x": pl.from_arrow(arrow)["x"]})],  # type: ignore[index,call-overload]
        "Arrow": [arrow],
        "batches": arrow.to_batches(max_chunksize=2),
        "chunks": [pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)])],
    }
    if None not in cells:
        found["numpy"] = [{"x": np.array(cells, dtype=arrow.schema.field("x").type.to_pandas_dtype())}]
        found["pandas of numpy"] = [pd.DataFrame(found["numpy"][0])]
    return found


_WHOLE = {
    "int8": st.integers(-128, 127),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "bool": st.booleans(),
    "double": st.floats(allow_nan=False),
    "float": st.floats(width=32, allow_nan=False),
}
NUMBER_COLUMNS: list[Column] = [
    Number(-5, 2.0**63), Number(0, 9, missing=4), Category([1, "true", 2**53 + 1, -3]), Flag(), Key(),
]  # fmt: skip


@pytest.mark.parametrize("kind", _WHOLE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(data=st.data())
def test_numbers_are_cleaned_alike_in_every_container(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """Whole numbers beside missing ones keep every digit; single precision, truth values and NaN are what they are."""
    some = st.one_of(st.sampled_from([0, 1]) if kind != "bool" else st.booleans(), _WHOLE[kind])
    cells = data.draw(st.lists(some | st.none() if data.draw(st.booleans()) else some, min_size=1, max_size=6))
    # Keys are whole numbers or text: whoever has floats may have rounded them.
    columns = NUMBER_COLUMNS if kind not in ("double", "float") else NUMBER_COLUMNS[:2]
    containers = _numbers(kind, cells)
    containers["Parquet"] = parquet(containers["Arrow"][0], tmp_path)
    if kind not in ("float", "bool"):
        texts = [None if cell is None or cell in (np.inf, -np.inf) else str(cell) for cell in cells]
        if not any(cell in (np.inf, -np.inf) for cell in cells if cell is not None):
            containers["CSV"] = lines({"x": texts, "y": texts}, tmp_path)
    for column in columns:
        if kind == "bool" and isinstance(column, Number):
            continue
        wanted = cleaned(containers["lists"], {"x": column}, STANDARD)
        for name, batches in containers.items():
            # A number and the text that spells it are different keys.
            if not (name == "CSV" and isinstance(column, Key)):
                assert cleaned(batches, {"x": column}, STANDARD) == wanted, (name, column)


def _arrow(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pa.table({"x": pa.array(cells, kind)})


def _polars(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=kind, strict=False)})


IDS = [2**60 + 1, 5, None, -(2**63), 2**63 - 1]
NUMBER, WHOLE, WORD = Number(-1e18, 1e18), Category([2**53 + 1, 7]), Category(["a", "é", "1"])
TIME, NOON = Moment("0001-01-01", "9999-12-31"), datetime.datetime(2000, 2, 29, 12)
ODD: dict[str, tuple[Callable[[list[Any]], Any], Column, list[Any]]] = {
    "pandas category of numbers": (lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="category")}), WHOLE,
                                   [7, 2**53 + 1, None, -(2**63), 2**63 - 1]),
    "Arrow ids": (_arrow(pa.int64()), Key(), IDS),
    "ids in a batch": (lambda cells: pa.RecordBatch.from_pydict({"x": pa.array(cells, pa.int64())}), Key(), IDS),
    "polars ids": (_polars(pl.Int64), Key(), IDS),
    "pandas ids": (lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="Int64")}), Key(), IDS),
    "pandas zones": (lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype="datetime64[us, Asia/Kolkata]")}), TIME,
                     [pd.Timestamp(NOON, tz="UTC"), None]),
    "polars Int128": (_polars(pl.Int128), WHOLE, [7, 2**53 + 1, None, -(2**63), 2**100]),
    "polars Decimal": (_polars(pl.Decimal(38, 2)), NUMBER, [Decimal("1.25"), None, Decimal(10**30)]),
    "polars dates": (lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=pl.Int32).cast(pl.Date)}), TIME,
                     [0, -1, None, 2**31 - 1, -(2**31), 2932897]),
    "polars Enum": (_polars(pl.Enum(["a", "é", "zz"])), WORD, ["a", "é", None, "zz"]),
    "Arrow string_view": (_arrow(pa.string_view()), WORD, ["a", "é", None, "a long text of no level"]),
    "Arrow undecodable": (lambda cells: pa.table({"x": pa.array(cells, pa.binary()).view(pa.string())}), WORD,
                          [b"a", b"\xff\xfe", None, b"\xc3\xa9"]),
    "Arrow decimal256": (_arrow(pa.decimal256(60, 5)), NUMBER, [Decimal("1.25"), None, Decimal(10**50)]),
    "Arrow half": (_arrow(pa.float16()), NUMBER, [np.float16(1.5), None, np.float16("inf"), np.float16("nan")]),
    "Arrow far days": (lambda cells: pa.table({"x": pa.array(cells, pa.int32()).cast(pa.date32())}), TIME,
                       [0, -1, None, 2**31 - 1, -(2**31), 2932897]),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_a_cell_of_an_odd_type_is_cleaned_as_it_is_alone(name: str) -> None:
    """Types that one library alone has: no cell changes how another is read, and nothing fails or warns."""
    make, column, cells = ODD[name]
    with np.errstate(all="raise"):
        bits, states = cleaned([make(cells)], {"x": column}, STANDARD)["x"]
        alone = [cleaned([make([cell, cell])], {"x": column}, STANDARD)["x"] for cell in cells]
    assert bits == b"".join(each[: len(each) // 2] for each, _ in alone)
    assert states == [each[0] for _, each in alone]


DECIMALS = [Decimal("0.1"), None, Decimal("12345678901234567890.123456789"), Decimal("-7"), Decimal("1e-9")]


def test_decimals_are_rounded_once_in_every_container(tmp_path: Path) -> None:
    """To the nearest double, however many digits they have."""
    arrow = pa.table({"x": pa.array(DECIMALS, pa.decimal128(38, 9)), "y": [1] * 5})
    for column in (Number(-10, 1e30, missing=3), Number(0, 1)):
        wanted = cleaned([{"x": DECIMALS}], {"x": column}, STANDARD)
        for batches in (
            [arrow],
            [pl.DataFrame({"x": pl.Series(DECIMALS, dtype=pl.Decimal(38, 9))})],
            [pd.DataFrame({"x": pd.Series(DECIMALS, dtype=object)})],
            parquet(arrow, tmp_path),
            lines({"x": [None if each is None else str(each) for each in DECIMALS], "y": ["1"] * 5}, tmp_path),
        ):
            assert cleaned(batches, {"x": column}, STANDARD) == wanted


def test_uuids_are_the_keys_that_their_texts_are(tmp_path: Path) -> None:
    """As Python's objects, in a Parquet file and as text."""
    ids = [uuid.UUID(int=2**100), None, uuid.UUID(int=7)]
    raw = pa.array([None if each is None else each.bytes for each in ids], pa.binary(16))
    arrow = pa.table({"x": pa.ExtensionArray.from_storage(pa.uuid(), raw), "y": [1, 2, 3]})
    texts = [None if each is None else str(each) for each in ids]
    wanted = cleaned([{"x": ids}], {"x": Key()}, STANDARD)
    pq.write_table(arrow, tmp_path / "t.parquet")
    assert open_parquet([tmp_path / "t.parquet"]).stored["x"].kind == "uuid"
    for batches in ([arrow], parquet(arrow, tmp_path), [{"x": texts}], lines({"x": texts, "y": texts}, tmp_path)):
        assert cleaned(batches, {"x": Key()}, STANDARD) == wanted


UNITS = ("s", "ms", "us", "ns")
_ENDS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
MOMENTS: list[Column] = [
    Moment("0001-01-01", "9999-12-31T23:59:59.999999"), Moment("1969-12-31T23:00", "1970-01-01T01:00"),
    Moment("1900-01-01", "2100-01-01", missing="1950-06-01"),
]  # fmt: skip


def _far(unit: str) -> list[int | None]:
    """Return moments as they are counted: about 1970, at the ends of the calendar, and of 64 bits."""
    ends = [int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp()) for year in (1, 1582, 1900, 9999)]
    within = [each * _ENDS[unit] + odd for each in ends for odd in (-1, 0, 1)]
    about = [0, 1, -1, 999, -999, 1000, -1001, 86_400 * _ENDS[unit] - 1, -86_400 * _ENDS[unit], None]
    cells = [*within, *about, 2**63 - 1, -(2**63) + 1, 2**62]
    return [each for each in cells if each is None or -(2**63) < each < 2**63]


@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_moment_reads_the_same_wherever_it_is_stored(tmp_path: Path, unit: str, zone: str | None) -> None:
    """Before 1970, beyond the year 9999, in any unit and zone: from Arrow, Parquet, pandas, polars and numpy."""
    kind = pa.timestamp(unit, zone)
    cells = _far(unit)
    arrow = pa.table({"x": pa.array(cells, pa.int64()).cast(kind)})
    raw = np.array([np.iinfo(np.int64).min if each is None else each for each in cells])
    containers: dict[str, list[Any]] = {
        "Arrow": [arrow],
        "pandas Arrow": [pd.DataFrame({"x": pd.array(arrow["x"], dtype=pd.ArrowDtype(kind))})],
    }
    if unit == "s":
        # Parquet has no seconds.
        cells = [each for each in cells if each is None or abs(each) < 2**63 // 1000]
        small = pa.table({"x": pa.array(cells, pa.int64()).cast(kind)})
        few = np.isin(raw, [np.iinfo(np.int64).min if each is None else each for each in cells])
        containers = {"Arrow": [small]}
        raw = raw[few]
        containers["Parquet"] = parquet(small, tmp_path)
    else:
        containers["Parquet"] = parquet(arrow, tmp_path)
        containers["polars"] = [pl.DataFrame({"x": pl.from_arrow(arrow)["x"]})]  # type: ignore[index,call-overload]
    if zone is None:
        containers["numpy"] = [{"x": raw.view(f"M8[{unit}]")}]
        containers["cells"] = [{"x": objects(list(raw.view(f"M8[{unit}]")))}]
        containers["pandas"] = [pd.DataFrame({"x": pd.Series(raw.view(f"M8[{unit}]"))})]
    for column in MOMENTS:
        wanted = cleaned(containers["Arrow"], {"x": column}, STANDARD)
        for name, batches in containers.items():
            assert cleaned(batches, {"x": column}, STANDARD) == wanted, name


def test_moments_of_96_bits_and_days_read_as_all_others(tmp_path: Path) -> None:
    """Spark's own form reaches from the year 1 to 9999 at nanoseconds; days are midnights."""
    days = [datetime.datetime(*day) for day in [(1, 1, 1), (1600, 2, 29, 1), (1969, 12, 31, 23, 59, 59, 999_999)]]
    days += [datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)]
    arrow = pa.table({"x": pa.array([*days, None], pa.timestamp("us"))})
    texts = [*(day.isoformat() for day in days), None]
    for column in MOMENTS:
        wanted = cleaned([arrow], {"x": column}, STANDARD)
        old = parquet(arrow, tmp_path, use_deprecated_int96_timestamps=True)
        for batches in (old, [{"x": [*days, None]}], [{"x": texts}], lines({"x": texts, "y": texts}, tmp_path)):
            assert cleaned(batches, {"x": column}, STANDARD) == wanted
    dates = [day.date() for day in days]
    for kind in (pa.date32(), pa.date64()):
        table = pa.table({"x": pa.array([*dates, None], kind)})
        wanted = cleaned([{"x": [*map(str, dates), None]}], {"x": MOMENTS[0]}, STANDARD)
        for batches in (
            [table],
            parquet(table, tmp_path),
            [pl.DataFrame({"x": [*dates, None]})],
            [{"x": [*dates, None]}],
        ):
            assert cleaned(batches, {"x": MOMENTS[0]}, STANDARD) == wanted


@pytest.mark.parametrize("make", [pa.table, lambda days: pl.DataFrame({"x": pl.from_arrow(days["x"])})])
def test_days_beyond_the_calendar_are_at_its_ends(make: Callable[[Any], Any]) -> None:
    """Python has no object for them, and counted in microseconds they are beyond 64 bits."""
    days = {"x": pa.array([2**31 - 1, 160_000_000, -(2**31), 0, None], pa.int32()).cast(pa.date32())}
    values, states = read_table(make(days), ())["x"].cleaned(Moment("1900-01-01", "2100-01-01"))
    assert values.tolist() == [47482, 47482, -25567, 0, pytest.approx(10957.5)]
    assert states.tolist() == [2, 2, 2, 0, 1]


def test_an_empty_batch_has_no_cells() -> None:
    """Of every type."""
    kinds: list[Callable[[], Any]] = [pa.string, pa.int64, pa.float64, pa.bool_, pa.date32, lambda: pa.timestamp("us")]
    for kind in kinds:
        for column in (Category(["a"]), Number(0, 1), Moment("2000-01-01", "2001-01-01"), Key()):
            table = pa.table({"x": pa.array([], kind())})
            for each in (table, pl.from_arrow(table), table.slice(0, 0).to_pandas()):
                assert [len(part) for part in read_table(each, ())["x"].cleaned(column)] == [0, 0]
