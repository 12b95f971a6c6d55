"""Two kinds of account: sums, and Renyi divergences of one order as a filter."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from support.event_strategies import KINDS, RENYI_KINDS, SLOW
from tacit.accounting import EpsilonDeltaDpEvent, Ledger
from tacit.accounting.accounts import BasicAccount, RenyiAccount, account_for
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, UnsupportedEvent


def _overhead(order: float, delta: float) -> float:
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


@pytest.mark.parametrize(("budget", "multiplier"), [(Budget(1.0, 1e-6), 20.0), (Budget(3.0, 1e-5), 7.0)])
def test_as_many_gaussian_releases_fit_as_the_formula_says(tmp_path: Path, budget: Budget, multiplier: float) -> None:
    """A Renyi ledger of order a lets floor((epsilon - overhead) / (a / (2 sigma^2))) Gaussian releases through."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="a", budget=budget, accountant="renyi")
    order = float(ledger.accountant.split()[1])
    each = order / (2 * multiplier**2)
    capacity = math.floor((budget.epsilon - _overhead(order, budget.delta / 2)) / each)
    assert capacity > 5
    for number in range(capacity):
        ledger.spend(dp_event.GaussianDpEvent(multiplier), label=f"query {number}")
    with pytest.raises(BudgetExceeded):
        ledger.spend(dp_event.GaussianDpEvent(multiplier), label="one more")
    assert ledger.spent <= budget
    assert ledger.spent.epsilon == pytest.approx(capacity * each + _overhead(order, budget.delta / 2), rel=1e-9)


def test_many_gaussian_releases_cost_less_than_their_sum() -> None:
    """A Renyi account lets more Gaussian releases through than charging each at its best point would."""
    budget, event = Budget(1.0, 1e-6), dp_event.GaussianDpEvent(60.0)
    renyi = RenyiAccount.best(budget)
    each = renyi.charge(event, None)
    assert renyi.fits(each * 80)
    with pytest.raises(InvalidParameter, match="does not keep"):
        BasicAccount(budget).charge(event, budget / 80)


def test_no_other_order_fits_many_more_gaussian_releases() -> None:
    """The order chosen from the budget is within one percent of the best of a fine grid."""
    for budget in (Budget(0.1, 1e-6), Budget(1.0, 1e-6), Budget(1.0, 1e-3), Budget(10.0, 1e-9)):
        chosen = RenyiAccount.best(budget).order
        room = {
            order: (budget.epsilon - max(0.0, _overhead(order, budget.delta / 2))) / order
            for order in [chosen, *np.geomspace(1.1, 1e4, 4000)]
        }
        assert room[chosen] >= 0.99 * max(room.values())


@pytest.mark.parametrize("order", [8, 8.0, np.int64(8), np.float32(8), np.float64(8), Decimal(8), Fraction(8)])
def test_the_order_is_fixed_for_life(tmp_path: Path, order: Any) -> None:
    """An order given at creation, in whatever type of number, is the order after reopening."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(10.0, 1e-6), accountant="renyi", order=order)
    ledger.spend(dp_event.GaussianDpEvent(3.0), label="first")
    again = Ledger.open(address)
    assert again.accountant == ledger.accountant == "renyi 8.0"
    assert again.spent == ledger.spent


def test_the_chosen_order_survives_reopening(tmp_path: Path) -> None:
    """An order chosen from the budget is stored, not chosen anew."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(1.0, 1e-6), accountant="renyi")
    entry = ledger.spend(dp_event.GaussianDpEvent(30.0), label="first")
    again = Ledger.open(address)
    assert again.accountant == ledger.accountant
    assert again.spend(dp_event.GaussianDpEvent(30.0), label="second").amount == entry.amount


