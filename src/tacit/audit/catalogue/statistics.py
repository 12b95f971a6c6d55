"""Audits of private statistics and scores: records as they come, clipped by the function itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import evaluation, statistics
from tacit.audit.attacks import Attack, Canary, Learned
from tacit.audit.case import Case, Question

__all__ = ["STATISTICS"]

_PLAYS = 6_000
_FAR = 1e6
_AGES = [20.0, 40.0, 60.0]


def _builder(name: str, run: Callable[[Question], Callable[[Any], Any]], attack: Attack) -> Callable[[Question], Case]:
    """Return the audit of a function of three ages, one of which leaves its declared range on either side."""

    def build(question: Question) -> Case:
        question.refuse(name, "n_lambda", "perturbation")
        first, second = np.array([-_FAR, *_AGES]), np.array([_FAR, *_AGES])
        return Case(name, question.claim, run(question), first, second, (attack,), _PLAYS)

    return build


def _count(question: Question) -> Callable[[Any], Any]:
    return lambda ages: statistics.count(ages > 50, epsilon=question.epsilon, delta=question.claim.delta)


def _sum(question: Question) -> Callable[[Any], Any]:
    return lambda ages: statistics.sum(ages, low=0, high=100, epsilon=question.epsilon, delta=question.claim.delta)


def _mean(question: Question) -> Callable[[Any], Any]:
    return lambda ages: statistics.mean(ages, low=0, high=100, epsilon=question.epsilon, delta=question.claim.delta)


def _histogram(question: Question) -> Callable[[Any], Any]:
    def run(ages: Any) -> Any:
        decades = np.clip(ages // 50, 0, 1)
        return statistics.histogram(decades, levels=[0.0, 1.0], epsilon=question.epsilon, delta=question.claim.delta)

    return run


def _quantile(question: Question) -> Callable[[Any], Any]:
    epsilon = question.pure("statistics.quantile").epsilon
    return lambda ages: statistics.quantile(ages, 0.5, low=0, high=100, epsilon=epsilon, candidates=50)


def _accuracy(question: Question) -> Callable[[Any], Any]:
    class Always:
        """A public model that says 'old' of everybody."""

        def predict(self, ages: Any) -> Any:
            """Return True for every age."""
            return np.ones(len(ages), dtype=bool)

    def run(ages: Any) -> Any:
        score = evaluation.accuracy(Always(), ages, ages > 50, epsilon=question.epsilon, delta=question.claim.delta)
        return score.release

    return run


_LOW_ANSWER = Canary((-1.0,))
STATISTICS: dict[str, Callable[[Question], Case]] = {
    name: _builder(name, run, attack)
    for name, run, attack in (
        ("statistics.count", _count, _LOW_ANSWER),
        ("statistics.sum", _sum, _LOW_ANSWER),
        ("statistics.mean", _mean, _LOW_ANSWER),
        ("statistics.histogram", _histogram, Canary((1.0, -1.0))),
        ("statistics.quantile", _quantile, Learned()),
        ("evaluation.accuracy", _accuracy, _LOW_ANSWER),
    )
}
