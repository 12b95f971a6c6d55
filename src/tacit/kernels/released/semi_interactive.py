"""TDDL (Jain and Thakurta 2013, Algorithm 2): noisy answers at public points."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from numpy.typing import ArrayLike

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

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        grid, units = self.law
        return math.sqrt(2) * units * grid

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
