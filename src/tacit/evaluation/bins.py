"""Where the bins of a table of scores are: laid by public facts, or chosen from a noisy tree of counts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np
from scipy.special import expit

from tacit.evaluation.knots import Knots
from tacit.numerics.arrays import Codes, Floats, Integers, Truths

RADIX, LEVELS = 32, 3
NODES = sum(RADIX ** (level + 1) for level in range(LEVELS))
"""How many nodes a tree has: 32 children of every node, on three levels."""

_LEAVES = RADIX**LEVELS
_FINEST = 2.0**10
_DECADES = _LEAVES / 2 / math.asinh(2.0**24)
"""Leaves are evenly spaced in asinh(2^10 t), for |t| up to 2^14: a thousandth of t wide, whatever its size."""

LARGEST = 2.0**14
"""Numbers beyond this, on either side, are read as this."""

LARGEST_TABLE = 2**22
"""How many numbers a table may have."""

_CLEAR = 1.0
"""How many standard deviations of the noise stand out from it."""

_FARTHEST = 2.5
"""How far from the middle edges may lie, in distances between the quarters of them."""

_WIDE = 2.6
"""How far edges for errors and targets reach, in distances between their quarters (1.35 deviations of a normal law)."""

_SPREAD = 0.3
"""How far edges reach where nearly all numbers are shared by many."""

_BELOW = 1e-3
"""How far below its leaf a bin of one score begins, in leaves: a bin holds its upper edge, a leaf its start."""

_STRIDE, _STRIDES = 1.6, 12
"""By how much each bin is longer than the one before it, where errors are rare, and how many such bins there may be."""

_SHARED, _SHARED_NOISE = 0.4, 3.0
"""A score is one that many records share if it holds this part of what a bin does, and stands so far out of noise."""

_UNSEEN = 4.0
"""How many deviations of the noise may share a score unseen: leaves that noise filled took some of what stands out."""

_LEAST = 0.35
"""The least weight of a class in the choice of bins."""

Kind = Literal["two", "several", "numbers"]


@final
@dataclass(frozen=True)
class Layout:
    """What is public about a table: which numbers of a row are counted in which group, with which weight.

    "two" classes: one number, in the group of the row's class. "several" classes: one number a class; that of the
    row's own class is counted in the group of that class, the others in groups for the rest, with a smaller weight.
    "numbers": each number in a group, and a tree, of its own. At `fixed` edges bins share nothing, so that what lies
    above is counted and not estimated. The other edges are `given` by public facts, or else chosen. `low` and `high`
    bound all numbers: scores that are as low or as high, of which a model is certain, have bins of their own.
    `log_odds` says that numbers are such, and not scores on a scale that nobody knows.
    """

    kind: Kind
    classes: int
    bins: int
    fixed: tuple[float, ...]
    given: tuple[float, ...]
    low: float
    high: float
    log_odds: bool
    pure: bool

    @property
    def columns(self) -> int:
        """How many numbers a row has."""
        return {"two": 1, "several": self.classes, "numbers": 2}[self.kind]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return {"two": 2, "several": 2 * self.classes, "numbers": 2}[self.kind]

    @property
    def trees(self) -> int:
        """How many trees, and so rows of edges, there are."""
        return 2 if self.kind == "numbers" else 1

    @property
    def pooled(self) -> int:
        """How many numbers of a row share a tree."""
        return int(self.columns // self.trees)

    @property
    def width(self) -> int:
        """How many knots there are at most: the edges, twice where they are fixed, and one beyond on either side.

        Of chosen edges half as many as there are bins may be scores that many share, with two cuts each; those of
        numbers reach farther.
        """
        inner = 3 * self.bins + 1 + 2 * _STRIDES if self.chosen else len(self.given)
        return inner + 2 * len(self.fixed) + 2 + len(self.limits)

    @property
    def limits(self) -> tuple[float, ...]:
        """The scores that have bins of their own, whatever the others are."""
        return () if self.kind == "numbers" else (self.low, self.high)

    def unseen(self, total: float, noise: float) -> float:
        """Return how many of all records may share a score that has no bin of its own, with such noise in the tree."""
        return max(_UNSEEN * noise, _SHARED * total / self.bins) if self.chosen else total

    @property
    def chosen(self) -> bool:
        """Whether edges are chosen, by what a tree shows."""
        return not self.given

    @property
    def cells(self) -> int:
        """How many numbers the table has."""
        return self.groups * self.width + (2 * self.classes if self.mark_weight else 0)

    @property
    def most_classes(self) -> int:
        """How many of several classes there may be in a table with these bins."""
        return LARGEST_TABLE // (2 * self.width + 2)

    @property
    def mark_weight(self) -> float:
        """What being right weighs where a class is not told by one threshold."""
        return 0.25 if self.kind == "several" else 0.0

    @cached_property
    def rest_weight(self) -> float:
        """What a number of another class weighs: a power of two, so that k - 1 of them weigh about as much as one."""
        others = self.classes - 1
        return 2.0 ** -math.ceil(math.log2(others if self.pure else math.sqrt(others)))

    @property
    def entry_weights(self) -> Sequence[float]:
        """The weights of all numbers that one row has in the table."""
        return [1.0] * (self.columns if self.kind != "several" else 1) + (
            [self.rest_weight] * (self.classes - 1) if self.kind == "several" else []
        )

    @cached_property
    def group_weights(self) -> Floats:
        """The weight of every group."""
        rest = [self.rest_weight] * self.classes if self.kind == "several" else []
        return np.array([1.0] * (self.groups - len(rest)) + rest)

    @property
    def tree_of(self) -> Codes:
        """The tree that every group's edges come from."""
        return np.arange(2) if self.kind == "numbers" else np.zeros(self.groups, dtype=np.intp)

    @property
    def said(self) -> str:
        """One phrase about the table."""
        what = {"two": "2 classes", "several": f"{self.classes} classes", "numbers": "errors and targets"}[self.kind]
        where = "chosen with noise" if self.chosen else "laid by public facts"
        return f"a table of {what} in {self.bins} bins, {where}"

    @property
    def given_knots(self) -> tuple[Knots, ...]:
        """The knots where edges are not chosen."""
        return tuple(Knots.at(self.given, self.fixed, self.limits) for _ in range(self.trees))

    def in_trees(self, values: Floats) -> list[Floats]:
        """Return the numbers that each tree is about."""
        return [values[:, :1], values[:, 1:]] if self.kind == "numbers" else [values]

    def entries(self, values: Floats, groups: Codes) -> Iterator[tuple[int, Codes, Floats, Truths]]:
        """Yield what is counted of every row: the tree, the group, the number, and whether it is counted at all."""
        known = groups >= 0
        if self.kind == "numbers":
            for tree in range(2):
                yield tree, np.full(len(values), tree), values[:, tree], known
        elif self.kind == "two":
            yield 0, groups, values[:, 0], known
        else:
            own = values[np.arange(len(values)), np.where(known, groups, 0)]
            yield 0, groups, own, known
            for other in range(self.classes):
                group = np.full(len(values), self.classes + other)
                yield 0, group, values[:, other], known & (groups != other)


