"""What all linear estimators do: declare what is public, clip, calibrate, release."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget, finite_number
from tacit.data.bounded import BoundedRows, stated_norm
from tacit.erm.defaults import checked_alpha, is_auto, perturbation_for
from tacit.erm.loss import Array, Loss
from tacit.erm.objective import Objective
from tacit.erm.rows import Rows
from tacit.erm.setting import Setting
from tacit.erm.solve import smallest_tolerance, solve
from tacit.erm.tables import numeric_targets, validated
from tacit.errors import InvalidParameter
from tacit.release import Release, release

__all__ = [
    "Fitted",
    "adopt",
    "fit_linear",
    "known_norm",
    "needed_budget",
    "numeric_targets",
    "private_rows",
    "refuse_ledger",
    "split",
    "unfitted",
    "validated",
]

_LARGEST_ENTRY = 1e40

INTERCEPT = 0.25
"""The constant that stands for the intercept, as a part of `data_norm`: a larger one would cost more noise."""


Estimator = TypeVar("Estimator", bound=BaseEstimator)


@final
@dataclass(frozen=True)
class Fitted:
    """A coefficient split into weights and intercepts, the ridge that was used, and the release."""

    weights: Array
    intercepts: Array
    alpha: float
    release: Release[Array]


def unfitted(estimator: Estimator) -> Estimator:
    """Return the estimator as it was before any fit: its parameters, and none of the attributes that end with "_"."""
    fresh = object.__new__(type(estimator))
    fresh.__dict__ = {
        name: value for name, value in vars(estimator).items() if name.startswith("_") or not name.endswith("_")
    }
    return fresh


def adopt(estimator: Estimator, fitted: Estimator) -> Estimator:
    """Make the estimator what its fitted twin is, in one assignment.

    An interrupt leaves the former model or none, never one whose `release_` speaks of another coefficient.
    """
    estimator.__dict__ = fitted.__dict__
    return estimator


def needed_budget(epsilon: object, delta: object) -> Budget | None:
    """Return the budget; None stands for an infinite epsilon, which is no privacy at all."""
    if epsilon is None:
        raise InvalidParameter(
            "epsilon is missing: how much privacy a release costs is yours to say. Usual values lie between 0.1 and 10."
        )
    if isinstance(epsilon, Real) and epsilon == math.inf:
        return None
    budget = Budget(epsilon, delta)  # type: ignore[arg-type]
    if not budget.exact_epsilon:
        raise InvalidParameter(f"epsilon must be above 0 to learn anything, got {budget}.")
    return budget


def known_norm(data_norm: object, X: object) -> float:
    """Return the norm to clip rows to: declared, or stated by the encoder that made the rows."""
    declared = stated_norm(X) if data_norm is None else data_norm
    if declared is None:
        raise InvalidParameter(
            "data_norm is missing: rows are clipped to this norm, and it must not be read off the data. Give the "
            "largest norm that a row can have, or fit Records(table, schema), whose rows have one."
        )
    norm = finite_number("data_norm", declared)
    if not 1e-100 < norm < 1e100:
        raise InvalidParameter(f"data_norm must lie between 1e-100 and 1e100, got {data_norm!r}.")
    return norm


def private_rows(X: Any, norm: float, fit_intercept: bool, original: object) -> Rows:
    """Clip rows to the norm and end them with a constant, unless they have one already."""
    has_constant = isinstance(original, BoundedRows) and original.has_constant
    constant = INTERCEPT * norm if fit_intercept and not has_constant else None
    return Rows.clipped(_tamed(X, _LARGEST_ENTRY * norm), norm, constant)


def _tamed(X: Any, largest: float) -> Any:
    """Clamp entries that dwarf the norm: like clipping, a change of each record by itself.

    Their squares could overflow, and the squares of the factors that clip them vanish.
    """
    entries = X.data if issparse(X) else X
    if entries.size == 0 or max(-entries.min(), entries.max()) < largest:
        return X
    if not issparse(X):
        return np.clip(X, -largest, largest)
    clamped = X.copy()
    clamped.data = np.clip(entries, -largest, largest)
    return clamped


def fit_linear(
    rows: Rows,
    targets: NDArray[Any],
    loss: Loss,
    budget: Budget | None,
    *,
    perturbation: str,
    alpha: float | Literal["auto"],
    ledger: Ledger | None,
    label: str,
    random_state: object,
    assumed: Mapping[str, str],
) -> Fitted:
    """Fit a linear model privately; without a budget, fit the same model without privacy."""
    if budget is None:
        refuse_ledger(ledger)
        return split(rows, *_plain(rows, targets, loss, alpha))
    setting = Setting.of(rows, loss)
    mechanism = perturbation_for(perturbation, budget, setting, alpha)
    objective = Objective(rows, targets, loss, mechanism.alpha)
    ridge = f"alpha={mechanism.alpha:.6g}"
    if not is_auto(alpha) and mechanism.alpha > checked_alpha(alpha):
        ridge += f" (raised from {checked_alpha(alpha):g}, which the guarantee needs)"
    public = (*setting.public, ridge, *assumed.values())
    found = release(mechanism, objective, label=label, ledger=ledger, random_state=random_state, public=public)
    return split(rows, found, mechanism.alpha)


def _plain(
    rows: Rows, targets: NDArray[Any], loss: Loss, alpha: float | Literal["auto"]
) -> tuple[Release[Array], float]:
    """Minimise without noise: the ordinary model, never called private."""
    ridge = 1 / rows.count if is_auto(alpha) else checked_alpha(alpha)
    objective = Objective(rows, targets, loss, ridge)
    tolerance = max(1e-10 * loss.lipschitz * rows.norm, 2 * smallest_tolerance(objective))
    return Release(solve(objective, tolerance).coefficient, None, None, (), private=False, entry=None), ridge


def refuse_ledger(ledger: object) -> None:
    """Refuse to fit without privacy under a ledger, whose promise covers everything released under it."""
    if ledger is not None:
        raise InvalidParameter("an infinite epsilon cannot be charged to a ledger. Leave the ledger out.")


def split(rows: Rows, found: Release[Array], alpha: float) -> Fitted:
    """Take a coefficient apart into weights and intercepts."""
    stacked = np.atleast_2d(found.value)
    if rows.constant is None:
        return Fitted(stacked, np.zeros(len(stacked)), alpha, found)
    return Fitted(stacked[:, :-1].copy(), stacked[:, -1] * rows.constant, alpha, found)
