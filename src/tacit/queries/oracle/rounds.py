"""Several rounds of queries for one charge, each free to depend on the answers before it.

Rounds that were charged one by one would add up their epsilons. Gaussian rounds that are charged together add up the
squares of their shifts instead: R equal rounds have sqrt(R) times the noise of one, not R times. All of them happen
inside one release, so there is nothing that a copy, a crash or a restart could go on with for free.
"""

import math
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NoReturn, final

import numpy as np
from dp_accounting.dp_event import GaussianDpEvent
from scipy.special import ndtri

from tacit import noise
from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget
from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace
from tacit.mechanisms.gaussian import Multipliers
from tacit.mechanisms.mechanism import Mechanism, typed_below
from tacit.noise import Source, add_on_grid
from tacit.numerics.arrays import Floats
from tacit.queries.oracle.plan import Demand, Noise, Plan

Answered = Callable[[int, Demand, Callable[[], Floats]], Floats]


@final
class _Turns:
    """Which rounds were asked: each is, at most once, in the process and for as long as its release goes on.

    A fork has a copy of everything, a worker would have one, and each copy could ask every round again for the one
    charge. So a turn is taken under a lock, nothing here can be pickled, and after a fork there are no turns left.
    """

    def __init__(self, count: int) -> None:
        self._left = set(range(count))
        self._lock = threading.Lock()
        _OPEN.add(self)

    def take(self, number: int) -> None:
        """Take the turn of a round, or refuse."""
        with self._lock:
            if type(number) is not int or number not in self._left:
                raise InvalidParameter(
                    f"round {number!r} is not open: it was asked before, was not agreed on, or its release is over or "
                    "belongs to another process. Rounds are asked once, where `carry_out` was called."
                )
            self._left.remove(number)

    def close(self) -> None:
        """End the release: what is left is not asked."""
        # Not under the lock, which a thread may have held when a fork copied it.
        self._left = set()

    def __reduce__(self) -> NoReturn:
        raise InvalidParameter("rounds are asked where `carry_out` was called: they cannot be sent elsewhere.")


_OPEN: "weakref.WeakSet[_Turns]" = weakref.WeakSet()


def _forked() -> None:
    for turns in list(_OPEN):
        turns._lock = threading.Lock()
        turns.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@final
@dataclass(frozen=True)
class Rounds(Mechanism[Callable[[Answered], Any], Any]):
    """Noise for several rounds of sums; its value is a strategy that asks them one after the other.

    Guarantee: all rounds together are private with `budget`, whatever the strategy makes of the answers.
    Assumes: the sums of a round move by at most its demand's L1 and L2 bounds when a record is replaced.
    Reference: oracle.md, "Rounds"; laplace.md and gaussian.md for each.

    `weights` are the rounds' parts of the budget: of epsilon for Laplace noise, of the squared shift for Gaussian
    noise. No round has more than `size` numbers, and none is answered twice.
    """

    budget: Budget
    noise: Noise
    weights: tuple[int, ...]
    size: int

    def __post_init__(self) -> None:
        # As plain values: what is charged and what is drawn must be computed from the same ones.
        object.__setattr__(self, "weights", tuple(whole_number("each weight", weight) for weight in self.weights))
        object.__setattr__(self, "size", whole_number("size", self.size))
        if not self.weights or min(self.weights) < 1 or type(self.budget) is not Budget:
            raise InvalidParameter("rounds need a Budget and at least one weight.")
        if type(self.noise) is not str or self.noise not in ("laplace", "gaussian"):
            raise InvalidParameter(f"noise must be 'laplace' or 'gaussian', got {self.noise!r}.")
        if self.noise == "laplace":
            object.__setattr__(self, "budget", Budget(typed_below(self.budget.exact_epsilon)))

    @cached_property
    def event(self) -> Event:
        """All rounds as one: Gaussian noise with the whole shift, or what is known of the sum of Laplace rounds."""
        if self.noise == "gaussian":
            return GaussianDpEvent(self._multipliers(0).promised)
        return EpsilonDeltaDpEvent(self.budget.epsilon)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return "the queries", "the columns' names"

    def check(self, value: Callable[[Answered], Any]) -> Callable[[Answered], Any]:
        """Return the strategy; it has seen no record."""
        return value

    def randomise(self, value: Callable[[Answered], Any], source: Source) -> Any:
        """Let the strategy ask its rounds, and return what it makes of them."""
        turns = _Turns(len(self.weights))
        try:
            return value(partial(self._answered, source, turns))
        finally:
            turns.close()

    def share(self, number: int) -> Fraction:
        """Return a round's part of the whole."""
        return Fraction(self.weights[number], sum(self.weights))

    def plan(self, number: int, demand: Demand) -> Plan:
        """Return how a round is answered; the budget is that of all of them."""
        error = demand.factor * demand.unit / demand.n * self._quantile(number, demand)
        return Plan(
            noise=self.noise,
            budget=self.budget,
            tolerance=demand.sampling + error,
            sampling_error=demand.sampling,
            noise_error=error,
            confidence=demand.confidence,
            n=demand.n,
            size=demand.size,
            of=demand.of,
            rounds=len(self.weights),
        )

    def deviation(self, number: int, demand: Demand) -> float:
        """Return the standard deviation of the noise in one of a round's sums."""
        if self.noise == "laplace":
            return self._laplace(number, demand).standard_deviation
        grid, units = self._multipliers(number).law(demand.l2, demand.size)
        return grid * units

    def _quantile(self, number: int, demand: Demand) -> float:
        miss = demand.noise_share
        if self.noise == "laplace":
            return self._laplace(number, demand).error(1.0 - miss)
        return self.deviation(number, demand) * float(ndtri(1.0 - miss / 2.0))

    def _laplace(self, number: int, demand: Demand) -> Laplace:
        return Laplace.for_budget(self.budget * self.share(number), demand.l1, (demand.size,))

    def _multipliers(self, number: int) -> Multipliers:
        return Multipliers.for_budget(self.budget, self.size, len(self.weights), self.share(number))

    def _answered(
        self, source: Source, turns: "_Turns", number: int, demand: Demand, sums: Callable[[], Floats]
    ) -> Floats:
        """Compute one round's sums and add its noise."""
        if demand.size > self.size:
            raise InvalidParameter(f"round {number} was not agreed on: it asks for more than {self.size} numbers.")
        turns.take(number)
        if self.noise == "laplace":
            mechanism = self._laplace(number, demand)
            return np.asarray(mechanism.randomise(mechanism.check(sums()), source), dtype=np.float64)
        grid, units = self._multipliers(number).law(demand.l2, demand.size)
        return add_on_grid(sums(), noise.gaussian(source, units, demand.size), grid)


def better_noise(budget: Budget, demands: Sequence[Demand], weights: tuple[int, ...]) -> Noise:
    """Return the noise whose errors over all rounds are smaller, by their geometric mean; public facts alone."""
    if budget.is_pure:
        return "laplace"
    size = max(demand.size for demand in demands)

    def error(kind: Noise) -> float:
        try:
            rounds = Rounds(budget, kind, weights, size)
            return math.fsum(math.log(rounds.plan(number, demand).noise_error) for number, demand in enumerate(demands))
        except InvalidParameter:
            return math.inf

    return min(("laplace", "gaussian"), key=error)
