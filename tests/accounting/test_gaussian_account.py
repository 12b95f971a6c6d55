"""The account for Gaussian noise alone: exact, adaptive, and closed to everything else."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st

from support.event_strategies import KINDS, composed
from tacit.accounting import EpsilonDeltaDpEvent, Ledger, PoissonSampledGaussianDpEvent
from tacit.accounting.accounts import RenyiAccount, account_for
from tacit.accounting.analytic import gaussian_delta, gaussian_epsilon
from tacit.accounting.gaussian_account import GaussianAccount
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, UnsupportedEvent
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import gaussian_error
from tacit.releases import release

BUDGET = Budget(1.0, 1e-6)
BUDGETS = [Budget(0.1, 1e-6), BUDGET, Budget(3.0, 1e-9), Budget(8.0, 1e-5), Budget(1.0, 1e-3), Budget(90.0, 1e-6)]


def _exact_delta(epsilon: float, square: Fraction) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, s = mpmath.mpf(epsilon), mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        return mpmath.ncdf(s / 2 - e / s) - mpmath.exp(e) * mpmath.ncdf(-s / 2 - e / s)


def _capacity(account: Any, event: Any) -> int:
    each = account.charge(event, None)
    few, many = 0, 10**12
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if account.fits(each * middle) else (few, middle)
    return few


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("multiplier", [7.3, 60.0, 900.0])
def test_no_more_and_no_fewer_releases_than_are_private(budget: Budget, multiplier: float) -> None:
    """The last release that fits keeps delta, in sixty digits; the twin that lets one more through does not."""
    count = _capacity(GaussianAccount(budget), dp_event.GaussianDpEvent(multiplier))
    square = 1 / Fraction(repr(multiplier)) ** 2
    if count:
        assert _exact_delta(budget.epsilon, square * count) <= budget.exact_delta
    assert _exact_delta(budget.epsilon, square * (count + 1)) > budget.exact_delta


def test_more_releases_fit_than_into_a_renyi_account() -> None:
    """At (1, 1e-6), 15 to 28 percent more equal Gaussian releases than the best Renyi order admits."""
    for multiplier in (50.0, 100.0, 200.0, 1000.0):
        event = dp_event.GaussianDpEvent(multiplier)
        exact, renyi = _capacity(GaussianAccount(BUDGET), event), _capacity(RenyiAccount.best(BUDGET), event)
        assert 1.15 <= exact / renyi <= 1.28


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(1000.0),
        EpsilonDeltaDpEvent(1e-6, 1e-12),
        dp_event.ZCDpEvent(1e-9),
        dp_event.RandomizedResponseDpEvent(0.999, 2),
        dp_event.DiscreteLaplaceDpEvent(1e-6, 1),
        dp_event.SampledWithoutReplacementDpEvent(100, 1, dp_event.GaussianDpEvent(100.0)),
        PoissonSampledGaussianDpEvent(0.01, 100.0),
        dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(100.0)),
        dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(100.0), dp_event.LaplaceDpEvent(1e6)]),
        dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent([EpsilonDeltaDpEvent(1e-9)]), 3),
    ],
    ids=lambda event: type(event).__name__,
)
def test_anything_but_gaussian_noise_is_refused_and_not_charged(tmp_path: Path, event: Any) -> None:
    """No other event enters, at any claim, and the account is as it was before."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/a.db", name="a", budget=BUDGET, accountant="gaussian")
    ledger.spend(dp_event.GaussianDpEvent(50.0), label="before")
    spent, entries = ledger.spent, len(ledger.entries())
    for at in (None, Budget(0.5, 1e-7), Budget(0.5)):
        with pytest.raises(UnsupportedEvent, match="Gaussian noise alone"):
            ledger.spend(event, label="other", at=at)
        with pytest.raises(UnsupportedEvent):
            ledger.price(event, at=at)
    assert (ledger.spent, len(ledger.entries())) == (spent, entries)


