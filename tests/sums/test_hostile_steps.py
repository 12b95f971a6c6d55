"""Steps that a stranger sends are refused in our words, or total, in their range and the same in every engine."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.hostile_tables import SCHEMA, arrow_table
from support.statistical import sample_size
from tacit.data import Category, Records, Schema
from tacit.errors import InvalidParameter
from tacit.sums.engines.engine import Engine, Prepared
from tacit.sums.engines.opening import engine_for
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.expression import inner_first
from tacit.sums.language.names import Names
from tacit.sums.language.steps import _OPERANDS, expression_of
from tacit.sums.plain import query_of

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
            made.append(coins.choice([*names, "nothing", "tacit_index"]))
        elif kind is bool:
            made.append(coins.random() < 0.5)
        elif kind is list:
            made.append([coins.choice([0, 1, 2, 5, -1, 10**30]) for _ in range(coins.randrange(4))])
        else:
            made.append(coins.choice(CONSTANTS))
    return made


def _steps(coins: random.Random, engine: Engine) -> list[Any]:
    """Add steps as long as they are taken: of six tries each, none may fail in any words but ours."""
    steps: list[Any] = []
    for _ in range(coins.randrange(2, 16)):
        for _ in range(6):
            step = _step(coins, len(steps), list(engine.columns))
            try:
                expression_of([*steps, step], Names(engine.columns))
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
def test_hostile_steps_are_refused_or_total(tmp_path: Path) -> None:
    """Random operations with extreme constants over extremes of all types: no failure, no range left, the same bits."""
    table, coins = arrow_table(60, 3), random.Random(1)
    pq.write_table(table, tmp_path / "hostile.parquet")
    records = Records(table, SCHEMA)
    memory, duckdb = engine_for(records), engine_for(Records(tmp_path / "hostile.parquet", SCHEMA))
    asked: list[Any] = []
    with np.errstate(all="raise"):
        for _ in range(sample_size(150)):
            low, high = coins.choice(RANGES)
            query = query_of({"mean": _steps(coins, memory) or "1", "low": low, "high": high})
            try:
                prepared = memory.prepare(query)
            except InvalidParameter:
                continue
            _in_range(prepared, records.table.cleaned)  # type: ignore[attr-defined]
            asked.append((prepared, duckdb.prepare(query)))
        for start in range(0, len(asked), 50):
            ours, theirs = zip(*asked[start : start + 50], strict=True)
            for own, other, prepared in zip(memory.sums(ours), duckdb.sums(theirs), ours, strict=True):
                assert own.tobytes() == (other + 0.0).tobytes(), prepared.text
    assert len(asked) > 100


def test_a_range_that_is_left_is_seen() -> None:
    """The twin: cells of which one lies beyond what its column declares do not pass."""
    records = Records(arrow_table(60, 3), SCHEMA)
    prepared = engine_for(records).prepare(query_of({"mean": [["column", "h"], ["abs", 0]]}))
    cells = dict(records.table.cleaned)  # type: ignore[attr-defined]
    _in_range(prepared, cells)
    cells["h"] = np.where(np.arange(60) == 7, 1.5, cells["h"])
    with pytest.raises(AssertionError):
        _in_range(prepared, cells)


@pytest.mark.parametrize("places", [[0, 0], [0, 0, 2], [2, 0, 1, 0], [6, 2, 1, 5], [1, 1, 1, 4, 7]])
def test_places_in_any_order_and_number_are_the_same_levels(tmp_path: Path, places: list[int]) -> None:
    """Twice the same place failed where the question was printed, and places in disorder were other levels there.

    In memory places 0, 0 and 2 were taken for the run of three that begins with 0.
    """
    words = [f"w{number}" for number in range(8)]
    table, schema = pa.table({"w": words * 3}), Schema({"w": Category(words)})
    pq.write_table(table, tmp_path / "words.parquet")
    query = query_of({"mean": [["column", "w"], ["member", 0, places], ["one", 1]]})
    for source in (table, tmp_path / "words.parquet"):
        engine = engine_for(Records(source, schema))
        (found,) = engine.sums([engine.prepare(query)])
        assert found.tolist() == [3 * len(set(places))]
