"""What nobody can notice: one odd record, or one person of odd rows, changes no exception, warning, size or attribute.

Tables are made up and written for every reader, with one slot that holds whatever a source can hold there; beside them
stands the neighbour, the same table with an ordinary record in that slot. Both are opened and asked about as anybody
would, and whatever a person can see that is no noisy number must be the same.
"""

import sqlite3
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from support.statistical import sample_size
from tacit import PrivateLogisticRegression, StatisticalOracle, StatisticalQuery
from tacit.data import Category, Flag, Key, Moment, Number, Records, Schema

SCHEMA = Schema(
    {
        "age": Number(0, 120), "ward": Category(["A", "B"]), "seen": Moment("2020-01-01", "2021-01-01"),
        "weight": Number(0, 5, missing=0), "ill": Flag("no", "yes"), "id": Key(),
    },
    target="ill",
    weight="weight",
)  # fmt: skip
ROWS = 40
ODD_NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.1, 2.0**53 + 2, 120.0]
ODD_WORDS = [None, "", " A", "a", "\t", "é", "NaN", "1e400", "'; drop", "\u2028", "A" * 5_000]
ODD_TIMES = [None, "1677-09-22", "1969-12-31T23:59:59", "2020-06-01", "2262-04-11", "2020-12-31T23:59:59.999999"]
PERSON_ROWS = [1, 2, 5, 60]


