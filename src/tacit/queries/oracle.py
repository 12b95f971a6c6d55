"""The oracle: it owns the records, answers statistical queries to a tolerance, and charges for each answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answers import question_digest, recall, record
from tacit.accounting.events import Event
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, QueryFailed
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise import Source
from tacit.queries.engine import Engine, Part, Prepared
from tacit.queries.plan import Demand, Plan, checked_noise_rate, enough_records, plan_for_budget, plan_for_tolerance
from tacit.queries.query import KINDS, Query
from tacit.queries.rounds import Answered, Rounds
from tacit.queries.sources import engine_for
from tacit.release import NEIGHBOURS, Release, release

if TYPE_CHECKING:
    from tacit.queries.conversation import Conversation

__all__ = ["Answer", "Asking", "Shares", "StatisticalOracle"]

Floats = NDArray[np.float64]
Target = Literal["population", "sample"]
Ask = Callable[..., "list[Answer]"]
Result = TypeVar("Result")


@final
@dataclass(frozen=True)
class Answer:
    """A private average, how far it may be off with which confidence, and what it cost.

    Answers to queries that were asked together share one charge: `cost` is that of all of them. A `repeated` answer
    was paid for before and cost nothing now.
    """

    value: Any
    tolerance: float
    confidence: float
    cost: Budget
    plan: Plan
    private: bool
    repeated: bool = False

    def __str__(self) -> str:
        return f"{self.value} within {self.tolerance:.3g} at {self.confidence:.4g} ({self.guarantee})"

    @property
    def guarantee(self) -> str:
        """One sentence: neighbours, epsilon, delta and what was assumed public."""
        if not self.private:
            return "NOT private and not charged: a rehearsal from a seed"
        again = ", paid for before" if self.repeated else ""
        return f"{self.plan.budget}{again}, {NEIGHBOURS} neighbours; public: n={self.plan.n}, the queries, the columns"


@final
@dataclass(frozen=True)
class Shares:
    """Noisy means, in shares; whether they are private, and whether they were paid for before."""

    means: Floats
    private: bool
    repeated: bool

    def answer(self, value: Any, tolerance: float, plan: Plan) -> Answer:
        """Return a value computed from the means as an answer."""
        cost = Budget(0) if self.repeated or not self.private else plan.budget
        return Answer(value, tolerance, plan.confidence, cost, plan, self.private, self.repeated)


@final
@dataclass(frozen=True)
class Asking:
    """How queries are asked: at what rate labels are wrong, who pays, of which part of the records, in which talk."""

    noise_rate: float
    label: str
    payer: Ledger | None
    part: Part | None = None
    talk: str | None = None


@final
@dataclass(frozen=True)
class _Counted(Mechanism[Callable[[], Floats], Floats]):
    """Noise on sums that are computed only after they were paid for."""

    noise: Laplace | Gaussian

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        """The noise's own."""
        return self.noise.budget

    @property
    def event(self) -> Event:
        """The noise's own."""
        return self.noise.event

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return "the queries", "the columns' names"

    def check(self, value: Callable[[], Floats]) -> Callable[[], Floats]:
        """Return the function that will compute the sums; it was prepared without a look at the records."""
        return value

    def randomise(self, value: Callable[[], Floats], source: Source) -> Floats:
        """Compute the sums and add noise."""
        return np.asarray(self.noise.randomise(self.noise.check(value()), source), dtype=np.float64)


