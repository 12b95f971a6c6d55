"""The plain hinge, which has a corner: smooth it ever less, and certify by the duality gap.

For slopes a_i in [0, 1] the dual of J bounds its minimum from below, and

    J(w) - min J <= (1/n) sum_i [max(0, -t_i) + a_i t_i] + |r|^2 / (2 alpha),    t_i = margin_i - 1,
    r = alpha w + b/n - (1/n) sum_i a_i y_i x_i,

term by term at least zero, so nothing cancels. J is alpha-strongly convex, so a gap g puts w within
sqrt(2 g / alpha) of the minimiser. The slopes of a Huber hinge of width h serve as a: r is then its
gradient, and each record with |t_i| <= h adds at most h/8. Records near the corner have their scores
computed with twice the digits; of the others the sign of t_i is certain, and they add nothing.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.erm.block import Block
from tacit.erm.crew import Bounds, Crew
from tacit.erm.curvature import CurvatureModel
from tacit.erm.exact import Point
from tacit.erm.loss import UNIT_ROUNDOFF, Array
from tacit.erm.losses import HuberHinge
from tacit.erm.newton import Evaluation, Landscape, descend
from tacit.erm.objective import Objective
from tacit.erm.preconditioner import build_preconditioner
from tacit.erm.rounding import FEWEST_ROWS, Rounding, coefficient_bound
from tacit.erm.sample import approach

__all__ = ["descend_hinge", "smallest_hinge_tolerance"]

_FIRST_WIDTH = 0.5
_NARROWER = 1 / 16


@final
@dataclass(frozen=True, eq=False)
class _Smoothed(Landscape):
    """The objective with a Huber hinge, scores near its corner computed with twice the digits."""

    objective: Objective
    workers: Crew

    @property
    def loss(self) -> HuberHinge:
        """The smoothed loss."""
        assert isinstance(self.objective.loss, HuberHinge)
        return self.objective.loss

    @property
    def size(self) -> int:
        """The size of a coefficient."""
        return self.objective.size

    def reach(self, step: Array) -> float:
        """The norm of the longest row times that of the step."""
        return self.objective.rows.norm * float(np.linalg.norm(step))

    def evaluate(self, point: Point, wanted: float) -> Evaluation:
        """Compute r, whose error does not depend on the scores: any slopes in [0, 1] will do."""
        precision = Rounding(self.objective, given_slopes=True).precision(point.size, wanted)

        def work(bounds: Bounds) -> Array:
            block, t, targets = self._arguments(bounds, point)
            return block.pull(self.loss.derivative(t) * targets[:, None])

        blocks = self.objective.rows.blocks(1, precision.rows_per_block)
        mean = self.workers.sum(work, blocks).reshape(point.high.shape) / self.objective.rows.count
        return Evaluation(point, self.objective.regularised(mean, point), precision.error)

    def model(self, point: Point) -> CurvatureModel:
        """Model the curvature by the records near the corner."""

        def weigh(bounds: Bounds) -> tuple[Block, Array]:
            block, t, _ = self._arguments(bounds, point)
            return block, self.loss.curvature(t)

        return CurvatureModel(build_preconditioner(self.objective, self.workers, point, weigh))

    def gap_at(self, point: Point) -> float:
        """Bound the mean of max(0, -t) + a t, the part of the duality gap that r leaves."""
        score_error = Rounding(self.objective).score(point.size, True)

        def work(bounds: Bounds) -> Array:
            t = self._arguments(bounds, point)[1]
            near = t[np.abs(t) < self.loss.width]
            excess = np.maximum(-near, 0.0) - self.loss.derivative(near) * near
            return np.array([excess.sum(), float(len(near))])

        total, near = self.workers.sum(work, self.objective.rows.blocks(1))
        rounding = 64 * UNIT_ROUNDOFF * self.loss.width + score_error
        return float(1.001 * total + near * rounding) / self.objective.rows.count

    def _arguments(self, bounds: Bounds, point: Point) -> tuple[Block, Array, Array]:
        """Return a block, its t as a column, and its targets."""
        block = self.objective.rows.block(bounds)
        targets = np.asarray(self.objective.targets[slice(*bounds)], dtype=np.float64)
        models, offset = point.reshaped(1, -1), self.loss.offset(targets)
        shifted = block.scores(models, offset)
        doubtful = self.loss.width + 2 * Rounding(self.objective).score(point.size, False)
        near = np.flatnonzero(np.abs(shifted[:, 0]) <= doubtful)
        if len(near) and offset is not None:
            shifted[near] = block.take(near).accurate_scores(models, offset[near])
        return block, self.loss.argument(shifted, targets), targets


def descend_hinge(objective: Objective, workers: Crew, start: Point, tolerance: float) -> tuple[Point, float]:
    """Return a point and a certified bound, at most tolerance/alpha, on its distance to the minimiser."""
    alpha, width = objective.alpha, _FIRST_WIDTH
    point, _ = approach(objective.with_loss(HuberHinge(width)), workers, start, tolerance)
    while True:
        landscape = _Smoothed(objective.with_loss(HuberHinge(width)), workers)
        # A gradient whose share of the gap is below that of a single record near the corner.
        useful = 0.1 * math.sqrt(alpha * width / objective.rows.count)
        final = descend(landscape, point, landscape.model(point), max(tolerance / 2, useful))
        point = final.point
        gap = landscape.gap_at(point)
        distance = math.sqrt(2.0 * gap / alpha + (final.tau / alpha) ** 2)
        if distance <= tolerance / alpha:
            return point, distance
        width *= _NARROWER


def smallest_hinge_tolerance(objective: Objective) -> float:
    """Return the smallest tolerance that the duality gap can certify whatever the records are."""
    size = coefficient_bound(objective)
    sums = Rounding(objective, given_slopes=True).error(size, FEWEST_ROWS, True)
    corner = Rounding(objective).score(size, True)
    return 8 * (sums + UNIT_ROUNDOFF * objective.alpha * size + math.sqrt(objective.alpha * corner))
