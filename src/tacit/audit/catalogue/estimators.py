"""Audits of tacit's linear estimators: real fits in the game, exact densities in the search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Literal, final

import numpy as np

from tacit.accounting.analytic import gaussian_delta
from tacit.audit.attacks import Attack, Canary, Learned, LikelihoodRatio, LowBits
from tacit.audit.case import Audited, Case, Question
from tacit.audit.laws import (
    CountedRows,
    Formula,
    NoiseLaw,
    ObjectiveLaw,
    huber_hinge,
    huber_regression,
    logistic,
    minimiser,
)
from tacit.audit.report import Exact
from tacit.audit.search import Found, NeighbourPair, held_pairs, largest_loss, search, tiny_pairs
from tacit.budget import Budget
from tacit.erm import HuberHinge, HuberRegression, Logistic, PointwiseLoss
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.perturbations.defaults import MARGIN, perturbation_for
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation, Perturbation
from tacit.erm.perturbations.setting import Setting
from tacit.erm.regression import PrivateLinearRegression
from tacit.errors import InvalidParameter

_PLAYS = 1_200
_KINDS = ("objective", "output", "gradient")
_SETS = 8
_Built = tuple[NeighbourPair, tuple[Attack, ...], Exact | None]


def ridge_for(n_lambda: float | None, count: int) -> float | Literal["auto"]:
    """Return the estimators' `alpha` for so many records."""
    return "auto" if n_lambda is None else n_lambda / count


@final
@dataclass(frozen=True)
class LinearProblem:
    """A pointwise loss and its derivatives, under one perturbation; rows have norm at most 1."""

    loss: PointwiseLoss
    formula: Formula
    kind: str
    claim: Budget
    n_lambda: float | None = None

    def calibrated(self, count: int, dimension: int = 1) -> Perturbation:
        """Return tacit's own calibration for so many records."""
        setting = Setting(count, dimension, 1.0, self.loss)
        return perturbation_for(self.kind, self.claim, setting, ridge_for(self.n_lambda, count))

    def law(self, count: int, dimension: int = 1) -> ObjectiveLaw:
        """Return the exact law of the coefficient under objective perturbation, the solver's trace of noise aside."""
        calibrated = self.calibrated(count, dimension)
        assert isinstance(calibrated, ObjectivePerturbation)
        law = calibrated.linear_noise
        return ObjectiveLaw(self.formula, count * calibrated.alpha, NoiseLaw(law.scale, law.kind == "gaussian"))

    def case(self, estimator: Callable[..., Any], plays: int) -> Case:
        """Return the game on the worst of some tiny data sets with one feature, and what their densities say."""
        built = {"objective": self._objective, "output": self._output}.get(self.kind, _label_flip)
        pair, attacks, exact = built()
        count = pair.first.count
        fit = _fits(estimator, ridge_for(self.n_lambda, count))
        first, second = ((records.rows, records.targets) for records in (pair.first, pair.second))
        return Case(self.claim, fit, first, second, attacks, plays, exact, self._note(count))

    def _note(self, count: int) -> str:
        used = count * self.calibrated(count).alpha
        if self.n_lambda is None or used <= self.n_lambda * (1 + 1e-9):
            return f"n lambda = {used:.4g}"
        return f"n lambda was raised from {self.n_lambda:g} to {used:.4g}, which the guarantee needs"

    def _objective(self) -> _Built:
        pairs = list(tiny_pairs(1, 1.0, sets=_SETS))
        laws = [self.law(pair.first.count) for pair in pairs]
        losses = [largest_loss(law, pair)[0] for law, pair in zip(laws, pairs, strict=True)]
        deltas = [self._delta(law, pair) for law, pair in zip(laws, pairs, strict=True)]
        worst = int(np.argmax(losses if self.claim.is_pure else deltas))
        pair, law = pairs[worst], laws[worst]
        attack = LikelihoodRatio(
            lambda w: law.log_density(w[:, :1], pair.first), lambda w: law.log_density(w[:, :1], pair.second)
        )
        loss = max(losses) if self.claim.is_pure else math.inf
        return pair, (attack,), Exact(loss, max(deltas), len(pairs), pair.kind)

    def _delta(self, law: ObjectiveLaw, pair: NeighbourPair) -> float:
        reach = (40 * law.noise.unit + 4) / law.ridge
        return law.delta(pair.first, pair.second, self.claim.epsilon, reach, steps=20_001)

    def _output(self) -> _Built:
        pairs = list(tiny_pairs(1, 1.0, sets=_SETS))
        shifts = [self._shift(pair) for pair in pairs]
        worst = int(np.argmax(shifts))
        pair = pairs[worst]
        noise = self._output_noise(pair.first.count)
        ridge = pair.first.count * self.calibrated(pair.first.count).alpha
        one, other = (minimiser(records, self.formula, ridge) for records in (pair.first, pair.second))
        attacks = (
            LikelihoodRatio.shifted(lambda w: noise.log_density(w[:, :1]), one, other),
            LowBits((float(one[0]), 0.0), (float(other[0]), 0.0)),
        )
        if not noise.gaussian:
            return pair, attacks, Exact(max(shifts), None, len(pairs), pair.kind)
        delta = gaussian_delta(self.claim.epsilon, max(shifts))
        return pair, attacks, Exact(math.inf, delta, len(pairs), pair.kind)

    def _output_noise(self, count: int) -> NoiseLaw:
        """Return tacit's own noise on one coefficient, of which it states the deviation for a row of norm 1."""
        calibrated = self.calibrated(count)
        assert isinstance(calibrated, OutputPerturbation)
        deviation = calibrated.prediction_noise
        return NoiseLaw(deviation / math.sqrt(2)) if self.claim.is_pure else NoiseLaw(deviation, gaussian=True)

    def _shift(self, pair: NeighbourPair) -> float:
        """Return how far the solution moves, in units of the noise."""
        count = pair.first.count
        ridge, noise = count * self.calibrated(count).alpha, self._output_noise(count)
        moved = minimiser(pair.first, self.formula, ridge) - minimiser(pair.second, self.formula, ridge)
        return float(np.linalg.norm(moved)) / noise.unit


