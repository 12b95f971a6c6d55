"""Several rounds of queries for one charge, each free to depend on the answers before it.

Rounds that were charged one by one would add up their epsilons. Gaussian rounds that are charged together add up the
squares of their shifts instead: R equal rounds have sqrt(R) times the noise of one, not R times. All of them belong to
one release and one process, so there is nothing that a copy, a crash or a restart could go on with for free.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NoReturn, final

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
from tacit.numerics.process import this_process
from tacit.queries.oracle.plan import Demand, NoiseKind, Plan


@final
class Turns:
    """Which of a number of questions may still be asked: each is, at most once, in the process that agreed on them.

    A fork has a copy of everything, a worker would have one, and each copy could ask every question again for the one
    charge. So a turn is taken under a lock, nothing here can be pickled, and in a fork there are no turns.
    """

    def __init__(self, open_turns: Iterable[int]) -> None:
        self._left, self._lock, self._process = set(open_turns), threading.Lock(), this_process()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, number: int) -> None:
        """Take a turn, or refuse."""
        # Before the lock, which a thread may have held when a fork copied it.
        if self._process == this_process() and type(number) is int:
            with self._lock:
                if number in self._left:
                    self._left.remove(number)
                    return
        raise InvalidParameter(
            f"round {number!r} is not open: it was asked before, was not agreed on, or its session is over or "
            "belongs to another process. Rounds are asked once, where their session was opened."
        )

    def take_next(self) -> int:
        """Take the first turn that is left, or refuse."""
        if self._process != this_process():
            raise InvalidParameter("a conversation is held in the process that opened it, and this is another.")
        with self._lock:
            if not self._left:
                raise InvalidParameter("this conversation is over: all queries that were agreed on were asked.")
            number = min(self._left)
            self._left.remove(number)
        return number

    def give_back(self, number: int) -> None:
        """Open a turn again in which nothing was drawn."""
        with self._lock:
            self._left.add(number)

    def require_here(self) -> None:
        """Refuse in a fork that was made after a turn was taken: it would draw noise of its own for the same sums."""
        if self._process != this_process():
            raise InvalidParameter(
                "this process was forked from one that is answering: one charge has one answer, which is that one's."
            )

    def close(self) -> None:
        """Take all turns that are left: what was not asked is not asked any more."""
        self._left = set()

    def __reduce__(self) -> NoReturn:
        raise InvalidParameter("questions are asked where they were agreed on: they cannot be sent elsewhere.")


@final
@dataclass(frozen=True)
class OpenRounds:
    """Rounds that were charged for, and the coins that their noise is drawn from."""

    rounds: "Rounds"
    source: Source
    turns: Turns

    def answer(self, number: int, demand: Demand, sums: Callable[[], Floats]) -> Floats:
        """Compute one round's sums and add its noise."""
        if demand.size > self.rounds.size:
            raise InvalidParameter(f"round {number} was not agreed on: it asks for over {self.rounds.size} numbers.")
        self.turns.take(number)
        answer = self.rounds.noisy(demand, sums(), self.source)
        self.turns.require_here()
        return answer


@final
@dataclass(frozen=True)
class Rounds(Mechanism[None, OpenRounds]):
    """Noise for `count` rounds of sums with equal shares of a budget; what is released is the right to ask them.

    Guarantee: all rounds together are private with `budget`, whatever is made of the answers in between.
    Assumes: the sums of a round move by at most its demand's L1 and L2 bounds when a record is replaced.
    Reference: oracle.md, "Rounds"; laplace.md and gaussian.md for each.

    Shares are of epsilon for Laplace noise, of the squared shift for Gaussian noise. No round has more than `size`
    numbers, and none is answered twice.
    """

    budget: Budget
    noise: NoiseKind
    count: int
    size: int

    def __post_init__(self) -> None:
        # As plain values: what is charged and what is drawn must be computed from the same ones.
        object.__setattr__(self, "count", whole_number("count", self.count))
        object.__setattr__(self, "size", whole_number("size", self.size))
        if type(self.budget) is not Budget:
            raise InvalidParameter(f"rounds need a Budget, got {type(self.budget).__name__}.")
        if type(self.noise) is not str or self.noise not in ("laplace", "gaussian"):
            raise InvalidParameter(f"noise must be 'laplace' or 'gaussian', got {self.noise!r}.")
        if self.noise == "laplace":
            object.__setattr__(self, "budget", Budget(typed_below(self.budget.exact_epsilon)))

    @classmethod
    def for_demands(cls, budget: Budget, demands: Sequence[Demand], count: int) -> "Rounds":
        """Return the noise whose errors over the rounds are smaller, by their geometric mean; public facts alone."""
        size = max(demand.size for demand in demands)

        def error(rounds: Rounds) -> float:
            try:
                return math.fsum(math.log(rounds.plan(demand).noise_error) for demand in demands)
            except InvalidParameter:
                return math.inf

        kinds = demands[0].noise_kinds(budget)
        return min((cls(budget, kind, count, size) for kind in kinds), key=error)

    @cached_property
    def event(self) -> Event:
        """All rounds as one: Gaussian noise with the whole shift, or what is known of the sum of Laplace rounds."""
        if self.noise == "gaussian":
            return GaussianDpEvent(self.multipliers.promised)
        return EpsilonDeltaDpEvent(self.budget.epsilon)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return "the queries", "the columns' names"

    def check(self, value: None) -> None:
        """There is nothing to check: no record was looked at yet."""

    def randomise(self, value: None, source: Source) -> OpenRounds:
        """Return the rounds with their coins: nothing is drawn before a round is asked."""
        return OpenRounds(self, source, Turns(range(self.count)))

    def noisy(self, demand: Demand, sums: Floats, source: Source) -> Floats:
        """Add one round's noise to its sums; `OpenRounds` sees to it that each round is noised once."""
        if self.noise == "laplace":
            return np.asarray(self.laplace(demand).randomise(sums, source), dtype=np.float64)
        grid, units = self.multipliers.law(demand.l2, demand.size)
        return add_on_grid(sums, noise.gaussian(source, units, demand.size), grid)

    def plan(self, demand: Demand) -> Plan:
        """Return how a round is answered; the budget is that of all of them."""
        miss = demand.noise_share
        if self.noise == "laplace":
            quantile = self.laplace(demand).error(1.0 - miss)
        else:
            quantile = self.deviation(demand) * float(ndtri(1.0 - miss / 2.0))
        return demand.plan(self.noise, self.budget, quantile, rounds=self.count)

    def deviation(self, demand: Demand) -> float:
        """Return the standard deviation of the noise in one of a round's sums."""
        if self.noise == "laplace":
            return self.laplace(demand).standard_deviation
        grid, units = self.multipliers.law(demand.l2, demand.size)
        return grid * units

    def laplace(self, demand: Demand) -> Laplace:
        """Return the noise of one round, if it is Laplace noise."""
        return Laplace.for_budget(self.budget * Fraction(1, self.count), demand.l1, (demand.size,))

    @cached_property
    def multipliers(self) -> Multipliers:
        """Noise over sensitivity, if the noise is Gaussian."""
        return Multipliers.for_budget(self.budget, self.size, self.count)
