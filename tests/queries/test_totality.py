"""No question fails, warns, leaves its range or moves more than it says, whatever the records hold.

Every question is a query of the whole language (`random_expressions`) about tables whose cells are the extremes of
their types (`hostile_tables`). `make test` asks a fortieth of the questions of `make stats`, which is enough to find a
planted failure (`test_the_fuzz_has_power`).
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.hostile_tables import SCHEMA, arrow_table
from support.opened import cells_of
from support.random_expressions import questions
from support.statistical import sample_size
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Records
from tacit.data.records import taken
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.sums.block_sums import Prepared
from tacit.sums.grid import steps_for
from tacit.sums.language import evaluate as evaluation
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.expression import inner_first
from tacit.sums.record_evaluator import evaluator_for

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
    """Yield random questions about records, some at a time."""
    evaluator = evaluator_for(records)
    for number, start in enumerate(range(0, count, AT_ONCE)):
        found = questions(records.columns, min(AT_ONCE, count - start), 1_000_003 * seed + number)
        yield [evaluator.prepare(query) for query in found]


def near_ends_and_zero(batch: list[Prepared], cells: dict[str, Any]) -> tuple[int, int]:
    """Check that all numbers in some questions lie in their ranges; count those that come near to the ends, or to 0."""
    near_ends = near_zero = 0
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
    return near_ends, near_zero


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_fails_and_nothing_leaves_its_range(seed: int) -> None:
    """Many questions per seed: every number in them lies in its range, none is nearer to 0 than said, all have sums.

    Twin: numbers come so near to the ends that ranges, or distances from 0, a tenth narrower would be left.
    """
    records = Records(arrow_table(N, seed), SCHEMA)
    evaluator, cells, near = evaluator_for(records), cells_of(records), np.zeros(2)
    for turn, batch in enumerate(batches(records, asked(5_000), seed)):
        near += near_ends_and_zero(batch, cells)
        assert all(np.all(np.isfinite(sums)) for sums in evaluator.sums(batch, flipped=bool(turn % 2)))
    assert np.all(near > 0)


@pytest.mark.parametrize("operation", ["clip", "abs", "snap", "floor"])
def test_the_fuzz_has_power(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: were one operation left undone, as many questions would find it."""
    monkeypatch.setitem(evaluation._OPERATIONS, operation, lambda value, *_: value)  # type: ignore[arg-type]
    records = Records(arrow_table(N, 1), SCHEMA)
    with pytest.raises(AssertionError):  # noqa: PT012 - as soon as it is found
        for batch in batches(records, asked(5_000), 1):
            near_ends_and_zero(batch, cells_of(records))


@pytest.mark.stats
@pytest.mark.parametrize("seed", [1, 2])
def test_no_replaced_record_moves_sums_by_more_than_a_query_says(seed: int) -> None:
    """Many questions per seed, each with one record replaced by another of hostile cells: L1 and L2 hold.

    Twin: the bounds are reached, so that ones a tenth smaller would be exceeded.
    """
    records = Records(arrow_table(N, seed), SCHEMA)
    evaluator, rng, farthest = evaluator_for(records), np.random.default_rng(seed), np.zeros(2)
    for batch in batches(records, asked(5_000), 10 + seed):
        rows = np.arange(N)
        rows[rng.integers(N)] = rng.integers(N)
        other = evaluator_for(taken(records, rows))
        for prepared, before, after in zip(batch, evaluator.sums(batch), other.sums(batch), strict=True):
            room = prepared.query.rounding(steps_for(N)) * (1 + 1e-12)
            moved = np.abs(before - after).sum(), math.sqrt(np.square(before - after).sum())
            assert moved[0] <= prepared.query.l1 * room, prepared.text
            assert moved[1] <= prepared.query.l2 * room, prepared.text
            farthest = np.maximum(farthest, np.divide(moved, (prepared.query.l1, prepared.query.l2)))
    assert np.all(farthest > 0.9)


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


@pytest.mark.parametrize("name", list(TOTAL))
def test_what_can_be_written_is_total(name: str) -> None:
    """Relatives of the attacks that the language can express: answered, each number in its range."""
    records = Records(arrow_table(N, 7), SCHEMA)
    evaluator = evaluator_for(records)
    prepared = evaluator.prepare(StatisticalQuery(TOTAL[name], low=-1e100, high=1e100))
    near_ends_and_zero([prepared], cells_of(records))
    assert 0 <= evaluator.sums([prepared])[0][0] <= N


INEXPRESSIBLE = {
    "a null": lambda t: (t.h > 0.5).ifelse(None, 0),
    "division by a column": lambda t: 1 / t.h,
    "Python's if": lambda t: 1 if t.h > 0.5 else 0,
    "a level that is not declared": lambda t: t.w == "zebra",
    "a range beyond 1e100": lambda t: t.f * t.f,
    "an undeclared column": lambda t: t.secret > 0,
    "too many operations": lambda t: _many(t.h),
}
"""One of each kind: all others are in tests/sums/test_language.py, which asks no records."""


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
    evaluator = evaluator_for(Records(arrow_table(N, 1), SCHEMA))
    with pytest.raises((InvalidParameter, TypeError)):
        evaluator.prepare(Histogram(lambda t: t.h > 0.5, levels))