def _label_flip() -> _Built:
    first = CountedRows.of([[1.0]], [1.0])
    pair = NeighbourPair(first, first.replaced([1.0], -1.0), np.zeros(1), "one record, its label flips")
    return pair, (Canary((1.0, 0.0)),), None


def logistic_search(claim: Budget, n_lambda: float | None, tiny_sets: int, anchor: float = MARGIN) -> Found:
    """Search for the largest privacy loss of pure logistic objective perturbation in two dimensions."""
    problem = LinearProblem(Logistic(anchor), logistic(anchor), "objective", claim, n_lambda)
    pairs = chain(tiny_pairs(2, 1.0, sets=tiny_sets), held_pairs(1.0, problem.law(1, 2).ridge, anchor))
    return search(lambda count: problem.law(count, 2), pairs)


def _linear(
    estimator: Callable[..., Any], loss: PointwiseLoss, formula: Formula, called: str | None = None
) -> Callable[[Question], Case]:
    """Return the audit of a linear classifier with any perturbation; `called` is the name of the loss.

    For the pure objective of the logistic loss there is a search over large sets as well.
    """

    def build(question: Question) -> Case:
        claim, n_lambda, kind = question.claim, question.checked_n_lambda, _kind(question)
        fixed = partial(estimator, **_fixed(claim), perturbation=kind, classes=[-1.0, 1.0])
        case = LinearProblem(loss, formula, kind, claim, n_lambda).case(fixed, _PLAYS)
        case = replace(case, variant=_variant(kind, "two", loss=called))
        if kind != "objective" or not claim.is_pure or not isinstance(loss, Logistic):
            return case
        assert case.exact is not None
        found = logistic_search(claim, n_lambda, tiny_sets=4)
        worst = case.exact if case.exact.loss >= found.loss else Exact(found.loss, None, 0, found.where)
        return replace(case, exact=replace(worst, pairs=case.exact.pairs + found.pairs))

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
    variant = _variant(_kind(question), "several")
    return Case(claim, _fits(fixed, alpha), first, second, (attack,), _PLAYS, variant=variant)


