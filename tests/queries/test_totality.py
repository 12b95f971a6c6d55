"""No question fails, warns, leaves its range or moves more than it says, whatever the records hold, in any engine.

`make stats` asks 100,000 random questions of numpy, of PostgreSQL and of DuckDB, and 2,000 of Spark, which takes a
fifth of a second for each, 25 times as long as DuckDB: 100,000 would take it five hours. `make test` asks a fortieth of
them, which is enough to find a planted failure (`test_the_fuzz_has_power`, the twin of all comparisons of engines).
Every question is a query of the whole language (`random_expressions`) about tables whose cells are the extremes of
their types (`hostile_tables`).
"""

import datetime
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow.parquet as pq
import pytest

from support.hostile_tables import (
    COLUMNS,
    LEVELS,
    LINES_SCHEMA,
    PAIRS_SCHEMA,
    SCHEMA,
    arrow_table,
    text_table,
    write_lines,
    write_pairs,
)
from support.random_expressions import questions
from support.statistical import sample_size
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Records, Schema
from tacit.data.dialects import DuckDB
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.sums.engines.engine import Engine, Prepared, steps_for
from tacit.sums.engines.memory import Columns, MemoryEngine
from tacit.sums.engines.opening import engine_for
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.expression import inner_first
from tacit.sums.language.sql import Printed

N = 60
AT_ONCE = 100


def asked(base: int) -> int:
    """Return how many questions to ask: ten times the base in `make stats`, a quarter of it in `make test`."""
    return sample_size(base) if sample_size(1) > 1 else base // 4


@pytest.fixture(autouse=True)
def caller_with_strict_numpy() -> Iterator[None]:
    """Every question is asked by somebody for whom numpy raises at the slightest occasion."""
    with np.errstate(all="raise"):
        yield


def batches(records: Records, count: int, seed: int) -> Iterator[list[Prepared]]:
    """Yield random questions about records, a scan's worth at a time."""
    engine = engine_for(records)
    for number, start in enumerate(range(0, count, AT_ONCE)):
        found = questions(records.columns, min(AT_ONCE, count - start), 1_000_003 * seed + number)
        yield [engine.prepare(query) for query in found]


def all_sums(engine: Engine, batch: Sequence[Prepared], turn: int) -> list[Any]:
    """Return the sums, with the labels exchanged at every other turn."""
    return engine.sums(batch, flipped=bool(turn % 2))


def assert_same(memory: Records, other: Records, count: int, seed: int) -> None:
    """Ask both, and compare the sums bit by bit."""
    one, two = engine_for(memory), engine_for(other)
    for turn, batch in enumerate(batches(memory, count, seed)):
        for prepared, own, theirs in zip(batch, all_sums(one, batch, turn), all_sums(two, batch, turn), strict=True):
            assert own.tobytes() == (theirs + 0.0).tobytes(), prepared.text


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_in_memory_nothing_fails_and_nothing_leaves_its_range(seed: int) -> None:
    """Many questions per seed: every number inside them lies in its range, and none is nearer to 0 than said.

    Twin: numbers come so near to the ends that ranges, or distances from 0, a tenth narrower would be left.
    """
    records = Records(arrow_table(N, seed), SCHEMA)
    cells = records.table.cleaned  # type: ignore[attr-defined]
    near_ends = near_zero = 0
    for batch in batches(records, asked(5_000), seed):
        nodes = inner_first([each for prepared in batch for each in (*prepared.columns, *prepared.features)])
        for node, found in zip(nodes, evaluate(nodes, cells.__getitem__), strict=True):
            if node.kind != "number":
                continue
            values = np.asarray(found, dtype=np.float64)
            assert 0 <= node.least < math.inf
            assert np.all((values >= node.low) & (values <= node.high)), node
            assert np.all((values == 0) | (np.abs(values) >= node.least)), node
            margin = 0.05 * (node.high - node.low)
            near_ends += bool(margin and np.any((values > node.high - margin) | (values < node.low + margin)))
            near_zero += bool(node.least and np.any(np.abs(values) < node.least / 0.9) and np.any(values != 0))
    assert near_ends > 0
    assert near_zero > 0


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_no_replaced_record_moves_sums_by_more_than_a_query_says(seed: int) -> None:
    """Many questions per seed, each with one record replaced by another of hostile cells: L1 and L2 hold.

    Twin: the bounds are reached, so that ones a tenth smaller would be exceeded.
    """
    records = Records(arrow_table(N, seed), SCHEMA)
    engine = engine_for(records)
    rng = np.random.default_rng(seed)
    assert isinstance(engine, MemoryEngine)
    cells = Columns({name: records.table.cleaned[name] for name in records.columns})  # type: ignore[attr-defined]
    farthest = np.zeros(2)
    for batch in batches(records, asked(5_000), 10 + seed):
        rows = np.arange(N)
        rows[rng.integers(N)] = rng.integers(N)
        other = MemoryEngine(
            cells.chosen(rows), N, records.columns, label=engine.label, labels=engine.labels, identity="other"
        )
        for prepared, before, after in zip(batch, engine.sums(batch), other.sums(batch), strict=True):
            room = prepared.query.rounding(steps_for(N)) * (1 + 1e-12)
            moved = np.abs(before - after).sum(), math.sqrt(np.square(before - after).sum())
            assert moved[0] <= prepared.query.l1 * room, prepared.text
            assert moved[1] <= prepared.query.l2 * room, prepared.text
            farthest = np.maximum(farthest, np.divide(moved, (prepared.query.l1, prepared.query.l2)))
    assert np.all(farthest > 0.9)


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_duckdb_agrees_on_parquet(tmp_path: Path, seed: int) -> None:
    """Many questions per seed about one Parquet file: the same bits as in memory."""
    table = arrow_table(N, seed)
    pq.write_table(table, tmp_path / "hostile.parquet")
    assert_same(Records(table, SCHEMA), Records(tmp_path / "hostile.parquet", SCHEMA), asked(4_000), 20 + seed)


