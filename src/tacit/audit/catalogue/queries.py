"""Audits of the statistical-query oracle: one record that moves every answer as far as it can."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.audit.attacks import Canary, LikelihoodRatio, LowBits
from tacit.audit.case import Case, Question
from tacit.numerics.arrays import Floats
from tacit.queries import StatisticalOracle, StatisticalQuery

_PLAYS = 3_000
_FAR = 1e6
_VALUES = [0.25, 0.5, 0.75]


def oracle(question: Question) -> Case:
    """Two averages asked together; the record leaves the declared range, below it or above, and moves both by 1/n."""
    name = "StatisticalOracle"
    question.refuse(name, "n_lambda", "perturbation")
    queries = [StatisticalQuery(lambda t: t["x0"]), StatisticalQuery(lambda t: 1 - t["x0"])]

    def answers(values: Any) -> Floats:
        records = values[:, None], np.ones(len(values))
        asked = StatisticalOracle(records, bounds=(0.0, 1.0)).ask_all(
            queries, epsilon=question.epsilon, delta=question.claim.delta
        )
        return np.array([answer.value for answer in asked])

    first, second = np.array([-_FAR, *_VALUES]), np.array([_FAR, *_VALUES])
    # The means of x and 1 - x with the record at 0, and with it at 1; each has Laplace noise of scale 2/(n epsilon).
    below, above, scale = (0.375, 0.625), (0.625, 0.375), 2 / (len(first) * question.claim.epsilon)
    ratio = LikelihoodRatio(lambda a: -_distance(a, below) / scale, lambda a: -_distance(a, above) / scale)
    attack = Canary((-1.0, 1.0)) if question.claim.delta else ratio
    return Case(name, question.claim, answers, first, second, (attack, LowBits(below, above)), _PLAYS)


def _distance(answers: Floats, means: tuple[float, float]) -> Floats:
    return np.asarray(np.abs(answers - np.array(means)).sum(axis=1))


QUERIES: dict[str, Callable[[Question], Case]] = {"StatisticalOracle": oracle}
