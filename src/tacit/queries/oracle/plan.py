"""From a tolerance to the budget it needs, and back, before any record is touched.

The three ways of the lecture, with explicit constants (theory of `oracle.md`). For M numbers in [0, 1] over n
records, all within the tolerance with probability 1 - beta, half of beta for the sample and half for the noise:

- `laplace`, all records, the budget shared: sqrt(ln(4M/beta) / 2n) + M ln(2M/beta) / (epsilon n);
- `gaussian`, all records: sqrt(ln(4M/beta) / 2n) + sqrt(M) z / (s n), z the normal quantile at 1 - beta/4M and s
  the shift that (epsilon, delta) allows;
- `split`, one of M equal parts for each query, each with the whole budget: sqrt(M ln(4M/beta) / 2n) +
  M ln(2M/beta) / (epsilon n). Only here may a query depend on earlier answers.

Where the queries' own bounds say more than "M numbers in [0, 1]" (a histogram's counts exclude each other), their
L1 and L2 bounds take the place of M and sqrt(M).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, final

from scipy.special import ndtri

from tacit.accounting.analytic import gaussian_shift
from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Unit
from tacit.budget import Budget
from tacit.checks import checked_confidence, exact_number, finite_number, positive_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian, Laplace
from tacit.numerics.bisection import bisect, fewest
from tacit.sums.grid import steps_for
from tacit.sums.query import Query

LARGEST_EPSILON = 1e4
_COARSER = 16
"""How many times as long as they are steps are taken for where persons' rows are rounded: oracle.md, "Persons"."""
NoiseKind = Literal["laplace", "gaussian"]
Target = Literal["population", "sample"]


