"""Fitted attributes are set together: a fit that is refused or interrupted leaves the model as it was."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["fitted_together"]

Learner = TypeVar("Learner")


def fitted_together(learner: Learner, course: Callable[[Learner], Any]) -> Learner:
    """Let a copy without fitted attributes go through a course of learning, and take over what it has learned.

    Otherwise the release of one fit could stand beside the model of another, and say of it what is not so.
    """
    fresh = copy.copy(learner)
    for name in [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]:
        delattr(fresh, name)
    course(fresh)
    learner.__dict__ = vars(fresh)
    return learner
