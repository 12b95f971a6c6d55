"""An account for Gaussian noise alone: squares of sensitivity over noise add up."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from tacit.accounting.account import NEGLIGIBLE, Account, check_delta, tamed
from tacit.accounting.analytic import gaussian_epsilon, gaussian_shift, rounded_down
from tacit.accounting.events import Event, check_event, dp_event, flatten
from tacit.accounting.prices import rounded_up
from tacit.budget import Budget
from tacit.checks import exact_number
from tacit.errors import InvalidParameter, UnsupportedEvent

_LARGEST_MILLS_RATIO = 1.2534


@final
@dataclass(frozen=True)
class GaussianAccount(Account):
    """Squares of sensitivity over noise add up; for Gaussian noise alone, where no account can admit more.

    Guarantee: everything charged is together (epsilon, delta)-private: the squares stay below that of the one
    Gaussian release that keeps the budget.
    Assumes: replace-one neighbours; each event may depend on all earlier answers; every event is Gaussian noise.
    Reference: ledger.md, "The Gaussian account" (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022).
    """

    budget: Budget
    kind = "gaussian"

    def __post_init__(self) -> None:
        check_delta("gaussian", self.budget)
        shift = gaussian_shift(self._inside)
        near = self._inside.epsilon / shift - shift / 2
        if near < 0 or shift * min(_LARGEST_MILLS_RATIO, 1 / max(near, 0.1)) > 5.4:
            raise InvalidParameter(
                f"a 'gaussian' account is for a delta well below epsilon, and an epsilon below 100; got {self.budget}. "
                "Use accountant='basic'."
            )

    @property
    def _inside(self) -> Budget:
        return Budget.amount(self.budget.exact_epsilon, self.budget.exact_delta * (1 - NEGLIGIBLE))

    @cached_property
    def limit(self) -> Fraction:
        """The largest sum of squares that keeps the budget."""
        return Fraction(gaussian_shift(self._inside)) ** 2

    @property
    def largest(self) -> Budget:
        """That limit, as an amount."""
        return Budget.amount(self.limit)

    def told(self, room: Budget, total: Budget) -> Budget:
        """Return the largest budget, with the account's delta, of one Gaussian release that the room is enough for."""
        return self.left(self.largest - room, Budget(0))

    def charge(self, event: Event, at: Budget | None) -> Budget:
        """Return the squares to add; a claim `at` an (epsilon, delta) is not needed and changes nothing."""
        return tamed(Budget.amount(sum(map(_square, flatten(check_event(event))), Fraction(0))))

    def fits(self, total: Budget) -> bool:
        """Whether the sum of squares is within the limit, exactly."""
        return total.is_pure and total.exact_epsilon <= self.limit

    def spent(self, total: Budget) -> Budget:
        """Return the epsilon of one Gaussian release with these squares, at the budget's delta."""
        if not total:
            return Budget(0)
        epsilon = rounded_up(gaussian_epsilon(self._inside.delta, _root(total.exact_epsilon)))
        nearest = min if self.fits(total) else max
        return Budget.amount(nearest(epsilon, self.budget.exact_epsilon), self.budget.exact_delta)

    def left(self, total: Budget, free: Budget) -> Budget:
        """Return the largest budget, with the account's delta, of one Gaussian release that still fits."""
        room = self.limit - total.exact_epsilon + free.exact_epsilon
        if room >= self.limit:
            return self.budget
        shift = math.sqrt(max(0.0, rounded_down(room))) * (1 - 2.0**-40)
        epsilon = gaussian_epsilon(self._inside.delta, shift) * (1 - 2.0**-30) if shift > 0 else 0.0
        return Budget.amount(Fraction(epsilon), self.budget.exact_delta) if epsilon > 0 else Budget(0)

    def show(self, amount: Budget) -> str:
        """Say what an amount is: a part of the sum of squares."""
        share = float(amount.exact_epsilon / self.limit)
        return f"(sensitivity / noise)^2 = {amount.epsilon:.6g}, {100 * share:.4g} % of all"


def _square(part: tuple[Event, int]) -> Fraction:
    event, count = part
    if not isinstance(event, dp_event.GaussianDpEvent):
        raise UnsupportedEvent(
            f"a 'gaussian' account is for Gaussian noise alone, got {type(event).__name__}. Use Gaussian noise (give "
            "the release a delta), or keep an account of kind 'renyi' or 'basic' for such releases."
        )
    return count / exact_number("noise_multiplier", event.noise_multiplier) ** 2


def _root(square: Fraction) -> float:
    """Return the square root, rounded up to 30 bits: coarser than the errors of what is computed from it."""
    digits, exponent = math.frexp(math.sqrt(square) * (1 + 2.0**-50))
    return math.ldexp(math.ceil(math.ldexp(digits, 30)), exponent - 30)
