"""Records with nasty cells, in every engine, and random questions about them."""

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.queries.arrays import ArrayEngine

NASTY = np.array([
    0.0, -0.0, 1.0, -1.0, 0.5, 1 / 3, 3.0, 1e-3, 1e15, -1e15, 2.0**53 + 2, np.nan, np.inf, -np.inf, 5e-324, -5e-324,
    2.2e-308, 1e-300, 1e-30, -1e-30, 1.0000000000000002e-30, 1e30, -1e30, 1.0000000000000002e30, 1e200, 1.7e308,
    -1.7e308,
])  # fmt: skip
WORDS = ["", "a", "A", " a", "é", "日本", "it's", '"', "%", "\\", None]
NUMBERS = ("f", "g", "s", "i", "j", "k", "b", "d")
TYPES = {
    "f": "float8", "g": "float8", "s": "float4", "i": "int8", "j": "int4", "k": "int2", "b": "boolean", "d": "numeric",
    "y": "int8", "w": "text", "id": "int8",
}  # fmt: skip


def needs_java() -> None:
    """Skip where Java is missing; in continuous integration it must not be."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return
    reason = "Java is not installed: tools/install-ci-packages installs it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def records(n: int, seed: int = 0) -> pa.Table:
    """Return records whose cells are as bad as their types allow, missing ones among them."""
    rng = np.random.default_rng(seed)

    def spoiled(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(
            [None if gone else value for value, gone in zip(values, rng.random(n) < 0.1, strict=True)], kind
        )

    whole = [0, 1, -1, 2, 7]
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
            "id": pa.array(rng.permutation(n) * 7 - 500, pa.int64()),
        }
    )


def as_arrays(table: pa.Table) -> ArrayEngine:
    """Return the numbers of a table as arrays."""
    columns = [[np.nan if value is None else float(value) for value in table[name].to_pylist()] for name in NUMBERS]
    return ArrayEngine(np.array(columns).T, np.array(table["y"]), names=NUMBERS, identity="arrays")


def write_files(table: pa.Table, path: Path) -> Path:
    """Write a table as a folder of three Parquet files, one of them below another folder."""
    third = -(-len(table) // 3)
    for number, folder in enumerate((path, path, path / "more")):
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(number * third, third), folder / f"{number}.parquet", row_group_size=third // 2)
    return path


def write_postgresql(table: pa.Table, address: str, name: str = "records") -> None:
    """Write a table into a database."""
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        columns = ", ".join(f'"{column}" {TYPES[column]}' for column in table.column_names)
        cursor.execute(f"CREATE TABLE {name} ({columns})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(table[column].to_pylist() for column in table.column_names), strict=True):
                copy.write_row(row)


@contextlib.contextmanager
def ibis_postgresql(address: str, name: str = "records") -> Iterator[Any]:
    """Open a table of a database for a while."""
    database, _, folder = address.removeprefix("postgresql://postgres@/").partition("?host=")
    connection = ibis.postgres.connect(host=folder, user="postgres", database=database)
    try:
        yield connection.table(name)
    finally:
        connection.disconnect()


Asked = Callable[[Any], Any]


def random_number(coins: random.Random, depth: int, *, exact: bool = True) -> Asked:
    """Return a random function of a record that gives a number; `exact` leaves exp and ln out."""
    if depth == 0:
        name = coins.choice(NUMBERS)
        return lambda t: t[name]
    deeper = [random_number(coins, coins.randrange(depth), exact=exact) for _ in range(2)]
    one, other = deeper
    truth = random_condition(coins, depth - 1, exact=exact)
    value = coins.choice([0, 1, -1, 2, 0.1, 1 / 3, 1e-3, 1e6, -7.25, 1e15])
    some: list[Asked] = [
        lambda t: one(t) + other(t),
        lambda t: one(t) - other(t),
        lambda t: one(t) * other(t),
        lambda t: one(t) / other(t),
        lambda t: one(t) + value,
        lambda t: value - one(t),
        lambda t: one(t) * value,
        lambda t: value / one(t),
        lambda t: -one(t).cast("float64"),
        lambda t: abs(one(t).cast("float64")),
        lambda t: one(t).cast("float64").sqrt(),
        lambda t: one(t).cast("float64").floor(),
        lambda t: one(t).cast("float64").ceil(),
        lambda t: one(t).cast("float64").round(),
        lambda t: one(t).cast("float64").sign(),
        lambda t: one(t).cast("float64").clip(-1, 2.5),
        lambda t: one(t).cast("float64").clip(lower=other(t)),
        lambda t: one(t).cast("float64").clip(upper=0.75),
        lambda t: truth(t).ifelse(one(t), other(t)),
        lambda t: truth(t).ifelse(one(t), value),
        lambda t: one(t).fill_null(value),
        lambda t: one(t).coalesce(other(t), 3),
        lambda t: one(t).nullif(0),
        lambda t: one(t) % 3,
        lambda t: one(t) // 2,
        lambda t: one(t).cast("float64") ** 2,
        lambda t: truth(t).cast("int32"),
        lambda t: one(t).cases((0, 5), (1, other(t)), else_=-2),
    ]
    if not exact:
        some += [lambda t: one(t).cast("float64").exp(), lambda t: one(t).cast("float64").ln()] * 3
    return coins.choice(some)


def random_condition(coins: random.Random, depth: int, *, exact: bool = True) -> Asked:
    """Return a random function of a record that is true or false."""
    if depth == 0:
        return lambda t: t.b == 1
    one, other = (random_number(coins, depth - 1, exact=exact) for _ in range(2))
    this, that = (random_condition(coins, depth - 1, exact=exact) for _ in range(2))
    value = coins.choice([0, 1, -1, 0.1, 1e-30, 2**53, 1e30, 127])
    return coins.choice(
        [
            lambda t: one(t) > other(t),
            lambda t: one(t) <= value,
            lambda t: one(t) >= value,
            lambda t: one(t) == value,
            lambda t: one(t) != other(t),
            lambda t: value < one(t),
            lambda t: one(t).between(-1, value),
            lambda t: one(t).isin([0, 1, 7, 0.5]),
            lambda t: one(t).isin(list(range(-12, 13))),
            lambda t: one(t).notin([1]),
            lambda t: one(t).isnull(),
            lambda t: one(t).notnull(),
            lambda t: this(t) & that(t),
            lambda t: this(t) | that(t),
            lambda t: this(t) ^ that(t),
            lambda t: ~this(t),
            lambda t: this(t) == that(t),
            lambda t: this(t).isnull(),
            lambda t: this(t).fill_null(True) != that(t),
            lambda t: this(t).ifelse(that(t), this(t)),
        ]
    )
