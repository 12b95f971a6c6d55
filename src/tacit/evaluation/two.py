"""The report on a model of two classes, or on one class against the rest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from tacit.checks import checked_share, finite_number, positive_number
from tacit.errors import InvalidParameter
from tacit.evaluation import measures
from tacit.evaluation.figure import Figure
from tacit.evaluation.knots import PARTS
from tacit.evaluation.table import Measure, Table, figure_of
from tacit.evaluation.words import html_of, text_of
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_CLEAR = 2.0
"""How many times the noise in a whole class a group of bins holds at least, to be judged for calibration."""

_SHARE = (0.0, 1.0)
_LOSS = (0.0, math.inf)


@final
@dataclass(frozen=True, eq=False)
class Curve:
    """A curve as arrays: `y` over `x` at falling `thresholds`, monotone where the exact one is."""

    x: Floats
    y: Floats
    thresholds: Floats


@final
@dataclass(frozen=True, eq=False)
class Calibration:
    """For every group of bins: the mean probability, and the share of positives with its error bars.

    Groups lie between the `edges`, which are scores (log-odds); each holds clearly more than noise.
    """

    edges: Floats
    predicted: Floats
    observed: tuple[Figure, ...]


@final
@dataclass(frozen=True, eq=False)
class TwoClassReport:
    """Everything about a model of two classes, computed from one released table; the second class is the positive one.

    Guarantee: that of `release`; every attribute is post-processing and costs nothing more.
    Assumes: what `tacit.evaluation.report` assumes.
    Reference: tacit/evaluation/sketch.md.

    Thresholds are probabilities, or scores where the model has no probabilities; then log-loss, Brier score and
    calibration do not exist. A class that no held-out row has leaves figures that say so by their intervals.
    """

    release: Release[Any]
    table: Table
    classes: tuple[Any, Any]
    has_probabilities: bool
    confidence: float
    threshold: float

    @cached_property
    def auc(self) -> Figure:
        """The area under the ROC curve."""
        return self._figure(measures.auc(self.table.floor))

    @cached_property
    def average_precision(self) -> Figure:
        """The mean precision over recall."""
        return self._figure(measures.average_precision(self.table.floor))

    @cached_property
    def log_loss(self) -> Figure:
        """The mean of -log(probability of the true class)."""
        self._require_probabilities("log-loss")
        return self._figure(measures.mean_of(*measures.log_losses(self.table.places), self.table.floor), _LOSS)

    @cached_property
    def brier_score(self) -> Figure:
        """The mean squared error of the probability."""
        self._require_probabilities("Brier score")
        return self._figure(measures.mean_of(*measures.brier_losses(self.table.places), self.table.floor))

    @cached_property
    def _usual(self) -> Mapping[str, Figure]:
        return self.at(self.threshold)

    @property
    def accuracy(self) -> Figure:
        """The share of right answers at the model's own threshold."""
        return self._usual["accuracy"]

    @property
    def balanced_accuracy(self) -> Figure:
        """The mean of recall and specificity at the model's own threshold."""
        return self._usual["balanced_accuracy"]

    @property
    def precision(self) -> Figure:
        """The share of positives among what is called positive, at the model's own threshold."""
        return self._usual["precision"]

    @property
    def recall(self) -> Figure:
        """The share of positives that are called positive, at the model's own threshold."""
        return self._usual["recall"]

    @property
    def f1(self) -> Figure:
        """The harmonic mean of precision and recall at the model's own threshold."""
        return self._usual["f1"]

    def at(self, threshold: float) -> Mapping[str, Figure]:
        """Return all rates, and the four counts, of calling positive what has a score above a threshold."""
        measure = measures.rates(self.table.above(self._place(threshold)), self.table.floor)
        value, noise, sampled = self.table.spread(measure)
        bound = [(0.0, float(self.table.size)) if name.endswith("tives") else _SHARE for name in measures.RATES]
        return {
            name: figure_of(value[i], noise[i], sampled[i], self.confidence, bound[i])
            for i, name in enumerate(measures.RATES)
        }

    def confusion_matrix(self, threshold: float | None = None) -> Floats:
        """Return the counts of (true class, predicted class) at a threshold, none of them negative."""
        found = self.at(self.threshold if threshold is None else threshold)
        names = ("true_negatives", "false_positives"), ("false_negatives", "true_positives")
        return np.array([[found[name].value for name in row] for row in names])

    def best_threshold(self, *, false_positive: float = 1.0, false_negative: float = 1.0) -> float:
        """Return the threshold at which mistakes, at these costs, cost least; the best of a noisy curve is noisy."""
        costs = positive_number("false_positive", false_positive), positive_number("false_negative", false_negative)
        curve = measures.costs(*costs)(self._shown)
        return self._threshold(float(np.append(-np.inf, self.table.places)[int(np.argmin(curve))]))

    @cached_property
    def roc(self) -> Curve:
        """The ROC curve: true positive rate over false positive rate."""
        hits, alarms = self._from_above
        return Curve(_rate(alarms), _rate(hits), self._thresholds)

    @cached_property
    def precision_recall(self) -> Curve:
        """Precision over recall."""
        hits, alarms = self._from_above
        named = hits + alarms
        first = next((h / n for h, n in zip(hits, named, strict=True) if n > 0), 1.0)
        return Curve(_rate(hits), np.where(named > 0, hits / np.maximum(named, 1e-9), first), self._thresholds)

    @cached_property
    def calibration(self) -> Calibration:
        """How often what is given some probability is positive."""
        self._require_probabilities("calibration")
        held, first = np.maximum(self._shown.sum(axis=0), 1e-9), self._groups
        predicted = _grouped(first, held * expit(self.table.places)) / _grouped(first, held)
        observed = self.table.figures(partial(_observed, first, self.table.floor), self.confidence, _SHARE)
        return Calibration(self.table.knots.edges[first[1:] - 1], predicted, tuple(observed))

    @cached_property
    def calibration_error(self) -> Figure:
        """The root mean squared difference of probability and frequency in groups, without noise's share."""
        self._require_probabilities("calibration")
        held = np.maximum(_grouped(self._groups, self._shown.sum(axis=0)), self.table.floor)
        excess = partial(_excess, self._groups, expit(self.table.places))
        value, noise, sampled = self.table.spread(excess)

        def rooted(variance: Floats) -> tuple[float, float]:
            center = float(np.sum((value**2 - noise) / held)) / self.table.size
            spread = math.sqrt(float(np.sum((4 * value**2 + 2 * variance) * variance / held**2))) / self.table.size
            return center, spread

        center, spread = rooted(noise)
        found = [figure_of(center, each**2, 0.0, self.confidence, _SHARE) for each in (spread, rooted(sampled)[1])]
        both = figure_of(center, spread**2 + rooted(sampled)[1] ** 2, 0.0, self.confidence, _SHARE)
        ranges = [(math.sqrt(each.noise[0]), math.sqrt(each.noise[1])) for each in (*found, both)]
        return Figure(math.sqrt(max(center, 0.0)), ranges[0], ranges[1], ranges[2], self.confidence)

    def figures(self) -> dict[str, Figure]:
        """Return all figures by name, as scikit-learn's metrics are called."""
        names = ["auc", "average_precision", "accuracy", "balanced_accuracy", "precision", "recall", "f1"]
        if self.has_probabilities:
            names[2:2] = ["log_loss", "brier_score", "calibration_error"]
        return {name: getattr(self, name) for name in names}

    def save(self, path: str | Path) -> None:
        """Draw ROC, precision-recall, calibration and the distribution of scores into one picture."""
        from tacit.evaluation.pictures import draw_two

        draw_two(self, path)

    def __str__(self) -> str:
        return text_of(self._title, self.figures(), self.release)

    def _repr_html_(self) -> str:
        return html_of(self._title, self.figures(), self.release)

    @property
    def _title(self) -> str:
        return f"{self.classes[1]} against {self.classes[0]}, {self.table.size:,} held out"

    def _figure(self, measure: Measure, limits: tuple[float, float] = _SHARE) -> Figure:
        return self.table.figures(measure, self.confidence, limits)[0]

    def _require_probabilities(self, what: str) -> None:
        if not self.has_probabilities:
            raise InvalidParameter(f"{what} needs probabilities, and this model has scores only.")

    def _place(self, threshold: float) -> float:
        """Return where a threshold is among the scores that were counted."""
        if not self.has_probabilities:
            return finite_number("threshold", threshold)
        return float(np.clip(logit(checked_share("threshold", threshold)), -1e9, 1e9))

    def _threshold(self, place: float) -> float:
        return float(expit(place)) if self.has_probabilities else place

    @cached_property
    def _shown(self) -> Floats:
        """The masses that curves show: cumulated masses made monotone, so that none is negative."""
        return np.array([_monotone(row) for row in self.table.masses])

    @cached_property
    def _groups(self) -> NDArray[np.intp]:
        """The first bin of every group of bins that holds clearly more than noise, and no small part of all."""
        held = _by_bin(self._shown.sum(axis=0))
        least = max(_CLEAR * self.table.floor, float(held.sum()) / (2 * len(held)))
        first, sum_ = [0], 0.0
        for place, mass in enumerate(held.tolist()):
            if sum_ >= least and float(held[place:].sum()) >= least:
                first.append(place)
                sum_ = 0.0
            sum_ += mass
        return np.array(first)

    @cached_property
    def _from_above(self) -> tuple[Floats, Floats]:
        sums = np.cumsum(self._shown[:, ::-1], axis=1)
        return np.append(0.0, sums[0]), np.append(0.0, sums[1])

    @cached_property
    def _thresholds(self) -> Floats:
        places = np.append(np.inf, self.table.places[::-1])
        return np.asarray(expit(places)) if self.has_probabilities else places


def _monotone(masses: Floats) -> Floats:
    """Return non-negative masses whose sums from below are nearest to those given."""
    total = max(float(np.sum(masses)), 0.0)
    sums = isotonic_regression(np.cumsum(masses)).x
    return np.diff(np.clip(sums, 0.0, total), prepend=0.0)


def _rate(sums: Floats) -> Floats:
    return sums / sums[-1] if sums[-1] > 0 else np.linspace(0.0, 1.0, len(sums))


def _by_bin(masses: Floats) -> Floats:
    return np.asarray(np.sum(masses.reshape(*masses.shape[:-1], -1, PARTS), axis=-1))


def _grouped(first: NDArray[np.intp], masses: Floats) -> Floats:
    return np.asarray(np.add.reduceat(_by_bin(masses), first, axis=-1))


def _observed(first: NDArray[np.intp], floor: float, masses: Floats) -> Floats:
    binned = _grouped(first, masses)
    return np.asarray(binned[..., 0, :] / np.maximum(binned.sum(axis=-2), floor))


def _excess(first: NDArray[np.intp], chance: Floats, masses: Floats) -> Floats:
    return _grouped(first, masses.sum(axis=-2) * chance - masses[..., 0, :])
