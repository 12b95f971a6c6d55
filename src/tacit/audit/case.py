"""Audits: of any callable (`audit`), and ready to run for what has a name (`Case`, `Audited`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from tacit.audit.attacks import Attack, Learned
from tacit.audit.bounds import plays_needed
from tacit.audit.fingerprint import Fingerprint
from tacit.audit.game import Mechanism, Progress, play
from tacit.audit.judge import Finding, judge
from tacit.audit.neighbours import check_neighbours
from tacit.audit.outcomes import Patience
from tacit.audit.plays import Interrupted, Plays
from tacit.audit.report import AuditReport, Exact
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.errors import InvalidParameter

_FEWEST, _MOST = 2, 10**9
_MOST_MORE = 20


def audit(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    plays: int = 10_000,
    confidence: float = 0.999,
    attacks: Sequence[Attack] = (),
    exact: Exact | None = None,
    jobs: int = 1,
    patience: Patience | None = None,
    progress: Progress | None = None,
    name: str | None = None,
    note: str = "",
) -> AuditReport:
    """Play Alice's and Bob's game with a mechanism and report whether its claim survives.

    Guarantee: if the mechanism is (epsilon, delta)-private, the verdict from plays is "refuted" with probability at
    most 1 - confidence, whatever the attacks.
    Assumes: the answers of the mechanism are independent from play to play.
    Reference: tacit.audit.judge.

    `mechanism` takes a data set and returns anything: numbers, text, arrays, tables, a `Release`, a fitted model. That
    it raises, warns, prints, exits or hangs is an outcome like others; see `Patience` for what counts as hanging. A
    `Batch` draws many answers at once. `first` and `second` are neighbouring data sets: as many records, one of them
    different; a tuple such as (X, y) is taken as columns. Without `attacks` Bob trains a classifier; in any case he
    compares fingerprints as well. All attacks share the risk. `exact` is what is known from densities, if anything.
    `jobs` plays in parallel processes. `name` and `note` are for people.
    """
    if not callable(mechanism) and not hasattr(mechanism, "many"):
        raise InvalidParameter(f"a mechanism is a function of a data set, got {type(mechanism).__name__}.")
    title = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    case = Case(Budget(epsilon, delta), mechanism, first, second, tuple(attacks), _FEWEST, exact, note, title)
    return case.audit(
        plays=checked_plays(plays), confidence=confidence, jobs=jobs, patience=patience, progress=progress
    )


def all_attacks(attacks: Sequence[Attack]) -> tuple[Attack, ...]:
    """Return the attacks of an audit: those that were chosen, or a classifier, and fingerprints in any case."""
    chosen = tuple(attacks) or (Learned(),)
    return chosen if any(isinstance(attack, Fingerprint) for attack in chosen) else (*chosen, Fingerprint())


def _attacked(
    played: Plays, attacks: Sequence[Attack], claim: Budget, each: float
) -> tuple[tuple[Finding, ...], str | None]:
    """Return what every attack found, and why nothing can be said to hold if one of them did not fit the answers."""
    findings, trouble = [], None
    for attack in attacks:
        try:
            findings.append(judge(played, attack, claim, each))
        except Exception as error:
            trouble = f"The attack '{attack.name}' does not fit the answers: {type(error).__name__}: {error}"
    return tuple(findings), trouble


def checked_plays(plays: int) -> int:
    """Return a number of plays, from 2 to a thousand million."""
    if isinstance(plays, bool) or not isinstance(plays, int) or not _FEWEST <= plays <= _MOST:
        raise InvalidParameter(f"plays must be a whole number from {_FEWEST} to {_MOST}, got {plays!r}.")
    return plays


def checked_confidence(confidence: float) -> float:
    """Return the confidence as a float from 0.5 to just below 1."""
    number = finite_number("confidence", confidence)
    if not 0.5 <= number < 1:
        raise InvalidParameter(f"confidence must lie between 0.5 and 1, got {confidence!r}.")
    return number


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
    def options(self) -> str:
        """The options of the command that asks this, besides the claim."""
        given = {"n-lambda": self.n_lambda, "perturbation": self.perturbation}
        return "".join(f" --{name} {value}" for name, value in given.items() if value is not None)

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
    """One audit; `plays` is how many a first look takes, `name` and `note` are for people.

    `variant` tells which of the things that a method can do is attacked: its perturbation or method, its loss, for
    whom, and how many classes. `options` are those of the command that asks for it.
    """

    claim: Budget
    mechanism: Mechanism
    first: Any
    second: Any
    attacks: tuple[Attack, ...]
    plays: int
    exact: Exact | None = None
    note: str = ""
    name: str = ""
    variant: Mapping[str, str] = field(default_factory=dict)
    options: str = ""

    def audit(
        self,
        *,
        plays: int | None = None,
        confidence: float = 0.999,
        jobs: int = 1,
        patience: Patience | None = None,
        progress: Progress | None = None,
    ) -> AuditReport:
        """Run the audit; without a number of plays, as many as the claim needs, within reason."""
        level = checked_confidence(confidence)
        count = self.sufficient(level) if plays is None else checked_plays(plays)
        check_neighbours(self.first, self.second)
        arms = all_attacks(self.attacks)
        each = 1 - (1 - level) / len(arms)
        enough = plays_needed(self.claim.epsilon, self.claim.delta, each)
        try:
            played = play(
                self.mechanism, self.first, self.second, count,
                jobs=jobs, progress=progress, patience=patience, enough=enough,
            )  # fmt: skip
        except Interrupted as trouble:
            return self._report(level, count, (), str(trouble))
        findings, trouble_with = _attacked(played, arms, self.claim, each)
        said = trouble_with or played.trouble
        return self._report(level, len(played), findings, said)

    def _report(self, level: float, plays: int, findings: tuple[Finding, ...], trouble: str | None) -> AuditReport:
        said = self.exact, trouble, self.note, self.variant, self.options
        return AuditReport(self.name, self.claim, level, plays, findings, *said)

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
        built = replace(built, name=self.name, options=question.options)
        if question.delta is not None or not built.claim.delta:
            return built
        said = f"no delta was given: delta={built.claim.delta:g} is audited"
        return replace(built, note=f"{built.note}; {said}" if built.note else said)

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
