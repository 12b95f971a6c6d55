"""Exhibits that choose: a sparse vector without threshold noise, and the printed exponent of TDIL."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.audit.attacks import LikelihoodRatio
from tacit.audit.case import Case, Question
from tacit.audit.exhibits.exhibit import grid_laplace
from tacit.audit.game import Batch
from tacit.audit.report import Exact
from tacit.noise import source_for, uniform
from tacit.numerics.arrays import Floats

_QUERIES, _THRESHOLD = 10, 1.0


@final
@dataclass(frozen=True)
class _NoThresholdNoise(Batch):
    """The index of the first query whose noisy value reaches the threshold, or the number of queries if none does."""

    scale: float

    def many(self, data: Any, count: int) -> Floats:
        """Return so many indices; every query's value is the one record."""
        noisy = float(data[0]) + grid_laplace(self.scale, count * _QUERIES).reshape(count, _QUERIES)
        above = np.column_stack([noisy >= _THRESHOLD, np.ones(count, dtype=bool)])
        return np.asarray(above.argmax(axis=1), dtype=np.float64)[:, None]


def sparse_vector(question: Question) -> Case:
    """The sparse vector technique with noise 2/epsilon on queries and none on the threshold, claimed as pure.

    Each query below the threshold costs; without threshold noise, nothing pays for them together.
    """
    scale = 2 / question.epsilon

    def chances(value: float) -> Floats:
        below = 1 - math.exp(-(_THRESHOLD - value) / scale) / 2
        return np.asarray(below ** np.arange(_QUERIES + 1) * np.append(np.full(_QUERIES, 1 - below), 1.0))

    tables = chances(0.0), chances(1.0)
    exact = Exact.of_chances(*tables, question.epsilon, f"{_QUERIES} queries all rise from 0 to 1")
    attack = LikelihoodRatio.of_chances(*tables)
    return Case(question.claim, _NoThresholdNoise(scale), [0.0], [1.0], (attack,), 200_000, exact)


def tdil_exponent(epsilon: float, delta: float, count: int, ridge: float) -> float:
    """Return the factor of |<z, w - w*>| in line 5 of TDIL as printed, for L = R = 1.

    epsilon_0 = n epsilon lambda / (10 sqrt(B) log(4/delta)) already contains n lambda; line 5 multiplies by
    n lambda / 8 again.
    """
    rounds = math.floor(count * epsilon / (100 * math.log(4 / delta)))
    first = count * epsilon * ridge / (10 * math.sqrt(rounds) * math.log(4 / delta))
    return first * count * ridge / 8


@final
@dataclass(frozen=True)
class TdilRound(Batch):
    """The point z in [-1, 1] that the first round of TDIL draws: density proportional to exp(k |z w*|)."""

    exponent: float
    ridge: float

    def tilt(self, data: Any) -> float:
        """Return k |w*| for the hinge loss, where w* is the sum of y x over n lambda as long as no margin exceeds 1."""
        rows, targets = data
        return self.exponent * abs(float(np.dot(rows, targets))) / (len(rows) * self.ridge)

    def many(self, data: Any, count: int) -> Floats:
        """Return so many points, by inverting the cdf of |z|."""
        source, tilt = source_for(None), self.tilt(data)
        share = uniform(source, count)
        size = np.log1p(share * np.expm1(tilt)) / tilt if tilt else share
        return np.where(uniform(source, count) < 0.5, size, -size)[:, None]

    def log_density(self, data: Any, points: Floats) -> Floats:
        """Return the exact log density."""
        tilt = self.tilt(data)
        constant = math.log(tilt / math.expm1(tilt)) if tilt else 0.0
        return tilt * np.abs(points[:, 0]) + constant - math.log(2)


def tdil(question: Question) -> Case:
    """The sampling step of TDIL (2013, Algorithm 3, line 5) with the exponent as printed.

    The proof of its Theorem 7 counts the points z_1, ..., z_B as released. Here the first of them alone, with one
    record that is not 0 against none, exceeds the whole budget.
    """
    claim, count, ridge = question.claim, 62_500, 1.0
    mechanism = TdilRound(tdil_exponent(claim.epsilon, claim.delta, count, ridge), ridge)
    rows, targets = np.zeros(count), np.ones(count)
    other = rows.copy()
    other[0] = 1.0
    first, second = (rows, targets), (other, targets)
    attack = LikelihoodRatio(lambda z: mechanism.log_density(first, z), lambda z: mechanism.log_density(second, z))
    points = np.linspace(-1, 1, 200_001)[:, None]
    one, two = (mechanism.log_density(data, points) for data in (first, second))
    delta = float(np.mean(np.maximum(np.exp(one) - math.exp(claim.epsilon) * np.exp(two), 0)) * 2)
    where = f"n={count}, lambda={ridge:g}: all rows 0, or one of them 1"
    exact = Exact(float(np.abs(one - two).max()), delta, 1, where)
    return Case(claim, mechanism, first, second, (attack,), 100_000, exact)
