"""`audit(mechanism, D, D', epsilon=...)`: attack the claim of any callable."""

from collections.abc import Sequence
from typing import Any

from tacit.audit.attacks import Attack, Learned
from tacit.audit.bounds import plays_needed
from tacit.audit.fingerprint import Fingerprint
from tacit.audit.game import Mechanism, Progress, play
from tacit.audit.judge import Finding, judge
from tacit.audit.neighbours import check_neighbours
from tacit.audit.outcomes import Patience
from tacit.audit.plays import Interrupted, Plays
from tacit.audit.report import Exact, Report
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.errors import InvalidParameter

_FEWEST, _MOST = 2, 10**9


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
) -> Report:
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
    claim = Budget(epsilon, delta)
    level = checked_confidence(confidence)
    if not callable(mechanism) and not hasattr(mechanism, "many"):
        raise InvalidParameter(f"a mechanism is a function of a data set, got {type(mechanism).__name__}.")
    if isinstance(plays, bool) or not isinstance(plays, int) or not _FEWEST <= plays <= _MOST:
        raise InvalidParameter(f"plays must be a whole number from {_FEWEST} to {_MOST}, got {plays!r}.")
    check_neighbours(first, second)
    arms = all_attacks(attacks)
    each = 1 - (1 - level) / len(arms)
    title = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    enough = plays_needed(claim.epsilon, claim.delta, each)
    try:
        played = play(mechanism, first, second, plays, jobs=jobs, progress=progress, patience=patience, enough=enough)
    except Interrupted as trouble:
        return Report(title, claim, level, plays, (), exact, str(trouble), note)
    findings, trouble_with = _attacked(played, arms, claim, each)
    return Report(title, claim, level, len(played), findings, exact, trouble_with or played.trouble, note)


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


def checked_confidence(confidence: float) -> float:
    """Return the confidence as a float from 0.5 to just below 1."""
    number = finite_number("confidence", confidence)
    if not 0.5 <= number < 1:
        raise InvalidParameter(f"confidence must lie between 0.5 and 1, got {confidence!r}.")
    return number
