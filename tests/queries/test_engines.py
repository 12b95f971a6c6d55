"""One suite for all engines: numpy, DuckDB on Parquet, PostgreSQL and Spark add up exactly the same."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.nasty_tables import (
    SCHEMA,
    as_records,
    file_records,
    nasty_table,
    postgresql_records,
    spark_records,
    write_postgresql,
)
from support.statistical import sample_size
from tacit.data import Flag, Key, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.sums.engines import sql
from tacit.sums.engines.engine import Engine, Part
from tacit.sums.engines.matrix import engine_of_arrays
from tacit.sums.engines.opening import engine_for

TABLE = nasty_table(400)
NUMPY = engine_for(as_records(TABLE, SCHEMA, "id"))
PLACES = ("memory", "file", "folder", "duckdb through Ibis", "postgresql", "postgresql through Ibis", "spark")


@contextlib.contextmanager
def ibis_postgresql(address: str, name: str) -> Iterator[Any]:
    """Open a table of a database through Ibis for a while."""
    database, _, folder = address.removeprefix("postgresql://postgres@/").partition("?host=")
    connection = ibis.postgres.connect(host=folder, user="postgres", database=database)
    try:
        yield connection.table(name)
    finally:
        connection.disconnect()


def _records(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Records]:
    if kind == "memory":
        yield as_records(TABLE, SCHEMA, "id")
    elif kind == "file":
        yield file_records(TABLE, folder / "records.parquet", SCHEMA, "id")
    elif kind == "folder":
        yield file_records(TABLE, folder / "records", SCHEMA, "id")
    elif kind == "duckdb through Ibis":
        yield Records(ibis.duckdb.connect().create_table("records", TABLE), SCHEMA, key="id")
    elif kind == "spark":
        yield spark_records(request.getfixturevalue("spark"), TABLE, SCHEMA, "id")
    else:
        server = request.getfixturevalue("postgresql")
        address = server.address(server.new_database())
        if kind == "postgresql":
            yield postgresql_records(TABLE, address, SCHEMA, "id")
            return
        with ibis_postgresql(address, write_postgresql(TABLE, address)) as table:
            yield Records(table, SCHEMA, key="id")


@pytest.fixture(scope="module", params=PLACES)
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    """Give the same records, in one of the places where records may be."""
    yield from _records(request.param, tmp_path_factory.mktemp("engine"), request)


@pytest.fixture
def engine(records: Records) -> Engine:
    """Give the engine for these records."""
    return engine_for(records)


def _sums(engine: Engine, queries: list[Query], **how: Any) -> list[Any]:
    return [sums.tolist() for sums in engine.sums([engine.prepare(query) for query in queries], **how)]


FLOATS = ("f", "g", "s", "d")
KINDS: dict[str, Query] = {
    "condition": StatisticalQuery(lambda t: (t.g > 0) & (t.y == 1)),
    "condition with another range": StatisticalQuery(lambda t: t.f > 1, low=-1, high=3),
    "flag": StatisticalQuery(lambda t: t.b),
    "not a flag": StatisticalQuery(lambda t: ~t.b),
    "flag that is false": StatisticalQuery(lambda t: t.b == False),  # noqa: E712
    "cell": StatisticalQuery(lambda t: t.f),
    "small integer": StatisticalQuery(lambda t: t.k, low=-3, high=100),
    "large integer": StatisticalQuery(lambda t: t.i, low=-1e20, high=1e18),
    "decimal": StatisticalQuery(lambda t: t.d, low=0, high=7.3),
    "day": StatisticalQuery(lambda t: t.day, low=-800_000, high=3_000_000),
    "moment": StatisticalQuery(lambda t: t.at, low=-1e5, high=1e5),
    "moment after a date": StatisticalQuery(lambda t: t.at > "2000-02-29"),
    "year": StatisticalQuery(lambda t: t.day.year, low=0, high=10_000),
    "month": Histogram(lambda t: t.at.month, range(1, 13)),
    "weekday": Histogram(lambda t: t.day.weekday, range(7)),
    "difference of moments": StatisticalQuery(lambda t: abs(t.at - t.day), high=1e6),
    "arithmetic": StatisticalQuery(lambda t: t.f * t.g / 3 + t.j - 2 * t.k, low=-1, high=1),
    "cube": StatisticalQuery(lambda t: t.g**3 - t.g**2 * t.k / 7, low=-10, high=10),
    "tiny products": StatisticalQuery(lambda t: t.f * 1e-30 * t.g * 1e-30 * t.f * 1e-40, low=-1e-90, high=1e-90),
    "tiny range": StatisticalQuery(lambda t: t.f, low=0.0, high=1e-60),
    "huge range": StatisticalQuery(lambda t: t.f * 1e70, low=-1e100, high=1e100),
    "awkward range": StatisticalQuery(lambda t: t.g, low=0.1, high=0.7),
    "minus zero in a long list": StatisticalQuery(lambda t: (t.g * 0).isin(list(range(-12, 13)))),
    "minus zero": StatisticalQuery(lambda t: -(t.g * 0) < 0),
    "clipped": StatisticalQuery(lambda t: t.f.clip(-0.5, 2.5) + t.g.clip(upper=0.3), low=-4, high=3),
    "choice": StatisticalQuery(lambda t: (t.g > 0).ifelse(t.k, t.j.clip(0, 5)), low=-128, high=127),
    "choice of conditions": StatisticalQuery(lambda t: t.b.ifelse(t.g > 0, t.f <= 0.5)),
    "neither or both": StatisticalQuery(lambda t: (t.b ^ (t.g > 0)) | ((t.k == 2) == (t.j == 2))),
    "level": StatisticalQuery(lambda t: t.w == "a"),
    "not a level": StatisticalQuery(lambda t: t.w != "日本"),
    "some levels": StatisticalQuery(lambda t: t.w.isin(["é", "it's", '"', "%", "\\", "🙂"])),
    "no level": StatisticalQuery(lambda t: t.w.code < 0),
    "ordered": StatisticalQuery(lambda t: (t.o >= "middle") | (t.o < "middle")),
    "histogram": Histogram(lambda t: t.k, [0, 1, 2, 127, -128, 9]),
    "histogram of levels": Histogram(lambda t: t.w, ["a", "é", "日本", "it's", '"', "%", "\\", "🙂"]),
    "histogram of flags": Histogram(lambda t: [t.b, t.y], [(True, 1), (False, 1), (True, -1)]),
    "histogram of floats": Histogram(lambda t: [t.f, t.j], [(0.5, 0), (1 / 3, 1), (0, 7), (1e30, 2)]),
    "histogram of expressions": Histogram(lambda t: (t.g > 0).ifelse(t.k, 9), [9, 1, 0.5]),
    "histogram of conditions": Histogram(lambda t: [t.g > 0, t.w == "a"], [(True, True), (False, False)]),
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
    expected = dict(zip(KINDS, _sums(NUMPY, list(KINDS.values()), flipped=flipped), strict=True))
    assert dict(zip(KINDS, _sums(engine, list(KINDS.values()), flipped=flipped), strict=True)) == expected


def test_cells_are_what_their_declarations_make_of_them() -> None:
    """The suite compares with what a person would compute, not only engines with each other."""
    words = [None if cell is None else cell.strip(" \t") for cell in TABLE["w"].to_pylist()]
    assert _sums(NUMPY, [KINDS["histogram of levels"]]) == [
        [words.count(level) for level in ("a", "é", "日本", "it's", '"', "%", "\\", "🙂")]
    ]
    assert _sums(NUMPY, [KINDS["histogram"]]) == [
        [*(TABLE["k"].to_pylist().count(level) for level in (0, 1, 2, 127, -128)), TABLE["k"].null_count]
    ]
    assert _sums(NUMPY, [KINDS["flag"], KINDS["not a flag"]]) == [
        [TABLE["b"].to_pylist().count(True)],
        [len(TABLE) - TABLE["b"].to_pylist().count(True)],
    ]
    cells = [0.25 if cell is None or np.isnan(cell) else min(max(cell, 0.0), 1.0) for cell in TABLE["f"].to_pylist()]
    np.testing.assert_allclose(_sums(NUMPY, [KINDS["cell"]]), [[sum(cells)]], rtol=1e-9)
    months = [2 if cell is None else min(max(cell.year, 1900), 2100) and cell.month for cell in _inside("at")]
    assert _sums(NUMPY, [KINDS["month"]]) == [[months.count(month) for month in range(1, 13)]]


def _inside(name: str) -> list[Any]:
    """Return the moments of a column, at the declared ends where they lie beyond."""
    import datetime

    low, high = datetime.datetime(1900, 1, 1, 6, 30), datetime.datetime(2100, 1, 1)
    return [None if cell is None else min(max(cell, low), high) for cell in TABLE[name].to_pylist()]


def test_parts_are_disjoint_cover_everything_and_have_public_sizes(engine: Engine) -> None:
    """The parts' sums add up to the whole, their sizes to n, and no part is much larger than another."""
    query = [KINDS["cell"], KINDS["histogram"]]
    parts = [Part(number, 3) for number in range(3)]
    sizes = [engine.part_size(part) for part in parts]
    assert sum(sizes) == engine.n == 400
    assert 100 <= min(sizes) <= max(sizes) <= 170
    split = [_sums(engine, query, part=part) for part in parts]
    for number, whole in enumerate(_sums(engine, query)):
        np.testing.assert_allclose(np.sum([sums[number] for sums in split], axis=0), whole, rtol=1e-12)


