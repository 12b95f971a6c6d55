"""The plain hinge, which has a corner: solved as a quadratic program, finished by smoothing the corner.

An interior-point method nearly always comes close enough. Should it not, the hinge is replaced by Huber
hinges of ever smaller width h, whose minimisers converge: their slopes serve as dual variables, and each
record with |t| <= h adds at most h/8 to the duality gap. Records near the corner have their scores computed
with twice the digits, so that narrow corners stay sharp. Should a fixed number of widths not do either, short
interior steps follow, whose number is bounded by public quantities.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from tacit.erm.losses.standard import HuberHinge
from tacit.erm.rows.block import Block
from tacit.erm.solver.curvature import CurvatureModel
from tacit.erm.solver.duality import dual_residual, duality_gap, excess_margins
from tacit.erm.solver.interior import interior_point, short_steps
from tacit.erm.solver.newton import Evaluation, Landscape, hurry
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.preconditioner import build_preconditioner
from tacit.erm.solver.rounding import FEWEST_ROWS, Rounding, coefficient_bound
from tacit.erm.solver.warm_start import approach
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads

_FIRST_WIDTH = 0.5
_NARROWER = 1 / 8
_NARROWEST = 1e-150
_MOST_WIDTHS = 40
_ROOM = 1e3


def descend_hinge(objective: Objective, workers: Threads, start: Point, tolerance: float) -> tuple[Point, float]:
    """Return a point and a certified bound, at most tolerance/alpha, on its distance to the minimiser."""
    enough = tolerance**2 / (2 * objective.alpha)
    width, gap = _FIRST_WIDTH, math.inf
    point, model = approach(replace(objective, loss=HuberHinge(width)), workers, start, tolerance)
    if model.preconditioner.whole:
        point, duals = interior_point(objective, workers, point.high, enough / 2)
        gap = duality_gap(objective, workers, point, duals, tolerance / 8)
        # By the share of records, at least one, whose dual is neither 0 nor 1.
        inside = max(1, int(np.count_nonzero((duals > 1e-4) & (duals < 1 - 1e-4)))) / len(duals)
        width = min(width, _ROOM * gap / inside)
    point, gap, width = _narrowing(objective, workers, point, gap, width, tolerance)
    if gap > enough and model.preconditioner.whole:
        point, duals = short_steps(objective, workers, enough / 2)
        gap = duality_gap(objective, workers, point, duals, tolerance / 8)
    while gap > enough:
        # What is left is due to rounding, or to more features and records near the corner than a matrix may have.
        point, gap, width = _narrowing(objective, workers, point, gap, width, tolerance)
    return point, math.sqrt(2.0 * gap / objective.alpha) * (1.0 + 4 * UNIT_ROUNDOFF)


def _narrowing(
    objective: Objective, workers: Threads, point: Point, gap: float, width: float, tolerance: float
) -> tuple[Point, float, float]:
    """Solve with some ever narrower corners, fewer if that closes the gap; return point, gap and next width."""
    enough = tolerance**2 / (2 * objective.alpha)
    steps: list[Floats] = []
    for _ in range(_MOST_WIDTHS):
        if gap <= enough:
            break
        width = max(width, _NARROWEST)
        landscape = _Smoothed(objective, workers, width)
        # A gradient whose share of the gap is below that of a single record near the corner.
        useful = 0.1 * math.sqrt(objective.alpha * width / objective.rows.count)
        # Where the same records stay near the corner, the minimiser moves in proportion to the width.
        ahead = point.moved(_NARROWER * steps[-1]) if len(steps) > 1 else point
        final = hurry(landscape, ahead, landscape.model(ahead), max(tolerance / 2, useful))
        steps.append(final.point.minus(point))
        point = final.point
        gap = duality_gap(objective, workers, point, landscape.duals(point), tolerance / 8)
        width *= _NARROWER
    return point, gap, width


def smallest_hinge_tolerance(objective: Objective) -> float:
    """Return the smallest tolerance that is worth asking for, from public quantities.

    All records may sit at the corner, where each adds the error of its score to the gap of a coefficient in
    doubles; this is several times that. At a million records it is about a hundredth of R/n.
    """
    size = coefficient_bound(objective)
    sums = Rounding(objective, given_slopes=True).error(size, FEWEST_ROWS, True)
    corner = Rounding(objective).score(size, False, objective.rows.dimension)
    return 8 * (sums + UNIT_ROUNDOFF * objective.alpha * size) + math.sqrt(32 * objective.alpha * corner)


@final
@dataclass(frozen=True, eq=False)
class _Smoothed(Landscape):
    """The objective with a Huber hinge, scores near its corner computed with twice the digits."""

    width: float

    @cached_property
    def loss(self) -> HuberHinge:
        """The hinge, rounded within the width."""
        return HuberHinge(self.width)

    def duals(self, point: Point) -> Floats:
        """Return minus the slope of every record."""

        def work(bounds: Bounds) -> Floats:
            t = excess_margins(self.objective, point, bounds, self.width)[1]
            return -self.loss.derivative(t, out=t)

        return np.concatenate(self.workers.each(work, self.objective.rows.blocks(1)))

    def evaluate(self, point: Point, wanted: float, *, bent: bool = False) -> Evaluation:
        """Compute the gradient; its error is that of sums only, because any slopes in [0, 1] will do."""
        return dual_residual(self.objective, self.workers, point, self.duals(point), wanted)

    def model(self, point: Point) -> CurvatureModel:
        """Model the curvature by the records near the corner."""

        def weigh(bounds: Bounds) -> tuple[Block, Floats]:
            block, t, _ = excess_margins(self.objective, point, bounds, self.width)
            return block, self.loss.curvature(t)[:, None]

        return CurvatureModel(build_preconditioner(self.objective, self.workers, point, lambda _: weigh))
