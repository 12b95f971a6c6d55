"""Random repetition: the best of a secret, random number of private runs, for the price of two."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import expm1, inf, log
from typing import Any, final

from tacit import noise
from tacit.accounting.events import EpsilonDeltaDpEvent, Event, dp_event
from tacit.budget import Budget
from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import Mechanism, pure_part, typed_below
from tacit.noise import Source
from tacit.numerics.bisection import bisect

LONGEST = 100_000
"""The largest average number of runs: more would not end in a lifetime, and less chance of stopping than this is
not needed."""

_DIGITS = 2**40


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

    How often is secret: K has the logarithmic law, Pr[K = k] proportional to (1 - stop)^k / k, on average `runs`. It is
    never cut off, and neither K nor the time that it takes may be told.

    Guarantee: the best run, with its candidate and its score, is epsilon-private, epsilon twice that of one run.
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
        """The budget of one run: half of the whole."""
        return Budget(typed_below(self.budget.exact_epsilon / 2))

    @cached_property
    def stop(self) -> Fraction:
        """The parameter of the logarithmic law, at which K is `runs` on average."""
        # In the logarithm, which keeps its digits at both ends.
        low, _ = bisect(lambda half: _average(half) >= self.runs, -60.0, -1e-9, steps=80)
        return Fraction(max(1, round(2.0**low * _DIGITS)), _DIGITS)

    @cached_property
    def event(self) -> Event:
        """The best of a logarithmic number of runs."""
        return dp_event.RepeatAndSelectDpEvent(EpsilonDeltaDpEvent(self.inner.epsilon), self.runs, 0)

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
        for _ in range(noise.logarithmic(source, self.stop)):
            run = value(noise.one_of(source, self.candidates), source)
            best = run if best is None or run.score > best.score else best
        assert best is not None
        return best


def _average(exponent: float) -> float:
    """Return the average of the logarithmic law with stop = 2^exponent."""
    steps = -exponent * log(2.0)
    return expm1(steps) / steps
