"""One noisy table of scores: how many records of each class lie in each bin, and how far up their bin they lie.

Everything in a report is computed from this table. It is made in two steps, paid for by one charge: a coarse look at
where scores lie chooses the bins (a tree of counts, an eighth of the budget), then records are counted. Each counts
as one, shared between the two ends of its bin by how far up it lies: that costs no more noise than a whole count, and
says how bins are filled, so that ten of them do what would otherwise take fifty.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from tacit import noise
from tacit.accounting.events import Event, dp_event
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.evaluation.bins import LARGEST_TABLE, LEVELS, NODES, RADIX, Layout, chosen_knots, codes_of
from tacit.evaluation.knots import Knots
from tacit.mechanisms.gaussian import Multipliers
from tacit.mechanisms.laplace import laplace_law
from tacit.mechanisms.mechanism import Mechanism, budget_event, checked_budget, inflated
from tacit.noise import Source, add_on_grid
from tacit.numerics.arrays import Codes, Floats, Truths

_UNIT = 2.0**20
_LOOK = Fraction(1, 8)
"""The part of the budget that chooses the bins."""


@final
@dataclass(frozen=True, eq=False)
class RowMarks:
    """What a sketch takes of each row: its numbers, the group it is in (-1 for none), whether it was answered right.

    `weights` are those of persons' rows, None where each record counts by itself.
    """

    values: Floats
    groups: Codes
    right: Truths | None
    weights: Floats | None


@final
@dataclass(frozen=True, eq=False)
class Sketched:
    """The noisy table: for every group how much lies at each knot of its tree, and the standard deviation of that.

    `unseen` is how many records may share a score that has no bin of its own.
    """

    knots: tuple[Knots, ...]
    counts: tuple[Floats, ...]
    right: Floats | None
    count_noise: Floats
    right_noise: float
    pure: bool
    unseen: float


@final
@dataclass(frozen=True)
class Sketch(Mechanism[RowMarks, Sketched]):
    """The noise of such a table, calibrated for a layout.

    Guarantee: the bins and the table together are (epsilon, delta)-private, pure when delta is 0.
    Assumes: replace-one neighbours (records, or persons whose rows have weights that add up to at most 1); each row's
    numbers, group and mark depend on that row alone; `count`, the layout and the number of groups are public.
    Reference: sketch.md.
    """

    budget: Budget
    layout: Layout
    count: int

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        if self.layout.cells > LARGEST_TABLE:
            raise InvalidParameter(
                f"{self.layout.classes:,} classes are too many: with {self.layout.bins} bins there may be at most "
                f"{self.layout.most_classes:,}. Use a model that tells fewer classes. Nothing was charged."
            )
        for share in self.shares:
            _ = self._law(share, 1.0)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The parts of the budget: for choosing the bins, if they are chosen, and for counting."""
        return (_LOOK, 1 - _LOOK) if self.layout.chosen else (Fraction(1),)

    @cached_property
    def multipliers(self) -> Multipliers | None:
        """Gaussian noise over sensitivity for both steps together; None for Laplace noise."""
        if self.budget.is_pure:
            return None
        return Multipliers.for_budget(self.budget, self._most, len(self.shares), min(self.shares))

    @property
    def event(self) -> Event:
        """One Gaussian release for both steps, or an epsilon-private one."""
        if self.multipliers is None:
            return budget_event(self.budget)
        return dp_event.GaussianDpEvent(self.multipliers.promised)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return (self.layout.said,)

    @property
    def _most(self) -> int:
        """The most numbers that are released in one step."""
        return int(max(self.layout.cells, self.layout.trees * NODES))

    def _law(self, share: Fraction, sensitivity: float) -> tuple[float, float]:
        """Return the grid, and the scale of the noise in grid units, for one step."""
        if self.budget.is_pure:
            return laplace_law(self.budget.exact_epsilon * share, sensitivity, self._most)
        own = Multipliers.for_budget(self.budget, self._most, len(self.shares), share)
        return own.law(float(inflated(sensitivity)), self._most)

    def deviation(self, share: Fraction, sensitivity: float) -> float:
        """Return the standard deviation of the noise in one number of a step."""
        grid, units = self._law(share, sensitivity)
        return grid * units * (math.sqrt(2) if self.budget.is_pure else 1.0)

    @cached_property
    def table_deviation(self) -> float:
        """The standard deviation of the noise in one entry of the table, before it is divided by its weight."""
        return self.deviation(self.shares[-1], self._sensitivities[1])

    @cached_property
    def _sensitivities(self) -> tuple[float, float]:
        """How far a replacement moves the tree and the table, in L1 norm for Laplace and in L2 norm for Gaussian noise.

        See sketch.md: a replacement takes one row's entries away and puts another's in their place.
        """
        layout, weights = self.layout, self.layout.entry_weights
        if self.budget.is_pure:
            return 2.0 * LEVELS * layout.trees * layout.pooled, 2 * (sum(weights) + layout.mark_weight)
        square = sum(weight**2 for weight in weights) + layout.mark_weight**2
        tree = math.sqrt(2 * LEVELS * layout.trees) * layout.pooled
        return tree * (1 + 2.0**-40), math.sqrt(2 * square) * (1 + 2.0**-40)

    def check(self, value: RowMarks) -> RowMarks:
        """Return the marks if they have the layout's shape, which is public but for the number of a person's rows."""
        if value.values.ndim != 2 or value.values.shape[1] != self.layout.columns:
            raise InvalidParameter("the numbers are not those that the table was laid out for.")
        if len(value.groups) != len(value.values) or (value.weights is None and len(value.values) != self.count):
            raise InvalidParameter("there must be one group for each row.")
        return value

    @np.errstate(all="ignore")
    def randomise(self, value: RowMarks, source: Source) -> Sketched:
        """Choose the bins from a noisy tree, then count in them with noise."""
        layout = self.layout
        held = in_steps(value.weights, len(value.values))
        knots = layout.given_knots
        if layout.chosen:
            exact = np.concatenate([_tree(part, held) for part in layout.in_trees(value.values)])
            noisy = self._noisy(exact, self.shares[0], self._sensitivities[0], source)
            spread = self.deviation(self.shares[0], self._sensitivities[0])
            knots = chosen_knots(layout, noisy.reshape(layout.trees, NODES), self.count * layout.pooled, spread)
        exact = tabulated(layout, value, held, knots)
        noisy = self._noisy(exact, self.shares[-1], self._sensitivities[1], source)
        return self._read(noisy, knots)

    def _noisy(self, exact: Floats, share: Fraction, sensitivity: float, source: Source) -> Floats:
        grid, units = self._law(share, sensitivity)
        if self.budget.is_pure:
            drawn = noise.laplace(source, int(units), exact.size)
        else:
            drawn = noise.gaussian(source, units, exact.size)
        return add_on_grid(exact, drawn, grid)

    def _read(self, table: Floats, knots: tuple[Knots, ...]) -> Sketched:
        """Take the released numbers apart, each divided by its public weight."""
        layout, weights = self.layout, self.layout.group_weights
        ends = np.cumsum([knots[tree].count for tree in layout.tree_of])
        parts = np.split(table, ends)
        counts = tuple(part / weight for part, weight in zip(parts[:-1], weights, strict=True))
        right = parts[-1].reshape(-1, 2) / layout.mark_weight if layout.mark_weight else None
        marked = self.table_deviation / layout.mark_weight if layout.mark_weight else 0.0
        coarse = self.deviation(self.shares[0], self._sensitivities[0])
        unseen = layout.unseen(self.count, coarse)
        return Sketched(knots, counts, right, self.table_deviation / weights, marked, self.budget.is_pure, unseen)


