"""What every mechanism is: noise calibrated to a sensitivity and a budget, with its event known in advance."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget, plain_budget
from tacit.checks import exact_number, finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.reading import add_exactly, numbers
from tacit.noise import LARGEST_SCALE, Source, add_on_grid, power_of_two_below
from tacit.numerics.arrays import Floats, Integers

Value = TypeVar("Value")
Answer = TypeVar("Answer", covariant=True)


class Mechanism(ABC, Generic[Value, Answer]):
    """Frozen noise: calibrated before any record is touched, applied once per release.

    A mechanism is applied through `tacit.release` and in no other way.
    """

    budget: Budget

    @property
    def event(self) -> Event:
        """What one application is, in accounting's terms: as private as its budget says, unless more is known of it."""
        return budget_event(self.budget)

    @property
    @abstractmethod
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""

    @abstractmethod
    def check(self, value: Value) -> Value:
        """Return the value in the form to randomise, or refuse it before anything is charged.

        The value was computed from records: a refusal may depend on public facts about it, such as its shape.
        """

    @abstractmethod
    def randomise(self, value: Value, source: Source) -> Answer:
        """Return the private answer about a value that `check` returned."""


@dataclass(frozen=True)
class AdditiveNoise(Mechanism[ArrayLike, "float | Floats"]):
    """Noise added to a number or an array on a public power-of-two grid.

    Every value of the calibrated shape has an answer: numbers of any kind are taken exactly, numbers beyond a
    float's range as its ends, and what is no number (missing, NaN) as 0.
    """

    budget: Budget
    sensitivity: float
    shape: tuple[int, ...]

    is_pure: ClassVar[bool]
    """Whether the guarantee has no delta; one in the budget is then left unused and not charged."""

    def __post_init__(self) -> None:
        budget = pure_part(self.budget) if self.is_pure else checked_budget(self.budget)
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        object.__setattr__(self, "shape", _checked_shape(self.shape))
        if self.units > LARGEST_SCALE:
            raise InvalidParameter(
                f"{self.budget} is too small to certify for {self.dimension} numbers at once. Release fewer."
            )

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: float = 1.0, shape: int | tuple[int, ...] = ()) -> Self:
        """Calibrate to a budget; if the noise is pure, a delta in it is left unused and not charged."""
        return cls(budget, sensitivity, shape)  # type: ignore[arg-type]

    @property
    @abstractmethod
    def law(self) -> tuple[float, float]:
        """The grid, and the scale of the noise in grid units."""

    @property
    def grid(self) -> float:
        """The power of two that every answer is a multiple of."""
        return self.law[0]

    @property
    def units(self) -> float:
        """The scale of the noise in grid units."""
        return self.law[1]

    @property
    def scale(self) -> float:
        """The scale of the noise: the standard deviation of a Gaussian; else a shade above sensitivity / epsilon."""
        return self.units * self.grid

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in one coordinate."""

    @abstractmethod
    def noise(self, source: Source) -> Integers:
        """Draw the noise, flat, counted in grid units."""

    @property
    def dimension(self) -> int:
        """How many numbers the value has."""
        return math.prod(self.shape)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public: the sensitivity and the shape."""
        return f"the sensitivity {self.sensitivity:g}", f"the shape {self.shape}"

    def check(self, value: ArrayLike) -> NDArray[Any]:
        """Return the value read exactly; refuse another shape, which is public, and nothing else."""
        return numbers("the value to release", value, self.shape)

    def randomise(self, value: ArrayLike, source: Source) -> "float | Floats":
        """Return the value, as `check` read it, rounded to the grid, plus noise."""
        read = np.asarray(value)
        add = add_exactly if read.dtype == object else add_on_grid
        answer = add(read, self.noise(source).reshape(self.shape), self.grid)
        return answer if self.shape else float(answer)


def fine_grid(fine: float, scale: float) -> float:
    """Return the power of two below `fine`, but none too fine to count noise of this scale in."""
    return power_of_two_below(max(fine, scale * 2.0**-42))


def inflated(sensitivity: float) -> Fraction:
    """Return the sensitivity with room for the rounding of whoever computed it."""
    return Fraction(sensitivity) * (1 + Fraction(1, 2**45))


def checked_budget(budget: Budget) -> Budget:
    """Return a budget that noise can be calibrated to."""
    if not plain_budget("budget", budget):
        raise InvalidParameter("epsilon must be above 0: with none, only noise could be released.")
    return budget


def pure_part(budget: Budget) -> Budget:
    """Return the budget without its delta."""
    return checked_budget(Budget.amount(checked_budget(budget).exact_epsilon))


def checked_sensitivity(sensitivity: float) -> float:
    """Return the sensitivity as a float; refuse what cannot be one."""
    number = finite_number("sensitivity", sensitivity)
    if not 1e-100 <= number <= 1e100:
        raise InvalidParameter(
            f"sensitivity must be positive and between 1e-100 and 1e100, got {sensitivity!r}. It is the most "
            "that replacing one record can change the value."
        )
    return number


def budget_event(budget: Budget) -> Event:
    """Return the event of a release that is private with this budget, in numbers that print no larger than it."""
    return EpsilonDeltaDpEvent(typed_below(budget.exact_epsilon), typed_below(budget.exact_delta))


def typed_below(value: Fraction) -> float:
    """Return the largest float that, read as it is printed, does not exceed the value."""
    number = float(value)
    while exact_number("epsilon", number) > value:
        number = math.nextafter(number, 0.0)
    return number


def _checked_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    listed = shape if isinstance(shape, tuple | list) else (shape,)
    sizes = tuple(whole_number("each size in shape", size) for size in listed)
    whole_number("the number of values", math.prod(sizes))
    return sizes
