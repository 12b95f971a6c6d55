"""Hessians to solve with: whole, by class, through the records, or only the diagonal, as memory allows.

J has the Hessian alpha I + (1/n) sum_i weight_i x_i x_i^T, weights being second derivatives of the loss.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from tacit.erm.block import Block
from tacit.erm.crew import Crew
from tacit.erm.exact import Point
from tacit.erm.hessian import Weigh, hessian_blocks, hessian_diagonal, row_weights, softmax_hessian
from tacit.erm.loss import Array
from tacit.erm.objective import Objective
from tacit.erm.softmax import Softmax

__all__ = ["Preconditioner", "build_preconditioner"]

_LARGEST_MATRIX = 1_500
_LARGEST_BLOCKS = 40_000_000


class Preconditioner(ABC):
    """An approximate Hessian that can be solved with."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether it is a whole Hessian rather than a part of one."""

    @abstractmethod
    def solve(self, stack: Array) -> Array:
        """Return the inverse times each row of the stack."""


def build_preconditioner(
    objective: Objective, workers: Crew, point: Point, weigh: Weigh | None = None
) -> Preconditioner:
    """Return the Hessian at a point, or as much of it as is worth its memory.

    `weigh` replaces the second derivatives of the loss.
    """
    loss, dimension = objective.loss, objective.rows.dimension
    weigh = weigh or row_weights(objective, point)
    if isinstance(loss, Softmax) and objective.size <= _LARGEST_MATRIX:
        return _Factored((_Inverse.of(softmax_hessian(objective, workers, point), objective.alpha),))
    if dimension > _LARGEST_MATRIX and loss.outputs == 1:
        through = _ThroughRecords.build(objective, workers, weigh)
        if through is not None:
            return through
    if dimension <= _LARGEST_MATRIX and loss.outputs * dimension**2 <= _LARGEST_BLOCKS:
        blocks = hessian_blocks(objective, workers, weigh)
        return _Factored(tuple(_Inverse.of(block, objective.alpha) for block in blocks))
    return _Diagonal(hessian_diagonal(objective, workers, weigh) + objective.alpha)


@final
@dataclass(frozen=True, eq=False)
class _Inverse:
    """The inverse of alpha I + A for a positive semidefinite A that was computed with rounding errors."""

    factor: Array
    spectrum: Array | None

    @classmethod
    def of(cls, matrix: Array, alpha: float) -> Self:
        """Factor alpha I + A; should alpha drown in A's rounding errors, by its eigenvectors."""
        shifted = matrix + alpha * np.eye(len(matrix))
        try:
            return cls(cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)[0], None)
        except LinAlgError:
            values, vectors = eigh(matrix, check_finite=False)
            noise = 4 * np.finfo(float).eps * len(matrix) * max(values[-1], 0.0)
            return cls(vectors, np.where(values > noise, values, 0.0) + alpha)

    def solve(self, stack: Array) -> Array:
        """Return the inverse times each row of the stack."""
        if self.spectrum is None:
            return np.asarray(cho_solve((self.factor, True), stack.T, check_finite=False).T)
        return np.asarray(((stack @ self.factor) / self.spectrum) @ self.factor.T)


@final
@dataclass(frozen=True, eq=False)
class _Factored(Preconditioner):
    """The Hessian's diagonal blocks; the whole Hessian when there is one block."""

    blocks: tuple[_Inverse, ...]

    @property
    def whole(self) -> bool:
        """Whether there is one block."""
        return len(self.blocks) == 1

    def solve(self, stack: Array) -> Array:
        """Solve with each block for its part of the coefficients."""
        parts = np.split(stack, len(self.blocks), axis=1)
        return np.concatenate([block.solve(part) for block, part in zip(self.blocks, parts, strict=True)], axis=1)


@final
@dataclass(frozen=True, eq=False)
class _ThroughRecords(Preconditioner):
    """The whole Hessian when fewer records than features count: a matrix over records is inverted.

    (alpha I + U^T U)^-1 = (I - U^T (alpha I + U U^T)^-1 U) / alpha, U the records times sqrt(weight/n).
    """

    records: Block
    roots: Array
    inverse: _Inverse
    alpha: float

    @classmethod
    def build(cls, objective: Objective, workers: Crew, weigh: Weigh) -> Self | None:
        """Collect the records that count; None when there are too many."""
        blocks = objective.rows.blocks(1)
        weights = np.concatenate(workers.each(lambda bounds: weigh(bounds)[1][:, 0], blocks))
        counting = np.flatnonzero(weights)
        if len(counting) > _LARGEST_MATRIX:
            return None
        roots = np.sqrt(weights[counting] / objective.rows.count)
        records = objective.rows.take(counting)
        return cls(records, roots, _Inverse.of(records.outer(roots), objective.alpha), objective.alpha)

    @property
    def whole(self) -> bool:
        """It is the whole Hessian, in disguise."""
        return True

    def solve(self, stack: Array) -> Array:
        """Apply the identity above to each row of the stack."""
        column = self.roots[:, None]
        scores = self.inverse.solve((column * self.records.scores(Point(stack))).T).T
        return np.asarray((stack - self.records.pull(column * scores)) / self.alpha)


@final
@dataclass(frozen=True, eq=False)
class _Diagonal(Preconditioner):
    """The diagonal of the Hessian."""

    diagonal: Array

    @property
    def whole(self) -> bool:
        """A diagonal is only a part."""
        return False

    def solve(self, stack: Array) -> Array:
        """Divide by the diagonal."""
        return np.asarray(stack / self.diagonal)
