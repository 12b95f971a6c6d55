"""An audit that is ready to run: a mechanism, two neighbouring data sets, Bob's attacks and what densities say."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from tacit.audit.attacks import Attack
from tacit.audit.bounds import plays_needed
from tacit.audit.entry import all_attacks, audit, checked_confidence
from tacit.audit.game import Mechanism, Progress
from tacit.audit.outcomes import Patience
from tacit.audit.report import Exact, Report
from tacit.budget import Budget
from tacit.errors import InvalidParameter

_MOST_MORE = 20


@final
@dataclass(frozen=True)
class Question:
    """What to audit a thing at: the claim, and what can be chosen about the thing.

    Without a `delta` the claim is pure, or has a usual delta where the thing is never pure; one that is given, be it 0,
    is the one that is audited.
    `n_lambda` is the number of records times the ridge; `perturbation` is the estimators' parameter.
    """

    epsilon: float
    delta: float | None = None
    n_lambda: float | None = None
    perturbation: str | None = None

    @property
    def claim(self) -> Budget:
        """The claimed budget, checked."""
        claim = Budget(self.epsilon, self.delta or 0.0)
        if not claim.exact_epsilon:
            raise InvalidParameter(f"epsilon must be above 0 to audit a claim, got {claim}.")
        return claim

    @property
    def checked_n_lambda(self) -> float | None:
        """The number of records times the ridge, if one was chosen."""
        return None if self.n_lambda is None else self.ridge(1.0)

    def ridge(self, default: float) -> float:
        """The number of records times the ridge."""
        ridge = default if self.n_lambda is None else self.n_lambda
        if not 1e-9 <= ridge <= 1e9:
            raise InvalidParameter(f"n-lambda must be a positive number from 1e-9 to 1e9, got {ridge!r}.")
        return ridge


@final
@dataclass(frozen=True, eq=False)
class Case:
    """One audit; `plays` is how many a first look takes, `name` and `note` are for people."""

    claim: Budget
    mechanism: Mechanism
    first: Any
    second: Any
    attacks: tuple[Attack, ...]
    plays: int
    exact: Exact | None = None
    note: str = ""
    name: str = ""

    def audit(
        self,
        *,
        plays: int | None = None,
        confidence: float = 0.999,
        jobs: int = 1,
        patience: Patience | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Run the audit; without a number of plays, as many as the claim needs, within reason."""
        return audit(
            self.mechanism,
            self.first,
            self.second,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            plays=self.sufficient(confidence) if plays is None else plays,
            confidence=confidence,
            attacks=self.attacks,
            exact=self.exact,
            jobs=jobs,
            patience=patience,
            progress=progress,
            name=self.name,
            note=self.note,
        )

    def sufficient(self, confidence: float) -> int:
        """Return how many plays a look takes that could refute the claim, but at most twenty times a first look."""
        each = 1 - (1 - checked_confidence(confidence)) / len(all_attacks(self.attacks))
        needed = plays_needed(self.claim.epsilon, self.claim.delta, each)
        return min(max(self.plays, needed), _MOST_MORE * self.plays)


@final
@dataclass(frozen=True, eq=False)
class Audited:
    """Something that can be audited by its name: how its case is built, and which questions it takes.

    `options` are the fields of a question, besides the claim, that mean something here. `delta` is the one that is
    claimed where a question names none: above 0 where there is no guarantee without it, 0 where none is ever claimed,
    None where the claim may be pure or not.
    """

    name: str
    build: Callable[[Question], Case]
    options: tuple[str, ...] = ()
    delta: float | None = None

    def case(self, question: Question) -> Case:
        """Return the audit at this question; refuse one that means nothing here."""
        for option in ("n_lambda", "perturbation"):
            if option not in self.options and getattr(question, option) is not None:
                raise InvalidParameter(f"{self.name} has no {option.replace('_', '-')}. Leave it out.")
        built = self.build(replace(question, delta=self._claimed(question).delta))
        if question.delta is not None or not built.claim.delta:
            return replace(built, name=self.name)
        said = f"no delta was given: delta={built.claim.delta:g} is audited"
        return replace(built, name=self.name, note=f"{built.note}; {said}" if built.note else said)

    def _claimed(self, question: Question) -> Budget:
        claim = question.claim
        if self.delta == 0 and claim.delta:
            raise InvalidParameter(
                f"{self.name} claims no delta; audit it with --epsilon alone, got delta={question.delta:g}."
            )
        if not self.delta or claim.delta:
            return claim
        if question.delta is not None:
            raise InvalidParameter(f"this needs a delta above 0, got 0. Leave it out to audit delta={self.delta:g}.")
        return Budget(claim.epsilon, self.delta)
