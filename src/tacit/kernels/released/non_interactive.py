"""TDIL (Jain and Thakurta 2013, Algorithm 3) with its exponent mended: choose where the public model is worst, measure.

In each round a point z is drawn that is likely to show a large error |<w_t - w*, phi(z)>| of the public model w_t, and
the exact model's value there is measured once. What follows from the measurements is post-processing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from tacit import noise
from tacit.accounting.analytic import rounded_down
from tacit.budget import Budget
from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import computed, size_of
from tacit.kernels.released.posterior import posterior
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.laplace import laplace_units
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity, fine_grid, inflated
from tacit.noise import NEGLECTED, Source, add_on_grid, gaussian_error
from tacit.numerics.arrays import Floats

_ORDERS = 1 + np.geomspace(0.1, 1e6, 600)


@final
@dataclass(frozen=True)
class BudgetShares:
    """How a budget is shared among rounds of choosing and measuring: half of each round's part to either.

    `choice` is the epsilon of one choice, which has bounded range; a measurement has Laplace noise of scale
    moved/`choice` when pure, else Gaussian noise of standard deviation moved `multiplier`.
    """

    budget: Budget
    rounds: int

    @cached_property
    def rho(self) -> float:
        """The largest zCDP parameter that keeps the budget, rounded down; 0 when it is pure."""
        if self.budget.is_pure:
            return 0.0
        delta = rounded_down(self.budget.exact_delta) - 2 * self.rounds * NEGLECTED
        fixed = np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
        # At every order rho * order + fixed <= epsilon suffices, so the best order says how large rho may be.
        largest = float(np.max((rounded_down(self.budget.exact_epsilon) - np.maximum(fixed, 0.0)) / _ORDERS))
        if not largest > 0:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.rounds} rounds.")
        return largest * (1 - 1e-9)

    @property
    def choice(self) -> float:
        """epsilon/(2 B) when pure, else 2 sqrt(rho/B), since bounded range epsilon costs epsilon^2/8."""
        if self.budget.is_pure:
            return self.budget.epsilon / (2 * self.rounds) * (1 - 1e-12)
        return 2 * math.sqrt(self.rho / self.rounds) * (1 - 1e-12)

    @property
    def multiplier(self) -> float:
        """Noise over sensitivity of one Gaussian measurement, with what its drawing may be off by (gaussian.md)."""
        square = self.rho / self.rounds - 22 * gaussian_error(1)
        if not square > 0:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.rounds} rounds.")
        return 1 / math.sqrt(square) * (1 + 2.0**-40)


@final
@dataclass(frozen=True)
class Measurement:
    """One noisy value of a function that replacing a record moves by at most `moved`."""

    shares: BudgetShares
    moved: float

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        if self.shares.budget.is_pure:
            return math.sqrt(2) * self.moved / self.shares.choice
        return self.moved * self.shares.multiplier

    @cached_property
    def law(self) -> tuple[float, float]:
        """The grid, and the scale of the noise in grid units: whole for Laplace noise."""
        grid = fine_grid(min(self.moved * 2.0**-20, self.deviation * 2.0**-27), 4 * self.deviation)
        moved = inflated(self.moved) / Fraction(grid)
        if self.shares.budget.is_pure:
            return grid, laplace_units(Fraction(self.shares.choice), moved, 1, 1)
        return grid, (float(moved) + 1) * self.shares.multiplier * (1 + 2.0**-45)

    def draw(self, value: float, source: Source) -> float:
        """Return the value plus noise on a grid."""
        grid, units = self.law
        drawn = noise.laplace(source, int(units), 1) if self.shares.budget.is_pure else noise.gaussian(source, units, 1)
        return float(add_on_grid(np.array([value]), drawn, grid)[0])


@final
@dataclass(frozen=True, eq=False)
class NetRelease(Mechanism[ArrayLike, tuple[Floats, Floats]]):
    """TDIL over a finite public net: any kernel, points that can be listed.

    Guarantee: the chosen points and their measured values are (epsilon, delta)-private, pure when delta is 0.
    Assumes: replacing one record moves each value on the net by at most `moved`; the net is public.
    Reference: non_interactive.md.
    """

    budget: Budget
    domain: Domain
    net: Any
    moved: float
    size: float
    rounds: int

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        object.__setattr__(self, "moved", checked_sensitivity(self.moved))
        object.__setattr__(self, "size", finite_number("size", self.size))
        object.__setattr__(self, "rounds", whole_number("rounds", self.rounds))
        _ = self.measurement.deviation, self.chooser.rate

    @cached_property
    def measurement(self) -> Measurement:
        """The noise of one measurement."""
        return Measurement(BudgetShares(self.budget, self.rounds), self.moved)

    @cached_property
    def chooser(self) -> Exponential:
        """The choice of one point: density proportional to exp(choice |error| / (2 moved))."""
        return Exponential.for_budget(Budget(self.measurement.shares.choice), self.moved, candidates=size_of(self.net))

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.moved:g}", f"a net of {size_of(self.net)} points", f"{self.rounds} rounds"

    def check(self, value: ArrayLike) -> Floats:
        """Return the exact model's values on the net."""
        return computed("the values on the net", value, (size_of(self.net),))

    def randomise(self, value: ArrayLike, source: Source) -> tuple[Floats, Floats]:
        """Return the places of the chosen points in the net, and the measured values there."""
        exact = self.check(value)
        public = np.zeros_like(exact)
        # Beyond this no value can be right, and a difference would be rounded by more than `moved` provides for.
        reach = 2 * self.size * self.domain.radius
        places: list[int] = []
        measured: list[float] = []
        for _ in range(self.rounds):
            places.append(self.chooser.randomise(np.abs(exact - public), source))
            measured.append(self.measurement.draw(float(exact[places[-1]]), source))
            chosen = self.net[places]
            weights = posterior(self.domain.gram(chosen), np.array(measured), self.measurement.deviation, self.size)
            public = np.clip(self.domain.block(self.net, chosen) @ weights, -reach, reach)
        return np.array(places), np.array(measured)


def lattice(width: int, norm: float, most: int = 4000) -> Floats:
    """Return the points of the finest cubic lattice, of at most so many points, inside the ball of this norm."""
    if width > 8:
        raise InvalidParameter(f"a lattice covers up to 8 dimensions, got {width}. Give public points as landmarks.")
    best = np.zeros((1, width))
    for half in range(1, most):
        side = np.arange(-half, half + 1) / half
        if len(side) ** width > 50 * most:
            break
        points = np.stack(np.meshgrid(*[side] * width, indexing="ij"), axis=-1).reshape(-1, width)
        inside = points[np.einsum("ij,ij->i", points, points) <= 1 + 1e-12]
        if len(inside) > most:
            break
        best = inside
    return np.asarray(best * norm)