def test_a_table_is_cut_by_its_key_wherever_it_is(records: Records) -> None:
    """A record's part depends on its key alone, the same in every engine; each part has sums of its own."""
    (train, test), (own, other) = records.split(by="key"), as_records(TABLE, SCHEMA, "id").split(by="key")
    assert (train.n, test.n) == (own.n, other.n)
    assert train.n + test.n == 400
    for part, same in ((train, own), (test, other)):
        assert _sums(engine_for(part), list(KINDS.values())[:12]) == _sums(engine_for(same), list(KINDS.values())[:12])


def test_blocks_hold_the_same_bits_everywhere(records: Records) -> None:
    """What estimators read is what queries are asked about: the same cells, though perhaps in another order."""

    def rows(some: Records) -> list[tuple[Any, ...]]:
        blocks = [list(zip(*(block[name].tolist() for name in some.columns), strict=True)) for block in some.blocks()]
        return sorted(row for block in blocks for row in block)

    assert rows(records) == rows(as_records(TABLE, SCHEMA, "id"))


def test_more_sums_than_fit_into_one_scan(
    engine: Engine, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are cut, also inside a query; every sum is still at its place.

    Spark, which compiles every scan, is cut at 500 sums as the others are in `make stats`, and at 50 otherwise.
    """
    count = 520
    if request.node.callspec.params["records"] == "spark" and sample_size(1) == 1:
        monkeypatch.setattr(sql, "_SUMS_AT_ONCE", 50)
        count = 70
    queries: list[Query] = [
        Histogram(lambda t: t.k, list(range(count))),
        *[StatisticalQuery(lambda t, k=k: t.g > k / 10) for k in range(3)],
    ]
    assert _sums(engine, queries) == _sums(NUMPY, queries)


def test_a_scan_that_finds_other_records_than_were_counted_gives_nothing() -> None:
    """n is public and charged for: a table that grew meanwhile is an error, not an answer."""
    connection = ibis.duckdb.connect()
    schema = Schema({"g": Number(-4, 4), "y": Number(-1, 1)})
    table = connection.create_table("records", TABLE.select(["g", "y"]))
    engine = engine_for(Records(table, schema))
    prepared = engine.prepare(StatisticalQuery(lambda t: t.g > 0))
    connection.insert("records", TABLE.select(["g", "y"]).slice(0, 1))
    with pytest.raises(InvalidParameter, match="no longer has the 400 records"):
        engine.sums([prepared])


@pytest.mark.parametrize("through", ["file", "connection"])
def test_nan_in_a_parquet_file_is_seen(through: str, tmp_path: Path) -> None:
    """The file's statistics leave NaN out, and DuckDB believes them: isnan(x) is false without a look."""
    pq.write_table(pa.table({"x": np.array([1.0, np.nan, 5.0, np.nan])}), tmp_path / "nan.parquet")
    source: Any = tmp_path / "nan.parquet"
    if through == "connection":
        source = ibis.duckdb.connect().read_parquet(source)
    engine = engine_for(Records(source, Schema({"x": Number(0, 10, missing=3)})))
    assert _sums(engine, [StatisticalQuery(lambda t: t.x == 3)]) == [[2]]
    assert _sums(engine, [StatisticalQuery(lambda t: t.x, high=10)]) == [[1.2]]
    assert _sums(engine, [StatisticalQuery(lambda t: t.x > 2)]) == [[3]]


def test_numeric_of_any_size_does_not_fail_in_postgresql(postgresql: Any) -> None:
    """NaN is missing, and what no float can hold counts as the nearest that the declaration allows."""
    address = postgresql.address(postgresql.new_database())
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE records (x numeric, y int)")
        for cell in ("NaN", "1e1000", "-1e1000", "1e-400", "Infinity", "-Infinity", "0.5", None):
            connection.execute("INSERT INTO records VALUES (%s::numeric, 1)", (cell,))
    queries: list[Query] = [
        StatisticalQuery(lambda t: t.x),
        StatisticalQuery(lambda t: t.x == 0.25),
        StatisticalQuery(lambda t: t.x == 0),
        StatisticalQuery(lambda t: t.x >= 1e30),
    ]
    found = Records((address, "records"), Schema({"x": Number(-1e30, 1e30, missing=0.25), "y": Number(0, 1)}))
    assert _sums(engine_for(found), queries) == [[3.0], [2], [1], [2]]


def test_types_of_duckdb_that_others_lack_do_not_fail() -> None:
    """Unsigned integers and timestamps of other precisions, at their extremes; enumerations are not read."""
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "CREATE TABLE records AS SELECT * FROM (VALUES "
        "(18446744073709551615::UBIGINT, 'red'::ENUM('red','green'), DATE '2020-05-01', "
        "TIMESTAMP_NS '2020-05-01 10:00:00', 255::UTINYINT), "
        "(0, NULL, DATE '0001-01-01', TIMESTAMP_NS '1999-01-01', 0)) v(u, e, d, ts, s)"
    )
    from tacit.data import Category, Moment

    columns = {"u": Key(), "d": Moment("1900-01-01", "2100-01-01"), "ts": Moment("1900-01-01", "2100-01-01")}
    schema = Schema({**columns, "s": Number(0, 255)})
    engine = engine_for(Records(connection.table("records"), schema, key="u"))
    queries: list[Query] = [
        StatisticalQuery(lambda t: t.d > "2020-01-01"),
        StatisticalQuery(lambda t: t.d == "1900-01-01"),
        StatisticalQuery(lambda t: t.ts == "2020-05-01T10:00:00"),
        StatisticalQuery(lambda t: t.s - 256 < 0),
    ]
    assert [each[0] for each in _sums(engine, queries)] == [1, 1, 1, 2]
    assert sum(engine.part_size(Part(number, 2)) for number in range(2)) == 2
    with pytest.raises(InvalidParameter, match="tacit does not read"):
        Records(connection.table("records"), Schema({"e": Category(["red"])}))


