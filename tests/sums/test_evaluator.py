"""Sums of every kind of query: what a person would compute, the same bits however rows are cut, kept or shared."""

import datetime
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from support.nasty_tables import SCHEMA, nasty_table
from tacit.data import Flag, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.sums import block_sums
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.evaluator import Evaluator, Part
from tacit.sums.record_evaluator import evaluator_for

TABLE = nasty_table(400)
RECORDS = Records(TABLE, SCHEMA, key="id")
EVALUATOR = evaluator_for(RECORDS)


def _sums(evaluator: Evaluator, queries: Sequence[Query], **how: Any) -> list[Any]:
    return [sums.tolist() for sums in evaluator.sums([evaluator.prepare(query) for query in queries], **how)]


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
def test_sums_do_not_depend_on_how_rows_are_cut_ordered_or_kept(flipped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit before the noise, with missing, infinite, denormal and huge cells: in memory as in a file."""
    expected = dict(zip(KINDS, _sums(EVALUATOR, list(KINDS.values()), flipped=flipped), strict=True))
    order = np.random.default_rng(0).permutation(400)
    for table, memory in ((TABLE, 1), (TABLE.take(order), None)):
        other = evaluator_for(Records(table, SCHEMA, key="id", memory=memory))
        for rows in (7, 65_536):
            monkeypatch.setattr(block_sums, "rows_at_once", lambda _, rows=rows: rows)
            monkeypatch.setattr("tacit.sums.evaluator.rows_at_once", lambda _, rows=rows: 3 * rows)
            assert dict(zip(KINDS, _sums(other, list(KINDS.values()), flipped=flipped), strict=True)) == expected


@pytest.mark.parametrize("ends", [(0, 1), (-1, 3), (0.2, 0.7), (-1e20, 1e-30)])
@pytest.mark.parametrize("unit", [None, "id"])
def test_conditions_and_codes_contribute_what_the_same_numbers_do(ends: tuple[float, float], unit: str | None) -> None:
    """They are counted without making numbers of them, where each record is by itself; the sums are the same bits."""
    evaluator = evaluator_for(Records(TABLE, SCHEMA, unit=unit))
    pairs: list[tuple[Query, Query]] = [
        (StatisticalQuery(each, *ends), StatisticalQuery(lambda t, each=each: each(t) * 1, *ends))
        for each in (lambda t: t.g > 0, lambda t: t.b, lambda t: t.w == "a", lambda t: t.w.isin([]), lambda t: t.o.code)
    ]
    levels = ["a", "é", "%"]
    codes = [SCHEMA.columns["w"].classes.index(level) for level in levels]  # type: ignore[attr-defined]
    pairs += [
        (Histogram(lambda t: t.w, levels), Histogram(lambda t: t.w.code + 0, codes)),
        (
            Histogram(lambda t: [t.b, t.w], [(True, "a"), (False, "%")]),
            Histogram(lambda t: [t.b.code + 0, t.w.code + 0], [(1, codes[0]), (0, codes[2])]),
        ),
    ]
    for one, other in pairs:
        assert _sums(evaluator, [one]) == _sums(evaluator, [other])


def test_cells_are_what_their_declarations_make_of_them() -> None:
    """The suite compares with what a person would compute, cell by cell."""
    words = [None if cell is None else cell.strip(" \t") for cell in TABLE["w"].to_pylist()]
    assert _sums(EVALUATOR, [KINDS["histogram of levels"]]) == [
        [words.count(level) for level in ("a", "é", "日本", "it's", '"', "%", "\\", "🙂")]
    ]
    assert _sums(EVALUATOR, [KINDS["histogram"]]) == [
        [*(TABLE["k"].to_pylist().count(level) for level in (0, 1, 2, 127, -128)), TABLE["k"].null_count]
    ]
    assert _sums(EVALUATOR, [KINDS["flag"], KINDS["not a flag"]]) == [
        [TABLE["b"].to_pylist().count(True)],
        [len(TABLE) - TABLE["b"].to_pylist().count(True)],
    ]
    cells = [0.25 if cell is None or np.isnan(cell) else min(max(cell, 0.0), 1.0) for cell in TABLE["f"].to_pylist()]
    np.testing.assert_allclose(_sums(EVALUATOR, [KINDS["cell"]]), [[sum(cells)]], rtol=1e-9)
    months = [2 if cell is None else min(max(cell.year, 1900), 2100) and cell.month for cell in _inside("at")]
    assert _sums(EVALUATOR, [KINDS["month"]]) == [[months.count(month) for month in range(1, 13)]]


def _inside(name: str) -> list[Any]:
    """Return the moments of a column, at the declared ends where they lie beyond."""
    low, high = datetime.datetime(1900, 1, 1, 6, 30), datetime.datetime(2100, 1, 1)
    return [None if cell is None else min(max(cell, low), high) for cell in TABLE[name].to_pylist()]


def test_parts_are_disjoint_cover_everything_and_have_public_sizes() -> None:
    """The parts' sums add up to the whole, their sizes to n, and no part is much larger than another."""
    query = [KINDS["cell"], KINDS["histogram"]]
    parts = [Part(number, 3) for number in range(3)]
    sizes = [EVALUATOR.part_size(part) for part in parts]
    assert sum(sizes) == EVALUATOR.n == 400
    assert 100 <= min(sizes) <= max(sizes) <= 170
    split = [_sums(EVALUATOR, query, part=part) for part in parts]
    for number, whole in enumerate(_sums(EVALUATOR, query)):
        np.testing.assert_allclose(np.sum([sums[number] for sums in split], axis=0), whole, rtol=1e-12)


def test_keys_cannot_be_asked_about() -> None:
    """A key is declared, fixes parts, and is no column of any question."""
    assert EVALUATOR.names == tuple(name for name in TABLE.column_names if name != "id")
    with pytest.raises(InvalidParameter, match="no declared column 'id'"):
        EVALUATOR.prepare(StatisticalQuery(lambda t: t.id))


@pytest.mark.parametrize("kind", ["array", "csr_array", "csc_matrix"])
def test_a_matrix_gives_what_the_same_columns_give(kind: str) -> None:
    """Dense or sparse: learners have their records so."""
    from scipy import sparse

    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.4), rng.choice([0, 1], 300)
    rows = X if kind == "array" else getattr(sparse, kind)(X)
    matrix = evaluator_of_arrays(rows, y, low=-2, high=2, labels=(0, 1))
    columns = {f"x{place}": Number(-2, 2) for place in range(4)}
    table = {f"x{place}": X[:, place] for place in range(4)} | {"y": y}
    plain = evaluator_for(Records(table, Schema({**columns, "y": Flag()}, target="y")), labels=(0, 1))
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


@pytest.mark.parametrize("memory", [None, 1])
def test_threads_ask_the_same_records_at_the_same_time(memory: int | None) -> None:
    """All get the sums that each gets alone, in memory and in a private file."""
    evaluator = evaluator_for(Records(TABLE, SCHEMA, key="id", memory=memory))
    queries = list(KINDS.values())[:4]
    alone = [_sums(evaluator, [query]) for query in queries]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda number: _sums(evaluator, [queries[number % 4]]), range(16))
        assert list(found) == [alone[number % 4] for number in range(16)]
