"""The report on a model of two classes, or on one class against the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from tacit.checks import checked_share, finite_number, positive_number, shown
from tacit.data.labels import places
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import UNKNOWN
from tacit.evaluation import measures
from tacit.evaluation.figure import Figure, Range, Report, require_probabilities
from tacit.evaluation.knots import PARTS, Knots
from tacit.evaluation.quotients import area, mean
from tacit.evaluation.reading import SURE
from tacit.evaluation.table import BLUR, Measure, ScoreTable, doubted, figure_of
from tacit.numerics.arrays import Codes, Floats
from tacit.releases import Release

_CLEAR = 2.0
"""How many times the noise in a whole class a group of bins holds at least, to be judged for calibration."""

_TOP_BLUR, _GROUP_BLUR = 0.5, 0.2
"""The part of what smearing does that bins may do to average precision, and to groups: found on made-up scores."""

_SHARE = (0.0, 1.0)
_LOSS = (0.0, SURE)


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
    """For every group of knots: the mean probability, and the share of positives with its error bars.

    A record between two knots is shared by the groups of both, by how near to either it lies; `shares` says how. Each
    group holds clearly more than noise.
    """

    predicted: Floats
    observed: tuple[Figure, ...]
    knots: Knots
    first: Codes

    def shares(self, probabilities: ArrayLike) -> Floats:
        """Return, for each of these probabilities, which part of it counts in which group: rows that add to 1."""
        try:
            given = np.asarray(probabilities, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(())
        if given.ndim != 1 or not np.all((given >= 0) & (given <= 1)):
            raise InvalidParameter(f"probabilities must be a list of numbers from 0 to 1, got {shown(probabilities)}.")
        with np.errstate(divide="ignore"):
            scores = np.clip(logit(given), -SURE, SURE)
        bins, share = self.knots.placed(scores)
        rows, parts = np.arange(len(scores)), np.zeros((len(scores), self.knots.count))
        parts[rows, self.knots.lower[bins]] = 1 - share
        parts[rows, self.knots.upper[bins]] += share
        return np.asarray(np.add.reduceat(parts, self.first, axis=1))


@final
@dataclass(frozen=True, eq=False)
class TwoClassReport(Report):
    """Everything about a model of two classes, computed from one released table.

    The second of its `classes` is the positive one: what the schema of `Records` declares, for arrays the model's
    second; `of(label)` is the report on either.

    Guarantee: that of `release`; every attribute is post-processing and costs nothing more.
    Assumes: what `tacit.evaluation.report` assumes.
    Reference: tacit/evaluation/sketch.md.

    Thresholds are probabilities, or scores where the model has no probabilities; then log-loss, Brier score and
    calibration do not exist. A class that no row has leaves figures that say so by their intervals.
    """

    release: Release[Any]
    released: ScoreTable
    classes: tuple[Any, Any]
    has_probabilities: bool
    confidence: float
    threshold: float
    judged: str = UNKNOWN

    def of(self, label: Any) -> "TwoClassReport":
        """Return the report on one class against the other: this one, or with the roles of the classes exchanged."""
        (place,) = places([label], self.classes)
        if place < 0:
            raise InvalidParameter(f"the model's classes are {list(self.classes)}, got {label!r}.")
        if place == 1:
            return self
        return replace(
            self,
            released=self.released.mirrored(),
            classes=self.classes[::-1],
            threshold=1.0 - self.threshold if self.has_probabilities else -self.threshold,
        )

    @property
    def table(self) -> ScoreTable:
        """What stands out of noise: a model that is never certain has nothing at the limits of its scores."""
        return self.released.seen

    @cached_property
    def auc(self) -> Figure:
        """The area under the ROC curve."""
        return area(self.table).figure(self.confidence, _SHARE)

    @cached_property
    def average_precision(self) -> Figure:
        """The mean precision over recall; its range reaches down to what it would be if bins hid scores many share.

        And up to what it would be if they blur it: what smearing once more takes off, in part.
        """
        doubt = self.table.doubt
        above = _TOP_BLUR * float(self.table.blurred(self._ranked)[0])
        return doubted(self.smooth_precision.reaching(self.tied_loss, above, _SHARE), doubt, doubt)

    @cached_property
    def smooth_precision(self) -> Figure:
        """The mean precision over recall, and what noise does to it, if bins hide nothing."""
        return self._figure(self._ranked, blur=0.0)

    @property
    def _ranked(self) -> Measure:
        return measures.average_precision(self.table.floors[0], self.table.knots.ends)

    @cached_property
    def tied_loss(self) -> float:
        """How much lower the average precision may be for scores that many share, and that were not seen."""
        parts = np.arange(len(self.table.places))
        smooth, tied = (
            float(measures.average_precision(self.table.floors[0], ends)(self.table.masses))
            for ends in (self.table.knots.ends, parts // PARTS * PARTS)
        )
        return self.table.ties * max(smooth - tied, 0.0)

    @cached_property
    def log_loss(self) -> Figure:
        """The mean of -log(probability of the true class)."""
        require_probabilities("log-loss", self.has_probabilities)
        losses = np.array(measures.log_losses(self.table.places))
        careful, seen = (mean(table, losses, self.table.floor) for table in (self.released.careful, self.table))
        return careful.figure(self.confidence, _LOSS).with_value(min(max(seen.value, 0.0), SURE))

    @cached_property
    def brier_score(self) -> Figure:
        """The mean squared error of the probability."""
        require_probabilities("Brier score", self.has_probabilities)
        losses = np.array(measures.brier_losses(self.table.places))
        return mean(self.table, losses, self.table.floor).figure(self.confidence, _SHARE)

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
        """Return all rates, and the four counts, of calling positive what has a score above a threshold.

        Rates of either class, and counts, fall or rise with the threshold throughout, as the exact ones do.
        """
        measure = measures.rates(self.table.above(self._place(threshold)), self.table.floors)
        value, noise, sampled = self.table.spread(measure)
        shown = measure(self.table.shown).tolist()
        bound = [(0.0, float(self.table.size)) if name.endswith("tives") else _SHARE for name in measures.RATES]
        return {
            name: figure_of(value[i], noise[i], sampled[i], self.confidence, bound[i]).with_value(shown[i])
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
        curve = measures.costs(*costs)(self.table.shown)
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
        require_probabilities("calibration", self.has_probabilities)
        expected, _, held = self._gathered(self.table.shown)
        observed = self.table.figures(self._observed, self.confidence, _SHARE)
        predicted = expected / np.maximum(held, 1e-9)
        return Calibration(predicted, tuple(observed), self.table.knots, self._groups)

    @cached_property
    def calibration_error(self) -> Figure:
        """The root mean squared difference of probability and frequency in groups, without noise's share."""
        require_probabilities("calibration", self.has_probabilities)
        held = np.maximum(self._gathered(self.table.shown)[2], self.table.floor)
        value, _, sampled = self.table.spread(self._excess)
        drawn = self._excess(self.table.redrawn_masses) - value
        spread = np.maximum(np.std(drawn, axis=0), 1e-12)
        drawn = drawn * np.hypot(1.0, _GROUP_BLUR * self.table.blurred(self._excess) / spread)
        lucky = drawn * np.sqrt(sampled) / np.maximum(np.std(drawn, axis=0), 1e-12)
        scale = np.sqrt(held * self.table.size)
        tail = (1 - self.confidence) / 2
        levels = (tail, 0.5, 1 - tail)
        noise, sampling, both = (
            _length(value / scale, each / scale, levels) for each in (drawn, lucky, drawn + lucky[::-1])
        )
        return Figure(
            noise[1],
            (noise[0], noise[2]),
            (min(noise[1], sampling[0]), max(noise[1], sampling[2])),
            (min(noise[0], both[0]), max(noise[2], both[2])),
            self.confidence,
        )

    @property
    def _names(self) -> list[str]:
        names = ["auc", "average_precision", "accuracy", "balanced_accuracy", "precision", "recall", "f1"]
        if self.has_probabilities:
            names[2:2] = ["log_loss", "brier_score", "calibration_error"]
        return names

    def save(self, path: str | Path) -> None:
        """Draw ROC, precision-recall, calibration and the distribution of scores into one picture."""
        from tacit.evaluation.pictures import draw_two

        draw_two(self, path)

    @property
    def title(self) -> str:
        """The positive class against the other, and of how many records."""
        return f"{self.classes[1]} (positive) against {self.classes[0]}, {self._of(self.table.size)}"

    def _figure(self, measure: Measure, limits: Range = _SHARE, blur: float = BLUR) -> Figure:
        return self.table.figures(measure, self.confidence, limits, blur)[0]

    def _place(self, threshold: float) -> float:
        """Return where a threshold is among the scores that were counted."""
        if not self.has_probabilities:
            return finite_number("threshold", threshold)
        return float(np.clip(logit(checked_share("threshold", threshold)), -1e9, 1e9))

    def _threshold(self, place: float) -> float:
        return float(expit(place)) if self.has_probabilities else place

    @cached_property
    def _groups(self) -> Codes:
        """The first bin of every group of knots that holds clearly more than noise, and no small part of all."""
        held = np.maximum(self.table.counts.sum(axis=0), 0.0)
        least = max(_CLEAR * self.table.floor, float(held.sum()) / (2 * len(held)))
        first, sum_ = [0], 0.0
        for place, mass in enumerate(held.tolist()):
            if sum_ >= least and float(held[place:].sum()) >= least:
                first.append(place)
                sum_ = 0.0
            sum_ += mass
        return np.array(first)

    def _gathered(self, masses: Floats) -> tuple[Floats, Floats, Floats]:
        """Return for every group how many positives are expected and found, and how many records it holds."""
        gathering = self.table.knots.gathering
        pooled = masses.sum(axis=-2)

        def grouped(parts: Floats, weights: Floats | float = 1.0) -> Floats:
            return np.asarray(np.add.reduceat(parts @ (gathering * weights).T, self._groups, axis=-1))

        return grouped(pooled, expit(self.table.places)), grouped(masses[..., 0, :]), grouped(pooled)

    def _excess(self, masses: Floats) -> Floats:
        expected, found, _ = self._gathered(masses)
        return expected - found

    def _observed(self, masses: Floats) -> Floats:
        _, found, held = self._gathered(masses)
        return np.asarray(found / np.maximum(held, self.table.floor))

    @cached_property
    def _from_above(self) -> tuple[Floats, Floats]:
        sums = np.cumsum(self.table.shown[:, ::-1], axis=1)
        return np.append(0.0, sums[0]), np.append(0.0, sums[1])

    @cached_property
    def _thresholds(self) -> Floats:
        places = np.append(np.inf, self.table.places[::-1])
        return np.asarray(expit(places)) if self.has_probabilities else places


def _rate(sums: Floats) -> Floats:
    return sums / sums[-1] if sums[-1] > 0 else np.linspace(0.0, 1.0, len(sums))


def _length(vector: Floats, noise: Floats, levels: tuple[float, ...]) -> list[float]:
    """Return how long an exact vector may be, of which a noisy one is known: where its length is at such a level.

    The longer the exact one, the longer the noisy one; so each level is met once. The direction is taken as it is.
    """
    length = float(np.linalg.norm(vector))
    way = vector / max(length, 1e-12)
    reach = length + 4 * float(np.sqrt(np.mean(np.sum(noise**2, axis=1))))
    lengths = np.linspace(0.0, min(1.0, reach), 200)
    along, square = noise @ way, np.sum(noise**2, axis=1)
    longer = np.mean(lengths[:, None] ** 2 + 2 * lengths[:, None] * along + square >= length**2, axis=1)
    return [float(np.interp(level, np.maximum.accumulate(longer), lengths)) for level in levels]