def test_spark_s_settings_stay_as_they_were(spark: Any) -> None:
    """Another time zone and Spark's strict mode change no answer, and no answer changes them."""
    names = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy", "spark.sql.ansi.enabled")
    schema = Schema({"i": Number(0, 2), "x": Number(0, 1)})
    for zone, strict in (("Asia/Tokyo", "true"), ("America/New_York", "false")):
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.conf.set("spark.sql.ansi.enabled", strict)
        before = [spark.conf.get(name, None) for name in names]
        found = engine_for(Records(spark.createDataFrame([(1, 0.5), (2, 1.5)], "i int, x double"), schema))
        assert _sums(found, [StatisticalQuery(lambda t: t.x * (t.i - 1))]) == [[1.0]]
        moments = engine_for(spark_records(spark, TABLE, SCHEMA, "id"))
        queries = [KINDS[kind] for kind in ("day", "moment", "year", "month", "weekday")]
        assert _sums(moments, queries) == _sums(NUMPY, queries)
        assert [spark.conf.get(name, None) for name in names] == before
    spark.conf.unset("spark.sql.session.timeZone")
    spark.conf.unset("spark.sql.ansi.enabled")


def test_all_engines_hold_the_same(records: Records, engine: Engine) -> None:
    """The suite compares what it says it compares: a key is declared, and cannot be asked about."""
    assert engine.names == NUMPY.names == tuple(name for name in TABLE.column_names if name != "id")
    assert engine.n == NUMPY.n
    with pytest.raises(InvalidParameter, match="no declared column 'id'"):
        engine.prepare(StatisticalQuery(lambda t: t.id))


