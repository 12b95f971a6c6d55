"""Naive Bayes: how often each class has each value of each feature, all of it asked at once."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tacit.checks import positive_number
from tacit.estimators.saving.fields import Listed, Numbers, Saved
from tacit.numerics.arrays import Floats
from tacit.queries.learners.discrete import ClassCounts, CodeColumns, DiscreteClassifier, count_classes, everyone
from tacit.queries.learners.learner import Labels
from tacit.queries.learners.saved import DECLARED, DISCRETE, counted
from tacit.queries.oracle.session import Session
from tacit.sums.query import Histogram


@final
@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    smoothing: float = 1.0

    of = "population"
    saved: ClassVar[Saved] = Saved(
        {**DISCRETE, "class_log_prior_": Numbers("classes"), "feature_log_prob_": Listed(Numbers("", "classes"), list)},
        DECLARED,
        check=counted,
    )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every record."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every record."""
        return np.exp(self.predict_log_proba(X))

    @np.errstate(all="ignore")
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class for every record."""
        codes = self._codes(X)
        joint = np.tile(self.class_log_prior_, (len(codes), 1))
        for place, table in enumerate(self.feature_log_prob_):
            joint += table[codes[:, place]]
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _rounds(self, n: int, columns: CodeColumns, labels: Labels) -> list[list[Histogram]]:
        return [count_classes(columns, labels, everyone())]

    def _study(self, session: Session, columns: CodeColumns, labels: Labels) -> None:
        before, n = positive_number("smoothing", self.smoothing), session.evaluator.n
        counts = ClassCounts.of(session.ask(0), columns, 1)
        prior = np.maximum(counts.totals[0], 0.0) + before / n
        prior /= prior.sum()
        start = (before / n + counts.deviation) * len(prior) * prior
        filled = [np.maximum(table[0], 0.0) + start for table in counts.tables]
        self.class_log_prior_ = np.log(prior)
        # Of every code within each class; a code that nobody has tells nothing.
        self.feature_log_prob_ = [np.log(table / table.sum(axis=0)) for table in filled]
