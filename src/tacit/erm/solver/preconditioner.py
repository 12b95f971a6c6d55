"""Hessians to solve with: whole, one block for all classes, or only the diagonal, as memory allows.

J has the Hessian alpha I + (1/n) sum_i weight_i x_i x_i^T, weights being second derivatives of the loss.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from tacit.erm.rows.block import Block
from tacit.erm.rows.matrix import SpreadMatrix
from tacit.erm.solver.hessian import Weigh, Weigher, hessian_diagonal, joint_hessian, mean_hessian, weigher_at
from tacit.erm.solver.objective import Objective
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads

_LARGEST_MATRIX = 1_500
_FEWEST_ROWS = 4_096


class Preconditioner(ABC):
    """An approximate Hessian that can be solved with."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether it is a whole Hessian rather than a part of one."""

    @abstractmethod
    def solve(self, stack: Floats) -> Floats:
        """Return the inverse times each row of the stack."""


def build_preconditioner(
    objective: Objective, workers: Threads, point: Point, weigher: Weigher | None = None
) -> Preconditioner:
    """Return the Hessian at a point, or as much of it as is worth its memory.

    `weigher` replaces the second derivatives of the loss.
    """
    if objective.loss.outputs > 1:
        return _for_classes(objective, workers, point)
    weigher = weigher or weigher_at(point)
    if objective.rows.dimension <= _LARGEST_MATRIX:
        return Factored.of(mean_hessian(objective, workers, weigher), objective.alpha)
    through = None
    if not isinstance(objective.rows.matrix, SpreadMatrix):
        through = _ThroughRecords.build(objective, workers, weigher(objective))
    return through or _Diagonal(hessian_diagonal(objective, workers, weigher) + objective.alpha)


def _for_classes(objective: Objective, workers: Threads, point: Point) -> Preconditioner:
    """Return the whole Hessian of a joint loss, one block for all classes, or the diagonal."""
    dimension = objective.rows.dimension
    if objective.size <= _LARGEST_MATRIX:
        return Factored.of(joint_hessian(objective, workers, point), objective.alpha)
    if dimension > _LARGEST_MATRIX:
        return _Diagonal(hessian_diagonal(objective, workers, weigher_at(point)) + objective.alpha)
    # One block for all classes is rough anyway, so a sample of the rows is enough for it.
    sample = objective.every(max(1, objective.rows.length // max(_FEWEST_ROWS, 16 * dimension)))
    block = mean_hessian(sample, workers, weigher_at(point))
    return Factored.of(block, objective.alpha, copies=objective.loss.outputs)


@final
@dataclass(frozen=True, eq=False)
class Factored(Preconditioner):
    """The inverse of alpha I + A for a positive semidefinite A that was computed with rounding errors.

    A is a whole Hessian, or one block that stands for those of so many classes.
    """

    factor: Floats
    spectrum: Floats | None
    copies: int = 1

    @classmethod
    def of(cls, matrix: Floats, alpha: float, copies: int = 1) -> Self:
        """Factor alpha I + A; should alpha drown in A's rounding errors, by its eigenvectors."""
        shifted = matrix + alpha * np.eye(len(matrix))
        try:
            return cls(cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)[0], None, copies)
        except LinAlgError:
            values, vectors = eigh(matrix, check_finite=False)
            noise = 4 * np.finfo(float).eps * len(matrix) * max(values[-1], 0.0)
            return cls(vectors, np.where(values > noise, values, 0.0) + alpha, copies)

    @property
    def whole(self) -> bool:
        """Whether the block stands for itself only."""
        return self.copies == 1

    def solve(self, stack: Floats) -> Floats:
        """Solve with the block for each class's part of the coefficients."""
        parts = stack.reshape(len(stack) * self.copies, -1)
        if self.spectrum is None:
            return np.asarray(cho_solve((self.factor, True), parts.T, check_finite=False).T.reshape(stack.shape))
        return np.asarray(((parts @ self.factor) / self.spectrum) @ self.factor.T).reshape(stack.shape)


@final
@dataclass(frozen=True, eq=False)
class _ThroughRecords(Preconditioner):
    """The whole Hessian when fewer records than features count: a matrix over records is inverted.

    (alpha I + U^T U)^-1 = (I - U^T (alpha I + U U^T)^-1 U) / alpha, U the records times sqrt(weight/n).
    """

    records: Block
    roots: Floats
    inverse: Factored
    alpha: float
    whole: ClassVar[bool] = True

    @classmethod
    def build(cls, objective: Objective, workers: Threads, weigh: Weigh) -> Self | None:
        """Collect the records that count; None when there are too many."""

        def counted(bounds: Bounds) -> Floats:
            block, weights = weigh(bounds)
            return block.counted(weights[:, 0])

        weights = np.concatenate(workers.each(counted, objective.rows.blocks(1)))
        counting = np.flatnonzero(weights)
        if len(counting) > _LARGEST_MATRIX:
            return None
        roots = np.sqrt(weights[counting] / objective.rows.count)
        records = objective.rows.take(counting)
        return cls(records, roots, Factored.of(records.outer(roots), objective.alpha), objective.alpha)

    def solve(self, stack: Floats) -> Floats:
        """Apply the identity above to each row of the stack."""
        column = self.roots[:, None]
        scores = self.inverse.solve((column * self.records.scores(Point(stack))).T).T
        return np.asarray((stack - self.records.pull(column * scores)) / self.alpha)


@final
@dataclass(frozen=True, eq=False)
class _Diagonal(Preconditioner):
    """The diagonal of the Hessian."""

    diagonal: Floats
    whole: ClassVar[bool] = False

    def solve(self, stack: Floats) -> Floats:
        """Divide by the diagonal."""
        return np.asarray(stack / self.diagonal)