@pytest.mark.parametrize("kind", ["array", "csr_array", "csc_matrix"])
def test_a_matrix_gives_what_the_same_columns_give(kind: str) -> None:
    """Dense or sparse: learners have their records so."""
    from scipy import sparse

    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.4), rng.choice([0, 1], 300)
    rows = X if kind == "array" else getattr(sparse, kind)(X)
    matrix = engine_of_arrays(rows, y, low=-2, high=2, labels=(0, 1))
    columns = {f"x{place}": Number(-2, 2) for place in range(4)}
    table = {f"x{place}": X[:, place] for place in range(4)} | {"y": y}
    plain = engine_for(Records(table, Schema({**columns, "y": Flag()}, target="y")), labels=(0, 1))
    names = tuple(columns)
    queries: list[Query] = [
        StatisticalQuery(lambda t: t.x0 * t.x1 + t.x2, low=-3, high=3),
        StatisticalQuery(lambda t: (t.x3 > 0) & (t.y == 1)),
        Histogram(lambda t: t.y, (0, 1)),
        RowSums(names, lambda t: t.y, (0, 1)),
        RowSums(names, norm=1.0),
        SecondMoments(names, norm=0.7),
    ]
    for flipped in (False, True):
        assert _sums(matrix, queries, flipped=flipped) == _sums(plain, queries, flipped=flipped)


