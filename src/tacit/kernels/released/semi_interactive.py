"""TDDL (Jain and Thakurta 2013, Algorithm 2): noisy answers at public points, and the model that fits them."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from tacit import noise
from tacit.budget import Budget
from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.kernel import computed
from tacit.mechanisms.laplace import laplace_law
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity
from tacit.noise import LARGEST_SCALE, Source, add_on_grid
from tacit.numerics.arrays import Floats
from tacit.numerics.bisection import bisect

_CUTOFF = 1e-10


@final
@dataclass(frozen=True)
class LaplaceAnswers(Mechanism[ArrayLike, Floats]):
    """Adds independent Laplace noise to the model's values at public points, as the paper does.

    Guarantee: all answers together are (epsilon, delta)-private, pure when delta is 0.
    Assumes: replacing one record moves each value by at most `sensitivity`; the points are public.
    Reference: semi_interactive.md (advanced composition of pure answers, Dwork, Rothblum and Vadhan 2010).
    """

    budget: Budget
    sensitivity: float
    count: int

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        object.__setattr__(self, "count", whole_number("count", self.count))
        if self.law[1] > LARGEST_SCALE:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.count} answers. Ask fewer.")

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.sensitivity:g}", f"{self.count} landmarks"

    @cached_property
    def law(self) -> tuple[float, int]:
        """The power of two that every answer is a multiple of, and the scale of the noise in that unit."""
        return laplace_law(Fraction(answer_epsilon(self.budget, self.count)), self.sensitivity)

    def check(self, value: ArrayLike) -> Floats:
        """Return the values as floats; refuse another number of them."""
        return computed("the values", value, (self.count,))

    def randomise(self, value: ArrayLike, source: Source) -> Floats:
        """Return the values plus noise."""
        grid, units = self.law
        return add_on_grid(self.check(value), noise.laplace(source, units, self.count), grid)


def answer_epsilon(budget: Budget, count: int) -> float:
    """Return the largest epsilon of one of `count` pure answers that keeps the budget, rounded down.

    Sums always hold; with a delta, sqrt(2 T log(1/delta)) e + T e (e^e - 1) <= epsilon does as well.
    """
    epsilon = budget.epsilon * (1 - 1e-12)
    plain = epsilon / count
    if budget.is_pure:
        return plain
    drift = math.sqrt(2 * count * math.log(1 / budget.delta)) * (1 + 1e-12)

    def kept(each: float) -> bool:
        return drift * each + count * each * math.expm1(each) * (1 + 1e-12) <= epsilon

    return max(plain, bisect(kept, 0.0, min(epsilon, 1.0), steps=80)[0])


def fitted_weights(gram: Floats, answers: Floats, size: float, matched: float | None = None) -> Floats:
    """Return the weights of the model of norm at most `size` that fits answers at public points best.

    Squares are weighed equally, or with `matched` = jitter by the inverse of the covariance K + jitter I that the
    answers' noise had.
    """
    values, vectors = eigh(gram)
    kept = values > _CUTOFF * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    root = np.sqrt(values)
    precision = np.ones_like(values) if matched is None else 1 / (values + matched)
    seen = vectors.T @ answers

    def coordinates(ridge: float) -> Floats:
        return np.asarray(precision * root * seen / (precision * values + ridge))

    def too_long(ridge: float) -> bool:
        return bool(np.linalg.norm(coordinates(ridge)) > size)

    ridge = 0.0
    if too_long(ridge):
        low, high = ridge, float(np.max(precision * values))
        while too_long(high):
            low, high = high, 4 * high
        ridge = bisect(too_long, low, high, steps=100)[1]
    return np.asarray(vectors @ (coordinates(ridge) / root))
