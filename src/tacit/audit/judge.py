"""Choose Bob's event on one half of the plays, and count it on the other."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.audit.attacks import Attack, PlayScore
from tacit.audit.bounds import EventCounts, chance_interval, largest_bound
from tacit.audit.plays import Plays
from tacit.budget import Budget
from tacit.numerics.arrays import Floats, Truths

_THRESHOLDS = 400
_HINT = 0.8


@final
@dataclass(frozen=True, eq=False)
class Finding:
    """What one attack showed, all of it on plays that it had not seen.

    `wins` of `guesses` were right. `counts` are of the event that Bob was judged on: an answer of which he says that
    it is from the first data set (`says_first`), or that it is from the second. `bound` is the epsilon that these
    counts rule out at `confidence`, and `reach` the largest that so many plays could have ruled out. The curve is
    Bob's trade-off: how often he takes the second data set for the first, and the first for the second, at every
    threshold. `tells` says what told him, where the attack knows.
    """

    attack: str
    confidence: float
    wins: int
    guesses: int
    says_first: bool
    counts: EventCounts
    bound: float
    reach: float
    false_positives: Floats
    false_negatives: Floats
    tells: str = ""

    @property
    def win_rate(self) -> float:
        """How often Bob was right, among the bits he guessed."""
        return self.wins / max(1, self.guesses)

    @property
    def win_interval(self) -> tuple[float, float]:
        """An interval that holds the chance of winning with the stated confidence."""
        return chance_interval(self.wins, self.guesses, self.confidence) if self.guesses else (0.0, 1.0)


@final
@dataclass(frozen=True)
class _Cut:
    """Scores above (or up to) a threshold, which Bob takes for the first (or second) data set."""

    threshold: float
    above: bool

    def counts(self, scores: Floats, coins: Truths) -> EventCounts:
        happened = scores > self.threshold if self.above else scores <= self.threshold
        likely = coins if self.above else ~coins
        return EventCounts(
            int(np.sum(happened & likely)), int(np.sum(likely)), int(np.sum(happened & ~likely)), int(np.sum(~likely))
        )


def judge(plays: Plays, attack: Attack, claim: Budget, confidence: float) -> Finding:
    """Aim an attack with the first half of the plays and report what it shows on the second half.

    Guarantee: `bound` exceeds the epsilon of an (epsilon, claim.delta)-private mechanism with probability at most
    1 - confidence.
    Assumes: the plays are independent.
    Reference: Clopper and Pearson 1934; Bob's event depends on the first half only.
    """
    half = len(plays) // 2
    learning = half * 2 // 3 if attack.learns else 0
    score = attack.aim(plays.part(slice(0, learning if attack.learns else half)))
    aimed, fresh = plays.part(slice(learning, half)), plays.part(slice(half, None))
    aiming, scores = (_scores(score, some, attack.sees_failures) for some in (aimed, fresh))
    event = _best_event(aiming, aimed.coins, claim, confidence)
    # The threshold with the most right guesses.
    cut = max(_thresholds(aiming), key=lambda cut: np.sum((aiming > cut) == aimed.coins), default=0.0)
    counts = event.counts(scores, fresh.coins)
    false_positives, false_negatives = _trade_off(scores, fresh.coins)
    return Finding(
        attack=attack.name,
        confidence=confidence,
        wins=int(np.sum((scores > cut) == fresh.coins)),
        guesses=len(fresh),
        says_first=event.above,
        counts=counts,
        bound=counts.epsilon_bound(claim.delta, confidence),
        reach=largest_bound(counts.likely_plays, counts.unlikely_plays, claim.delta, confidence),
        false_positives=false_positives,
        false_negatives=false_negatives,
        tells=str(getattr(score, "tells", "")),
    )


def _scores(score: PlayScore, plays: Plays, sees_failures: bool) -> Floats:
    """Return the scores; to an attack that can not see them, plays that failed say nothing."""
    scores = np.zeros(len(plays))
    looked = np.ones(len(plays), dtype=bool) if sees_failures else plays.answered
    if np.any(looked):
        scores[looked] = np.nan_to_num(np.asarray(score(plays.part(looked)), dtype=np.float64))
    return scores


def _thresholds(scores: Floats) -> Floats:
    """Return candidate thresholds: between neighbouring scores, thinned to a few hundred, dense in both tails."""
    values = np.unique(scores)
    if values.size < 2:
        return values
    middles = values[:-1] + (values[1:] - values[:-1]) / 2
    if middles.size <= _THRESHOLDS:
        return middles
    tail = np.unique(np.geomspace(1, middles.size / 2, _THRESHOLDS // 2).astype(int))
    return np.asarray(middles[np.concatenate([tail - 1, middles.size - tail])])


def _best_event(scores: Floats, coins: Truths, claim: Budget, confidence: float) -> _Cut:
    """Return the event that would give the highest bound on these plays.

    These may be too few for any bound at the confidence of the judgement; then the highest at a lower one is the most
    promising.
    """
    events = [_Cut(float(t), above) for t in _thresholds(scores) for above in (True, False)]
    counted = [(event.counts(scores, coins), event) for event in events]
    for level in (confidence, min(confidence, _HINT)):
        bounds = [counts.epsilon_bound(claim.delta, level) for counts, _ in counted]
        if any(bounds):
            return counted[int(np.argmax(bounds))][1]
    return events[0] if events else _Cut(math.inf, True)


def _trade_off(scores: Floats, coins: Truths) -> tuple[Floats, Floats]:
    cuts = np.concatenate([[-np.inf], np.sort(_thresholds(scores)), [np.inf]])
    first, second = np.sort(scores[coins]), np.sort(scores[~coins])
    false_negatives = np.searchsorted(first, cuts, side="right") / max(1, first.size)
    false_positives = 1 - np.searchsorted(second, cuts, side="right") / max(1, second.size)
    return false_positives, false_negatives