@final
class StatisticalOracle:
    """Answers statistical queries about a table, privately, and charges its ledger for each answer.

    The table may be arrays `(X, y)` (columns x0, x1, ... and y), a data frame or a dict of columns, the path of a
    CSV or Parquet file or of a folder of them, any Ibis table (DuckDB, PostgreSQL, Spark, ...) or a Spark data frame.

    Guarantee: every answer is private with the budget it names, charged durably before a record was touched.
    Assumes: replace-one neighbours; n, the columns' names and types, the label's two values and the key are public.
    Reference: oracle.md.

    `n` is counted, or checked if declared. `label` names the column that labels are in (y for arrays), `labels` its
    two values (negative, positive); both matter to random classification noise only. `key` names a column of
    integers that fixes a record's part. `name` names these records, in this order, for good, so that their answers are
    recognised after a restart; without it files are recognised as long as they are not written anew, and all else by
    this oracle and its pickles only. The types of a CSV file's columns are read off its lines, and taken as public.
    """

    def __init__(
        self,
        table: Any,
        *,
        n: int | None = None,
        label: str | None = None,
        labels: tuple[Any, Any] = (-1, 1),
        key: str | None = None,
        name: str | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        if ledger is not None and not isinstance(ledger, Ledger):
            raise InvalidParameter(f"ledger must be a Ledger or None, got {type(ledger).__name__}.")
        self._engine = engine_for(table, n=n, label=label, labels=labels, key=key, name=name)
        self._ledger = ledger
        self._random_state = random_state
        self._asked = 0
        self._answered: dict[str, Mapping[str, Any]] = {}

    @property
    def n(self) -> int:
        """The number of records."""
        return self._engine.n

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._engine.names

    @property
    def ledger(self) -> Ledger | None:
        """The account that pays."""
        return self._ledger

    @property
    def rehearses(self) -> bool:
        """Whether a seed was given, so that nothing is private and nothing is charged."""
        return self._random_state is not None

    @property
    def engine(self) -> Engine:
        """What reads the records."""
        return self._engine

    def preview(
        self,
        queries: Sequence[Query],
        *,
        tolerance: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        of: Target = "population",
    ) -> Plan:
        """Return how the queries would be answered together and at what cost; touch and charge nothing."""
        demand = self._demand(queries, confidence=confidence, noise_rate=noise_rate, of=of)
        if (tolerance is None) == (epsilon is None):
            raise InvalidParameter("give either a tolerance to keep or an epsilon to spend.")
        if epsilon is not None:
            return plan_for_budget(demand, Budget(epsilon, delta))
        assert tolerance is not None
        return plan_for_tolerance(demand, tolerance, delta, at_most=self._left())

    def ask(self, query: Query, **how: Any) -> Answer:
        """Answer one query; the options are those of `ask_all`."""
        (answer,) = self.ask_all([query], **how)
        return answer

    def ask_all(
        self,
        queries: Sequence[Query],
        *,
        tolerance: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        of: Target = "population",
        label: str = "statistical queries",
    ) -> list[Answer]:
        """Answer queries that were all fixed before any of the answers, in one scan and for one charge.

        Give a `tolerance` to keep, or an `epsilon` to spend; with a `delta` Gaussian noise is used where it is
        better. Every answer is within its tolerance, all of them together, with the `confidence`: of the average
        over the population, if the records are an independent sample of it and the queries do not depend on earlier
        answers about the same records (else see `conversation`), or `of="sample"` of the average over the records.
        `noise_rate` says how often the label is wrong: answers are then about the true labels.
        """
        plan = self.preview(
            queries,
            tolerance=tolerance,
            epsilon=epsilon,
            delta=delta,
            confidence=confidence,
            noise_rate=noise_rate,
            of=of,
        )
        queries = list(queries)
        demand = self._demand(queries, confidence=confidence, noise_rate=noise_rate, of=of)
        try:
            shares = self._shares(queries, demand, plan, Asking(noise_rate, label, self._ledger))
        except BudgetExceeded as refusal:
            left = self._left()
            if tolerance is None or left is None:
                raise
            enough = enough_records(demand, tolerance, left)
            raise BudgetExceeded(f"{refusal} {enough} records would do with {left}.") from None
        return _told(queries, shares, demand, plan)

    def conversation(self, queries: int, **how: Any) -> "Conversation":
        """Begin a conversation of at most so many queries, each of which may depend on the answers before it."""
        from tacit.queries.conversation import Conversation

        return Conversation(self, queries, **how)

    def carry_out(
        self,
        rounds: Rounds,
        strategy: Callable[[Ask], Result],
        *,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        label: str = "statistical queries",
    ) -> Release[Result]:
        """Let a strategy ask rounds of queries, each free to depend on the answers before it, all for one charge.

        The strategy is called with `ask(number, queries, of)`, which answers a round's queries, once. Gaussian rounds
        have much less noise this way than if they were charged one by one.
        """
        asking = Asking(checked_noise_rate(noise_rate), label, self._ledger)

        def carried_out(answered: Answered) -> Result:
            def ask(number: int, queries: Sequence[Query], of: Target = "population") -> list[Answer]:
                demand = self._demand(queries, confidence=confidence, noise_rate=noise_rate, of=of)
                prepared = [self._engine.prepare(query) for query in queries]
                sums = answered(number, demand, lambda: self._sums(prepared, asking))
                shares = Shares(demand.factor * sums / demand.n, private=not self.rehearses, repeated=False)
                return _told(queries, shares, demand, rounds.plan(number, demand))

            return strategy(ask)

        return release(rounds, carried_out, label=label, ledger=self._ledger, random_state=self._coins())

    def _shares(self, queries: Sequence[Query], demand: Demand, plan: Plan, asking: Asking) -> Shares:
        """Look the mean shares up, or charge, scan and add noise."""
        prepared = [self._engine.prepare(query) for query in queries]
        question = self._question(prepared, plan, asking)
        known = None if question is None else self._known(question)
        if known is not None:
            return Shares(np.array([float.fromhex(share) for share in known["shares"]]), private=True, repeated=True)
        noisy = release(
            _Counted(demand.mechanism(plan.noise, plan.budget)),
            lambda: self._sums(prepared, asking),
            label=asking.label,
            ledger=asking.payer,
            random_state=self._coins(),
        )
        shares = demand.factor * noisy.value / demand.n
        if question is not None and noisy.private:
            self._remember(question, {"shares": [float(share).hex() for share in shares]})
        return Shares(shares, private=noisy.private, repeated=False)

    def _sums(self, prepared: Sequence[Prepared], asking: Asking) -> Floats:
        """Return the sums over the records, corrected for wrong labels up to the factor 1/(1 - 2 eta)."""
        rate = asking.noise_rate
        try:
            sums = np.concatenate(self._engine.sums(prepared, part=asking.part))
            if rate == 0:
                return sums
            flipped = np.concatenate(self._engine.sums(prepared, flipped=True, part=asking.part))
            return (1.0 - rate) * sums - rate * flipped
        except Exception as error:  # an engine may fail in any way, and its words may quote records
            failure = type(error).__name__
        # Raised out here, so that what the engine said is not even in the exception's context.
        raise QueryFailed(
            f"the engine failed ({failure}) after the charge; nothing was answered. Details are withheld, as they may "
            "quote records: the engine's own log has them."
        )

    def _question(self, prepared: Sequence[Prepared], plan: Plan, asking: Asking) -> str | None:
        """Return what is the same whenever the same is asked about the same records, or None if that is unknown."""
        if self._engine.identity is None or any(query.text is None for query in prepared):
            return None
        facts = [
            self._engine.identity,
            [query.text for query in prepared],
            [plan.noise, str(plan.budget.exact_epsilon), str(plan.budget.exact_delta), plan.n, plan.parts],
            [float(asking.noise_rate).hex(), self._engine.label, [repr(label) for label in self._engine.labels]],
            asking.talk,
        ]
        return question_digest(self._ledger, facts)

    def _known(self, question: str) -> Mapping[str, Any] | None:
        if self.rehearses:
            return None
        found = self._answered.get(question)
        return found if found is not None or self._ledger is None else recall(self._ledger, question)

    def _remember(self, question: str, content: Mapping[str, Any]) -> None:
        self._answered[question] = content
        if self._ledger is not None:
            record(self._ledger, question, content)

    def _coins(self) -> Any:
        """Return None for real coins; for a rehearsal other coins at every call, fixed by the seed."""
        self._asked += 1
        if isinstance(self._random_state, int | np.integer) and not isinstance(self._random_state, bool):
            return int(self._random_state) * 2**32 + self._asked if self._random_state >= 0 else self._random_state
        return self._random_state

    def _demand(self, queries: Sequence[Query], *, confidence: float, noise_rate: float, of: Target) -> Demand:
        """Add up what the queries need, or refuse what is no list of queries."""
        if not isinstance(queries, list | tuple) or not queries:
            raise InvalidParameter("wanted a list of at least one query.")
        for query in queries:
            if type(query) not in KINDS:
                raise InvalidParameter(f"wanted queries such as StatisticalQuery(...), got {type(query).__name__}.")
        if checked_noise_rate(noise_rate) > 0 and self._engine.label is None:
            raise InvalidParameter(
                "noise_rate is about labels: say which column they are in, StatisticalOracle(..., label='y')."
            )
        return Demand.of_queries(queries, self.n, confidence=confidence, noise_rate=noise_rate, of=of)

    def _left(self) -> Budget | None:
        """Return what the ledger has left, or None if there is no ledger or nothing left."""
        left = None if self._ledger is None else self._ledger.remaining
        return left or None

    def __repr__(self) -> str:
        return f"StatisticalOracle(n={self.n}, columns={len(self.columns)}, ledger={self._ledger!r})"


def _told(queries: Sequence[Query], shares: Shares, demand: Demand, plan: Plan) -> list[Answer]:
    """Cut the shares into answers, each with its own tolerance."""
    answers, start = [], 0
    for query in queries:
        own = shares.means[start : start + query.size]
        start += query.size
        sampling = plan.sampling_error * query.spread / demand.spread
        tolerance = sampling + plan.noise_error * query.unit / demand.unit
        answers.append(shares.answer(query.answer(own), tolerance, plan))
    return answers