def test_threads_ask_the_same_records_at_the_same_time(records: Records, engine: Engine) -> None:
    """Nobody is charged for a scan that fails because another thread uses the connection, and all get the same sums."""
    queries = list(KINDS.values())[:4]
    alone = [_sums(engine, [query]) for query in queries]

    def asked(number: int) -> tuple[Any, int]:
        found = _sums(engine, [queries[number % 4]])
        return found, sum(len(block["f"]) for block in records.blocks(("f",)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asked, range(4))) == [(alone[number % 4], 400) for number in range(4)]


@pytest.mark.parametrize("digits", [-15, 0, 3])
def test_a_session_that_rounds_what_it_prints_rounds_no_sum(postgresql: Any, digits: int) -> None:
    """Rounded to one digit, sums that differ by a record could differ by a tenth of all."""
    address = postgresql.address(postgresql.new_database())
    name = write_postgresql(TABLE, address)
    with ibis_postgresql(address, name) as table:
        connection = table.get_backend().con
        connection.execute(f"SET extra_float_digits = {digits}")
        connection.commit()
        rounds = address + f"&options=-c%20extra_float_digits%3D{digits}"
        for source in (table, (rounds, name)):
            records = Records(source, SCHEMA, key="id")
            queries = list(KINDS.values())
            assert _sums(engine_for(records), queries) == _sums(NUMPY, queries)
            (block,) = records.blocks(("f", "g", "id"))
            (wanted,) = as_records(TABLE, SCHEMA, "id").blocks(("f", "g", "id"))
            order, other = np.argsort(block["id"]), np.argsort(wanted["id"])
            assert all(np.array_equal(block[each][order], wanted[each][other]) for each in ("f", "g"))
