"""Audits of tacit's estimators: real fits in the game, exact densities in the search."""

from collections.abc import Callable
from itertools import chain
from typing import Any, Literal, cast

import numpy as np

from tacit.audit.attacks import Canary, Learned
from tacit.audit.case import Case, Question
from tacit.audit.catalogue.problems import Linear, ridge_for, with_found
from tacit.audit.laws import huber_hinge, huber_regression
from tacit.audit.laws import logistic as logistic_formula
from tacit.audit.search import Found, held_pairs, search, tiny_pairs
from tacit.budget import Budget
from tacit.erm import HuberHinge, HuberRegression, Logistic
from tacit.erm.classification import MARGIN, PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.perturbations.defaults import Kind
from tacit.erm.regression import PrivateLinearRegression, Way
from tacit.errors import InvalidParameter

_PLAYS = 1_200
_CLASSES = [-1.0, 1.0]
_KINDS = ("objective", "output", "gradient")

Alpha = float | Literal["auto"]


def logistic_search(claim: Budget, n_lambda: float | None, tiny_sets: int, anchor: float = MARGIN) -> Found:
    """Search for the largest privacy loss of pure logistic objective perturbation in two dimensions."""
    problem = Linear(Logistic(anchor), logistic_formula(anchor), "objective", claim, n_lambda)
    pairs = chain(tiny_pairs(2, 1.0, sets=tiny_sets), held_pairs(1.0, problem.law(1, 2).ridge, anchor))
    return search(lambda count: problem.law(count, 2), pairs)


def logistic(question: Question) -> Case:
    """Logistic regression with any perturbation; for the pure objective, the search over large sets as well."""
    claim, kind = question.claim, _kind(question)

    def estimator(alpha: Alpha) -> PrivateLogisticRegression:
        return PrivateLogisticRegression(
            claim.epsilon, claim.delta, perturbation=kind, data_norm=1.0, alpha=alpha, fit_intercept=False,
            classes=_CLASSES,
        )  # fmt: skip

    problem = Linear(Logistic(MARGIN), logistic_formula(MARGIN), kind, claim, question.checked_n_lambda)
    case = problem.case("PrivateLogisticRegression", estimator, _PLAYS)
    if kind != "objective" or not claim.is_pure:
        return case
    return with_found(case, logistic_search(claim, question.checked_n_lambda, tiny_sets=4))


def softmax(question: Question) -> Case:
    """Three classes jointly; the record's class changes, and Bob looks at the difference of two scores."""
    claim, kind = question.claim, _kind(question)
    rows = np.array([[1.0], [-0.5]])

    def fit(data: Any) -> PrivateLogisticRegression:
        model = PrivateLogisticRegression(
            claim.epsilon, claim.delta, perturbation=kind, data_norm=1.0, fit_intercept=False, classes=[0, 1, 2],
            alpha=ridge_for(question.checked_n_lambda, len(rows)),
        )  # fmt: skip
        return model.fit(*data)

    first, second = (rows, np.array([0, 2])), (rows, np.array([1, 2]))
    attack = Canary((1.0, -1.0, 0.0, 0.0, 0.0, 0.0))
    return Case("PrivateLogisticRegression-softmax", claim, fit, first, second, (attack,), _PLAYS)


def support_vectors(question: Question) -> Case:
    """Linear support vectors with the rounded hinge."""
    claim, kind = question.claim, _kind(question)

    def estimator(alpha: Alpha) -> PrivateLinearSVC:
        return PrivateLinearSVC(
            claim.epsilon, claim.delta, width=0.5, perturbation=kind, data_norm=1.0, alpha=alpha, fit_intercept=False,
            classes=_CLASSES,
        )  # fmt: skip

    problem = Linear(HuberHinge(0.5), huber_hinge(0.5), kind, claim, question.checked_n_lambda)
    return problem.case("PrivateLinearSVC", estimator, _PLAYS)


def general(question: Question) -> Case:
    """A loss of one's own: here the hinge, rounded more widely."""
    claim, kind = question.claim, _kind(question)

    def estimator(alpha: Alpha) -> PrivateERM:
        return PrivateERM(
            HuberHinge(1.0), claim.epsilon, claim.delta, perturbation=kind, data_norm=1.0, alpha=alpha,
            fit_intercept=False, classes=_CLASSES,
        )  # fmt: skip

    problem = Linear(HuberHinge(1.0), huber_hinge(1.0), kind, claim, question.checked_n_lambda)
    return problem.case("PrivateERM", estimator, _PLAYS)


def regression(question: Question) -> Case:
    """Linear regression; where its density is not known, Bob trains a classifier."""
    name, claim = "PrivateLinearRegression", question.claim
    kind = question.perturbation or ("objective" if claim.is_pure else "statistics")
    if kind not in (*_KINDS, "statistics"):
        raise InvalidParameter(f"perturbation must be one of {', '.join(_KINDS)}, statistics, got {kind!r}.")

    def estimator(alpha: Alpha) -> PrivateLinearRegression:
        return PrivateLinearRegression(
            claim.epsilon, claim.delta, target_range=(-1.0, 1.0), perturbation=cast(Way, kind), data_norm=1.0,
            alpha=alpha, fit_intercept=False,
        )  # fmt: skip

    if kind == "objective":
        loss, formula = HuberRegression(1.0, 1.0), huber_regression(1.0)
        return Linear(loss, formula, kind, claim, question.checked_n_lambda).case(name, estimator, _PLAYS)
    alpha = ridge_for(question.checked_n_lambda, 1)
    first, second = (np.array([[1.0]]), np.array([1.0])), (np.array([[1.0]]), np.array([-1.0]))
    return Case(name, claim, lambda data: estimator(alpha).fit(*data), first, second, (Learned(),), _PLAYS)


def _kind(question: Question) -> Kind:
    kind = question.perturbation or ("objective" if question.claim.is_pure else "gradient")
    if kind not in _KINDS:
        raise InvalidParameter(f"perturbation must be one of {', '.join(_KINDS)}, got {kind!r}.")
    return cast(Kind, kind)


ESTIMATORS: dict[str, Callable[[Question], Case]] = {
    "PrivateLogisticRegression": logistic,
    "PrivateLogisticRegression-softmax": softmax,
    "PrivateLinearSVC": support_vectors,
    "PrivateLinearRegression": regression,
    "PrivateERM": general,
}