@pytest.mark.parametrize(
    ("budget", "order"),
    [
        (Budget(1.0), None),
        (Budget(1.0), 8.0),
        (Budget(0, 1e-6), None),
        (Budget(0.001, 1e-30), 2.0),
        (Budget(1.0, 1e-6), 2.0),
        (Budget(1.0, 1e-6), 1.0),
        (Budget(1.0, 1e-6), 0.5),
        (Budget(1.0, 1e-6), -8.0),
        (Budget(1.0, 1e-6), 1e7),
        (Budget(1.0, 1e-6), math.nan),
        (Budget(1.0, 1e-6), math.inf),
        (Budget(1.0, 1e-6), "8"),
        (Budget(1.0, 1e-6), True),
        (Budget(1.0, 1e-6), 10**400),
    ],
)
def test_an_order_that_leaves_nothing_is_refused(budget: Budget, order: Any) -> None:
    """A pure budget, an order out of range or one whose conversion costs it all cannot be had."""
    with pytest.raises(InvalidParameter, match=r"order|delta > 0"):
        account_for(budget, "renyi", order)


def test_events_with_a_delta_use_the_half_kept_for_them(tmp_path: Path) -> None:
    """Half of a Renyi account's delta is for events that come with one, and no more than that half."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(2.0, 1e-6), accountant="renyi")
    ledger.spend(dp_event.GaussianDpEvent(50.0), label="without delta")
    assert ledger.spent.exact_delta == Fraction(1, 2 * 10**6)
    ledger.spend(EpsilonDeltaDpEvent(0.01, 3e-7), label="with delta")
    assert ledger.spent.exact_delta == Fraction(8, 10**7)
    with pytest.raises(BudgetExceeded):
        ledger.spend(EpsilonDeltaDpEvent(0.01, 3e-7), label="too much delta")
    ledger.spend(EpsilonDeltaDpEvent(0.01, 2e-7), label="the rest of it")
    assert ledger.remaining.exact_delta == 0
    ledger.spend(dp_event.GaussianDpEvent(50.0), label="epsilon is left")


def test_nothing_spent_is_nothing_converted() -> None:
    """A Renyi account that was not charged owes no overhead either, and free events stay free."""
    account = RenyiAccount.best(Budget(1.0, 1e-6))
    assert account.spent(Budget(0)) == Budget(0)
    assert account.charge(dp_event.NoOpDpEvent(), None) == Budget(0)
    assert account.charge(EpsilonDeltaDpEvent(0.0), None) == Budget(0)


def test_an_event_without_a_renyi_price_is_refused_at_any_claim() -> None:
    """A claim does not make up for what an event does not say."""
    account = RenyiAccount.best(Budget(4.0, 1e-5))
    unsaid = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    leaky = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1.0), 10.0, 0.0)
    for event, at in itertools.product((unsaid, leaky), (None, Budget(4.0, 1e-6))):
        with pytest.raises(UnsupportedEvent):
            account.charge(event, at)


def test_a_claim_is_not_needed_where_there_is_a_renyi_price() -> None:
    """A point named for an event with a Renyi price changes nothing."""
    account = RenyiAccount.best(Budget(1.0, 1e-6))
    event = dp_event.GaussianDpEvent(10.0)
    assert account.charge(event, Budget(1.0, 1e-6)) == account.charge(event, None)


def test_a_basic_account_charges_the_claim_and_not_less() -> None:
    """A named point is charged as it is, also where the event's own would be smaller."""
    account = BasicAccount(Budget(5.0, 1e-5))
    assert account.charge(dp_event.LaplaceDpEvent(2.0), Budget(0.7)) == Budget(0.7)
    assert account.charge(dp_event.LaplaceDpEvent(2.0), None) == Budget(0.5)
    with pytest.raises(InvalidParameter, match="does not keep"):
        account.charge(dp_event.LaplaceDpEvent(2.0), Budget(0.4))


@pytest.mark.parametrize("kind", RENYI_KINDS)
@settings(max_examples=15)
@given(st.data())
def test_n_copies_cost_n_times_one_in_both_accounts(kind: str, data: st.DataObject) -> None:
    """Charging an event n times, charging it repeated n times and charging n in one list is the same."""
    event, count = data.draw(KINDS[kind]), data.draw(st.integers(0, 50))
    for account in (BasicAccount(Budget(1.0)), RenyiAccount.best(Budget(1.0, 1e-6))):
        try:
            once = account.charge(event, None)
        except UnsupportedEvent:
            assert isinstance(account, BasicAccount)
            assert kind in ("gaussian", "zcdp", "poisson sampled", "sampled without replacement")
            continue
        assert account.charge(dp_event.SelfComposedDpEvent(event, count), None).epsilon == pytest.approx(
            (once * count).epsilon, rel=1e-12
        )
        assert account.charge(dp_event.ComposedDpEvent([event] * count), None) == account.charge(
            dp_event.SelfComposedDpEvent(event, count), None
        )


