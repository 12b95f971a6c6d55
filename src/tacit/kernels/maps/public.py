"""Public points for models of records: made up under their schema, or coded from a public table of the same columns.

Made-up records lie where coded records can lie, and points spread over the ball do not: rows of some ten columns fill
little of it. How many points by default was looked for on made-up tables alone (`synthetic_tables.additive`, `grown`):
more of them bend further and catch more noise.
"""

import math

import numpy as np

from tacit.budget import Budget
from tacit.checks import is_whole
from tacit.data.bounded import BoundedRows
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.twins import made_up
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import encoder_for, task_of
from tacit.numerics.arrays import Floats

FEWEST, MOST, LARGEST = 30, 500, 5_000
_SEED = 2013
_COMPARED = 500


def usual_count(n: int, budget: Budget) -> int:
    """Return how many landmarks serve n records at a budget, by these public numbers alone."""
    each = 1.0 if budget.is_pure else 2.0
    return int(min(MOST, max(FEWEST, round(each * math.sqrt(n * budget.epsilon)))))


def landmark_rows(schema: Schema, public: int | Records) -> BoundedRows:
    """Return landmarks for kernel models of records with this schema, coded as `fit` codes the records.

    Guarantee: a number gives made-up records, which depend on the schema alone.
    Assumes: of `Records`, that they are public, and none of those to learn from.
    Reference: `tacit.data.twins.made_up`; tacit/kernels/released/semi_interactive.md.
    """
    count = public.n if isinstance(public, Records) else public
    if not is_whole(count) or not 1 <= count <= LARGEST:
        raise InvalidParameter(
            f"landmarks must be 1 to {LARGEST} public records, or a number of made-up ones; the work grows with the "
            f"cube of their number. Got {count!r}."
        )
    points = public if isinstance(public, Records) else made_up(schema, int(count), _SEED, signal=0.0)
    return encoder_for(schema, task_of(schema)).transform(points)


def usual_gamma(landmarks: Floats) -> float:
    """Return the width of an RBF kernel by public points: one over the middle of their squared distances."""
    rows = np.asarray(landmarks)[:_COMPARED]
    squares = np.maximum(np.sum(rows**2, 1)[:, None] + np.sum(rows**2, 1) - 2 * rows @ rows.T, 0.0)
    middle = float(np.median(squares[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return 1 / middle if middle > 1e-9 else 1.0
