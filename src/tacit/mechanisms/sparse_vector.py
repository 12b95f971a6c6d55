"""The sparse vector technique: which of a stream of queries lie above a threshold, paying for hits only."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from tacit import noise
from tacit.budget import Budget
from tacit.checks import exact_number, finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.laplace import laplace_units
from tacit.mechanisms.mechanism import Mechanism, checked_sensitivity, fine_grid, inflated, pure_part
from tacit.mechanisms.reading import exact, in_units, listed
from tacit.noise import LARGEST_SCALE, Source


@final
@dataclass(frozen=True)
class SparseVector(Mechanism[Iterable[Any], tuple[bool, ...]]):
    """Says for each query in turn whether it lies above a public threshold, until `hits` of them did.

    Guarantee: all the answers together are epsilon-private, however many queries lie below.
    Assumes: replacing one record moves each query's value by at most `sensitivity`; the threshold, `hits` and the
    number of queries are public. Queries may be a generator that computes each value when it is asked for; whether
    it fails or ends must not depend on a record. What is no number counts as 0.
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
        object.__setattr__(self, "hits", whole_number("hits", self.hits))
        if max(self.units) > LARGEST_SCALE:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.hits} hits. Ask for fewer.")

    @cached_property
    def grid(self) -> float:
        """The power of two that values are compared in."""
        return fine_grid(self.sensitivity * 2.0**-20, self.sensitivity * self.hits / self.budget.epsilon * 4)

    @cached_property
    def units(self) -> tuple[int, int]:
        """The scales, in grid units, of the noise on the threshold and on each query.

        Epsilon is shared between them as 1 : (2 hits)^(2/3), which makes the difference least noisy.
        """
        epsilon = exact_number("epsilon", self.event.epsilon)
        share = Fraction(1 / (1 + (2 * self.hits) ** (2 / 3)))
        moved = inflated(self.sensitivity) / Fraction(self.grid)
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

    def check(self, value: Iterable[Any]) -> Iterable[Any]:
        """Return the queries; only what is no list, column or generator is refused, whatever its values are."""
        is_one = getattr(value, "ndim", 1) == 1 and not isinstance(value, str | bytes | Mapping | Set)
        queries = listed(value) if is_one else None
        if not is_one or (queries is None and not isinstance(value, Iterable)):
            raise InvalidParameter("the queries must be numbers: a list, a column or a generator of them.")
        return value if queries is None else queries

    def randomise(self, value: Iterable[Any], source: Source) -> tuple[bool, ...]:
        """Return one answer for each query asked, the last one being the last hit unless they ran out."""
        of_threshold, of_query = self.units
        bar = self._noisy(self.threshold, of_threshold, source)
        answers: list[bool] = []
        left = self.hits
        for query in value:
            answers.append(self._noisy(query, of_query, source) >= bar)
            left -= answers[-1]
            if not left:
                break
        return tuple(answers)

    def _noisy(self, number: object, units: int, source: Source) -> int:
        """Return a number plus noise in grid units, exactly: comparing rounded sums would not be monotone."""
        return in_units(exact(number), self.grid) + int(noise.laplace(source, units, 1)[0])
