"""Fingerprints know the records of a table in every ordinary new view of it, and take no other records for them."""

import json
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.service import running
from tacit import Records, Schema
from tacit.data import Flag, Key, Moment, Number
from tacit.data.bundled import adult_schema, load_adult
from tacit.data.columns import Column, Ignored
from tacit.data.levels import Category, Ordinal
from tacit.errors import InvalidParameter
from tacit.service.fingerprints import known, marks_of

Plain = dict[str, Any]
ROWS = 4000
WARDS = list("abcdefgh")
SECRET = b"of the service"


def _visits(seed: int = 0, rows: int = ROWS) -> Plain:
    """Return visits whose columns all have few values but one."""
    draw = np.random.default_rng(seed)
    wards = {f"ward{place}": draw.choice(WARDS, rows) for place in range(4)}
    age = draw.integers(0, 101, rows)
    return {**wards, "age": age, "smoker": draw.random(rows) < 0.3, "cost": np.exp(draw.normal(8, 1, rows)).round()}


def _schema(table: Plain, levels: list[str] = WARDS) -> Schema:
    known_columns: dict[str, Column] = {"age": Number(0, 120), "smoker": Flag(), "cost": Number(0, 1e6)}
    return Schema({name: known_columns.get(name, Category(levels)) for name in table})


def _marks(table: Plain, schema: Schema | None = None, secret: bytes = SECRET) -> Plain:
    found = marks_of(Records(table, _schema(table) if schema is None else schema), [], secret)
    return json.loads(json.dumps(found))


def _without(table: Plain, *names: str) -> Plain:
    return {name: column for name, column in table.items() if name not in names}


def _rows(table: Plain, rows: Any) -> Plain:
    return {name: column[rows] for name, column in table.items()}


def _more(table: Plain, rows: int) -> Plain:
    return {name: np.concatenate([column, _visits(99, rows)[name]]) for name, column in table.items()}


