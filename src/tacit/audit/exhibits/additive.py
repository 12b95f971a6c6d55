"""Exhibits that add noise to a number, and are wrong about how far the number moves or how the noise is drawn."""

import math
from typing import Any

import numpy as np

from tacit.audit.attacks import Canary, LikelihoodRatio, LowBits
from tacit.audit.case import Case, Question
from tacit.audit.exhibits.exhibit import Additive, grid_laplace, laplace_exact, textbook_laplace, textbook_spherical
from tacit.audit.report import Exact
from tacit.numerics.arrays import Floats


def _ratio(scale: float, first: float, second: float) -> LikelihoodRatio:
    return LikelihoodRatio(lambda x: -np.abs(x[:, 0] - first) / scale, lambda x: -np.abs(x[:, 0] - second) / scale)


def _total(data: Any) -> Floats:
    return np.array([float(np.sum(data))])


def laplace_deviation(question: Question) -> Case:
    """Laplace noise whose *standard deviation*, not scale, is sensitivity / epsilon (2008 paper, Algorithm 1).

    The scale is then smaller by sqrt(2), and the true epsilon larger by as much.
    """
    name = "exhibit-laplace-deviation"
    question.refuse(name, "n_lambda", "perturbation")
    claim = question.pure(name)
    scale = 1 / (claim.epsilon * math.sqrt(2))
    mechanism = Additive(_total, lambda count: grid_laplace(scale, count)[:, None])
    exact = laplace_exact(1.0, scale, claim.epsilon, "a count moves by 1")
    return Case(name, claim, mechanism, [0.0], [1.0], (_ratio(scale, 0.0, 1.0),), 100_000, exact)


def float_noise(question: Question) -> Case:
    """Laplace noise of the right scale, added in doubles: the low bits tell the value (Mironov 2012)."""
    name = "exhibit-float-noise"
    question.refuse(name, "n_lambda", "perturbation")
    claim = question.pure(name)
    mechanism = Additive(_total, lambda count: textbook_laplace(1 / claim.epsilon, count)[:, None])
    exact = Exact(math.inf, None, 1, "an answer that no double added to the other value gives")
    return Case(name, claim, mechanism, [0.0], [1.0], (LowBits((0.0,), (1.0,)),), 50_000, exact)


def lecture_least_squares(question: Question) -> Case:
    """Unregularised least squares with the sensitivity 2M sqrt(k) (N + PM)/n of the introductory lecture's Theorem 6.

    One record that is not zero decides the whole solution: it moves by 2 where the theorem, at M = N = P = k = 1,
    claims 4/n. The true epsilon is n/2 times the claimed one.
    """
    name = "exhibit-lecture-least-squares"
    question.refuse(name, "n_lambda", "perturbation")
    claim = question.pure(name)
    count = 20
    scale = 4 / count / claim.epsilon

    def solution(data: Any) -> Floats:
        rows, targets = data
        return np.array([np.clip(np.dot(rows, targets) / np.dot(rows, rows), -1, 1)])

    rows, up, down = np.eye(count)[-1], np.ones(count), np.ones(count)
    down[-1] = -1.0
    mechanism = Additive(solution, lambda plays: grid_laplace(scale, plays)[:, None])
    exact = laplace_exact(2.0, scale, claim.epsilon, f"n={count}, one row is not 0 and its target flips")
    return Case(name, claim, mechanism, (rows, up), (rows, down), (_ratio(scale, 1.0, -1.0),), 40_000, exact)


def unregularised_intercept(question: Question) -> Case:
    """Output perturbation whose ridge, and so whose sensitivity 2R/(n lambda), leaves the intercept out.

    With rows of zeros the fitted intercept is the logarithm of the odds of the labels: it moves by log 4 when one of
    three labels flips, however large lambda is.
    """
    name = "exhibit-intercept"
    question.refuse(name, "perturbation")
    claim = question.pure(name)
    scale = 2 * math.sqrt(2) / question.ridge(30.0) / claim.epsilon

    def fitted(data: Any) -> Floats:
        positive = np.sum(data[1] > 0)
        return np.array([0.0, math.log(positive / (len(data[1]) - positive))])

    def log_density(intercept: float) -> Any:
        return lambda x: -np.hypot(x[:, 0], x[:, 1] - intercept) / scale

    rows = np.zeros((3, 1))
    mechanism = Additive(fitted, lambda plays: textbook_spherical(scale, plays))
    attack = LikelihoodRatio(log_density(math.log(2)), log_density(-math.log(2)))
    first, second = (rows, np.array([1.0, 1.0, -1.0])), (rows, np.array([1.0, -1.0, -1.0]))
    exact = Exact(math.log(4) / scale, None, 1, "three rows of zeros, one label flips")
    return Case(name, claim, mechanism, first, second, (attack,), 40_000, exact)


def shared_noise(question: Question) -> Case:
    """One-vs-rest for three classes at epsilon / 3 each, with the *same* noise for every class.

    The noise drops out of the difference of two classes' coefficients, and the difference is then known exactly.
    """
    name = "exhibit-shared-noise"
    question.refuse(name, "n_lambda", "perturbation")
    claim = question.pure(name)
    scale = 2 / (claim.epsilon / 3)

    def hinge_solutions(data: Any) -> Floats:
        # One record x = 1 with lambda = 1: each class's solution is +1 if the label is that class, else -1.
        return np.where(np.arange(3) == data[1][0], 1.0, -1.0)

    mechanism = Additive(hinge_solutions, lambda plays: np.repeat(grid_laplace(scale, plays)[:, None], 3, axis=1))
    row = np.array([[1.0]])
    exact = Exact(math.inf, None, 1, "one record, its class changes")
    attacks = (Canary((1.0, -1.0, 0.0)),)
    return Case(name, claim, mechanism, (row, np.array([0])), (row, np.array([1])), attacks, 20_000, exact)