@final
@dataclass(frozen=True)
class Demand:
    """What some queries ask for together, by public facts alone.

    `factor` is 1/(1 - 2 eta) for labels that are wrong at rate eta: what the correction multiplies everything by.
    `of` says what the tolerance is about: the population that the records were drawn from, or these records.
    `noises` are the kinds of noise that whoever pays takes.
    """

    n: int
    size: int
    l1: float
    l2: float
    unit: float
    spread: float
    confidence: float = 0.95
    factor: float = 1.0
    of: Target = "population"
    coarseness: float = 0.0
    whom: Unit = RECORD
    noises: tuple[NoiseKind, ...] = ("laplace", "gaussian")

    @classmethod
    def of_queries(
        cls,
        queries: Sequence[Query],
        n: int,
        *,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        of: Target = "population",
        whom: Unit = RECORD,
        payer: Ledger | None = None,
    ) -> "Demand":
        """Add up what the queries need of n records, or of n persons.

        The payer's account may take one kind of noise alone.
        """
        if of not in ("population", "sample"):
            raise InvalidParameter(f"of must be 'population' or 'sample', got {of!r}.")
        steps, persons = steps_for(n), whom.kind == "person"
        size = sum(query.size for query in queries)
        # Sums are floats: rounding moves those of two neighbours by n 2^-50 shares at most, persons' by twice that.
        slack = 1.0 + n * size * 2.0 ** (-49 if persons else -50)
        return cls(
            n=n,
            size=size,
            l1=slack * sum(query.l1 * query.rounding(steps) for query in queries),
            l2=slack * math.sqrt(sum((query.l2 * query.rounding(steps)) ** 2 for query in queries)),
            unit=max(query.unit for query in queries),
            spread=max(query.spread for query in queries),
            confidence=checked_confidence(confidence),
            factor=1.0 / (1.0 - 2.0 * checked_noise_rate(noise_rate)),
            of=of,
            coarseness=max(query.coarseness(steps / (_COARSER if persons else 1)) for query in queries),
            whom=whom,
            noises=("gaussian",) if payer is not None and payer.accountant == "gaussian" else ("laplace", "gaussian"),
        )

    @property
    def sampling(self) -> float:
        """How far the records' averages, in whole steps, may lie from the population's.

        Of a sample whose labels are wrong at random the same is true: which labels are wrong was drawn, too.
        """
        if not self._sampled:
            return self.coarseness
        miss = (1.0 - self.confidence) / (4.0 * self.size)
        return self.coarseness + self.factor * self.spread * math.sqrt(-math.log(miss) / (2.0 * self.n))

    def noise_error(self, quantile: float) -> float:
        """How far noise that exceeds this in a sum with probability `noise_share` may move an answer."""
        return self.factor * self.unit / self.n * quantile

    @property
    def _sampled(self) -> bool:
        return self.of == "population" or self.factor > 1.0

    @property
    def noise_share(self) -> float:
        """The probability with which the noise in one number may exceed its error."""
        share = 2.0 if self._sampled else 1.0
        return (1.0 - self.confidence) / (share * self.size)

    def noise_kinds(self, budget: Budget) -> tuple[NoiseKind, ...]:
        """Return the kinds of noise that a budget allows and whoever pays takes."""
        kinds = tuple(kind for kind in self.noises if kind == "laplace" or not budget.is_pure)
        if not kinds:
            raise InvalidParameter(
                "a 'gaussian' account pays for Gaussian noise alone, which needs delta > 0, got 0. "
                "Nothing was charged. Give a delta well below 1/n."
            )
        return kinds

    def mechanism(self, noise: NoiseKind, budget: Budget) -> Laplace | Gaussian:
        """Return the noise for the sums."""
        if noise == "laplace":
            return Laplace.for_budget(budget, self.l1, (self.size,))
        return Gaussian.for_budget(budget, self.l2, (self.size,))

    def needed_epsilon(self, noise: NoiseKind, allowed: float, delta: float) -> float:
        """Return the epsilon at which the noise stays within what is allowed, by the ideal noise's formula."""
        if noise == "laplace":
            return -math.log(self.noise_share) * self.l1 * self.factor * self.unit / (self.n * allowed)
        quantile = float(ndtri(1.0 - self.noise_share / 2.0))
        shift = self.l2 * quantile * self.factor * self.unit / (self.n * allowed)
        return smallest_epsilon(lambda epsilon: gaussian_shift(Budget(epsilon, delta)) >= shift, 1e-9)

    def plan(self, noise: NoiseKind, budget: Budget, quantile: float, *, rounds: int = 1) -> "Plan":
        """Return the plan to add noise with this quantile at 1 - `noise_share` to each sum."""
        error, sampling = self.noise_error(quantile), self.sampling
        return Plan(
            noise, budget, sampling, error, self.confidence, self.n, self.size, self.of, rounds=rounds, whom=self.whom
        )


@final
@dataclass(frozen=True)
class Plan:
    """How some queries will be answered, what that costs and how good it is; made without touching a record."""

    noise: NoiseKind
    budget: Budget
    sampling_error: float
    noise_error: float
    confidence: float
    n: int
    size: int
    of: Target
    parts: int = 1
    rounds: int = 1
    whom: Unit = RECORD

    @property
    def tolerance(self) -> float:
        """How far every answer may be off."""
        return self.sampling_error + self.noise_error

    @property
    def public(self) -> str:
        """What is public of the table's size."""
        return f"n={self.n}" if self.whom == RECORD else f"who is in the table, {self.n} persons"

    def __str__(self) -> str:
        how = {"laplace": "Laplace noise", "gaussian": "Gaussian noise"}[self.noise]
        where = f"one of {self.parts} parts of the records each" if self.parts > 1 else "all records"
        spent = f"{self.budget} for {self.rounds} rounds together" if self.rounds > 1 else f"{self.budget}"
        return (
            f"{_numbers(self.size)} within {self.tolerance:.3g} of the {self.of} at {self.confidence:.4g} "
            f"(sample {self.sampling_error:.3g}, noise {self.noise_error:.3g}): {how}, {where}, {spent}, "
            f"n={self.n}, {self.whom.neighbours}"
        )


def plan_for_budget(demand: Demand, budget: Budget) -> Plan:
    """Return the better of Laplace and Gaussian noise for a budget; Gaussian noise needs a delta."""
    kinds = demand.noise_kinds(budget)
    return min((_plan(demand, noise, budget) for noise in kinds), key=lambda plan: plan.tolerance)


