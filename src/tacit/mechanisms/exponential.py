"""The exponential mechanism: choose one of finitely many public candidates by a private score."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import noise
from tacit.accounting.events import BoundedRangeDpEvent, Event
from tacit.budget import Budget
from tacit.checks import exact_number, finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import Mechanism, checked_sensitivity, pure_part, typed_below
from tacit.mechanisms.reading import LARGEST, listed, numbers
from tacit.noise import Source
from tacit.numerics.arrays import Floats

_SCORE_ERROR = Fraction(1, 2**36)


@final
@dataclass(frozen=True)
class Exponential(Mechanism[ArrayLike, int]):
    """Chooses candidate i with probability proportional to weight_i exp(epsilon score_i / (2 sensitivity)).

    Guarantee: releasing the index of the chosen candidate is epsilon-private (and bounded-range).
    Assumes: replacing one record moves each score by at most `sensitivity`; the candidates and their
    weights (the base measure, uniform unless given) are public.
    Reference: exponential.md (McSherry and Talwar 2007; drawn by adding Gumbel noise).
    """

    budget: Budget
    sensitivity: float
    candidates: int
    weights: tuple[float, ...] | None = None

    @classmethod
    def for_budget(
        cls, budget: Budget, sensitivity: float = 1.0, *, candidates: int, weights: ArrayLike | None = None
    ) -> "Exponential":
        """Calibrate to a pure budget; a delta in it is left unused and not charged."""
        return cls(budget, sensitivity, candidates, weights)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", pure_part(self.budget))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        object.__setattr__(self, "candidates", whole_number("candidates", self.candidates))
        if self.weights is not None:
            object.__setattr__(
                self, "weights", tuple(finite_number("weights", each) for each in listed(self.weights) or ())
            )
            if len(self.weights) != self.candidates or min(self.weights) <= 0:
                raise InvalidParameter(f"weights must be {self.candidates} positive numbers, one for each candidate.")
        if exact_number("epsilon", self.event.epsilon) <= _SCORE_ERROR:
            raise InvalidParameter(f"epsilon must be above {float(_SCORE_ERROR):.1g} to choose, got {self.budget}.")

    @cached_property
    def event(self) -> Event:
        """A choice whose log-likelihood ratios lie in an interval of length epsilon."""
        return BoundedRangeDpEvent(typed_below(self.budget.exact_epsilon))

    @cached_property
    def rate(self) -> float:
        """What scores are multiplied by: a shade below epsilon / (2 sensitivity)."""
        epsilon = exact_number("epsilon", self.event.epsilon) - _SCORE_ERROR
        return float(epsilon) / (2 * self.sensitivity) * (1 - 2.0**-45)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public: the sensitivity, the candidates and their weights."""
        return f"the sensitivity {self.sensitivity:g}", f"the {self.candidates} candidates and their weights"

    def check(self, value: ArrayLike) -> NDArray[Any]:
        """Return the scores read exactly; refuse another number of them, which is public, and nothing else."""
        return numbers("the scores", value, (self.candidates,))

    def randomise(self, value: ArrayLike, source: Source) -> int:
        """Return the index of the chosen candidate, for scores as `check` read them."""
        with np.errstate(all="ignore"):  # a score at minus infinity is one that cannot win
            logits = _behind(np.asarray(value)) * self.rate
        if self.weights is not None:
            logits += np.log(self.weights)
        return int(np.argmax(logits + noise.gumbel(source, self.candidates)))


def _behind(scores: NDArray[Any]) -> Floats:
    """Return each score less the largest, rounded once; NaN counts as 0."""
    if scores.dtype == object:
        top = max(scores)
        return np.array([float(max(score - top, -Fraction(LARGEST))) for score in scores])
    held = np.nan_to_num(scores)
    return np.asarray(held - held.max(), dtype=np.float64)
