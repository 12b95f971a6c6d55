"""Fitted attributes are set together: a fit that is refused or interrupted leaves the model as it was."""

from collections.abc import Callable
from typing import Any, TypeVar

from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import remember

Estimator = TypeVar("Estimator")


def fitted_together(estimator: Estimator, course: Callable[[Estimator], Any]) -> Estimator:
    """Let a copy with the parameters and no fitted attribute go through `course`; take over what it has learned.

    It is one assignment: an interrupt leaves the former model or none, never one whose `release_` speaks of another.
    """
    refuse_containers(estimator)
    fresh = object.__new__(type(estimator))
    fresh.__dict__ = {
        name: value for name, value in vars(estimator).items() if name.startswith("_") or not name.endswith("_")
    }
    remember(fresh, None)
    course(fresh)
    estimator.__dict__ = vars(fresh)
    return estimator


def refuse_containers(estimator: Any) -> None:
    """Refuse a list, a table or the like as a parameter that is usually a word or a truth value."""
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(getattr(type(estimator), name, None), str | bool):
            try:
                hash(value)
            except TypeError:
                raise InvalidParameter(
                    f"{name} must be a word, a number or a truth value, got {type(value).__name__}."
                ) from None
