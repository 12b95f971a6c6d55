"""What a released table says: any figure of it, with error bars. No record is touched."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from tacit.evaluation.figure import Figure, Range
from tacit.evaluation.knots import PARTS, Knots
from tacit.evaluation.sketch import Sketched
from tacit.noise import public_stream
from tacit.numerics.arrays import Floats

BLUR = 0.2
"""The part of what smearing within bins does to a figure that binning may do: found on made-up scores."""

_REDRAWN = 500
"""How often noise is drawn again, and once more with the other sign, to see what it does to a figure."""

_CLEAR = 2.5
"""How many standard deviations of its noise what lies at the farthest knots must be to be looked at."""

_SURE = 4.0
"""How many times its noise a class must hold for its ranks to be told without doubt."""

_PLAIN, _HIDDEN = 6.0, 0.025
"""How many deviations of its noise a class must be at a limit of the scores to be seen there, and which part of the
records may go unseen there by a loss; where more might, all that lies there counts in its ranges."""

_COINS = 11
_USUAL = 0.95
"""The confidence at which redrawn figures are looked at; they are too few to show rarer ones."""

Masses = Floats
Measure = Callable[[Masses], Floats]


@final
@dataclass(frozen=True, eq=False)
class ScoreTable:
    """What lies at the knots for some groups, and the standard deviation of the noise in each of these numbers.

    `size` is the public number of records, or persons; `unseen` of them may share a score that has no bin of its own.
    """

    counts: Floats
    noise: Floats
    knots: Knots
    size: int
    pure: bool
    unseen: float

    @classmethod
    def of(cls, sketched: Sketched, groups: Sequence[int], tree: int, size: int) -> Self:
        """Take some groups, whose knots are those of a tree, out of what was released."""
        counts, knots = np.array([sketched.counts[group] for group in groups]), sketched.knots[tree]
        noise = np.repeat(sketched.count_noise[list(groups), None], knots.count, axis=1)
        return cls(counts, noise, knots, size, sketched.pure, sketched.unseen)

    def mirrored(self) -> Self:
        """Return the table of the scores times -1, its groups in the opposite order."""
        return replace(self, counts=self.counts[::-1, ::-1], noise=self.noise[::-1, ::-1], knots=self.knots.mirrored())

    @property
    def careful(self) -> Self:
        """The table for losses that have no bound: what stands out of noise, if no more than a few records may not."""
        return self.seen if _PLAIN * float(np.min(self.noise)) < _HIDDEN * self.size else self

    @cached_property
    def seen(self) -> Self:
        """The same table without the lowest and the highest score there can be, where no class stands out.

        A model that is never certain has no records there, and certain answers that are wrong cost most of all: noise
        there would be the largest part of the noise in a loss.
        """
        limit = np.zeros(self.knots.count, dtype=np.bool_)
        limit[[0, -1]] = bool(self.knots.limits)
        empty = limit & ~np.any(self.counts > _PLAIN * self.noise, axis=0)
        return replace(self, counts=np.where(empty, 0.0, self.counts), noise=np.where(empty, 0.0, self.noise))

    @cached_property
    def floors(self) -> Floats:
        """For every group, a number of records that is no more than noise."""
        return np.asarray(np.maximum(1.0, np.linalg.norm(self.noise, axis=1)))

    @property
    def floor(self) -> float:
        """A number of records that is no more than noise, whichever group it is in."""
        return float(np.max(self.floors))

    @cached_property
    def settled(self) -> Self:
        """The same table without what is far out and nothing but noise: less noise in what it says, but no error bars.

        From either end inwards, what lies at the knots is added up until it stands out.
        """
        kept = np.ones(self.knots.count, dtype=np.bool_)
        for way in (1, -1):
            sums = np.cumsum(self.counts[0][::way])
            clear = sums > _CLEAR * np.sqrt(np.cumsum(self.noise[0][::way] ** 2))
            first = int(np.argmax(clear)) if np.any(clear) else len(sums) // 2
            kept[::way][: max(first - 1, 0)] = False
        return replace(self, counts=np.where(kept, self.counts, 0.0))

    @cached_property
    def doubt(self) -> float:
        """How little the rarer class stands out from noise, from 0 to 1: where it is 1, ranks say nothing of it."""
        return float(np.clip((_SURE - np.min(self.counts.sum(axis=1) / self.floors)) / (_SURE - 1), 0.0, 1.0))

    @cached_property
    def ties(self) -> float:
        """Which part of a usual bin, from 0 to 1, may be a score that many share and that was not seen."""
        mixed = np.isin(np.arange(self.knots.count), self.knots.lower[self.knots.alike], invert=True)
        held = max(float(self.counts[:, mixed].sum()), self.floor)
        return float(min(1.0, self.unseen * np.count_nonzero(~self.knots.alike) / held))

    @property
    def places(self) -> Floats:
        """Where the parts of all bins are."""
        return self.knots.middles

    @cached_property
    def masses(self) -> Masses:
        """How much of each group is in every part of the bins; noise may make some of it negative."""
        return self.filled(self.counts)

    @cached_property
    def shown(self) -> Masses:
        """The masses that curves and rates at thresholds show: cumulated masses made monotone, so none is negative."""
        return np.array([_monotone(row) for row in self.masses])

    def filled(self, counts: Floats) -> Masses:
        """Spread what lies at the knots over the parts of all bins: linear, so that noise makes no bias."""
        return np.asarray(counts @ self.knots.filling.T)

    def above(self, place: float) -> Floats:
        """Return the share of every part that lies above a place."""
        ends = self.knots.places(np.linspace(0, 1, PARTS + 1))
        low, high = ends[:, :-1].ravel(), ends[:, 1:].ravel()
        # Edges that are next to each other have parts without a width, all on one side.
        inside = np.clip((high - place) / np.maximum(high - low, 1e-290), 0.0, 1.0)
        return np.where(np.repeat(self.knots.alike, PARTS), np.repeat(self.knots.starts >= place, PARTS), inside)

    def spread(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """Return figures of the table, and the variances that noise and sampling give them, to first order."""
        value = np.atleast_1d(measure(self.masses))
        step = np.maximum(self.noise / 2, 0.25).ravel()
        moved = np.diag(step).reshape(step.size, *self.counts.shape)
        up, down = (measure(self.filled(self.counts + sign * moved)) for sign in (1, -1))
        slope = (up - down).reshape(step.size, -1) / (2 * step[:, None])
        blurred = np.atleast_1d(measure(self.counts @ self.knots.smearing.T))
        noise = (BLUR * (value - blurred)) ** 2 + np.sum((slope * self.noise.reshape(-1, 1)) ** 2, axis=0)
        held = np.maximum(self.counts, 0.0).ravel()[:, None]
        total = max(float(np.sum(held)), 1.0)
        sampled = np.sum(held * slope**2, axis=0) - np.sum(held * slope, axis=0) ** 2 / total
        return value, noise, np.maximum(sampled, 0.0)

    def blurred(self, measure: Measure) -> Floats:
        """Return how far figures move if what lies at the knots is smeared once more."""
        smeared = np.atleast_1d(measure(self.counts @ self.knots.smearing.T))
        return np.abs(np.atleast_1d(measure(self.masses)) - smeared)

    @cached_property
    def redrawn(self) -> Floats:
        """Noise of the law that was drawn, drawn again from public coins that are always the same: for each sign, rows
        of what may lie at the knots beside what does.
        """
        level = public_stream(_COINS, _REDRAWN * self.counts.size) + 2.0**-54
        laplace = np.sign(0.5 - level) * np.log1p(-np.abs(2 * level - 1)) / math.sqrt(2)
        drawn = laplace if self.pure else ndtri(level)
        moved = drawn.reshape(_REDRAWN, *self.counts.shape) * self.noise
        return np.concatenate([moved, -moved])

    @cached_property
    def redrawn_masses(self) -> Masses:
        """What lies in the parts of all bins, were the noise drawn again on top of what was released."""
        return self.filled(self.counts + self.redrawn)

    def figures(self, measure: Measure, confidence: float, limits: Range, blur: float = BLUR) -> list[Figure]:
        """Return figures of the table with their error bars: noise by drawing it again, sampling to first order."""
        found, _, sampled = self.spread(measure)
        again = measure(self.redrawn_masses).reshape(2 * _REDRAWN, -1)
        blurred = blur * self.blurred(measure)
        rows = zip(found.tolist(), again.T, blurred.tolist(), sampled.tolist(), strict=True)
        return [around(each, own, off, other, confidence, limits) for each, own, off, other in rows]


def _monotone(masses: Floats) -> Floats:
    """Return non-negative masses whose sums from below are nearest to those given."""
    total = max(float(np.sum(masses)), 0.0)
    sums = isotonic_regression(np.cumsum(masses)).x
    return np.diff(np.clip(sums, 0.0, total), prepend=0.0)


def around(value: float, again: Floats, blur: float, sampling: float, confidence: float, limits: Range) -> Figure:
    """Return a figure with the error bars that redrawn figures show, moved by the bias that they have.

    What a figure of noisier counts is to that of noisy ones, that is to the exact one: it is as far off, on the other
    side. `blur` is the standard deviation of what bins may do, `sampling` a variance.
    """
    usual, wanted = float(ndtri((1 + _USUAL) / 2)), float(ndtri((1 + confidence) / 2))
    low, middle, high = np.quantile(again, [(1 - _USUAL) / 2, 0.5, (1 + _USUAL) / 2]).tolist()
    center = 2 * value - middle
    # Where noise is large neither side of a skew law is known well: the wider one is taken for both.
    reach = wanted / usual * max(high - middle, middle - low)

    def reached(*deviations: float) -> tuple[float, float]:
        half = math.hypot(reach, *deviations)
        return min(center, value) - half, max(center, value) + half

    spread = wanted * math.sqrt(sampling)
    ranges = reached(wanted * blur), (center - spread, center + spread), reached(wanted * blur, spread)
    cut = [(max(limits[0], min(a, limits[1])), min(limits[1], max(b, limits[0]))) for a, b in ranges]
    return Figure(min(limits[1], max(limits[0], center)), cut[0], cut[1], cut[2], confidence)


def doubted(figure: Figure, below: float, above: float) -> Figure:
    """Return a figure between 0 and 1 whose ranges of noise are wider by a doubt that no draw of noise shows."""
    ranges = [(max(0.0, low - below), min(1.0, high + above)) for low, high in (figure.noise, figure.interval)]
    return replace(figure, noise=ranges[0], interval=ranges[1])


def figure_of(value: float, noise: float, sampling: float, confidence: float, limits: Range) -> Figure:
    """Return a figure with error bars of normal laws with these variances, cut to what it can be."""
    reach, value = float(ndtri((1 + confidence) / 2)), float(value)

    def around(variance: float) -> tuple[float, float]:
        half = reach * math.sqrt(variance)
        return max(limits[0], min(value - half, limits[1])), min(limits[1], max(value + half, limits[0]))

    kept = min(limits[1], max(limits[0], value))
    return Figure(kept, around(noise), around(sampling), around(noise + sampling), confidence)