@given(st.lists(KINDS["gaussian"], max_size=4), st.integers(0, 10**6))
def test_compositions_cost_the_sum_of_their_squares(events: list[Any], count: int) -> None:
    """Lists and repetitions, nested at will, add up exactly, rounded up on a grid of 1e-40 at most."""
    account = GaussianAccount(BUDGET)
    listed = dp_event.ComposedDpEvent([*events, dp_event.NoOpDpEvent()])
    charged = account.charge(dp_event.SelfComposedDpEvent(listed, count), None)
    exact = count * sum((1 / Fraction(repr(event.noise_multiplier)) ** 2 for event in events), Fraction(0))
    assert charged.is_pure
    assert exact <= charged.exact_epsilon <= exact + Fraction(1, 10**40)


@given(composed(KINDS["gaussian"]))
def test_a_claim_changes_nothing(event: Any) -> None:
    """A point named for Gaussian noise is not needed here."""
    account = GaussianAccount(BUDGET)
    assert account.charge(event, Budget(1.0, 1e-6)) == account.charge(event, None)


@settings(max_examples=50)
@given(st.sampled_from(BUDGETS), st.fractions(Fraction(1, 10**9), 2), st.fractions(0, 1))
def test_what_is_spent_is_true_and_grows(budget: Budget, share: Fraction, more: Fraction) -> None:
    """`spent` keeps its own promise, never falls, and exceeds the budget exactly when the squares do."""
    account = GaussianAccount(budget)
    fewer, rest = account.limit * share, account.limit * more / 10**6
    total, larger = (Budget.amount(square, Fraction(0)) for square in (fewer, fewer + rest))
    spent = account.spent(total)
    assert spent <= account.spent(larger)
    assert account.fits(total) == (share <= 1) == (spent <= budget)
    assert _exact_delta(float(spent.exact_epsilon), fewer) <= budget.exact_delta * (1 + Fraction(1, 10**9))
    assert account.spent(Budget(0)) == Budget(0)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_remains_is_one_release_that_fits(tmp_path: Path, budget: Budget) -> None:
    """A Gaussian release calibrated to `remaining` fits, hardly anything is left, and one a little larger does not."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/a.db", name="a", budget=budget, accountant="gaussian")
    assert ledger.remaining == budget
    ledger.spend(Gaussian.for_budget(budget / 3).event, label="first")
    left = ledger.remaining
    assert left.exact_delta == budget.exact_delta
    assert budget / 3 <= left <= budget
    larger = Budget(left.exact_epsilon * Fraction(1001, 1000), left.exact_delta)
    with pytest.raises(BudgetExceeded, match="% of all"):
        ledger.spend(Gaussian.for_budget(larger).event, label="too large")
    ledger.spend(Gaussian.for_budget(left).event, label="the rest")
    assert ledger.remaining.epsilon < 0.01 * budget.epsilon
    assert ledger.spent <= budget


def test_releases_pass_through_the_door(tmp_path: Path) -> None:
    """Gaussian mechanisms are charged and answered, Laplace noise is refused before it is drawn."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/a.db", name="a", budget=BUDGET, accountant="gaussian")
    release(Gaussian.for_budget(Budget(0.3, 1e-7)), 1.0, ledger=ledger, label="mean")
    assert 0 < ledger.spent.epsilon < 0.34
    with pytest.raises(UnsupportedEvent):
        release(Laplace.for_budget(Budget(0.1)), 1.0, ledger=ledger, label="other")
    assert len(ledger.entries()) == 1


def test_the_account_survives_reopening_and_parts_cost_their_largest(tmp_path: Path) -> None:
    """Squares in disjoint parts count once, by the largest, and a reopened account goes on exactly."""
    address = f"sqlite:///{tmp_path}/a.db"
    ledger = Ledger.create(address, name="a", budget=BUDGET, accountant="gaussian")
    event = dp_event.GaussianDpEvent(10.0)
    parts = ledger.partition("halves", ["left", "right"], fixed_by="index")
    for part in parts.values():
        for number in range(3):
            part.spend(event, label=f"query {number}")
    again = Ledger.open(address)
    assert again.accountant == "gaussian"
    assert again.spent == ledger.spent == GaussianAccount(BUDGET).spent(Budget(0.03))
    parts["left"].spend(event, label="fourth")
    free = parts["right"].remaining.epsilon
    assert free > again.remaining.epsilon
    assert parts["right"].price(event) == Budget(0)
    parts["right"].spend(event, label="fourth, which is free")
    again.spend(event, label="fifth")
    with pytest.raises(BudgetExceeded):
        parts["right"].spend(event, label="sixth")
    assert again.spent <= BUDGET


