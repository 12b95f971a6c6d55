"""Made-up tables whose target is a number, on which the defaults of regression are chosen and checked.

Columns are those of `synthetic_tables`. Targets have Gaussian, heavy (Student, 2.5 degrees of freedom), skewed or
lognormal noise, and a declared range that cuts 1 % of them off, or is up to several times as wide as they are. Family
`additive` sums effects of columns (defaults were chosen here); in `conditional` columns depend on hidden groups and on
the target, which comes first (run only after the choice).
"""

from dataclasses import dataclass

import numpy as np
from synthetic_tables import Array, Table, _columns

from tacit.data import PublicEncoder, Schema

TESTS = 8_000


@dataclass(frozen=True)
class Task:
    """Encoded rows and targets for training and testing, and the declared range of targets."""

    X: Array
    y: Array
    tests: Array
    truths: Array
    target_range: tuple[float, float]


def additive(seed: int, count: int) -> Task:
    """Draw a target that is a sum of effects of columns."""
    rng = np.random.default_rng([9500, seed])
    factors = rng.normal(size=(count + TESTS, 2))

    def latent() -> Array:
        mixed = factors @ (rng.normal(size=2) * rng.uniform(0, 0.8)) + rng.normal(size=count + TESTS)
        return np.asarray(mixed / mixed.std())

    table, scores = _columns(rng, latent)
    total = sum((rng.exponential() if rng.random() < 0.7 else 0.05) * rng.choice([-1, 1]) * score for score in scores)
    return _task(rng, table, total / np.std(total), count)


def conditional(seed: int, count: int) -> Task:
    """Draw columns that depend on a hidden group and on the target."""
    rng = np.random.default_rng([9700, seed])
    groups = int(rng.integers(2, 7))
    group = rng.choice(groups, size=count + TESTS, p=rng.dirichlet(np.full(groups, 2.0)))
    hidden = rng.normal(size=groups)[group] + rng.normal(size=count + TESTS) * rng.uniform(0.3, 1.5)

    def latent() -> Array:
        shift = rng.normal(size=groups) * rng.uniform(0, 1)
        lift = rng.normal() * rng.choice([0.05, 0.5])
        return np.asarray(shift[group] + lift * hidden + rng.normal(size=count + TESTS))

    table, _ = _columns(rng, latent)
    return _task(rng, table, hidden / hidden.std(), count)


def _task(rng: np.random.Generator, table: Table, total: Array, count: int) -> Task:
    """Add noise of some kind to the target, declare its range, and encode the columns."""
    kind, size = rng.integers(0, 4), rng.choice([0.2, 0.5, 1.0])
    if kind == 0:
        target = total + size * rng.normal(size=len(total))
    elif kind == 1:
        target = total + size * rng.standard_t(2.5, size=len(total))
    elif kind == 2:
        target = np.exp(0.6 * (total + size * rng.normal(size=len(total))))
    else:
        target = total + size * (rng.exponential(size=len(total)) - 1)
    low, high = np.quantile(target, [0.005, 0.995])
    room = rng.choice([0.0, 0.3, 1.5]) * (high - low)
    rows = np.asarray(PublicEncoder(Schema(table.columns), norm="bound").transform(table.values))
    declared = (float(low - room * rng.uniform(0, 1)), float(high + room))
    return Task(rows[:count], target[:count], rows[count:], target[count:], declared)
