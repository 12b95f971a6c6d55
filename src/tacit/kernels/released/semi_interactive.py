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
from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget
from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.kernel import computed
from tacit.mechanisms.laplace import laplace_units
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity, typed_below
from tacit.noise import LARGEST_SCALE, Source, add_on_grid, power_of_two_below
from tacit.numerics.arrays import Floats

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
        if self.units > LARGEST_SCALE:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.count} answers. Ask fewer.")

    @cached_property
    def event(self) -> Event:
        """An (epsilon, delta)-private release."""
        delta = 0.0 if self.budget.is_pure else typed_below(self.budget.exact_delta)
        return EpsilonDeltaDpEvent(typed_below(self.budget.exact_epsilon), delta)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.sensitivity:g}", f"{self.count} landmarks"

    @cached_property
    def each(self) -> float:
        """The epsilon of one answer."""
        return answer_epsilon(self.budget, self.count)

    @cached_property
    def grid(self) -> float:
        """The power of two that every answer is a multiple of."""
        return power_of_two_below(max(self.sensitivity * 2.0**-20, self.sensitivity / self.each * 2.0**-42))

    @cached_property
    def units(self) -> int:
        """The scale of the noise in grid units."""
        moved = Fraction(self.sensitivity) * (1 + Fraction(1, 2**45)) / Fraction(self.grid)
        return laplace_units(Fraction(self.each), moved, 1, 1)

    @property
    def scale(self) -> float:
        """The scale of the noise (nu of the paper)."""
        return self.units * self.grid

    def check(self, value: ArrayLike) -> Floats:
        """Return the values as floats; refuse another number of them."""
        return computed("the values", value, (self.count,))

    def randomise(self, value: ArrayLike, source: Source) -> Floats:
        """Return the values plus noise."""
        return add_on_grid(self.check(value), noise.laplace(source, self.units, self.count), self.grid)


def answer_epsilon(budget: Budget, count: int) -> float:
    """Return the largest epsilon of one of `count` pure answers that keeps the budget, rounded down.

    Sums always hold; with a delta, sqrt(2 T log(1/delta)) e + T e (e^e - 1) <= epsilon does as well.
    """
    epsilon = budget.epsilon * (1 - 1e-12)
    plain = epsilon / count
    if budget.is_pure:
        return plain
    drift = math.sqrt(2 * count * math.log(1 / budget.delta)) * (1 + 1e-12)
    low, high = 0.0, min(epsilon, 1.0)
    for _ in range(80):
        middle = (low + high) / 2
        kept = drift * middle + count * middle * math.expm1(middle) * (1 + 1e-12) <= epsilon
        low, high = (middle, high) if kept else (low, middle)
    return max(plain, low)


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

    low, high = 0.0, float(np.max(precision * values))
    if np.linalg.norm(coordinates(0.0)) > size:
        while np.linalg.norm(coordinates(high)) > size:
            low, high = high, 4 * high
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(coordinates(middle)) > size else (low, middle)
        low = high
    return np.asarray(vectors @ (coordinates(low) / root))
