"""What a released table says: any figure of it, with error bars. No record is touched."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

import numpy as np
from scipy.special import ndtri

from tacit.evaluation.figure import Figure
from tacit.evaluation.knots import PARTS, Knots
from tacit.evaluation.sketch import Sketched
from tacit.numerics.arrays import Floats

_BLUR = 0.35
"""The part of what smearing within bins does to a figure that binning may do: found on made-up scores."""

Masses = Floats
Measure = Callable[[Masses], Floats]


@final
@dataclass(frozen=True, eq=False)
class Table:
    """What lies at the knots for some groups, with the standard deviation of the noise in it, for each group.

    `size` is the public number of records, or persons.
    """

    counts: Floats
    noise: Floats
    knots: Knots
    size: int

    @classmethod
    def of(cls, sketched: Sketched, groups: Sequence[int], tree: int, size: int) -> Self:
        """Take some groups, whose knots are those of a tree, out of what was released."""
        counts = np.array([sketched.counts[group] for group in groups])
        return cls(counts, sketched.count_noise[list(groups)], sketched.knots[tree], size)

    @cached_property
    def floor(self) -> float:
        """A number of records that is no more than noise."""
        return max(1.0, float(np.max(self.noise)) * math.sqrt(self.knots.count))

    @property
    def places(self) -> Floats:
        """Where the parts of all bins are."""
        return self.knots.middles

    @cached_property
    def masses(self) -> Masses:
        """How much of each group is in every part of the bins; noise may make some of it negative."""
        return self.filled(self.counts)

    def filled(self, counts: Floats) -> Masses:
        """Spread what lies at the knots over the parts of all bins: linear, so that noise makes no bias."""
        return np.asarray(counts @ self.knots.filling.T)

    def above(self, place: float) -> Floats:
        """Return the share of every part that lies above a place."""
        ends = self.knots.places(np.linspace(0, 1, PARTS + 1))
        low, high = ends[:, :-1].ravel(), ends[:, 1:].ravel()
        return np.clip((high - place) / (high - low), 0.0, 1.0)

    def spread(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """Return figures of the table, and the variances that noise and sampling give them, to first order."""
        value = np.atleast_1d(measure(self.masses))
        step = np.repeat(np.maximum(self.noise / 2, 0.25), self.knots.count)
        moved = np.diag(step).reshape(step.size, *self.counts.shape)
        up, down = (measure(self.filled(self.counts + sign * moved)) for sign in (1, -1))
        slope = (up - down).reshape(step.size, -1) / (2 * step[:, None])
        blurred = np.atleast_1d(measure(self.counts @ self.knots.smearing.T))
        noise = (_BLUR * (value - blurred)) ** 2 + np.sum(
            (slope * np.repeat(self.noise, self.knots.count)[:, None]) ** 2, axis=0
        )
        held = np.maximum(self.counts, 0.0).ravel()[:, None]
        total = max(float(np.sum(held)), 1.0)
        sampled = np.sum(held * slope**2, axis=0) - np.sum(held * slope, axis=0) ** 2 / total
        return value, noise, np.maximum(sampled, 0.0)

    def figures(self, measure: Measure, confidence: float, limits: tuple[float, float]) -> list[Figure]:
        """Return figures of the table with their error bars."""
        value, noise, sampled = self.spread(measure)
        rows = zip(value.tolist(), noise.tolist(), sampled.tolist(), strict=True)
        return [figure_of(each, own, other, confidence, limits) for each, own, other in rows]


def figure_of(value: float, noise: float, sampling: float, confidence: float, limits: tuple[float, float]) -> Figure:
    """Return a figure with error bars of normal laws with these variances, cut to what it can be."""
    reach = float(ndtri((1 + confidence) / 2))

    def around(variance: float) -> tuple[float, float]:
        half = reach * math.sqrt(variance)
        return max(limits[0], min(value - half, limits[1])), min(limits[1], max(value + half, limits[0]))

    kept = min(limits[1], max(limits[0], value))
    return Figure(kept, around(noise), around(sampling), around(noise + sampling), confidence)