@pytest.mark.stats
def test_duckdb_agrees_on_lines(tmp_path: Path) -> None:
    """Many questions about a CSV file, whose cells are all text: the same bits as from these texts in memory."""
    texts = text_table(N, 3)
    path = write_lines(texts, tmp_path / "hostile.csv", end="\r\n")
    assert_same(Records(texts, LINES_SCHEMA), Records(path, LINES_SCHEMA), asked(2_000), 30)


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_postgresql_agrees(postgresql: Any, database: str, seed: int) -> None:
    """Many questions per seed about all that PostgreSQL can store: the same bits as from Python objects."""
    address = postgresql.address(database)
    postgresql.execute(f"ALTER DATABASE {database} SET timezone = 'Asia/Kolkata'")
    name, cells = write_pairs(address, N, seed)
    with np.errstate(all="raise"):
        assert_same(Records(cells, PAIRS_SCHEMA), Records((address, name), PAIRS_SCHEMA), asked(5_000), 40 + seed)


@pytest.mark.stats
@pytest.mark.parametrize("strict", ["true", "false"])
def test_spark_agrees(spark: Any, tmp_path: Path, strict: str) -> None:
    """As many questions in Spark's strict mode as in its lenient one, in another time zone: the same bits."""
    kept = {name: column for name, column in COLUMNS.items() if name not in ("ns", "v")}
    schema = Schema(kept, target="y")
    table = arrow_table(N, 5).select(list(kept))
    pq.write_table(table, tmp_path / "hostile.parquet")
    settings = {"spark.sql.ansi.enabled": strict, "spark.sql.session.timeZone": "America/New_York"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        frame = spark.read.parquet(str(tmp_path / "hostile.parquet"))
        records = Records(frame, schema)
        assert_same(Records(table, schema), records, asked(100), 50)
        engine = engine_for(records)
        terms = StatisticalQuery(lambda t: sum((t.r * (k / 1e3) for k in range(300)), start=t.h), low=-1, high=10)
        for long in (terms, StatisticalQuery(_clamps(15), low=-1, high=10)):
            (own,), (theirs,) = (
                each.sums([each.prepare(long)]) for each in (engine_for(Records(table, schema)), engine)
            )
            assert own.tobytes() == theirs.tobytes()
        with pytest.raises(InvalidParameter, match="steps"):
            engine.prepare(StatisticalQuery(_clamps(100)))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_parts_are_the_same_sums_everywhere(tmp_path: Path) -> None:
    """100 questions about each part of a split by key: the sums over a part are those in memory."""
    table = arrow_table(N, 6)
    pq.write_table(table, tmp_path / "hostile.parquet")
    one = Records(table, SCHEMA, key="name").split(0.5, 0.5, by="key")
    two = Records(tmp_path / "hostile.parquet", SCHEMA, key="name").split(0.5, 0.5, by="key")
    for mine, theirs in zip(one, two, strict=True):
        assert mine.n == theirs.n
        assert_same(mine, theirs, 100, 60)


def test_the_fuzz_has_power(postgresql: Any, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: were factors not brought away from 0, as many questions would find the failure in PostgreSQL."""
    from tacit.errors import QueryFailed
    from tacit.sums.language import expression

    monkeypatch.setattr(expression, "_LEAST_PRODUCT", 0.0)
    address = postgresql.address(database)
    name, cells = write_pairs(address, N, 1)
    with pytest.raises(QueryFailed):
        assert_same(Records(cells, PAIRS_SCHEMA), Records((address, name), PAIRS_SCHEMA), asked(5_000), 41)


def _zero_times_infinity(t: Any) -> Any:
    nothing = t.h * 0
    for _ in range(6):
        nothing = nothing * 0
    chosen = (t.j > 100).ifelse(nothing * (t.f - t.h), t.h * 1e-100)
    return chosen * chosen * chosen * chosen


TOTAL = {
    "an underflow behind a product of zeros": _zero_times_infinity,
    "a tiny difference, cubed": lambda t: ((t.h - 0.5) * 1e-90) ** 3,
    "a clamp at both ends": lambda t: t.f.clip(1e-100, 1e-100) * t.f.clip(-1e100, -1e100),
    "a sum at the end of the range": lambda t: t.f.clip(-5e99, 5e99) + t.f.clip(-5e99, 5e99),
    "a year before year 1": lambda t: t.day.year * t.ms.month - t.at.weekday,
    "a choice by a flag": lambda t: t.q.ifelse(t.f, -t.f),
    "all levels and none": lambda t: t.w.isin([]) | ~t.w.isin(["a", "é"]),
}


@pytest.fixture(scope="module")
def pair(postgresql: Any) -> tuple[Engine, Engine]:
    """Give engines for the same records in memory and in PostgreSQL."""
    address = postgresql.address(postgresql.new_database())
    table, cells = write_pairs(address, N, 7)
    return engine_for(Records(cells, PAIRS_SCHEMA)), engine_for(Records((address, table), PAIRS_SCHEMA))


@pytest.mark.parametrize("name", list(TOTAL))
def test_what_can_be_written_is_total(pair: tuple[Engine, Engine], name: str) -> None:
    """Relatives of the attacks that the language can express: answered, and the same in PostgreSQL as in memory."""
    memory, other = pair
    query = StatisticalQuery(TOTAL[name], low=-1e100, high=1e100)
    (own,), (theirs,) = memory.sums([memory.prepare(query)]), other.sums([other.prepare(query)])
    assert own.tobytes() == theirs.tobytes()


class _Number:
    def __float__(self) -> float:
        raise RuntimeError("no number")


INEXPRESSIBLE = {
    "a timestamp that overflows in nanoseconds": lambda t: (t.h > 0.5).ifelse(
        ibis.literal(datetime.datetime(3000, 1, 1), type="timestamp(9)"), ibis.null("timestamp(9)")
    ),
    "a null": lambda t: (t.h > 0.5).ifelse(None, 0),
    "isnull": lambda t: t.h.isnull(),
    "a clamp with a null end": lambda t: t.h.clip(None, ibis.null("float64")),
    "a clamp to a column": lambda t: t.h.clip(t.f, 1),
    "a clamp to NaN": lambda t: t.h.clip(math.nan, 1),
    "a clamp upside down": lambda t: t.h.clip(1, 0),
    "modulus": lambda t: t.h % 2,
    "a whole quotient": lambda t: t.h // 2,
    "division by a column": lambda t: 1 / t.h,
    "a column by a column": lambda t: t.f / t.h,
    "division by zero": lambda t: t.f / 0,
    "division by what counts as zero": lambda t: t.f / 5e-324,
    "a power": lambda t: t.f**0.5,
    "a power by a column": lambda t: 2**t.h,
    "contains": lambda t: t.w.contains("a"),
    "like": lambda t: t.w.like("a%"),
    "a regular expression": lambda t: t.w.re_search("a"),
    "upper case": lambda t: t.w.upper() == "A",
    "a length": lambda t: t.w.length(),
    "a cast": lambda t: t.f.cast("int64"),
    "a logarithm": lambda t: np.log(t.h),
    "a root": lambda t: math.sqrt(t.h),
    "a numpy function": lambda t: np.where(t.h > 0, 1, 0),
    "an array": lambda t: t.h + np.array([1.0, 2.0]),
    "infinity": lambda t: t.h + math.inf,
    "NaN": lambda t: t.h + math.nan,
    "a huge integer": lambda t: t.h + 10**400,
    "a huge float": lambda t: t.h * 1.1e100,
    "a range beyond 1e100": lambda t: t.f * t.f,
    "an object that is no number": lambda t: t.h + _Number(),
    "a text": lambda t: t.h + "1",
    "bytes": lambda t: t.h == b"1",
    "a complex number": lambda t: t.h + 1j,
    "Python's if": lambda t: 1 if t.h > 0.5 else 0,
    "Python's and": lambda t: (t.h > 0) and (t.f > 0),
    "a chained comparison": lambda t: 0 < t.h < 1,
    "going through records": lambda t: sum(t.h),
    "len": lambda t: len(t.h),
    "an element": lambda t: t.h[0],
    "float()": lambda t: float(t.h),
    "int()": lambda t: int(t.h),
    "a level that is not declared": lambda t: t.w == "zebra",
    "levels of two columns": lambda t: t.w == t.o,
    "order without an order": lambda t: t.w < "a",
    "arithmetic with levels": lambda t: t.w + 1,
    "a date as a number": lambda t: t.day > 5,
    "a date that is none": lambda t: t.day > "2000-02-30",
    "a year of a number": lambda t: t.h.year,
    "an hour": lambda t: t.at.hour,
    "a key": lambda t: t.id == 5,
    "an undeclared column": lambda t: t.secret > 0,
    "the table": lambda t: t,
    "a mean": lambda t: t.h.mean(),
    "a window": lambda t: t.h.lag(1),
    "a random number": lambda t: ibis.random() > 0.5,
    "a condition as a choice of levels": lambda t: (t.h > 0).ifelse(t.w, t.o),
    "isin with a column": lambda t: t.h.isin([t.f]),
    "isin with a text": lambda t: t.w.isin("a"),
    "too many operations": lambda t: _many(t.h),
    "a constant alone": lambda t: 1.0,
}


def _many(column: Any) -> Any:
    total = column
    for _ in range(10_001):  # of two operations each
        total = (total * 0.5) + 0.25
    return total


@pytest.mark.parametrize("name", list(INEXPRESSIBLE))
def test_attacks_cannot_be_written(name: str, tmp_path: Path) -> None:
    """Each is refused before any charge, in the same words whatever the records hold."""
    said = []
    for seed in (1, 2):
        ledger = Ledger.create(f"sqlite:///{tmp_path}/{seed}.db", name="attack", budget=Budget(1.0, 1e-6))
        oracle = StatisticalOracle(Records(arrow_table(N, seed), SCHEMA, name="same"), ledger=ledger)
        with pytest.raises(InvalidParameter) as refused:
            oracle.ask(StatisticalQuery(INEXPRESSIBLE[name]), epsilon=0.1)
        said.append(str(refused.value))
        assert ledger.spent.epsilon == 0
        assert not list(ledger.entries())
    assert said[0] == said[1]


@pytest.mark.parametrize("levels", [[(np.array([1, 2]),)], [("x",)], [(None,)], [(math.nan,)], [(2,)]])
def test_levels_that_make_no_sense_are_refused(levels: Any) -> None:
    """A histogram's levels are constants of the column's kind, or refused before anything is charged."""
    engine = engine_for(Records(arrow_table(N, 1), SCHEMA))
    with pytest.raises((InvalidParameter, TypeError)):
        engine.prepare(Histogram(lambda t: t.h > 0.5, levels))


def test_many_levels_make_no_joins(tmp_path: Path) -> None:
    """Membership among scattered levels stays one scan: DuckDB made joins of it, and planned them without bounds."""
    table = arrow_table(N, 8)
    pq.write_table(table, tmp_path / "hostile.parquet")
    files = Records(tmp_path / "hostile.parquet", SCHEMA)
    engine = engine_for(files)
    some = [level for place, level in enumerate(LEVELS) if place % 3]
    printed = Printed(DuckDB(), engine.prepare(StatisticalQuery(lambda t: t.w.isin(some))).columns, {"w": "w"})
    assert " IN " not in printed.text(printed._nodes[-1])
    assert_same(Records(table, SCHEMA), files, 100, 70)


def _clamps(count: int) -> Any:
    def function(t: Any) -> Any:
        total = t.h
        for step in range(count):
            total = (total - t.r * 1e-90).clip(-step, step + 1)
        return total

    return function


def test_long_questions_are_answered_or_refused_before_any_charge(tmp_path: Path) -> None:
    """A sum of 1,000 terms and sixty clamps within each other give the same bits in DuckDB; thousands are refused."""
    table = arrow_table(N, 8)
    pq.write_table(table, tmp_path / "hostile.parquet")
    memory, files = engine_for(Records(table, SCHEMA)), engine_for(Records(tmp_path / "hostile.parquet", SCHEMA))
    long = [
        StatisticalQuery(lambda t: sum((t.r * (k / 1e3) for k in range(1_000)), start=t.h), low=-1, high=10),
        StatisticalQuery(_clamps(60), low=-1, high=10),
    ]
    prepared = [memory.prepare(query) for query in long]
    for own, theirs in zip(memory.sums(prepared), files.sums(prepared), strict=True):
        assert own.tobytes() == theirs.tobytes()
    with pytest.raises(InvalidParameter, match="steps"):
        files.prepare(StatisticalQuery(_clamps(1_000)))
