"""How a ledger adds up: three ways that stay valid when each event is chosen after seeing earlier answers.

An account turns an event into an *amount* (a pair of exact fractions), amounts add up over a history, and
the sum turns into what has been spent. Which account a ledger uses is fixed when the ledger is created.
The argument for adaptively chosen events is in ledger.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from tacit.accounting.account import NEGLIGIBLE, Account, check_delta, tamed
from tacit.accounting.analytic import rounded_down
from tacit.accounting.compose import cost, renyi_to_epsilon, satisfies
from tacit.accounting.events import Event, check_event, flatten
from tacit.accounting.gaussian_account import GaussianAccount
from tacit.accounting.prices import renyi
from tacit.budget import Budget
from tacit.checks import finite_number
from tacit.errors import InvalidParameter


@final
@dataclass(frozen=True)
class BasicAccount(Account):
    """Epsilons and deltas add up.

    Guarantee: everything charged is together (sum of epsilons, sum of deltas)-private.
    Assumes: replace-one neighbours; each event may depend on all earlier answers.
    Reference: basic composition as a filter (Rogers, Roth, Ullman and Vadhan 2016).
    """

    budget: Budget
    kind = "basic"

    def charge(self, event: Event, at: Budget | None) -> Budget:
        """Return the (epsilon, delta) to add."""
        if at is None:
            return tamed(cost(event, method="basic"))
        if not satisfies(event, at):
            raise InvalidParameter(
                f"the event does not keep the budget it is to be charged at ({at}). "
                "Add noise, or charge it at a larger epsilon or delta."
            )
        return tamed(at)

    def spent(self, total: Budget) -> Budget:
        """Return the sum as it is."""
        return total

    @property
    def largest(self) -> Budget:
        """The budget itself."""
        return self.budget

    def show(self, amount: Budget) -> str:
        """Say what an amount is: epsilon and delta."""
        return str(amount)


@final
@dataclass(frozen=True)
class RenyiAccount(Account):
    """Renyi divergences of one order, fixed in advance, add up; many small releases cost less.

    Guarantee: everything charged is together (epsilon, delta)-private, with half of the budget's delta for
    the conversion from the order and half for events that come with a delta of their own.
    Assumes: replace-one neighbours; each event may depend on all earlier answers.
    Reference: Renyi filter at one order (Feldman and Zrnic 2021); ledger.md for events with a delta.
    """

    budget: Budget
    order: float
    kind = "renyi"

    def __post_init__(self) -> None:
        order = finite_number("order", self.order)
        object.__setattr__(self, "order", order)
        if not 1.1 <= order <= 1e6:
            raise InvalidParameter(f"order must lie between 1.1 and 1e6, got {self.order!r}.")
        check_delta("renyi", self.budget)
        if renyi_to_epsilon(Fraction(0), order, _conversion_delta(self.budget)) >= self.budget.exact_epsilon:
            raise InvalidParameter(
                f"at order {order} the conversion alone costs more than {self.budget}. Leave the order out: "
                "the best one is chosen from the budget. If that fails too, use accountant='basic'."
            )

    @classmethod
    def best(cls, budget: Budget) -> "RenyiAccount":
        """Choose the order at which the most Gaussian releases fit into the budget."""
        if budget.is_pure:
            return cls(budget, 2.0)
        orders = [1.1 * 1.02**step for step in range(500)]
        delta = _conversion_delta(budget)
        room = {order: budget.exact_epsilon - renyi_to_epsilon(Fraction(0), order, delta) for order in orders}
        return cls(budget, max(orders, key=lambda order: float(room[order]) / order))

    def charge(self, event: Event, at: Budget | None) -> Budget:
        """Return the divergence to add, and the delta of events that come with one.

        A claim `at` an (epsilon, delta) is not needed and changes nothing.
        """
        parts = flatten(check_event(event))
        return tamed(sum((renyi(part, self.order) * count for part, count in parts), Budget(0)))

    def spent(self, total: Budget) -> Budget:
        """Convert the sum of divergences to epsilon; nothing spent is nothing converted."""
        if not total:
            return Budget(0)
        return self._converted(total)

    @property
    def largest(self) -> Budget:
        """What the conversion leaves of the budget."""
        return self.budget - self._converted(Budget(0))

    def _converted(self, total: Budget) -> Budget:
        epsilon = renyi_to_epsilon(total.exact_epsilon, self.order, _conversion_delta(self.budget))
        return Budget.amount(epsilon, self.budget.exact_delta / 2 + total.exact_delta)

    def show(self, amount: Budget) -> str:
        """Say what an amount is: a divergence, and perhaps a delta."""
        return f"a Renyi divergence of {amount.epsilon:.6g} at order {self.order:.6g}, delta={amount.delta:g}"

    def describe(self) -> dict[str, Any]:
        """Return the kind of account and its order."""
        return {"accountant": self.kind, "order": self.order}


def account_for(budget: Budget, accountant: object, order: float | None = None) -> Account:
    """Build the account of that name over the budget."""
    budget = Budget(budget.exact_epsilon, budget.exact_delta)  # sums of budgets may exceed what can be typed
    if not budget:
        raise InvalidParameter("a ledger needs a budget above zero, got none. Try 1.")
    if accountant == "renyi":
        return RenyiAccount.best(budget) if order is None else RenyiAccount(budget, order)
    for account in (BasicAccount, GaussianAccount):
        if accountant == account.kind and order is None:
            return account(budget)
    raise InvalidParameter(
        f"accountant must be 'basic', 'renyi' or 'gaussian' (only 'renyi' takes an order), got {accountant!r}, "
        f"order={order!r}. Accountants for lists fixed in advance ('advanced', 'pld') are in tacit.accounting.cost."
    )


def _conversion_delta(budget: Budget) -> float:
    return rounded_down(budget.exact_delta / 2 * (1 - NEGLIGIBLE))
