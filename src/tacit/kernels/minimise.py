"""Kernel models in the span of their records: the minimiser of the regularised risk, with a certified distance.

J(w) = (1/n) sum_i loss(<w, phi(x_i)>) + (alpha/2)|w|^2 is minimal at some w* = sum_i mu_i phi(x_i) with
mu_i = -slope_i/(n alpha). Newton's method works on mu and the matrix K of all pairs; what it returns is judged by the
gradient's norm sqrt(r^T K r), r = alpha mu + slopes/n, or for the hinge by a duality gap, rounding errors included.
Whatever the records are, a certified point is returned: where Newton's method does not find one, slower methods do.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from tacit.erm.exact import CompensatedSum
from tacit.erm.loss import PointwiseLoss
from tacit.erm.losses import Hinge, HuberHinge
from tacit.errors import InvalidParameter
from tacit.kernels.domain import Domain
from tacit.kernels.kernel import UNIT, Array, Constant, Kernel, Product, Sum, growth, size_of
from tacit.kernels.standard import RBF, Laplacian, Linear, Polynomial

__all__ = ["LARGEST_COUNT", "KernelProblem", "check_alpha", "is_proven", "minimise", "smallest_alpha", "tolerance_for"]

LARGEST_COUNT = 20_000
"""How many records the matrix of all pairs is built for."""

_BLOCK = 256
_DIRECT = 2_500
_PATIENCE = 300
_MASS = 1.005
_PROVEN = (Constant, Linear, Polynomial, RBF, Laplacian)


@final
@dataclass(frozen=True, eq=False)
class KernelProblem:
    """The objective J in terms of the weights mu of its records."""

    domain: Domain
    gram: Array
    targets: Array
    loss: PointwiseLoss
    alpha: float

    @classmethod
    def of(cls, domain: Domain, records: Any, targets: object, loss: PointwiseLoss, alpha: float) -> "KernelProblem":
        """Build the matrix of all pairs of clipped records; refuse kernels that show a negative square."""
        count = size_of(records)
        if count > LARGEST_COUNT:
            raise InvalidParameter(
                f"exact kernel models are fitted to at most {LARGEST_COUNT} records, got {count}. Give landmarks."
            )
        gram = domain.gram(records)
        largest = float(np.max(np.diagonal(gram)))
        if not np.all(np.isfinite(gram)) or largest > domain.square * (1 + 1e-9):
            raise InvalidParameter("the kernel's values at these records are not finite, or exceed its own bound.")
        if not is_proven(domain.kernel):
            _require_positive(gram, domain)
        return cls(domain, gram, loss.prepare(targets), loss, alpha)

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.targets)

    def scores(self, weights: Array) -> Array:
        """Return K times the weights, block by block with compensation."""
        total = CompensatedSum()
        for start in range(0, self.count, _BLOCK):
            part = slice(start, start + _BLOCK)
            total.add(weights[part] @ self.gram[part])
        return total.result()

    def score_error(self, mass: float) -> float:
        """Bound the error of a computed score when the sizes of the weights sum to `mass`."""
        return _score_unit(self.domain) * mass

    def slopes(self, scores: Array) -> Array:
        """Return the derivative of every record's loss in its score, cut to L, which no minimiser's slope exceeds."""
        steepest = self.loss.lipschitz
        return np.clip(self.loss.slopes(self._shifted(scores), self.targets)[:, 0], -steepest, steepest)

    def residual(self, weights: Array) -> Array:
        """Return r, the gradient of J in terms of the features."""
        return self.alpha * weights + self.slopes(self.scores(weights)) / self.count

    def curvatures(self, scores: Array) -> Array:
        """Return the second derivative of every record's loss in its score."""
        return self.loss.curvatures(self._shifted(scores), self.targets)[:, 0]

    def _shifted(self, scores: Array) -> Array:
        offset = self.loss.offset(self.targets)
        return np.array(scores if offset is None else scores - offset)[:, None]


def is_proven(kernel: Kernel) -> bool:
    """Tell whether a kernel's formula is known to be positive semi-definite; a class of a user's own never is."""
    if isinstance(kernel, Sum | Product) and type(kernel) in (Sum, Product):
        return is_proven(kernel.first) and is_proven(kernel.second)
    return type(kernel) in _PROVEN


