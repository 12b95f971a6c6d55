"""Records with nasty cells, and one Arrow table put into every kind of source."""

import os
import shutil
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from support.needs import missing
from tacit.data import Category, Flag, Key, Moment, Number, Ordinal, Records, Schema
from tacit.data.readers.relation import quoted

NASTY = np.array([
    0.0, -0.0, 1.0, -1.0, 0.5, 1 / 3, 3.0, 1e-3, 1e15, -1e15, 2.0**53 + 2, np.nan, np.inf, -np.inf, 5e-324, -5e-324,
    2.2e-308, 1e-300, 1e-30, -1e-30, 1.0000000000000002e-30, 1e30, -1e30, 1.0000000000000002e30, 1e200, 1.7e308,
    -1.7e308,
])  # fmt: skip
WORDS = ["", "a", " a", "a\t", "A", "é", "日本", "it's", '"', "%", "\\", "\u2003a", "🙂", None]
GRADES = ["low", "middle", "high", " low ", "LOW", "none", None]
SCHEMA = Schema(
    {
        "f": Number(-1e30, 1e30, missing=0.25),
        "g": Number(-4, 4),
        "s": Number(-1e38, 1e38),
        "i": Number(-1e19, 1e19),
        "j": Number(-3e9, 3e9),
        "k": Number(-128, 127, missing=9),
        "b": Flag(),
        "d": Number(-1e6, 1e6),
        "y": Category(["-1", "1"], other="-1"),
        "w": Category(["a", "é", "日本", "it's", '"', "%", "\\", "🙂"]),
        "o": Ordinal(["low", "middle", "high"]),
        "day": Moment("0001-01-01", "9999-12-31"),
        "at": Moment("1900-01-01T06:30:00", "2100-01-01", missing="2000-02-29"),
        "id": Key(),
    },
    target="y",
)
_POSTGRESQL = {
    pa.float64(): "float8", pa.float32(): "float4", pa.int64(): "int8", pa.int32(): "int4", pa.int16(): "int2",
    pa.int8(): "int2", pa.uint8(): "int2", pa.uint16(): "int4", pa.uint32(): "int8", pa.uint64(): "numeric",
    pa.bool_(): "boolean", pa.string(): "text", pa.large_string(): "text", pa.date32(): "date",
}  # fmt: skip


def needs_java() -> None:
    """Skip where Java is missing; in continuous integration it must not be."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        missing("Java")


def nasty_table(n: int, seed: int = 0) -> pa.Table:
    """Return records whose cells are as bad as their types allow, missing ones among them; `SCHEMA` declares them."""
    rng = np.random.default_rng(seed)

    def spoiled(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(
            [None if gone else value for value, gone in zip(values, rng.random(n) < 0.1, strict=True)], kind
        )

    whole = [0, 1, -1, 2, 7]
    days = np.array(["0001-01-01", "1582-10-10", "1969-12-31", "1970-01-01", "2000-02-29", "2024-03-01", "9999-12-31"])
    times = np.array([
        "0001-01-01T00:00:00.000001", "1899-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999", "1970-01-01",
        "2000-02-29T12:00:00", "2024-03-01T07:08:09.123456", "2100-01-01T00:00:00.000001", "9999-12-31T23:59:59",
    ])  # fmt: skip
    return pa.table(
        {
            "f": spoiled(rng.choice(NASTY, n), pa.float64()),
            "g": spoiled(rng.normal(size=n), pa.float64()),
            "s": spoiled(
                rng.choice([0.1, 1e-38, 3e38, np.nan, np.inf, 1e-45, -2.5], n).astype(np.float32), pa.float32()
            ),
            "i": spoiled(rng.choice([*whole, 2**63 - 1, -(2**63), 2**53 + 1, 10**15 + 1], n).tolist(), pa.int64()),
            "j": spoiled(rng.choice([*whole, 2**31 - 1, -(2**31)], n).tolist(), pa.int32()),
            "k": spoiled(rng.choice([*whole, 127, -128], n).tolist(), pa.int8()),
            "b": spoiled((rng.random(n) < 0.5).tolist(), pa.bool_()),
            "d": spoiled([Decimal(int(c)) / 100 for c in rng.choice([0, 1, -1, 150, 10**8], n)], pa.decimal128(12, 2)),
            "y": pa.array(rng.choice([-1, 1], n), pa.int64()),
            "w": spoiled(rng.choice(np.array(WORDS, dtype=object), n), pa.string()),
            "o": spoiled(rng.choice(np.array(GRADES, dtype=object), n), pa.string()),
            "day": spoiled(rng.choice(days.astype("M8[D]"), n).tolist(), pa.date32()),
            "at": spoiled(rng.choice(times.astype("M8[us]"), n).tolist(), pa.timestamp("us")),
            "id": pa.array(rng.permutation(n) * 7 - 500, pa.int64()),
        }
    )


def as_records(table: pa.Table, schema: Schema, key: str | None = None, **options: Any) -> Records:
    """Return a table in memory as records."""
    return Records(table, schema, key=key, **options)


def write_files(table: pa.Table, path: Path) -> Path:
    """Write a table as one Parquet file, or as a folder of three, one of them below another folder."""
    if path.suffix:
        pq.write_table(table, path)
        return path
    third = -(-len(table) // 3)
    for number, folder in enumerate((path, path, path / "more")):
        folder.mkdir(parents=True, exist_ok=True)
        rows = table.slice(number * third, third)
        pq.write_table(rows, folder / f"{number}.parquet", row_group_size=max(1, third // 2))
    return path


def write_postgresql(table: pa.Table, address: str, name: str | None = None) -> str:
    """Write a table into a database, under a name of its own unless one is given; return the name."""
    wanted = name or f"records_{uuid.uuid4().hex}"
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        columns = ", ".join(f"{quoted(field.name)} {_type_in_postgresql(field.type)}" for field in table.schema)
        cursor.execute(f"CREATE TABLE {wanted} ({columns})".encode())
        with cursor.copy(f"COPY {wanted} FROM STDIN".encode()) as copy:
            for row in zip(*(_cells(table[column]) for column in table.column_names), strict=True):
                copy.write_row(row)
    return wanted


def _type_in_postgresql(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    return "numeric" if pa.types.is_decimal(kind) else _POSTGRESQL[kind]


def _cells(column: Any) -> Iterator[Any]:
    """Yield the cells; moments as text, since Python has no object for many of them."""
    if not pa.types.is_date(column.type) and not pa.types.is_timestamp(column.type):
        yield from column.to_pylist()
        return
    unit = "D" if pa.types.is_date(column.type) else column.type.unit
    zone = "" if pa.types.is_date(column.type) or column.type.tz is None else "Z"
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    for cell in column.cast(whole).to_pylist():
        yield None if cell is None else _written(np.datetime64(cell, unit), zone)


def _written(moment: Any, zone: str) -> str:
    year, rest = str(moment).rsplit("-", 2)[0], "-".join(str(moment).rsplit("-", 2)[1:])
    return f"{int(year):04}-{rest}{zone}" if int(year) > 0 else f"{1 - int(year):04}-{rest}{zone} BC"
