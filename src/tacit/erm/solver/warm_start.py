"""A start near the minimiser, from growing samples of the rows."""

from tacit.erm.solver.curvature import CurvatureModel
from tacit.erm.solver.newton import Smooth, descend
from tacit.erm.solver.objective import Objective
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
        landscape = Smooth(objective.every(step), workers)
        sampling_error = 0.01 * objective.size / landscape.objective.rows.count
        near = descend(landscape, point, landscape.model(point), tolerance, sampling_error)
        point = near.point.rounded()
        step //= _SHRINK
    return point, landscape.model(point)