def codes_of(values: Floats) -> Integers:
    """Return the leaf of every number."""
    codes = np.floor(np.arcsinh(values * _FINEST) * _DECADES) + _LEAVES // 2
    return np.asarray(np.clip(codes, 0, _LEAVES - 1), dtype=np.int64)


def start_of(codes: Integers | Floats) -> Floats:
    """Return where leaves begin."""
    return np.asarray(np.sinh((codes - _LEAVES // 2) / _DECADES) / _FINEST)


def chosen_knots(layout: Layout, trees: Floats, total: float, noise: float) -> tuple[Knots, ...]:
    """Return knots where the noisy trees' contents are cut into even parts, and at the fixed edges."""
    found = [_even(layout, *_leaves(tree, total, noise), noise) for tree in trees]
    low, high, fixed = layout.low, layout.high, layout.fixed
    return tuple(
        Knots.at(np.clip(edges, low, high), (*fixed, *np.clip(cuts, low, high)), layout.limits) for edges, cuts in found
    )


def _leaves(tree: Floats, total: float, noise: float) -> tuple[Integers, Floats]:
    """Return the leaves that seem to hold something, and how much: every node's children share what it holds.

    Children that are no more than noise hold nothing, unless all are: a far leaf would else draw an edge to itself.
    """
    nodes, mass, start = np.zeros(1, dtype=np.int64), np.array([float(total)]), 0
    for level in range(LEVELS):
        size = RADIX ** (level + 1)
        children = nodes[:, None] * RADIX + np.arange(RADIX)
        noisy = tree[start : start + size][children]
        clear = noisy > _CLEAR * noise
        clear |= ~np.any(clear, axis=1, keepdims=True)
        share = on_simplex(np.where(clear, noisy, -np.inf), mass)
        kept = share > 0
        nodes, mass, start = children[kept], share[kept], start + size
    return nodes, mass


def on_simplex(rows: Floats, totals: Floats) -> Floats:
    """Return the nearest non-negative rows with these sums; where a row is minus infinity it becomes 0."""
    ordered = -np.sort(-rows, axis=1)
    counted = np.isfinite(ordered)
    sums = np.cumsum(np.where(counted, ordered, 0.0), axis=1)
    excess = (sums - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(counted & (ordered > excess), axis=1) - 1
    return np.asarray(np.maximum(rows - excess[np.arange(len(rows)), np.maximum(last, 0)][:, None], 0.0))


def _even(layout: Layout, leaves: Integers, mass: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the inner edges, and which of them are cuts: even parts of both classes, or even steps around the middle.

    Where many records share a number there are two cuts, so that it is a bin of its own and blurs no other; the lowest
    and the highest score there can be need none.
    """
    limit = np.isin(leaves, codes_of(np.array(layout.limits)))
    shared = (mass > _SHARED_NOISE * noise) & ~limit
    if layout.kind != "numbers":
        mass = _for_both(layout, start_of(leaves), mass)
    shared &= mass > _SHARED * np.sum(mass) / layout.bins
    shared &= np.argsort(np.argsort(-np.where(shared, mass, 0.0))) < layout.bins // 2
    cuts = np.concatenate([start_of(leaves[shared].astype(np.float64) - _BELOW), start_of(leaves[shared] + 1)])
    if layout.kind == "numbers":
        return np.concatenate([_around(layout, leaves, np.where(shared, 0.0, mass), noise), cuts]), cuts
    below = np.cumsum(mass) / np.sum(mass)
    levels = np.arange(1, layout.bins) / layout.bins
    places = np.minimum(np.searchsorted(below, levels), len(leaves) - 1)
    edges = start_of(leaves[places[~(shared | limit)[places]]] + 1)
    if len(edges) > 2:
        # What noise shows far away would stretch an outer bin over nothing.
        low, middle, high = np.quantile(edges, [0.25, 0.5, 0.75])
        edges = np.clip(edges, middle - _FARTHEST * (high - low), middle + _FARTHEST * (high - low))
    return np.concatenate([edges, cuts]), cuts


def _around(layout: Layout, leaves: Integers, mass: Floats, noise: float) -> Floats:
    """Return even steps around the middle of errors or targets but for those that many share."""
    if np.sum(mass) <= _SHARED_NOISE * noise:
        return outward(0.0, _SPREAD, layout.bins)
    below = np.cumsum(mass) / np.sum(mass)
    found = np.searchsorted(below, [0.25, 0.5, 0.75])
    low, middle, high = start_of(leaves[np.minimum(found, len(leaves) - 1)])
    return outward(float(middle), _WIDE * max(float(high - low), 1e-4), layout.bins)


def outward(middle: float, reach: float, bins: int) -> Floats:
    """Return even steps around the middle, then ever longer ones to the ends of what errors and targets can be."""
    steps = reach * _STRIDE ** np.arange(1, _STRIDES + 1)
    inner = np.linspace(middle - reach, middle + reach, bins - 1)
    every = np.concatenate([middle - steps, inner, middle + steps])
    return np.concatenate([[-2.0], every[(every > -2.0) & (every < 2.0)], [2.0]])


def _for_both(layout: Layout, scores: Floats, mass: Floats) -> Floats:
    """Weigh leaves by the classes that scores suggest, the rarer more: what noise does to it is the larger."""
    below = np.cumsum(mass) / np.sum(mass)
    spread = scores[np.searchsorted(below, 0.9).clip(0, len(scores) - 1)]
    spread = spread - scores[np.searchsorted(below, 0.1).clip(0, len(scores) - 1)]
    chance = expit(scores if layout.log_odds else 4 * scores / max(float(spread), 1e-9))
    positive, negative = mass * chance, mass * (1 - chance)
    ones, zeros = max(float(positive.sum()), 1e-300), max(float(negative.sum()), 1e-300)
    rare = min(max(zeros / (ones + zeros), _LEAST), 1 - _LEAST)
    return np.asarray(positive * (rare / ones) + negative * ((1 - rare) / zeros))
