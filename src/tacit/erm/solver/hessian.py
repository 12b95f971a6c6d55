"""Hessians of an objective without its ridge, whole or in part, as sums over blocks of rows.

The Hessian of a joint loss has a block of its own for every pair of outputs. Its diagonal blocks weigh
rows by p (1 - p), the others by -p p', where p and p' are the probabilities of the two classes.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from tacit.erm.rows.block import Block
from tacit.erm.solver.objective import Objective
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads

Weigh = Callable[[Bounds], tuple[Block, Floats]]
"""Returns the rows within bounds and the second derivatives in their scores."""
Weigher = Callable[[Objective], Weigh]
"""Makes such a function for a part of the rows."""


def weigher_at(point: Point) -> Weigher:
    """Weigh the rows of any part by the second derivatives of the loss at a point."""
    return partial(_row_weights, point=point)


def _row_weights(objective: Objective, point: Point) -> Weigh:
    models = point.reshaped(-1, objective.rows.dimension)

    def weigh(bounds: Bounds) -> tuple[Block, Floats]:
        block, scores, targets = objective.scored(bounds, models)
        return block, objective.loss.curvatures(scores, targets)

    return weigh


def mean_hessian(objective: Objective, workers: Threads, weigher: Weigher) -> Floats:
    """Return the mean of the Hessian's diagonal blocks, one for each output, of shape (dim, dim)."""
    return objective.over(workers, partial(_weighed, weigher=weigher, of=_gram)) / objective.rows.count


def hessian_diagonal(objective: Objective, workers: Threads, weigher: Weigher) -> Floats:
    """Return the diagonal of the Hessian, of shape (size,)."""
    return objective.over(workers, partial(_weighed, weigher=weigher, of=_squares)) / objective.rows.count


def _gram(block: Block, weights: Floats) -> Floats:
    return block.gram(weights.mean(axis=1))


def _squares(block: Block, weights: Floats) -> Floats:
    return np.concatenate([block.squares(column) for column in weights.T])


def _weighed(part: Objective, workers: Threads, weigher: Weigher, of: Callable[[Block, Floats], Floats]) -> Floats:
    """Sum what rows and their second derivatives make, block by block."""
    weigh = weigher(part)
    return workers.sum(lambda bounds: of(*weigh(bounds)), part.rows.blocks(part.loss.outputs))


def joint_hessian(objective: Objective, workers: Threads, point: Point) -> Floats:
    """Return the whole Hessian of a joint loss, of shape (size, size)."""
    return objective.over(workers, partial(_pairs, point=point)) / objective.rows.count


def _pairs(part: Objective, workers: Threads, point: Point) -> Floats:
    loss, classes, dimension = part.loss, part.loss.outputs, part.rows.dimension
    models = point.reshaped(-1, dimension)

    def work(bounds: Bounds) -> Floats:
        block = part.rows.block(bounds)
        chances = loss.probabilities(block.scores(models))
        total = np.empty((classes, dimension, classes, dimension))
        for one in range(classes):
            total[one, :, one, :] = block.gram(chances[:, one] * (1.0 - chances[:, one]))
            for other in range(one):
                cross = -block.gram(chances[:, one] * chances[:, other])
                total[one, :, other, :] = total[other, :, one, :] = cross
        return total.reshape(part.size, part.size)

    return workers.sum(work, part.rows.blocks(classes))
