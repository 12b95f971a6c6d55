"""From scores to classes and probabilities, for every classifier that has scores."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import softmax

from tacit.estimators.exact_scores import ExactAccuracy
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


class ClassifierOfScores(ExactAccuracy):
    """Predictions of a classifier whose `_scores` has one column for two classes, else one for each."""

    classes_: NDArray[Any]
    _scores: Callable[[Any], Floats]

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (and class, if there are more than two)."""
        scores = self._scores(X)
        return scores if len(self.classes_) > 2 else scores.ravel()

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        scores = self.decision_function(X)
        indices = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes_[indices])
