"""Private least squares by sufficient statistics: release X'X and X'y once, solve afterwards for free."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tacit.accounting.events import Event
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.erm.perturbations.calibration import additive_noise
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise, Mechanism, checked_budget
from tacit.noise import Source
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.threads import Threads, threads

_ROWS_PER_BLOCK = 4096
_LARGEST_DIMENSION = 20_000


@final
@dataclass(frozen=True, eq=False)
class Statistics:
    """Noisy X'X and X'y of rows over their norm, and the deviations of their noise: of X'X's diagonal, and of X'y.

    Over their norm because a fit is charged by then: squares of squares of a norm such as 1e90 are no numbers.
    """

    gram: Floats
    moment: Floats
    gram_noise: float
    moment_noise: float

    @property
    def error(self) -> float:
        """How far off X'X typically is in operator norm."""
        return self.gram_noise * math.sqrt(2 * len(self.gram))

    def solve(self, ridge: float) -> tuple[Floats, Floats]:
        """Return the coefficient of the noisy problem, and the standard deviation of the noise in each.

        The ridge is raised until the smallest noisy eigenvalue is at least the typical error: below that,
        the noise would decide. It is chosen from noisy numbers, so it costs nothing.
        """
        values, vectors = np.linalg.eigh(self.gram)
        ridge = max(ridge, self.error - float(values[0]))
        inverse = (vectors / (values + ridge)) @ vectors.T
        coefficient = inverse @ self.moment
        level = self.moment_noise**2 + self.gram_noise**2 / 2 * float(coefficient @ coefficient)
        along = self.gram_noise / math.sqrt(2) * (inverse @ coefficient)
        return coefficient, np.sqrt(level * np.square(inverse).sum(axis=1) + np.square(along))


@final
@dataclass(frozen=True)
class StatisticsPerturbation(Mechanism[tuple[Rows, Any], Statistics]):
    """One noisy release of the sufficient statistics of least squares.

    Guarantee: the statistics, and all that is computed from them, are (epsilon, delta)-private, pure when delta is 0.
    Assumes: rows are clipped to `norm` and targets to [-1, 1]; replace-one neighbours; n is public.
    Reference: least_squares.md: the joint L2 sensitivity of (X'X / norm^2, X'y / norm) is 3/sqrt(2).
    """

    budget: Budget
    count: int
    dimension: int
    norm: float

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "norm", finite_number("norm", self.norm))
        if self.dimension > _LARGEST_DIMENSION:
            raise InvalidParameter(
                f"{self.dimension} features are too many for sufficient statistics. Use perturbation='output'."
            )
        _ = self.law

    @cached_property
    def law(self) -> AdditiveNoise:
        """The noise on the statistics as one vector."""
        sensitivity = 3 / math.sqrt(2) + 2 * self._rounding
        size = self.dimension * (self.dimension + 1) // 2 + self.dimension
        return additive_noise(self.budget, sensitivity, size)

    @property
    def _rounding(self) -> float:
        """Bound the rounding error of the computed statistics: n products of norm at most 1, twice."""
        return 2.02 * (_ROWS_PER_BLOCK + 32) * UNIT_ROUNDOFF * self.count

    @property
    def event(self) -> Event:
        """The event of the noise."""
        return self.law.event

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"{self.dimension} features", f"row norm {self.norm:g}"

    def check(self, value: tuple[Rows, Any]) -> tuple[Rows, Any]:
        """Return the rows and targets if they are what was calibrated for."""
        rows, targets = value
        if (rows.count, rows.dimension, rows.norm) != (self.count, self.dimension, self.norm):
            raise InvalidParameter("the rows are not those that the release was calibrated for.")
        if targets.shape != (rows.length,):
            raise InvalidParameter("there must be one target for each row.")
        return value

    def randomise(self, value: tuple[Rows, Any], source: Source) -> Statistics:
        """Return the noisy statistics."""
        rows, targets = value
        exact = _joint_sums(rows, targets)
        upper = np.triu_indices(self.dimension)
        # Off-diagonal entries count twice in the norm of a symmetric matrix.
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
        flat = np.concatenate([exact[:-1][upper] / self.norm**2 * weight, exact[-1] / self.norm])
        noisy = np.asarray(self.law.randomise(flat, source))
        gram = np.zeros((self.dimension, self.dimension))
        gram[upper] = noisy[: weight.size] / weight
        gram = gram + np.triu(gram, 1).T
        return Statistics(gram, noisy[weight.size :], self.law.standard_deviation, self.law.standard_deviation)


def _joint_sums(rows: Rows, targets: Any) -> Floats:
    """Return X'X with X'y as one more row."""
    with threads(rows.matrix.entries * rows.dimension) as workers:
        return rows.over(targets, workers, _joint_sums_here)


def _joint_sums_here(rows: Rows, targets: Any, workers: Threads) -> Floats:
    def work(bounds: tuple[int, int]) -> Floats:
        block, part = rows.block(bounds), np.clip(np.nan_to_num(targets[slice(*bounds)]), -1.0, 1.0)
        return np.vstack([block.gram(np.ones(part.size)), block.pull(part[:, None])])

    return workers.sum(work, rows.blocks(1, _ROWS_PER_BLOCK))
