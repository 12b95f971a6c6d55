"""Made-up tables with declared columns, on which defaults are chosen and checked instead of on benchmarks.

Columns are of five kinds: categories with even or very uneven levels, numbers well inside wider bounds, amounts that
span orders of magnitude and may be mostly zero, counts that are mostly zero, and flags, rare or not. `usual` names the
value of a column that is nearly always the same. Families:

- `additive`: columns share two hidden factors; the label is a sum of effects plus noise, cut at a quantile. Defaults
  were chosen here.
- `conditional`: people belong to hidden groups; group and label come first, and each column is drawn given both. It
  was run only after the choice was made.

Two more came with curves, and with the choice by three scores:

- `varied`: as `additive`, in nine kinds: effects of numbers that are straight, bent or both, one class of 1, 6 or 11 %,
  heavy tails, few rows, many rows. Margin, ridge and curves were chosen here.
- `grown`: the label is cut from the sum of thirty small trees over all columns. It is a check, as `conditional` is.
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


KINDS: dict[str, tuple[int, float, float | None]] = {
    "linear": (4_000, 0.0, None),
    "curved": (4_000, 0.9, None),
    "curved, many rows": (16_000, 0.9, None),
    "mixed": (8_000, 0.5, None),
    "1 % positive": (12_000, 0.5, 0.01),
    "6 % positive": (6_000, 0.5, 0.06),
    "11 % positive": (8_000, 0.5, 0.11),
    "few rows": (600, 0.4, None),
    "heavy tails": (6_000, 0.5, None),
}
"""Kinds of `varied`: how many records to train on, the part of numbers with a bent effect, the part of positives."""


def varied(seed: int, kind: str, tests: int) -> tuple[Table, int]:
    """Draw a table of a kind, with so many records to test on after those to train on; and how many those are."""
    trained_on, bent, positive = KINDS[kind]
    count = trained_on + tests
    rng = np.random.default_rng([9500, seed, list(KINDS).index(kind)])
    factors = rng.normal(size=(count, 2))

    def latent() -> Array:
        mixed = factors @ (rng.normal(size=2) * rng.uniform(0, 0.8)) + rng.normal(size=count)
        if kind != "heavy tails":
            return np.asarray(mixed / mixed.std())
        wide = np.clip(mixed * np.sqrt(2 / rng.chisquare(2, size=count)), -8, 8)
        return np.asarray(wide / np.median(np.abs(wide)) / 1.5)

    table, scores = _columns(rng, latent)
    for place, (name, column) in enumerate(table.columns.items()):
        if isinstance(column, Number) and rng.random() < bent:
            score = _bent(rng, column.encode(table.values[name])[:, 0])
            scores[place] = (score - score.mean()) / score.std() if score.std() > 0.02 else scores[place]
    total = sum((rng.exponential() if rng.random() < 0.7 else 0.05) * rng.choice([-1, 1]) * score for score in scores)
    noisy = total / np.std(total) + rng.choice([0.15, 0.35, 0.6]) * rng.logistic(size=count)
    table.labels = noisy > np.quantile(noisy, 1 - positive if positive else rng.uniform(0.5, 0.9))
    return table, trained_on


def _bent(rng: np.random.Generator, line: Array) -> Array:
    """Return a bump, step, wave, hinge or parabola over where a number is found."""
    low, high = np.quantile(line, [0.02, 0.98])
    t = np.clip(2 * (line - low) / max(high - low, 1e-9) - 1, -1.5, 1.5)
    shape, center = rng.choice(["bump", "step", "wave", "hinge", "square"]), rng.uniform(-0.6, 0.6)
    if shape == "bump":
        return np.asarray(np.exp(-np.square((t - center) / rng.uniform(0.15, 0.5))))
    if shape == "wave":
        return np.asarray(np.sin(rng.uniform(2, 6) * t + center))
    return {"step": (t > center).astype(np.float64), "hinge": np.maximum(0, t - center), "square": (t - center) ** 2}[
        shape
    ]


def grown(seed: int, count: int) -> Table:
    """Draw a table whose label is cut from a sum of small trees."""
    rng = np.random.default_rng([9700, seed])
    factors = rng.normal(size=(count, 3))

    def latent() -> Array:
        mixed = factors @ (rng.normal(size=3) * rng.uniform(0, 0.8)) + rng.normal(size=count)
        return np.asarray(mixed / mixed.std())

    table, scores = _columns(rng, latent)
    total = np.zeros(count)
    for _ in range(30):
        leaf = np.ones(count, dtype=bool)
        for _ in range(rng.integers(1, 4)):
            score = scores[rng.integers(len(scores))]
            above = score > rng.choice(score)
            leaf &= above if rng.random() < 0.5 else ~above
        total += rng.normal() * leaf
    noisy = total / max(float(total.std()), 1e-9) + rng.choice([0.15, 0.35, 0.6]) * rng.logistic(size=count)
    table.labels = noisy > np.quantile(noisy, 1 - rng.choice([0.5, 0.3, 0.2, 0.11, 0.05, 0.02]))
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
