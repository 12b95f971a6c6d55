"""Kernel models in the span of their records: the minimiser of the regularised risk, with a certified distance.

J(w) = (1/n) sum_i loss(<w, phi(x_i)>) + (alpha/2)|w|^2 is minimal at some w* = sum_i mu_i phi(x_i) with
mu_i = -slope_i/(n alpha). Newton's method works on mu and the matrix K of all pairs; what it returns is judged by the
gradient's norm sqrt(r^T K r), r = alpha mu + slopes/n, or for the hinge by a duality gap, rounding errors included.
Whatever the records are, a certified point is returned: where Newton's method does not find one, slower methods do.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from tacit.erm.losses import Hinge, HuberHinge
from tacit.kernels.kernel import UNIT, Array
from tacit.kernels.problem import KernelProblem

__all__ = ["minimise"]

_DIRECT = 2_500
_PATIENCE = 300
_MASS = 1.005


def minimise(problem: KernelProblem, tolerance: float) -> Array:
    """Return weights whose w lies within tolerance/alpha of the minimiser; their sizes sum to at most 1.005 L/alpha.

    Guarantee: the distance is a true bound, rounding errors included, and no records make this fail.
    Assumes: the loss is convex with its declared constants; the kernel is positive semi-definite and as accurate as
    it declares; alpha passes `check_alpha` and the tolerance is `tolerance_for`, or larger.
    Reference: strong convexity, |w - w*| <= |grad J(w)|/alpha, or sqrt(2 gap/alpha); interactive.md, "No failure".
    """
    # Whether numbers overflow on the way depends on records, and must not raise where a caller asked for that.
    with np.errstate(all="ignore"):
        if isinstance(problem.loss, Hinge):
            return _swept(problem, _narrowed(problem, tolerance), tolerance)
        return _descended(problem, _newton(problem, tolerance), tolerance)


def _newton(problem: KernelProblem, tolerance: float) -> Array:
    """Return weights from Newton's method: nearly always, but not surely, good enough."""
    weights = candidate = np.zeros(problem.count)
    for _ in range(_PATIENCE):
        scores = problem.scores(weights)
        slopes = problem.slopes(scores)
        candidate = _stationary(problem, slopes)
        # At a small alpha errors of scores count (c R^2/alpha)-fold in the candidate, but once in the weights.
        for found in (candidate, weights):
            if _is_light(problem, found) and _gradient_norm(problem, found) <= tolerance:
                return found
        weights = weights + _step(problem, weights, scores, slopes)
        if not np.all(np.isfinite(weights)):
            break
    return candidate


def _descended(problem: KernelProblem, weights: Array, tolerance: float) -> Array:
    """Follow the gradient until the weights are certified, which comes about at every data set.

    Every step is a mean of the weights and of `_stationary`, so the sum of sizes stays below L/alpha.
    """
    step = 1.0 / (problem.alpha + problem.loss.smoothness * problem.domain.square)
    while not _gradient_norm(problem, weights) <= tolerance:
        weights = weights - step * problem.residual(weights)
    return weights


def _is_light(problem: KernelProblem, weights: Array) -> bool:
    return float(np.abs(weights).sum()) * problem.alpha <= _MASS * problem.loss.lipschitz


def _stationary(problem: KernelProblem, slopes: Array) -> Array:
    """Return the weights that slopes stand for at a minimum; their sizes sum to at most L/alpha."""
    return slopes / (-problem.count * problem.alpha)


def _gradient_norm(problem: KernelProblem, weights: Array) -> float:
    """Bound the norm of the gradient of J, rounding errors included."""
    domain, loss = problem.domain, problem.loss
    mass = float(np.abs(weights).sum()) * 1.001
    rest = problem.residual(weights)
    size = float(np.abs(rest).sum()) * 1.001
    square = math.fsum(rest * problem.scores(rest)) + 2 * problem.score_error(size) * size
    slope = loss.smoothness * problem.score_error(mass) + loss.rounding(domain.square * mass)
    return math.sqrt(max(square, 0.0)) + domain.radius * (slope + 8 * UNIT * loss.lipschitz) * 1.01


def _step(problem: KernelProblem, weights: Array, scores: Array, slopes: Array) -> Array:
    """Return Newton's step, shortened until the slope along it is small."""
    step = _newton_step(problem, weights, slopes, problem.curvatures(scores))
    along = problem.scores(step)

    def slope(share: float) -> float:
        moved = problem.slopes(scores + share * along) / problem.count
        return float((problem.alpha * (weights + share * step) + moved) @ along)

    return step * _share(slope)


def _newton_step(problem: KernelProblem, weights: Array, slopes: Array, curvatures: Array) -> Array:
    """Return the step to the minimum of the quadratic with these slopes and curvatures at the weights.

    With r the residual and D the curvatures, the step is -r/alpha + S v, S = sqrt(D), where
    (n alpha I + S K S) v = S K r / alpha: positive definite, and as well conditioned as J.
    """
    rest = problem.alpha * weights + slopes / problem.count
    root = np.sqrt(curvatures)
    inside = np.flatnonzero(root)
    step = rest / -problem.alpha
    if len(inside):
        pull = root * problem.scores(rest) / problem.alpha
        step[inside] += root[inside] * _solved(problem, root, inside, pull[inside])
    return step


