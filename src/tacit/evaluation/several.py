"""The report on a model of several classes: each class against the rest, jointly for one charge."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.labels import places
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import UNKNOWN
from tacit.evaluation import measures
from tacit.evaluation.figure import Figure, Range, Report, require_probabilities
from tacit.evaluation.sketch import Sketched
from tacit.evaluation.table import Measure, ScoreTable, doubted, figure_of
from tacit.evaluation.two import TwoClassReport
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_SHARE = (0.0, 1.0)
_APART = 0.05
"""How far areas of classes are apart at least, as a standard deviation."""


@final
@dataclass(frozen=True, eq=False)
class ClassesReport(Report):
    """Everything about a model of several classes, computed from one released table.

    Guarantee: that of `release`; every attribute is post-processing and costs nothing more.
    Assumes: what `tacit.evaluation.report` assumes.
    Reference: tacit/evaluation/sketch.md.

    `auc` and `average_precision` are means over the classes, each against the rest; `of(label)` is the report on one.
    """

    release: Release[Sketched]
    classes: NDArray[Any]
    has_probabilities: bool
    confidence: float
    threshold: float
    size: int
    judged: str = UNKNOWN

    def of(self, label: Any) -> TwoClassReport:
        """Return the report on one class against the rest."""
        (place,) = places([label], self.classes)
        if place < 0:
            raise InvalidParameter(f"the model's classes are {self.classes.tolist()[:20]}, got {label!r}.")
        return self._each[int(place)]

    @cached_property
    def _each(self) -> tuple[TwoClassReport, ...]:
        count = len(self.classes)
        return tuple(
            TwoClassReport(
                self.release,
                ScoreTable.of(self.release.value, [place, count + place], 0, self.size),
                ("the rest", self.classes[place]),
                self.has_probabilities,
                self.confidence,
                self.threshold,
                self.judged,
            )
            for place in range(count)
        )

    @cached_property
    def auc(self) -> Figure:
        """The mean over classes of the area under the ROC curve of each against the rest."""
        value, noise, sampled = self._found(lambda table: measures.auc(table.floors))
        return self._about(*_alike(value, noise), sampled)

    @cached_property
    def average_precision(self) -> Figure:
        """The mean over classes of the average precision of each against the rest."""
        found = _together([each._precision for each in self._each], self.confidence)
        return doubted(found, float(np.mean([each._tied_loss for each in self._each])), 0.0)

    @cached_property
    def log_loss(self) -> Figure:
        """The mean of -log(probability of the true class)."""
        require_probabilities("log-loss", self.has_probabilities)
        return self._total(lambda table: (measures.log_losses(table.places)[0], 0 * table.places), (0.0, math.inf))

    @cached_property
    def brier_score(self) -> Figure:
        """The mean sum over classes of squared errors of the probability."""
        require_probabilities("Brier score", self.has_probabilities)
        return self._total(lambda table: measures.brier_losses(table.places), (0.0, 2.0))

    @cached_property
    def accuracy(self) -> Figure:
        """The share of right answers."""
        marks = self._marks
        total = max(float(marks.sum()), self._noise)
        value = float(marks[:, 1].sum()) / total
        noise = len(marks) * self._noise**2 * ((1 - value) ** 2 + value**2) / total**2
        sampled = max(value * (1 - value), 0.0) / self.size
        return figure_of(value, noise, sampled, self.confidence, _SHARE)

    @cached_property
    def balanced_accuracy(self) -> Figure:
        """The mean over classes of the share that is answered right."""
        marks = self._marks
        held = np.maximum(marks.sum(axis=1), self._noise)
        right = np.clip(marks[:, 1] / held, 0.0, 1.0)
        noise = float(np.sum(((1 - right) ** 2 + right**2) * (self._noise / held) ** 2)) / len(marks) ** 2
        sampled = float(np.sum(right * (1 - right) / held)) / len(marks) ** 2
        return figure_of(float(np.mean(right)), noise, sampled, self.confidence, _SHARE)

    @property
    def _names(self) -> list[str]:
        losses = ["log_loss", "brier_score"] if self.has_probabilities else []
        return ["accuracy", "balanced_accuracy", "auc", "average_precision", *losses]

    def save(self, path: str | Path) -> None:
        """Draw the ROC curves of the classes and their areas into one picture."""
        from tacit.evaluation.pictures import draw_several

        draw_several(self, path)

    @property
    def title(self) -> str:
        """How many classes, and of how many records."""
        return f"{len(self.classes)} classes, {self._of(self.size)}; auc and average_precision: mean over classes"

    @property
    def _marks(self) -> Floats:
        """Noisy counts of (true class, answered wrong or right)."""
        marks = self.release.value.right
        assert marks is not None
        return marks

    @property
    def _noise(self) -> float:
        return self.release.value.right_noise

    def _found(self, measure: Callable[[ScoreTable], Measure]) -> tuple[Floats, Floats, Floats]:
        """Return a figure of every class, and the variances that noise and sampling give it."""
        found = [each.table.spread(measure(each.table)) for each in self._each]
        value, noise, sampled = (np.array([each[part][0] for each in found]) for part in range(3))
        return value, noise, sampled

    def _about(self, mean: float, variance: float, sampled: Floats) -> Figure:
        """Return a mean over classes: noise is independent between them, sampling need not be."""
        return figure_of(mean, variance, float(np.mean(np.sqrt(sampled))) ** 2, self.confidence, _SHARE)

    def _total(self, losses: Callable[[ScoreTable], tuple[Floats, Floats]], limits: tuple[float, float]) -> Figure:
        """Return a loss of all classes together for each record: a sum over groups by what lies in the own ones."""
        tables = [each.released.careful for each in self._each]
        held = max(sum(float(table.counts[0].sum()) for table in tables), tables[0].floor)
        value, seen = (
            sum(float(_sums(*losses(table))(table.masses)) for table in those) / held
            for those in (tables, [each.table for each in self._each])
        )
        noise = sampled = 0.0
        for table in tables:
            own, rest = losses(table)
            # Of the ratio of the sum to the number of records, to first order.
            _, by_noise, by_sampling = table.spread(_sums(own - value, rest))
            noise, sampled = noise + float(by_noise[0]), sampled + float(by_sampling[0])
        found = figure_of(value, noise / held**2, sampled / held**2, self.confidence, limits)
        return found.with_value(min(max(seen, limits[0]), limits[1]))


def _sums(own: Floats, rest: Floats) -> Measure:
    return lambda masses: np.sum(masses[..., 0, :] * own + masses[..., 1, :] * rest, axis=-1)


def _together(figures: Sequence[Figure], confidence: float) -> Figure:
    """Return the mean of figures between 0 and 1 whose noise is independent; their sampling need not be."""
    value = float(np.mean([each.value for each in figures]))
    noise, sampling = (
        np.array([[each.value - low, high - each.value] for each in figures for low, high in (getattr(each, name),)])
        for name in ("noise", "sampling")
    )
    reach = np.linalg.norm(np.maximum(noise, 0.0), axis=0) / len(figures), np.mean(np.maximum(sampling, 0.0), axis=0)

    def around(sides: Floats) -> Range:
        return max(0.0, value - float(sides[0])), min(1.0, value + float(sides[1]))

    return Figure(value, around(reach[0]), around(reach[1]), around(np.hypot(*reach)), confidence)


def _alike(values: Floats, noise: Floats) -> tuple[float, float]:
    """Return the mean of areas known with these variances, which themselves vary, and the variance of that mean.

    What noise hides of a class is taken to be like the others, which are known better: each area is its own estimate or
    the common mean, in proportion to their variances (DerSimonian and Laird 1986 for how much areas vary).
    """
    trust = 1 / np.maximum(noise, 1e-12)
    middle = float(np.sum(trust * values) / np.sum(trust))
    excess = float(np.sum(trust * (values - middle) ** 2)) - (len(values) - 1)
    apart = max(_APART**2, excess / max(float(np.sum(trust) - np.sum(trust**2) / np.sum(trust)), 1e-12))
    trust = 1 / (noise + apart)
    middle = float(np.sum(trust * values) / np.sum(trust))
    borrowed = noise * trust
    own = values + borrowed * (middle - values)
    variance = float(np.sum(apart * borrowed)) / len(values) ** 2 + float(np.mean(borrowed)) ** 2 / float(np.sum(trust))
    return float(np.mean(own)), variance