def smallest_alpha(domain: Domain, loss: PointwiseLoss) -> float:
    """Return the smallest ridge at which every data set can be certified, from public quantities."""
    smoothness = loss.smoothness if math.isfinite(loss.smoothness) else 1.0
    return max(1.0, smoothness) * max(1e-6 * domain.square, 3 * domain.radius * math.sqrt(_score_unit(domain)))


def check_alpha(domain: Domain, loss: PointwiseLoss, alpha: float) -> None:
    """Refuse a ridge too small for doubles, whatever the records are."""
    smallest = smallest_alpha(domain, loss)
    if not alpha >= smallest:
        raise InvalidParameter(
            f"alpha must be at least {smallest:.3g} where K(x, x) is up to {domain.square:.3g}, got {alpha!r}. "
            "Use a larger alpha, or landmarks."
        )


def _score_unit(domain: Domain) -> float:
    """Bound the error of a computed score for weights whose sizes sum to 1."""
    return domain.accuracy + growth(_BLOCK + 8) * domain.square


def tolerance_for(domain: Domain, count: int, loss: PointwiseLoss, alpha: float) -> float:
    """Return how well to solve: far below the noise, but no better than doubles allow; from public quantities."""
    mass = 1.01 * loss.lipschitz / alpha
    score = _score_unit(domain) * mass
    if isinstance(loss, Hinge):
        return max(1e-2 * domain.radius / count, 8 * math.sqrt(2 * score * alpha))
    slope = loss.smoothness * score + loss.rounding(domain.square * mass) + 16 * UNIT * loss.lipschitz
    return max(1e-3 * loss.lipschitz * domain.radius / count, 16 * domain.radius * slope)


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
    square = float(rest @ problem.scores(rest)) + 2 * problem.score_error(size) * size
    slope = loss.smoothness * problem.score_error(mass) + loss.rounding(domain.square * mass)
    return math.sqrt(max(square, 0.0)) + domain.radius * (slope + 8 * UNIT * loss.lipschitz) * 1.01


def _step(problem: KernelProblem, weights: Array, scores: Array, slopes: Array) -> Array:
    """Return Newton's step, shortened until the slope along it is small.

    With r the residual and D the curvatures, the step is -r/alpha + S v, S = sqrt(D), where
    (n alpha I + S K S) v = S K r / alpha: positive definite, and as well conditioned as J.
    """
    rest = problem.alpha * weights + slopes / problem.count
    root = np.sqrt(problem.curvatures(scores))
    inside = np.flatnonzero(root)
    step = rest / -problem.alpha
    if len(inside):
        pull = root * problem.scores(rest) / problem.alpha
        step[inside] += root[inside] * _solved(problem, root, inside, pull[inside])
    along = problem.scores(step)

    def slope(share: float) -> float:
        moved = problem.slopes(scores + share * along) / problem.count
        return float((problem.alpha * (weights + share * step) + moved) @ along)

    return step * _share(slope)


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
    """Round the corner ever less; the slopes of rounded hinges are dual variables of the hinge itself."""
    weights = candidate = np.zeros(problem.count)
    width = 0.5
    for _ in range(_PATIENCE):
        rounded = replace(problem, loss=HuberHinge(width))
        for _ in range(_PATIENCE):
            scores = rounded.scores(weights)
            slopes = rounded.slopes(scores)
            candidate = _stationary(problem, slopes)
            for found in (candidate, _feasible(problem, weights)):
                if _distance_by_gap(problem, found) * problem.alpha <= tolerance:
                    return found
            near = _gradient_norm(rounded, candidate) <= 0.1 * math.sqrt(problem.alpha * width / problem.count)
            weights = weights + _step(rounded, weights, scores, slopes)
            if near or not np.all(np.isfinite(weights)):
                break
        width /= 8
        if width < 1e-14 or not np.all(np.isfinite(weights)):
            break
    return candidate


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


def _require_positive(gram: Array, domain: Domain) -> None:
    """Refuse a matrix with a clearly negative direction: no kernel has one."""
    count = len(gram)
    shifted = gram.copy()
    # More than the kernel's own error and the factorisation's can amount to, so no true kernel is refused.
    error = (count + 1) * (domain.accuracy + growth(count + 2) * domain.square)
    shifted[np.diag_indices_from(shifted)] += error + 1e-10 * domain.square
    refused = False
    try:
        np.linalg.cholesky(shifted)
    except LinAlgError:
        refused = True
    if refused:
        raise InvalidParameter("the kernel function is not positive semi-definite on these records.")
