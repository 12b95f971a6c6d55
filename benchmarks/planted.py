"""Planted conjunctions over millions of two-valued records, eight to a byte.

The evaluator here answers conditions that are conjunctions of single columns, which is what `ConjunctionClassifier`
asks, exactly and in milliseconds. It is compared with the ordinary one before it is used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Number
from tacit.queries import StatisticalOracle, StatisticalQuery
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.sums.block_cells import Cells
from tacit.sums.block_sums import Prepared
from tacit.sums.evaluator import Evaluator, Part
from tacit.sums.language import Expression

Bits = NDArray[np.uint8]
PLANTED, OFTEN = 2, 0.97


class PackedEvaluator(Evaluator):  # type: ignore[misc]
    """Columns of bits and a label."""

    def __init__(self, columns: dict[str, Bits], label: str, n: int) -> None:
        nothing = Cells({}, 0)
        declared = dict.fromkeys(columns, Number(0, 1))
        super().__init__(nothing, n, declared, label=label, labels=(0, 1), identity="packed", fixed_by=None)
        self._columns = columns
        self._all = np.packbits(np.ones(n, dtype=bool))

    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Any]:
        """Count the records for which each condition is true."""
        assert part is None
        assert all(isinstance(prepared.query, StatisticalQuery) for prepared in queries)
        return [
            np.array([float(np.bitwise_count(self._bits(query.columns[0], flipped) & self._all).sum(dtype=np.int64))])
            for query in queries
        ]

    def part_size(self, part: Part) -> int:
        """Refuse: these records are not split."""
        raise NotImplementedError

    def _bits(self, expression: Expression, flipped: bool) -> Bits:
        one, other = (*expression.operands, None)[:2]
        if expression.operation == "one":
            return self._bits(one, flipped)
        if expression.operation == "and":
            return self._bits(one, flipped) & self._bits(other, flipped)
        assert one.operation == "column"
        assert other.operation == "constant"
        column = self._columns[one.operands[0]]
        exchanged = flipped and one.operands[0] == self.label
        match expression.operation, other.low:
            case (">", 0) | ("=", 1):
                return ~column if exchanged else column
            case ("<=", 0) | ("=", 0):
                return column if exchanged else ~column
        raise NotImplementedError(expression.operation)


def hard_population(features: int, n: int, rng: np.random.Generator) -> tuple[dict[str, NDArray[np.uint8]], float]:
    """Return columns, the last of them the true label, and how often each feature but the planted ones is false.

    At most one of these is false in a record, each just often enough that keeping it is a mistake; keeping all would
    be an error of 0.125.
    """
    rarely = 1.25 * 0.1 / (features - PLANTED) / OFTEN**PLANTED
    count = rng.binomial(n, rarely * (features - PLANTED))
    places = rng.choice(n, count, replace=False, shuffle=False)
    owner = rng.integers(PLANTED, features, count)
    columns = {f"x{j}": np.packbits(rng.random(n, dtype=np.float32) < OFTEN) for j in range(PLANTED)}
    for j in range(PLANTED, features):
        column = np.ones(n, dtype=bool)
        column[places[owner == j]] = False
        columns[f"x{j}"] = np.packbits(column)
    return columns | {"y": columns["x0"] & columns["x1"]}, rarely


def coin_population(features: int, n: int, rng: np.random.Generator) -> tuple[dict[str, NDArray[np.uint8]], float]:
    """Return columns of fair coins, and the conjunction of the first two."""
    size = -(-n // 8)
    columns = {f"x{j}": np.frombuffer(rng.bytes(size), dtype=np.uint8) for j in range(features)}
    return columns | {"y": columns["x0"] & columns["x1"]}, 0.5


def conjunction_error(model: ConjunctionClassifier, population: Callable[..., Any], rarely: float) -> float:
    """Return the exact share of the population on which a learned conjunction errs."""
    kept, others = int(model.needed_[:PLANTED, 0].sum()), int(model.needed_[PLANTED:, 0].sum())
    hard = population is hard_population
    often = OFTEN if hard else 0.5
    accepted = 1 - others * rarely if hard else 0.5**others
    return float(often**PLANTED * (1 - accepted) + (often**kept - often**PLANTED) * accepted)


def repetition(population: Callable[..., Any], features: int, n: int, rate: float, seed: int) -> float:
    """Learn one planted conjunction at epsilon 1 and return the error."""
    rng = np.random.default_rng([features, seed])
    columns, rarely = population(features, n, rng)
    if rate:
        columns["y"] = columns["y"] ^ np.packbits(rng.random(n, dtype=np.float32) < np.float32(rate))
    oracle = StatisticalOracle(PackedEvaluator(columns, "y", n), random_state=seed)
    model = ConjunctionClassifier(1.0, noise_rate=rate).learn(oracle)
    return conjunction_error(model, population, rarely)


def check_packed() -> None:
    """Compare the packed evaluator with the ordinary one."""
    rng = np.random.default_rng(0)
    columns, _ = coin_population(4, 1_000, rng)
    plain = np.column_stack([np.unpackbits(column, count=1_000) for column in columns.values()])
    models = [
        ConjunctionClassifier(5.0, noise_rate=0.1, monotone=False).learn(
            StatisticalOracle(table, random_state=1, **how)
        )
        for table, how in (
            (PackedEvaluator(columns, "y", 1_000), {}),
            ((plain[:, :4], plain[:, 4]), {"labels": (0, 1), "bounds": (0, 1)}),
        )
    ]
    assert np.array_equal(models[0].needed_, models[1].needed_)
