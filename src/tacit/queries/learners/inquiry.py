"""Inquiries: the questions of one fit, whom they go to, and what they may cost in all.

A learner asks an `Inquiry` and nothing else. Behind it stands an oracle, or, for an infinite epsilon, the engine
itself: so the model without privacy is computed by the same lines as the private one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.estimators.parameters import refuse_ledger
from tacit.queries.learners.learned import Learned
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.queries.oracle.plan import Demand, Plan, checked_noise_rate, plan_for_budget
from tacit.queries.oracle.rounds import Rounds, better_noise
from tacit.sums.engines.engine import Engine
from tacit.sums.query import Query

Target = Literal["population", "sample"]
Answered: TypeAlias = Callable[[int, Sequence[Query], Demand], tuple[list[Answer], float]]


@final
@dataclass(frozen=True)
class Answers:
    """What was answered in one round.

    `deviation` is the standard deviation of the noise in one share, `noise` what all of it stays below and `sampling`
    how far the records may be from the population, both with the confidence asked for. Without privacy there is no
    noise.
    """

    values: tuple[Any, ...]
    deviation: float
    noise: float
    sampling: float


@final
@dataclass(frozen=True)
class Round:
    """The most that a learner asks at once, and which share of the budget that gets."""

    queries: Sequence[Query]
    weight: int = 1
    of: Target = "population"


@final
class Inquiry:
    """The questions of one fit: whom they go to, and what they may cost in all.

    Guarantee: all answers together are private with `budget`, though each round may depend on the answers before it.
    Assumes: nothing but what the oracle assumes.
    Reference: oracle.md, "Rounds".
    """

    def __init__(
        self,
        source: StatisticalOracle | Engine,
        budget: Budget | None,
        *,
        name: str,
        labels: tuple[Any, ...] = (),
        confidence: float = 0.95,
        noise_rate: float = 0.0,
    ) -> None:
        if isinstance(source, StatisticalOracle) != (budget is not None):
            raise InvalidParameter("an oracle is asked for a budget, and an engine without privacy.")
        self._oracle = source if isinstance(source, StatisticalOracle) else None
        self._engine = source.engine if isinstance(source, StatisticalOracle) else source
        self._budget = budget
        self._name = name
        self._confidence = confidence
        self._rate = checked_noise_rate(noise_rate)
        self._rounds: tuple[Round, ...] = ()
        self._answered: Answered | None = None
        self._plans: list[Plan] = []
        self._private = budget is not None
        self.labels = labels

    @classmethod
    def of_records(
        cls, engine: Engine, budget: Budget | None, *, ledger: Ledger | None, random_state: object, **how: Any
    ) -> "Inquiry":
        """Ask records that the learner was given, for a ledger that it was given."""
        if budget is None:
            refuse_ledger(ledger)
            return cls(engine, None, **how)
        return cls(StatisticalOracle(engine, ledger=ledger, random_state=random_state), budget, **how)

    @classmethod
    def of_oracle(
        cls, oracle: object, budget: Budget | None, *, ledger: Ledger | None, random_state: object, **how: Any
    ) -> "Inquiry":
        """Ask somebody's oracle, whose ledger pays; only an engine itself can be asked without privacy."""
        if isinstance(oracle, Engine) and budget is None:
            return cls(oracle, None, **how)
        if not isinstance(oracle, StatisticalOracle):
            raise InvalidParameter(f"wanted a StatisticalOracle, got {type(oracle).__name__}.")
        if budget is None:
            raise InvalidParameter("an oracle answers privately: give a finite epsilon, or fit records themselves.")
        if random_state is not None or (ledger is not None and ledger != oracle.ledger):
            raise InvalidParameter("the oracle's own ledger and coins are used: set ledger and random_state there.")
        return cls(oracle, budget, **how)

    @property
    def n(self) -> int:
        """The number of records."""
        return self._engine.n

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, the label's included."""
        return self._engine.names

    @property
    def label(self) -> str:
        """The name of the column of labels."""
        if self._engine.label is None:
            raise InvalidParameter("say which column labels are in: StatisticalOracle(..., label='y').")
        return self._engine.label

    @property
    def rounds(self) -> int:
        """How many rounds were agreed on."""
        return len(self._rounds)

    def run(self, rounds: Sequence[Round], study: Callable[[], None]) -> None:
        """Agree on the rounds and let a learner ask them; several share the budget and are charged as one."""
        self._rounds = tuple(rounds)
        if self._oracle is None or self._budget is None:
            study()
        elif len(rounds) == 1:
            self._answered = self._at_once
            study()
        else:
            noise, _ = _noise(rounds, self.n, self._budget, self._confidence, self._rate)

            def strategy(ask: Callable[..., list[Answer]]) -> None:
                self._answered = lambda number, queries, demand: (
                    ask(number, queries, demand.of),
                    noise.deviation(number, demand),
                )
                study()

            self._oracle.carry_out(
                noise, strategy, confidence=self._confidence, noise_rate=self._rate, label=self._name
            )
        self._answered = None

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse queries that cannot be asked, before anything is charged."""
        for query in queries:
            self._engine.prepare(query)

    def ask(self, number: int, queries: Sequence[Query]) -> Answers:
        """Ask the queries of a round; none is asked twice."""
        of = self._rounds[number].of
        demand = Demand.of_queries(queries, self.n, confidence=self._confidence, noise_rate=self._rate, of=of)
        if self._oracle is None:
            return Answers(self._exactly(queries, demand), 0.0, 0.0, demand.sampling)
        if self._answered is None:
            raise InvalidParameter(f"round {number} was asked before, or outside of its inquiry.")
        answers, deviation = self._answered(number, queries, demand)
        plan = answers[0].plan
        self._plans.append(plan)
        self._private &= all(answer.private for answer in answers)
        return Answers(
            tuple(answer.value for answer in answers),
            demand.factor * deviation / self.n,
            plan.noise_error,
            plan.sampling_error,
        )

    def _at_once(self, number: int, queries: Sequence[Query], demand: Demand) -> tuple[list[Answer], float]:
        """Ask the only round, for the whole budget."""
        assert self._oracle is not None
        assert self._budget is not None
        self._answered = None
        answers = self._oracle.ask_all(
            queries,
            epsilon=self._budget.exact_epsilon,  # type: ignore[arg-type]
            delta=self._budget.exact_delta,  # type: ignore[arg-type]
            confidence=self._confidence,
            noise_rate=self._rate,
            of=demand.of,
            label=self._name,
        )
        plan = answers[0].plan
        return answers, demand.mechanism(plan.noise, plan.budget).standard_deviation

    def learned(self, *public: str) -> Learned:
        """Say what was asked and what is promised."""
        known = (f"n={self.n}", "the columns' names", *public)
        return Learned(tuple(self._plans), self._budget, self._private, known)

    def _exactly(self, queries: Sequence[Query], demand: Demand) -> tuple[Any, ...]:
        """Answer without noise: the ordinary averages, never called private."""
        prepared = [self._engine.prepare(query) for query in queries]
        sums = self._engine.sums(prepared)
        if self._rate > 0:
            flipped = self._engine.sums(prepared, flipped=True)
            sums = [(1.0 - self._rate) * one - self._rate * other for one, other in zip(sums, flipped, strict=True)]
        shares = [demand.factor * each / self.n for each in sums]
        return tuple(query.answer(share) for query, share in zip(queries, shares, strict=True))


def planned(
    rounds: Sequence[Round], n: int, budget: Budget | None, confidence: float = 0.95, noise_rate: float = 0.0
) -> tuple[Plan, ...]:
    """Return the plan of every round; touch nothing."""
    if budget is None:
        raise InvalidParameter("an infinite epsilon has no cost to preview.")
    noise, demands = _noise(rounds, n, budget, confidence, noise_rate)
    if len(rounds) == 1:
        return (plan_for_budget(demands[0], budget),)
    return tuple(noise.plan(number, demand) for number, demand in enumerate(demands))


def _noise(
    rounds: Sequence[Round], n: int, budget: Budget, confidence: float, noise_rate: float
) -> tuple[Rounds, list[Demand]]:
    """Return the noise for several rounds, and what they ask for at most."""
    demands = [
        Demand.of_queries(each.queries, n, confidence=confidence, noise_rate=noise_rate, of=each.of) for each in rounds
    ]
    weights = tuple(each.weight for each in rounds)
    kind = better_noise(budget, demands, weights)
    return Rounds(budget, kind, weights, max(demand.size for demand in demands)), demands
