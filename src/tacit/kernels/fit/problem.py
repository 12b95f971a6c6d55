"""The regularised risk of a kernel model in terms of the weights of its records, and the models that minimise it.

J(w) = (1/n) sum_i loss(<w, phi(x_i)>) + (alpha/2)|w|^2 at w = sum_i mu_i phi(x_i), with K the matrix of all pairs.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.erm.losses.loss import PointwiseLoss
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.custom import check_proven
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import growth, size_of
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import CompensatedSum

LARGEST_COUNT = 20_000
"""How many records the matrix of all pairs is built for."""

_BLOCK = 256


@final
@dataclass(frozen=True, eq=False)
class KernelProblem:
    """The objective J in terms of the weights mu of its records."""

    domain: Domain
    gram: Floats
    targets: Floats
    loss: PointwiseLoss
    alpha: float

    @classmethod
    def of(cls, domain: Domain, records: Any, targets: object, loss: PointwiseLoss, alpha: float) -> "KernelProblem":
        """Build the matrix of all pairs of clipped records; nothing is refused because of one of them."""
        check_proven(domain.kernel)
        count = size_of(records)
        if count > LARGEST_COUNT:
            raise InvalidParameter(
                f"exact kernel models are fitted to at most {LARGEST_COUNT} records, got {count}. "
                "Use landmarks (method='landmarks', or landmarks=... of an interactive predictor)."
            )
        return cls(domain, domain.gram(records), loss.prepare(targets), loss, alpha)

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.targets)

    def scores(self, weights: Floats) -> Floats:
        """Return K times the weights, block by block with compensation."""
        total = CompensatedSum()
        for start in range(0, self.count, _BLOCK):
            part = slice(start, start + _BLOCK)
            total.add(weights[part] @ self.gram[part])
        return total.result()

    def score(self, place: int, weights: Floats) -> float:
        """Return one record's score, as accurately as `scores`."""
        products = self.gram[place] * weights
        return math.fsum(np.add.reduceat(products, np.arange(0, self.count, _BLOCK)))

    def score_error(self, mass: float) -> float:
        """Bound the error of a computed score when the sizes of the weights sum to `mass`."""
        return _score_unit(self.domain) * mass

    @property
    def gap_error(self) -> float:
        """Bound the error of each term of the hinge's gap: that of a score, and that of a dual variable near 1."""
        return self.score_error(1.001 / self.alpha) + 4 * UNIT_ROUNDOFF

    def slopes(self, scores: Floats) -> Floats:
        """Return the derivative of every record's loss in its score, cut to L, which no minimiser's slope exceeds."""
        steepest = self.loss.lipschitz
        return np.clip(self.loss.slopes(self._shifted(scores), self.targets)[:, 0], -steepest, steepest)

    def residual(self, weights: Floats) -> Floats:
        """Return r, the gradient of J in terms of the features."""
        return self.alpha * weights + self.slopes(self.scores(weights)) / self.count

    def curvatures(self, scores: Floats) -> Floats:
        """Return the second derivative of every record's loss in its score."""
        return self.loss.curvatures(self._shifted(scores), self.targets)[:, 0]

    def _shifted(self, scores: Floats) -> Floats:
        offset = self.loss.offset(self.targets)
        return np.array(scores if offset is None else scores - offset)[:, None]


@final
@dataclass(frozen=True, eq=False)
class KernelModel:
    """z -> sum_i weight_i K(x_i, z) over training records: a secret, with a value at every point."""

    domain: Domain
    records: Any
    weights: Floats

    def values(self, points: Any) -> Floats:
        """Return the value at every point, summed block by block with compensation."""
        kept = np.flatnonzero(self.weights)
        total = CompensatedSum()
        total.add(np.zeros(size_of(points)))
        for start in range(0, len(kept), _BLOCK):
            part = kept[start : start + _BLOCK]
            total.add(self.domain.block(points, self.records[part]) @ self.weights[part])
        return total.result()

    def accuracy(self, mass: float) -> float:
        """Bound the error of a computed value when the sizes of the weights sum to at most `mass`."""
        return _score_unit(self.domain) * mass


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """u -> coefficient . u over features of clipped norm: a secret."""

    domain: Domain
    coefficient: Floats

    def values(self, points: Any) -> Floats:
        """Return the value at every point."""
        return np.asarray(points @ self.coefficient)

    def accuracy(self, size: float) -> float:
        """Bound the error of a computed value when the coefficient's norm is at most `size`."""
        return growth(len(self.coefficient) + 4) * self.domain.radius * size


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
    if loss.has_corner:
        return max(1e-2 * domain.radius / count, 8 * math.sqrt(2 * (score + 4 * UNIT_ROUNDOFF) * alpha))
    slope = loss.smoothness * score + loss.rounding(domain.square * mass) + 16 * UNIT_ROUNDOFF * loss.lipschitz
    return max(1e-3 * loss.lipschitz * domain.radius / count, 16 * domain.radius * slope)
