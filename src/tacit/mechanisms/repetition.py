"""Random repetition: the best of a secret, random number of private runs, for the price of one and a half."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, final

from tacit import noise
from tacit.accounting.events import EpsilonDeltaDpEvent, Event, dp_event
from tacit.budget import Budget
from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import Mechanism, pure_part, typed_below
from tacit.noise import Source

LONGEST = 100_000
"""The largest average number of runs: more would not end in a lifetime, and less chance of stopping than this is
not needed."""

_DIGITS = 2**56
_SHAPE = Fraction(-1, 2)
"""The shape of the law of K. Nearer to -1 the price is nearer to that of one run, and K is more often 1."""


@final
@dataclass(frozen=True)
class Run:
    """What one run found: its score, and whatever goes with it. A run that failed has the lowest score and nothing."""

    candidate: int
    score: float = -inf
    found: Any = None


@final
@dataclass(frozen=True)
class Repetition(Mechanism[Callable[[int, Source], Run], Run]):
    """Runs a private procedure on candidates drawn at random, again and again, and answers with the best run.

    The first candidate is drawn half of the time, the others evenly otherwise. How often is secret: K has the negative
    binomial law of shape -1/2 without 0, Pr[K = k] proportional to (1 - stop)^k |binomial(1/2, k)|, on average `runs`;
    half of the time it is 1. It is never cut off, and neither K nor the time that it takes may be told.

    Guarantee: the best run, with its candidate and its score, is epsilon-private, epsilon 3/2 of that of one run.
    Assumes: for each candidate a run is `inner.epsilon`-private, without a delta, and depends on no other run; K, the
    time that runs take and what they print, warn of or fail with stay secret.
    Reference: repetition.md (Liu and Talwar 2019; Papernot and Steinke 2022).
    """

    budget: Budget
    candidates: int
    runs: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", pure_part(self.budget))
        object.__setattr__(self, "candidates", whole_number("candidates", self.candidates))
        runs = finite_number("runs", self.runs)
        if not 1 < runs <= LONGEST:
            raise InvalidParameter(f"runs must lie above 1 and at most {LONGEST:,} on average, got {self.runs!r}.")
        object.__setattr__(self, "runs", runs)

    @cached_property
    def inner(self) -> Budget:
        """The budget of one run: two thirds of the whole."""
        return Budget(typed_below(self.budget.exact_epsilon / (2 + _SHAPE)))

    @cached_property
    def stop(self) -> Fraction:
        """The parameter of the law of K, at which K is `runs` on average."""
        return Fraction(max(1, round(_DIGITS / (2 * self.runs - 1) ** 2)), _DIGITS)

    @cached_property
    def event(self) -> Event:
        """The best of a random number of runs."""
        return dp_event.RepeatAndSelectDpEvent(EpsilonDeltaDpEvent(self.inner.epsilon), self.runs, float(_SHAPE))

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public: the candidates and the law of K."""
        return f"the {self.candidates} candidates", f"{self.runs:g} runs on average, their number secret"

    def check(self, value: Callable[[int, Source], Run]) -> Callable[[int, Source], Run]:
        """Return the procedure; it is run after the charge."""
        return value

    def randomise(self, value: Callable[[int, Source], Run], source: Source) -> Run:
        """Run as often as the coins say, each time on a candidate of theirs, and return the first of the best runs."""
        best = None
        for _ in range(noise.repetitions(source, self.stop)):
            run = value(self._drawn(source), source)
            best = run if best is None or run.score > best.score else best
        assert best is not None
        return best

    def _drawn(self, source: Source) -> int:
        """Draw a candidate: the first half of the time, and else one of the others, all alike."""
        if self.candidates == 1 or noise.one_of(source, 2) == 0:
            return 0
        return 1 + noise.one_of(source, self.candidates - 1)
