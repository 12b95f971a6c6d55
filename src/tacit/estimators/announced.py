"""A search of scikit-learn's that its ledger cannot pay to the end is refused before its first fit.

`GridSearchCV` clones its estimator once before it fits anything. An estimator with a ledger looks at who has it cloned:
if that is `GridSearchCV.fit` or `RandomizedSearchCV.fit`, all that the search is going to fit is known (its public
parameters say it), and is compared with what is left. What stands between the search and the estimator and fits more
than once (a calibration, a stack, one class against the rest) is counted with as many fits as it makes at least.

This is a courtesy, not the guarantee, which is the ledger's own refusal of every charge that does not fit: a search
of another make, one whose number of candidates follows from their scores, or, on an account that is not "basic", one
over a pipeline, is not seen through, and runs until the ledger refuses.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, RandomizedSearchCV, check_cv
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from tacit.accounting.events import Event, dp_event
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.labels import column
from tacit.errors import BudgetExceeded, InvalidParameter, TacitError
from tacit.estimators.callers import callers
from tacit.estimators.parameters import needed_budget


class Announced:
    """Estimators that look at who has them cloned."""

    def __sklearn_clone__(self) -> Any:
        _refuse_if_unaffordable(self)
        return super().__sklearn_clone__()  # type: ignore[misc]


def _refuse_if_unaffordable(estimator: object) -> None:
    """Refuse the search that is about to fit this estimator if its ledger cannot pay all fits and the last one."""
    ledger = getattr(estimator, "ledger", None)
    if not isinstance(ledger, Ledger):
        return
    for search, given in _searches(estimator):
        fits = _Fits.of(search, given)
        if fits is not None and not fits.affordable(ledger):
            raise BudgetExceeded(
                f"{type(search).__name__} would fit {fits.count} times, which costs {fits.cost} with the refit, and "
                f"{ledger.remaining} is left of {ledger.budget} (account {ledger.name!r}). Nothing was fitted or "
                "charged. tacit.model_selection.PrivateSearch pays for one search at once."
            )


def _searches(estimator: object) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the search, if there is one, whose `fit` has this estimator cloned first, and what that was given."""
    for frame in callers():
        search = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        if isinstance(search, GridSearchCV | RandomizedSearchCV):
            own = search.estimator
            # Candidates are cloned from a clone, so that this is asked once, and of the estimator as it was given.
            if any(part is estimator for part in (own, *own.get_params(deep=True).values())):
                yield search, frame.f_locals
            return


@final
@dataclass(frozen=True)
class _Fits:
    """What a search is going to fit: its estimator with each of the candidates' parameters, so many times each."""

    estimator: Any
    candidates: tuple[Mapping[str, Any], ...]
    splits: int
    refit: bool
    X: Any
    y: Any

    @classmethod
    def of(cls, search: Any, given: Mapping[str, Any]) -> "_Fits | None":
        """Return what a search was given to fit; None where its splits can be read only once, and were."""
        X, y = given.get("X"), given.get("y")
        splitter = _splitter(search, given, y)
        if splitter is None:
            return None
        splits = splitter.get_n_splits(X, y, (given.get("params") or {}).get("groups"))
        candidates = (
            ParameterGrid(search.param_grid)
            if isinstance(search, GridSearchCV)
            else ParameterSampler(search.param_distributions, search.n_iter, random_state=0)
        )
        return cls(search.estimator, tuple(candidates), splits, bool(search.refit), X, y)

    @property
    def count(self) -> int:
        """How many times the search fits."""
        return len(self.candidates) * self.splits + self.refit

    @property
    def cost(self) -> Budget:
        """What every candidate costs on every fold, and the dearest once more for the refit."""
        total = Budget.largest(self._prices) if self.refit else Budget.amount(Fraction(0))
        for price in self._prices:
            total += price * self.splits
        return total

    @property
    def _prices(self) -> list[Budget]:
        return [_price(self.estimator, chosen, self.y) for chosen in self.candidates]

    def affordable(self, ledger: Ledger) -> bool:
        """Whether a ledger could pay for all of it now, as far as that can be told."""
        if ledger.accountant == "basic":
            return self.cost <= ledger.remaining
        try:
            each = [self._event(chosen) for chosen in self.candidates]
            dearest = max(range(len(each)), key=lambda place: self._prices[place].exact_epsilon)
            last = [each[dearest]] if self.refit else []
            return ledger.affords(
                dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(one, self.splits) for one in each] + last),
                at=self.cost,
            )
        except TacitError:
            return True

    def _event(self, chosen: Mapping[str, Any]) -> Event:
        """Return what one fit of a candidate would be charged as; a pipeline does not say."""
        event = copy(self.estimator).set_params(**chosen).price(self.X).event if hasattr(self.estimator, "price") else 0
        if not isinstance(event, dp_event.DpEvent):
            raise InvalidParameter("what a fit would be charged as is not known yet.")
        return event


def _splitter(search: Any, given: Mapping[str, Any], y: Any) -> Any:
    """Return what cuts rows into folds: a generator of folds is read once, and the search holds what it read."""
    held = next((each for each in (*given.values(), *vars(search).values()) if hasattr(each, "get_n_splits")), None)
    if held is not None or hasattr(search.cv, "__next__"):
        return held
    return check_cv(search.cv, y, classifier=is_classifier(search.estimator))


def _price(estimator: Any, chosen: Mapping[str, Any], y: Any) -> Budget:
    """Return what one fit of an estimator with some parameters changed charges, in all its parts."""
    values = {**estimator.get_params(deep=True), **chosen}
    total = Budget.amount(Fraction(0))
    for name, ledger in values.items():
        if name.split("__")[-1] == "ledger" and isinstance(ledger, Ledger):
            prefix = name.removesuffix("ledger")
            budget = needed_budget(values.get(f"{prefix}epsilon"), values.get(f"{prefix}delta", 0.0))
            if budget is not None and values.get(f"{prefix}random_state") is None:
                total += budget * _times(estimator, prefix, values, y)
    return total


def _times(estimator: Any, prefix: str, values: Mapping[str, Any], y: Any) -> int:
    """Return how often, at least, one fit of an estimator fits the part of it whose parameters have a prefix."""
    times, names = 1, prefix.split("__")[:-1]
    for depth in range(len(names)):
        around = values["__".join(names[:depth])] if depth else estimator
        cv = values.get("__".join([*names[:depth], "cv"]))
        if isinstance(around, OneVsRestClassifier | OneVsOneClassifier):
            classes = len(np.unique(column(y).astype(str)))
            pairs = classes * (classes - 1) // 2
            times *= pairs if isinstance(around, OneVsOneClassifier) else classes if classes > 2 else 1
        elif hasattr(around, "cv") and cv != "prefit" and not hasattr(cv, "__next__"):
            times *= int(check_cv(cv, y, classifier=is_classifier(around)).get_n_splits())
    return times
