"""Certified minimisers: a coefficient, and a proven bound on its distance to the exact one.

J is alpha-strongly convex, so a point whose gradient has norm at most tau lies within tau/alpha of the
minimiser. tau includes the rounding errors of the computed gradient.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.erm.solver.hinge import descend_hinge, smallest_hinge_tolerance
from tacit.erm.solver.newton import Evaluation, Smooth, descend
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.rounding import FEWEST_ROWS, Rounding, coefficient_bound
from tacit.erm.solver.warm_start import approach
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import Point

_OUTWARD = 1.0 + 16 * UNIT_ROUNDOFF


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """A coefficient within a certified distance of the minimiser.

    `tau` bounds the norm of the gradient of J at `coefficient`, or at `coefficient + remainder` in the rare
    case that doubles are too coarse for the tolerance and a remainder is kept. `distance` bounds the distance
    from `coefficient` to the exact minimiser in either case. For the hinge, which has no gradient, `distance`
    follows from a duality gap and `tau` is alpha times it.
    """

    coefficient: Floats
    tau: float
    distance: float
    remainder: Floats | None = None


def solve(objective: Objective, tolerance: float, start: Floats | None = None) -> Solution:
    """Return the minimiser of J to within `tolerance / alpha`, certified.

    Guarantee: `distance` is a true bound, rounding errors included, and at most tolerance/alpha.
    Assumes: the loss is convex and has the constants that it declares.
    Reference: strong convexity gives |w - w*| <= |grad J(w)| / alpha.

    A tolerance below `smallest_tolerance(objective)` is refused up front. Whether that happens depends on
    public quantities and the linear term, never on the records; so does the largest number of passes that a
    solution can take (perturbation.md, "It returns"). Noise has to be calibrated to tolerance/alpha, which is public;
    the distance itself depends on the records.
    """
    check_tolerance(objective, tolerance)
    point = Point(np.zeros(objective.shape) if start is None else objective.checked(start))
    # The part kept back is for the remainder, which the distance includes.
    aim = 0.75 * tolerance
    with objective.threads() as workers:
        if objective.loss.has_corner:
            point, distance = descend_hinge(objective, workers, point, aim)
            distance = _whole(distance, point)
            return Solution(point.high, distance * objective.alpha * _OUTWARD, distance, point.low)
        landscape = Smooth(objective, workers)
        if start is None:
            point, model = approach(objective, workers, point, aim)
        else:
            model = landscape.model(point)
        return certified(objective, descend(landscape, point, model, aim))


def smallest_tolerance(objective: Objective) -> float:
    """Return the smallest tolerance that every data set with these public quantities can be solved to."""
    if objective.loss.has_corner:
        return smallest_hinge_tolerance(objective)
    size = coefficient_bound(objective)
    finest = Rounding(objective).error(size, FEWEST_ROWS, True)
    return 8 * (finest + UNIT_ROUNDOFF * objective.alpha * size)


def check_tolerance(objective: Objective, tolerance: float) -> None:
    """Refuse a tolerance that the numbers in use cannot reach."""
    smallest = smallest_tolerance(objective)
    if not smallest <= tolerance < np.inf:
        raise InvalidParameter(
            f"tolerance must be finite and at least {smallest:.3g} for this norm, ridge and linear term, "
            f"got {tolerance!r}. Usual is 1e-5 times the loss's Lipschitz constant times norm over rows."
        )


def certified(objective: Objective, final: Evaluation) -> Solution:
    """State what a gradient proves."""
    return Solution(final.point.high, final.tau, _whole(final.tau / objective.alpha, final.point), final.point.low)


def _whole(distance: float, point: Point) -> float:
    """Bound the distance from a point without its remainder, given that from the point with it."""
    remainder = 0.0 if point.low is None else float(np.linalg.norm(point.low)) * (1.0 + 1e-9)
    return (distance + remainder) * _OUTWARD
