"""The value of an objective, written out: nothing in the library compares values of J."""

import numpy as np

from tacit.erm import Objective, PointwiseLoss


def value_of(objective: Objective, coefficient: np.ndarray) -> float:
    """Return J at a coefficient: mean loss, ridge and linear term."""
    rows, loss, targets = objective.rows, objective.loss, objective.targets
    matrix = rows.matrix.array
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    matrix = matrix if rows.scale is None else matrix * rows.scale[:, None]
    tail = [] if rows.constant is None else [np.full(len(matrix), rows.constant)]
    scores = np.column_stack([matrix, *tail]) @ coefficient.T
    if isinstance(loss, PointwiseLoss):
        margins = loss.kind == "margin"
        losses = loss.value(targets * scores - loss.anchor if margins else scores - targets)
    else:
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(scores)), targets]
    tilt = 0.0 if objective.linear is None else np.vdot(objective.linear, coefficient) / rows.count
    return float(np.mean(losses) + objective.alpha / 2 * np.vdot(coefficient, coefficient) + tilt)
