"""The report on a model of several classes: each class against the rest, jointly for one charge."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.data.labels import places
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import UNKNOWN
from tacit.evaluation import measures
from tacit.evaluation.figure import Figure, Range, Report, require_probabilities
from tacit.evaluation.quotients import Quotient, area, fieller, mean
from tacit.evaluation.reading import SURE
from tacit.evaluation.sketch import Sketched
from tacit.evaluation.table import ScoreTable, figure_of
from tacit.evaluation.two import TwoClassReport
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_SHARE = (0.0, 1.0)
_APART = 0.05
"""How far areas of classes are apart at least, as a standard deviation."""

_FAR = 1.5
"""How many deviations from nothing a class must be for its area to be known at all."""

_NOTHING = 0.25
"""The variance of a share of which nothing is known."""


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
        own, _, variance = self._areas
        sampled = float(np.mean(np.sqrt([area(each.table).sampled for each in self._each]))) ** 2
        return figure_of(float(np.mean(own)), variance, sampled, self.confidence, _SHARE)

    @cached_property
    def average_precision(self) -> Figure:
        """The mean over classes of the average precision of each against the rest.

        What noise hides of a class is taken from its share and its area, which are known better, as if scores of either
        class had normal laws, but for how far off that the others are.
        """
        found, reach = [each.smooth_precision for each in self._each], float(ndtri((1 + self.confidence) / 2))
        noise = np.array([max(each.noise[1] - each.value, each.value - each.noise[0]) for each in found]) / reach
        sampled = np.array([each.sampling[1] - each.sampling[0] for each in found]) / 2 / reach
        expected, doubt = self._expected_precision
        off, trust = np.array([each.value for each in found]) - expected, 1 / np.maximum(noise**2, 1e-12)
        apart = math.sqrt(max(_APART**2, float(np.sum(trust * off**2) - len(off)) / float(np.sum(trust))))
        kept = (apart**2 + doubt**2) / (noise**2 + apart**2 + doubt**2)
        unknown = noise + [each.table.doubt for each in self._each]
        # Noise is independent between classes; how far off normal laws are, and the area that is common, is not.
        variance = float(np.sum((kept * unknown) ** 2)) / len(off) ** 2
        variance += float(np.mean(1 - kept) * apart) ** 2 + float(np.mean((1 - kept) * doubt)) ** 2
        mean = float(np.mean(expected + kept * off))
        ties = float(np.mean(kept * [each.tied_loss for each in self._each]))
        return figure_of(mean, variance, float(np.mean(sampled)) ** 2, self.confidence, _SHARE).reaching(
            ties, 0, _SHARE
        )

    @cached_property
    def _areas(self) -> tuple[Floats, Floats, float]:
        return _alike([area(each.table) for each in self._each])

    @property
    def _expected_precision(self) -> tuple[Floats, Floats]:
        """Return what shares and areas of classes suggest of their average precision, and how far noise moves it."""
        noise = np.array([each.table.floors[0] for each in self._each]) / self.size
        shares = np.array([each.table.counts[0].sum() for each in self._each]) / self.size
        shares, (own, left, _) = np.maximum(shares, noise / 2), self._areas
        expected = measures.expected_precision(shares, own)
        by_share = [measures.expected_precision(shares + sign * noise, own) - expected for sign in (1, -1)]
        by_area = [measures.expected_precision(shares, own + sign * np.sqrt(left)) - expected for sign in (1, -1)]
        return expected, np.sqrt(np.mean(np.square([by_share, by_area]), axis=1).sum(axis=0))

    @cached_property
    def log_loss(self) -> Figure:
        """The mean of -log(probability of the true class)."""
        require_probabilities("log-loss", self.has_probabilities)
        return self._total(lambda table: (measures.log_losses(table.places)[0], 0 * table.places), (0.0, SURE))

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

    def _total(self, losses: Callable[[ScoreTable], tuple[Floats, Floats]], limits: Range) -> Figure:
        """Return a loss of all classes together for each record: a sum over groups by what lies in the own ones."""
        tables = [each.released.careful for each in self._each], [each.table for each in self._each]
        careful, seen = (_joint(each, np.concatenate([losses(table) for table in each])) for each in tables)
        return careful.figure(self.confidence, limits).with_value(min(max(seen.value, limits[0]), limits[1]))


def _joint(tables: Sequence[ScoreTable], losses: Floats) -> Quotient:
    """Return the mean of a loss that every group of these tables has, by what lies in the first groups of them."""
    counts, noise = (np.concatenate([getattr(each, name) for each in tables]) for name in ("counts", "noise"))
    least = max(1.0, float(np.linalg.norm(noise[::2])))
    return mean(replace(tables[0], counts=counts, noise=noise), losses, least, np.arange(len(counts)) % 2 == 0)


def _alike(found: Sequence[Quotient]) -> tuple[Floats, Floats, float]:
    """Return areas of classes, which themselves vary; the variance left in each, and that of their mean.

    What noise hides of a class is taken to be like the others: each is its own estimate or the common one, in
    proportion to their variances (after DerSimonian and Laird 1986, by how much areas vary beyond noise).
    """
    parts, wholes = (np.array([getattr(each, name) for each in found]) for name in ("part", "whole"))
    every = np.array([each.variances for each in found]).sum(axis=0)
    low, high = fieller(float(parts.sum()), float(wholes.sum()), (every[0], every[1], every[2]), _FAR)
    if not math.isfinite(high):
        return np.full(len(found), 0.5), np.full(len(found), _NOTHING), _NOTHING
    middle = float(parts.sum() / wholes.sum())
    near = np.array([each.within(1.0, 1, 0) for each in found])
    far = np.array([each.within(_FAR, 1, 0) for each in found])
    noise = ((far[:, 1] - far[:, 0]) / 2 / _FAR) ** 2
    off = np.where(np.isfinite(near), near, middle).mean(axis=1) - middle
    trust = 1 / np.maximum(noise, 1e-12)
    known = int(np.count_nonzero(trust))
    excess = float(np.sum(trust * off**2)) - known
    # The fewer are known, the less is known of how far they are apart.
    least = _APART**2 * (1 + 16 / max(known, 1) ** 2)
    apart = max(least, excess / max(float(np.sum(trust)), 1e-12))
    hidden = 1 - apart / (noise + apart)
    # Where not even one class is known by itself, all pairs together stand for it.
    pooled = max(1 - float(np.sum(1 - hidden)), 0.0) * apart / (((high - low) / 2 / _FAR) ** 2 + apart)
    middle += float(np.sum((1 - hidden) * off)) / (float(np.sum(1 - hidden)) + pooled)
    off, common = off + parts.sum() / wholes.sum() - middle, apart / (float(np.sum(1 - hidden)) + pooled)
    variance = apart * float(np.sum(hidden)) / len(found) ** 2 + float(np.mean(hidden)) ** 2 * common
    return middle + (1 - hidden) * off, apart * hidden + hidden**2 * common, variance
