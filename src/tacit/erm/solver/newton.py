"""Newton's method with a stale Hessian, steered by gradients alone.

A step is accepted when it brings the norm of the gradient below every norm before, or when the slope along
the step is still downhill at its end: by convexity J has then fallen by at least a fixed share of what the
slope promised (Armijo). Values of J are never compared, so nothing cancels near the minimum. The first kind
of step happens only finitely often, the second kind converges from anywhere.

From anywhere, but not always soon: records can be arranged so that every step is short. After a fixed number of steps
the method changes to accelerated gradients, whose number is bounded by public quantities (`glide`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.erm.losses.loss import Loss
from tacit.erm.rows.matrix import LazyMatrix, SpreadMatrix
from tacit.erm.solver.curvature import CurvatureModel
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.preconditioner import Factored, build_preconditioner
from tacit.erm.solver.rounding import Rounding
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Threads

_DOWNHILL = 1e-4
_PROGRESS = 0.9
_SHORTEST = 2.0**-60
_TRUSTED_CHANGE = 4.0
_MOST_STEPS = 2_000
_MOST_LOOKS = 60
_MOST_GLIDING = 10**8
_NARROW = 64
_FAR = 2.0**24
"""Where a gradient is so many times longer than what is wanted, a Hessian beside the next one spares some passes."""


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """A point, the gradient computed there, a bound on the norm of its error, and the curvature if it came along."""

    point: Point
    gradient: Floats
    error: float
    model: CurvatureModel | None = None

    @property
    def norm(self) -> float:
        """An upper bound on the norm of the computed gradient."""
        return float(np.linalg.norm(self.gradient)) * (1.0 + 1e-9)

    @property
    def tau(self) -> float:
        """A certified bound on the norm of the true gradient."""
        return self.norm + self.error


@dataclass(frozen=True, eq=False)
class Landscape(ABC):
    """A strongly convex function to descend: an objective, or one with another loss in its place."""

    objective: Objective
    workers: Threads

    @property
    def loss(self) -> Loss:
        """The loss, which is smooth."""
        return self.objective.loss

    @property
    def curvatures(self) -> tuple[float, float]:
        """Public bounds on the second derivative: the ridge, and that plus the loss's curvature for the longest row."""
        alpha = self.objective.alpha
        return alpha, alpha + self.loss.smoothness * self.objective.rows.norm**2

    @abstractmethod
    def evaluate(self, point: Point, wanted: float, *, bent: bool = False) -> Evaluation:
        """Compute the gradient to within `wanted`, with only as many digits as that takes.

        If `bent`, which is asked for where that `bends` only, the curvature comes along.
        """

    @abstractmethod
    def model(self, point: Point) -> CurvatureModel:
        """Model the curvature at a point."""

    @property
    def bends(self) -> bool:
        """Whether a Hessian that comes along with a gradient costs little more than the gradient."""
        return False


@final
@dataclass(frozen=True, eq=False)
class Smooth(Landscape):
    """An objective with a smooth loss."""

    def evaluate(self, point: Point, wanted: float, *, bent: bool = False) -> Evaluation:
        """Compute the gradient, and a bound on its error; with the Hessian in one pass if `bent`."""
        rounding = Rounding(self.objective)
        most, accurate = rounding.plan(point.size, wanted)
        longest = self.objective.rows.longest_block(self.objective.loss.outputs, most)
        error = rounding.error(point.size, longest, accurate)
        at = point if accurate else point.rounded()
        if not bent:
            return Evaluation(at, self.objective.gradients(self.workers, at, most, accurate), error)
        gradient, hessian = self.objective.gradient_and_hessian(self.workers, at, most, accurate)
        return Evaluation(at, gradient, error, CurvatureModel(Factored.of(hessian, self.objective.alpha)))

    @property
    def bends(self) -> bool:
        """Fetching the rows from a cluster or a disk is most of the work, unless they have many columns."""
        rows = self.objective.rows
        narrow = self.loss.outputs == 1 and rows.dimension <= _NARROW
        return narrow and isinstance(rows.matrix, SpreadMatrix | LazyMatrix)

    def model(self, point: Point) -> CurvatureModel:
        """Model the curvature by a Hessian over all rows."""
        return CurvatureModel(build_preconditioner(self.objective, self.workers, point))


def descend(
    landscape: Landscape, start: Point, model: CurvatureModel, tolerance: float, enough: float = 0.0
) -> Evaluation:
    """Return a point whose true gradient has at most the norm `tolerance`.

    With `enough` it returns earlier, once the function is expected to fall by no more than half of that, or after a
    fixed number of steps.
    """
    here = hurry(landscape, start, model, tolerance, enough)
    while not enough and here.tau > tolerance:
        if most_gliding_steps(landscape.curvatures, 2 * here.tau / tolerance) <= _MOST_GLIDING:
            here = glide(landscape, here.point, tolerance)
        # What is left is due to rounding, or to a ridge so small that private fits refuse it.
        here = hurry(landscape, here.point, landscape.model(here.point), tolerance)
    return here


