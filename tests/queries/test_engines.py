"""One suite for all engines: numpy, DuckDB on Parquet, PostgreSQL and Spark add up exactly the same."""

import datetime
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nasty_tables import (
    NUMBERS,
    as_arrays,
    ibis_postgresql,
    random_condition,
    random_number,
    records,
    write_files,
    write_postgresql,
)

from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.queries.engine import Engine, Part
from tacit.queries.sources import engine_for
from tacit.queries.tables import TableEngine

TABLE = records(400)
ARRAYS = as_arrays(TABLE)
OPTIONS = {"label": "y", "key": "id"}


def _engine(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    if kind == "one file":
        pq.write_table(TABLE, folder / "records.parquet")
        yield engine_for(folder / "records.parquet", **OPTIONS)
    elif kind == "folder":
        yield engine_for(write_files(TABLE, folder / "records"), **OPTIONS)
    elif kind == "frame":
        yield engine_for(TABLE, **OPTIONS)
    elif kind == "postgresql":
        server = request.getfixturevalue("postgresql")
        address = server.address(server.new_database())
        write_postgresql(TABLE, address)
        with ibis_postgresql(address) as table:
            yield engine_for(table, **OPTIONS)
    else:
        session = request.getfixturevalue("spark")
        path = write_files(TABLE, folder / "records")
        yield engine_for(session.read.option("recursiveFileLookup", "true").parquet(str(path)), **OPTIONS)


@pytest.fixture(scope="module", params=["one file", "folder", "frame", "postgresql", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Give the same records in one of the engines."""
    yield from _engine(request.param, tmp_path_factory.mktemp("engine"), request)


def _sums(engine: Engine, queries: list[Query], **how: Any) -> list[Any]:
    return [sums.tolist() for sums in engine.sums([engine.prepare(query) for query in queries], **how)]


FLOATS = ("f", "g", "s", "d")
KINDS: dict[str, Query] = {
    "condition": StatisticalQuery(lambda t: (t.g > 0) & (t.y == 1)),
    "condition with another range": StatisticalQuery(lambda t: t.f > 1, low=-1, high=3, missing=2.5),
    "truth value": StatisticalQuery(lambda t: t.b),
    "truth value compared with a number": StatisticalQuery(lambda t: t.b == 1),
    "clipped cell": StatisticalQuery(lambda t: t.f),
    "clipped small integer": StatisticalQuery(lambda t: t.k, low=-3, high=100),
    "clipped large integer": StatisticalQuery(lambda t: t.i, low=-1e20, high=1e18),
    "clipped decimal": StatisticalQuery(lambda t: t.d, low=0, high=7.3),
    "missing in the middle": StatisticalQuery(lambda t: t.f, low=-2, high=2, missing=0.3),
    "missing at the top": StatisticalQuery(lambda t: t.g, low=-2, high=2, missing=2),
    "arithmetic": StatisticalQuery(lambda t: t.f * t.g / t.s + t.j, low=-1, high=1),
    "tiny range": StatisticalQuery(lambda t: t.f, low=0.0, high=1e-60),
    "huge range": StatisticalQuery(lambda t: t.f, low=-1e100, high=1e100),
    "awkward range": StatisticalQuery(lambda t: t.g, low=0.1, high=0.7),
    "remainder": StatisticalQuery(lambda t: t.i % 7 == 1),
    "minus zero in a long list": StatisticalQuery(lambda t: (t.g * 0).isin(list(range(-12, 13)))),
    "one by minus zero": StatisticalQuery(lambda t: 1 / (t.g * 0), missing=0.5),
    "histogram of minus zero": Histogram(lambda t: t.g * 0, [0, 1]),
    "all missing": StatisticalQuery(lambda t: 1 / (t.y - t.y), high=2),
    "histogram": Histogram(lambda t: t.k, [0, 1, 2, 127, -128]),
    "histogram of truth values": Histogram(lambda t: [t.b, t.y], [(True, 1), (False, 1), (True, -1)]),
    "histogram of floats": Histogram(lambda t: [t.f, t.j], [(0.5, 0), (1 / 3, 1), (0, 7), (1e30, 2)]),
    "histogram of expressions": Histogram(lambda t: (t.g > 0).ifelse(t.k, 9), [9, 1, 0.5]),
    "row sums in a box": RowSums(FLOATS, low=-1, high=2.5),
    "row sums of integers": RowSums(("i", "j", "k", "b"), low=0, high=3),
    "row sums in a ball": RowSums(FLOATS, norm=1.5),
    "row sums in a ball, by level": RowSums(("g", "s", "k"), lambda t: [t.y, t.b], [(1, True), (-1, False)], norm=0.1),
    "row sums in a box, by level": RowSums(FLOATS, lambda t: t.y, (-1, 1)),
    "second moments": SecondMoments((*FLOATS, "k", "b"), norm=3.0),
}


@pytest.mark.parametrize("flipped", [False, True])
def test_every_kind_of_query_has_the_same_sums_in_every_engine(engine: Engine, flipped: bool) -> None:
    """Before the noise, and to the last bit: also with NULL, NaN, infinite, denormal and huge cells, labels flipped."""
    expected = dict(zip(KINDS, _sums(ARRAYS, list(KINDS.values()), flipped=flipped), strict=True))
    assert dict(zip(KINDS, _sums(engine, list(KINDS.values()), flipped=flipped), strict=True)) == expected


def _random_queries(engine: Engine, seed: int, *, exact: bool) -> list[Query]:
    """Return random queries that the engine accepts; fewer for Spark, which compiles each."""
    coins = random.Random(seed)
    found: list[Query] = []
    while len(found) < (24 if _is_spark(engine) else 80):
        function = coins.choice([random_number, random_condition])(coins, coins.choice([2, 3, 4]), exact=exact)
        low, high = coins.choice([0, -1, -3.3]), coins.choice([1, 2.7, 1e6, 1e31])
        query = StatisticalQuery(function, low=low, high=high, missing=coins.choice([None, 0.5]))
        ARRAYS.prepare(query)
        try:
            engine.prepare(query)
        except InvalidParameter:
            continue
        found.append(query)
    return found


def _is_spark(engine: Engine) -> bool:
    assert isinstance(engine, TableEngine)
    return str(engine._table.get_backend().name) == "pyspark"


@pytest.mark.parametrize("engine", ["folder", "postgresql", "spark"], indirect=True, scope="module")
def test_random_expressions_have_the_same_sums_in_every_engine(engine: Engine) -> None:
    """Whatever is accepted cannot fail, whatever the cells hold, and means the same everywhere."""
    queries = _random_queries(engine, 20261, exact=True)
    for query, expected, found in zip(queries, _sums(ARRAYS, queries), _sums(engine, queries), strict=True):
        assert found == expected, ARRAYS.prepare(query).text


@pytest.mark.parametrize("engine", ["folder", "postgresql", "spark"], indirect=True, scope="module")
def test_exponentials_and_logarithms_differ_in_their_last_bits_only(engine: Engine) -> None:
    """Libraries round them differently; nothing fails, and sums agree unless a comparison was at a tie."""
    queries = _random_queries(engine, 7, exact=False)
    for expected, found in zip(_sums(ARRAYS, queries), _sums(engine, queries), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_parts_are_disjoint_cover_everything_and_have_public_sizes(engine: Engine) -> None:
    """The parts' sums add up to the whole, their sizes to n, and no part is much larger than another."""
    query = [KINDS["clipped cell"], KINDS["histogram"]]
    parts = [Part(number, 5) for number in range(5)]
    for each in (engine, ARRAYS):
        sizes = [each.part_size(part) for part in parts]
        assert sum(sizes) == each.n == 400
        assert 50 <= min(sizes) <= max(sizes) <= 110
        split = [_sums(each, query, part=part) for part in parts]
        for number, whole in enumerate(_sums(each, query)):
            np.testing.assert_allclose(np.sum([sums[number] for sums in split], axis=0), whole, rtol=1e-12)


def test_a_part_holds_the_records_of_its_keys(engine: Engine) -> None:
    """A record's part depends on its key alone: 48271 times the key, modulo 2^31 - 1 and the number of parts."""
    keys = np.array(TABLE["id"]).astype(object)
    for number in range(3):
        inside = [key % (2**31 - 1) * 48271 % (2**31 - 1) % 3 == number for key in keys]
        assert engine.part_size(Part(number, 3)) == sum(inside)
        (counted,) = _sums(engine, [StatisticalQuery(lambda t: t.y == 1)], part=Part(number, 3))
        assert counted == [np.sum((np.array(TABLE["y"]) == 1) & inside)]


@pytest.mark.parametrize("engine", ["folder", "postgresql", "spark"], indirect=True, scope="module")
def test_more_sums_than_fit_into_one_scan(engine: Engine) -> None:
    """Batches are cut, also inside a query; every sum is still at its place."""
    count = 120 if _is_spark(engine) else 530
    queries: list[Query] = [
        Histogram(lambda t: t.k, list(range(count))),
        *[StatisticalQuery(lambda t, k=k: t.g > k / 10) for k in range(3)],
    ]
    assert _sums(engine, queries) == _sums(ARRAYS, queries)


def test_texts_are_compared_as_they_are(engine: Engine) -> None:
    """Empty ones, quotes, percent signs and other scripts included; a missing text is at no level."""
    words = TABLE["w"].to_pylist()
    levels = ["", "a", "A", " a", "é", "日本", "it's", '"', "%", "\\"]
    queries: list[Query] = [
        Histogram(lambda t: t.w, levels),
        StatisticalQuery(lambda t: t.w.isin(["a", "日本"])),
        StatisticalQuery(lambda t: t.w.startswith("it")),
        StatisticalQuery(lambda t: t.w.endswith("a")),
        StatisticalQuery(lambda t: t.w.contains("%")),
        StatisticalQuery(lambda t: t.w.upper() == "A"),
        StatisticalQuery(lambda t: t.w.isnull()),
        StatisticalQuery(lambda t: t.w.fill_null("none") == "none"),
    ]
    expected = [
        [words.count(level) for level in levels],
        [sum(word in ("a", "日本") for word in words)],
        [words.count("it's")],
        [sum(word in ("a", " a") for word in words)],
        [words.count("%")],
        [sum(word in ("a", "A") for word in words)],
        [words.count(None)],
        [words.count(None)],
    ]
    assert _sums(engine, queries) == expected


def test_a_scan_that_finds_other_records_than_were_counted_gives_nothing(tmp_path: Path) -> None:
    """n is public and charged for: a table that grew meanwhile is an error, not an answer."""
    connection = ibis.duckdb.connect()
    table = connection.create_table("records", TABLE.select(["g", "y"]))
    engine = engine_for(table)
    prepared = engine.prepare(KINDS["condition"])
    connection.insert("records", TABLE.select(["g", "y"]).slice(0, 1))
    with pytest.raises(InvalidParameter, match="no longer has the 400 rows"):
        engine.sums([prepared])


def test_nan_in_a_parquet_file_is_seen_in_a_connection_of_the_user_s(tmp_path: Path) -> None:
    """The file's statistics leave NaN out, and DuckDB believes them: isnan(x) is false without a look."""
    values = np.array([1.0, np.nan, 5.0, np.nan])
    pq.write_table(pa.table({"x": values}), tmp_path / "nan.parquet")
    engine = engine_for(ibis.duckdb.connect().read_parquet(tmp_path / "nan.parquet"))
    assert _sums(engine, [StatisticalQuery(lambda t: t.x.isnull())]) == [[2]]
    assert _sums(engine, [StatisticalQuery(lambda t: t.x, high=10)]) == [[0.6]]
    assert _sums(engine, [StatisticalQuery(lambda t: t.x > 2)]) == [[1]]


def test_numeric_of_any_size_does_not_fail_in_postgresql(postgresql: Any) -> None:
    """NaN is missing, and what no float can hold counts as the nearest that queries compute with."""
    address = postgresql.address(postgresql.new_database())
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE records (x numeric, y int)")
        for cell in ("NaN", "1e1000", "-1e1000", "1e-400", "Infinity", "-Infinity", "0.5", None):
            connection.execute("INSERT INTO records VALUES (%s::numeric, 1)", (cell,))
    queries: list[Query] = [
        StatisticalQuery(lambda t: t.x),
        StatisticalQuery(lambda t: t.x.isnull()),
        StatisticalQuery(lambda t: t.x == 0),
        StatisticalQuery(lambda t: t.x >= 1e30),
    ]
    with ibis_postgresql(address) as table:
        assert _sums(engine_for(table), queries) == [[2.5], [2], [1], [2]]


def test_types_of_duckdb_that_others_lack_do_not_fail() -> None:
    """Unsigned and 128-bit integers, enumerations, dates and timestamps, at their extremes."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "CREATE TABLE records AS SELECT * FROM (VALUES "
        "(18446744073709551615::UBIGINT, 170141183460469231731687303715884105727::HUGEINT, 'red'::ENUM('red','green'), "
        "DATE '2020-05-01', TIMESTAMP_NS '2020-05-01 10:00:00', 255::UTINYINT), "
        "(0, -170141183460469231731687303715884105727, NULL, DATE '0001-01-01', TIMESTAMP_NS '1999-01-01', 0)) "
        "v(u, h, e, d, ts, s)"
    )
    engine = engine_for(connection.table("records"), key="u")
    day = datetime.date(2020, 1, 1)
    queries: list[Query] = [
        StatisticalQuery(lambda t: t.u > 1e18),
        StatisticalQuery(lambda t: t.h > 0),
        StatisticalQuery(lambda t: t.u + t.h + t.s, low=-1e30, high=1e30),
        StatisticalQuery(lambda t: t.e == "blue"),
        StatisticalQuery(lambda t: t.e == "red"),
        StatisticalQuery(lambda t: t.d > day),
        StatisticalQuery(lambda t: t.ts > datetime.datetime(2020, 1, 1)),
        StatisticalQuery(lambda t: t.s - 256 < 0),
        Histogram(lambda t: t.e, ["blue", "red"]),
        Histogram(lambda t: t.d, [day, datetime.date(2020, 5, 1)]),
    ]
    sums = _sums(engine, queries)
    assert [each[0] for each in sums[:2] + sums[3:8]] == [1, 1, 0, 1, 1, 1, 2]
    assert sums[8:] == [[0, 1], [0, 1]]
    assert sum(engine.part_size(Part(number, 2)) for number in range(2)) == 2


def test_spark_s_settings_stay_as_they_were(spark: Any) -> None:
    """Ibis changes two when it connects; they are put back, and nothing needs them changed."""
    names = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy", "spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    before = [spark.conf.get(name, None) for name in names]
    engine = engine_for(spark.createDataFrame([(1, 0.5), (2, 1.5)], "i int, x double"))
    other = engine_for(spark.createDataFrame([(1, 0.5)], "i int, x double"))
    assert (engine.n, other.n) == (2, 1)
    assert _sums(engine, [StatisticalQuery(lambda t: t.x / (t.i - 1))]) == [[1.0]]
    assert [spark.conf.get(name, None) for name in names] == before
    spark.conf.unset("spark.sql.session.timeZone")


def test_the_columns_that_arrays_cannot_hold_aside_all_engines_hold_the_same(engine: Engine) -> None:
    """The suite compares what it says it compares."""
    assert set(NUMBERS) | {"y"} == set(ARRAYS.names)
    assert engine.names == tuple(TABLE.column_names)
    assert engine.n == ARRAYS.n
