"""The ridge of a secret kernel model whose answers get noise, and how the noise compares with the answers.

One record moves an answer by at most 2 L R^2/(n alpha), and noise is a multiple of that which the budget and the number
of answers decide. The ridge makes it a share of a unit of the score: alpha falls as 1/n, and the bias with it, while
more answers, whose noise is a larger multiple, get more ridge. All of this is public: n, the budget, the number of
answers, the loss and R.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from tacit.budget import Budget
from tacit.erm.losses.loss import PointwiseLoss
from tacit.erm.losses.standard import HuberRegression, Squared
from tacit.erm.perturbations.defaults import checked_alpha, is_auto
from tacit.errors import InvalidParameter, OddTerms
from tacit.kernels.fit.problem import smallest_alpha
from tacit.kernels.fit.reading import CLASSIFICATION, LOSSES, Alpha, size_bound
from tacit.kernels.kernel.domain import Domain

_CLASSES_NOISE, _NUMBERS_NOISE = 1 / 4, 1 / 10
"""In units of the score, and of half the targets' range; chosen by benchmarks/results/kernel_ridge.md."""
_ROUND = sorted(digit * 10**power for power in range(13) for digit in (1, 2, 5))


@final
@dataclass(frozen=True)
class AnswerNoise:
    """A loss and its ridge, what an answer is off by, and the largest answer that any records could lead to."""

    loss: PointwiseLoss
    alpha: float
    error: float
    largest: float


def foresee_noise(
    name: object, alpha: Alpha, domain: Domain, count: int, multiple: float, weight: float = 1.0
) -> AnswerNoise:
    """Return the loss by its name, its ridge, and the noise of answers at that ridge, from public quantities alone.

    `multiple` is the noise over what one record moves an answer by. The ridge "auto" makes `weight` times the noise a
    quarter of a unit of the score, or a tenth of half the targets' range; it is never below what the solver takes.
    """
    unit = 2 * multiple * weight * domain.square / count
    chosen = CLASSIFICATION.get(name) if isinstance(name, str) else None
    loss: PointwiseLoss
    if chosen is not None:
        loss, usual = chosen, unit * chosen.lipschitz / _CLASSES_NOISE
    elif name == "absolute":
        loss = HuberRegression(1.0, 1.0)
        usual = unit * loss.lipschitz / _NUMBERS_NOISE
    elif name == "squared":
        # Its slope is at most 1 + R |w|, |w| <= 1/(2 sqrt(alpha)): what either part asks for, added, serves both.
        loss, share = Squared(1.0, 1.0), unit / _NUMBERS_NOISE
        usual = share + math.cbrt(share * domain.radius / 2) ** 2
    else:
        raise InvalidParameter(f"loss must be one of {', '.join(LOSSES)}, got {name!r}.")
    ridge = max(usual, smallest_alpha(domain, loss)) if is_auto(alpha) else checked_alpha(alpha)
    if name == "squared":
        size = 1 / (2 * math.sqrt(ridge)) if ridge <= domain.square else domain.radius / (domain.square + ridge)
        loss = Squared(1.0, 1.0001 * domain.radius * size)
    moved = 2 * loss.lipschitz * domain.square / (count * ridge)
    return AnswerNoise(loss, ridge, multiple * moved, size_bound(loss, domain.radius, ridge) * domain.radius)


def foresee_signal(
    foresee: Callable[[int, Budget, int], AnswerNoise],
    count: int,
    budget: Budget,
    answers: int,
    what: str,
    alpha: Alpha,
    seed: Any,
) -> AnswerNoise:
    """Return what `foresee` says; refuse a fit whose answers would be noise or 0, whatever the records are.

    A ridge of the caller's own is only warned of, and not under a seed. `what` is what an answer is called.
    """
    noise = foresee(count, budget, answers)
    if noise.error < noise.largest:
        return noise

    def first(values: Iterable[Any], at: Callable[[Any], tuple[int, Budget, int]]) -> Any:
        for value in values:
            try:
                better = foresee(*at(value))
            except InvalidParameter:
                continue
            if better.error < better.largest:
                return value
        return None

    larger = [n for n in _ROUND if n > count]
    epsilons = [each for each in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if each > budget.epsilon]
    fewer = [number for number in reversed(_ROUND) if number < answers]
    ways = {
        "{:,} records": first(larger, lambda n: (n, budget, answers)),
        "epsilon={:g}": first(epsilons, lambda each: (count, Budget(each, budget.exact_delta), answers)),
        f"{{:,}} {what}": first(fewer, lambda number: (count, budget, number)),
    }
    enough = " or ".join(form.format(value) for form, value in ways.items() if value is not None)
    words = (
        f"every answer would be noise or 0: what one is off by ({noise.error:.2g}) is not below the largest that any "
        f"{count:,} records could lead to ({noise.largest:.2g}) at {budget} and alpha={noise.alpha:.3g}. "
        + (f"Enough would be {enough}." if enough else "Use another method.")
    )
    if is_auto(alpha):
        raise InvalidParameter(words)
    if seed is None:
        warnings.warn(f"odd terms: {words}", OddTerms, stacklevel=2)
    return noise