VIEWS: dict[str, Callable[[Plain], Plain]] = {
    "a column fewer": lambda t: _without(t, "age"),
    "the rare column fewer": lambda t: _without(t, "cost"),
    "three columns": lambda t: _without(t, "cost", "age", "ward0", "ward1"),
    "one column": lambda t: {"age": t["age"]},
    "one rare column": lambda t: {"cost": t["cost"]},
    "a row more and a column fewer": lambda t: _without(_more(t, 1), "ward2"),
    "a row fewer and a column more": lambda t: {**_rows(t, slice(1, None)), "new": np.arange(ROWS - 1) % 5 > 0},
    "half as many more": lambda t: _more(t, ROWS // 2),
    "where a level is, without that column": lambda t: _without(_rows(t, t["ward0"] < "d"), "ward0"),
    "where a level is, of few values": lambda t: _without(_rows(t, t["ward0"] < "d"), "cost"),
    "a tenth, shuffled": lambda t: _rows(t, np.random.default_rng(1).permutation(ROWS)[: ROWS // 10]),
    "the young": lambda t: _rows(t, t["age"] < 20),
    "renamed": lambda t: {f"my {name}": column for name, column in _without(t, "age", "smoker", "cost").items()},
}


@pytest.mark.parametrize("levels", [WARDS, WARDS[::-1]], ids=["levels as before", "levels in another order"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_a_table_is_known_and_a_table_by_its_view(view: str, levels: list[str]) -> None:
    """Rows, columns and levels change together; whichever is registered first, the other is known."""
    table = _visits()
    seen = VIEWS[view](table)
    if "new" in seen:
        schema = Schema({**_schema(_without(seen, "new"), levels).columns, "new": Flag()})
    else:
        schema = _schema(seen, levels)
    one, other = _marks(table), _marks(seen, schema)
    assert known(other, {"first": one}) == ["first"]
    assert known(one, {"first": other}) == ["first"]


@pytest.mark.parametrize("view", VIEWS)
def test_the_same_view_of_another_table_is_not_known(view: str) -> None:
    """The twin: other records of the same kind, looked at in the same way."""
    seen = VIEWS[view](_visits(7))
    schema = _schema(seen) if "new" not in seen else Schema({**_schema(_without(seen, "new")).columns, "new": Flag()})
    assert known(_marks(seen, schema), {"first": _marks(_visits())}) == []


def test_a_value_is_the_same_however_it_was_declared() -> None:
    """As a number, an ordinal, a category or a flag; with bounds that cut off some."""
    draw = np.random.default_rng(3)
    table = {"grade": draw.integers(1, 6, ROWS), "age": draw.integers(0, 101, ROWS), "sick": draw.integers(0, 2, ROWS)}
    grades = ["1", "2", "3", "4", "5"]
    ways: list[dict[str, Column]] = [
        {"grade": Number(0, 10), "age": Number(0, 120), "sick": Flag()},
        {"grade": Ordinal(grades), "age": Number(18, 90), "sick": Number(0, 1)},
        {"grade": Category(grades[::-1]), "age": Number(0, 100, log=True), "sick": Category(["1", "0"])},
    ]
    for one, other in pairwise([_marks(table, Schema(way)) for way in ways]):
        assert known(one, {"first": other}) == ["first"]


@pytest.mark.parametrize("rows", [30, 300, 3000])
def test_two_samples_of_one_population_are_two_tables(rows: int) -> None:
    """Disjoint halves of Adult, whose columns are few-valued, skewed and of each other, are not taken for another."""
    table, schema = load_adult("all", missing="keep"), adult_schema()
    draw = np.random.default_rng(rows)
    for _ in range(5):
        order = draw.permutation(len(table["age"]))
        one, other = (_marks(_rows(table, order[start : start + rows]), schema) for start in (0, rows))
        assert known(one, {"first": other}) == []


def _adult(rows: int, start: int = 0) -> Plain:
    table = load_adult("all", missing="keep")
    order = np.random.default_rng(0).permutation(len(table["age"]))[start : start + rows]
    return {
        name: table[name][order] for name, column in adult_schema().columns.items() if not isinstance(column, Ignored)
    }


def _twice(table: Plain) -> Plain:
    return {
        **{name: np.repeat(column, 2) for name, column in table.items()},
        "new": np.arange(2 * len(table["age"])) % 2,
    }


ADULT_VIEWS: dict[str, Callable[[Plain], Plain]] = {
    "a tenth, a column fewer": lambda t: _rows(_without(t, "income"), slice(len(t["age"]) // 10)),
    "a fifth, four columns fewer": lambda t: _rows(
        _without(t, "race", "capital-loss", "education-num", "income"), slice(len(t["age"]) // 5)
    ),
    "half, under names that sort otherwise": lambda t: {name[::-1]: column[::2] for name, column in t.items()},
    "each row twice but a few, with a column more and one fewer": lambda t: _rows(
        _without(_twice(t), "age"), slice(5, -6)
    ),
}


@pytest.mark.parametrize("view", ADULT_VIEWS)
def test_a_view_of_adult_is_known_and_other_records_are_not(view: str) -> None:
    """Whichever is registered first; the twin is the same view of other records of the same population."""
    declared = adult_schema().columns
    one = _marks(_adult(3000), Schema({name: declared[name] for name in _adult(1)}))
    for start, found in {0: ["first"], 3000: []}.items():
        seen = ADULT_VIEWS[view](_adult(3000, start))
        columns = {
            **{name: column for each, column in declared.items() for name in (each, each[::-1])},
            "new": Number(0, 9),
        }
        other = _marks(seen, Schema({name: columns[name] for name in seen}))
        assert known(other, {"first": one}) == found
        assert known(one, {"first": other}) == found


DAYS = np.arange("2015-01-01", "2020-01-01", dtype="datetime64[D]")
COUNTED: dict[str, tuple[Any, Column]] = {
    "ids that count the rows": (np.arange(1, 501), Key()),
    "numbers of rows": (np.arange(1, 501), Number(0, 1e6)),
    "days": (DAYS, Moment("2010-01-01", "2030-01-01")),
    "working days": (DAYS[np.is_busday(DAYS)], Moment("2010-01-01", "2030-01-01")),
    "months": (np.unique(DAYS.astype("datetime64[M]")).astype("datetime64[D]"), Moment("2010-01-01", "2030-01-01")),
    "hours": (np.arange("2019-01", "2019-04", dtype="datetime64[h]"), Moment("2010-01-01", "2030-01-01")),
}


@pytest.mark.parametrize("counted", COUNTED)
def test_what_counts_in_many_tables_makes_none_of_them_the_same(counted: str) -> None:
    """Two tables with a row for each day, or with ids from 1 on, have that column in common and no record."""
    cells, column = COUNTED[counted]

    def table(seed: int) -> Plain:
        draw = np.random.default_rng(seed)
        return {"count": cells, "flag": draw.random(len(cells)) < 0.5, "size": draw.normal(0, 1, len(cells))}

    schema = Schema({"count": column, "flag": Flag(), "size": Number(-9, 9)})
    one, other = _marks(table(1), schema), _marks(table(2), schema)
    assert known(one, {"first": other}) == []
    # The twin: that column beside one of the first table's own.
    fewer = Schema(_without(dict(schema.columns), "flag"))
    assert known(_marks(_without(table(1), "flag"), fewer), {"first": one}) == ["first"]


SMALL: dict[str, tuple[float, Callable[[int], Plain]]] = {
    "yes or no": (0.5, lambda _: {}),
    "a rare yes": (0.01, lambda _: {}),
    "two of them": (0.1, lambda seed: {"old": np.random.default_rng(seed).random(50) < 0.1}),
    "beside ids": (0.01, lambda _: {"id": np.arange(50)}),
    "beside days": (0.01, lambda _: {"day": np.arange(50)}),
}


@pytest.mark.parametrize("small", SMALL)
def test_equal_counts_of_few_values_make_no_two_tables_the_same(small: str) -> None:
    """Among 435 pairs of small tables of one kind none is taken for the other, though many have the same counts."""
    share, more = SMALL[small]
    kinds: dict[str, Column] = {"ill": Flag(), "old": Flag(), "id": Key(), "day": Number(0, 1e6)}
    marks = []
    for seed in range(30):
        table = {"ill": np.random.default_rng(seed + 100).random(50) < share, **more(seed)}
        marks.append(_marks(table, Schema({name: kinds[name] for name in table})))
    assert not any(known(one, {"other": other}) for one, other in combinations(marks, 2))


def test_a_small_table_is_known_where_its_records_are_told_apart() -> None:
    """The twin: a column of two values at ids from 1 on, and one of eight values without."""
    draw = np.random.default_rng(1)
    table = {"id": np.arange(100), "smoker": draw.random(100) < 0.5, "ward": draw.choice(WARDS, 100)}
    schema = Schema({**_schema(_without(table, "id")).columns, "id": Key()})
    for left in ("id", "ward"):
        seen = (_rows(_without(table, left), rows) for rows in (slice(None), slice(None, None, -1)))
        fewer = Schema(_without(dict(schema.columns), left))
        one, other = (_marks(each, fewer) for each in seen)
        assert known(one, {"first": other}) == ["first"]


def test_marks_tell_nothing_to_who_has_not_the_secret() -> None:
    """Under another secret a table has no mark in common with itself, and that is not taken for another table."""
    one, other = _marks(_visits()), _marks(_visits(), secret=b"another")
    assert not set(one["outright"]) & set(other["outright"])
    mine, theirs = ({text for each in marks["sets"] for text in each[4:] if text} for marks in (one, other))
    assert mine
    assert not mine & theirs
    with pytest.raises(InvalidParameter, match=r"marks\.secret"):
        known(one, {"first": other})


def test_large_tables_are_marked_a_block_at_a_time() -> None:
    """Counts are exact over blocks: the same records in another order have the same marks."""
    table = _visits(rows=150_000)
    order = np.random.default_rng(2).permutation(150_000)
    one, other = (_marks(each) for each in (table, _rows(table, order)))
    assert one["outright"] == other["outright"]
    for mine, theirs in zip(one["sets"], other["sets"], strict=True):
        assert mine[5] == theirs[5]
        # Marks of one record may be left out: how much shuffled columns have in common depends on the order.
        assert mine[4] == theirs[4] or not (mine[4] and theirs[4])
    assert sum(mine[4] == theirs[4] for mine, theirs in zip(one["sets"], other["sets"], strict=True)) > 50


def test_a_folder_of_files_is_known_by_their_content(tmp_path: Path) -> None:
    """A table of few values, whose counts say nothing: the same files, under other names, have no second budget."""
    inbox = tmp_path / "inbox"
    for folder, name in (("many.parquet", "part-{}"), ("again", "{}")):
        (inbox / folder).mkdir(parents=True)
        for place in range(2):
            flags = pa.table({"ill": [place == 0, True, False] * 40})
            pq.write_table(flags, inbox / folder / f"{name.format(1 - place)}.parquet")
    body = {"schema": "[columns.ill]\nkind = 'flag'\n", "budget": {"epsilon": 1}, "signed_by": "Carol"}
    with running(tmp_path / "s", inbox=inbox) as served:
        for name, status in (("many.parquet", 201), ("again", 400)):
            told = served.post("/v1/datasets", {"name": name[:4], "source": {"file": name}, **body}, "carol")
            assert told.status_code == status, told.text
        assert "registered as 'many'" in told.text