def _solved(problem: KernelProblem, root: Array, inside: Any, right: Array) -> Array:
    ridge = problem.count * problem.alpha
    if len(inside) <= _DIRECT:
        chosen = problem.gram if len(inside) == problem.count else problem.gram[np.ix_(inside, inside)]
        return _factorised_solve(chosen * root[inside][:, None] * root[inside], ridge, right)
    whole = np.zeros(problem.count)

    def product(v: Array) -> Array:
        whole[inside] = root[inside] * v.ravel()
        return np.asarray(ridge * v.ravel() + root[inside] * (problem.gram @ whole)[inside])

    operator = LinearOperator((len(inside), len(inside)), matvec=product, dtype=np.float64)
    return np.asarray(cg(operator, right, rtol=1e-9, maxiter=2000)[0])


def _factorised_solve(matrix: Array, ridge: float, right: Array) -> Array:
    """Solve (matrix + ridge I) v = right, with a larger ridge where rounding left a negative direction."""
    while True:
        shifted = matrix.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        try:
            return np.asarray(cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), right))
        except LinAlgError:
            ridge *= 16


def _share(slope: Any) -> float:
    """Return the share of a step at which a rising slope is nearly zero, at most 1."""
    first = slope(0.0)
    low, high, share = 0.0, math.inf, 1.0
    for _ in range(60):
        here = slope(share)
        if here <= 0.1 * abs(first) and (share == 1.0 or here >= -0.1 * abs(first)):
            break
        low, high = (share, high) if here < 0 else (low, share)
        share = min(1.0, 2 * share) if math.isinf(high) else (low + high) / 2
    return share


def _narrowed(problem: KernelProblem, tolerance: float) -> Array:
    """Round the corner ever less; the slopes of rounded hinges are dual variables of the hinge itself.

    A rounded hinge is quadratic in three pieces, so Newton's method is done when records stay on theirs. A narrower one
    begins where it would end if they stayed there, too.
    """
    weights = candidate = slopes = np.zeros(problem.count)
    width, pieces = 0.5, None
    while width >= 1e-14:
        rounded = replace(problem, loss=HuberHinge(width))
        if pieces is not None:
            weights = weights + _carried(rounded, weights, slopes, pieces)
        pieces = None
        for _ in range(_PATIENCE):
            scores = rounded.scores(weights)
            slopes = rounded.slopes(scores)
            candidate = _stationary(problem, slopes)
            for found in (candidate, _feasible(problem, weights)):
                if _distance_by_gap(problem, found) * problem.alpha <= tolerance:
                    return found
            weights = weights + _step(rounded, weights, scores, slopes)
            if not np.all(np.isfinite(weights)):
                return candidate
            before, pieces = pieces, rounded.curvatures(scores) > 0
            if before is not None and np.array_equal(pieces, before):
                break
        width /= 8
    return candidate


def _carried(rounded: KernelProblem, weights: Array, slopes: Array, curved: Any) -> Array:
    """Return the step to the minimum of the quadratic that is the rounded hinge if just these records are curved."""
    corner = rounded.targets
    curvatures = np.where(curved, rounded.curvatures(corner), 0.0)
    line = rounded.slopes(corner) + curvatures * (rounded.scores(weights) - corner)
    return _newton_step(rounded, weights, np.where(curved, line, slopes), curvatures)


def _feasible(problem: KernelProblem, weights: Array) -> Array:
    """Return the nearest weights whose dual variables lie in [0, 1]."""
    unit = 1.0 / (problem.count * problem.alpha)
    return np.clip(weights * problem.targets, 0.0, unit) * problem.targets


def _swept(problem: KernelProblem, weights: Array, tolerance: float) -> Array:
    """Maximise the hinge's dual in one variable after the other until the gap is small."""
    unit = 1.0 / (problem.count * problem.alpha)
    squares = np.maximum(np.diagonal(problem.gram), UNIT * problem.domain.square)
    while not _distance_by_gap(problem, weights) * problem.alpha <= tolerance:
        weights = weights.copy()
        for place, label in enumerate(problem.targets):
            short = 1.0 - label * float(problem.gram[place] @ weights)
            weights[place] = label * min(max(label * weights[place] + short / squares[place], 0.0), unit)
    return weights


def _distance_by_gap(problem: KernelProblem, weights: Array) -> float:
    """Bound the distance to the hinge's minimiser by the duality gap at w = sum a_i y_i phi(x_i)/(n alpha).

    J(w) - min J <= mean(max(0, -t) + a t), t = margin - 1, every term at least zero; an error of t counts at most once.
    """
    dual = np.clip(weights * problem.targets * (problem.count * problem.alpha), 0.0, 1.0)
    t = problem.targets * problem.scores(weights) - 1.0
    gap = float(np.mean(np.where(t > 0, dual, 1.0 - dual) * np.abs(t))) * 1.001
    return math.sqrt(2 * (gap + 2 * problem.score_error(1.001 / problem.alpha)) / problem.alpha) * 1.001
