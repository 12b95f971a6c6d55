"""Steps that a stranger sends are refused in our words, or total and in their range."""

import random
from typing import Any

import numpy as np
import pytest

from support.hostile_tables import SCHEMA, arrow_table
from support.opened import cells_of
from support.statistical import sample_size
from tacit.data import Category, Records, Schema
from tacit.errors import InvalidParameter
from tacit.sums.block_sums import Prepared
from tacit.sums.evaluator import Evaluator
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.expression import inner_first
from tacit.sums.language.names import Names
from tacit.sums.language.steps import _OPERANDS, expression_of
from tacit.sums.plain import query_of
from tacit.sums.record_evaluator import evaluator_for

CONSTANTS = [
    0, 1, -1, 0.5, -0.0, 7, 60, 5e-324, 1e-300, 1e-99, 1e99, 1e100, -1e100, 1e101, float("inf"), float("nan"),
    2**53 + 1, 2**63, 10**400,
]  # fmt: skip
RANGES = [(0, 1), (-1, 1), (-1e100, 1e100), (0, 1e-50), (-5, 100)]


def _step(coins: random.Random, place: int, names: list[str]) -> list[Any]:
    """Make a step, mostly of the last ones before it; columns come first, and more often than others."""
    operation = coins.choice(list(_OPERANDS))
    if not place or (place < 4 and coins.random() < 0.6):
        operation = "column"
    count, types = _OPERANDS[operation]
    made: list[Any] = [operation, *(max(0, place - 1 - int(coins.expovariate(0.4))) for _ in range(count))]
    for kind in types:
        if kind is str:
            made.append(coins.choice([*names, "nothing", "no_column"]))
        elif kind is bool:
            made.append(coins.random() < 0.5)
        elif kind is list:
            made.append([coins.choice([0, 1, 2, 5, -1, 10**30]) for _ in range(coins.randrange(4))])
        else:
            made.append(coins.choice(CONSTANTS))
    return made


def _steps(coins: random.Random, evaluator: Evaluator) -> list[Any]:
    """Add steps as long as they are taken: of six tries each, none may fail in any words but ours."""
    steps: list[Any] = []
    for _ in range(coins.randrange(2, 16)):
        for _ in range(6):
            step = _step(coins, len(steps), list(evaluator.columns))
            try:
                expression_of([*steps, step], Names(evaluator.columns))
            except InvalidParameter:
                continue
            steps.append(step)
            break
    return steps


def _in_range(prepared: Prepared, cells: Any) -> None:
    nodes = [node for node in inner_first(prepared.columns) if node.kind != "level"]
    for node, found in zip(nodes, evaluate(nodes, lambda name: cells[name]), strict=True):
        values = np.asarray(found, dtype=np.float64)
        assert np.all(np.isfinite(values)), prepared.text
        assert node.low <= values.min(), prepared.text
        assert values.max() <= node.high, prepared.text


@pytest.mark.stats
def test_hostile_steps_are_refused_or_total() -> None:
    """Random operations with extreme constants over extremes of all types: no failure, and no range is left."""
    records, coins = Records(arrow_table(60, 3), SCHEMA), random.Random(1)
    evaluator, cells, asked = evaluator_for(records), cells_of(records), list[Prepared]()
    with np.errstate(all="raise"):
        for _ in range(sample_size(150)):
            low, high = coins.choice(RANGES)
            query = query_of({"mean": _steps(coins, evaluator) or "1", "low": low, "high": high})
            try:
                asked.append(evaluator.prepare(query))
            except InvalidParameter:
                continue
            _in_range(asked[-1], cells)
        assert all(0 <= sums[0] <= 60 for sums in evaluator.sums(asked))
    assert len(asked) > 100


def test_a_range_that_is_left_is_seen() -> None:
    """The twin: cells of which one lies beyond what its column declares do not pass."""
    records = Records(arrow_table(60, 3), SCHEMA)
    prepared = evaluator_for(records).prepare(query_of({"mean": [["column", "h"], ["abs", 0]]}))
    cells = cells_of(records)
    _in_range(prepared, cells)
    cells["h"] = np.where(np.arange(60) == 7, 1.5, cells["h"])
    with pytest.raises(AssertionError):
        _in_range(prepared, cells)


@pytest.mark.parametrize("places", [[0, 0], [0, 0, 2], [2, 0, 1, 0], [6, 2, 1, 5], [1, 1, 1, 4, 7]])
def test_places_in_any_order_and_number_are_the_same_levels(places: list[int]) -> None:
    """Twice the same place is one level: places 0, 0 and 2 are not the run of three that begins with 0."""
    words = [f"w{number}" for number in range(8)]
    evaluator = evaluator_for(Records({"w": words * 3}, Schema({"w": Category(words)})))
    query = query_of({"mean": [["column", "w"], ["member", 0, places], ["one", 1]]})
    (found,) = evaluator.sums([evaluator.prepare(query)])
    assert found.tolist() == [3 * len(set(places))]
