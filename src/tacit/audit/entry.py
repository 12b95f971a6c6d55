"""`audit(mechanism, D, D', epsilon=...)`: attack the claim of any callable."""

from collections.abc import Sequence
from typing import Any

from tacit.audit.game import Interrupted, Mechanism, Progress, play
from tacit.audit.judge import judge
from tacit.audit.neighbours import check_neighbours
from tacit.audit.report import Exact, Report
from tacit.audit.weapons import Learned, Weapon
from tacit.budget import Budget, finite_number
from tacit.errors import InvalidParameter

__all__ = ["audit", "checked_confidence"]

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
    weapons: Sequence[Weapon] = (),
    exact: Exact | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    name: str | None = None,
    note: str = "",
) -> Report:
    """Play Alice's and Bob's game with a mechanism and report whether its claim survives.

    Guarantee: if the mechanism is (epsilon, delta)-private, the verdict from plays is "refuted" with probability at
    most 1 - confidence, whatever the weapons.
    Assumes: the answers of the mechanism are independent from play to play.
    Reference: tacit.audit.judge.

    `mechanism` takes a data set and returns numbers, an array, a `Release` or a fitted linear model; a `Batch` draws
    many answers at once. `first` and `second` are neighbouring data sets: as many records, one of them different; a
    tuple such as (X, y) is taken as columns. Without `weapons` Bob trains a classifier. Several weapons share the
    risk. `exact` is what is known from densities, if anything. `jobs` plays in parallel processes.
    `name` and `note` are for people.
    """
    claim = Budget(epsilon, delta)
    level = checked_confidence(confidence)
    if not callable(mechanism) and not hasattr(mechanism, "many"):
        raise InvalidParameter(f"a mechanism is a function of a data set, got {type(mechanism).__name__}.")
    if isinstance(plays, bool) or not isinstance(plays, int) or not _FEWEST <= plays <= _MOST:
        raise InvalidParameter(f"plays must be a whole number from {_FEWEST} to {_MOST}, got {plays!r}.")
    check_neighbours(first, second)
    arms = tuple(weapons) or (Learned(),)
    title = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    try:
        played = play(mechanism, first, second, plays, jobs=jobs, progress=progress)
    except Interrupted as trouble:
        return Report(title, claim, level, plays, (), exact, str(trouble), note)
    each = 1 - (1 - level) / len(arms)
    findings = tuple(judge(played, weapon, claim, each) for weapon in arms)
    return Report(title, claim, level, plays, findings, exact, None, note)


def checked_confidence(confidence: float) -> float:
    """Return the confidence as a float from 0.5 to just below 1."""
    number = finite_number("confidence", confidence)
    if not 0.5 <= number < 1:
        raise InvalidParameter(f"confidence must lie between 0.5 and 1, got {confidence!r}.")
    return number
