"""Fitted attributes are set together: a fit that is refused or interrupted leaves the model as it was."""

from collections.abc import Callable
from typing import Any, TypeVar

Estimator = TypeVar("Estimator")


def fitted_together(estimator: Estimator, course: Callable[[Estimator], Any]) -> Estimator:
    """Let a copy with the parameters and no fitted attribute go through `course`; take over what it has learned.

    It is one assignment: an interrupt leaves the former model or none, never one whose `release_` speaks of another.
    """
    fresh = object.__new__(type(estimator))
    fresh.__dict__ = {
        name: value for name, value in vars(estimator).items() if name.startswith("_") or not name.endswith("_")
    }
    course(fresh)
    estimator.__dict__ = vars(fresh)
    return estimator
