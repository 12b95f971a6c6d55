"""Made-up tables with declared columns, on which defaults are chosen and checked instead of on benchmarks.

Columns are of five kinds: categories with even or very uneven levels, numbers well inside wider bounds, amounts that
span orders of magnitude and may be mostly zero, counts that are mostly zero, and flags, rare or not. `usual` names the
value of a column that is nearly always the same. Two families:

- `additive`: columns share two hidden factors; the label is a sum of effects plus noise, cut at a quantile. Defaults
  were chosen here.
- `conditional`: people belong to hidden groups; group and label come first, and each column is drawn given both. It
  was run only after the choice was made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Category, Column, Flag, Number

Array = NDArray[np.float64]


@dataclass
class Table:
    """Columns with their declarations, the values that are usual, and labels."""

    columns: dict[str, Column] = field(default_factory=dict)
    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    usual: dict[str, Any] = field(default_factory=dict)
    labels: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    def add(self, column: Column, values: NDArray[Any], usual: Any = None) -> None:
        """Append a column."""
        name = f"{type(column).__name__.lower()}{len(self.columns)}"
        self.columns[name], self.values[name] = column, values
        if usual is not None:
            self.usual[name] = usual


Latent = Callable[[], Array]


def additive(seed: int, count: int) -> Table:
    """Draw a table whose label is a sum of effects of its columns."""
    rng = np.random.default_rng([9100, seed])
    factors = rng.normal(size=(count, 2))

    def latent() -> Array:
        mixed = factors @ (rng.normal(size=2) * rng.uniform(0, 0.8)) + rng.normal(size=count)
        return np.asarray(mixed / mixed.std())

    table, scores = _columns(rng, latent)
    total = sum((rng.exponential() if rng.random() < 0.7 else 0.05) * rng.choice([-1, 1]) * score for score in scores)
    noisy = total / np.std(total) + rng.choice([0.15, 0.35, 0.6]) * rng.logistic(size=count)
    table.labels = noisy > np.quantile(noisy, rng.uniform(0.5, 0.9))
    return table


def conditional(seed: int, count: int) -> Table:
    """Draw a table whose columns depend on a hidden group and on the label."""
    rng = np.random.default_rng([9300, seed])
    groups = int(rng.integers(2, 7))
    group = rng.choice(groups, size=count, p=rng.dirichlet(np.full(groups, 2.0)))
    rate = rng.beta(1.0, rng.choice([1.0, 3.0]), size=groups)
    labels = rng.random(count) < rate[group]

    def latent() -> Array:
        shift = rng.normal(size=groups) * rng.uniform(0, 1)
        lift = rng.normal() * rng.choice([0.05, 0.5])
        return np.asarray(shift[group] + lift * labels + rng.normal(size=count))

    table, _ = _columns(rng, latent)
    table.labels = labels
    return table


def _columns(rng: np.random.Generator, latent: Latent) -> tuple[Table, list[Array]]:
    """Turn hidden numbers into columns of all kinds, and return a score of size about 1 for each."""
    table, scores = Table(), []

    def keep(score: Array, weight: float = 1.0) -> None:
        scores.append(weight * (score - score.mean()) / max(float(score.std()), 0.05))

    for _ in range(rng.integers(2, 8)):
        size = int(np.exp(rng.uniform(np.log(3), np.log(42))))
        parts = 1 / np.arange(1, size + 1) ** rng.uniform(0, 2.5)
        places = np.minimum(np.searchsorted(np.cumsum(parts / parts.sum()), _ranks(latent())), size - 1)
        names = rng.permutation(size)
        usual = str(names[0]) if np.mean(places == 0) > 0.5 else None
        table.add(Category(list(map(str, range(size)))), names[places], usual)
        keep(rng.normal(size=size)[names[places]])
    for _ in range(rng.integers(1, 8)):
        hidden = latent()
        inside = 100 * _ranks(hidden) ** rng.uniform(0.5, 2)
        table.add(Number(-float(rng.choice([0, 0, 20, 50])), 100 + float(rng.choice([0, 0, 20, 100]))), inside)
        keep(hidden if rng.random() < 0.6 else hidden - 0.5 * np.square(hidden))
    for _ in range(rng.integers(1, 7)):
        none = float(rng.choice([0, rng.uniform(0.3, 0.98)], p=[0.25, 0.75]))
        hidden = latent()
        over = hidden - np.quantile(hidden, none)
        amount = np.where(over > 0, np.exp(rng.uniform(2, 7) + rng.uniform(0.5, 2) * over), 0.0).round()
        high = 10.0 ** np.ceil(np.log10(np.quantile(amount, 0.999) + 10) + rng.uniform(0, 1.5))
        table.add(Number(0, float(high), log=True), amount, 0 if none > 0.5 else None)
        keep(np.log1p(amount), min(1.0, 3 * (1 - none)))
    for _ in range(rng.integers(0, 6)):
        none = rng.uniform(0.5, 0.98)
        hidden = latent()
        over = hidden - np.quantile(hidden, none)
        table.add(Number(0, 20), np.where(over > 0, np.minimum(20, rng.choice([1, 5, 15]) * (0.3 + over)), 0.0), 0)
        keep(table.values[list(table.values)[-1]], min(1.0, 3 * (1 - none)))
    for _ in range(rng.integers(0, 9)):
        part = float(rng.choice([rng.uniform(0.005, 0.1), rng.uniform(0.2, 0.8)]))
        hidden = latent()
        up = hidden > np.quantile(hidden, 1 - part)
        table.add(Flag(), up.astype(int), False if part < 0.1 else None)
        keep(up.astype(np.float64), min(1.0, 3 * min(part, 1 - part)))
    return table, scores


def _ranks(hidden: Array) -> Array:
    """Return ranks over the count, strictly between 0 and 1."""
    return np.asarray((hidden.argsort().argsort() + 0.5) / len(hidden))