def in_steps(weights: Floats | None, rows: int) -> Floats:
    """Return each row's weight as a whole number of millionths, rounded down, so that sums of them are exact."""
    return np.ones(rows) if weights is None else np.asarray(np.floor(np.clip(weights, 0.0, 1.0) * _UNIT) / _UNIT)


def _tree(values: Floats, weights: Floats) -> Floats:
    """Return how many of the numbers in some columns are below each node of the tree, level by level."""
    codes = codes_of(values)
    each = np.repeat(weights, values.shape[1])
    sums = [
        np.bincount(codes.ravel() // RADIX ** (LEVELS - 1 - level), each, RADIX ** (level + 1))
        for level in range(LEVELS)
    ]
    return np.concatenate(sums)


def tabulated(layout: Layout, value: RowMarks, weights: Floats, knots: tuple[Knots, ...]) -> Floats:
    """Return the exact table, flat: what lies at the knots of every group, and marks, times weights; sums are exact."""
    sizes = [knots[tree].count for tree in layout.tree_of]
    first = np.concatenate([[0], np.cumsum(sizes)])
    table = np.zeros(first[-1])
    for tree, group, numbers, counted in layout.entries(value.values, value.groups):
        held = np.where(counted, weights, 0.0)
        bins, share = knots[tree].placed(numbers)
        upper = np.trunc(held * share * _UNIT) / _UNIT
        start = first[np.where(counted, group, 0)]
        np.add.at(table, start + knots[tree].lower[bins], held - upper)
        np.add.at(table, start + knots[tree].upper[bins], upper)
    table *= np.repeat(layout.group_weights, sizes)
    if not layout.mark_weight or value.right is None:
        return table
    known = value.groups >= 0
    cell = np.where(known, value.groups, 0) * 2 + value.right
    marks = np.bincount(cell, np.where(known, weights, 0.0), 2 * layout.classes)
    return np.concatenate([table, marks * layout.mark_weight])
