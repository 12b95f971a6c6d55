"""The account: what is charged, what is refused, what is left, and what it says."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event

from tacit.accounting import BoundedRangeDpEvent, EpsilonDeltaDpEvent, Ledger, PoissonSampledGaussianDpEvent
from tacit.budget import Budget
from tacit.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerExists,
    LedgerMissing,
    TacitError,
    UnsupportedEvent,
)

HALF = dp_event.LaplaceDpEvent(2.0)
TENTH = dp_event.LaplaceDpEvent(10.0)


@pytest.fixture
def ledger(address: str) -> Ledger:
    """Give a new account of epsilon 1 and delta 1e-6."""
    return Ledger.create(address, name="hospital", budget=Budget(1.0, 1e-6))


class Cheaper(Budget):  # type: ignore[misc]
    """A budget of one's own, which could say something else each time it is asked."""


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
def test_a_budget_is_a_plain_budget(tmp_path: Path, accountant: Any) -> None:
    """An account is created with, and charged at, a Budget and nothing that looks like one, whatever the accountant."""
    address = f"sqlite:///{tmp_path}/plain.db"
    ledger = Ledger.create(address, name="plain", budget=Budget(1.0, 1e-6), accountant=accountant)
    event, nonsense = dp_event.GaussianDpEvent(10.0), (Cheaper(1.0, 1e-6), "cheap")
    for at in nonsense:
        with pytest.raises(InvalidParameter, match="at must be a Budget"):
            ledger.spend(event, label="not a budget", at=at)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="at must be a Budget"):
            ledger.price(event, at=at)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="budget must be a Budget"):
            Ledger.create(address, name="other", budget=at, accountant=accountant)  # type: ignore[arg-type]
    assert ledger.entries() == []
    ledger.spend(event, label="a budget", at=Budget(1.0, 1e-6))


@pytest.fixture
def small(tmp_path: Path) -> Ledger:
    """Give a new account in a file, for claims that do not depend on the database."""
    return Ledger.create(f"sqlite:///{tmp_path}/small.db", name="small", budget=Budget(1.0, 1e-6))


def test_a_new_account_has_spent_nothing(ledger: Ledger) -> None:
    """All of the budget is left at the start, and the account says what it is."""
    assert ledger.spent == Budget(0)
    assert ledger.remaining == ledger.budget == Budget(1.0, 1e-6)
    assert ledger.entries() == []
    assert (ledger.name, ledger.accountant) == ("hospital", "basic")
    assert ledger.address.startswith(("sqlite", "postgresql"))


def test_a_spend_is_recorded_with_all_that_was_said(ledger: Ledger) -> None:
    """The entry holds number, time, label, event and amount, and the history returns it equal."""
    entry = ledger.spend(HALF, label="count of admissions")
    assert (entry.number, entry.label, entry.path, entry.event) == (1, "count of admissions", (), HALF)
    assert entry.amount == Budget(0.5)
    assert entry.time.endswith("+00:00")
    assert ledger.entries() == [entry]
    assert ledger.head == entry.hash


