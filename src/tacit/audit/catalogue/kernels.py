"""Audits of kernel learners: one record whose label flips, under a loss whose solution then moves as far as it can."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.stats import laplace, nbinom

from tacit.accounting.analytic import gaussian_delta
from tacit.audit.attacks import Canary, LikelihoodRatio, LowBits
from tacit.audit.case import Audited, Case, Question
from tacit.audit.report import Exact
from tacit.kernels import RBF, InteractiveKernelPredictor, Linear, PrivateKernelClassifier, PrivateKernelRegressor
from tacit.kernels.interactive.pinp import Pinp
from tacit.kernels.released.model import Method
from tacit.numerics.arrays import Floats

_PLAYS = 1_000
_ROW = np.array([[1.0]])
_UP, _DOWN = (_ROW, np.array([1.0])), (_ROW, np.array([-1.0]))
_CLASSES = [-1.0, 1.0]
_DELTA = 1e-5


def process(question: Question) -> Case:
    """A Gaussian process over one record under the hinge, alpha 1: its solution moves by 2, all of the sensitivity.

    Three points are asked one after another; the exact likelihood ratio of the answers is the attack.
    """
    claim, kernel, points = question.claim, RBF(1.0), np.array([[1.0], [0.2], [-0.7]])

    def fitted(data: Any) -> InteractiveKernelPredictor:
        return InteractiveKernelPredictor(
            kernel, claim.epsilon, claim.delta, loss="hinge", alpha=1.0, data_norm=1.0, classes=_CLASSES
        ).fit(*data)

    def answers(data: Any) -> Floats:
        predictor = fitted(data)
        return np.array([predictor.answer(point[None]).values[0] for point in points])

    # At x = 1 the deviation is sigma but for the jitter, which is a millionth of it.
    sigma = float(fitted(_UP).answer(_ROW).standard_deviation[0])
    inverse = np.asarray(np.linalg.inv(sigma**2 * (kernel.block(points, points) + 1e-6 * np.eye(3))), dtype=np.float64)
    mean = kernel.block(points, _ROW)[:, 0]
    ratio = LikelihoodRatio.shifted(lambda rest: -np.einsum("ij,jk,ik->i", rest, inverse, rest) / 2, mean, -mean)
    shift = math.sqrt(float(4 * mean @ inverse @ mean))
    exact = Exact(math.inf, gaussian_delta(claim.epsilon, shift), 1, "the label of the only record flips")
    return Case(claim, answers, _UP, _DOWN, (ratio, LowBits(tuple(mean), tuple(-mean))), _PLAYS, exact)


def pinp(question: Question) -> Case:
    """A transcript of PINP: forty points near the one record, with a low threshold so that updates happen."""
    claim, points = question.claim, np.linspace(0.9, 1.0, 40)[:, None]

    def fitted(data: Any) -> InteractiveKernelPredictor:
        return InteractiveKernelPredictor(
            Linear(), claim.epsilon, claim.delta, method="pinp", loss="hinge", alpha=1.0, data_norm=1.0,
            classes=_CLASSES, queries=1, failure=0.999,
        ).fit(*data)  # fmt: skip

    threshold = float(fitted(_UP).answer(_ROW).error[0]) / 1.25
    scale = threshold / (4 * math.log(2 / 0.999))

    def log_chance(label: float) -> Callable[[Floats], Floats]:
        """Return the log-likelihood of a transcript up to its first update, the only one that there is."""
        values = label * points[:, 0]
        silent = laplace.cdf(threshold - values, scale=scale) - laplace.cdf(-threshold - values, scale=scale)

        def likelihood(answers: Floats) -> Floats:
            updated = answers != 0
            first = np.where(updated.any(axis=1), updated.argmax(axis=1), len(values))
            before = np.concatenate([[0.0], np.cumsum(np.log(silent))])[first]
            place = np.minimum(first, len(values) - 1)
            seen = laplace.logpdf(answers[np.arange(len(answers)), place] - values[place], scale=scale)
            return np.asarray(before + np.where(first < len(values), seen, 0.0))

        return likelihood

    attack = LikelihoodRatio(log_chance(1.0), log_chance(-1.0))
    law = fitted(_UP)._session.law
    assert isinstance(law, Pinp)
    delta = _worst_delta(claim.epsilon, law.moved / law.scale, law.updates)
    exact = Exact(math.inf, delta, 1, "rounds that update with the two most telling chances")
    return Case(claim, lambda data: fitted(data).answer(points).values, _UP, _DOWN, (attack,), _PLAYS, exact)


def _worst_delta(epsilon: float, each: float, updates: int) -> float:
    """Return the exact delta of PINP's worst adversary: every round updates with chance 1/(1+E) or E/(1+E), E = e^each.

    What is told is how many rounds pass before the last update, negative binomial either way.
    """
    odds = math.exp(each)
    counts = np.arange(0, 400 * updates + 2000)
    first = nbinom.pmf(counts, updates, 1 / (1 + odds))
    second = nbinom.pmf(counts, updates, odds / (1 + odds))
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def classifier(way: Literal["landmarks", "fourier", "tddl", "matched", "tdil", "ball"]) -> Callable[[Question], Case]:
    """Return the audit of a released model: one landmark where the record is, so that nothing of it is lost.

    The ball is that of TDIL with a linear kernel, from which three points are drawn.
    """
    kernel = Linear() if way == "ball" else RBF(1.0)
    landmarks = {"ball": 1, "fourier": 2}.get(way, np.array([[1.0]]))
    smooth = way in ("landmarks", "fourier")
    loss: Literal["logistic", "hinge"] = "logistic" if smooth else "hinge"
    method: Method = "tdil" if way == "ball" else way
    variant = {"unit": "record", "method": method, "loss": loss, "classes": "two"}
    variant |= {"perturbation": "objective"} if smooth else {}

    def build(question: Question) -> Case:
        claim = question.claim

        def weights(data: Any) -> Floats:
            model = PrivateKernelClassifier(
                kernel, claim.epsilon, claim.delta, landmarks=landmarks, method=method, loss=loss, data_norm=1.0,
                alpha=question.ridge(1.0) if not smooth or question.n_lambda is not None else "auto",
                rounds=3 if way == "ball" else 1, classes=_CLASSES,
            ).fit(*data)  # fmt: skip
            return np.asarray(model.model_.scores(_ROW)).ravel()

        return Case(claim, weights, _UP, _DOWN, (Canary((1.0,)),), _PLAYS, variant=variant)

    return build


def regressor(question: Question) -> Case:
    """A released model of a number; the target goes from one end of its range to the other."""
    claim = question.claim

    def weights(data: Any) -> Floats:
        model = PrivateKernelRegressor(
            RBF(1.0), claim.epsilon, claim.delta, target_range=(-1.0, 1.0), landmarks=np.array([[1.0]]), data_norm=1.0
        )
        return np.asarray(model.fit(*data).predict(_ROW))

    variant = {"unit": "record", "method": "landmarks", "loss": "absolute", "perturbation": "objective"}
    return Case(claim, weights, _UP, _DOWN, (Canary((1.0,)),), _PLAYS, variant=variant)


_RIDGE = ("n_lambda",)
KERNELS = (
    Audited("InteractiveKernelPredictor", process, delta=_DELTA),
    Audited("InteractiveKernelPredictor-pinp", pinp, delta=_DELTA),
    Audited("PrivateKernelClassifier", classifier("landmarks"), _RIDGE),
    Audited("PrivateKernelClassifier-fourier", classifier("fourier"), _RIDGE),
    Audited("PrivateKernelClassifier-tddl", classifier("tddl"), _RIDGE),
    Audited("PrivateKernelClassifier-matched", classifier("matched"), _RIDGE, _DELTA),
    Audited("PrivateKernelClassifier-tdil", classifier("tdil"), _RIDGE),
    Audited("PrivateKernelClassifier-ball", classifier("ball"), _RIDGE, _DELTA),
    Audited("PrivateKernelRegressor", regressor, _RIDGE),
)
