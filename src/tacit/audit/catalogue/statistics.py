"""Audits of private statistics, scores and the oracle: records as they come, clipped by the function itself."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from tacit import evaluation, statistics
from tacit.audit.attacks import Attack, Canary, Learned, LikelihoodRatio, LowBits
from tacit.audit.case import Audited, Case, Question
from tacit.numerics.arrays import Floats
from tacit.queries import StatisticalOracle, StatisticalQuery

__all__ = ["STATISTICS"]

_PLAYS, _ORACLE_PLAYS = 6_000, 3_000
_FAR, _LOUD = 1e6, 200.0
_AGES = [20.0, 40.0, 60.0]
_LOW_ANSWER, _HIGH_ANSWER = Canary((-1.0,)), Canary((1.0,))


def _of_ages(run: Callable[..., Any], attack: Attack = _LOW_ANSWER, **variant: str) -> Callable[[Question], Case]:
    """Return the audit of a function of three ages, one of which leaves its declared range on either side."""

    def build(question: Question) -> Case:
        first, second = (np.array([age, *_AGES]) for age in (-_FAR, _FAR))
        budget = {"epsilon": question.epsilon} | ({"delta": question.delta} if question.delta else {})
        return Case(question.claim, partial(run, **budget), first, second, (attack,), _PLAYS, variant=variant)

    return build


def _histogram(ages: Any, **budget: Any) -> Any:
    return statistics.histogram(np.clip(ages // 50, 0, 1), levels=[0.0, 1.0], **budget)


@final
@dataclass(frozen=True)
class _PublicModel:
    """A public model: its classes, and the probability of each of them at some ages."""

    classes_: tuple[Any, ...]
    chances: Callable[[Floats], Floats]

    def predict_proba(self, ages: Any) -> Any:
        """Return the probabilities of all classes."""
        return self.chances(np.asarray(ages))

    def predict(self, ages: Any) -> Any:
        """Return the likeliest class."""
        return np.asarray(self.classes_)[self.predict_proba(ages).argmax(axis=1)]


def _by_age(ages: Floats) -> Floats:
    chance = np.clip(ages / 100, 0.0, 1.0)
    return np.column_stack([1 - chance, chance])


# Certain that everybody is old; old with the age over 100; certain of the young alone, and undecided between the rest.
_ALWAYS = _PublicModel((False, True), lambda ages: np.tile([0.0, 1.0], (len(ages), 1)))
_OLD = _PublicModel((False, True), _by_age)
_THIRDS = _PublicModel((0, 1, 2), lambda ages: np.where(ages[:, None] < 50, [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]))


class _Ages:
    """A public model whose scores are ages, from 50 on."""

    classes_ = (False, True)

    def decision_function(self, ages: Any) -> Any:
        """Return by how much every age is above 50."""
        return np.asarray(ages) - 50.0


class _Fifty:
    """A public regression that says 50 of everybody."""

    def predict(self, ages: Any) -> Any:
        """Return 50 for every age."""
        return np.full(len(ages), 50.0)


def _report(ages: Any, model: Any = _OLD, **budget: Any) -> Floats:
    """What is released about the lowest of the one class and the highest of the other, which the record can be."""
    young, old = evaluation.report(model, ages, ages > 50, **budget).release.value.counts
    return np.array([young[0], old[-1]])


def _table(ages: Any, **budget: Any) -> Floats:
    """The whole table of three classes, each number in units of its noise."""
    labels = np.where(np.asarray(ages) < 50, 0, 2)
    table = evaluation.report(_THIRDS, ages, labels, **budget).release.value
    counts = [count / noise for count, noise in zip(table.counts, table.count_noise, strict=True)]
    assert table.right is not None
    return np.concatenate([*counts, table.right.ravel() / table.right_noise])


def _along(table: Callable[..., Floats]) -> Canary:
    """Bob looks along the difference that the record makes to a table, of which a rehearsal with one record tells."""
    first, second = (table(np.array([age]), epsilon=_LOUD, random_state=0) for age in (-_FAR, _FAR))
    return Canary(tuple(((second - first) / _LOUD).round(2).tolist()))


def _several(question: Question) -> Case:
    """Three classes, and what is counted of each."""
    return _of_ages(_table, _along(_table), **_SCORES, classes="several")(question)


def _chosen(question: Question) -> Case:
    """So many records, with scores on a scale that nobody knows, that bins are chosen by what they are."""
    rest = np.tile(_AGES, math.ceil(100 / min(1.0, question.epsilon)))
    first, second = (np.append(age, rest) for age in (-_FAR, _FAR))
    run = partial(_report, model=_Ages(), epsilon=question.claim.epsilon, delta=question.claim.delta)
    variant = {**_SCORES, "classes": "two"}
    return Case(question.claim, run, first, second, (Canary((-1.0, 1.0)),), _ORACLE_PLAYS, variant=variant)


def _persons(question: Question) -> Case:
    """A patient with twenty rows becomes one with three, as far from them as can be; a record is a person."""
    claim = question.claim

    def table(data: Any) -> Floats:
        ages, rows = data
        owners = np.repeat(np.arange(len(rows)), rows)
        return _report(ages[owners], epsilon=claim.epsilon, delta=claim.delta, groups=owners)

    first, second = ((np.array([age, *_AGES]), np.array([rows, 1, 1, 1])) for age, rows in ((-_FAR, 20), (_FAR, 3)))
    variant, note = {"unit": "person", "classes": "two"}, "a person of 20 rows"
    return Case(claim, table, first, second, (Canary((-1.0, 1.0)),), _PLAYS, note=note, variant=variant)


def _confusion(ages: Any, **budget: Any) -> Floats:
    """What is released about either class that the record can be."""
    return np.asarray(evaluation.confusion_matrix(_ALWAYS, ages, ages > 50, **budget).release.value)[:, 1]


def _regression(ages: Any, **budget: Any) -> Floats:
    """The table of errors and targets, each number in units of its noise; the record is put where a bin ends.

    There it is counted whole, and the attack is at its strongest.
    """
    kept = np.clip(ages, 12.5, 87.5)
    table = evaluation.report(_Fifty(), kept, kept, target_range=(0.0, 100.0), **budget).release.value
    return np.concatenate([count / noise for count, noise in zip(table.counts, table.count_noise, strict=True)])


def _numbers(question: Question) -> Case:
    """A regression: its errors and the targets."""
    return _of_ages(_regression, _along(_regression), **_SCORES)(question)


def _oracle(question: Question) -> Case:
    """Two averages asked together; the record leaves the declared range, below it or above, and moves both by 1/n."""
    queries = [StatisticalQuery(lambda t: t["x0"]), StatisticalQuery(lambda t: 1 - t["x0"])]
    claim = question.claim

    def answers(values: Any) -> Floats:
        oracle = StatisticalOracle((values[:, None], np.ones(len(values))), bounds=(0.0, 1.0))
        return np.array([answer.value for answer in oracle.ask_all(queries, epsilon=claim.epsilon, delta=claim.delta)])

    first, second = (np.array([value, 0.25, 0.5, 0.75]) for value in (-_FAR, _FAR))
    # The means of x and 1 - x with the record at 0, and with it at 1; each has Laplace noise of scale 2/(n epsilon).
    below, above, scale = (0.375, 0.625), (0.625, 0.375), 2 / (len(first) * claim.epsilon)
    ratio = LikelihoodRatio.shifted(lambda noise: -np.abs(noise).sum(axis=1) / scale, below, above)
    attack = Canary((-1.0, 1.0)) if claim.delta else ratio
    attacks, variant = (attack, LowBits(below, above)), {"unit": "record"}
    return Case(claim, answers, first, second, attacks, _ORACLE_PLAYS, variant=variant)


_SCORES = {"unit": "record"}
_quantile = partial(statistics.quantile, fraction=0.5, low=0, high=100, candidates=50)
STATISTICS = (
    Audited("statistics.count", _of_ages(lambda ages, **budget: statistics.count(ages > 50, **budget))),
    Audited("statistics.sum", _of_ages(partial(statistics.sum, low=0, high=100))),
    Audited("statistics.mean", _of_ages(partial(statistics.mean, low=0, high=100))),
    Audited("statistics.histogram", _of_ages(_histogram, Canary((1.0, -1.0)))),
    Audited("statistics.quantile", _of_ages(_quantile, Learned()), delta=0.0),
    Audited(
        "evaluation.accuracy",
        _of_ages(lambda ages, **budget: evaluation.accuracy(_ALWAYS, ages, ages > 50, **budget).release),
    ),
    Audited("evaluation.report", _of_ages(_report, Canary((-1.0, 1.0)), **_SCORES, classes="two")),
    Audited("evaluation.report-chosen", _chosen),
    Audited("evaluation.report-several", _several),
    Audited("evaluation.report-persons", _persons),
    Audited(
        "evaluation.log_loss",
        _of_ages(lambda ages, **budget: evaluation.log_loss(_ALWAYS, ages, ages > 50, **budget).release, _HIGH_ANSWER),
    ),
    Audited("evaluation.confusion_matrix", _of_ages(_confusion, Canary((-1.0, 1.0)))),
    Audited("evaluation.report-regression", _numbers),
    Audited("StatisticalOracle", _oracle),
)
