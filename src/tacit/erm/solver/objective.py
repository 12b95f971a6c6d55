"""Regularised empirical risk: J(w) = mean loss + (alpha/2)|w|^2 + b.w/n over clipped rows."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.checks import finite_number
from tacit.erm.losses.loss import Loss
from tacit.erm.rows.block import Block
from tacit.erm.rows.matrix import LazyMatrix, SpreadMatrix
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import by_part
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads, threads


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """The function J(w) = (1/n) sum_i loss_i(w) + (alpha/2)|w|^2 + b.w/n.

    Rows with shares count in part: J(w) = (1/N) sum_i weight_i loss_i(w) + (alpha/2)|w|^2 + b.w/N.

    `linear` is b (None for zero). A coefficient has `shape` (dimension,), or (classes, dimension) for a joint
    loss; the intercept, when the rows have a constant, is its last entry.
    """

    rows: Rows
    targets: Any
    loss: Loss
    alpha: float
    linear: Floats | None = None

    def __post_init__(self) -> None:
        prepared = by_part(self.loss.prepare, self.targets)
        if prepared.shape != (self.rows.length,):
            raise InvalidParameter("There must be one target for each row.")
        if self.loss.has_corner and self.rows.shares is not None:
            raise InvalidParameter(
                "the plain hinge takes neither weights nor persons with several rows. Use loss='huber', or HuberHinge."
            )
        if self.loss.has_corner and isinstance(self.rows.matrix, LazyMatrix | SpreadMatrix):
            raise InvalidParameter(
                "the plain hinge keeps numbers for every record, and these are too many for memory. Use loss='huber', "
                "or declare more: Records(..., memory=...). Nothing was charged."
            )
        object.__setattr__(self, "targets", prepared)
        object.__setattr__(self, "alpha", finite_number("alpha", self.alpha))
        if not self.alpha > 0:
            raise InvalidParameter(f"alpha must be a positive finite number, got {self.alpha!r}.")
        if self.linear is not None:
            object.__setattr__(self, "linear", self.checked(self.linear))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a coefficient."""
        return (self.rows.dimension,) if self.loss.outputs == 1 else (self.loss.outputs, self.rows.dimension)

    @property
    def size(self) -> int:
        """How many numbers a coefficient has."""
        return self.loss.outputs * self.rows.dimension

    def with_linear(self, linear: Floats | None) -> Self:
        """Return the same objective with another linear term b."""
        return replace(self, linear=linear)

    def every(self, step: int) -> Self:
        """Return the objective over every step-th record: a sample's mean for the mean, the rest alike."""
        part = self.rows.every(step)
        linear = None if self.linear is None else self.linear * (part.count / self.rows.count)
        return replace(self, rows=part, targets=self.targets[::step], linear=linear)

    def checked(self, coefficient: object) -> Floats:
        """Return a coefficient as doubles; refuse wrong shapes and numbers that are not finite."""
        array = np.ascontiguousarray(np.asarray(coefficient), dtype=np.float64)
        if array.shape != self.shape or not np.all(np.isfinite(array)):
            raise InvalidParameter(f"A coefficient must hold finite numbers in the shape {self.shape}.")
        return array

    def over(self, workers: Threads, job: "Callable[[Objective, Threads], Floats]") -> Floats:
        """Return the sum of `job(part, workers)` over the places that the rows are kept in.

        The job is a plain function, and a part an objective over some of the rows, without the linear term.
        """
        if isinstance(self.rows.matrix, SpreadMatrix):
            return self.rows.over(self.targets, workers, partial(_there, self.loss, self.alpha, job))
        return job(self, workers)

    def together(self, job: "Callable[[Objective, Threads], Floats]") -> Floats | None:
        """Return `job(objective, workers)` from one node of the rows' cluster; None for rows here, or too many."""
        return self.rows.together(self.targets, partial(_there, self.loss, self.alpha, job))

    def gradient(self, coefficient: Floats) -> Floats:
        """Return the gradient of J at a coefficient."""
        w = self.checked(coefficient)
        with self.threads() as workers:
            return self.gradients(workers, Point(w))

    def threads(self) -> AbstractContextManager[Threads]:
        """Start the threads for passes over these rows."""
        # A Hessian of this size is factored, too, which counts for about so many entries.
        return threads(self.rows.matrix.entries * self.loss.outputs + 32 * min(self.size, 1_500) ** 2)

    def gradients(self, workers: Threads, stack: Point, most: float = math.inf, accurate: bool = False) -> Floats:
        """Return the gradients at a stack of coefficients, in one pass: scores, slopes and sums by block.

        Blocks have at most `most` rows. With `accurate` the scores are computed with twice the digits. Only a pointwise
        loss takes more than one coefficient at a time.
        """
        models = stack.reshaped(-1, self.rows.dimension)
        total = self.over(workers, partial(_slopes, models=models, most=most, accurate=accurate))
        return self.regularised(total.reshape(stack.high.shape) / self.rows.count, stack)

    def gradient_and_hessian(
        self, workers: Threads, point: Point, most: float = math.inf, accurate: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the gradient at a coefficient of one score, and the Hessian without its ridge, in one pass."""
        models = point.reshaped(-1, self.rows.dimension)
        total = self.over(workers, partial(_bent_slopes, models=models, most=most, accurate=accurate))
        total = total / self.rows.count
        slopes, hessian = total[: self.size], total[self.size :]
        return self.regularised(slopes.reshape(self.shape), point), hessian.reshape(self.size, self.size)

    def scored(self, bounds: Bounds, models: Point, accurate: bool = False) -> tuple[Block, Floats, Any]:
        """Return the rows within the bounds, their scores less what the loss counts from, and their targets."""
        block, targets = self.rows.block(bounds), self.targets[slice(*bounds)]
        score = block.accurate_scores if accurate else block.scores
        return block, score(models, self.loss.offset(targets)), targets

    def regularised(self, mean: Floats, stack: Point) -> Floats:
        """Add the gradients of the ridge and of the linear term to mean slopes."""
        total = mean + self.alpha * stack.high
        if stack.low is not None:
            total += self.alpha * stack.low
        if self.linear is not None:
            total += self.linear / self.rows.count
        return np.asarray(total)


def _bent_slopes(part: Objective, workers: Threads, models: Point, most: float, accurate: bool) -> Floats:
    """Sum the gradients of rows and, behind them, their Hessians, for a loss of one score."""

    def work(bounds: Bounds) -> Floats:
        block, scores, targets = part.scored(bounds, models, accurate)
        # A loss may write over the scores it is given.
        curvatures = part.loss.curvatures(scores.copy(), targets)
        slopes = part.loss.slopes(scores, targets)
        return np.concatenate([block.pull(slopes).ravel(), block.gram(curvatures[:, 0]).ravel()])

    return workers.sum(work, part.rows.blocks(part.loss.outputs, most))


def _slopes(part: Objective, workers: Threads, models: Point, most: float, accurate: bool) -> Floats:
    """Sum the gradients of rows."""

    def work(bounds: Bounds) -> Floats:
        block, scores, targets = part.scored(bounds, models, accurate)
        return block.pull(part.loss.slopes(scores, targets))

    return workers.sum(work, part.rows.blocks(part.loss.outputs, most))


def _there(
    loss: Loss,
    alpha: float,
    job: Callable[[Objective, Threads], Floats],
    rows: Rows,
    targets: NDArray[np.generic],
    workers: Threads,
) -> Floats:
    """Do a job where rows are kept."""
    return job(Objective(rows, targets, loss, alpha), workers)
