"""A start near the minimiser, from growing samples of the rows."""

from functools import partial

from tacit.erm.solver.curvature import CurvatureModel
from tacit.erm.solver.newton import Smooth, descend
from tacit.erm.solver.objective import Objective
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Threads

_SHRINK = 8
_FEWEST_ROWS = 4_096


def approach(objective: Objective, workers: Threads, start: Point, tolerance: float) -> tuple[Point, CurvatureModel]:
    """Solve on growing samples of the rows, each to within its own sampling error.

    Returns a point near the minimiser over all rows, and the curvature there over the largest sample. Samples
    take every 8th row, every 64th and so on, so rows in any order, sorted by target too, are represented.
    """
    needed = max(_FEWEST_ROWS, 16 * objective.size)
    step = 1
    while objective.rows.length >= needed * step * _SHRINK:
        step *= _SHRINK
    point, landscape = start, Smooth(objective, workers)
    while step > 1:
        sample = objective.every(step)
        landscape = Smooth(sample, workers)
        solve = partial(_near, linear=sample.linear, start=point, tolerance=tolerance, count=sample.rows.count)
        # Many short jobs of a cluster take longer than one long job of one of its nodes.
        found = sample.together(solve)
        point = Point(solve(sample, workers) if found is None else found)
        step //= _SHRINK
    return point, landscape.model(point)


def _near(
    part: Objective, workers: Threads, linear: Floats | None, start: Point, tolerance: float, count: int
) -> Floats:
    """Solve on a sample, to within its own sampling error."""
    landscape = Smooth(part.with_linear(linear), workers)
    near = descend(landscape, start, landscape.model(start), tolerance, 0.01 * part.size / count)
    return near.point.rounded().high
