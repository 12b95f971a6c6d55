"""Exhibits of objective perturbation: the 2008 algorithm below its threshold, and a norm that was not squared."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import expit

from tacit.audit.attacks import LikelihoodRatio
from tacit.audit.case import Case, Question
from tacit.audit.exhibits.exhibit import grid_laplace
from tacit.audit.game import Batch
from tacit.audit.laws import LOGISTIC, CountedRows, NoiseLaw, ObjectiveLaw
from tacit.audit.report import Exact
from tacit.audit.search import NeighbourPair, largest_loss
from tacit.budget import Budget
from tacit.noise import power_of_two_below
from tacit.numerics.arrays import Floats, Truths
from tacit.numerics.bisection import bisect_all


def nips2008_law(epsilon: float, ridge: float) -> ObjectiveLaw:
    """Return the law of the 2008 paper's Algorithm 2 as published: noise 2/epsilon at R = 1, whatever n lambda is."""
    return ObjectiveLaw(LOGISTIC, ridge, NoiseLaw(2 / epsilon))


def nips2008(question: Question) -> Case:
    """Objective perturbation as published in 2008 ("private for any lambda"), with one record that becomes 0.

    The proof leaves out the Jacobian of the map from noise to solution.
    """
    return _case(question.claim, nips2008_law(question.epsilon, question.ridge(0.01)), 1.0)


def wrong_norm_law(epsilon: float, ridge: float, norm: float) -> ObjectiveLaw:
    """Return the law of objective perturbation that pays log(1 + c R/(n lambda)) where c R^2 is needed."""
    raised = max(ridge, 0.25 * norm / math.expm1(epsilon / 2))
    left = epsilon - math.log1p(0.25 * norm / raised)
    return ObjectiveLaw(LOGISTIC, raised, NoiseLaw(2 * norm / left))


def wrong_norm(question: Question) -> Case:
    """Objective perturbation that pays for the Jacobian with c R in place of c R^2, at R = 100."""
    return _case(question.claim, wrong_norm_law(question.epsilon, question.ridge(1.0), 100.0), 100.0)


def _case(claim: Budget, law: ObjectiveLaw, norm: float) -> Case:
    one, other = ((np.array([[row]]), np.array([1.0])) for row in (norm, 0.0))
    first, second = CountedRows.of(*one), CountedRows.of(*other)
    attack = LikelihoodRatio(lambda w: law.log_density(w, first), lambda w: law.log_density(w, second))
    loss, at = largest_loss(law, NeighbourPair(first, second, np.zeros(1), ""))
    delta = law.delta(first, second, claim.epsilon, 40 * law.noise.unit / law.ridge)
    exact = Exact(loss, delta, 1, f"one record x={norm:g} becomes 0, seen at w={at[0]:.4g}")
    return Case(claim, OneDimensional(law.ridge, law.noise.unit), one, other, (attack,), 1_000_000, exact)


@final
@dataclass(frozen=True)
class OneDimensional(Batch):
    """The minimiser of sum log(1 + exp(-y x w)) + n lambda/2 w^2 + b w for Laplace b, solved to the last bit.

    It is then rounded to a millionth of the noise in it: the low bits of a double would tell whether the record is 0
    (w = -b / n lambda), and the mistake to be caught here is another.
    """

    ridge: float
    scale: float

    def many(self, data: Any, count: int) -> Floats:
        """Return so many minimisers, by bisection."""
        pulls = (data[0][:, 0] * data[1])[:, None]
        tilt = grid_laplace(self.scale, count)
        reach = np.abs(pulls).sum()

        def falls(at: Floats) -> Truths:
            return np.asarray(self.ridge * at + tilt < (pulls * expit(-pulls * at)).sum(axis=0))

        found = bisect_all(falls, (-tilt - reach) / self.ridge, (-tilt + reach) / self.ridge, 70)
        grid = power_of_two_below(self.scale / self.ridge) * 2.0**-20
        return np.asarray(np.round(found / grid) * grid)[:, None]
