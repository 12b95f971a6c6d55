"""Bob's attacks: how he turns an answer into a score that is higher the more it looks like the first data set.

An attack may learn from the plays it is aimed with; it is judged on others. So a weak attack finds less, but no
attack, however wrong, can make a private mechanism look broken beyond the stated risk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tacit.audit.plays import Plays
from tacit.numerics.arrays import Floats

PlayScore = Callable[[Plays], Floats]
LogDensity = Callable[[Floats], Floats]


class Attack(ABC):
    """A way to score answers."""

    learns = False
    """Whether the score is fitted to plays, so that a threshold must be chosen on others."""

    sees_failures = False
    """Whether it can score plays that failed, too; where it can not, they say nothing to it."""

    @property
    def name(self) -> str:
        """What to call it."""
        return type(self).__name__

    @abstractmethod
    def aim(self, plays: Plays) -> PlayScore:
        """Return the score, having looked at these plays at most."""


@final
@dataclass(frozen=True)
class LikelihoodRatio(Attack):
    """The exact log-likelihood ratio: by Neyman and Pearson, no other score does better at any threshold."""

    first: LogDensity
    second: LogDensity
    name = "exact likelihood ratio"

    @classmethod
    def shifted(cls, law: LogDensity, first: ArrayLike, second: ArrayLike) -> "LikelihoodRatio":
        """Return the ratio of answers that are one value or the other plus noise of this law."""
        return cls(lambda x: law(x - np.asarray(first)), lambda x: law(x - np.asarray(second)))

    @classmethod
    def of_chances(cls, first: Floats, second: Floats) -> "LikelihoodRatio":
        """Return the ratio of answers that are indices, given the chances of each."""
        logs = np.log(first), np.log(second)
        return cls(lambda x: logs[0][x[:, 0].astype(int)], lambda x: logs[1][x[:, 0].astype(int)])

    def aim(self, plays: Plays) -> PlayScore:
        """Return the ratio of the two densities; answers that neither can give say nothing."""

        def ratio(plays: Plays) -> Floats:
            with np.errstate(invalid="ignore", over="ignore"):
                difference = self.first(plays.answers) - self.second(plays.answers)
            return np.nan_to_num(difference, posinf=1e300, neginf=-1e300)

        return ratio


@final
@dataclass(frozen=True)
class Canary(Attack):
    """What the released model says about the record that was planted: answers times a direction.

    For a model the direction is the canary's row times its target; for a service that answers with the canary's
    score it is [1].
    """

    direction: tuple[float, ...]
    name = "canary"

    def aim(self, plays: Plays) -> PlayScore:
        """Return the canary's score."""
        return lambda plays: np.nan_to_num(plays.answers) @ np.asarray(self.direction)


@final
@dataclass(frozen=True)
class LowBits(Attack):
    """The floating-point attack (Mironov 2012): answers that no double, added to a value, can give.

    `first` and `second` are the values before noise. If an answer has low bits that the sum of one value and a
    double can not have, it was the other value.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    name = "low bits"

    def aim(self, plays: Plays) -> PlayScore:
        """Count the coordinates that rule out the second value, less those that rule out the first."""
        return lambda plays: _unreachable(plays.answers, self.second) - _unreachable(plays.answers, self.first)


def _unreachable(answers: Floats, value: tuple[float, ...]) -> Floats:
    base = np.asarray(value)
    return np.asarray(np.sum((answers - base) + base != answers, axis=1), dtype=np.float64)


@final
@dataclass(frozen=True)
class Learned(Attack):
    """A classifier trained on plays, for mechanisms of which nothing else is known.

    Boosted trees on all numbers that a play shows, what is missing from them, their norm, and their projection on the
    direction that separates the two data sets' numbers best.
    """

    trees: int = 60
    learns = True
    sees_failures = True
    name = "learned classifier"

    def aim(self, plays: Plays) -> PlayScore:
        """Fit the classifier; without plays of both kinds every answer looks the same."""
        if len(set(plays.coins.tolist())) < 2:
            return lambda plays: np.zeros(len(plays))
        features = _features(plays)
        boosted = HistGradientBoostingClassifier(
            max_iter=self.trees, max_leaf_nodes=8, learning_rate=0.1, early_stopping=False, random_state=0
        )
        with threadpool_limits(1):  # plays are few; threads would wait for one another longer than they work
            boosted.fit(features(plays), plays.coins)
        return lambda plays: np.asarray(boosted.decision_function(features(plays)))


def _features(plays: Plays) -> PlayScore:
    """Return the view of numbers that vary, what is missing from them, their norm, and of several a linear score."""
    everything = _tame(plays.numbers)
    varying = np.flatnonzero(np.any(everything != everything[:1], axis=0) | np.isnan(plays.numbers).any(axis=0))
    numbers = everything[:, varying]
    direction, spread = np.zeros(varying.size), numbers.std(axis=0)
    if 1 < varying.size <= _WIDEST and np.any(spread > 0):
        scale = np.where(spread > 0, spread, 1.0)
        linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-6)
        direction = linear.fit(numbers / scale, plays.coins).coef_[0] / scale

    def seen(plays: Plays) -> Floats:
        numbers = plays.numbers[:, varying]
        known = _tame(numbers)
        return np.column_stack([known, np.isnan(numbers), np.linalg.norm(known, axis=1), known @ direction])

    return seen


_WIDEST = 1000
"""Beyond so many numbers the linear score would take longer than the trees."""


def _tame(numbers: Floats) -> Floats:
    """Return numbers without gaps and small enough to be squared, in their order: huge ones stay apart."""
    known = np.nan_to_num(numbers)
    with np.errstate(divide="ignore"):
        beyond = 1e100 * (1 + np.log10(np.maximum(np.abs(known), 1e100) / 1e100))
    return np.asarray(np.where(np.abs(known) > 1e100, np.sign(known) * beyond, known))
