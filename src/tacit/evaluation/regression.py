"""The report on a model that predicts a number: its errors within declared bounds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from tacit.checks import checked_confidence, finite_number, shown
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import UNKNOWN
from tacit.evaluation.figure import Figure, Range, Report
from tacit.evaluation.knots import PARTS
from tacit.evaluation.quotients import fieller, mean
from tacit.evaluation.table import BLUR, Measure, ScoreTable
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_MOST = 2.0
"""No error is farther from 0, in halves of the target's range."""

_NARROW = 4e-6
"""Bins that are narrower than this part of it say no more than that errors lie in them."""

_UNSEEN = 0.25
"""Bins are fitted by quarters of the records: where noise could hide more at one place, they fit nothing."""


@final
@dataclass(frozen=True, eq=False)
class RegressionReport(Report):
    """Everything about a model's errors (target minus prediction), computed from one released table.

    Guarantee: that of `release`; every attribute is post-processing and costs nothing more.
    Assumes: what `tacit.evaluation.report` assumes; targets and predictions are clipped to `target_range`.
    Reference: tacit/evaluation/sketch.md.
    """

    release: Release[Any]
    errors: ScoreTable
    targets: ScoreTable
    target_range: tuple[float, float]
    confidence: float
    judged: str = UNKNOWN

    _names = ("r2", "rmse", "mae", "median_absolute_error", "mean_error")

    @cached_property
    def mae(self) -> Figure:
        """The mean absolute error."""
        return self._figure(self.errors, np.abs(self.errors.places), self._unit, (0.0, 2 * self._unit))

    @cached_property
    def mean_error(self) -> Figure:
        """The mean of target minus prediction."""
        return self._figure(self.errors, self.errors.places, self._unit, (-2 * self._unit, 2 * self._unit))

    @cached_property
    def rmse(self) -> Figure:
        """The root of the mean squared error; it is never below the mean absolute error, so neither are its ranges.

        They end no lower either: where errors sit on few numbers, squares say less of them than they seem to.
        """
        own, least = _ranges(self._root), _ranges(self.mae)
        noise, sampling, both = [
            (max(low, other), max(high, most)) for (low, high), (other, most) in zip(own, least, strict=True)
        ]
        return Figure(max(self._root.value, self.mae.value), noise, sampling, both, self.confidence)

    @cached_property
    def _root(self) -> Figure:
        """The root of the mean squared error, as it is found by itself."""
        square = self._figure(self.errors, self.errors.places**2, 1.0, (0.0, 4.0))
        every = (square.value, *square.noise, *square.sampling, *square.interval)
        found = [math.sqrt(each) * self._unit for each in every]
        return Figure(found[0], (found[1], found[2]), (found[3], found[4]), (found[5], found[6]), self.confidence)

    @cached_property
    def r2(self) -> Figure:
        """The share of the targets' variance that the model explains; below 0 if it does worse than their mean.

        What is lost at least, by the RMSE, is explained by no model: the ranges end there.
        """
        losses = _mean(self.errors.places**2, self.errors.floor)
        lost, had = self.errors.spread(losses), self.targets.spread(_variance(self.targets))
        off = BLUR * self.errors.blurred(losses), BLUR * self.targets.blurred(_variance(self.targets))
        square, whole = float(lost[0][0]), float(had[0][0])
        noise = float(lost[1][0] + off[0][0] ** 2), float(had[1][0] + off[1][0] ** 2)
        sampled = float(lost[2][0]), float(had[2][0])
        lost_now = (self.rmse.value / self._unit) ** 2
        had_now = float(_variance(self.targets)(self.targets.settled.masses))
        ranges, ends = [], []
        variances = noise, sampled, (noise[0] + sampled[0], noise[1] + sampled[1])
        for each, (least, _) in zip(variances, _ranges(self.rmse), strict=True):
            low, high = _explained(square, whole, *each, self.confidence)
            deviation = math.sqrt(each[1])
            most = max(min(1.0, whole + float(ndtri((1 + self.confidence) / 2)) * deviation), 2 * deviation, 1e-4)
            ends.append(max(low, 1 - (least / self._unit) ** 2 / min(most, 1.0)))
            ranges.append((low, max(low, min(high, ends[-1]))))
        # Targets that are all alike, as far as noise lets see, have no variance to explain.
        value = 1 - lost_now / max(had_now, 2 * math.sqrt(had[1][0]), 1e-4)
        value = min(max(value, ranges[0][0]), ends[0])
        return Figure(value, ranges[0], ranges[1], ranges[2], self.confidence).with_value(value)

    @cached_property
    def median_absolute_error(self) -> Figure:
        """The absolute error that half of the records stay below."""
        return self._crossing(0.5, absolute=True)

    def error_quantile(self, share: float) -> Figure:
        """Return the number that this share of the errors lies below."""
        return self._crossing(checked_confidence(share, "share"), absolute=False)

    def coverage(self, low: float, high: float) -> Figure:
        """Return the share of records whose target lies between prediction + low and prediction + high.

        It never falls where the interval grows.
        """
        first, second = finite_number("low", low), finite_number("high", high)
        if not first < second:
            raise InvalidParameter(f"low must lie below high, got {low!r} and {high!r}.")
        inside = self.errors.above(first / self._unit) - self.errors.above(second / self._unit)
        found = self._figure(self.errors, inside, 1.0, (0.0, 1.0))
        return found.with_value(float(_mean(inside, self.errors.floor)(self.errors.settled.shown)))

    def interval_calibration(self, levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95)) -> Mapping[float, Figure]:
        """Return how many records lie in prediction +- z rmse, z being the normal quantile of each level."""
        try:
            asked = [checked_confidence(level, "level") for level in levels]
        except TypeError:
            raise InvalidParameter(f"levels must be numbers such as (0.5, 0.9), got {shown(levels)}.") from None
        reach = {level: float(ndtri((1 + level) / 2)) for level in asked}
        width = max(self.rmse.value, 1e-9 * self._unit)
        return {level: self.coverage(-z * width, z * width) for level, z in reach.items()}

    def save(self, path: str | Path) -> None:
        """Draw the distribution of errors and the calibration of intervals into one picture."""
        from tacit.evaluation.pictures import draw_regression

        draw_regression(self, path)

    @property
    def title(self) -> str:
        """What is predicted, and of how many records."""
        low, high = self.target_range
        return f"targets from {low:g} to {high:g}, {self._of(self.errors.size)}; errors: target minus prediction"

    @property
    def _unit(self) -> float:
        """What errors and targets are counted in: half of the target's range."""
        return (self.target_range[1] - self.target_range[0]) / 2

    def _figure(self, table: ScoreTable, losses: Floats, unit: float, limits: Range) -> Figure:
        """Return a mean: ranges from the whole table, as much is far out; the value in them from what is clear."""
        settled = _mean(losses * unit, table.floor)(table.settled.masses)
        found = mean(table, losses[None] * unit, table.floor).figure(self.confidence, limits)
        return found.with_value(min(max(float(settled), limits[0]), limits[1]))

    def _crossing(self, share: float, absolute: bool) -> Figure:
        """Return where the distribution of errors, or of how far they are from 0, reaches a share.

        Its bounds are where it could. They end at the ends of bins where bins could not be fitted to the errors, or
        are too narrow to say where errors lie in them.
        """
        table = self.errors
        ends = np.clip(table.knots.places(np.linspace(0, 1, PARTS + 1)), -_MOST, _MOST)
        steps, sums = np.append(ends[:, :-1], ends[-1, -1]), np.append(0.0, np.cumsum(table.settled.shown[0]))
        numbers = np.unique(np.abs(steps)) if absolute else steps
        below = np.interp(numbers, steps, sums) - (np.interp(-numbers, steps, sums) if absolute else 0.0)
        below = below / max(float(below[-1]), 1e-9)
        whole = (table.unseen > _UNSEEN * table.size) | (ends[:, -1] - ends[:, 0] < _NARROW)
        first, last = ends[whole][:, [0, -1]].T
        if absolute:
            first, last = np.maximum(np.maximum(first, -last), 0.0), np.maximum(-first, last)

        def reached(least: float, most: float) -> Range:
            low, high = np.interp((share - least, share + most), below, numbers).tolist()
            met = (first <= high) & (low <= last)
            return min([low, *first[met]]) * self._unit, max([high, *last[met]]) * self._unit

        value = float(np.interp(share, below, numbers))
        inside = (table.above(-value) if absolute else 1.0) - table.above(value)
        here = self._figure(table, inside, 1.0, (0.0, 1.0))
        ranges = [reached(here.value - low, high - here.value) for low, high in _ranges(here)]
        return Figure(value * self._unit, ranges[0], ranges[1], ranges[2], self.confidence)


