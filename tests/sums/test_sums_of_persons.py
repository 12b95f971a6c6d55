"""Sums over persons: however many rows somebody has, sums move by no more than is charged for."""

from typing import Any

import numpy as np
import pytest

from tacit.accounting.unit import Unit
from tacit.queries.oracle.plan import Demand
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.block_cells import Cells
from tacit.sums.block_sums import FINE, block_sums, in_shares
from tacit.sums.grid import factor_steps, steps_for
from tacit.sums.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

NAMES = ("x0", "x1", "x2")
PREPARE = evaluator_of_arrays(np.zeros((1, 3)), low=-1, high=1).prepare
LEVELS = (True, False)
QUERIES: dict[str, Query] = {
    "mean": StatisticalQuery(lambda t: t.x0, -1, 0.7),
    "histogram": Histogram(lambda t: t.x0 > 0, LEVELS),
    "clamped rows": RowSums(NAMES, low=-1, high=0.7),
    "clamped rows by level": RowSums(NAMES, lambda t: t.x1 > 0, LEVELS, low=-1, high=0.7),
    "rows": RowSums(NAMES, norm=0.9),
    "rows by level": RowSums(NAMES, lambda t: t.x1 > 0, LEVELS, norm=0.9),
    "second moments": SecondMoments(NAMES, norm=0.9),
}


def _sums(query: Query, rows: Any, copies: int, n: int) -> Any:
    """Return what a person contributes who has each of some rows so many times."""
    cells = Cells(dict(zip(NAMES, rows.T, strict=True)), len(rows), np.full(len(rows), len(rows) * copies))
    return copies * block_sums(PREPARE(query), cells, n)


def _bounds(query: Query, n: int) -> Demand:
    return Demand.of_queries([query], n, whom=Unit.persons("id"))


@pytest.mark.parametrize("n", [2, 1000, 2**20 - 1, 2**30, 2**43])
@pytest.mark.parametrize("name", QUERIES)
def test_a_person_moves_the_sums_by_no_more_than_is_charged_for(name: str, n: int) -> None:
    """Any rows, up to 2^31 of them, beside others whose sums are as large as can be, scaled as they are released."""
    query, coins = QUERIES[name], np.random.default_rng(n)
    demand, room = _bounds(query, n), FINE * int(steps_for(n)) * (n - 1)
    for copies in (1, 3, 1000, 2**20 + 1, 2**28):
        for _ in range(6):
            mine, yours = (
                _sums(query, coins.choice([-1, 1, 0.3, -0.7, 1e-9], (coins.integers(1, 8), 3)), copies, n)
                for _ in range(2)
            )
            others = coins.integers(room - room // 8, room, len(mine), endpoint=True)
            moved = np.subtract(*(in_shares(query, others + each, n, of_persons=True) for each in (mine, yours)))
            assert np.abs(moved).sum() <= demand.l1
            assert np.sqrt(np.square(moved).sum()) <= demand.l2


def test_second_moments_of_many_rows_stay_semidefinite() -> None:
    """Of two persons with 2^27.7 rows each: products rounded one by one would move the sums by more than is charged."""
    n, copies = 2**30, 209_306 * 1024
    query, steps = SecondMoments(NAMES[:2]), factor_steps(n)
    whole = [np.array([916, 457]), np.array([457, -916])]
    bound = _bounds(query, n).l2
    moved = np.subtract(
        *(
            in_shares(query, _sums(query, np.array([[*each / steps, 0]]), copies, n), n, of_persons=True)
            for each in whole
        )
    )
    assert 1.0 < np.sqrt(np.square(moved).sum()) <= bound
    products = [np.outer(each, each) for each in whole]
    apart = [np.sign(each) * (np.abs(each) * FINE // copies * copies) / (FINE * steps**2) for each in products]
    assert np.linalg.norm(apart[0] - apart[1]) > bound


@pytest.mark.parametrize("name", QUERIES)
def test_rows_lose_less_than_a_plan_allows_for(name: str) -> None:
    """A person with 7,000 equal rows contributes what one of them would by itself, to within the plan's coarseness."""
    query, n, row = QUERIES[name], 2**20, np.array([[0.3, -0.4, 0.5]])
    one, many = (in_shares(query, _sums(query, row, copies, n), n, of_persons=True) for copies in (1, 7000))
    lost = np.abs(np.asarray(query.answer(one)) - np.asarray(query.answer(many)))
    assert np.all(lost <= _bounds(query, n).coarseness)
