"""How far a replaced record moves what the oracle adds up: no further than is charged for, and as far."""

import math
from typing import Any

import numpy as np
import pytest

from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalOracle, StatisticalQuery
from tacit.queries.oracle import oracle as oracle_module
from tacit.queries.oracle.plan import Demand


def _change(query: Query, record: tuple[list[float], float], other: tuple[list[float], float], rate: float) -> Any:
    """Return how far replacing one record moves what is added up before the noise."""
    moved = []
    for row, label in (record, other):
        rows = np.vstack([np.full((7, len(row)), 0.25), row])
        oracle = StatisticalOracle((rows, np.append(np.ones(7), label)), bounds=(-10, 10))
        asking = oracle_module.Asking(rate, "x", None)
        moved.append(oracle._sums([oracle.evaluator.prepare(query)], asking))
    return moved[0] - moved[1]


WORST = [
    (StatisticalQuery(lambda t: t.x0), ([1, 0], 1), ([0, 0], 1)),
    (StatisticalQuery(lambda t: t.x0, low=-3, high=5), ([9, 0], 1), ([-9, 0], 1)),
    (Histogram(lambda t: t.x0, (1, 2, 3)), ([1, 0], 1), ([2, 0], 1)),
    (Histogram(lambda t: [t.x0, t.y], ((1, 1), (1, -1))), ([1, 0], 1), ([1, 0], -1)),
    (RowSums(("x0", "x1")), ([1, 1], 1), ([0, 0], 1)),
    (RowSums(("x0", "x1"), lambda t: t.y, (1, -1)), ([1, 1], 1), ([1, 1], -1)),
    (RowSums(("x0", "x1"), norm=1.0), ([0.6, 0.8], 1), ([-0.6, -0.8], 1)),
    (RowSums(("x0", "x1"), lambda t: t.y, (1, -1), norm=2.0), ([3, 3], 1), ([-3, -3], 1)),
    (SecondMoments(("x0", "x1")), ([5, 0], 1), ([0, 5], 1)),
]


@pytest.mark.parametrize(("query", "record", "other"), WORST)
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_bounds_hold_and_are_attained(query: Query, record: Any, other: Any, rate: float) -> None:
    """The worst pair of neighbours moves the sums by the L2 bound, to a few millionths: less noise would not do."""
    demand = Demand.of_queries([query], 8, noise_rate=rate)
    change = _change(query, record, other, rate)
    assert np.abs(change).sum() <= demand.l1
    distance = float(np.linalg.norm(change))
    assert distance <= demand.l2
    if rate == 0:
        assert distance >= 0.99999 * demand.l2


@pytest.mark.parametrize(
    ("query", "record", "other"), [pair for pair in WORST if not isinstance(pair[0], SecondMoments)]
)
def test_the_l1_bounds_are_attained(query: Query, record: Any, other: Any) -> None:
    """So Laplace noise cannot be smaller either; for rows by norm, at the row with all numbers alike."""
    if isinstance(query, RowSums) and query.norm is not None:
        alike = query.norm / math.sqrt(2)
        record, other = ([alike, alike], 1), ([-alike, -alike], 1)
    demand = Demand.of_queries([query], 8)
    assert np.abs(_change(query, record, other, 0.0)).sum() == pytest.approx(demand.l1, rel=1e-6)
