"""How many rounds to spend a budget on, by public facts alone: more rounds learn more, each from a noisier answer."""

import math
from collections.abc import Sequence

from tacit.budget import Budget
from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.queries.oracle.plan import Demand
from tacit.queries.oracle.rounds import Rounds, better_noise
from tacit.sums.query import Query


def affordable_rounds(
    asked: object,
    queries: Sequence[Query],
    n: int,
    budget: Budget | None,
    *,
    small: float,
    fewest: int,
    most: int,
    noise_rate: float = 0.0,
) -> int:
    """Return the number of rounds asked for; for "auto", the largest whose noise is small.

    Small means: the standard deviation of the noise in one share of a round's answer is at most `small`. Without a
    budget there is no noise, and `most` rounds are right.
    """
    if asked != "auto":
        return whole_number("rounds", asked)  # type: ignore[arg-type]
    if budget is None:
        return most
    demand = Demand.of_queries(queries, n, noise_rate=noise_rate, of="sample")
    return next((count for count in range(most, fewest, -1) if _deviation(demand, budget, count) <= small), fewest)


def _deviation(demand: Demand, budget: Budget, count: int) -> float:
    """Return the standard deviation of the noise in one share of each of some rounds; infinite if it has none."""
    weights = (1,) * count
    try:
        noise = Rounds(budget, better_noise(budget, [demand], weights), weights, demand.size)
        return demand.factor * noise.deviation(0, demand) / demand.n
    except InvalidParameter:
        return math.inf
