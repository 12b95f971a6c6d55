"""What an exhibit is: a published or shipped mistake as code, with the number that an attack on it must reach."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit import noise
from tacit.audit.case import Audited
from tacit.audit.game import Batch
from tacit.noise import source_for, uniform
from tacit.numerics.arrays import Floats


@final
@dataclass(frozen=True)
class Exhibit:
    """A broken algorithm.

    `must_reach` is the lower bound on epsilon that the attack must show when epsilon 1 is claimed, with the case's own
    number of plays, at 99.9 % confidence.
    """

    must_reach: float
    audited: Audited


def grid_laplace(scale: float, count: int) -> Floats:
    """Draw Laplace noise on a power-of-two grid, so that nothing but the exhibit's own mistake can be caught."""
    grid = noise.power_of_two_below(scale) * 2.0**-30
    return noise.laplace(source_for(None), round(scale / grid), count).astype(np.float64) * grid


def textbook_spherical(scale: float, count: int) -> Floats:
    """Draw vectors in the plane with density proportional to exp(-|noise| / scale), in doubles."""
    source = source_for(None)
    norm = -scale * np.log1p(-uniform(source, 2 * count)).reshape(2, count).sum(axis=0)
    angle = 2 * math.pi * uniform(source, count)
    return np.asarray(norm[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


@final
@dataclass(frozen=True)
class Additive(Batch):
    """A statistic of the data plus noise; `draw(count)` has one row for each answer."""

    statistic: Callable[[Any], Floats]
    draw: Callable[[int], Floats]

    def many(self, data: Any, count: int) -> Floats:
        """Return the statistic plus noise, so many times."""
        return np.asarray(self.statistic(data) + self.draw(count))
