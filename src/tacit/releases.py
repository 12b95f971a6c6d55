"""The one door: everything private leaves the library through `release`, charged before noise is drawn."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, final

from tacit.accounting.events import Event
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import PUBLIC, RECORD, Kind, Unit, checked_unit
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise import Source, source_for
from tacit.notebook import card
from tacit.numerics.process import this_process

Value = TypeVar("Value")
_MANY = 100
Answer = TypeVar("Answer")
Other = TypeVar("Other")


@final
@dataclass(frozen=True)
class Release(Generic[Answer]):
    """A private answer with what was promised for it.

    `private` is False for a rehearsal (a seed was given) and for a model fitted with an infinite epsilon: such a
    value carries no guarantee and was not charged. `entry` is the ledger's record of the charge, None if there
    was no ledger. `unit` says for whom it is private: for each "record", or for each "person" with all their records;
    `whom` also names the column of ids that tells persons apart.
    `noise_error` is what the noise in each number stays below in 95 of 100 releases, None where that is not told.
    """

    value: Answer
    budget: Budget | None
    event: Event | None
    public: tuple[str, ...]
    private: bool
    entry: Entry | None
    whom: Unit = RECORD
    noise_error: float | None = None

    @property
    def unit(self) -> Kind:
        """Whether it is private for each record, or for each person."""
        return self.whom.kind

    def __str__(self) -> str:
        return f"{self._shown} ({self.guarantee})"

    @property
    def _shown(self) -> str:
        size = getattr(self.value, "size", 0)
        value = f"{size:,} numbers" if isinstance(size, int) and size > _MANY else f"{self.value}"
        return value if self.noise_error is None else f"{value} +- {self.noise_error:.4g}"

    def _repr_html_(self) -> str:
        charged = "not charged" if self.entry is None else f"entry {self.entry.number}: {self.entry.label}"
        return card("Release", {"value": self._shown, "guarantee": self.guarantee, "ledger": charged})

    def map(self, change: "Callable[[Answer], Other]") -> "Release[Other]":
        """Return the release with its value changed by a function that looks at no record."""
        return Release(change(self.value), self.budget, self.event, self.public, self.private, self.entry, self.whom)

    def within(self, noise_error: float) -> "Release[Answer]":
        """Return the release with its error bar, which follows from public quantities; a later change loses it."""
        return replace(self, noise_error=noise_error)

    @property
    def guarantee(self) -> str:
        """One sentence: neighbours, epsilon, delta and what was assumed public."""
        if not self.private:
            return "NOT private and not charged: " + ("a rehearsal from a seed" if self.budget else "infinite epsilon")
        return f"{self.budget}, {self.whom.neighbours}; public: {', '.join((PUBLIC[self.unit], *self.public))}"


@final
@dataclass(frozen=True, eq=False)
class Terms:
    """What a release is charged to, named after and drawn from, and what is assumed to be public."""

    ledger: Ledger | None
    label: str
    random_state: object
    assumed: tuple[str, ...]

    @classmethod
    def of(cls, estimator: Any, *assumed: str) -> "Terms":
        """Return the terms that an estimator's parameters set."""
        return cls(estimator.ledger, type(estimator).__name__, estimator.random_state, assumed)

    def and_also(self, *facts: str) -> "Terms":
        """Return the same terms with more that is assumed to be public."""
        return replace(self, assumed=(*self.assumed, *facts))

    def require_room(self, mechanism: Mechanism[Any, Any]) -> None:
        """Refuse what the ledger could not pay now, before long work is done for it; nothing is charged."""
        if self.ledger is not None and not is_rehearsal(self.random_state):
            self.ledger.require_room(mechanism.event, label=self.label, at=mechanism.budget)

    def release(
        self, mechanism: Mechanism[Value, Answer], value: Value, *facts: str, unit: Unit | Kind = RECORD
    ) -> Release[Answer]:
        """Release a value under these terms, with further facts that are public."""
        label, ledger, random_state, public = self.label, self.ledger, self.random_state, (*self.assumed, *facts)
        return release(
            mechanism, value, label=label, ledger=ledger, random_state=random_state, public=public, unit=unit
        )


def is_rehearsal(random_state: object) -> bool:
    """Whether a seed was given, which is left as it is; refuse what is no seed."""
    return not source_for(deepcopy(random_state)).private


def source_that_goes_on() -> Source:
    """Return coins for a release that was charged before and goes on: answers on demand, reopened by whoever kept it.

    Each answer is drawn once: what was drawn before is kept, and is asked for before these coins are.
    """
    return source_for(None)


def release(
    mechanism: Mechanism[Value, Answer],
    value: Value,
    *,
    label: str,
    ledger: Ledger | None = None,
    random_state: object = None,
    public: tuple[str, ...] = (),
    unit: Unit | Kind = RECORD,
) -> Release[Answer]:
    """Charge the mechanism's event, then draw its noise and answer.

    Guarantee: the answer is private with `mechanism.budget`, charged durably before the noise existed.
    Assumes: `value` has the sensitivity that the mechanism was calibrated to; its shape is public.
    Reference: the mechanism's own proof note.

    A value is refused for its shape alone, before anything is charged: every number is answered about, and what is
    no number counts as 0, since a refusal would tell about records. A refused charge raises and draws nothing.
    One charge has one answer: a fork made while noise is drawn (by a report of progress, a signal's handler) gets none.
    A `random_state` makes a rehearsal: repeatable, not private, never charged. `public` names what the caller
    assumed public, in place of the mechanism's own list. `unit` says what `value` was made for: the mechanism's
    sensitivity is to the replacement of one record, or of one person with all their records; a ledger that promises for
    the other is refused before anything else.
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameter(f"wanted a mechanism such as Laplace.for_budget(...), got {type(mechanism).__name__}.")
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InvalidParameter(f"ledger must be a Ledger or None, got {type(ledger).__name__}.")
    whom = checked_unit(unit)
    if ledger is not None:
        ledger.require(whom)
    source = source_for(random_state)
    checked = mechanism.check(value)
    entry, charged_in = None, this_process()
    if ledger is not None and source.private:
        entry = ledger.spend(mechanism.event, label=label, at=mechanism.budget, unit=whom)
    try:
        answer = mechanism.randomise(checked, source)
    except BaseException as failure:
        # An interrupt too: whoever sees it knows what was paid for nothing.
        failure.add_note(_paid(entry, label, mechanism.budget))
        raise
    if source.private and this_process() != charged_in:
        raise InvalidParameter(
            "this process was forked from one that is answering: one charge has one answer, which is that one's."
        )
    return Release(answer, mechanism.budget, mechanism.event, public or mechanism.public, source.private, entry, whom)


def _paid(entry: Entry | None, label: str, budget: Budget) -> str:
    """Say what a release that did not come about has cost."""
    if entry is None:
        return f"{label}: nothing was released, and nothing was charged."
    return f"{label}: nothing was released, but entry {entry.number} was charged for it: {budget}."
