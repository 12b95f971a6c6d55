"""Audits of tacit's estimators: real fits in the game, exact densities in the search."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np

from tacit.audit.attacks import Canary, Learned
from tacit.audit.case import Audited, Case, Question
from tacit.audit.catalogue.problems import LinearProblem, ridge_for, with_found
from tacit.audit.laws import Formula, huber_hinge, huber_regression, logistic
from tacit.audit.search import Found, held_pairs, search, tiny_pairs
from tacit.budget import Budget
from tacit.erm import HuberHinge, HuberRegression, Logistic, PointwiseLoss
from tacit.erm.classification import MARGIN, PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.perturbations.defaults import Kind
from tacit.erm.regression import PrivateLinearRegression, Way
from tacit.errors import InvalidParameter

_PLAYS = 1_200
_KINDS = ("objective", "output", "gradient")


def logistic_search(claim: Budget, n_lambda: float | None, tiny_sets: int, anchor: float = MARGIN) -> Found:
    """Search for the largest privacy loss of pure logistic objective perturbation in two dimensions."""
    problem = LinearProblem(Logistic(anchor), logistic(anchor), "objective", claim, n_lambda)
    pairs = chain(tiny_pairs(2, 1.0, sets=tiny_sets), held_pairs(1.0, problem.law(1, 2).ridge, anchor))
    return search(lambda count: problem.law(count, 2), pairs)


def _linear(estimator: Callable[..., Any], loss: PointwiseLoss, formula: Formula) -> Callable[[Question], Case]:
    """Return the audit of a linear classifier with any perturbation.

    For the pure objective of the logistic loss there is a search over large sets as well.
    """

    def build(question: Question) -> Case:
        claim, n_lambda, kind = question.claim, question.checked_n_lambda, _kind(question)
        fixed = partial(estimator, **_fixed(claim), perturbation=kind, classes=[-1.0, 1.0])
        case = LinearProblem(loss, formula, kind, claim, n_lambda).case(fixed, _PLAYS)
        searched = kind == "objective" and claim.is_pure and isinstance(loss, Logistic)
        return with_found(case, logistic_search(claim, n_lambda, tiny_sets=4)) if searched else case

    return build


def _fixed(claim: Budget) -> dict[str, Any]:
    return {"epsilon": claim.epsilon, "delta": claim.delta, "data_norm": 1.0, "fit_intercept": False}


def softmax(question: Question) -> Case:
    """Three classes jointly; the record's class changes, and Bob looks at the difference of two scores."""
    claim, rows = question.claim, np.array([[1.0], [-0.5]])
    alpha = ridge_for(question.checked_n_lambda, len(rows))
    fixed = partial(PrivateLogisticRegression, **_fixed(claim), perturbation=_kind(question), classes=[0, 1, 2])
    first, second = (rows, np.array([0, 2])), (rows, np.array([1, 2]))
    attack = Canary((1.0, -1.0, 0.0, 0.0, 0.0, 0.0))
    return Case(claim, lambda data: fixed(alpha=alpha).fit(*data), first, second, (attack,), _PLAYS)


def regression(question: Question) -> Case:
    """Linear regression; where its density is not known, Bob trains a classifier."""
    claim = question.claim
    kind = question.perturbation or ("objective" if claim.is_pure else "statistics")
    if kind not in (*_KINDS, "statistics"):
        raise InvalidParameter(f"perturbation must be one of {', '.join(_KINDS)}, statistics, got {kind!r}.")
    fixed = partial(PrivateLinearRegression, **_fixed(claim), target_range=(-1.0, 1.0), perturbation=cast(Way, kind))
    if kind == "objective":
        loss, formula = HuberRegression(1.0, 1.0), huber_regression(1.0)
        return LinearProblem(loss, formula, kind, claim, question.checked_n_lambda).case(fixed, _PLAYS)
    alpha = ridge_for(question.checked_n_lambda, 1)
    first, second = ((np.array([[1.0]]), np.array([target])) for target in (1.0, -1.0))
    return Case(claim, lambda data: fixed(alpha=alpha).fit(*data), first, second, (Learned(),), _PLAYS)


def _kind(question: Question) -> Kind:
    kind = question.perturbation or ("objective" if question.claim.is_pure else "gradient")
    if kind not in _KINDS:
        raise InvalidParameter(f"perturbation must be one of {', '.join(_KINDS)}, got {kind!r}.")
    return cast(Kind, kind)


_OPTIONS = ("n_lambda", "perturbation")
_LOGISTIC = _linear(PrivateLogisticRegression, Logistic(MARGIN), logistic(MARGIN))
_HINGE = _linear(partial(PrivateLinearSVC, width=0.5), HuberHinge(0.5), huber_hinge(0.5))
_OWN = _linear(partial(PrivateERM, HuberHinge(1.0)), HuberHinge(1.0), huber_hinge(1.0))
ESTIMATORS = (
    Audited("PrivateLogisticRegression", _LOGISTIC, _OPTIONS),
    Audited("PrivateLogisticRegression-softmax", softmax, _OPTIONS),
    Audited("PrivateLinearSVC", _HINGE, _OPTIONS),
    Audited("PrivateLinearRegression", regression, _OPTIONS),
    Audited("PrivateERM", _OWN, _OPTIONS),
)
