"""Figures that are one noisy sum over another, such as a mean loss or the area under the ROC curve.

Where a quotient lies is found without dividing (Fieller 1954): it may be any number r for which the part less r times
the whole, whose mean is 0 for the exact r, is within its own error bars. That is right however small the whole is:
where it may be nothing, the quotient may be anything.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtri

from tacit.evaluation.figure import Figure, Range
from tacit.evaluation.table import BLUR, ScoreTable
from tacit.numerics.arrays import Floats, Truths

Variances = tuple[float, float, float]


@final
@dataclass(frozen=True)
class Quotient:
    """A part of a whole; the noise in the two is `variances`: of the part, of both together, of the whole.

    `least` is a whole that is no more than noise: below it the value is drawn to `usual`. `sampled` is the variance by
    sampling, and `blurred` how far smearing within bins moves the quotient.
    """

    part: float
    whole: float
    variances: Variances
    least: float
    usual: float
    sampled: float
    blurred: float

    @property
    def value(self) -> float:
        """The quotient, drawn to what is usual where the whole is no more than noise."""
        return self.usual + (self.part - self.usual * self.whole) / max(self.whole, self.least)

    def within(self, deviations: float, noise: float, sampled: float) -> Range:
        """Return where the quotient lies by so many deviations of a part of its noise, and of its sampling."""
        of_part, of_both, of_whole = (each * noise for each in self.variances)
        more = (noise * (BLUR * self.blurred) ** 2 + sampled * self.sampled) * self.whole**2
        return fieller(self.part, self.whole, (of_part + more, of_both, of_whole), deviations)

    def figure(self, confidence: float, limits: Range) -> Figure:
        """Return the quotient with its ranges, cut to what it can be."""
        reach = float(ndtri((1 + confidence) / 2))
        value = min(limits[1], max(limits[0], self.value))
        ranges = [
            (max(limits[0], min(low, value)), min(limits[1], max(high, value)))
            for low, high in (self.within(reach, *shares) for shares in ((1, 0), (0, 1), (1, 1)))
        ]
        return Figure(value, ranges[0], ranges[1], ranges[2], confidence)


def fieller(part: float, whole: float, variances: Variances, deviations: float) -> Range:
    """Return the numbers r for which part - r whole is within its error bars; all of them, where the whole may be 0."""
    of_part, of_both, of_whole = (deviations**2 * each for each in variances)
    square, product, rest = whole**2 - of_whole, part * whole - of_both, part**2 - of_part
    if square <= 0 or whole <= 0:
        return -math.inf, math.inf
    root = math.sqrt(max(product**2 - square * rest, 0.0))
    return (product - root) / square, (product + root) / square


def mean(table: ScoreTable, losses: Floats, least: float, counted: Truths | None = None) -> Quotient:
    """Return the mean, over the groups that are counted, of a loss that each group has in every part of the bins."""
    knots, square = table.knots, table.noise**2
    own, one = losses @ knots.filling, np.ones((len(losses), 1)) if counted is None else counted[:, None] * 1.0
    part, whole = float(np.sum(own * table.counts)), float(np.sum(one * table.counts))
    total = max(whole, least)
    smeared = float(np.sum((losses @ knots.smearing - own) * table.counts)) / total
    variances = float(np.sum(own**2 * square)), float(np.sum(own * one * square)), float(np.sum(one * square))
    return Quotient(
        part, whole, variances, least, 0.0, _sampled(table, (own - part / total * one) / total), abs(smeared)
    )


def area(table: ScoreTable) -> Quotient:
    """Return the area under the ROC curve: of all pairs of either class, those that the model puts in their order."""
    (ones, zeros), (noise, other) = table.counts, table.noise**2
    ranks, smeared = table.knots.ranks
    every = np.ones_like(ranks)
    won, part = ranks @ zeros, float(ones @ ranks @ zeros)
    lost, whole = ones @ ranks, float(ones.sum() * zeros.sum())

    def of(first: Floats, second: Floats) -> float:
        """Return the covariance of two sums over pairs; what noise adds to sums of squares is taken off."""
        fixed = noise @ (first @ zeros * (second @ zeros)) + other @ (ones @ first * (ones @ second))
        both = float(noise @ (first * second) @ other)
        return max(float(fixed) - both, both) if first is second else float(fixed) - both

    least = float(np.prod(np.maximum(table.counts.sum(axis=1), table.floors)))
    blurred = abs(float(ones @ (ranks - smeared) @ zeros)) / least
    middle = 0.5 + (part - whole / 2) / least
    slopes = np.array([won - middle * zeros.sum(), lost - middle * ones.sum()]) / least
    variances = of(ranks, ranks), of(ranks, every), of(every, every)
    return Quotient(part, whole, variances, least, 0.5, _sampled(table, slopes), blurred)


def _sampled(table: ScoreTable, slopes: Floats) -> float:
    """Return the variance by sampling of a figure that moves so far with each record at every knot."""
    held = np.maximum(table.counts, 0.0)
    square, sum_ = float(np.sum(held * slopes**2)), float(np.sum(held * slopes))
    return max(square - sum_**2 / max(float(np.sum(held)), 1.0), 0.0)
