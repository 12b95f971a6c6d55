"""Warnings about a fit that is hopeless or odd, from public facts alone: they say nothing about any record.

All but two are `tacit.errors.OddTerms`, and are silenced like any other warning:

    warnings.filterwarnings("ignore", category=tacit.errors.OddTerms)

The two are a `PrivacyWarning`: a seed beside a ledger, which is then not charged for a fit that is not private; and a
step of a pipeline before this one that was fitted to the same rows (`tacit.estimators.steps`).
"""

import warnings
from collections.abc import Sequence
from typing import Any

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import is_whole
from tacit.data.persons import OwnedRows, Persons
from tacit.data.records import Records
from tacit.errors import OddTerms, PrivacyWarning
from tacit.estimators.exact_scores import said_public
from tacit.estimators.parameters import needed_budget
from tacit.estimators.price import Price
from tacit.estimators.steps import warn_of_steps
from tacit.releases import is_rehearsal

_WEAK = 20.0


def warn_of_terms(estimator: Any, X: Any, persons: Persons | OwnedRows | None = None) -> None:
    """Warn of a fit under no ledger, or a seed under one, an epsilon that protects nobody, or a delta above 1/n.

    Where rows belong to persons, n is the number of those: how many rows there are is private.
    """
    budget = needed_budget(estimator.epsilon, getattr(estimator, "delta", 0.0))
    if budget is None or _harmless(X):
        return
    if estimator.random_state is not None:
        _warn_of_seed(estimator)
        return
    warn_of_steps(estimator)
    warn_of_charge(budget, estimator.ledger, X, persons)


def warn_of_charge(budget: Budget, ledger: Ledger | None, X: Any, persons: Persons | OwnedRows | None = None) -> None:
    """Warn of what is charged to no ledger, of an epsilon that protects nobody, and of a delta above 1/n."""
    if _harmless(X):
        return
    if ledger is None:
        # At this line, whoever asked: Python shows it once, until some library changes the filters for a while.
        warnings.warn(
            "odd terms: a private fit under no ledger. Nobody adds up what is spent on the same records: give "
            "ledger=Ledger.open_or_create(path, name=..., budget=...).",
            OddTerms,
            stacklevel=1,
        )
    n = _count(X) if persons is None else persons.n
    if budget.epsilon > _WEAK:
        _warn(f"epsilon={budget.epsilon:g} is above {_WEAK:g}, which promises next to nothing to anybody.")
    if budget.delta * n > 1:
        _warn(
            f"delta={budget.delta:g} is above 1/n with n={n:,}: releasing one record at random would keep it. Give a "
            "delta well below 1/n, or 0."
        )


def _warn_of_seed(estimator: Any) -> None:
    """Warn if a ledger stands beside a seed, which keeps it from being charged; refuse what is no seed."""
    if estimator.ledger is not None and is_rehearsal(estimator.random_state):
        warnings.warn(
            f"{type(estimator).__name__} has a ledger and a seed (random_state): the seed makes this fit a rehearsal, "
            "not private and not charged. Leave the seed out to release a model, or the ledger out to rehearse; if "
            "these rows are public, say so: with tacit.public_data(): ...",
            PrivacyWarning,
            stacklevel=2,
        )


def warn_of_noise(noise: float, signal: float, budget: Budget, n: int, columns: int, what: str = "a score") -> None:
    """Warn if the noise in a score is larger than the largest score that any records could lead to."""
    if noise >= signal > 0:
        _warn(
            f"the noise in {what} ({noise:.2g}) is above what any {n:,} records could make of it ({signal:.2g}), with "
            f"{columns} columns at {budget}: the model will be noise. See tacit.model_selection.sensible_epsilon."
        )


def warn_of_foreseen(prices: Sequence[Price], X: Any) -> None:
    """Warn of what is odd about fits that are made unseen, if it is about each of them: what is odd about the first."""
    if prices and all(price.odd for price in prices) and not _harmless(X):
        warnings.warn(prices[0].odd[0], OddTerms, stacklevel=2)


def _harmless(X: Any) -> bool:
    """Whether records are made up, or were said to be public."""
    return (isinstance(X, Records) and X.is_twin) or said_public()


def _count(X: Any) -> int:
    """Return how many records there are, 0 if the form of X does not say."""
    if isinstance(X, Records):
        return X.n
    shape = getattr(X, "shape", ())
    return int(shape[0]) if isinstance(shape, tuple) and shape and is_whole(shape[0]) else 0


def _warn(words: str) -> None:
    warnings.warn(f"odd terms: {words}", OddTerms, stacklevel=2)
