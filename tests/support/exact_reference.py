"""High-precision references for the tests: the same objective in mpmath, written the slow way."""

from typing import Any

import mpmath
import numpy as np

from tacit.erm import HuberHinge, HuberRegression, Logistic, Objective, Softmax, Squared

DIGITS = 60


def exact_rows(objective: Objective) -> list[list[Any]]:
    """Return the rows [scale x, constant] as exact numbers."""
    rows = objective.rows
    matrix = rows.matrix.array
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    scale = np.ones(rows.count) if rows.scale is None else rows.scale
    tail = [] if rows.constant is None else [mpmath.mpf(rows.constant)]
    return [
        [mpmath.mpf(float(s)) * mpmath.mpf(float(x)) for x in row] + tail for row, s in zip(dense, scale, strict=True)
    ]


def exact_slope(loss: Any, t: Any) -> Any:
    """Return the derivative of a pointwise loss."""
    if isinstance(loss, Logistic):
        return -1 / (1 + mpmath.exp(t))
    if isinstance(loss, HuberHinge):
        return -min(mpmath.mpf(1), max(mpmath.mpf(0), (loss.width - t) / (2 * mpmath.mpf(loss.width))))
    if isinstance(loss, HuberRegression):
        return min(mpmath.mpf(loss.width), max(-mpmath.mpf(loss.width), t))
    assert isinstance(loss, Squared)
    return t


def exact_bend(loss: Any, t: Any) -> Any:
    """Return the second derivative of a pointwise loss."""
    if isinstance(loss, Logistic):
        return mpmath.exp(t) / (1 + mpmath.exp(t)) ** 2
    if isinstance(loss, HuberHinge):
        return 1 / (2 * mpmath.mpf(loss.width)) if abs(t) <= loss.width else mpmath.mpf(0)
    if isinstance(loss, HuberRegression):
        return mpmath.mpf(1) if abs(t) <= loss.width else mpmath.mpf(0)
    return mpmath.mpf(1)


def exact_point(*halves: Any) -> list[Any]:
    """Return the sum of arrays as a flat list of exact numbers."""
    present = [np.asarray(half).ravel() for half in halves if half is not None]
    return [mpmath.fsum(mpmath.mpf(float(x)) for x in column) for column in zip(*present, strict=True)]


def exact_gradient(objective: Objective, point: list[Any]) -> list[Any]:
    """Return the gradient of J at an exact point, flat."""
    slopes = _softmax_slopes if isinstance(objective.loss, Softmax) else _pointwise_slopes
    total = slopes(objective, exact_rows(objective), point)
    count = objective.rows.count
    linear = np.zeros(objective.size) if objective.linear is None else objective.linear.ravel()
    alpha = mpmath.mpf(objective.alpha)
    return [s / count + alpha * w + mpmath.mpf(float(b)) / count for s, w, b in zip(total, point, linear, strict=True)]


def _pointwise_slopes(objective: Objective, rows: list[list[Any]], point: list[Any]) -> list[Any]:
    total = [mpmath.mpf(0)] * len(point)
    for row, target in zip(rows, objective.targets, strict=True):
        slope = exact_slope(objective.loss, exact_argument(objective, row, float(target), point))
        factor = slope * float(target) if objective.loss.kind == "margin" else slope
        total = [s + factor * x for s, x in zip(total, row, strict=True)]
    return total


def exact_argument(objective: Objective, row: list[Any], target: float, point: list[Any]) -> Any:
    """Return t of one record."""
    score = mpmath.fdot(row, point)
    loss = objective.loss
    return score - target if loss.kind == "residual" else target * score - loss.anchor


def _softmax_slopes(objective: Objective, rows: list[list[Any]], point: list[Any]) -> list[Any]:
    classes, size = objective.loss.outputs, objective.rows.dimension
    total = [mpmath.mpf(0)] * len(point)
    for row, target in zip(rows, objective.targets, strict=True):
        powers = [mpmath.exp(mpmath.fdot(row, point[c * size : (c + 1) * size])) for c in range(classes)]
        for c in range(classes):
            slope = powers[c] / mpmath.fsum(powers) - (c == target)
            for j, x in enumerate(row):
                total[c * size + j] += slope * x
    return total


def exact_minimiser(objective: Objective, start: list[Any]) -> list[Any]:
    """Return the minimiser of a pointwise objective by Newton's method from a good start."""
    rows, size, point = exact_rows(objective), objective.size, list(start)
    for _ in range(60):
        gradient = exact_gradient(objective, point)
        if mpmath.norm(gradient) <= mpmath.mpf(10) ** (15 - DIGITS):
            return point
        hessian = mpmath.eye(size) * mpmath.mpf(objective.alpha)
        for row, target in zip(rows, objective.targets, strict=True):
            weight = exact_bend(objective.loss, exact_argument(objective, row, float(target), point))
            for i in range(size):
                for j in range(size):
                    hessian[i, j] += weight * row[i] * row[j] / objective.rows.count
        step = mpmath.lu_solve(hessian, mpmath.matrix(gradient))
        point = [w - s for w, s in zip(point, step, strict=True)]
    raise AssertionError("the reference did not converge")
