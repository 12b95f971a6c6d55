"""Conversations: queries that may depend on the answers before them.

An answer about a population is only as good as the sample's independence of the question, and a question that was
chosen by looking at earlier answers about the same records is not independent. Two plans keep the tolerance honest:

- `split`: each query gets one of M parts of the records, fixed in advance, with the whole budget (parallel
  composition);
- `rounded`: each query gets all records and an M-th of the budget, and answers are rounded to a public grid of 1 +
  1/g values, so that there are only (1 + 1/g)^M conversations, and a union bound over all of them holds.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, final

import numpy as np

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import checked_confidence, positive_number, whole_number
from tacit.errors import InvalidParameter
from tacit.queries.oracle.oracle import Answer, Asking, MeanShares, StatisticalOracle, asked_in_words
from tacit.queries.oracle.plan import LARGEST_EPSILON, Demand, Plan, checked_noise_rate, rounded_up, smallest_epsilon
from tacit.queries.oracle.rounds import Turns
from tacit.sums.block_sums import Prepared
from tacit.sums.evaluator import Part
from tacit.sums.query import StatisticalQuery


@final
class Conversation:
    """At most M queries, one at a time, each free to depend on the answers so far.

    Guarantee: all answers together are epsilon-private, and each was charged before a record was touched.
    Assumes: replace-one neighbours; for the plan `split`, that a record's index or key does not depend on its values.
    Reference: oracle.md.

    Give the `tolerance` that every answer must keep, as a share of its query's range, or the `epsilon` for all of
    them; the better of the two plans is chosen unless one is named. The `name` distinguishes conversations on one
    ledger. A split is of these records in this order, or by this key: give arrays a `name` only with their order.
    """

    def __init__(
        self,
        oracle: StatisticalOracle,
        queries: int,
        *,
        tolerance: float | None = None,
        epsilon: float | None = None,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        plan: Literal["auto", "split", "rounded"] = "auto",
        name: str = "conversation",
    ) -> None:
        self._oracle = oracle
        self._count = whole_number("queries", queries)
        self._noise_rate = checked_noise_rate(noise_rate)
        if self._noise_rate > 0:
            oracle.evaluator.check_labels()
        self._confidence = checked_confidence(confidence)
        self._name = name
        self._way = plan
        if (tolerance is None) == (epsilon is None):
            raise InvalidParameter("give either a tolerance to keep or an epsilon to spend.")
        if epsilon is None:
            assert tolerance is not None
            epsilon = self._needed(tolerance)
        self.plan = self._best(Budget(epsilon))
        self._payers = self._opened() if self.plan.parts > 1 else []
        spent = {number for number, payer in enumerate(self._payers) if payer is not None and payer.spent}
        self._turns = Turns(set(range(self._count)) - spent)

    @property
    def left(self) -> int:
        """How many queries can still be asked."""
        return len(self._turns)

    def ask(self, query: StatisticalQuery) -> Answer:
        """Answer the next query; one that was asked before in this conversation gets the same answer for nothing."""
        if type(query) is not StatisticalQuery:
            raise InvalidParameter(f"a conversation is about single numbers, got a {type(query).__name__}.")
        query = replace(query)
        prepared = [self._oracle.evaluator.prepare(query)]
        # A turn is taken before anything is drawn: threads and copies share them, and none is used twice.
        turn, shares = self._turns.take_next(), None
        try:
            shares = self._shares(prepared, turn)
        finally:
            if shares is None or shares.repeated:
                self._turns.give_back(turn)
        means = shares.means
        if self.plan.parts == 1:
            means = np.clip(np.rint(means / self._grid), 0, round(1 / self._grid)) * self._grid
        step = self._step
        return shares.answer(query.answer(means), step.tolerance * query.unit, step)

    @property
    def _step(self) -> Plan:
        """How one query is answered: with the whole budget of its part, or with its share of the budget."""
        budget = self.plan.budget if self.plan.parts > 1 else self.plan.budget / self._count
        return replace(self.plan, budget=budget, size=1)

    def _shares(self, prepared: Sequence[Prepared], turn: int) -> MeanShares:
        """Ask in a turn: of its own part, which pays, or of all records."""
        oracle = self._oracle
        split = self.plan.parts > 1
        part = Part(turn, self._count) if split else None
        payer = self._payers[turn] if split else oracle.ledger
        demand = self._demand(oracle.n if part is None else oracle.evaluator.part_size(part))
        asking = Asking(self._noise_rate, f"{self._name}: {asked_in_words(prepared)}", payer, part, talk=self._name)
        return oracle._shares(prepared, demand, self._step, asking)

    @property
    def _grid(self) -> float:
        """The distance of two rounded answers: about what the sample is off by in any case."""
        return 1.0 / math.ceil(math.sqrt(self._oracle.n))

    def _demand(self, n: int) -> Demand:
        miss = (1.0 - self._confidence) / self._count
        return Demand(
            n=n, size=1, l1=1.0 + self._oracle.n * 2.0**-50, l2=1.0, unit=1.0, spread=1.0, confidence=1.0 - miss,
            factor=1.0 / (1.0 - 2.0 * self._noise_rate),
        )  # fmt: skip

    def _best(self, budget: Budget) -> Plan:
        ways = {"split": self._split, "rounded": self._rounded}
        if self._oracle.evaluator.fixed_by is None or not 1 < self._count <= self._oracle.n or not self._smallest():
            del ways["split"]
        if self._way != "auto":
            if self._way not in ways:
                raise InvalidParameter(
                    f"plan must be 'auto', 'rounded' or, for arrays and tables with a key, 'split', got {self._way!r}."
                )
            ways = {self._way: ways[self._way]}
        return min((way(budget) for way in ways.values()), key=lambda plan: plan.tolerance)

    def _smallest(self) -> int:
        """Return the size of the smallest part; of a key nothing else is known, and parts are counted if asked for."""
        evaluator = self._oracle.evaluator
        if evaluator.fixed_by == "index":
            return self._oracle.n // self._count
        if self._way != "split":
            return 0
        return min(evaluator.part_size(Part(number, self._count)) for number in range(self._count))

    def _split(self, budget: Budget) -> Plan:
        demand = self._demand(self._smallest())
        return self._planned(budget, demand.sampling, self._noise_error(demand, budget), self._count)

    def _rounded(self, budget: Budget) -> Plan:
        demand = self._demand(self._oracle.n)
        noise = self._noise_error(demand, budget / self._count)
        transcripts = self._count * math.log1p(1.0 / self._grid)
        unions = transcripts + math.log(4.0 * self._count / (1.0 - self._confidence))
        sampling = demand.factor * math.sqrt(unions / (2.0 * self._oracle.n))
        return self._planned(budget, sampling, noise + self._grid / 2.0, 1)

    def _noise_error(self, demand: Demand, budget: Budget) -> float:
        return demand.noise_error(demand.mechanism("laplace", budget).error(1.0 - demand.noise_share))

    def _planned(self, budget: Budget, sampling: float, noise: float, parts: int) -> Plan:
        return Plan(
            "laplace", budget, sampling, noise, self._confidence, self._oracle.n, self._count, "population", parts,
            whom=self._oracle.evaluator.unit,
        )  # fmt: skip

    def _needed(self, tolerance: float) -> float:
        """Return the smallest epsilon, to five digits, that keeps the tolerance, or refuse."""
        wanted = positive_number("tolerance", tolerance)
        best = self._best(Budget(LARGEST_EPSILON))
        if best.tolerance > wanted:
            raise InvalidParameter(
                f"{self._oracle.n} records cannot keep {tolerance:g} for {self._count} queries that depend on each "
                f"other: {best.sampling_error:.3g} is the sample's part alone. Ask for less, or have more records."
            )
        return rounded_up(smallest_epsilon(lambda epsilon: self._best(Budget(epsilon)).tolerance <= wanted, 1e-8))

    def _opened(self) -> list[Ledger | None]:
        ledger = self._oracle.ledger
        if ledger is None:
            return [None] * self._count
        names = [f"part {number + 1}" for number in range(self._count)]
        fixed_by = self._oracle.evaluator.fixed_by
        assert fixed_by is not None
        # Parts are disjoint for these records in this order, or by this key, and for no others.
        whose = hashlib.sha256(self._oracle.evaluator.split_name.encode()).hexdigest()[:32]
        title = f"{self._name}: {self._count} parts of {whose}"
        return list(ledger.partition(title, names, fixed_by=fixed_by).values())
