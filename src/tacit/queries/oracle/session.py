"""Sessions: rounds of queries that are charged together, and asked one after the other.

What a learner asks it asks a session. Behind it stands an oracle, or, for an infinite epsilon, the evaluator itself: so
the model without privacy is computed by the same lines as the private one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from tacit.accounting.events import Event
from tacit.accounting.history import Entry
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries.oracle.oracle import Asking, StatisticalOracle, corrected_sums, made_again, own_shares
from tacit.queries.oracle.plan import Demand, Plan, Target, checked_noise_rate, plan_for_budget
from tacit.queries.oracle.rounds import OpenRounds, Rounds, Turns
from tacit.releases import Release, release
from tacit.sums.evaluator import Evaluator
from tacit.sums.query import Query


@final
@dataclass(frozen=True)
class Reply:
    """The values that were asked for in one round, and the standard deviation of the noise in one share of them."""

    values: tuple[Any, ...]
    deviation: float


@final
class Session:
    """Rounds of queries for one budget; `rounds` are the most that is asked in each, and fix the noise.

    Guarantee: all answers together are private with `budget`, though each round may depend on the answers before it.
    Assumes: nothing but what the oracle assumes.
    Reference: oracle.md, "Rounds".

    Several rounds are charged when the session is opened, a single one when it is asked, and one that was asked before
    of the same oracle costs nothing. An evaluator in place of an oracle answers without noise and without a budget.
    """

    def __init__(
        self,
        source: StatisticalOracle | Evaluator,
        budget: Budget | None,
        rounds: Sequence[Sequence[Query]],
        *,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        of: Target = "population",
        label: str = "rounds of queries",
    ) -> None:
        if isinstance(source, StatisticalOracle) != (budget is not None):
            raise InvalidParameter("an oracle is asked for a budget, and an evaluator without privacy.")
        self._oracle = source if isinstance(source, StatisticalOracle) else None
        self.evaluator = source.evaluator if isinstance(source, StatisticalOracle) else source
        self.rounds = tuple(rounds)
        self._budget = budget
        self._rate = checked_noise_rate(noise_rate)
        self._how: dict[str, Any] = {"confidence": confidence, "noise_rate": self._rate, "of": of}
        self._asking = Asking(self._rate, label, None if self._oracle is None else self._oracle.ledger)
        self._plans: list[Plan] = []
        self._event: Event | None = None
        self._entry: Entry | None = None
        self._open: OpenRounds | None = None
        if self._oracle is not None and budget is not None and len(self.rounds) > 1:
            self._open = self._opened(self._oracle, budget)
        self._turns = Turns(range(len(self.rounds))) if self._open is None else self._open.turns

    def _opened(self, oracle: StatisticalOracle, budget: Budget) -> OpenRounds:
        """Charge for all rounds; queries that cannot be asked are refused before."""
        demands = [self._demand(queries) for queries in self.rounds]
        for query in self.rounds[0]:
            self.evaluator.prepare(query)
        found = release(
            Rounds.for_demands(budget, demands, len(demands)),
            None,
            label=self._asking.label,
            ledger=oracle.ledger,
            random_state=oracle._coins(),
            unit=self.evaluator.unit,
        )
        self._event, self._entry = found.event, found.entry
        return found.value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._turns.close()

    def ask(self, number: int, queries: Sequence[Query] | None = None) -> Reply:
        """Ask a round's queries, once: those it was opened with, or others that are no more."""
        asked = made_again(self.rounds[number] if queries is None else queries)
        demand = self._demand(asked)
        prepared = [self.evaluator.prepare(query) for query in asked]
        if self._open is None:
            self._turns.take(number)
        if self._oracle is None or self._budget is None:
            means, deviation = demand.factor * corrected_sums(self.evaluator, prepared, self._rate) / demand.n, 0.0
        elif self._open is None:
            plan = plan_for_budget(demand, self._budget)
            shares = self._oracle._shares(prepared, demand, plan, self._asking)
            mechanism = demand.mechanism(plan.noise, plan.budget)
            means, deviation = shares.means, mechanism.standard_deviation
            self._event, self._entry = mechanism.event, shares.entry
            self._plans.append(plan)
        else:
            oracle, noise = self._oracle, self._open.rounds
            sums = self._open.answer(number, demand, lambda: oracle._sums(prepared, self._asking))
            means, deviation = demand.factor * sums / demand.n, noise.deviation(demand)
            self._plans.append(noise.plan(demand))
        values = tuple(query.answer(own) for query, own in own_shares(asked, means))
        return Reply(values, demand.factor * deviation / demand.n)

    def release(self, *public: str) -> Release[tuple[Plan, ...]]:
        """Return how the rounds were answered, with what is promised for all of them; `public` is assumed besides."""
        private = self._oracle is not None and not self._oracle.rehearses
        known = ("the columns' names", *public)
        return Release(tuple(self._plans), self._budget, self._event, known, private, self._entry, self.evaluator.unit)

    def _demand(self, queries: Sequence[Query]) -> Demand:
        if self._rate > 0:
            self.evaluator.check_labels()
        return Demand.of_queries(
            queries, self.evaluator.n, whom=self.evaluator.unit, payer=self._asking.payer, **self._how
        )


def planned(rounds: Sequence[Sequence[Query]], n: int, budget: Budget | None, **how: Any) -> tuple[Plan, ...]:
    """Return the plan of every round of a session that is opened in this way; touch nothing."""
    if budget is None:
        raise InvalidParameter("an infinite epsilon has no cost to preview.")
    demands = [Demand.of_queries(queries, n, **how) for queries in rounds]
    if len(demands) == 1:
        return (plan_for_budget(demands[0], budget),)
    noise = Rounds.for_demands(budget, demands, len(demands))
    return tuple(noise.plan(demand) for demand in demands)
