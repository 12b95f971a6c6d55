"""Exhibits that add noise to a number, and are wrong about how far the number moves or how the noise is drawn."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.audit.attacks import Canary, LikelihoodRatio, LowBits
from tacit.audit.case import Case, Question
from tacit.audit.exhibits.exhibit import Additive, grid_laplace, textbook_spherical
from tacit.audit.laws import NoiseLaw
from tacit.audit.report import Exact
from tacit.budget import Budget
from tacit.noise import source_for, uniform
from tacit.numerics.arrays import Floats


def _total(data: Any) -> Floats:
    return np.array([float(np.sum(data))])


def _laplace_case(
    claim: Budget, statistic: Callable[[Any], Floats], scale: float, pair: tuple[Any, Any], plays: int, where: str
) -> Case:
    """Return the audit of Laplace noise of this scale on a number that each of two data sets gives."""
    mechanism = Additive(statistic, lambda count: grid_laplace(scale, count)[:, None])
    first, second = (float(statistic(data)[0]) for data in pair)
    attack = LikelihoodRatio.shifted(NoiseLaw(scale).log_density, first, second)
    exact = Exact.of_laplace(abs(first - second), scale, claim.epsilon, where)
    return Case(claim, mechanism, *pair, (attack,), plays, exact)


def laplace_deviation(question: Question) -> Case:
    """Laplace noise whose *standard deviation*, not scale, is sensitivity / epsilon (2008 paper, Algorithm 1).

    The scale is then smaller by sqrt(2), and the true epsilon larger by as much.
    """
    scale = 1 / (question.claim.epsilon * math.sqrt(2))
    return _laplace_case(question.claim, _total, scale, ([0.0], [1.0]), 100_000, "a count moves by 1")


def float_noise(question: Question) -> Case:
    """Laplace noise of the right scale, added in doubles: the low bits tell the value (Mironov 2012)."""
    claim = question.claim

    def textbook_noise(count: int) -> Floats:
        draw = uniform(source_for(None), count)[:, None] - 0.5
        return np.asarray(-np.sign(draw) * np.log1p(-2 * np.abs(draw)) / claim.epsilon)

    mechanism = Additive(_total, textbook_noise)
    exact = Exact(math.inf, None, 1, "an answer that no double added to the other value gives")
    return Case(claim, mechanism, [0.0], [1.0], (LowBits((0.0,), (1.0,)),), 50_000, exact)


def lecture_least_squares(question: Question) -> Case:
    """Unregularised least squares with the sensitivity 2M sqrt(k) (N + PM)/n of the introductory lecture's Theorem 6.

    One record that is not zero decides the whole solution: it moves by 2 where the theorem, at M = N = P = k = 1,
    claims 4/n. The true epsilon is n/2 times the claimed one.
    """
    claim, count = question.claim, 20

    def solution(data: Any) -> Floats:
        rows, targets = data
        return np.array([np.clip(np.dot(rows, targets) / np.dot(rows, rows), -1, 1)])

    rows, targets = np.eye(count)[-1], np.ones(count)
    pair = (rows, targets), (rows, targets - 2 * rows)
    where = f"n={count}, one row is not 0 and its target flips"
    return _laplace_case(claim, solution, 4 / count / claim.epsilon, pair, 40_000, where)


def unregularised_intercept(question: Question) -> Case:
    """Output perturbation whose ridge, and so whose sensitivity 2R/(n lambda), leaves the intercept out.

    With rows of zeros the fitted intercept is the logarithm of the odds of the labels: it moves by log 4 when one of
    three labels flips, however large lambda is.
    """
    claim = question.claim
    scale = 2 * math.sqrt(2) / question.ridge(30.0) / claim.epsilon

    def fitted(data: Any) -> Floats:
        positive = np.sum(data[1] > 0)
        return np.array([0.0, math.log(positive / (len(data[1]) - positive))])

    rows = np.zeros((3, 1))
    mechanism = Additive(fitted, lambda plays: textbook_spherical(scale, plays))
    up = np.array([0.0, math.log(2)])
    attack = LikelihoodRatio.shifted(NoiseLaw(scale).log_density, up, -up)
    first, second = (rows, np.array([1.0, 1.0, -1.0])), (rows, np.array([1.0, -1.0, -1.0]))
    exact = Exact(math.log(4) / scale, None, 1, "three rows of zeros, one label flips")
    return Case(claim, mechanism, first, second, (attack,), 40_000, exact)


def shared_noise(question: Question) -> Case:
    """One-vs-rest for three classes at epsilon / 3 each, with the *same* noise for every class.

    The noise drops out of the difference of two classes' coefficients, and the difference is then known exactly.
    """
    claim = question.claim
    scale = 2 / (claim.epsilon / 3)

    def hinge_solutions(data: Any) -> Floats:
        # One record x = 1 with lambda = 1: each class's solution is +1 if the label is that class, else -1.
        return np.where(np.arange(3) == data[1][0], 1.0, -1.0)

    mechanism = Additive(hinge_solutions, lambda plays: np.repeat(grid_laplace(scale, plays)[:, None], 3, axis=1))
    row = np.array([[1.0]])
    exact = Exact(math.inf, None, 1, "one record, its class changes")
    attack = Canary((1.0, -1.0, 0.0))
    return Case(claim, mechanism, (row, np.array([0])), (row, np.array([1])), (attack,), 20_000, exact)