def persons(question: Question) -> Case:
    """A patient with twenty rows becomes one with three of the other class; a record of the game is a person."""
    claim = question.claim
    alpha = ridge_for(question.checked_n_lambda, 2)
    fixed = partial(PrivateLogisticRegression, **_fixed(claim), perturbation=_kind(question), classes=[-1.0, 1.0])

    def fit(data: Any) -> Any:
        labels, rows = data
        owners = np.repeat(np.arange(len(rows)), rows)
        return fixed(alpha=alpha).fit(np.ones((len(owners), 1)), labels[owners], groups=owners)

    first, second = ((np.array([label, 1.0]), np.array([rows, 1])) for label, rows in ((1.0, 20), (-1.0, 3)))
    variant, note = _variant(_kind(question), "two", unit="person"), "a person of 20 rows"
    return Case(claim, fit, first, second, (Canary((1.0, 0.0)),), _PLAYS, note=note, variant=variant)


def regression(question: Question) -> Case:
    """Linear regression; where its density is not known, Bob trains a classifier."""
    claim = question.claim
    kind = _kind(question, *_KINDS, "statistics")
    fixed = partial(PrivateLinearRegression, **_fixed(claim), target_range=(-1.0, 1.0), perturbation=kind)
    if kind == "objective":
        loss, formula = HuberRegression(1.0, 1.0), huber_regression(1.0)
        case = LinearProblem(loss, formula, kind, claim, question.checked_n_lambda).case(fixed, _PLAYS)
        return replace(case, variant=_variant(kind))
    alpha = ridge_for(question.checked_n_lambda, 1)
    first, second = ((np.array([[1.0]]), np.array([target])) for target in (1.0, -1.0))
    fit = _fits(fixed, alpha)
    return Case(claim, fit, first, second, (Learned(),), _PLAYS, variant=_variant(kind))


def _variant(kind: str, classes: str | None = None, unit: str = "record", loss: str | None = None) -> dict[str, str]:
    """Say what of an estimator is attacked, as a card says it of a model."""
    told = {"unit": unit, "perturbation": kind, "loss": loss, "classes": classes}
    return {name: fact for name, fact in told.items() if fact is not None}


def _kind(question: Question, *kinds: str) -> Any:
    """Return the perturbation that is asked about; by default with a delta the last of those that there are."""
    kinds = kinds or _KINDS
    kind = question.perturbation or ("objective" if question.claim.is_pure else kinds[-1])
    if kind not in kinds:
        raise InvalidParameter(f"perturbation must be one of {', '.join(kinds)}, got {kind!r}.")
    return kind


def _fits(estimator: Callable[..., Any], alpha: object) -> Callable[[Any], Any]:
    """Return the fit of an estimator to rows and their targets."""
    return lambda data: estimator(alpha=alpha).fit(*data)


_OPTIONS = ("n_lambda", "perturbation")
# In sets of a few records there is so much noise that the margin is the largest.
_LOGISTIC = _linear(PrivateLogisticRegression, Logistic(MARGIN), logistic(MARGIN))
_HINGE = _linear(partial(PrivateLinearSVC, width=0.5), HuberHinge(0.5), huber_hinge(0.5), called="huber")
_OWN = _linear(partial(PrivateERM, HuberHinge(1.0)), HuberHinge(1.0), huber_hinge(1.0), called="HuberHinge")
ESTIMATORS = (
    Audited("PrivateLogisticRegression", _LOGISTIC, _OPTIONS),
    Audited("PrivateLogisticRegression-softmax", softmax, _OPTIONS),
    Audited("PrivateLogisticRegression-persons", persons, _OPTIONS),
    Audited("PrivateLinearSVC", _HINGE, _OPTIONS),
    Audited("PrivateLinearRegression", regression, _OPTIONS),
    Audited("PrivateERM", _OWN, _OPTIONS),
)
