"""Knots: the ends of bins, between which a record is shared by how far up its bin it lies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.numerics.arrays import Codes, Floats, Truths

PARTS = 8
"""Into how many parts a bin is cut to say what lies where in it."""

_SHARES = (np.arange(PARTS) + 0.5) / PARTS
_NARROW = 2e-3
"""Bins between two cuts are scores that many share if they are no wider than this part of the score."""

_OUTER = 8
"""Beyond the outer edges positions fade within this part of the distance between them."""


@final
@dataclass(frozen=True, eq=False)
class Knots:
    """Edges in ascending order, and which of them are cuts, where bins share no knot.

    Of bin b, the ends are the knots `lower[b]` and `upper[b]`: one and the same if its scores are alike. The outer bins
    reach far beyond the outer edges. `limits`, where there are any, are the lowest and the highest score there can be:
    each is a bin of its own, before the first and after the last of the others.
    """

    edges: Floats
    cut: Truths
    limits: tuple[float, ...]

    @classmethod
    def at(cls, edges: Sequence[float] | Floats, fixed: Sequence[float], limits: tuple[float, ...] = ()) -> Self:
        """Return the knots of these edges, with cuts at the fixed ones."""
        every = np.unique(np.concatenate([np.asarray(edges, dtype=np.float64), np.asarray(fixed, dtype=np.float64)]))
        return cls(every, np.isin(every, np.asarray(fixed)), limits)

    def mirrored(self) -> "Knots":
        """Return the knots of the scores times -1: the same ones, in the opposite order."""
        ends = tuple(-each for each in self.limits[::-1])
        return Knots(-self.edges[::-1], self.cut[::-1], ends)

    @cached_property
    def alike(self) -> Truths:
        """Which bins hold one score that many share: the limits, and narrow bins between two cuts."""
        sizes = np.maximum(np.abs(self.edges[:-1]), np.abs(self.edges[1:]))
        narrow = np.diff(self.edges) <= _NARROW * np.maximum(sizes, _NARROW)
        return self._limited(np.concatenate([[False], self.cut[:-1] & self.cut[1:] & narrow, [False]]), True)

    @cached_property
    def lower(self) -> Codes:
        """The knot at the lower end of every bin."""
        return np.append(0, np.cumsum(~self.alike[:-1] + self._limited(self.cut, True).astype(np.intp)))

    @cached_property
    def upper(self) -> Codes:
        """The knot at the upper end of every bin."""
        return np.asarray(self.lower + ~self.alike)

    def _limited(self, inner: Floats | Truths, outer: float) -> NDArray[Any]:
        """Return an array with something before and after it for the limits, if there are any."""
        return np.concatenate([[outer], inner, [outer]]) if self.limits else inner

    @property
    def count(self) -> int:
        """How many knots there are."""
        return int(self.upper[-1]) + 1

    @cached_property
    def reach(self) -> float:
        """How far positions beyond the outer edges reach before they fade."""
        return max(float(self.edges[-1] - self.edges[0]) / _OUTER, 1e-3)

    @cached_property
    def spans(self) -> Floats:
        """The width of every bin; of the outer ones the reach, of the limits 1."""
        return self._limited(np.concatenate([[self.reach], np.diff(self.edges), [self.reach]]), 1.0)

    def placed(self, numbers: Floats) -> tuple[Codes, Floats]:
        """Return the bin of each number, whose upper edge belongs to it, and how far up it lies, from 0 to 1."""
        edges, last = self.edges, len(self.edges)
        bins = np.searchsorted(edges, numbers, side="left")
        low = edges[np.maximum(bins - 1, 0)]
        inside = (numbers - low) / np.append(np.append(1.0, np.diff(edges)), 1.0)[bins]
        beyond = np.maximum(np.where(bins == 0, edges[0] - numbers, numbers - edges[-1]), 0.0) / self.reach
        far = -np.expm1(-beyond)
        share = np.clip(np.where(bins == 0, 1 - far, np.where(bins == last, far, inside)), 0.0, 1.0)
        if self.limits:
            bins = np.where(numbers <= self.limits[0], 0, np.where(numbers >= self.limits[1], last + 2, bins + 1))
        return bins, np.where(self.alike[bins], 0.0, share)

    def places(self, shares: Floats) -> Floats:
        """Return the numbers that lie at these positions of every bin: the inverse of `placed`."""
        below = self.edges[0] + self.reach * np.log(np.maximum(shares, 1e-6))
        inside = self.edges[:-1, None] + np.diff(self.edges)[:, None] * shares
        above = self.edges[-1] - self.reach * np.log(np.maximum(1 - shares, 1e-6))
        ends = [np.full((1, len(shares)), limit) for limit in self.limits]
        return np.vstack([*ends[:1], below, inside, above, *ends[1:]])

    @cached_property
    def starts(self) -> Floats:
        """Where bins begin; this much is not in them any more."""
        return np.concatenate([[-np.inf], *([self.limits[:1]] if self.limits else []), self.edges, self.limits[1:]])

    @cached_property
    def middles(self) -> Floats:
        """The middles of the parts of all bins, in ascending order."""
        return self.places(_SHARES).ravel()

    @cached_property
    def ends(self) -> Codes:
        """For every part of a bin the lowest part that has the same score: its bin's where many share a score."""
        parts = np.arange(len(self.spans) * PARTS)
        return np.where(np.repeat(self.alike, PARTS), parts // PARTS * PARTS, parts)

    @cached_property
    def filling(self) -> Floats:
        """The matrix that turns what lies at the knots into what lies in the parts of all bins.

        It is the density that is linear in every bin, continuous but for cuts, and has just these shares at the knots.
        """
        shares = np.zeros((self.count, self.count))
        parts = np.zeros((len(self.spans) * PARTS, self.count))
        for bin_, (low, high, span) in enumerate(zip(self.lower, self.upper, self.spans, strict=True)):
            np.add.at(shares, np.ix_([low, high], [low, high]), span / 6 * np.array([[2.0, 1.0], [1.0, 2.0]]))
            rows = slice(bin_ * PARTS, (bin_ + 1) * PARTS)
            parts[rows, low] += span * (1 - _SHARES) / PARTS
            parts[rows, high] += span * _SHARES / PARTS
        return np.asarray(np.linalg.solve(shares.T, parts.T).T)

    @cached_property
    def gathering(self) -> Floats:
        """The matrix that turns what lies in the parts of all bins into what lies at the knots: `filling` undone."""
        hats = np.zeros((self.count, len(self.spans) * PARTS))
        for bin_, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            hats[low, bin_ * PARTS : (bin_ + 1) * PARTS] += 1 - _SHARES
            hats[high, bin_ * PARTS : (bin_ + 1) * PARTS] += _SHARES
        return np.asarray(np.linalg.solve(hats @ self.filling, hats))

    @cached_property
    def smearing(self) -> Floats:
        """The same for a density that is a mixture of the knots' own hats: what it differs by shows what bins blur."""
        parts = np.zeros((len(self.spans) * PARTS, self.count))
        whole = np.bincount(self.lower, self.spans, self.count) + np.bincount(self.upper, self.spans, self.count)
        for bin_, (low, high, span) in enumerate(zip(self.lower, self.upper, self.spans, strict=True)):
            rows = slice(bin_ * PARTS, (bin_ + 1) * PARTS)
            parts[rows, low] += 2 * span * (1 - _SHARES) / PARTS / whole[low]
            parts[rows, high] += 2 * span * _SHARES / PARTS / whole[high]
        return parts

    @cached_property
    def ranks(self) -> tuple[Floats, Floats]:
        """Which part of what lies at one knot is above what lies at another, half where they tie; and of it smeared."""
        below = np.tri(len(self.spans) * PARTS) - 0.5 * np.eye(len(self.spans) * PARTS)
        return self.filling.T @ below @ self.filling, self.smearing.T @ below @ self.smearing
