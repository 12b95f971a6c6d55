"""PINP (Jain and Thakurta 2013, Algorithm 1): answer from a public model, and correct it where it is far off."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from scipy.optimize import minimize_scalar

from tacit import noise
from tacit.budget import Budget
from tacit.checks import finite_number, is_whole
from tacit.errors import InvalidParameter
from tacit.mechanisms.laplace import laplace_law
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity
from tacit.mechanisms.process import Secret, SecretFunction, checked_function
from tacit.noise import LARGEST_SCALE, Source, add_on_grid
from tacit.numerics.arrays import Floats
from tacit.numerics.bisection import bisect, fewest


@final
@dataclass(frozen=True)
class Pinp(Mechanism[SecretFunction, "PinpPath"]):
    """Compares each answer of a public model with the secret one under Laplace noise; far ones update the model.

    Guarantee: all answers together are (epsilon, delta)-private, however many points are asked, chosen adaptively.
    Assumes: replacing one record moves w by at most `sensitivity` in the feature space; K(z, z) <= `square`; values are
    computed to within `value_error`; |w| <= `size`. delta > 0.
    Reference: pinp.md.

    With probability at least 1 - `failure` the first `queries` answers, while updates are left, are within `error` of
    the secret ones. `published` takes the paper's constants: a hundred times too careful at usual budgets, not private
    at very large ones, and refused there.
    """

    budget: Budget
    sensitivity: float
    square: float
    value_error: float
    size: float
    queries: int = 10_000
    failure: float = 0.05
    published: bool = False

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        for name in ("square", "value_error", "size", "failure"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name)))
        if self.budget.is_pure:
            raise InvalidParameter("PINP needs delta > 0: without noise on its threshold it has no pure guarantee.")
        object.__setattr__(self, "queries", check_queries(self.queries, self.failure))
        if self.noise_law[1] > LARGEST_SCALE:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.updates} updates.")
        if self.published and not _keeps(self.budget, self.each, self.updates):
            raise InvalidParameter(f"the published constants are not private at {self.budget}. Use the certified ones.")

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.sensitivity:g}", f"K(z, z) <= {self.square:g}", f"|w| <= {self.size:g}"

    @property
    def moved(self) -> float:
        """How far one record moves a computed value."""
        return (math.sqrt(self.square) * self.sensitivity + 2 * self.value_error) * (1 + 2.0**-40)

    @cached_property
    def updates(self) -> int:
        """How often the public model may be corrected."""
        if self.published:
            log = math.log(4 / self.budget.delta)
            wide = math.sqrt(2 * math.log(2 * self.queries / self.failure))
            return max(1, math.floor(self.budget.epsilon * self.size**2 / (100 * self.sensitivity * wide * log)))
        return fewest(self._enough)

    def _enough(self, updates: int) -> bool:
        """Whether so many updates bring the public model within the threshold everywhere."""
        threshold = self._threshold(query_epsilon(self.budget, updates))
        return updates >= 16 * self.square * self.size**2 / (9 * threshold**2)

    def _threshold(self, each: float) -> float:
        return 4 * self.moved / each * math.log(2 * self.queries / self.failure)

    @cached_property
    def each(self) -> float:
        """The epsilon of one comparison."""
        if self.published:
            return self.budget.epsilon / (100 * math.sqrt(self.updates) * math.log(4 / self.budget.delta))
        return query_epsilon(self.budget, self.updates)

    @cached_property
    def threshold(self) -> float:
        """How far off the public model must seem to be corrected (sigma of the paper)."""
        return self._threshold(self.each)

    @property
    def step(self) -> float:
        """The weight of a correction (eta of the paper)."""
        return self.threshold / (4 * self.square) * (1 if self.published else 3)

    @property
    def error(self) -> float:
        """What answers are within, with the stated probability."""
        return 1.25 * self.threshold

    @cached_property
    def noise_law(self) -> tuple[float, int]:
        """The power of two that noisy values are multiples of, and the scale of the noise in that unit."""
        return laplace_law(Fraction(self.each), self.moved)

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        grid, units = self.noise_law
        return units * grid

    def check(self, value: SecretFunction) -> SecretFunction:
        """Return the secret function, if it can be asked for values."""
        return checked_function(value)

    def randomise(self, value: SecretFunction, source: Source) -> "PinpPath":
        """Return a path that has not been asked anything yet."""
        return PinpPath(self, (value, source), noise.uniform(source, 4).tobytes().hex())


@final
@dataclass(eq=False, repr=False)
class PinpPath:
    """The public model so far, and what is left of its corrections; without a secret in a copy that may only repeat."""

    law: Pinp
    secret: Secret | None
    mark: str
    weights: list[float] = field(default_factory=list)

    @property
    def left(self) -> int:
        """How many corrections are left."""
        return self.law.updates - len(self.weights)

    def public_values(self, cross: Floats) -> Floats:
        """Return the public model's values, given K between points and the corrected points."""
        return np.asarray(cross @ np.array(self.weights)) if self.weights else np.zeros(len(cross))

    def draw(self, point: Any, cross: Floats) -> tuple[float, float]:
        """Answer one new point; return the answer and the weight of the correction, 0 for none."""
        if self.secret is None or self.left <= 0:
            raise InvalidParameter("this path has no corrections left: it can answer from its public model only.")
        function, source = self.secret
        public = float(self.public_values(cross)[0])
        noisy = self._noisy(float(function.values(point)[0]), source)
        if abs(noisy - public) > self.law.threshold:
            return noisy, math.copysign(self.law.step, noisy - public)
        return public, 0.0

    def _noisy(self, value: float, source: Source) -> float:
        grid, units = self.law.noise_law
        return float(add_on_grid(np.array([value]), noise.laplace(source, units, 1), grid)[0])


