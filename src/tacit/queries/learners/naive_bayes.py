"""Naive Bayes: how often each class has each value of each feature, all of it asked at once."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from tacit.accounting.ledger import Ledger
from tacit.checks import finite_number
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.queries.learners.counts import Counts, count_classes, unasked
from tacit.queries.learners.discrete import Coded, DiscreteClassifier
from tacit.queries.learners.inquiry import Inquiry, Round


@final
class SQNaiveBayes(DiscreteClassifier):
    """Naive Bayes over features with finitely many values: one histogram a feature, in one round.

    A record is at one place of every histogram, so replacing one moves two counts of each, however many values and
    classes there are.

    Guarantee: the fitted probabilities are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the declared features and the classes; when `classes` is None (and no schema declares them)
    the set of labels in y is taken to be public knowledge.
    Reference: oracle.md.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary model, without privacy.
    schema : declares the features, and the classes if it has a target; or
    levels : features are the whole numbers below this (a number, or one for each feature); or
    bounds : features are numbers between these (a pair, or one for each feature). Without any of the three features
        are two-valued, true where they are above 0.
    bins : how many equally wide parts the range of a number is cut into.
    smoothing : how many records every place of a histogram has beforehand, besides as many as the noise's standard
        deviation; they are shared by the classes in proportion.
    confidence : with which the tolerance in `plans_` is stated.
    noise_rate : how often labels are wrong, at random (two classes only); the model is then about the true ones.
    classes : the labels that can occur; declare them.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        schema: Schema | None = None,
        levels: int | Sequence[int] | None = None,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        bins: int = 8,
        smoothing: float = 1.0,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        classes: ArrayLike | None = None,
        ledger: Ledger | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.levels = levels
        self.bounds = bounds
        self.bins = bins
        self.smoothing = smoothing
        self.confidence = confidence
        self.noise_rate = noise_rate
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every record."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every record."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class for every record."""
        codes = self._codes(X)
        joint = np.tile(self.class_log_prior_, (len(codes), 1))
        for place, table in enumerate(self.feature_log_prob_):
            joint += table[codes[:, place]]
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _course(self, n: int, sizes: list[int], labels: tuple[Any, ...]) -> list[Round]:
        return [Round(count_classes([unasked] * len(sizes), sizes, unasked, labels))]

    def _ask(self, inquiry: Inquiry, columns: Coded) -> None:
        before = finite_number("smoothing", self.smoothing)
        if before <= 0:
            raise InvalidParameter(f"smoothing must be positive, got {self.smoothing!r}.")
        sizes = [feature.size for feature in self.features_]
        queries = count_classes(
            [each.code for each in columns], sizes, lambda table: table[inquiry.label], inquiry.labels
        )
        counts = Counts.of(inquiry.ask(0, queries), sizes, 1)
        prior = _distribution(counts.totals[0], before / inquiry.n)
        start = (before / inquiry.n + counts.deviation) * len(prior) * prior
        self.class_log_prior_ = np.log(prior)
        self.feature_log_prob_ = [np.log(_by_class(table[0], start)) for table in counts.tables]


def _distribution(shares: Floats, before: float) -> Floats:
    positive = np.maximum(shares, 0.0) + before
    return np.asarray(positive / positive.sum())


def _by_class(table: Floats, start: Floats) -> Floats:
    """Return the probability of every code within each class; a code that nobody has tells nothing."""
    filled = np.maximum(table, 0.0) + start
    return np.asarray(filled / filled.sum(axis=0))