def made(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    """Return ordinary rows."""
    return {
        "age": rng.integers(0, 121, rows).astype(float).tolist(),
        "ward": rng.choice(["A", "B"], rows).tolist(),
        "seen": [np.datetime64("2020-01-01") + int(day) for day in rng.integers(0, 366, rows)],
        "weight": rng.choice([1.0, 2.5], rows).tolist(),
        "ill": rng.choice(["no", "yes"], rows).tolist(),
        "id": [str(number % 12) for number in range(rows)],
    }


def odd(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    """Return rows whose cells are as odd as their types allow."""
    times = [np.datetime64("NaT") if each is None else np.datetime64(each) for each in ODD_TIMES]
    return {
        "age": [float(rng.choice(ODD_NUMBERS)) for _ in range(rows)],
        "ward": [ODD_WORDS[int(rng.integers(len(ODD_WORDS)))] for _ in range(rows)],
        "seen": [times[int(rng.integers(len(times)))] for _ in range(rows)],
        "weight": [float(rng.choice(ODD_NUMBERS)) for _ in range(rows)],
        "ill": [ODD_WORDS[int(rng.integers(len(ODD_WORDS)))] for _ in range(rows)],
        "id": ["odd"] * rows,
    }


def joined(one: Mapping[str, list[Any]], other: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the rows of both."""
    return {name: [*cells, *other[name]] for name, cells in one.items()}


def arrow(table: Mapping[str, list[Any]]) -> pa.Table:
    """Return a table of Arrow with types of its own, the same whatever the cells are."""
    kinds = {"age": pa.float64(), "weight": pa.float32(), "seen": pa.timestamp("us")}
    cells = {**table, "seen": np.array(table["seen"], dtype="M8[us]")}
    with np.errstate(all="ignore"):
        cells["weight"] = np.array(table["weight"], dtype=np.float32)
    return pa.table({name: pa.array(column, kinds.get(name, pa.string())) for name, column in cells.items()})


def as_parquet(table: Mapping[str, list[Any]], folder: Path) -> Any:
    """Write a Parquet file."""
    pq.write_table(arrow(table), folder / "t.parquet", row_group_size=16)
    return folder / "t.parquet"


def as_csv(table: Mapping[str, list[Any]], folder: Path) -> Any:
    """Write a CSV file."""
    pc.write_csv(arrow(table), folder / "t.csv")
    return folder / "t.csv"


def as_sqlite(table: Mapping[str, list[Any]], folder: Path) -> Any:
    """Write an SQLite file."""
    connection = sqlite3.connect(folder / "t.db")
    connection.execute("CREATE TABLE t (age REAL, ward TEXT, seen TEXT, weight REAL, ill TEXT, id TEXT)")
    times = [None if np.isnat(each) else str(each) for each in table["seen"]]
    columns = [table["age"], table["ward"], times, table["weight"], table["ill"], table["id"]]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", list(zip(*columns, strict=True)))
    connection.commit()
    connection.close()
    return f"sqlite:///{folder / 't.db'}", "t"


SOURCES: dict[str, Callable[[Mapping[str, list[Any]], Path], Any]] = {
    "columns": lambda table, _: dict(table),
    "records": lambda table, _: [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)],
    "pandas": lambda table, _: arrow(table).to_pandas(),
    "polars": lambda table, _: pl.from_arrow(arrow(table)),
    "arrow": lambda table, _: arrow(table),
    "parquet": as_parquet,
    "csv": as_csv,
    "sqlite": as_sqlite,
}


def noticed(source: Any, unit: str | None, memory: int | None, folder: Path) -> list[str]:
    """Return all that a person sees of records but noisy numbers: words, sizes, warnings, failures."""
    told: list[str] = []

    def note(what: str, act: Callable[[], Any]) -> Any:
        try:
            found = act()
        except Exception as failure:
            told.append(f"{what}: {type(failure).__name__}: {failure}")
            return None
        told.append(f"{what}: {type(found).__name__} {np.shape(getattr(found, 'coef_', ()))}")
        return found

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        records = note("open", lambda: Records(source, SCHEMA, unit=unit, memory=memory, name="these"))
        if records is not None:
            told += [repr(records), records.describe(), records.identity, str(records.n), repr(records.facts.stored)]
            model = note("fit", lambda: PrivateLogisticRegression(1.0, random_state=1).fit(records))
            oracle = StatisticalOracle(records, random_state=1)
            for asked in ("age > 60", "ward == 'A' and ill"):
                note("ask", lambda asked=asked: oracle.ask(StatisticalQuery(asked), epsilon=1.0))
            note("mismatches", lambda: records.mismatches(epsilon=1e-9, random_state=1))
            packed = note("pack", lambda: records.pack(folder / f"t{memory}.tacit-records"))
            told.append("" if packed is None else str(packed.n))
            told.append("" if model is None else str(sorted(vars(model))))
    return [*told, *(f"{each.category.__name__}: {each.message}" for each in heard)]


def pair(seed: int, unit: str | None) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return two neighbours: in one slot of the second there are odd rows."""
    rng = np.random.default_rng(seed)
    others = made(rng, ROWS)
    rows, few = (int(rng.choice(PERSON_ROWS)), int(rng.choice(PERSON_ROWS))) if unit else (1, 1)
    ordinary = {**made(rng, few), "id": ["odd"] * few}
    return joined(others, ordinary), joined(others, odd(rng, rows))


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("kind", SOURCES)
def test_one_odd_record_or_person_is_noticed_by_nobody(kind: str, unit: str | None, tmp_path: Path) -> None:
    """Exceptions, warnings, sizes and attributes are those of the neighbour, in memory and from the private file."""
    for seed in range(sample_size(4)):
        seen = []
        for number, table in enumerate(pair(1000 * len(kind) + seed, unit)):
            folder = tmp_path / f"table_{seed}_{number}_"
            folder.mkdir()
            source = SOURCES[kind](table, folder)
            seen.append([noticed(source, unit, memory, folder) for memory in (None, 1)])
        one, other = (
            [[text.replace(f"table_{seed}_{n}_", "") for text in told] for told in each] for n, each in enumerate(seen)
        )
        assert one == other


def test_an_odd_record_that_is_told_is_noticed(tmp_path: Path) -> None:
    """The comparison has power: an opening that fails, or warns, because of a cell is seen."""
    one, other = pair(1, None)
    honest = Number.clean

    def telling(self: Number, values: Any, *form: Any) -> Any:
        if np.isnan(np.asarray(values, dtype=np.float64)).any():
            warnings.warn("a number is missing", UserWarning, stacklevel=2)
        return honest(self, values, *form)

    other["age"][-1] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Number, "clean", telling)
        told = [noticed(SOURCES["pandas"](each, tmp_path), None, None, tmp_path) for each in (one, other)]
    assert told[0] != told[1]


@pytest.mark.parametrize("memory", [1, 2**20, None])
@pytest.mark.parametrize("rows", [1, 5, 300, 70_000])
def test_no_limit_of_memory_tells_how_many_rows_a_person_has(rows: int, memory: int | None, tmp_path: Path) -> None:
    """A fit fails for no number of rows, neither before its charge nor after it."""
    rng = np.random.default_rng(rows)
    person = {**made(rng, rows), "id": ["odd"] * rows}
    records = Records(joined(made(rng, ROWS), person), SCHEMA, unit="id", memory=memory)
    assert records.n == 13
    assert np.isfinite(PrivateLogisticRegression(1.0, random_state=1).fit(records).coef_).all()
    assert StatisticalOracle(records, random_state=1).ask(StatisticalQuery("age > 60"), epsilon=1.0).tolerance > 0
