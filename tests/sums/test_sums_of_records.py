"""Sums over records: what one contributes does not depend on the others beside it."""

import numpy as np
import pytest

from tacit.data import Category, Number, Records, Schema
from tacit.numerics.arrays import Floats
from tacit.sums.query import RowSums, SecondMoments, StatisticalQuery
from tacit.sums.record_evaluator import evaluator_for

SCHEMA = Schema({"a": Number(-1e30, 1e30), "b": Number(-1e30, 1e30), "c": Category(["x", "y"])})
SHORT = np.float32([0.1, 0.7, 3e15, -1e-3, 2e10]).astype(np.float64)
QUERIES = [
    StatisticalQuery(lambda t: t.a * t.b == float(SHORT[0] * SHORT[1])),
    StatisticalQuery(lambda t: t.a * t.b, -1e30, 1e30),
    StatisticalQuery(lambda t: (t.a + t.b) * (t.c == "x").ifelse(1, 2)),
    RowSums(("a", "b"), norm=1e3),
    SecondMoments(("a", "b"), norm=1e3),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
@pytest.mark.parametrize("length", [20, 70_000])
def test_how_few_bytes_a_block_is_kept_in_changes_no_sum(query: object, length: int) -> None:
    """Floats of four bytes are arithmetic of four bytes: one record that needs eight changed all beside it."""

    def sums(last: float) -> Floats:
        cells = {"a": np.resize(SHORT, length), "b": np.resize(np.roll(SHORT, -1), length), "c": ["x"] * length}
        cells["a"][-1] = last
        evaluator = evaluator_for(Records(cells, SCHEMA))
        return evaluator.sums([evaluator.prepare(query)])[0]  # type: ignore[arg-type]

    assert np.abs(sums(0.1) - sums(float(SHORT[0]))).max() < 1e-6
