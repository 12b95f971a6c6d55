"""From scores to probabilities, for every classifier."""

import math

import numpy as np
from sklearn.utils.extmath import softmax

from tacit.numerics.arrays import Floats


def probabilities(scores: Floats, margin: float) -> Floats:
    """Return the probability of every class for every row of scores; one score a row stands for the second of two.

    Where the expected loss with a margin a is least, the probabilities are proportional to s (s + e^a (1 - s)), s the
    softmax of the scores.
    """
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    shares = np.asarray(softmax(scores))
    shares *= shares * math.exp(-margin) + (1 - shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