def _loss(event: Any) -> pld.PrivacyLossDistribution:
    if isinstance(event, dp_event.GaussianDpEvent):
        return pld.from_gaussian_mechanism(event.noise_multiplier, value_discretization_interval=1e-3)
    if isinstance(event, dp_event.LaplaceDpEvent):
        return pld.from_laplace_mechanism(event.noise_multiplier, value_discretization_interval=1e-3)
    parameters = common.DifferentialPrivacyParameters(event.epsilon, getattr(event, "delta", 0.0))
    return pld.from_privacy_parameters(parameters, value_discretization_interval=1e-3)


@SLOW
@given(
    st.sampled_from([Budget(0.5, 1e-6), Budget(2.0, 1e-5), Budget(8.0, 1e-4)]),
    st.lists(
        st.one_of(
            st.builds(dp_event.GaussianDpEvent, st.floats(2.0, 30.0)),
            st.builds(dp_event.LaplaceDpEvent, st.floats(2.0, 30.0)),
            st.builds(EpsilonDeltaDpEvent, st.floats(0.01, 0.5), st.floats(1e-9, 1e-7)),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_whatever_a_renyi_account_accepts_keeps_the_budget(budget: Budget, events: list[Any]) -> None:
    """Any accepted sequence, composed by an independent accountant, is within epsilon at the budget's delta."""
    account = RenyiAccount.best(budget)
    total, accepted = Budget(0), []
    for event in events * 10:
        more = total + account.charge(event, None)
        if account.fits(more):
            total, accepted = more, [*accepted, event]
    composed = pld.identity(value_discretization_interval=1e-3)
    for event in events:
        copies = accepted.count(event) // events.count(event)
        composed = composed.compose(_loss(event).self_compose(copies)) if copies else composed
    leftover = [event for event in set(events) for _ in range(accepted.count(event) % events.count(event))]
    for event in leftover:
        composed = composed.compose(_loss(event))
    assert composed.get_delta_for_epsilon(budget.epsilon) <= budget.delta
    assert account.spent(total) <= budget


@settings(max_examples=30)
@given(st.lists(st.one_of(KINDS["gaussian"], KINDS["laplace"], KINDS["zcdp"]), min_size=1, max_size=5))
def test_a_renyi_account_adds_up_as_dp_accounting_does(events: list[Any]) -> None:
    """The divergence and the epsilon at the account's order agree with an independent implementation."""
    account = RenyiAccount.best(Budget(5.0, 1e-6))
    total = sum((account.charge(event, None) for event in events), Budget(0))
    accountant = RdpAccountant([account.order])
    for event in events:
        accountant.compose(event)
    # Laplace noise is priced for a grid: a shade more.
    assert total.epsilon == pytest.approx(float(accountant._rdp[0]), rel=1e-5, abs=1e-12)
    assert total.exact_epsilon >= Fraction(float(accountant._rdp[0])) * (1 - Fraction(1, 10**9))
    theirs = accountant.get_epsilon(5e-7)
    assert account.spent(total).epsilon >= theirs * (1 - 1e-12)
    if theirs > 0.01:
        assert account.spent(total).epsilon == pytest.approx(theirs, rel=1e-5, abs=1e-9)


def test_accounts_say_what_amounts_are() -> None:
    """An amount is shown in the account's own units."""
    assert BasicAccount(Budget(1.0)).show(Budget(0.5, 1e-6)) == "epsilon=0.5, delta=1e-06"
    account = RenyiAccount(Budget(10.0, 1e-6), 8)
    assert account.show(account.charge(dp_event.GaussianDpEvent(2.0), None)) == (
        "a Renyi divergence of 1 at order 8, delta=0"
    )
