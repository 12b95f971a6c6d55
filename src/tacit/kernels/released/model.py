"""Kernel models that leave the learner: released once, over public points, holding no training record."""

import math
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.data.shares import Shares
from tacit.data.store.lazy_rows import LazyRows
from tacit.erm.fitting import LossFor, fit_linear
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter
from tacit.kernels.fit.problem import LinearModel
from tacit.kernels.fit.reading import Alpha, Certified
from tacit.kernels.maps.fourier import FourierFeatures, FourierModel
from tacit.kernels.maps.landmarks import Expansion, Landmarks
from tacit.kernels.released.ball import BallRelease
from tacit.kernels.released.non_interactive import BudgetShares, Measurement, NetRelease
from tacit.kernels.released.posterior import posterior
from tacit.kernels.released.semi_interactive import LaplaceAnswers, answer_epsilon
from tacit.mechanisms.process import GaussianProcess
from tacit.numerics.spread import SpreadTable
from tacit.releases import Release, Terms

Method = Literal["landmarks", "fourier", "tddl", "matched", "tdil"]
METHODS = get_args(Method)


@final
@dataclass(frozen=True, eq=False)
class Released:
    """A public model, the ridge that was used, the release, and the margin in its loss."""

    model: Expansion | FourierModel
    alpha: float
    release: Release[Any]
    margin: float = 0.0


def release_linear(
    mapped: Landmarks | FourierFeatures,
    features: NDArray[Any] | LazyRows | SpreadTable,
    targets: Any,
    loss_for: LossFor,
    budget: Budget | None,
    perturbation: str,
    alpha: Alpha,
    terms: Terms,
    shares: Shares | None = None,
) -> Released:
    """Fit a linear model of features by one of the perturbations of linear learning.

    Guarantee: the model is (epsilon, delta)-private, pure when delta is 0.
    Assumes: `features` are `mapped.features(records)`, a map of each record by itself that depends on public quantities
    alone; they are clipped to its radius here.
    Reference: tacit/kernels/released/semi_interactive.md, "Landmarks"; tacit/erm/perturbations/perturbation.md.
    """
    norm = mapped.inner_domain.norm
    rows = Rows.clipped(features, norm) if isinstance(features, np.ndarray) else Rows.stored(features, np.inf, norm)
    rows = rows.weighed(shares)
    loss = loss_for(budget, rows)
    kind = perturbation if perturbation != "auto" else "objective" if np.isfinite(loss.smoothness) else "output"
    fitted = fit_linear(rows, targets, loss, budget, kind, alpha, terms.and_also(f"features by public {mapped.source}"))
    return Released(mapped.model(fitted.weights), fitted.alpha, fitted.release, fitted.margin)


def answer_noise(method: Method, budget: Budget, answers: int) -> float:
    """Return the standard deviation of one answer's noise, over what one record moves the answer by.

    `answers` are landmarks, or for "tdil" rounds.
    """
    if method == "tdil":
        return Measurement(BudgetShares(budget, answers), 1.0).deviation
    if method == "tddl":
        return math.sqrt(2) / answer_epsilon(budget, answers)
    if budget.is_pure:
        raise InvalidParameter("method='matched' needs delta > 0. Use 'landmarks' or 'tddl' for delta = 0.")
    return 1 / gaussian_shift(budget)


def release_answers(
    mapped: Landmarks, found: Certified, budget: Budget, method: Method, alpha: float, terms: Terms
) -> Released:
    """Release noisy answers of the exact kernel model at the landmarks, and the model that they speak for.

    Guarantee: the model is (epsilon, delta)-private; pure when delta is 0, which only independent noise allows.
    Assumes: the landmarks are public; replacing one record moves the model by at most `found.sensitivity`.
    Reference: tacit/kernels/released/semi_interactive.md.
    """
    domain, points = mapped.domain, mapped.points
    gram = domain.gram(points)
    facts = (f"{len(gram)} public landmarks", f"alpha={alpha:.6g}", f"the sensitivity {found.sensitivity:g}")
    if method == "matched":
        law = GaussianProcess(
            budget, found.sensitivity, domain.square, domain.accuracy, found.value_error, found.reach, len(gram)
        )
        noisy: Release[Any] = terms.release(law, found.model, *facts)
        drawn = noisy.value.draw(points, np.zeros((len(gram), 0)), gram)
        answers = np.array([each.answer for each in drawn])
        weights = posterior(gram, answers, law.sigma, found.size, law.jitter)
    else:
        moved = (domain.radius * found.sensitivity + 2 * found.value_error) * (1 + 2.0**-40)
        independent = LaplaceAnswers(budget, moved, len(gram))
        noisy = terms.release(independent, found.model.values(points), *facts)
        weights = posterior(gram, noisy.value, independent.deviation, found.size)
    return Released(Expansion(domain, points, weights[None, :]), alpha, noisy.map(lambda _: weights))


def release_tdil(net: Any, found: Certified, budget: Budget, rounds: int, alpha: float, terms: Terms) -> Released:
    """Release an exact model without any public sample: over a net, or over the ball if `net` is None.

    Guarantee: the model is (epsilon, delta)-private; pure when delta is 0, which only a net allows.
    Assumes: the net is public; over the ball the kernel is `Linear` itself and the model has its coefficient; replacing
    one record moves the model by at most `found.sensitivity`.
    Reference: tacit/kernels/released/non_interactive.md.
    """
    domain = found.domain
    facts = (f"{rounds} rounds over {'the ball' if net is None else 'a public net'}", f"alpha={alpha:.6g}")
    # The last term covers the rounding of differences between the exact model's values and the public model's.
    rounding = 2.0**-50 * (domain.width + 8) * domain.radius * found.size
    moved = (domain.radius * found.sensitivity + 2 * found.value_error + rounding) * (1 + 2.0**-40)
    points: Any
    if net is None:
        assert isinstance(found.model, LinearModel)
        ball = BallRelease(budget, domain.width, domain.norm, moved, found.size, rounds)
        chosen = terms.release(ball, found.model.coefficient, *facts)
        points, deviation = chosen.value[0], ball.measurement.deviation
    else:
        listed = NetRelease(budget, domain, domain.clipped(net), moved, found.size, rounds)
        chosen = terms.release(listed, found.model.values(listed.net), *facts)
        points, deviation = listed.net[chosen.value[0]], listed.measurement.deviation
    weights = posterior(domain.gram(points), chosen.value[1], deviation, found.size)
    return Released(Expansion(domain, points, weights[None, :]), alpha, chosen.map(lambda _: weights))
