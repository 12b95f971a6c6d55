"""A figure with error bars that tell noise from sampling."""

from dataclasses import dataclass
from typing import final

Range = tuple[float, float]


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

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __str__(self) -> str:
        return f"{self.value:.4f} (noise {_shown(self.noise)}, with sampling {_shown(self.interval)})"


def _shown(bounds: Range) -> str:
    return f"{bounds[0]:.4f} to {bounds[1]:.4f}"