def plan_for_tolerance(
    demand: Demand, tolerance: float, delta: float = 0.0, *, left: Callable[[], Budget | None] = lambda: None
) -> Plan:
    """Return the cheaper of Laplace and Gaussian noise that keeps a tolerance.

    If the sample alone may be farther off, the tolerance is refused with the number of records that would do
    within what is `left` of a budget (epsilon 1 if that is not known), which is asked for only then.
    """
    wanted = positive_number("tolerance", tolerance)
    allowed = wanted - demand.sampling
    kinds = demand.noise_kinds(Budget(1.0, delta))
    plans = [_kept(demand, noise, allowed, delta) for noise in kinds if allowed > 0]
    found = [plan for plan in plans if plan is not None]
    if not found:
        raise InvalidParameter(_too_few(demand, wanted, left() or Budget(1.0, delta)))
    return min(found, key=lambda plan: plan.budget.exact_epsilon)


def enough_records(demand: Demand, tolerance: float, budget: Budget) -> int:
    """Return a number of records, at most a thousandth above the smallest, that keeps the tolerance."""

    def keeps(n: int) -> bool:
        return plan_for_budget(replace(demand, n=whole_number("n", n)), budget).tolerance <= tolerance

    def between(enough: int, few: int) -> int:
        return (few + enough) // 2 if enough - few > max(1, few // 1000) else enough

    refusal = "no number of records that can be counted keeps that tolerance."
    return fewest(keeps, most=2**32, otherwise=refusal, between=between)


def smallest_epsilon(enough: Callable[[float], bool], low: float) -> float:
    """Return the smallest epsilon above `low` that is enough, the largest one being so."""
    return bisect(enough, LARGEST_EPSILON, low, between=lambda one, other: math.sqrt(one * other), steps=60)[0]


def checked_noise_rate(noise_rate: float) -> float:
    """Return the rate of wrong labels as a float; above one half nothing can be learned."""
    number = finite_number("noise_rate", noise_rate)
    if not 0 <= number < 0.5:
        raise InvalidParameter(f"noise_rate must be at least 0 and below 1/2, got {noise_rate!r}.")
    return number


def _plan(demand: Demand, noise: NoiseKind, budget: Budget) -> Plan:
    mechanism = demand.mechanism(noise, budget)
    return demand.plan(noise, mechanism.budget, mechanism.error(1.0 - demand.noise_share))


def _kept(demand: Demand, noise: NoiseKind, allowed: float, delta: float) -> Plan | None:
    """Return the plan at a round epsilon, just above what is needed, whose noise stays within what is allowed.

    None if there is none: the noise may be too large, or too small to draw with certainty.
    """
    needed = demand.needed_epsilon(noise, allowed, delta)
    while needed < LARGEST_EPSILON:
        try:
            plan = _plan(demand, noise, Budget(rounded_up(needed), 0.0 if noise == "laplace" else delta))
        except InvalidParameter:
            return None
        if plan.noise_error <= allowed:
            return plan
        # What is drawn is a shade larger than the formula, to pay for the errors of drawing it.
        needed *= plan.noise_error / allowed * (1.0 + 1e-6)
    return None


def rounded_up(number: float) -> float:
    """Return the number with five digits, rounded up, so that costs are readable and add up."""
    exponent = 4 - math.floor(math.log10(number))
    digits = math.ceil(exact_number("epsilon", number) * Fraction(10) ** exponent)
    return float(Fraction(digits) / Fraction(10) ** exponent)


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _too_few(demand: Demand, tolerance: float, budget: Budget) -> str:
    try:
        enough = f"{enough_records(demand, tolerance, budget)} records would do with {budget}; or ask"
    except InvalidParameter:
        enough = "No number of records would do that tacit counts. Ask"
    return (
        f"{demand.n} records cannot answer {_numbers(demand.size)} within {tolerance:g} at confidence "
        f"{demand.confidence:g}: the sample alone may be {demand.sampling:.3g} off. {enough} for a larger tolerance."
    )
