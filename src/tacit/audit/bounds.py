"""What counts can prove: exact bounds on a chance, and the epsilon that two of them imply.

All bounds are Clopper and Pearson's, valid at every number of plays. They hold for one event that was fixed before
the plays were looked at: `tacit.audit.judge` chooses the event on one half of the plays and counts on the other.
"""

import math
from dataclasses import dataclass
from typing import final

from scipy.special import betainccinv, betaincinv

from tacit.numerics.bisection import bisect

_MOST_PLAYS = 10**9
# Outward by far more than scipy's quantiles of the beta law are off.
_SLACK = 1e-10


def at_least(successes: int, trials: int, risk: float) -> float:
    """Return a lower bound on a chance that is too high with probability at most `risk`."""
    if successes == 0:
        return 0.0
    return max(0.0, float(betaincinv(successes, trials - successes + 1, risk)) * (1 - _SLACK))


def at_most(successes: int, trials: int, risk: float) -> float:
    """Return an upper bound on a chance that is too low with probability at most `risk`."""
    if successes == trials:
        return 1.0
    return min(1.0, float(betainccinv(successes + 1, trials - successes, risk)) * (1 + _SLACK))


def chance_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return an interval that holds the chance with at least this confidence; each side takes half the risk."""
    risk = (1 - confidence) / 2
    return at_least(successes, trials, risk), at_most(successes, trials, risk)


@final
@dataclass(frozen=True)
class EventCounts:
    """How often one event happened: in plays with the likelier data set, and in plays with the other."""

    likely: int
    likely_plays: int
    unlikely: int
    unlikely_plays: int

    def epsilon_bound(self, delta: float, confidence: float) -> float:
        """Return the largest epsilon that the counts rule out, 0 if they rule out none.

        Guarantee: if the mechanism is (e, delta)-private, the result exceeds e with probability at most
        1 - confidence.
        Assumes: independent plays; the event was chosen without looking at these counts.
        Reference: P <= e^epsilon Q + delta for the event's two chances; each is bounded at half the risk.
        """
        low, high = self.chances(confidence)
        return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0

    def chances(self, confidence: float) -> tuple[float, float]:
        """Return a lower bound on the likelier chance and an upper bound on the other."""
        risk = (1 - confidence) / 2
        return at_least(self.likely, self.likely_plays, risk), at_most(self.unlikely, self.unlikely_plays, risk)


def largest_bound(likely_plays: int, unlikely_plays: int, delta: float, confidence: float) -> float:
    """Return the bound that an event would give which always happens with one data set and never with the other."""
    return EventCounts(likely_plays, likely_plays, 0, unlikely_plays).epsilon_bound(delta, confidence)


def plays_needed(epsilon: float, delta: float, confidence: float) -> int:
    """Return how many plays let a perfect event rule out this epsilon, with room for an uneven coin."""

    def too_few(each: int) -> bool:
        return largest_bound(each, each, delta, confidence) <= epsilon

    enough = 1
    while too_few(enough) and 4 * enough < _MOST_PLAYS:
        enough *= 2
    _, enough = bisect(too_few, enough // 2, enough)
    # Half of the plays are judged, and about half of those come from either data set: five deviations to spare.
    return min(_MOST_PLAYS, math.ceil(4 * enough + 20 * math.sqrt(enough)))
