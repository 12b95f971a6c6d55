"""The duality gap of the hinge: how far above its minimum J is at most, rounding errors included.

For slopes a_i in [0, 1], the dual variables, the dual of J bounds its minimum from below, and

    J(w) - min J <= (1/n) sum_i [max(0, -t_i) + a_i t_i] + |r|^2 / (2 alpha),    t_i = margin_i - 1,
    r = alpha w + b/n - (1/n) sum_i a_i y_i x_i,

each term at least zero, so nothing cancels. J is alpha-strongly convex, so a gap g puts w within
sqrt(2 g / alpha) of the minimiser. Records near the corner t = 0 have their scores computed with twice the
digits; of the others the sign of t is certain, so that an error of t counts only with the factor a or 1 - a.
"""

import numpy as np

from tacit.erm.rows.block import Block
from tacit.erm.solver.newton import Evaluation
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.rounding import Rounding
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads, longest


def excess_margins(objective: Objective, point: Point, bounds: Bounds, near: float) -> tuple[Block, Floats, Floats]:
    """Return a block of rows, t = margin - 1 for each, and the targets.

    Where |t| is at most `near`, or doubtful, t is right but for a relative rounding error.
    """
    block = objective.rows.block(bounds)
    targets = np.asarray(objective.targets[slice(*bounds)], dtype=np.float64)
    models = point.reshaped(1, -1)
    t = block.scores(models, targets)[:, 0]
    doubtful = 2 * Rounding(objective).score(point.size, False)
    chosen = np.flatnonzero(np.abs(t) <= near + doubtful)
    if len(chosen):
        t[chosen] = block.take(chosen).accurate_scores(models, targets[chosen])[:, 0]
    return block, t * targets, targets


def dual_residual(objective: Objective, workers: Threads, point: Point, duals: Floats, wanted: float) -> Evaluation:
    """Return r and a bound on its error, which does not depend on where the duals come from."""
    rounding = Rounding(objective, given_slopes=True)
    blocks = objective.rows.blocks(1, rounding.plan(point.size, wanted)[0])
    slopes = -duals * objective.targets.astype(np.float64, copy=False)

    def work(bounds: Bounds) -> Floats:
        return objective.rows.block(bounds).pull(slopes[slice(*bounds), None])

    mean = workers.sum(work, blocks)[0] / objective.rows.count
    error = rounding.error(point.size, longest(blocks), False)
    return Evaluation(point, objective.regularised(mean, point), error)


def duality_gap(objective: Objective, workers: Threads, point: Point, duals: Floats, wanted: float) -> float:
    """Return a certified bound on J at the point minus its minimum; r is computed to within `wanted`."""
    rounding = Rounding(objective)
    plain, accurate = rounding.score(point.size, False), rounding.score(point.size, True)

    def work(bounds: Bounds) -> Floats:
        t = excess_margins(objective, point, bounds, 0.0)[1]
        dual = duals[slice(*bounds)]
        size = np.abs(t)
        error = np.where(size <= 4 * plain, 4 * UNIT_ROUNDOFF * size + accurate, plain)
        factor = np.where(size <= 4 * plain, 1.0, np.where(t > 0, dual, 1.0 - dual))
        return np.asarray(np.sum(np.where(t > 0, dual, 1.0 - dual) * size + factor * error))

    mean = float(workers.sum(work, objective.rows.blocks(1))) / objective.rows.count
    tau = dual_residual(objective, workers, point, duals, wanted).tau
    return 1.001 * mean + tau**2 / (2 * objective.alpha)
