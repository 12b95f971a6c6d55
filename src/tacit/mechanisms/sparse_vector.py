"""The sparse vector technique: which of a stream of queries lie above a threshold, paying for hits only."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NoReturn, final

import numpy as np

from tacit import noise
from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget, exact_number, finite_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.laplace import laplace_units
from tacit.mechanisms.mechanism import (
    Mechanism,
    checked_sensitivity,
    checked_whole,
    numeric,
    pure_part,
    typed_below,
)
from tacit.noise import LARGEST_SCALE, Source, add_on_grid, power_of_two_below

__all__ = ["SparseVector"]


@final
@dataclass(frozen=True)
class SparseVector(Mechanism[Iterable[float], tuple[bool, ...]]):
    """Says for each query in turn whether it lies above a public threshold, until `hits` of them did.

    Guarantee: all the answers together are epsilon-private, however many queries lie below.
    Assumes: replacing one record moves each query's value by at most `sensitivity`; the threshold and
    `hits` are public. Queries may be a generator that computes each value when it is asked for.
    Reference: sparse_vector.md (Lyu, Su and Li 2017, their Algorithm 1 with both noises).
    """

    budget: Budget
    sensitivity: float
    threshold: float
    hits: int

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: float = 1.0, *, threshold: float, hits: int = 1) -> "SparseVector":
        """Calibrate to a pure budget; a delta in it is left unused and not charged."""
        return cls(budget, sensitivity, threshold, hits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", pure_part(self.budget))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        object.__setattr__(self, "threshold", finite_number("threshold", self.threshold))
        object.__setattr__(self, "hits", checked_whole("hits", self.hits))
        if max(self.units) > LARGEST_SCALE:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.hits} hits. Ask for fewer.")

    @cached_property
    def event(self) -> Event:
        """An epsilon-private release."""
        return EpsilonDeltaDpEvent(typed_below(self.budget.exact_epsilon))

    @cached_property
    def grid(self) -> float:
        """The power of two that values are compared in."""
        finest = self.sensitivity * self.hits / self.budget.epsilon * 2.0**-40
        return power_of_two_below(max(self.sensitivity * 2.0**-20, finest))

    @cached_property
    def units(self) -> tuple[int, int]:
        """The scales, in grid units, of the noise on the threshold and on each query.

        Epsilon is shared between them as 1 : (2 hits)^(2/3), which makes the difference least noisy.
        """
        epsilon = exact_number("epsilon", self.event.epsilon)
        share = Fraction(1 / (1 + (2 * self.hits) ** (2 / 3)))
        moved = Fraction(self.sensitivity) * (1 + Fraction(1, 2**45)) / Fraction(self.grid)
        return (
            laplace_units(epsilon * share, moved, 1, 1),
            laplace_units(epsilon * (1 - share), 2 * self.hits * moved, 2 * self.hits, self.hits),
        )

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public: sensitivity, threshold and number of hits."""
        return (
            f"the sensitivity {self.sensitivity:g}",
            f"the threshold {self.threshold:g}",
            f"{self.hits} hits at most",
        )

    def check(self, value: Iterable[float]) -> Iterable[float]:
        """Return the queries; a list is checked at once, a generator as it goes."""
        if isinstance(value, list | tuple | np.ndarray):
            queries = numeric("the queries' values", value)
            return [float(query) for query in queries] if queries.ndim == 1 else _refused()
        return value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else _refused()

    def randomise(self, value: Iterable[float], source: Source) -> tuple[bool, ...]:
        """Return one answer for each query asked, the last one being the last hit unless they ran out."""
        of_threshold, of_query = self.units
        bar = self._noisy(self.threshold, of_threshold, source)
        answers: list[bool] = []
        for query in value:
            answers.append(self._noisy(_number(query), of_query, source) >= bar)
            if sum(answers) == self.hits:
                break
        return tuple(answers)

    def _noisy(self, number: float, units: int, source: Source) -> Fraction:
        """Return a number on the grid plus noise, exactly: comparing rounded sums would not be monotone."""
        snapped = float(add_on_grid(np.asarray(number), np.zeros((), dtype=np.int64), self.grid))
        return Fraction(snapped) + int(noise.laplace(source, units, 1)[0]) * Fraction(self.grid)


def _number(query: float) -> float:
    number = numeric("a query's value", query)
    return float(number) if number.ndim == 0 else _refused()


def _refused() -> NoReturn:
    raise InvalidParameter("the queries must be numbers: a list, a column or a generator of them.")