def test_what_is_typed_adds_up_exactly(ledger: Ledger) -> None:
    """Ten times one tenth is one: nothing is lost to rounding and nothing is left."""
    for number in range(10):
        ledger.spend(TENTH, label=f"query {number}")
    assert ledger.spent == Budget(1.0)
    assert ledger.remaining == Budget(0, 1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.spend(dp_event.LaplaceDpEvent(1e9), label="the smallest more")


def test_an_account_can_be_opened_again(ledger: Ledger, address: str) -> None:
    """Another handle to the same address sees the same budget, history and last hash."""
    ledger.spend(HALF, label="first")
    again = Ledger.open(address)
    assert again == ledger
    assert hash(again) == hash(ledger)
    assert (again.budget, again.spent, again.entries(), again.head) == (
        ledger.budget,
        ledger.spent,
        ledger.entries(),
        ledger.head,
    )


def test_two_handles_see_each_others_spends(ledger: Ledger, address: str) -> None:
    """Handles to one account never disagree, whoever spends."""
    again = Ledger.open(address)
    ledger.spend(TENTH, label="one")
    again.spend(HALF, label="two")
    assert ledger.spent == again.spent == Budget(0.6)
    with pytest.raises(BudgetExceeded):
        ledger.spend(HALF, label="three")


def test_accounts_in_one_database_are_independent(ledger: Ledger, address: str) -> None:
    """Spending from one account leaves the other alone, and a name is needed to tell them apart."""
    bank = Ledger.create(address, name="bank", budget=Budget(3))
    bank.spend(dp_event.LaplaceDpEvent(0.5), label="all clients")
    assert ledger.spent == Budget(0)
    assert Ledger.open(address, name="bank").spent == Budget(2)
    assert bank != ledger
    assert bank.entries()[0].hash != ledger.spend(dp_event.LaplaceDpEvent(2.0), label="all clients").hash
    with pytest.raises(LedgerMissing, match=r"2 accounts; say which: bank, hospital"):
        Ledger.open(address)
    with pytest.raises(LedgerMissing, match=r"no account 'school'; it has: bank, hospital"):
        Ledger.open(address, name="school")


def test_an_account_is_created_once(ledger: Ledger, address: str) -> None:
    """Creating the same name again is refused whatever the budget, and the first account stays."""
    ledger.spend(HALF, label="kept")
    with pytest.raises(LedgerExists, match=r"already has an account 'hospital'.*Open that one"):
        Ledger.create(address, name="hospital", budget=Budget(100))
    assert Ledger.open(address).spent == Budget(0.5)


def test_a_refusal_says_what_was_needed_what_is_left_and_what_to_do(ledger: Ledger) -> None:
    """The message of a refused spend lets its reader decide, and nothing is charged."""
    ledger.spend(dp_event.LaplaceDpEvent(4.0), label="first")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.spend(dp_event.LaplaceDpEvent(1.0), label="too much")
    message = str(refusal.value)
    for said in ("'too much'", "epsilon=1", "epsilon=0.75", "hospital", "Nothing was charged", "Ask for less"):
        assert said in message
    assert ledger.spent == Budget(0.25)
    assert [entry.label for entry in ledger.entries()] == ["first"]


def test_delta_is_a_budget_of_its_own(ledger: Ledger) -> None:
    """An event whose delta does not fit is refused although its epsilon does."""
    ledger.spend(EpsilonDeltaDpEvent(0.1, 6e-7), label="fits")
    with pytest.raises(BudgetExceeded):
        ledger.spend(EpsilonDeltaDpEvent(0.1, 6e-7), label="delta runs out")
    assert ledger.spent == Budget(0.1, 6e-7)


def test_a_gaussian_is_charged_at_the_point_named_for_it(ledger: Ledger) -> None:
    """On a basic account Gaussian noise needs a point, which is checked and then charged as it is."""
    enough, too_little = dp_event.GaussianDpEvent(8.5), dp_event.GaussianDpEvent(8.0)
    with pytest.raises(UnsupportedEvent, match=r"at=Budget"):
        ledger.spend(enough, label="no point")
    with pytest.raises(InvalidParameter, match="does not keep the budget"):
        ledger.spend(too_little, label="false claim", at=Budget(0.5, 1e-6))
    with pytest.raises(InvalidParameter):
        ledger.spend(enough, label="not a budget", at=0.5)  # type: ignore[arg-type]
    entry = ledger.spend(enough, label="mean age", at=Budget(0.5, 1e-6))
    assert entry.amount == ledger.spent == Budget(0.5, 1e-6)


@pytest.mark.parametrize("accountant", ["basic", "renyi"])
@pytest.mark.parametrize(
    "event",
    [
        HALF,
        EpsilonDeltaDpEvent(0.1, 1e-7),
        BoundedRangeDpEvent(0.3),
        dp_event.SelfComposedDpEvent(dp_event.RandomizedResponseDpEvent(0.9, 2), 3),
        dp_event.NoOpDpEvent(),
        PoissonSampledGaussianDpEvent(0.01, 10.0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_the_price_is_what_a_spend_then_adds(tmp_path: Path, accountant: Any, event: dp_event.DpEvent) -> None:
    """A price asked before equals the rise in what is spent after, and asking changes nothing."""
    file = tmp_path / "ledger.db"
    ledger = Ledger.create(f"sqlite:///{file}", name="a", budget=Budget(5, 1e-5), accountant=accountant)
    at = Budget(0.2, 1e-7) if isinstance(event, PoissonSampledGaussianDpEvent) else None
    for _ in range(3):
        before, content = ledger.spent, file.read_bytes()
        price = ledger.price(event, at=at)
        assert file.read_bytes() == content
        assert ledger.spent == before
        ledger.spend(event, label="the same", at=at)
        assert ledger.spent == before + price


def test_a_price_may_exceed_what_is_left(small: Ledger) -> None:
    """Asking for the price of something too dear answers instead of refusing."""
    assert small.price(dp_event.LaplaceDpEvent(0.1)) == Budget(10)
    assert small.spent == Budget(0)


BAD_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, -1.0, "1", None, True, 1j, [1.0]]

BAD_EVENTS: list[Any] = [
    *(dp_event.LaplaceDpEvent(number) for number in [0.0, *BAD_NUMBERS]),
    *(dp_event.GaussianDpEvent(number) for number in [0.0, *BAD_NUMBERS]),
    *(EpsilonDeltaDpEvent(number) for number in BAD_NUMBERS),
    *(EpsilonDeltaDpEvent(0.1, number) for number in [1.0, 2.0, *BAD_NUMBERS]),
    *(BoundedRangeDpEvent(number) for number in BAD_NUMBERS),
    *(dp_event.ZCDpEvent(number) for number in BAD_NUMBERS),
    *(dp_event.RandomizedResponseDpEvent(number, 2) for number in [0.0, 1.5, *BAD_NUMBERS]),
    *(dp_event.RandomizedResponseDpEvent(0.5, number) for number in [0, 2.0, *BAD_NUMBERS]),
    *(dp_event.DiscreteLaplaceDpEvent(0.5, number) for number in [0, 2.0, *BAD_NUMBERS]),
    *(dp_event.SelfComposedDpEvent(TENTH, number) for number in [2.0, -1, *BAD_NUMBERS]),
    *(dp_event.PoissonSampledDpEvent(number, TENTH) for number in [1.5, *BAD_NUMBERS]),
    *(dp_event.RepeatAndSelectDpEvent(TENTH, 5.0, number) for number in [-1.0, *BAD_NUMBERS[:3]]),
    dp_event.SampledWithoutReplacementDpEvent(10, 20, dp_event.GaussianDpEvent(1.0)),
    dp_event.SampledWithoutReplacementDpEvent(0, 0, dp_event.GaussianDpEvent(1.0)),
    dp_event.ComposedDpEvent([TENTH, dp_event.LaplaceDpEvent(-1.0)]),
    dp_event.ComposedDpEvent([TENTH, None]),
    dp_event.ComposedDpEvent(event for event in [TENTH]),
    dp_event.ComposedDpEvent(7),
    dp_event.SelfComposedDpEvent("event", 2),
    dp_event.NonPrivateDpEvent(),
    dp_event.UnsupportedDpEvent(),
    dp_event.SampledWithReplacementDpEvent(10, 5, TENTH),
    dp_event.LaplaceDpEvent,
    Budget(0.1),
    0.1,
    "LaplaceDpEvent(10.0)",
    None,
]


def test_nothing_is_charged_for_an_event_that_makes_no_sense(small: Ledger) -> None:
    """Every nonsensical event is refused by spend and price with an error of ours, on both kinds of account."""
    renyi = Ledger.create(small.address, name="renyi", budget=Budget(1.0, 1e-6), accountant="renyi")
    for account in (small, renyi):
        for event in BAD_EVENTS:
            for at in (None, Budget(0.5, 1e-7)):
                with pytest.raises((InvalidParameter, UnsupportedEvent)):
                    account.spend(event, label="nonsense", at=at)
                with pytest.raises((InvalidParameter, UnsupportedEvent)):
                    account.price(event, at=at)
        assert account.entries() == []


ABSURD_EVENTS = [
    dp_event.LaplaceDpEvent(5e-324),
    dp_event.LaplaceDpEvent(1e-3),
    dp_event.LaplaceDpEvent(1e308),
    dp_event.GaussianDpEvent(1e-200),
    dp_event.GaussianDpEvent(1e200),
    EpsilonDeltaDpEvent(800.0),
    EpsilonDeltaDpEvent(1e300),
    BoundedRangeDpEvent(800.0),
    dp_event.ZCDpEvent(1e308, 1e308),
    dp_event.RandomizedResponseDpEvent(1e-320, 2),
    dp_event.DiscreteLaplaceDpEvent(1e300, 10**300),
    dp_event.SelfComposedDpEvent(HALF, 10**17),
    dp_event.SelfComposedDpEvent(HALF, 10**400),
    dp_event.SelfComposedDpEvent(HALF, 10**5000),
    dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(HALF, 10**18), 10**18),
]


@pytest.mark.parametrize("accountant", ["basic", "renyi"])
def test_absurdly_large_and_small_numbers_end_in_an_error_of_ours(tmp_path: Path, accountant: Any) -> None:
    """Numbers at the edge of floats are refused in our words, and nothing is charged."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(1.0, 1e-6), accountant=accountant)
    for event in ABSURD_EVENTS:
        for at in (None, Budget(0.5, 1e-7)):
            with pytest.raises(TacitError):
                ledger.spend(event, label="absurd", at=at)
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize("label", [None, "", "   ", 5, b"label", "x" * 1001, "tab\there", "nul\0", "\ud800", ["a"]])
def test_a_label_is_a_short_printable_text(small: Ledger, label: Any) -> None:
    """Anything else as label is refused before anything is charged, and a label must be given."""
    with pytest.raises(InvalidParameter, match="label must be"):
        small.spend(TENTH, label=label)
    with pytest.raises(TypeError, match="label"):
        small.spend(TENTH)  # type: ignore[call-arg]
    assert small.spent == Budget(0)


@pytest.mark.parametrize(
    "name",
    ["клиника", "Robert'); DROP TABLE tacit_entry;--", 'say "hi"', "100 %", "a\\b", "🏥", "x" * 1000, " padded "],
)
def test_any_printable_name_works(address: str, name: str) -> None:
    """Names and labels with quotes, other scripts or of great length are kept as they are."""
    ledger = Ledger.create(address, name=name, budget=Budget(1.0))
    ledger.spend(HALF, label=name)
    part = ledger.partition(name, [name, "other"], fixed_by="key")[name]
    part.spend(TENTH, label=name)
    again = Ledger.open(address, name=name)
    assert again.name == name
    assert [entry.label for entry in again.entries()] == [name] * 3
    assert again.spent == Budget(0.6)
    assert name in repr(again) or repr(name) in repr(again)


@pytest.mark.parametrize(
    "name", [None, "", " ", 5, b"name", "x" * 1001, "line\nbreak", "nul\0", "\ud800", "\u202eevil"]
)
def test_an_unprintable_name_is_refused(tmp_path: Path, name: Any) -> None:
    """A name that cannot be shown in one line is refused before any file is made."""
    with pytest.raises(InvalidParameter, match="name must be"):
        Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name=name, budget=Budget(1.0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"budget": 1.0}, "must be a Budget"),
        ({"budget": None}, "must be a Budget"),
        ({"budget": (1.0, 1e-6)}, "must be a Budget"),
        ({"budget": Budget(0)}, "above zero"),
        ({"budget": Budget(1) * 10**7}, "epsilon must lie"),
        ({"budget": Budget(0.5, 0.5) * 4}, "delta must be"),
        ({"budget": Budget(1.0), "accountant": "pld"}, "'renyi' or 'gaussian'"),
        ({"budget": Budget(1.0), "accountant": None}, "'renyi' or 'gaussian'"),
        ({"budget": Budget(1.0), "accountant": ["basic"]}, "'renyi' or 'gaussian'"),
        ({"budget": Budget(1.0), "order": 8.0}, "only 'renyi' takes an order"),
        ({"budget": Budget(1.0), "accountant": "renyi"}, "needs a budget with delta > 0"),
    ],
)
def test_terms_that_make_no_sense_are_refused(tmp_path: Path, terms: dict[str, Any], message: str) -> None:
    """A budget or accountant that cannot be kept is refused before any file is made."""
    with pytest.raises(InvalidParameter, match=message):
        Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="a", **terms)
    assert list(tmp_path.iterdir()) == []


def test_budgets_of_any_exactness_are_kept(tmp_path: Path) -> None:
    """A budget that is no decimal number comes back exactly as it was."""
    budget = Budget(Fraction(1, 3), Fraction(1, 7 * 10**6))
    address = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.create(address, name="thirds", budget=budget)
    assert Ledger.open(address).budget == budget


def test_awkward_fractions_stay_short_and_round_up(small: Ledger) -> None:
    """An amount with an endless denominator is charged at least in full, and the sums stay printable."""
    event = dp_event.LaplaceDpEvent(1234567.890123)
    exact = 1 / Fraction("1234567.890123")
    for number in range(20):
        entry = small.spend(event, label=f"query {number}")
        assert 0 <= entry.amount.exact_epsilon - exact < Fraction(1, 10**30)
    assert small.spent.exact_epsilon >= 20 * exact
    assert len(str(small.spent.exact_epsilon)) < 100
