"""The report on a model that predicts a number: its errors within declared bounds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from tacit.checks import checked_confidence, finite_number
from tacit.errors import InvalidParameter
from tacit.evaluation.figure import Figure
from tacit.evaluation.table import Measure, Table, figure_of
from tacit.evaluation.words import html_of, text_of
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_ANY = (-math.inf, math.inf)
_SOME = (0.0, math.inf)


@final
@dataclass(frozen=True, eq=False)
class RegressionReport:
    """Everything about a model's errors (target minus prediction), computed from one released table.

    Guarantee: that of `release`; every attribute is post-processing and costs nothing more.
    Assumes: what `tacit.evaluation.report` assumes; targets and predictions are clipped to `target_range`.
    Reference: tacit/evaluation/sketch.md.
    """

    release: Release[Any]
    errors: Table
    targets: Table
    target_range: tuple[float, float]
    confidence: float

    @cached_property
    def mae(self) -> Figure:
        """The mean absolute error."""
        return self._figure(self.errors, np.abs(self.errors.places), self._unit, _SOME)

    @cached_property
    def mean_error(self) -> Figure:
        """The mean of target minus prediction."""
        return self._figure(self.errors, self.errors.places, self._unit, _ANY)

    @cached_property
    def rmse(self) -> Figure:
        """The root of the mean squared error."""
        square, noise, sampled = self._square
        root = math.sqrt(max(square, 0.0))
        slope = self._unit / (2 * max(root, 1e-9))
        return figure_of(root * self._unit, noise * slope**2, sampled * slope**2, self.confidence, _SOME)

    @cached_property
    def r2(self) -> Figure:
        """The share of the targets' variance that the model explains; below 0 if it does worse than their mean."""
        square, noise, sampled = self._square
        spread, more, by_sampling = self._variance
        # Targets that are all alike, as far as noise lets see, have no variance to explain.
        square, spread = max(square, 0.0), max(spread, 2 * math.sqrt(more), 1e-4)
        slopes = 1 / spread, square / spread**2
        both = [slopes[0] ** 2 * a + slopes[1] ** 2 * b for a, b in ((noise, more), (sampled, by_sampling))]
        return figure_of(1 - square / spread, both[0], both[1], self.confidence, (-math.inf, 1.0))

    @cached_property
    def median_absolute_error(self) -> Figure:
        """The absolute error that half of the records stay below."""
        return self._crossing(np.abs(self.errors.places), 0.5)

    def error_quantile(self, share: float) -> Figure:
        """Return the number that this share of the errors lies below."""
        return self._crossing(self.errors.places, checked_confidence(share, "share"))

    def coverage(self, low: float, high: float) -> Figure:
        """Return the share of records whose target lies between prediction + low and prediction + high."""
        first, second = finite_number("low", low), finite_number("high", high)
        if not first < second:
            raise InvalidParameter(f"low must lie below high, got {low!r} and {high!r}.")
        inside = self.errors.above(first / self._unit) - self.errors.above(second / self._unit)
        return self._figure(self.errors, inside, 1.0, (0.0, 1.0))

    def interval_calibration(self, levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95)) -> Mapping[float, Figure]:
        """Return how many records lie in prediction +- z rmse, z being the normal quantile of each level."""
        reach = {level: float(ndtri((1 + checked_confidence(level, "level")) / 2)) for level in levels}
        width = max(self.rmse.value, 1e-9 * self._unit)
        return {level: self.coverage(-z * width, z * width) for level, z in reach.items()}

    def figures(self) -> dict[str, Figure]:
        """Return all figures by name, as scikit-learn's metrics are called."""
        names = ("r2", "rmse", "mae", "median_absolute_error", "mean_error")
        return {name: getattr(self, name) for name in names}

    def save(self, path: str | Path) -> None:
        """Draw the distribution of errors and the calibration of intervals into one picture."""
        from tacit.evaluation.pictures import draw_regression

        draw_regression(self, path)

    def __str__(self) -> str:
        return text_of(self._title, self.figures(), self.release)

    def _repr_html_(self) -> str:
        return html_of(self._title, self.figures(), self.release)

    @property
    def _title(self) -> str:
        low, high = self.target_range
        return f"targets from {low:g} to {high:g}, {self.errors.size:,} held out"

    @property
    def _unit(self) -> float:
        """What errors and targets are counted in: half of the target's range."""
        return (self.target_range[1] - self.target_range[0]) / 2

    @cached_property
    def _square(self) -> tuple[float, float, float]:
        """The mean squared error in units, and its variances."""
        value, noise, sampled = self.errors.spread(_mean(self.errors.places**2, self.errors.floor))
        return float(value[0]), float(noise[0]), float(sampled[0])

    @cached_property
    def _variance(self) -> tuple[float, float, float]:
        """The variance of the targets in units, and its variances."""
        places, floor = self.targets.places, self.targets.floor

        def measure(masses: Floats) -> Floats:
            mean = _mean(places, floor)(masses)
            return _mean(places**2, floor)(masses) - mean**2

        value, noise, sampled = self.targets.spread(measure)
        return float(value[0]), float(noise[0]), float(sampled[0])

    def _figure(self, table: Table, losses: Floats, unit: float, limits: tuple[float, float]) -> Figure:
        value, noise, sampled = table.spread(_mean(losses, table.floor))
        found = float(value[0]) * unit, float(noise[0]) * unit**2, float(sampled[0]) * unit**2
        return figure_of(*found, self.confidence, limits)

    def _crossing(self, numbers: Floats, share: float) -> Figure:
        """Return where the distribution of numbers reaches a share, with bounds by where it could."""
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order] * self._unit
        below = np.maximum.accumulate(np.cumsum(self.errors.masses[0][order]))
        below = np.clip(below / max(float(below[-1]), 1e-9), 0.0, 1.0)

        def reached(level: float) -> float:
            return float(np.interp(level, below, ordered))

        value = reached(share)
        here = self._figure(self.errors, (numbers * self._unit <= value).astype(np.float64), 1.0, (0.0, 1.0))
        ranges = [
            (reached(share - (here.value - low)), reached(share + (high - here.value)))
            for low, high in (here.noise, here.sampling, here.interval)
        ]
        return Figure(value, ranges[0], ranges[1], ranges[2], self.confidence)


def _mean(losses: Floats, floor: float) -> Measure:
    """Return the mean of a loss over what lies where."""

    def measure(masses: Floats) -> Floats:
        held = masses[..., 0, :]
        return np.asarray(np.sum(held * losses, axis=-1) / np.maximum(np.sum(held, axis=-1), floor))

    return measure