def hurry(
    landscape: Landscape, start: Point, model: CurvatureModel, tolerance: float, enough: float = 0.0
) -> Evaluation:
    """Take so many of Newton's steps as `descend` allows, fewer if the aim is reached."""
    wanted = tolerance / 2
    here = _look(landscape, start, wanted, math.inf)
    best = here.norm
    for _ in range(_MOST_STEPS):
        if here.tau <= tolerance:
            break
        step = model.direction(here.gradient.reshape(1, -1)).reshape(here.gradient.shape)
        if enough and -float(np.vdot(here.gradient, step)) <= enough:
            break
        there = _search(landscape, here, step, best, wanted)
        if there is None:
            # Only rounding can defeat a descent direction: look again, more closely.
            wanted /= 16
            model = landscape.model(here.point)
            here = landscape.evaluate(here.point, wanted)
            continue
        if there.model is not None:
            model = there.model
        elif _hessian_pays(landscape, model, there.norm / here.norm, there.norm / tolerance):
            model = landscape.model(there.point)
        else:
            step, change = there.point.minus(here.point), there.gradient - here.gradient
            model = model.learned(step.reshape(1, -1), change.reshape(1, -1))
        here, best = there, min(best, there.norm)
    return here


def most_gliding_steps(curvatures: tuple[float, float], ratio: float) -> int:
    """Bound the steps of `glide` that bring a gradient down by the ratio, in exact arithmetic.

    With k = largest/least curvature, J(x_s) - min J <= 2 (1 - 1/sqrt(k))^s (J(x_0) - min J) for Nesterov's constant
    momentum, and g^2/(2 largest) <= J - min J <= g^2/(2 least) for a gradient of norm g. The points where gradients are
    taken lie at most |x_s - x_s-1| beyond x_s, and |x_s - x*|^2 <= 2 (J(x_s) - min J)/least: altogether
    |gradient at the s-th| <= 8 k (1 - 1/sqrt(k))^(s/2 - 1) |gradient at the first|.
    """
    least, largest = curvatures
    condition = largest / least
    return math.ceil(2 * math.sqrt(condition) * math.log(8 * condition * max(ratio, 1.0))) + 4


def glide(landscape: Landscape, start: Point, tolerance: float) -> Evaluation:
    """Take accelerated gradient steps: slow, but their number is bounded by public quantities (Nesterov 2004, 2.2)."""
    least, largest = landscape.curvatures
    ratio = math.sqrt(least / largest)
    momentum = (1 - ratio) / (1 + ratio)
    here = landscape.evaluate(start, tolerance / 4)
    before = here.point
    for _ in range(most_gliding_steps(landscape.curvatures, 2 * here.tau / tolerance)):
        if here.tau <= tolerance:
            break
        after = here.point.moved(here.gradient / -largest)
        here = landscape.evaluate(after.moved(momentum * after.minus(before)), tolerance / 4)
        before = after
    return here


def _search(landscape: Landscape, here: Evaluation, step: Floats, best: float, wanted: float) -> Evaluation | None:
    """Return an acceptable point along the step, neither far too near nor too far; None without one."""
    slope = float(np.vdot(here.gradient, step))
    # A model of the curvature is trusted for scores that change by some units, then for four times as many, ...
    reach = landscape.objective.rows.norm * float(np.linalg.norm(step))
    share = min(1.0, _TRUSTED_CHANGE / max(reach, _SHORTEST))
    shortest = share * _SHORTEST
    near, far = (0.0, slope), (math.inf, math.inf)
    downhill = None
    for _ in range(_MOST_LOOKS):
        if not (slope < 0.0 and share > shortest):
            break
        there = _look(landscape, here.point.moved(share * step), wanted, here.norm)
        new_slope = float(np.vdot(there.gradient, step))
        if there.norm <= _PROGRESS * best and abs(new_slope) <= -slope / 2:
            return there
        if new_slope > _DOWNHILL * slope:
            far = (share, new_slope)
        elif share == 1.0 or new_slope >= slope / 2:
            return there
        else:
            near, downhill = (share, new_slope), there
        share = _between(near, far, slope)
    return downhill


def _between(near: tuple[float, float], far: tuple[float, float], slope: float) -> float:
    """Return where to look next, given the (share, slope) of a point too near and of one too far."""
    if math.isinf(far[0]):
        return min(1.0, 4 * near[0])
    # Where the slope would be a tenth if it changed evenly between the two.
    even = (0.1 * slope - near[1]) / (far[1] - near[1])
    return near[0] + (far[0] - near[0]) * min(0.9, max(0.1, even))


def _look(landscape: Landscape, point: Point, wanted: float, norm: float) -> Evaluation:
    """Evaluate with no more digits than matter beside a gradient of the norm before, or of its own norm."""
    if landscape.bends and math.isfinite(norm):
        # Passes are what is spared: what is near is looked at once, with all digits.
        far = norm > _FAR * wanted
        return landscape.evaluate(point, 1e-3 * norm if far else wanted, bent=far)
    there = landscape.evaluate(point, max(wanted, 1e-3 * norm))
    if there.error > max(wanted, 1e-2 * there.norm):
        return landscape.evaluate(point, wanted)
    return there


def _hessian_pays(landscape: Landscape, model: CurvatureModel, rate: float, left: float) -> bool:
    """Tell whether a new Hessian would cost less than going on with gradients at this rate.

    A pass for a Hessian costs about size/16 passes for a gradient.
    """
    if not model.preconditioner.whole or left <= 1.0:
        return False
    return rate >= 0.5 or math.log(left) / -math.log(rate) > 4 + landscape.objective.size / 16