def _adaptive_delta(epsilon: float, square: float, share: float, threshold: float, rests: tuple[float, float]) -> float:
    """Return delta of two releases; the second takes rests[0] or rests[1] of what is left, by the first answer."""
    first = math.sqrt(share * square)
    answers = np.linspace(first - 12, first + 12, 1201)
    chances = np.exp(-((answers - first) ** 2) / 2) * (answers[1] - answers[0]) / math.sqrt(2 * math.pi)
    total = 0.0
    for answer, chance in zip(answers, chances, strict=True):
        left = epsilon - (first * answer - first * first / 2)
        rest = rests[int(answer > threshold)] * (1 - share) * square
        total += chance * (gaussian_delta(left, math.sqrt(rest)) if rest else max(0.0, -math.expm1(min(0.0, left))))
    return total


def test_an_adversary_who_looks_gains_nothing() -> None:
    """Squares that depend on earlier answers, within the limit, never have a larger delta than one release.

    The twin, which lets the second release take a tenth more than was left, is found out.
    """
    epsilon, square = 1.0, 0.5
    one = gaussian_delta(epsilon, math.sqrt(square))
    for share, threshold in itertools.product((0.2, 0.8), (-0.5, 0.5, 1.5)):
        for rests in itertools.product((0.0, 0.5, 1.0), repeat=2):
            assert _adaptive_delta(epsilon, square, share, threshold, rests) <= one * (1 + 1e-4)
    assert _adaptive_delta(epsilon, square, 0.5, 0.0, (1.0, 1.0)) == pytest.approx(one, rel=1e-4)
    assert _adaptive_delta(epsilon, square, 0.5, 0.0, (1.1, 1.1)) > 1.02 * one


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_is_drawn_is_no_worse_than_what_is_promised(budget: Budget) -> None:
    """e^Z delta(epsilon - 2Z, s^2 - 22Z), what releases as drawn may cost, never exceeds delta, however large Z is."""
    account = GaussianAccount(budget)
    for part in (0, 1e-12, 1e-6, 0.01, 0.3, 1.0):
        errors = float(account.limit) / 44 * part
        square = account.limit - 22 * Fraction(errors)
        delta = mpmath.exp(errors) * _exact_delta(budget.epsilon - 2 * errors, square)
        assert delta <= budget.exact_delta * (1 - Fraction(1, 2**31))


@pytest.mark.parametrize("dimension", [1, 1000, 10**6])
def test_gaussian_mechanisms_draw_what_the_account_needs(dimension: int) -> None:
    """1/drawn^2 + 22 z <= 1/promised^2 and 44 z <= 1/promised^2, as the note asks of whoever emits a Gaussian event."""
    noise = Gaussian.for_budget(Budget(0.1, 1e-6), shape=(dimension,))
    promised, drawn = (1 / Fraction(m) ** 2 for m in (noise.multipliers.promised, noise.multipliers.drawn))
    error = Fraction(gaussian_error(dimension))
    assert drawn + 22 * error <= promised
    assert 44 * error <= promised


@pytest.mark.parametrize(
    "budget",
    [Budget(1.0), Budget(1.0, 1e-25), Budget(0, 1e-6), Budget(1e-6, 1e-2), Budget(1.0, 0.4), Budget(1000.0, 1e-6)],
    ids=str,
)
def test_budgets_that_the_proof_does_not_cover_are_refused(budget: Budget) -> None:
    """No delta, hardly any, one as large as epsilon, or an epsilon beyond reason: use another account."""
    with pytest.raises(InvalidParameter, match="accountant='basic'"):
        account_for(budget, "gaussian")
    with pytest.raises(InvalidParameter, match="only 'renyi' takes an order"):
        account_for(BUDGET, "gaussian", 8.0)


@given(st.floats(1e-6, 1e6), st.floats(1e-20, 0.4))
def test_epsilon_and_delta_are_inverse(shift: float, delta: float) -> None:
    """The epsilon told for a delta keeps it, and one a thousandth smaller does not."""
    epsilon = gaussian_epsilon(delta, shift)
    assert gaussian_delta(epsilon, shift) <= delta
    if epsilon > 1e-9 * shift:
        assert gaussian_delta(epsilon * 0.999, shift) > delta * 0.999
