"""Parameters that every estimator has: a budget, the norm of rows, a ledger."""

import math
import warnings
from numbers import Real

import numpy as np

from tacit.budget import Budget
from tacit.checks import finite_number, positive_number
from tacit.data.bounded import stated_norm
from tacit.errors import InvalidParameter, OddTerms

_FAR = 2.0

INTERCEPT = 0.25
"""The constant that stands for the intercept, as a part of `data_norm`: a larger one would cost more noise."""


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
    """Return the norm to clip rows to: declared, or stated by the encoder that made the rows; warn if these are far."""
    stated = stated_norm(X)
    declared = stated if data_norm is None else data_norm
    if declared is None:
        raise InvalidParameter(
            "data_norm is missing: rows are clipped to this norm, and it must not be read off the data. Give the "
            "largest norm that a row can have, or fit Records(table, schema), whose rows have one. A PublicEncoder's "
            "rows lose theirs as a data frame (set_output) or in a ColumnTransformer: give data_norm=1.0, its own; for "
            "several side by side, the root of their number."
        )
    norm = positive_number("data_norm", declared)
    if stated is not None and not stated / _FAR <= norm <= stated * _FAR:
        what = "noise grows with it for nothing" if norm > stated else "rows are clipped to it"
        words = f"odd terms: data_norm={norm:g}, and the encoder states {stated:g}: {what}. Leave data_norm out."
        warnings.warn(words, OddTerms, stacklevel=2)
    return norm


def refuse_ledger(ledger: object) -> None:
    """Refuse to fit without privacy under a ledger, whose promise covers everything released under it."""
    if ledger is not None:
        raise InvalidParameter("an infinite epsilon cannot be charged to a ledger. Leave the ledger out.")


def known_range(declared: object) -> tuple[float, float]:
    """Return the bounds that targets are clipped to; they must have been declared."""
    if declared is None:
        raise InvalidParameter(
            "target_range is missing: targets are clipped to (low, high), which must not be read off the data."
        )
    if not isinstance(declared, tuple | list | np.ndarray) or len(declared) != 2:
        raise InvalidParameter(f"target_range must be a pair (low, high), got {type(declared).__name__}.")
    low, high = finite_number("low", declared[0]), finite_number("high", declared[1])
    # A narrower range has no half that a record could be divided by.
    if not 1e-290 <= high - low < math.inf:
        raise InvalidParameter(f"target_range must be a pair (low, high) with low below high, got {declared!r}.")
    return low, high
