"""Exact densities of released coefficients, up to a constant that neighbours share.

*Objective perturbation.* With b in the term b.w/n, stationarity gives b(w) = -n lambda w - sum_i gradient_i(w), a
smooth bijection: the density at w is that of b(w) times det(n lambda I + sum_i hessian_i(w)).

*Output perturbation.* The density at w is that of the noise w - w*.

The losses' formulas are written out here once more: an auditor does not borrow them from the audited.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root
from scipy.special import expit

from tacit.numerics.arrays import Floats

_SPREAD = 12.0


@final
@dataclass(frozen=True)
class Formula:
    """The first two derivatives of a loss in the score w.x, given scores and targets."""

    slope: Callable[[Floats, Floats], Floats]
    bend: Callable[[Floats, Floats], Floats]


def logistic(anchor: float) -> Formula:
    """Return log(1 + exp(anchor - margin))."""
    return Formula(
        slope=lambda s, y: -expit(anchor - s * y) * y,
        bend=lambda s, y: expit(anchor - s * y) * expit(s * y - anchor),
    )


LOGISTIC = logistic(0.0)


def huber_hinge(width: float) -> Formula:
    """Return the hinge rounded where |1 - margin| < width."""
    return Formula(
        slope=lambda s, y: -np.clip((1 + width - s * y) / (2 * width), 0, 1) * y,
        bend=lambda s, y: (np.abs(1 - s * y) < width) / (2 * width),
    )


def huber_regression(width: float) -> Formula:
    """Return half the squared residual, continued linearly beyond the width."""
    return Formula(
        slope=lambda s, y: np.clip(s - y, -width, width),
        bend=lambda s, y: (np.abs(s - y) < width).astype(float),
    )


@final
@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows with their targets, each counted `times` times; the first is the one that a neighbour replaces."""

    rows: Floats
    targets: Floats
    times: Floats

    @classmethod
    def of(cls, rows: ArrayLike, targets: ArrayLike, times: ArrayLike | None = None) -> "CountedRows":
        """Build records from lists."""
        matrix = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        counts = np.ones(len(matrix)) if times is None else np.asarray(times, dtype=np.float64)
        return cls(matrix, np.asarray(targets, dtype=np.float64), counts)

    @property
    def count(self) -> int:
        """How many records there are."""
        return int(self.times.sum())

    def replaced(self, row: ArrayLike, target: float) -> "CountedRows":
        """Return the neighbour in which the first record is another."""
        rows, targets = self.rows.copy(), self.targets.copy()
        rows[0], targets[0] = row, target
        return replace(self, rows=rows, targets=targets)

    def slopes(self, points: Floats, formula: Formula) -> Floats:
        """Return the sums of gradients at points of shape (m, d)."""
        scores = points @ self.rows.T
        return np.asarray((formula.slope(scores, self.targets) * self.times) @ self.rows)

    def bends(self, points: Floats, formula: Formula) -> Floats:
        """Return the sums of Hessians, of shape (m, d, d)."""
        weights = formula.bend(points @ self.rows.T, self.targets) * self.times
        return np.asarray(np.einsum("mi,ia,ib->mab", weights, self.rows, self.rows))


@final
@dataclass(frozen=True)
class NoiseLaw:
    """The law of a noise vector: density proportional to exp(-|b| / unit), or Gaussian of that standard deviation."""

    unit: float
    gaussian: bool = False

    def log_density(self, noise: Floats) -> Floats:
        """Return the log density at vectors of shape (m, d), up to a constant."""
        size = np.linalg.norm(noise, axis=-1) / self.unit
        return np.asarray(-(size**2) / 2 if self.gaussian else -size)


@final
@dataclass(frozen=True)
class ObjectiveLaw:
    """The law of what objective perturbation releases: the loss, the ridge n lambda, and the law of its noise b."""

    formula: Formula
    ridge: float
    noise: NoiseLaw

    def noise_at(self, points: Floats, records: CountedRows) -> Floats:
        """Return the noise b under which each point is the minimiser."""
        return -self.ridge * points - records.slopes(points, self.formula)

    def log_density(self, points: Floats, records: CountedRows) -> Floats:
        """Return the log density of the minimiser at points of shape (m, d)."""
        identity = self.ridge * np.eye(points.shape[1])
        _, jacobian = np.linalg.slogdet(identity + records.bends(points, self.formula))
        return np.asarray(self.noise.log_density(self.noise_at(points, records)) + jacobian)

    def delta(self, one: CountedRows, other: CountedRows, epsilon: float, reach: float, steps: int = 400_001) -> float:
        """Return the delta at epsilon for one coefficient, the worse of both directions, by integrating to +-reach.

        Points are dense near 0, where a record matters, and sparse far out, where only the noise does.
        """
        places = np.linspace(-_SPREAD, _SPREAD, steps)
        points = reach * np.sinh(places) / math.sinh(_SPREAD)
        weights = np.cosh(places)
        logs = [self.log_density(points[:, None], records) for records in (one, other)]
        first, second = (np.exp(log - log.max()) * weights for log in logs)
        first, second = first / first.sum(), second / second.sum()
        return delta_between(first, second, epsilon)


def delta_between(first: Floats, second: Floats, epsilon: float) -> float:
    """Return the delta at epsilon of two tables of chances, the worse of both directions."""
    odds = math.exp(epsilon)
    return float(max(np.maximum(first - odds * second, 0).sum(), np.maximum(second - odds * first, 0).sum()))


def minimiser(records: CountedRows, formula: Formula, ridge: float) -> Floats:
    """Return the coefficient that minimises the sum of losses plus ridge/2 |w|^2."""

    def gradient(w: Floats) -> Floats:
        return np.asarray(ridge * w + records.slopes(w[None, :], formula)[0])

    def jacobian(w: Floats) -> Floats:
        return np.asarray(ridge * np.eye(w.size) + records.bends(w[None, :], formula)[0])

    found = root(gradient, np.zeros(records.rows.shape[1]), jac=jacobian, method="hybr", tol=1e-14)
    return np.asarray(found.x)
