"""The exact density of the minimiser of a randomly tilted objective, up to a constant that neighbours share.

With b in the term b.w/n, stationarity gives b(w) = -n alpha w - sum_i gradient_i(w), so the density at w is that
of b(w) times det(n alpha I + sum_i hessian_i(w)). Formulas of losses are written out here once more, so that a
mistake in the library's own would show. Records may have multiplicities, which makes huge data sets cheap.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import HuberHinge, HuberRegression, Logistic

__all__ = ["Records", "delta_between", "helmert", "laplace_law", "largest_log_ratio", "log_density", "normal_law"]

Array = NDArray[np.float64]
Law: TypeAlias = Callable[[Array], Array]
Loss: TypeAlias = Logistic | HuberHinge | HuberRegression | Softmax


@dataclass(frozen=True)
class Records:
    """Rows with their targets, each counted `times` times."""

    rows: Array
    targets: Array
    times: Array

    @classmethod
    def of(cls, rows: ArrayLike, targets: ArrayLike, times: ArrayLike | None = None) -> "Records":
        """Build records from lists."""
        matrix = np.asarray(rows, dtype=float)
        counts = np.ones(len(matrix)) if times is None else np.asarray(times, dtype=float)
        return cls(matrix, np.asarray(targets, dtype=float), counts)

    @property
    def count(self) -> int:
        """How many records there are."""
        return int(self.times.sum())

    def with_first(self, row: ArrayLike, target: float) -> "Records":
        """Return the neighbour in which the first record is another."""
        rows, targets = self.rows.copy(), self.targets.copy()
        rows[0], targets[0] = row, target
        return replace(self, rows=rows, targets=targets)


def laplace_law(scale: float) -> Law:
    """Return the log density of spherical Laplace noise, without its constant."""
    return lambda b: -np.linalg.norm(b, axis=-1) / scale


def normal_law(sigma: float) -> Law:
    """Return the log density of Gaussian noise, with its constant."""
    return lambda b: (
        -np.square(b).sum(axis=-1) / (2 * sigma**2) - b.shape[-1] * math.log(sigma * math.sqrt(2 * math.pi))
    )


def log_density(points: Array, records: Records, loss: Loss, ridge: float, law: Law) -> Array:
    """Return the log density of the minimiser at points of shape (m, free coordinates); ridge is n alpha."""
    slopes, bends = _derivatives(points, records, loss)
    tilt = -ridge * points - slopes
    hessians = ridge * np.eye(points.shape[1]) + bends
    determinants = hessians[:, 0, 0] if points.shape[1] == 1 else np.linalg.det(hessians)
    assert np.all(determinants > 0)
    return law(tilt) + np.log(determinants)


@cache
def helmert(classes: int) -> Array:
    """Return an orthonormal basis, in columns, of the vectors of so many numbers that sum to zero."""
    raw = np.tril(np.ones((classes, classes)))[:, : classes - 1] - np.diag(np.arange(1.0, classes), 1)[:, : classes - 1]
    full, _ = np.linalg.qr(np.column_stack([np.ones(classes), raw]))
    return np.asarray(full[:, 1:])


def _derivatives(points: Array, records: Records, loss: Loss) -> tuple[Array, Array]:
    """Return the sums over records of gradients (m, d) and of Hessians (m, d, d)."""
    if isinstance(loss, Softmax):
        return _joint_derivatives(points, records, loss.classes)
    scores = points @ records.rows.T
    slope, bend = _pointwise(scores, records.targets, loss)
    slope, bend = slope * records.times, bend * records.times
    squares = (records.rows[:, :, None] * records.rows[:, None, :]).reshape(len(records.rows), -1)
    return slope @ records.rows, (bend @ squares).reshape(len(points), *[points.shape[1]] * 2)


def _pointwise(scores: Array, targets: Array, loss: Loss) -> tuple[Array, Array]:
    """Return the first two derivatives in the score."""
    if isinstance(loss, HuberRegression):
        residual = scores - targets
        return np.clip(residual, -loss.width, loss.width), (np.abs(residual) < loss.width).astype(float)
    margin = scores * targets
    if isinstance(loss, Logistic):
        chance = expit(loss.anchor - margin)
        return -chance * targets, expit(margin - loss.anchor) * chance
    assert isinstance(loss, HuberHinge)
    inside = np.abs(1 - margin) < loss.width
    return -np.clip((1 + loss.width - margin) / (2 * loss.width), 0, 1) * targets, inside / (2 * loss.width)


def _joint_derivatives(points: Array, records: Records, classes: int) -> tuple[Array, Array]:
    """Return the derivatives of the softmax loss in the coordinates of the zero-sum subspace."""
    basis, dimension = helmert(classes), records.rows.shape[1]
    models = np.einsum("kf,mfd->mkd", basis, points.reshape(len(points), classes - 1, dimension))
    scores = np.einsum("mkd,id->mik", models, records.rows)
    chances = np.exp(scores - scores.max(axis=2, keepdims=True))
    chances /= chances.sum(axis=2, keepdims=True)
    one_hot = np.eye(classes)[records.targets.astype(int)]
    slope = np.einsum("mik,kf,i,id->mfd", chances - one_hot, basis, records.times, records.rows)
    reduced = chances @ basis
    bend = np.einsum("mik,kf,kg->mifg", chances, basis, basis) - reduced[..., :, None] * reduced[..., None, :]
    whole = np.einsum("mifg,i,id,ie->mfdge", bend, records.times, records.rows, records.rows)
    return slope.reshape(len(points), -1), whole.reshape(len(points), points.shape[1], points.shape[1])


def largest_log_ratio(points: Array, one: Records, other: Records, loss: Loss, ridge: float, law: Law) -> float:
    """Return the largest |log ratio| of the densities over the points and over what a climb from the best reaches."""

    def ratio(at: Array) -> Array:
        return np.abs(log_density(at, one, loss, ridge, law) - log_density(at, other, loss, ridge, law))

    values = ratio(points)
    best, highest = points[values.argmax()], float(values.max())
    directions = np.concatenate([np.eye(points.shape[1]), -np.eye(points.shape[1])])
    step = 0.3 * (float(np.linalg.norm(best)) + 0.1)
    for _ in range(60):
        around = best + step * directions
        values = ratio(around)
        if values.max() > highest:
            best, highest = around[values.argmax()], float(values.max())
        else:
            step /= 2
    return highest


def delta_between(
    axes: list[Array], one: Records, other: Records, loss: Loss, ridge: float, sigma: float, epsilon: float
) -> tuple[float, float]:
    """Return the exact delta at epsilon of Gaussian tilts, the worse of both directions, and the mass that was seen.

    The densities are integrated over the even grid that the axes span.
    """
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    cell = math.prod(float(axis[1] - axis[0]) for axis in axes)
    law = normal_law(sigma)
    first, second = (np.exp(log_density(mesh, records, loss, ridge, law)) for records in (one, other))
    there = float(np.maximum(first - math.exp(epsilon) * second, 0).sum()) * cell
    back = float(np.maximum(second - math.exp(epsilon) * first, 0).sum()) * cell
    return max(there, back), min(float(first.sum()), float(second.sum())) * cell
