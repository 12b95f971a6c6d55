"""Rows made of stored cells whenever a part of them is read: those that an array of them would have."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from support.opened import view_of
from tacit.data import Number, Records, Schema
from tacit.data.store.lazy_rows import LazyRows
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import Computed, by_part

ROWS = 5000
TABLE = {"a": np.random.default_rng(0).normal(size=ROWS), "b": np.arange(ROWS) / ROWS}
SCHEMA = Schema({"a": Number(-9, 9), "b": Number(0, 1)})


@pytest.fixture(autouse=True)
def small_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the table into lots that end within what is read, and read few rows at a time."""
    monkeypatch.setattr("tacit.data.store.reading.LOT", 700)
    monkeypatch.setattr("tacit.data.store.lazy_rows.LOT", 300)


def _pairs(cells: Any) -> Floats:
    return np.column_stack([cells["a"], 2 * cells["b"]])


def _lazy(memory: int, records: Records | None = None) -> LazyRows:
    """Return rows of two numbers made of a file's cells."""
    held = Records(TABLE, SCHEMA, memory=1000) if records is None else records
    return LazyRows(view_of(held), ("a", "b"), _pairs, 2, memory)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("memory", [1, 2**30])
def test_slices_and_samples_are_those_of_the_array(memory: int, part: bool) -> None:
    """Parts, every so manyth row, samples of these and chosen rows are the array's own, of a part of a table too."""
    whole = Records(TABLE, SCHEMA, memory=1000)
    records = whole.split()[0] if part else whole
    rows, lazy = _pairs(dict(view_of(records).block(("a", "b"), 0, records.n))), _lazy(memory, records)
    count = len(rows)
    assert lazy.shape == rows.shape == (records.n, 2)
    for start, stop in ((0, count), (17, count - 1), (count - 1, count), (7, 7), (9, 3)):
        assert np.array_equal(np.asarray(lazy[start:stop]), rows[start:stop])
    for step in (2, 3, 8, 64, 512, 8**8):
        sample = lazy[::step]
        assert isinstance(sample, LazyRows) == (memory == 1)
        assert np.array_equal(sample[1:40], rows[::step][1:40])
        assert np.array_equal(np.asarray(sample[::3][:]), rows[::step][::3])
    assert np.array_equal(lazy.take(np.array([3, 0, count - 1])), rows[[3, 0, count - 1]])


def test_samples_that_fit_are_arrays_and_others_stay() -> None:
    """Every 8th row is made when it is read where memory does not hold them; every 64th of those it holds."""
    lazy = _lazy(4 * 100 * 2 * 8)
    eighth = lazy[::8]
    assert isinstance(eighth, LazyRows)
    assert isinstance(eighth[::8], np.ndarray)


def test_no_more_than_some_rows_are_read_at_a_time() -> None:
    """The rows between those of a sample are read with them, and never all."""
    longest: list[int] = []

    def watched(cells: Any) -> Floats:
        longest.append(len(cells["a"].base if cells["a"].base is not None else cells["a"]))
        return _pairs(cells)

    lazy = _lazy(1)
    watching = LazyRows(lazy.view, lazy.names, watched, 2, 1)
    for step in (1, 7, 64, 1000):
        watching[::step][:] if step > 1 else watching[:]
    assert 0 < max(longest) <= 300


def test_columns_computed_of_lazy_ones_are_computed_part_by_part() -> None:
    """A function of columns gives the same numbers, and sees no more rows at a time than are asked for."""
    seen: list[int] = []

    def weighed(part: Floats, weights: Floats) -> Floats:
        seen.append(len(part))
        return part[:, 1] + weights

    lazy, weights = _lazy(1), np.arange(ROWS) * 3.0
    expected = 2 * TABLE["b"] + weights
    column = by_part(weighed, lazy, weights)
    assert isinstance(column, Computed)
    assert column.shape == (ROWS,)
    assert np.array_equal(np.asarray(column[10:20]), expected[10:20])
    sample = column[::8]
    assert isinstance(sample, Computed)
    assert np.array_equal(np.asarray(sample[:]), expected[::8])
    assert max(seen) == ROWS / 8
    assert np.array_equal(by_part(weighed, np.asarray(lazy[:]), weights), expected)


def test_mapped_rows_are_those_of_the_mapped_array() -> None:
    """What a function makes of rows is made of them when they are read, as doubles if it makes it in fewer digits."""
    mapped = _lazy(1).mapped(lambda rows: rows.sum(axis=1), None)
    assert mapped.shape == (ROWS,)
    assert np.array_equal(np.asarray(mapped[5:900]), np.asarray(_lazy(1)[5:900]).sum(axis=1))
    assert np.asarray(_lazy(1).mapped(lambda rows: rows.astype(np.float32), 2)[5:900]).dtype == np.float64


def test_threads_read_at_the_same_time() -> None:
    """No thread moves the place that another one reads at."""
    lazy = _lazy(1)
    rows, starts = np.asarray(lazy[:]), list(range(0, ROWS, 50)) * 4
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda start: np.asarray(lazy[start : start + 50]), starts))
    assert all(np.array_equal(part, rows[start : start + 50]) for start, part in zip(starts, parts, strict=True))
