"""Many linear terms against the same data, solved together.

The minimisers for different noise draws b lie around the one for their mean. Its Hessian serves all of them,
and every pass over the rows computes the gradients of all that are not yet certified, as products of
matrices. A draw that does not come closer with every pass is solved by itself.
"""

import numpy as np
from numpy.typing import NDArray

from tacit.erm.solver.curvature import CurvatureModel
from tacit.erm.solver.newton import Evaluation, Smooth, descend
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.rounding import Rounding
from tacit.erm.solver.solve import Solution, certified, check_tolerance, solve
from tacit.erm.solver.warm_start import approach
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Threads, threads

_PROGRESS = 0.5
_CENTRE_PRECISION = 100.0


def solve_many(objective: Objective, linears: Floats, tolerance: float) -> list[Solution]:
    """Return, for each linear term b of shape `objective.shape`, what `solve` would.

    Guarantee, Assumes, Reference: as for `solve`, for each of them. The objective's own linear term is
    replaced by each of the others.
    """
    draws = np.ascontiguousarray(np.asarray(linears), dtype=np.float64)
    if draws.shape[1:] != objective.shape or not np.all(np.isfinite(draws)):
        raise InvalidParameter(f"linears must be finite, each of the shape {objective.shape}.")
    if len(draws) == 0:
        return []
    largest = max(draws, key=lambda draw: float(np.linalg.norm(draw)))
    check_tolerance(objective.with_linear(largest), tolerance)
    if objective.loss.has_corner:
        return [solve(objective.with_linear(draw), tolerance) for draw in draws]
    with threads(objective.rows.matrix.entries * objective.loss.outputs * len(draws)) as workers:
        centre, model = _centre(objective.with_linear(draws.mean(axis=0)), workers, tolerance)
        if objective.loss.outputs == 1 and model.preconditioner.whole:
            together = _together(objective, workers, draws, centre, model, 0.75 * tolerance)
        else:
            together = [(centre.point.high, None)] * len(draws)
    return [
        found or solve(objective.with_linear(draw), tolerance, start)
        for draw, (start, found) in zip(draws, together, strict=True)
    ]


def _centre(objective: Objective, workers: Threads, tolerance: float) -> tuple[Evaluation, CurvatureModel]:
    """Return a point close to the minimiser, and the curvature there over all rows."""
    landscape = Smooth(objective, workers)
    point, model = approach(objective, workers, Point(np.zeros(objective.shape)), tolerance)
    centre = descend(landscape, point, model, _CENTRE_PRECISION * tolerance)
    return centre, landscape.model(centre.point)


def _together(
    objective: Objective,
    workers: Threads,
    draws: Floats,
    centre: Evaluation,
    model: CurvatureModel,
    tolerance: float,
) -> list[tuple[Floats, Solution | None]]:
    """Return for each draw the point it came to, and its solution if that is certified."""
    tilts = draws / objective.rows.count
    gradients = centre.gradient + (tilts - tilts.mean(axis=0))
    coefficients = np.tile(centre.point.high, (len(draws), 1))
    worst = Rounding(objective.with_linear(max(draws, key=lambda draw: float(np.linalg.norm(draw)))))
    plain = objective.with_linear(None)
    found: list[Solution | None] = [None] * len(draws)
    active = np.arange(len(draws))
    while len(active):
        before, old = gradients[active], coefficients[active]
        coefficients[active] = old + model.direction(before)
        size = 1.001 * float(np.linalg.norm(coefficients[active], axis=1).max())
        most, accurate = worst.plan(size, tolerance / 4)
        if accurate:
            break
        longest = objective.rows.longest_block(len(active), most)
        error = worst.error(size, longest, accurate)
        passed = plain.gradients(workers, Point(coefficients[active]), longest)
        gradients[active] = passed + tilts[active]
        for index in active:
            here = Evaluation(Point(coefficients[index]), gradients[index], error)
            if here.tau <= tolerance:
                found[index] = certified(objective, here)
        model = model.learned(coefficients[active] - old, gradients[active] - before)
        closer = np.linalg.norm(gradients[active], axis=1) <= _PROGRESS * np.linalg.norm(before, axis=1)
        going = closer & np.array([found[index] is None for index in active])
        active, model = active[going], _kept(model, going)
    return list(zip(coefficients, found, strict=True))


def _kept(model: CurvatureModel, members: NDArray[np.bool_]) -> CurvatureModel:
    """Return the model for some members of the stack only."""
    pairs = tuple((step[members], change[members]) for step, change in model.pairs)
    return CurvatureModel(model.preconditioner, pairs, None if model.scale is None else model.scale[members])
