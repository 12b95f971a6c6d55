"""How good what is asked for will be, or what epsilon makes it so, before it is paid for and by public facts alone.

Of a fit nothing is told: how good a model is depends on what is in the records. Try it on the twin.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

from tacit.budget import Budget
from tacit.checks import positive_number
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.evaluation.foreseen import expected_error
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.queries.oracle.plan import LARGEST_EPSILON, Plan, rounded_up, smallest_epsilon

_LEAST = 1e-6


def error_of_plan(plan: Plan) -> dict[str, Any]:
    """Return how far every answer may be off, and how much of that is the sample and how much is noise."""
    names = ("tolerance", "sampling_error", "noise_error", "confidence", "of")
    return {name: getattr(plan, name) for name in names}


def error_of_predictor(predictor: InteractiveKernelPredictor, records: Records) -> dict[str, Any]:
    """Return about how far off an answer will be; records are not looked at."""
    return {"error": predictor.expected_error(records), "of": "an answer where K(z, z) is largest"}


def error_of_report(n: int, budget: Budget) -> dict[str, Any]:
    """Return about how far off scores of n records will be."""
    return {"error": expected_error(n, budget), "of": "the share that a model of two classes answers right"}


def epsilon_of_predictor(predictor: InteractiveKernelPredictor, records: Records, error: float) -> float:
    """Return the epsilon at which answers will be about so far off; records are not looked at."""
    if predictor.alpha == "auto":
        raise InvalidParameter(
            "a ridge that is chosen (alpha='auto') grows with the noise, so that its error is about the same at every "
            "epsilon. Give alpha, or an epsilon."
        )

    def expected(epsilon: float) -> float:
        asked = copy(predictor)
        asked.epsilon = epsilon
        return asked.expected_error(records)

    return _smallest(expected, error)


def budget_of_report(n: int, epsilon: float | None, delta: float, error: float | None) -> Budget:
    """Return what the scores of n records cost: at an epsilon, or at the one that makes them about so far off."""
    if (epsilon is None) == (error is None):
        raise InvalidParameter("give either an epsilon to spend or an error to keep.")
    if error is not None:
        epsilon = _smallest(lambda found: expected_error(n, Budget(found, delta)), error)
    budget = Budget(epsilon or 0, delta)
    if not budget.exact_epsilon:
        raise InvalidParameter("epsilon must be above 0 to learn anything.")
    return budget


def _smallest(expected: Callable[[float], float], error: float) -> float:
    """Return the smallest epsilon whose expected error is no larger than one that is wanted."""
    wanted, least = positive_number("error", error), expected(LARGEST_EPSILON)

    def enough(epsilon: float) -> bool:
        try:
            return expected(epsilon) <= wanted
        except InvalidParameter:
            return False

    if least > wanted:
        raise InvalidParameter(f"no epsilon makes the error that small here: {least:.3g} is the least. Ask for more.")
    return rounded_up(smallest_epsilon(enough, _LEAST))
