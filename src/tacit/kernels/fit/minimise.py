"""Kernel models in the span of their records: the minimiser of the regularised risk, with a certified distance.

J(w) = (1/n) sum_i loss(<w, phi(x_i)>) + (alpha/2)|w|^2 is minimal at some w* = sum_i mu_i phi(x_i) with
mu_i = -slope_i/(n alpha). Newton's method works on mu and the matrix K of all pairs; what it returns is judged by the
gradient's norm sqrt(r^T K r), r = alpha mu + slopes/n, or for the hinge by a duality gap, rounding errors included.
Whatever the records are, a certified point is returned: where Newton's method does not find one within a fixed number
of steps, slower methods do, within a number of steps that public quantities bound.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from tacit.erm.losses.standard import HuberHinge
from tacit.kernels.fit.problem import KernelProblem
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats

_DIRECT = 2_500
_PATIENCE = 300
_RIDGES = 64
_MASS = 1.005


def minimise(problem: KernelProblem, tolerance: float) -> Floats:
    """Return weights whose w lies within tolerance/alpha of the minimiser; their sizes sum to at most 1.005 L/alpha.

    Guarantee: the distance is a true bound, rounding errors included, and no records make this fail or go on for ever.
    Assumes: the loss is convex with its declared constants; the kernel is proven to be one (`is_proven`); alpha passes
    `check_alpha` and the tolerance is `tolerance_for`, or larger.
    Reference: strong convexity, |w - w*| <= |grad J(w)|/alpha, or sqrt(2 gap/alpha); predictor.md, "No failure".
    """
    # Whether numbers overflow on the way depends on records, and must not raise where a caller asked for that.
    with np.errstate(all="ignore"):
        if problem.loss.has_corner:
            return _swept(problem, _narrowed(problem, tolerance), tolerance)
        return _descended(problem, _newton(problem, tolerance), tolerance)


def _newton(problem: KernelProblem, tolerance: float) -> Floats:
    """Return weights from Newton's method: nearly always, but not surely, good enough."""
    weights = candidate = np.zeros(problem.count)
    for _ in range(_PATIENCE):
        scores = problem.scores(weights)
        slopes = problem.slopes(scores)
        candidate = _stationary(problem, slopes)
        # At a small alpha errors of scores count (c R^2/alpha)-fold in the candidate, but once in the weights.
        for found in (candidate, weights):
            is_light = float(np.abs(found).sum()) * problem.alpha <= _MASS * problem.loss.lipschitz
            if is_light and _gradient_norm(problem, found) <= tolerance:
                return found
        weights = weights + _step(problem, weights, scores, slopes)[0]
        if not np.all(np.isfinite(weights)):
            break
    return candidate


def _descended(problem: KernelProblem, weights: Floats, tolerance: float) -> Floats:
    """Follow the gradient until the weights are certified, which comes about at every data set (predictor.md).

    Every step is a mean of the weights and of `_stationary`, so the sum of sizes stays below L/alpha.
    """
    if not np.all(np.isfinite(weights)):
        weights = np.zeros(problem.count)
    step = 1.0 / (problem.alpha + problem.loss.smoothness * problem.domain.square)
    while not _gradient_norm(problem, weights) <= tolerance:
        weights = weights - step * problem.residual(weights)
    return weights


def _stationary(problem: KernelProblem, slopes: Floats) -> Floats:
    """Return the weights that slopes stand for at a minimum; their sizes sum to at most L/alpha."""
    return slopes / (-problem.count * problem.alpha)


def _gradient_norm(problem: KernelProblem, weights: Floats) -> float:
    """Bound the norm of the gradient of J, rounding errors included."""
    domain, loss = problem.domain, problem.loss
    mass = float(np.abs(weights).sum()) * 1.001
    rest = problem.residual(weights)
    size = float(np.abs(rest).sum()) * 1.001
    square = math.fsum(rest * problem.scores(rest)) + 2 * problem.score_error(size) * size
    slope = loss.smoothness * problem.score_error(mass) + loss.rounding(domain.square * mass)
    return math.sqrt(max(square, 0.0)) + domain.radius * (slope + 8 * UNIT_ROUNDOFF * loss.lipschitz) * 1.01


def _step(problem: KernelProblem, weights: Floats, scores: Floats, slopes: Floats) -> tuple[Floats, bool]:
    """Return Newton's step, shortened until the slope along it is small, and whether it is the whole step."""
    step = _newton_step(problem, weights, slopes, problem.curvatures(scores))
    along = problem.scores(step)

    def slope(share: float) -> float:
        moved = problem.slopes(scores + share * along) / problem.count
        return float((problem.alpha * (weights + share * step) + moved) @ along)

    share = _share(slope)
    return step * share, share == 1.0


def _newton_step(problem: KernelProblem, weights: Floats, slopes: Floats, curvatures: Floats) -> Floats:
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


