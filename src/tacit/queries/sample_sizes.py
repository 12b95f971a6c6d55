"""How many records statistical queries need: the theorems of the lecture, with constants.

    records_for_queries      for any learner that asks M queries to a tolerance (Theorems 6, 7 and 8, and all at once)
    records_for_conjunction  for `ConjunctionClassifier`, whose d queries need less than their tolerance says
    conjunction_error        the other way round: the error that so many records can keep

All use public quantities only: they plan a study before a record is seen. The proofs are in sample_sizes.md.
"""

import math
from dataclasses import replace
from functools import partial

from scipy.special import rel_entr

from tacit.budget import Budget
from tacit.checks import checked_confidence, finite_number, positive_number, whole_number
from tacit.errors import InvalidParameter
from tacit.estimators.parameters import needed_budget
from tacit.numerics.bisection import bisect, fewest
from tacit.queries.oracle.plan import Demand, checked_noise_rate, plan_for_budget
from tacit.sums.query import StatisticalQuery

_fewest = partial(
    fewest,
    most=2**32,
    otherwise="no feasible number of records is enough. Ask for a larger tolerance, error or epsilon.",
)
# Noise lives on a grid of at most a millionth of its scale, and sums are rounded to it.
_GRID = 1 + 1e-6


def records_for_queries(
    queries: int,
    *,
    tolerance: float,
    confidence: float = 0.95,
    epsilon: float = math.inf,
    delta: float = 0.0,
    noise_rate: float = 0.0,
    adaptive: bool = False,
) -> int:
    """Return the fewest records from which so many queries in [0, 1] can be answered to a tolerance.

    Guarantee: with this many independent records or more, all answers of an oracle are within the tolerance of the
    population's averages with the confidence, and together (epsilon, delta)-private.
    Assumes: labels are wrong independently at `noise_rate`. Queries are fixed in advance and share all records
    and the budget; `adaptive` ones may depend on each other's answers and get a part of the records each (delta = 0).
    Reference: sample_sizes.md, "Queries" (the lecture's Theorem 6 at an infinite epsilon, 7 at a finite one, 8 with a
    noise rate).
    """
    count, wanted = whole_number("queries", queries), positive_number("tolerance", tolerance)
    budget = needed_budget(epsilon, delta)
    if adaptive and budget is not None and not budget.is_pure:
        raise InvalidParameter("adaptive queries are answered with Laplace noise: give delta=0.")
    asked = 1 if adaptive else count
    sure = 1.0 - (1.0 - checked_confidence(confidence)) / count if adaptive else confidence

    def enough(n: int) -> bool:
        demand = _demand(n, asked, sure, noise_rate)
        if budget is None:
            # There is no noise to share the chance of a miss with: half of it is what `sampling` counts on.
            return replace(demand, confidence=2.0 * sure - 1.0).sampling <= wanted
        return plan_for_budget(demand, budget).tolerance <= wanted

    return _fewest(enough) * (count if adaptive else 1)


def records_for_conjunction(
    features: int,
    *,
    error: float = 0.1,
    confidence: float = 0.95,
    epsilon: float = math.inf,
    delta: float = 0.0,
    noise_rate: float = 0.0,
    monotone: bool = True,
) -> int:
    """Return the fewest records from which `ConjunctionClassifier` learns to an error.

    Guarantee: with this many independent records or more, labelled by a conjunction, the learned one errs on at most
    the share `error` of the population with the confidence.
    Assumes: labels are wrong independently at `noise_rate`, whatever the distribution of the features.
    Reference: sample_sizes.md, "Conjunctions" (the lecture's Theorem 5).
    """
    literals = whole_number("features", features) * (1 if monotone else 2)
    limit, budget = checked_error(error), needed_budget(epsilon, delta)
    sure, rate = checked_confidence(confidence), checked_noise_rate(noise_rate)
    return _fewest(lambda n: _separates(n, literals, limit, sure, budget, rate))


def conjunction_error(
    n: int,
    features: int,
    *,
    asked: float | None = None,
    confidence: float = 0.95,
    epsilon: float = math.inf,
    delta: float = 0.0,
    noise_rate: float = 0.0,
    monotone: bool = True,
) -> float:
    """Return the error `asked`, if so many records keep it; else the smallest they keep, to a thousandth of it.

    An error of 1.0 promises nothing.

    Guarantee: as `records_for_conjunction`.
    Assumes: as `records_for_conjunction`.
    Reference: sample_sizes.md, "Conjunctions".
    """
    count, literals = whole_number("n", n), whole_number("features", features) * (1 if monotone else 2)
    sure, rate, budget = checked_confidence(confidence), checked_noise_rate(noise_rate), needed_budget(epsilon, delta)
    low = 0.0 if asked is None else checked_error(asked)
    if asked is not None and _separates(count, literals, low, sure, budget, rate):
        return low

    def between(kept: float, missed: float) -> float:
        return (missed + kept) / 2 if kept - missed > kept / 1000 and kept > 1e-12 else kept

    return bisect(lambda error: _separates(count, literals, error, sure, budget, rate), 1.0, low, between=between)[0]


def checked_error(error: float) -> float:
    """Return the error that is asked for."""
    number = finite_number("error", error)
    if not 0 < number <= 1:
        raise InvalidParameter(f"error must be above 0 and at most 1, got {error!r}.")
    return number


def _separates(n: int, literals: int, error: float, confidence: float, budget: Budget | None, rate: float) -> bool:
    """Tell whether no literal is decided wrongly: kept although it costs error/literals, dropped though it is free.

    In the units of the sums, a literal that is free has the mean `rate` at worst, one that must go `high`.
    """
    middle = rate + (1.0 - 2.0 * rate) * error / (2.0 * literals)
    high = rate + (1.0 - 2.0 * rate) * error / literals
    miss, shift = (1.0 - confidence) / literals, 0.0
    if budget is not None:
        demand = _demand(n, literals, confidence, rate)
        mechanism = demand.mechanism(plan_for_budget(demand, budget).noise, budget)
        shift, miss = mechanism.error(1.0 - miss) * _GRID / n, miss / 2.0
    if middle - shift < rate or middle + shift > high:
        return False
    return n * min(_divergence(middle - shift, rate), _divergence(middle + shift, high)) >= -math.log(miss)


def _divergence(one: float, other: float) -> float:
    """Return how far a coin that shows heads at rate `one` is from one with rate `other` (Kullback and Leibler)."""
    return float(rel_entr(one, other) + rel_entr(1.0 - one, 1.0 - other))


def _demand(n: int, queries: int, confidence: float, noise_rate: float) -> Demand:
    """Return what so many queries in [0, 1] ask for, whatever their functions."""
    one = Demand.of_queries([StatisticalQuery(None)], n, confidence=confidence, noise_rate=noise_rate)
    return replace(one, size=queries, l1=queries * one.l1, l2=math.sqrt(queries) * one.l2)
