"""A search of scikit-learn's that its ledger cannot pay to the end is refused before its first fit.

`GridSearchCV` clones its estimator once before it fits anything. An estimator with a ledger looks at who has it cloned:
if that is `GridSearchCV.fit` or `RandomizedSearchCV.fit`, all that the search is going to fit is known (its public
parameters say it), and is compared with what is left.

This is a courtesy, not the guarantee, which is the ledger's own refusal of every charge that does not fit: a search
of another make, one whose number of candidates follows from their scores, or an account that is not "basic" is
not seen through, and runs until the ledger refuses.
"""

import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, RandomizedSearchCV, check_cv

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded
from tacit.estimators.parameters import needed_budget

_DEEPEST = 60
"""How many callers are looked at: a search stands a few steps above, behind pipelines."""


class Announced:
    """Estimators that look at who has them cloned."""

    def __sklearn_clone__(self) -> Any:
        _refuse_if_unaffordable(self)
        return super().__sklearn_clone__()  # type: ignore[misc]


def _refuse_if_unaffordable(estimator: object) -> None:
    """Refuse the search that is about to fit this estimator if its ledger cannot pay all fits and the last one."""
    ledger = getattr(estimator, "ledger", None)
    if isinstance(ledger, Ledger) and ledger.accountant == "basic":
        for search, given in _searches(estimator):
            cost, fits = _cost(search, given)
            if not cost <= ledger.remaining:
                raise BudgetExceeded(
                    f"{type(search).__name__} would fit {fits} times, which costs {cost} with the refit, and "
                    f"{ledger.remaining} is left of {ledger.budget} (account {ledger.name!r}). Nothing was fitted or "
                    "charged. tacit.model_selection.PrivateSearch pays for one search at once."
                )


def _searches(estimator: object) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the search, if there is one, whose `fit` has this estimator cloned first, and what that was given."""
    frame = sys._getframe(2)
    for _ in range(_DEEPEST):
        search = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        if isinstance(search, GridSearchCV | RandomizedSearchCV):
            own = search.estimator
            # Candidates are cloned from a clone, so that this is asked once, and of the estimator as it was given.
            if any(part is estimator for part in (own, *own.get_params(deep=True).values())):
                yield search, frame.f_locals
            return
        if frame.f_back is None:
            return
        frame = frame.f_back


def _cost(search: Any, given: Mapping[str, Any]) -> tuple[Budget, int]:
    """Add up what a search will charge: every candidate on every fold, and the dearest once more for the refit."""
    X, y = given.get("X"), given.get("y")
    groups = (given.get("params") or {}).get("groups")
    splits = check_cv(search.cv, y, classifier=is_classifier(search.estimator)).get_n_splits(X, y, groups)
    if isinstance(search, GridSearchCV):
        each = [_price(search.estimator, chosen) for chosen in ParameterGrid(search.param_grid)]
    else:
        sampled = ParameterSampler(search.param_distributions, search.n_iter, random_state=0)
        each = [_price(search.estimator, chosen) for chosen in sampled]
    total = Budget.amount(Fraction(0))
    for price in each:
        total += price * splits
    return (total + Budget.largest(each) if search.refit else total), len(each) * splits + bool(search.refit)


def _price(estimator: Any, chosen: Mapping[str, Any]) -> Budget:
    """Return what one fit of an estimator with some parameters changed charges, in all its parts."""
    values = {**estimator.get_params(deep=True), **chosen}
    total = Budget.amount(Fraction(0))
    for name, ledger in values.items():
        if name.split("__")[-1] == "ledger" and isinstance(ledger, Ledger):
            prefix = name.removesuffix("ledger")
            budget = needed_budget(values.get(f"{prefix}epsilon"), values.get(f"{prefix}delta", 0.0))
            if budget is not None and values.get(f"{prefix}random_state") is None:
                total += budget
    return total