def pinp_epsilon(each: float, updates: int, delta: float) -> float:
    """Return an epsilon that comparisons of `each` keep together at delta when at most so many lead to updates.

    Every order between 1 and 1 + log(1 + e^-each)/each gives a valid bound; a good one is looked for. Beyond 30 each
    there are hardly any orders, and no bound is given.
    """
    if each > 30:
        return math.inf
    widest = math.log1p(math.exp(-each)) / each

    def converted(log_rest: float) -> float:
        rest = math.exp(log_rest)
        # The note's 1 + E - e^((1 + b) e) is 1 minus this.
        used = math.exp(each) * math.expm1(rest * each)
        if used >= 1:
            return math.inf
        renyi = -updates * (each + math.log1p(-used) / rest)
        return renyi + math.log(rest / (1 + rest)) - (math.log(delta) + math.log1p(rest)) / rest

    span = math.log(widest * 1e-6), math.log(widest * (1 - 1e-9))
    found = minimize_scalar(converted, bounds=span, method="bounded", options={"xatol": 1e-6})
    return max(0.0, min(float(found.fun), converted(span[0]))) * (1 + 1e-9) + 1e-12


@lru_cache(maxsize=1024)
def query_epsilon(budget: Budget, updates: int) -> float:
    """Return the largest epsilon of one comparison that keeps a budget over so many updates, rounded down."""
    each = min(budget.epsilon, 1.0)
    if not _keeps(budget, each, updates):
        each, _ = bisect(lambda less: _keeps(budget, less, updates), 0.0, each, steps=60)
    if not each > 1e-12:
        raise InvalidParameter(f"{budget} is too small to certify for {updates} updates.")
    return each


def check_queries(queries: Any, failure: object) -> int:
    """Return how many answers an error bound is for; refuse what is no such number, or no chance to fail."""
    if not is_whole(queries) or not 1 <= queries <= 10**12:
        raise InvalidParameter("queries must be a whole number from 1 to 1e12, got something else.")
    chance = finite_number("failure", failure)
    if not 1e-12 <= chance < 1:
        raise InvalidParameter(f"failure must be a probability from 1e-12 to below 1, got {chance:g}.")
    return int(queries)


def pinp_noise(budget: Budget, queries: int, failure: float, foresee: Callable[[float], tuple[float, float]]) -> float:
    """Return the threshold over what one record moves a value by, for as many updates as Pinp will provide for.

    `foresee` returns a threshold that is this multiple, and the largest value there is: a ridge that follows the noise
    makes the values shorter, and fewer updates are enough.
    """

    log = 4 * math.log(2 * check_queries(queries, failure) / failure)

    def multiple(updates: int) -> float:
        return log / query_epsilon(budget, updates)

    def enough(updates: int) -> bool:
        threshold, largest = foresee(multiple(updates))
        return updates >= 16 * largest**2 / (9 * threshold**2)

    return multiple(fewest(enough))


def _keeps(budget: Budget, each: float, updates: int) -> bool:
    return pinp_epsilon(each, updates, budget.delta) <= budget.epsilon * (1 - 1e-9)
