"""What an account is: how a ledger turns events into amounts, and sums of amounts into what has been spent."""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

from tacit.accounting.events import Event
from tacit.budget import Budget
from tacit.errors import InvalidParameter

NEGLIGIBLE = Fraction(1, 2**30)
"""The part of delta that is kept for the events that the error bounds of drawn noise leave out (ledger.md)."""

_SMALLEST_DELTA = Fraction(1, 10**20)
_LARGEST_DENOMINATOR = 10**12
_GRID = 10**40


class Account(ABC):
    """Turns events into amounts, and sums of amounts into what has been spent."""

    budget: Budget
    kind: ClassVar[str]

    @abstractmethod
    def charge(self, event: Event, at: Budget | None) -> Budget:
        """Return the amount that an event costs; `at` is an (epsilon, delta) claimed for it, and checked."""

    @abstractmethod
    def spent(self, total: Budget) -> Budget:
        """Return the (epsilon, delta) that a sum of amounts guarantees."""

    @abstractmethod
    def show(self, amount: Budget) -> str:
        """Say what an amount is, for people."""

    def describe(self) -> dict[str, Any]:
        """Return what has to be stored, besides the budget, to build the account again with `account_for`."""
        return {"accountant": self.kind}

    def fits(self, total: Budget) -> bool:
        """Whether a sum of amounts is within the budget."""
        return self.spent(total) <= self.budget

    def left(self, total: Budget, free: Budget) -> Budget:
        """Return what can still be spent after this sum, of which an amount of `free` does not raise it.

        In a part of a partition that is what other parts have been charged beyond this one.
        """
        return self.budget - self.spent(total) + free

    @property
    @abstractmethod
    def largest(self) -> Budget:
        """The largest sum of amounts that is within the budget."""

    def told(self, room: Budget, total: Budget) -> Budget:
        """Return in the account's own way of telling how much may be spent by who has room left for this sum."""
        return self.spent(total + room) - self.spent(total)


def check_delta(kind: str, budget: Budget) -> None:
    """Refuse a budget whose delta cannot pay for the events that the error bounds of drawn noise leave out."""
    if budget.exact_delta < _SMALLEST_DELTA:
        raise InvalidParameter(
            f"a {kind!r} account needs a budget with delta > 0, at least 1e-20, got {budget}. "
            "Give a delta well below 1/n, or use accountant='basic'."
        )


def tamed(amount: Budget) -> Budget:
    """Round fractions with endless denominators up, so that sums over years stay short."""
    return Budget.amount(_short(amount.exact_epsilon), _short(amount.exact_delta))


def _short(value: Fraction) -> Fraction:
    if value.denominator <= _LARGEST_DENOMINATOR:
        return value
    return Fraction(math.ceil(value * _GRID), _GRID)
