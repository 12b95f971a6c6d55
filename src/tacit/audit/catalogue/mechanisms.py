"""Audits of tacit's mechanisms, each through the one door, with its exact likelihood ratio."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tacit.accounting.analytic import gaussian_delta
from tacit.audit.attacks import LikelihoodRatio, LowBits
from tacit.audit.case import Audited, Case, Question
from tacit.audit.laws import NoiseLaw
from tacit.audit.report import Exact
from tacit.mechanisms import Exponential, Gaussian, Laplace, Mechanism, Repetition, SparseVector, SphericalLaplace
from tacit.mechanisms.repetition import Run
from tacit.numerics.arrays import Floats
from tacit.releases import release

_PLAYS = 8_000
_QUERIES = 8
_CANDIDATES = 20


def _released(mechanism: Mechanism[Any, Any], statistic: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the mechanism as a function of a data set."""
    return lambda data: release(mechanism, statistic(data), label="audit")


def laplace(question: Question) -> Case:
    """A count that moves by its sensitivity, 1; attacked by likelihood and through its low bits."""
    mechanism = Laplace.for_budget(question.claim)
    attacks = (LikelihoodRatio.shifted(NoiseLaw(mechanism.scale).log_density, 0, 1), LowBits((0.0,), (1.0,)))
    exact = Exact.of_laplace(1.0, mechanism.scale, question.epsilon, "a count moves by 1")
    return Case(question.claim, _released(mechanism, sum), [0.0], [1.0], attacks, _PLAYS, exact)


def gaussian(question: Question) -> Case:
    """A pair of numbers that moves by its sensitivity, 1, in L2 norm."""
    mechanism = Gaussian.for_budget(question.claim, 1.0, 2)
    sigma = mechanism.standard_deviation
    exact = Exact(math.inf, gaussian_delta(question.epsilon, 1 / sigma), 1, "a vector moves by 1")
    return _vector(question, mechanism, NoiseLaw(sigma, gaussian=True), exact)


def spherical(question: Question) -> Case:
    """A pair of numbers that moves by its sensitivity, 1, in L2 norm."""
    mechanism = SphericalLaplace.for_budget(question.claim, 1.0, 2)
    exact = Exact(1 / mechanism.scale, None, 1, "a vector moves by 1")
    return _vector(question, mechanism, NoiseLaw(mechanism.scale), exact)


def _vector(question: Question, mechanism: Mechanism[Any, Any], law: NoiseLaw, exact: Exact) -> Case:
    first, second = (0.0, 0.0), (0.6, 0.8)
    attacks = (LikelihoodRatio.shifted(law.log_density, first, second), LowBits(first, second))
    released = _released(mechanism, partial(np.sum, axis=0))
    return Case(question.claim, released, [first], [second], attacks, _PLAYS, exact)


def exponential(question: Question) -> Case:
    """Twenty candidates: one gains its sensitivity while all others lose theirs."""
    mechanism = Exponential.for_budget(question.claim, candidates=_CANDIDATES)

    def scores(data: Any) -> Floats:
        return np.asarray(np.where(np.arange(_CANDIDATES) == 0, data[0], 1 - data[0]))

    weights = [np.exp(mechanism.rate * scores([record])) for record in (1.0, 0.0)]
    first, second = (weight / weight.sum() for weight in weights)
    where = "one score rises, all others' fall"
    return _chosen(question, _released(mechanism, scores), (1.0, 0.0), (first, second), where)


def sparse_vector(question: Question) -> Case:
    """Eight queries; those before the last move one way, the last moves the other."""
    mechanism = SparseVector.for_budget(question.claim, threshold=0.5)
    noises = tuple(units * mechanism.grid for units in mechanism.units)

    def queries(data: Any) -> Floats:
        return np.append(np.full(_QUERIES - 1, data[0]), 1 - data[0])

    def first_hit(data: Any) -> int:
        answers = release(mechanism, queries(data), label="audit").value
        return len(answers) - 1 if answers[-1] else _QUERIES

    first, second = (_hit_chances(queries([record]), 0.5, *noises) for record in (0.0, 1.0))
    where = f"{_QUERIES - 1} queries rise by 1, the last falls by 1"
    return _chosen(question, first_hit, (0.0, 1.0), (first, second), where)


def repetition(question: Question) -> Case:
    """The highest of secretly many noisy counts of one number, which moves by 1; two thirds of epsilon are for each."""
    mechanism = Repetition(question.claim, 1, 3.0)
    count, more = Laplace.for_budget(mechanism.inner), float(1 - mechanism.stop)

    def highest(data: Any) -> float:
        def run(candidate: int, _: Any) -> Run:
            return Run(candidate, float(release(count, sum(data), label="audit").value))

        return release(mechanism, run, label="audit").value.score

    def log_density(noise: Floats) -> Floats:
        """With density f and cdf F of one count, that of the highest is f/sqrt(1 - more F) up to a constant."""
        tail = np.exp(-np.abs(noise[:, 0]) / count.scale) / 2
        below = np.where(noise[:, 0] < 0, tail, 1 - tail)
        return np.asarray(-np.abs(noise[:, 0]) / count.scale - np.log1p(-more * below) / 2)

    points = np.linspace(-40, 40, 100_001)[:, None] * count.scale
    loss = float(np.abs(log_density(points) - log_density(points - 1)).max())
    exact = Exact(loss, None, 1, "a count moves by 1")
    attacks = (LikelihoodRatio.shifted(log_density, 0, 1), LowBits((0.0,), (1.0,)))
    return Case(question.claim, highest, [0.0], [1.0], attacks, _PLAYS, exact)


def _chosen(
    question: Question,
    run: Callable[[Any], Any],
    records: tuple[float, float],
    chances: tuple[Floats, Floats],
    where: str,
) -> Case:
    """Return the audit of an answer that is one of finitely many indices, whose chances are known."""
    exact = Exact.of_chances(*chances, question.epsilon, where)
    attack = LikelihoodRatio.of_chances(*chances)
    return Case(question.claim, run, [records[0]], [records[1]], (attack,), _PLAYS, exact)


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


MECHANISMS = (
    Audited("Laplace", laplace, delta=0.0),
    Audited("Gaussian", gaussian, delta=1e-5),
    Audited("SphericalLaplace", spherical, delta=0.0),
    Audited("Exponential", exponential, delta=0.0),
    Audited("SparseVector", sparse_vector, delta=0.0),
    Audited("Repetition", repetition, delta=0.0),
)
