"""Bob's weapons: how he turns an answer into a score that is higher the more it looks like the first data set.

A weapon may learn from the plays it is aimed with; it is judged on others. So a weak weapon finds less, but no
weapon, however wrong, can make a private mechanism look broken beyond the stated risk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tacit.audit.game import Plays
from tacit.audit.outputs import Array

__all__ = ["Canary", "Learned", "LikelihoodRatio", "LowBits", "Score", "Weapon"]

Score = Callable[[Array], Array]
LogDensity = Callable[[Array], Array]


class Weapon(ABC):
    """A way to score answers."""

    learns = False
    """Whether the score is fitted to plays, so that a threshold must be chosen on others."""

    @property
    def name(self) -> str:
        """What to call it."""
        return type(self).__name__

    @abstractmethod
    def aim(self, plays: Plays) -> Score:
        """Return the score, having looked at these plays at most."""


@final
@dataclass(frozen=True)
class LikelihoodRatio(Weapon):
    """The exact log-likelihood ratio: by Neyman and Pearson, no other score does better at any threshold."""

    first: LogDensity
    second: LogDensity

    @property
    def name(self) -> str:
        """What to call it."""
        return "exact likelihood ratio"

    def aim(self, plays: Plays) -> Score:
        """Return the ratio of the two densities; answers that neither can give say nothing."""

        def ratio(answers: Array) -> Array:
            with np.errstate(invalid="ignore"):
                return np.nan_to_num(self.first(answers) - self.second(answers), posinf=1e300, neginf=-1e300)

        return ratio


@final
@dataclass(frozen=True)
class Canary(Weapon):
    """What the released model says about the record that was planted: answers times a direction.

    For a model the direction is the canary's row times its target; for a service that answers with the canary's
    score it is [1].
    """

    direction: tuple[float, ...]

    @property
    def name(self) -> str:
        """What to call it."""
        return "canary"

    def aim(self, plays: Plays) -> Score:
        """Return the canary's score."""
        return lambda answers: np.nan_to_num(answers) @ np.asarray(self.direction)


@final
@dataclass(frozen=True)
class LowBits(Weapon):
    """The floating-point attack (Mironov 2012): answers that no double, added to a value, can give.

    `first` and `second` are the values before noise. If an answer has low bits that the sum of one value and a
    double can not have, it was the other value.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def name(self) -> str:
        """What to call it."""
        return "low bits"

    def aim(self, plays: Plays) -> Score:
        """Count the coordinates that rule out the second value, less those that rule out the first."""
        return lambda answers: _unreachable(answers, self.second) - _unreachable(answers, self.first)


def _unreachable(answers: Array, value: tuple[float, ...]) -> Array:
    base = np.asarray(value)
    return np.asarray(np.sum((answers - base) + base != answers, axis=1), dtype=np.float64)


@final
@dataclass(frozen=True)
class Learned(Weapon):
    """A classifier trained on plays, for mechanisms of which nothing else is known.

    Boosted trees on the answer itself, what is missing from it, its norm, and its projection on the direction that
    separates the two data sets' answers best.
    """

    trees: int = 60
    learns = True

    @property
    def name(self) -> str:
        """What to call it."""
        return "learned classifier"

    def aim(self, plays: Plays) -> Score:
        """Fit the classifier; without plays of both kinds every answer looks the same."""
        if len(set(plays.coins.tolist())) < 2:
            return lambda answers: np.zeros(len(answers))
        features = _Features.of(plays)
        boosted = HistGradientBoostingClassifier(
            max_iter=self.trees, max_leaf_nodes=8, learning_rate=0.1, early_stopping=False, random_state=0
        )
        with threadpool_limits(1):  # plays are few; threads would wait for one another longer than they work
            boosted.fit(features(plays.answers), plays.coins)
        return lambda answers: np.asarray(boosted.decision_function(features(answers)))


@final
@dataclass(frozen=True, eq=False)
class _Features:
    """The answer, what is missing from it, its norm and, for several coordinates, one linear score."""

    direction: Array

    @classmethod
    def of(cls, plays: Plays) -> "_Features":
        answers = _tame(plays.answers)
        direction = np.zeros(answers.shape[1])
        spread = answers.std(axis=0)
        if answers.shape[1] > 1 and np.any(spread > 0):
            scale = np.where(spread > 0, spread, 1.0)
            linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-6)
            direction = linear.fit(answers / scale, plays.coins).coef_[0] / scale
        return cls(direction)

    def __call__(self, answers: Array) -> Array:
        known = _tame(answers)
        size, score = np.linalg.norm(known, axis=1), known @ self.direction
        return np.column_stack([known, np.isnan(answers), size, score])


def _tame(answers: Array) -> Array:
    """Return answers without gaps, and small enough to be squared."""
    return np.asarray(np.clip(np.nan_to_num(answers), -1e100, 1e100))
