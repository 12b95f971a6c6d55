"""Audits of tacit's mechanisms, each through the one door, with its exact likelihood ratio."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.accounting.analytic import gaussian_delta
from tacit.audit.attacks import Attack, LikelihoodRatio, LowBits
from tacit.audit.case import Case, Question
from tacit.audit.report import Exact
from tacit.mechanisms import Exponential, Gaussian, Laplace, Mechanism, SparseVector, SphericalLaplace
from tacit.numerics.arrays import Floats
from tacit.release import release

_PLAYS = 8_000
_QUERIES = 8
_CANDIDATES = 20


def _released(mechanism: Mechanism[Any, Any], statistic: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the mechanism as a function of a data set."""
    return lambda data: release(mechanism, statistic(data), label="audit")


def _table(first: Floats, second: Floats) -> LikelihoodRatio:
    """Return the likelihood ratio of answers that are indices, given their chances."""
    logs = np.log(first), np.log(second)
    return LikelihoodRatio(lambda x: logs[0][x[:, 0].astype(int)], lambda x: logs[1][x[:, 0].astype(int)])


def _finite(first: Floats, second: Floats, epsilon: float, where: str) -> Exact:
    """Return what the chances of finitely many answers say."""
    odds = math.exp(epsilon)
    delta = max(np.maximum(first - odds * second, 0).sum(), np.maximum(second - odds * first, 0).sum())
    return Exact(float(np.abs(np.log(first / second)).max()), float(delta), 1, where)


def laplace(question: Question) -> Case:
    """A count that moves by its sensitivity, 1; attacked by likelihood and through its low bits."""
    question.refuse("Laplace", "n_lambda", "perturbation")
    claim = question.pure("Laplace")
    mechanism = Laplace.for_budget(claim)
    scale = mechanism.scale
    ratio = LikelihoodRatio(lambda x: -np.abs(x[:, 0]) / scale, lambda x: -np.abs(x[:, 0] - 1) / scale)
    attacks: tuple[Attack, ...] = (ratio, LowBits((0.0,), (1.0,)))
    exact = Exact(1 / scale, max(0.0, -math.expm1((claim.epsilon - 1 / scale) / 2)), 1, "a count moves by 1")
    return Case("Laplace", claim, _released(mechanism, sum), [0.0], [1.0], attacks, _PLAYS, exact)


def gaussian(question: Question) -> Case:
    """A pair of numbers that moves by its sensitivity, 1, in L2 norm."""
    question.refuse("Gaussian", "n_lambda", "perturbation")
    claim = question.with_delta(1e-5)
    mechanism = Gaussian.for_budget(claim, 1.0, 2)
    sigma = mechanism.standard_deviation
    to = np.array([0.6, 0.8])
    ratio = LikelihoodRatio(
        lambda x: -np.square(x / sigma).sum(axis=1) / 2, lambda x: -np.square((x - to) / sigma).sum(axis=1) / 2
    )
    attacks: tuple[Attack, ...] = (ratio, LowBits((0.0, 0.0), (0.6, 0.8)))
    exact = Exact(math.inf, gaussian_delta(claim.epsilon, 1 / sigma), 1, "a vector moves by 1")
    run = _released(mechanism, lambda data: np.sum(data, axis=0))
    return Case("Gaussian", claim, run, [[0.0, 0.0]], [[0.6, 0.8]], attacks, _PLAYS, exact)


def spherical(question: Question) -> Case:
    """A pair of numbers that moves by its sensitivity, 1, in L2 norm."""
    question.refuse("SphericalLaplace", "n_lambda", "perturbation")
    claim = question.pure("SphericalLaplace")
    mechanism = SphericalLaplace.for_budget(claim, 1.0, 2)
    scale, to = mechanism.scale, np.array([0.6, 0.8])
    ratio = LikelihoodRatio(
        lambda x: -np.linalg.norm(x, axis=1) / scale, lambda x: -np.linalg.norm(x - to, axis=1) / scale
    )
    attacks: tuple[Attack, ...] = (ratio, LowBits((0.0, 0.0), (0.6, 0.8)))
    exact = Exact(1 / scale, None, 1, "a vector moves by 1")
    run = _released(mechanism, lambda data: np.sum(data, axis=0))
    return Case("SphericalLaplace", claim, run, [[0.0, 0.0]], [[0.6, 0.8]], attacks, _PLAYS, exact)


def exponential(question: Question) -> Case:
    """Twenty candidates: one gains its sensitivity while all others lose theirs."""
    question.refuse("Exponential", "n_lambda", "perturbation")
    claim = question.pure("Exponential")
    mechanism = Exponential.for_budget(claim, candidates=_CANDIDATES)

    def scores(data: Any) -> Floats:
        return np.asarray(np.where(np.arange(_CANDIDATES) == 0, data[0], 1 - data[0]))

    chances = [np.exp(mechanism.rate * scores([record])) for record in (1.0, 0.0)]
    first, second = (weight / weight.sum() for weight in chances)
    exact = _finite(first, second, claim.epsilon, "one candidate's score rises, all others' fall")
    run = _released(mechanism, scores)
    return Case("Exponential", claim, run, [1.0], [0.0], (_table(first, second),), _PLAYS, exact)


def sparse_vector(question: Question) -> Case:
    """Eight queries; those before the last move one way, the last moves the other."""
    question.refuse("SparseVector", "n_lambda", "perturbation")
    claim = question.pure("SparseVector")
    mechanism = SparseVector.for_budget(claim, threshold=0.5)
    noises = tuple(units * mechanism.grid for units in mechanism.units)

    def queries(data: Any) -> Floats:
        return np.append(np.full(_QUERIES - 1, data[0]), 1 - data[0])

    first, second = (_hit_chances(queries([record]), 0.5, *noises) for record in (0.0, 1.0))
    exact = _finite(first, second, claim.epsilon, f"{_QUERIES - 1} queries rise by 1, the last falls by 1")
    attack = _table(first, second)

    def first_hit(data: Any) -> int:
        answers = release(mechanism, queries(data), label="audit").value
        return len(answers) - 1 if answers[-1] else _QUERIES

    return Case("SparseVector", claim, first_hit, [0.0], [1.0], (attack,), _PLAYS, exact)


def _hit_chances(queries: Floats, threshold: float, of_threshold: float, of_query: float) -> Floats:
    """Return the chance that each query is the first above, and that none is, integrated over the threshold's noise."""
    noise = np.linspace(-40, 40, 80_001) * of_threshold
    weight = np.exp(-np.abs(noise) / of_threshold)
    weight /= weight.sum()
    gap = threshold + noise - queries[:, None]
    tail = np.exp(-np.abs(gap) / of_query) / 2
    below = np.where(gap >= 0, 1 - tail, tail)
    before = np.cumprod(np.vstack([np.ones_like(noise), below]), axis=0)
    above = np.vstack([1 - below, np.ones_like(noise)])
    return np.asarray((before * above) @ weight)


MECHANISMS: dict[str, Callable[[Question], Case]] = {
    "Laplace": laplace,
    "Gaussian": gaussian,
    "SphericalLaplace": spherical,
    "Exponential": exponential,
    "SparseVector": sparse_vector,
}
