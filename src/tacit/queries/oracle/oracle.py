"""The oracle: it owns the records, answers statistical queries to a tolerance, and charges for each answer."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from tacit.accounting.answers import InLedger, Memory, needed_no_charge, question_digest
from tacit.accounting.events import Event
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.records import Records, payer
from tacit.errors import BudgetExceeded, InvalidParameter, QueryFailed
from tacit.estimators.learned_from import LearnedFrom
from tacit.mechanisms.deferred import Deferred
from tacit.numerics.arrays import Floats
from tacit.queries.oracle.plan import (
    Demand,
    Plan,
    Target,
    checked_noise_rate,
    enough_records,
    plan_for_budget,
    plan_for_tolerance,
)
from tacit.releases import release
from tacit.sums.block_sums import Prepared
from tacit.sums.evaluator import Evaluator, Part
from tacit.sums.language.words import in_words
from tacit.sums.query import KINDS, Query, refuse_unscaled
from tacit.sums.record_evaluator import evaluator_for

if TYPE_CHECKING:
    from tacit.queries.oracle.conversation import Conversation

_LONGEST_LABEL = 200


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
        whom, public = self.plan.whom.neighbours, self.plan.public
        return f"{self.plan.budget}{again}, {whom}; public: {public}, the queries, the columns"


@final
@dataclass(frozen=True)
class MeanShares:
    """Noisy means, in shares; whether they are private, the entry of their charge, and whether it was made before."""

    means: Floats
    private: bool
    entry: Entry | None = None
    repeated: bool = False

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
class StatisticalOracle:
    """Answers statistical queries about a table, privately, and charges its ledger for each answer.

    `records` are `Records`, or arrays `(X, y)` with declared `bounds` (columns x0, x1, ... and y).

    Guarantee: every answer is private with the budget it names, charged durably before a record was touched; no
    exception, warning or missing answer depends on a record.
    Assumes: replace-one neighbours; n, the schema and the stored types, the label's two values and the key are public.
    Reference: oracle.md.

    `label` names the column that labels are in (the schema's target unless given), `labels` its two values (negative,
    positive); both matter to random classification noise only. Records that are a part of a split are paid for by that
    part's own account.
    """

    def __init__(
        self,
        records: Any,
        *,
        label: str | None = None,
        labels: tuple[Any, Any] | None = None,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        if ledger is not None and not isinstance(ledger, Ledger):
            raise InvalidParameter(f"ledger must be a Ledger or None, got {type(ledger).__name__}.")
        self._evaluator = evaluator_for(records, label=label, labels=labels, bounds=bounds)
        self._origin = LearnedFrom.of(records, self._evaluator.n) if isinstance(records, Records) else None
        self._ledger, self._random_state = payer(records, ledger, random_state)
        self._asked = 0
        self._answered: dict[str, Mapping[str, Any]] = {}
        self._memory: Memory = InLedger()

    @property
    def n(self) -> int:
        """The number of records."""
        return self._evaluator.n

    @property
    def origin(self) -> LearnedFrom | None:
        """Which records these are, None for arrays: what learns from them can then tell which others are held out."""
        return self._origin

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._evaluator.names

    @property
    def ledger(self) -> Ledger | None:
        """The account that pays."""
        return self._ledger

    def remembering(self, memory: Memory) -> Self:
        """Return an oracle of the same records and account that keeps what was paid for in another place."""
        again = copy(self)
        again._memory, again._answered = memory, {}
        return again

    @property
    def rehearses(self) -> bool:
        """Whether a seed was given, so that nothing is private and nothing is charged."""
        return self._random_state is not None

    @property
    def evaluator(self) -> Evaluator:
        """What reads the records."""
        return self._evaluator

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
        again = made_again(queries)
        demand = self._demand(again, confidence, noise_rate, of)
        self._prepared(again)
        return self._plan(demand, tolerance, epsilon, delta)

    def affords(self, queries: Sequence[Query], plan: Plan) -> bool | None:
        """Whether the account could pay for a plan of these queries now; None if there is none. Nothing is charged."""
        if self._ledger is None:
            return None
        event, at = self.event_of(queries, plan)
        return self._ledger.affords(event, at=at)

    def event_of(self, queries: Sequence[Query], plan: Plan) -> tuple[Event, Budget]:
        """Return what a plan of these queries is charged as, in accounting's terms, and the budget that it keeps."""
        demand = Demand.of_queries(made_again(queries), self.n, whom=self._evaluator.unit)
        mechanism = demand.mechanism(plan.noise, plan.budget)
        return mechanism.event, mechanism.budget

    def _prepared(self, queries: Sequence[Query]) -> list[Prepared]:
        """Prepare queries, and refuse what would be paid for and say nothing."""
        prepared = [self._evaluator.prepare(query) for query in queries]
        for each in prepared:
            refuse_unscaled(each.query, each.columns)
        return prepared

    def _plan(self, demand: Demand, tolerance: float | None, epsilon: float | None, delta: float) -> Plan:
        if (tolerance is None) == (epsilon is None):
            raise InvalidParameter("give either a tolerance to keep or an epsilon to spend.")
        if epsilon is not None:
            return plan_for_budget(demand, Budget(epsilon, delta))
        assert tolerance is not None
        return plan_for_tolerance(demand, tolerance, delta, left=self._left)

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
        label: str | None = None,
    ) -> list[Answer]:
        """Answer queries that were all fixed before any of the answers, in one scan and for one charge.

        Give a `tolerance` to keep, or an `epsilon` to spend; with a `delta` Gaussian noise is used where it is
        better. Every answer is within its tolerance, all of them together, with the `confidence`: of the average
        over the population, if the records are an independent sample of it and the queries do not depend on earlier
        answers about the same records (else see `conversation`), or `of="sample"` of the average over the records.
        `noise_rate` says how often the label is wrong: answers are then about the true labels.
        """
        queries = made_again(queries)
        demand = self._demand(queries, confidence, noise_rate, of)
        plan = self._plan(demand, tolerance, epsilon, delta)
        prepared = self._prepared(queries)
        asking = Asking(checked_noise_rate(noise_rate), label or asked_in_words(prepared), self._ledger)
        try:
            shares = self._shares(prepared, demand, plan, asking)
        except BudgetExceeded as refusal:
            left = self._left()
            if tolerance is None or left is None:
                raise
            enough = enough_records(demand, tolerance, left)
            raise BudgetExceeded(f"{refusal} {enough} records would do with {left}.") from None
        return _told(queries, shares, demand, plan)

    def conversation(self, queries: int, **how: Any) -> "Conversation":
        """Begin a conversation of at most so many queries, each of which may depend on the answers before it."""
        from tacit.queries.oracle.conversation import Conversation

        return Conversation(self, queries, **how)

    def _shares(self, prepared: Sequence[Prepared], demand: Demand, plan: Plan, asking: Asking) -> MeanShares:
        """Look the mean shares up, or charge, scan and add noise."""
        question = self._question(prepared, plan, asking)
        known = self._known(question)
        if known is not None:
            needed_no_charge(asking.payer)
            return MeanShares(_read(known), private=True, repeated=True)
        noisy = release(
            Deferred(demand.mechanism(plan.noise, plan.budget)),
            lambda: self._sums(prepared, asking),
            label=asking.label,
            ledger=asking.payer,
            random_state=self._coins(),
            unit=self._evaluator.unit,
        )
        shares = demand.factor * noisy.value / demand.n
        if noisy.private:
            kept = self._remember(question, {"shares": [float(share).hex() for share in shares]})
            shares = _read(kept)
        return MeanShares(shares, noisy.private, noisy.entry)

    def _sums(self, prepared: Sequence[Prepared], asking: Asking) -> Floats:
        """Return the corrected sums; of a failure, after the charge, nothing but its kind is told."""
        try:
            return corrected_sums(self._evaluator, prepared, asking.noise_rate, asking.part)
        except Exception as error:  # an evaluator may fail in any way, and its words may quote records
            failure = type(error).__name__
        # Raised out here, so that what the evaluator said is not even in the exception's context.
        raise QueryFailed(
            f"the records could not be read ({failure}) after the charge; nothing was answered. Details are withheld, "
            "as they may quote records."
        )

    def _question(self, prepared: Sequence[Prepared], plan: Plan, asking: Asking) -> str:
        """Return what is the same whenever the same is asked about the same records."""
        facts = [
            self._evaluator.identity,
            [query.text for query in prepared],
            [plan.noise, str(plan.budget.exact_epsilon), str(plan.budget.exact_delta), plan.n, plan.parts],
            [float(asking.noise_rate).hex(), self._evaluator.label, [repr(label) for label in self._evaluator.labels]],
            asking.talk,
        ]
        return question_digest(self._ledger, facts)

    def _known(self, question: str) -> Mapping[str, Any] | None:
        if self.rehearses:
            return None
        found = self._answered.get(question)
        return found if found is not None or self._ledger is None else self._memory.recall(self._ledger, question)

    def _remember(self, question: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write an answer down; return the one to tell, which is that of whoever was first."""
        self._answered[question] = content
        if self._ledger is not None:
            self._answered[question] = self._memory.record(self._ledger, question, content)
        return self._answered[question]

    def _coins(self) -> Any:
        """Return None for real coins; for a rehearsal other coins at every call, fixed by the seed."""
        self._asked += 1
        if isinstance(self._random_state, int | np.integer) and not isinstance(self._random_state, bool):
            return int(self._random_state) * 2**32 + self._asked if self._random_state >= 0 else self._random_state
        return self._random_state

    def _demand(self, queries: Sequence[Query], confidence: float, noise_rate: float, of: Target) -> Demand:
        """Add up what the queries need; labels that cannot be exchanged are refused."""
        if checked_noise_rate(noise_rate) > 0:
            self._evaluator.check_labels()
        return Demand.of_queries(
            queries, self.n, confidence=confidence, noise_rate=noise_rate, of=of,
            whom=self._evaluator.unit, payer=self._ledger,
        )  # fmt: skip

    def _left(self) -> Budget | None:
        """Return what the ledger has left, or None if there is no ledger or nothing left."""
        left = None if self._ledger is None else self._ledger.remaining
        return left or None

    def __repr__(self) -> str:
        return f"StatisticalOracle(n={self.n}, columns={len(self.columns)}, ledger={self._ledger!r})"


def _read(kept: Mapping[str, Any]) -> Floats:
    return np.array([float.fromhex(share) for share in kept["shares"]])


def corrected_sums(
    evaluator: Evaluator, prepared: Sequence[Prepared], noise_rate: float, part: Part | None = None
) -> Floats:
    """Return the sums over the records, corrected for wrong labels up to the factor 1/(1 - 2 eta)."""
    sums = np.concatenate(evaluator.sums(prepared, part=part))
    if noise_rate == 0:
        return sums
    flipped = np.concatenate(evaluator.sums(prepared, flipped=True, part=part))
    # A tiny rate makes tiny products, which must not fail however numpy was told to take them.
    with np.errstate(all="ignore"):
        return (1.0 - noise_rate) * sums - noise_rate * flipped


def asked_in_words(prepared: Sequence[Prepared]) -> str:
    """Say what is asked, for the ledger's entry: the queries are public."""
    first = prepared[0]
    kind = {"StatisticalQuery": "mean", "RowSums": "sums", "SecondMoments": "second moments"}
    features = ", ".join(getattr(first.query, "features", ()))
    columns = in_words(first.columns)
    about = f"{features} by {columns}" if features and columns else features or columns
    more = f" and {len(prepared) - 1} more" if len(prepared) > 1 else ""
    name = type(first.query).__name__
    said = f"{kind.get(name, name.lower())} of {about}"[:_LONGEST_LABEL]
    return "".join(letter if letter.isprintable() else "?" for letter in said) + more


def made_again(queries: Sequence[Query]) -> list[Query]:
    """Return queries made again, once, from their fields: whatever else an object says of itself is not believed.

    What is charged for and what is asked must be the same list: one of somebody's own may hold others at every look.
    """
    listed = list(queries) if isinstance(queries, list | tuple) else []
    if not listed:
        raise InvalidParameter("wanted a list of at least one query.")
    for query in listed:
        if type(query) not in KINDS:
            raise InvalidParameter(f"wanted queries such as StatisticalQuery(...), got {type(query).__name__}.")
    return [replace(query) for query in listed]


def _told(queries: Sequence[Query], shares: MeanShares, demand: Demand, plan: Plan) -> list[Answer]:
    """Cut the shares into answers, each with its own tolerance."""
    answers = []
    for query, own in own_shares(queries, shares.means):
        sampling = plan.sampling_error * query.spread / demand.spread
        tolerance = sampling + plan.noise_error * query.unit / demand.unit
        answers.append(shares.answer(query.answer(own), tolerance, plan))
    return answers


def own_shares(queries: Sequence[Query], means: Floats) -> list[tuple[Query, Floats]]:
    """Return each query with its part of the means."""
    ends = np.cumsum([query.size for query in queries])
    return list(zip(queries, np.split(means, ends[:-1]), strict=True))
