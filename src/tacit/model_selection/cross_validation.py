"""Cross-validation with its honest price: each record is in all training parts but one, and judged once."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, final

import numpy as np
from sklearn.base import clone

from tacit.accounting.events import EpsilonDeltaDpEvent, Event, dp_event
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import checked_confidence, whole_number
from tacit.data.records import payer
from tacit.errors import InvalidParameter, QueryFailed
from tacit.estimators.odd_terms import warn_of_charge, warn_of_foreseen
from tacit.estimators.parameters import needed_budget
from tacit.estimators.price import Price, price_of
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism, typed_below
from tacit.model_selection.data import Data, checked_estimator
from tacit.model_selection.judging import Scoring, checked_scoring, in_words, judged
from tacit.model_selection.search import told
from tacit.noise import Source
from tacit.numerics.arrays import Floats
from tacit.releases import Release, release


@final
@dataclass(frozen=True)
class Folds(Mechanism[Callable[[Source], Floats], Floats]):
    """Models fitted to all folds but one, each judged on the one left out.

    Guarantee: all models and scores together are (epsilon, delta)-private: (folds - 1) times a fit, and one score.
    Assumes: which fold a slot is in was fixed in advance; every fit keeps `fitting`, every score `judging`.
    Reference: cross_validation.md.
    """

    folds: int
    fitting: Budget
    judging: Budget

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        """The price of everything: each record is learned from in all fits but one, and judged once."""
        return self.fitting * (self.folds - 1) + self.judging

    @property
    def event(self) -> Event:
        """The fits and the score that a record takes part in."""
        fit = EpsilonDeltaDpEvent(typed_below(self.fitting.exact_epsilon), typed_below(self.fitting.exact_delta))
        score = EpsilonDeltaDpEvent(typed_below(self.judging.exact_epsilon))
        return dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(fit, self.folds - 1), score])

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public: the folds."""
        return (f"the {self.folds} folds",)

    def check(self, value: Callable[[Source], Floats]) -> Callable[[Source], Floats]:
        """Return the procedure; it is run after the charge."""
        return value

    def randomise(self, value: Callable[[Source], Floats], source: Source) -> Floats:
        """Run the procedure: fit to all folds but one and judge, fold by fold."""
        return value(source)


@final
@dataclass(frozen=True)
class CrossValidation:
    """Private scores fold by fold, their mean, and what the noise in the mean stays below at the confidence."""

    scores: Floats
    mean: float
    noise_error: float
    confidence: float
    scoring: str
    release: Release[Floats]

    def __str__(self) -> str:
        return (
            f"{self.scoring} {self.mean:.4f} (noise within {self.noise_error:.4f} at {self.confidence:.0%}; "
            f"{self.release.guarantee})"
        )


def cross_validation_price(estimator: Any, *, epsilon: float, folds: int = 5, ledger: Ledger | None = None) -> Price:
    """Return what `private_cross_validate` would charge: (folds - 1) fits, and epsilon for the scores."""
    mechanism = _mechanism(estimator, epsilon, folds)
    return price_of("private_cross_validate", mechanism.budget, mechanism.event, ledger)


def private_cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    groups: object = None,
    folds: int = 5,
    scoring: Scoring = "auto",
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    random_state: object = None,
) -> CrossValidation:
    """Return private scores of an estimator, each fold's by a model fitted to the others; charge all of it at once.

    Guarantee: private at (folds - 1) times the estimator's own budget, plus epsilon for all scores.
    Assumes: what the estimator assumes; folds are drawn by public coins that look at no record: stratified, grouped or
    sorted folds, and anything fitted to all records beforehand, would not be covered, and cannot be asked for.
    Reference: cross_validation.md.

    `groups` name the persons whose rows X holds: it is then private for persons, who are in one fold each.
    To judge one model, hold records out instead: a fit on one part and a score on another cost the larger of the two.
    """
    mechanism, chosen = _mechanism(estimator, epsilon, folds), checked_scoring(scoring, estimator)
    level = checked_confidence(confidence)
    data = Data.of(clone(estimator), X, y, groups)
    fold = data.folds(mechanism.folds)
    setting = told(clone(estimator), data)
    price = data.part(fold != 0).price(setting)
    if random_state is None:
        warn_of_charge(mechanism.budget, ledger, X, data.persons)
        warn_of_foreseen([price], X)
    payer_, coins = payer(X, ledger, random_state)
    law = Laplace.for_budget(mechanism.judging)

    def course(source: Source) -> Floats:
        return np.array([_score(setting, data, fold == each, chosen, law, source) for each in range(mechanism.folds)])

    found = release(
        mechanism, course, label=f"cross-validation: {type(estimator).__name__}", ledger=payer_, random_state=coins,
        public=(*mechanism.public, data.assumed), unit=data.unit,
    )  # fmt: skip
    if np.any(np.isnan(found.value)):
        raise QueryFailed("a fit of the cross-validation failed; why is not told, as it may depend on records.")
    scores = np.array([in_words(chosen, each, data.target_range) for each in found.value.tolist()])
    # A bound on each fold's noise that all keep at once; independent noises of both signs partly cancel, at least so.
    smallest = int(np.bincount(fold).min())
    each = law.error(1 - (1 - level) / mechanism.folds) / smallest
    width = abs(in_words(chosen, 1.0, data.target_range) - in_words(chosen, 0.0, data.target_range))
    typical = law.standard_deviation / smallest / sqrt(mechanism.folds * (1 - level))
    noise = width * min(each, typical)
    return CrossValidation(scores, float(scores.mean()), noise, level, chosen, found.map(lambda _: scores))


def _mechanism(estimator: Any, epsilon: float, folds: int) -> Folds:
    checked = checked_estimator(estimator, "cross-validation")
    fitting, judging = needed_budget(checked.epsilon, checked.delta), needed_budget(epsilon, 0.0)
    if fitting is None or judging is None:
        raise InvalidParameter("cross-validation needs finite epsilons. Without privacy cross_val_score does.")
    if whole_number("folds", folds) < 2:
        raise InvalidParameter(f"folds must be at least 2, got {folds!r}.")
    return Folds(int(folds), fitting, judging)


def _score(setting: Any, data: Data, left_out: Any, scoring: str, law: Laplace, source: Source) -> float:
    """Fit to the other folds and judge on this one; NaN if it fails."""
    found = judged(setting, data.part(~left_out), data.part(left_out), scoring, law, source)
    return float("nan") if found is None else found[0]
