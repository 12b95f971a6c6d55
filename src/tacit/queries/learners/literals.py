"""Literals, tests of one feature, the nodes that lists and trees make of them, and how well each divides the classes.

Whatever is judged here was answered with noise. A literal is preferred by what is left of its worth after an
allowance: as much as the luckiest of so many literals without any worth would seem to have.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.numerics.arrays import Codes, Floats, Truths
from tacit.queries.learners.domains import CodeColumn, Feature


@final
@dataclass(frozen=True)
class FeatureLiteral:
    """That a feature has a code, or one up to it; or the contrary."""

    feature: int
    code: int
    up_to: bool
    contrary: bool = False

    def holds(self, codes: Codes) -> Truths:
        """Return where it is true, given the codes of all features."""
        own = codes[:, self.feature]
        return np.asarray((own <= self.code if self.up_to else own == self.code) != self.contrary)

    def test(self, table: Any, columns: Sequence[Feature | CodeColumn]) -> Any:
        """Return the expression for whether it is true of a record."""
        found = columns[self.feature].test(table, self.code, up_to=self.up_to)
        return ~found if self.contrary else found

    def says(self, features: Sequence[Feature]) -> str:
        """Put the literal into words."""
        feature = features[self.feature]
        return (feature.denies if self.contrary else feature.says)(self.code, up_to=self.up_to)


@final
@dataclass(frozen=True)
class Node:
    """A leaf, or a literal and where to go if it is true and if it is not; and the shares of the classes here."""

    shares: Floats
    literal: FeatureLiteral | None = None
    yes: int = -1
    no: int = -1


@final
@dataclass(frozen=True)
class Candidates:
    """All literals about some records, what share of the records in each class each is true of, and how surely.

    `inside` has a row for each literal and a column for each class; `cells` says how many noisy numbers went into
    each entry of a row.
    """

    literals: tuple[FeatureLiteral, ...]
    inside: Floats
    cells: Floats
    totals: Floats

    @classmethod
    def of(cls, features: Sequence[Feature], tables: Sequence[Floats], totals: Floats) -> "Candidates":
        """List the literals of all features, given the shares by code and class."""
        literals: list[FeatureLiteral] = []
        inside, cells = [], []
        for place, (feature, table) in enumerate(zip(features, tables, strict=True)):
            up_to = feature.ordered and feature.size > 2
            # For two codes, one of them and its contrary say all.
            count = feature.size if not feature.ordered and feature.size > 2 else feature.size - 1
            literals += [FeatureLiteral(place, code, up_to) for code in range(count)]
            inside.append((np.cumsum(table, axis=0) if up_to else table)[:count])
            before = np.arange(1.0, count + 1)
            cells.append(np.minimum(before, feature.size - before) if up_to else np.ones(count))
        whole = np.maximum(totals, 0.0)
        return cls(tuple(literals), np.clip(np.vstack(inside), 0.0, whole), np.concatenate(cells), whole)

    def gains(self, deviation: float, luck: float) -> Floats:
        """Return by how much each literal lowers the Gini impurity of the records, less the allowance.

        With classes t = a + b divided, the gain is |a|^2/A + |b|^2/B - |t|^2/T, capitals for sums over classes, which
        is (AB/T) |a/A - b/B|^2. Noise of variance v in a (and its contrary in b) moves the difference of the shares
        by v (1/A + 1/B)^2 in the mean square, and so the gain by v (1/A + 1/B). Where A or B itself may be noise alone,
        there is no gain.
        """
        inside, outside = self.inside, self.totals - self.inside
        a, b, whole = inside.sum(axis=1), outside.sum(axis=1), self.totals.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = inside / a[:, None] - outside / b[:, None]
            gains = a * b / whole * np.square(shares).sum(axis=1)
            gains -= luck * deviation**2 * self.cells * (1.0 / a + 1.0 / b)
        floor = self.allowance(deviation, luck)
        return np.where((a > floor) & (b > floor) & (whole > 0), gains, -np.inf)

    def allowance(self, deviation: float, luck: float) -> Floats:
        """Return how many records each literal may seem to have by the noise alone."""
        return np.asarray(np.sqrt(luck * self.cells * self.inside.shape[1]) * deviation)


def allowance(literals: int) -> float:
    """Return the square of what the largest of so many standard normal numbers is about."""
    return 2.0 * math.log(max(2, literals))