def _ranges(figure: Figure) -> tuple[Range, Range, Range]:
    return figure.noise, figure.sampling, figure.interval


def _mean(losses: Floats, floor: float) -> Measure:
    """Return the mean of a loss over what lies where."""

    def measure(masses: Floats) -> Floats:
        held = masses[..., 0, :]
        return np.asarray(np.sum(held * losses, axis=-1) / np.maximum(np.sum(held, axis=-1), floor))

    return measure


def _variance(table: ScoreTable) -> Measure:
    """Return the variance of what is counted in a table."""
    mean, square = _mean(table.places, table.floor), _mean(table.places**2, table.floor)

    def measure(masses: Floats) -> Floats:
        return np.asarray(square(masses) - mean(masses) ** 2)

    return measure


def _explained(lost: float, had: float, of_lost: float, of_had: float, confidence: float) -> Range:
    """Return where 1 less a quotient of variances lies, of which noisy ones with these variances are known.

    Where there may be none to explain, there is no lower end; then all of the doubt is left to the upper one.
    """
    reach = float(ndtri((1 + confidence) / 2))
    if had > reach * math.sqrt(of_had):
        low, high = fieller(lost, had, (of_lost, 0.0, of_had), reach)
        return 1 - max(high, 0.0), 1 - max(low, 0.0)
    # The least r for which lost - r had is within its deviations; that of r = 0 if even that is.
    reach = float(ndtri(confidence))
    if lost <= reach * math.sqrt(of_lost):
        return -math.inf, 1.0
    square, product, rest = had**2 - reach**2 * of_had, lost * had, lost**2 - reach**2 * of_lost
    return -math.inf, 1 - rest / (product + math.sqrt(max(product**2 - square * rest, 0.0)))
