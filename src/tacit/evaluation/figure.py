"""Figures with error bars that tell noise from sampling, and what all reports of them have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from tacit.errors import InvalidParameter
from tacit.notebook import card
from tacit.releases import Release

Range = tuple[float, float]
_WHOLE = 1000.0


@final
@dataclass(frozen=True)
class Figure:
    """A private number about a model, and where the truth lies with a confidence.

    `noise`: where the exact figure of these very rows lies; the width is what privacy costs. `sampling`: how far an
    exact figure of as many rows may lie from that of the population. `interval`: both together, for the population.
    """

    value: float
    noise: Range
    sampling: Range
    interval: Range
    confidence: float

    def with_value(self, value: float) -> Self:
        """Return the figure with this value, its ranges of noise so wide that they hold it."""
        noise, both = ((min(low, value), max(high, value)) for low, high in (self.noise, self.interval))
        return replace(self, value=value, noise=noise, interval=both)

    def reaching(self, below: float, above: float, limits: Range) -> Self:
        """Return the figure with ranges of noise that hold it with its confidence wherever it is within such a reach.

        What no draw of noise shows moves the truth by any number from `below` less to `above` more. Where that is more
        than noise does, a range is missed on one side only, and so needs less on each (Imbens and Manski 2004).
        """
        ranges = []
        for low, high in (self.noise, self.interval):
            part = _of_reach(below + above, high - low, self.confidence)
            low, high = self.value - part * (self.value - low) - below, self.value + part * (high - self.value) + above
            ranges.append((max(limits[0], min(low, limits[1])), min(limits[1], max(high, limits[0]))))
        return replace(self, noise=ranges[0], interval=ranges[1])

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __str__(self) -> str:
        return f"{number(self.value)} (noise {in_words(self.noise)}, with sampling {in_words(self.interval)})"


def _of_reach(known: float, width: float, confidence: float) -> float:
    """Return which part of a range's reach is needed beside what is known to be within such a distance."""
    both = float(ndtri((1 + confidence) / 2))
    if width <= 0 or known <= 0:
        return 1.0
    more = known * 2 * both / width
    return float(brentq(lambda one: ndtr(one + more) - ndtr(-one) - confidence, ndtri(confidence) - 1e-9, both)) / both


class Report(ABC):
    """Figures by name, each an attribute, computed from one release."""

    release: Release[Any]
    confidence: float
    judged: str

    @property
    @abstractmethod
    def _names(self) -> Sequence[str]:
        """The names of the figures."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the report is about, in one line."""

    def _of(self, count: int) -> str:
        """Say how many were judged, and what they are to the model."""
        return f"{count:,} {self.release.unit}s {self.judged}"

    def figures(self) -> dict[str, Figure]:
        """Return all figures by name, as scikit-learn's metrics are called."""
        return {name: getattr(self, name) for name in self._names}

    def __str__(self) -> str:
        lines = [
            f"{self.title}  ({self.release.guarantee})",
            f"{'':22}{'':>10}{'noise':>22}{'noise and sampling':>24}",
        ]
        for name, figure in self.figures().items():
            lines.append(
                f"{name:22}{number(figure.value):>10}{in_words(figure.noise):>22}{in_words(figure.interval):>24}"
            )
        return "\n".join([*lines, f"Ranges hold with {self.confidence:.0%} confidence each."])

    def _repr_html_(self) -> str:
        columns = ("", "value", "noise", "noise and sampling")
        rows = [
            (name, number(each.value), in_words(each.noise), in_words(each.interval))
            for name, each in self.figures().items()
        ]
        return card(self.title, {"guarantee": self.release.guarantee}, columns, rows)


def require_probabilities(what: str, has_probabilities: bool) -> None:
    """Refuse a score of probabilities for a model that has none."""
    if not has_probabilities:
        raise InvalidParameter(f"{what} needs probabilities, and this model has scores only.")


def in_words(bounds: Range) -> str:
    """Say where a range begins and ends."""
    return f"{number(bounds[0])} to {number(bounds[1])}"


def number(value: float) -> str:
    """Write a figure: shares with four places, prices in whole units."""
    if not value:
        return "0"
    return f"{value:.4f}" if abs(value) < _WHOLE else f"{value:,.0f}"