def _solved(problem: KernelProblem, root: Floats, inside: Any, right: Floats) -> Floats:
    ridge = problem.count * problem.alpha
    if len(inside) <= _DIRECT:
        chosen = problem.gram if len(inside) == problem.count else problem.gram[np.ix_(inside, inside)]
        return _factorised_solve(chosen * root[inside][:, None] * root[inside], ridge, right)
    whole = np.zeros(problem.count)

    def product(v: Floats) -> Floats:
        whole[inside] = root[inside] * v.ravel()
        return np.asarray(ridge * v.ravel() + root[inside] * (problem.gram @ whole)[inside])

    operator = LinearOperator((len(inside), len(inside)), matvec=product, dtype=np.float64)
    return np.asarray(cg(operator, right, rtol=1e-9, maxiter=2000)[0])


def _factorised_solve(matrix: Floats, ridge: float, right: Floats) -> Floats:
    """Solve (matrix + ridge I) v = right, with a larger ridge where rounding left a negative direction."""
    for _ in range(_RIDGES):
        shifted = matrix.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        try:
            factors = cho_factor(shifted, overwrite_a=True, check_finite=False)
            return np.asarray(cho_solve(factors, right, check_finite=False))
        except LinAlgError:
            ridge *= 16
    return np.zeros_like(right)


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


def _narrowed(problem: KernelProblem, tolerance: float) -> Floats:
    """Round the corner ever less; the slopes of rounded hinges are dual variables of the hinge itself.

    A rounded hinge is quadratic in three pieces, so Newton's method is done when a whole step leaves all records on
    theirs, or when rounding shortens one after the other. A narrower one begins where it would end if they stayed
    there, too.
    """
    weights = candidate = np.zeros(problem.count)
    width, sides, stays = 0.5, np.zeros(0), 0
    for _ in range(_PATIENCE):
        rounded = replace(problem, loss=HuberHinge(width))
        scores = rounded.scores(weights)
        slopes = rounded.slopes(scores)
        candidate = _stationary(problem, slopes)
        for found in (candidate, _feasible(problem, weights)):
            if _distance_by_gap(problem, found) * problem.alpha <= tolerance:
                return found
        curved = rounded.curvatures(scores) > 0
        before, sides = sides, np.where(curved, 0.5, np.abs(slopes))
        stays = stays + 1 if np.array_equal(sides, before) else 0
        step, whole = _step(rounded, weights, scores, slopes)
        weights = weights + step
        if stays >= (1 if whole else 5):
            width, sides, stays = width / 8, np.zeros(0), 0
            weights = weights + _carried(replace(problem, loss=HuberHinge(width)), weights, slopes, curved)
        if width < 1e-14 or not np.all(np.isfinite(weights)):
            break
    return candidate


def _carried(rounded: KernelProblem, weights: Floats, slopes: Floats, curved: Any) -> Floats:
    """Return the step to the minimum of the quadratic that is the rounded hinge if just these records are curved."""
    corner = rounded.targets
    curvatures = np.where(curved, rounded.curvatures(corner), 0.0)
    line = rounded.slopes(corner) + curvatures * (rounded.scores(weights) - corner)
    return _newton_step(rounded, weights, np.where(curved, line, slopes), curvatures)


def _feasible(problem: KernelProblem, weights: Floats) -> Floats:
    """Return the nearest weights whose dual variables lie in [0, 1]."""
    unit = 1.0 / (problem.count * problem.alpha)
    return np.clip(weights * problem.targets, 0.0, unit) * problem.targets


def _swept(problem: KernelProblem, weights: Floats, tolerance: float) -> Floats:
    """Maximise the hinge's dual in one variable after the other until the gap is small.

    Only variables whose part of the gap is far above rounding errors are moved, so every move raises the dual, by no
    less than public quantities say: there is a last one (predictor.md, "No failure").
    """
    unit = 1.0 / (problem.count * problem.alpha)
    small = (tolerance**2 / (2.01 * problem.alpha) - 2 * problem.gap_error) / 2.02
    # A little above K(x, x), whatever its error: a step is never too long.
    squares = np.diagonal(problem.gram) + 2 * problem.score_error(1.0)
    weights = _feasible(problem, np.nan_to_num(weights))
    while not _distance_by_gap(problem, weights) * problem.alpha <= tolerance:
        weights = weights.copy()
        for place, label in enumerate(problem.targets):
            t, dual = label * problem.score(place, weights) - 1.0, label * weights[place] / unit
            if (dual if t > 0 else 1.0 - dual) * abs(t) >= small:
                weights[place] = label * min(max(label * weights[place] - t / squares[place], 0.0), unit)
    return weights


def _distance_by_gap(problem: KernelProblem, weights: Floats) -> float:
    """Bound the distance to the hinge's minimiser by the duality gap at w = sum a_i y_i phi(x_i)/(n alpha).

    J(w) - min J <= mean(max(0, -t) + a t), t = margin - 1, every term at least zero; an error of t counts at most once.
    """
    dual = np.clip(weights * problem.targets * (problem.count * problem.alpha), 0.0, 1.0)
    t = problem.targets * problem.scores(weights) - 1.0
    gap = float(np.mean(np.where(t > 0, dual, 1.0 - dual) * np.abs(t))) * 1.001
    return math.sqrt(2 * (gap + 2 * problem.gap_error) / problem.alpha) * 1.001
