"""How long plays take, seen before the game, and how long one may take in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from tacit.audit.outcomes import Outcome, Patience, observe
from tacit.audit.plays import Interrupted

_ROUNDS, _LONGER = 3, 4


@final
@dataclass(frozen=True, eq=False)
class Pace:
    """The seconds that a play may take, whether one of the two data sets made it hang, and one that did not."""

    limit: float
    hanging: bool
    answers_on: Any

    def many(self, count: int) -> float:
        """Return the seconds that so many plays at once may take."""
        return self.limit * max(1.0, count / 10)


def pace_of(mechanism: Callable[[Any], Any], first: Any, second: Any, patience: Patience) -> Pace:
    """Try the mechanism on both data sets, waiting longer each round until it ends on one of them.

    That one sets the limit for the other: it is not known beforehand which of them hangs.
    """
    wait = patience.seconds
    for _ in range(_ROUNDS):
        tried = [(data, observe(mechanism, data, wait)) for data in (first, second)]
        ended = [(data, outcome) for data, outcome in tried if not outcome.hung]
        if ended:
            limit = patience.limit(max(outcome.seconds for _, outcome in ended))
            late = [data for data, outcome in tried if outcome.hung]
            hanging = any(_hangs(mechanism, data, limit, wait) for data in late)
            return Pace(limit, hanging, ended[0][0])
        wait *= _LONGER
    raise Interrupted(
        f"The mechanism answered on neither data set within {wait / _LONGER:g} seconds. If it only is slow, audit it "
        "with more seconds of patience."
    )


def _hangs(mechanism: Callable[[Any], Any], data: Any, limit: float, waited: float) -> bool:
    if limit <= waited:
        return True
    outcome: Outcome = observe(mechanism, data, limit)
    return outcome.hung
