"""A handle charges in somebody's name: who paid stands in the chain, and nobody goes beyond their share."""

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from support.databases import rewrite, rows
from tacit import PrivateLogisticRegression, Records, Schema, StatisticalOracle, StatisticalQuery
from tacit.accounting import Ledger
from tacit.accounting.accounts import account_for
from tacit.accounting.history import History
from tacit.accounting.standing import Standing
from tacit.budget import Budget
from tacit.data import Flag, Number
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt

TENTH, HUNDREDTH = dp_event.LaplaceDpEvent(10.0), dp_event.LaplaceDpEvent(100.0)
ANY_LETTERS = ["alice", "ålice", 'a"b\\c', "🏥", "null", "x" * 1000]
Worker = Callable[..., Any]


@pytest.mark.parametrize("payer", ANY_LETTERS)
def test_who_paid_stands_in_the_entry(address: str, payer: str) -> None:
    """Payer and share come back as they were given, from the handle, from another, and from the stored text."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    entry = ledger.acting(payer=payer, share=0.5).spend(TENTH, label="q")
    assert (entry.payer, entry.share, entry.ticket) == (payer, Fraction(1, 2), None)
    assert Ledger.open(address).entries() == [entry] == ledger.entries()
    assert Ledger.open(address).acting(payer=payer).paid == Budget(0.1)


def test_a_share_is_kept_across_handles_parts_and_processes(address: str) -> None:
    """All charges to one payer count together, in whatever part and by whatever handle; others' do not."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    ledger.acting(payer="alice").spend(TENTH, label="without a share, and counted")
    parts = ledger.acting(payer="alice", share=Fraction(3, 10)).partition("p", ["x", "y"], fixed_by="index")
    parts["x"].spend(TENTH, label="q")
    parts["y"].spend(TENTH, label="in parallel, and counted none the less")
    assert ledger.spent == Budget(0.2)
    with pytest.raises(BudgetExceeded, match="3/10 of it for 'alice'"):
        pickle.loads(pickle.dumps(parts["y"])).spend(HUNDREDTH, label="beyond")
    assert parts["x"].remaining == Budget(0)
    assert not parts["x"].affords(HUNDREDTH)
    with pytest.raises(BudgetExceeded):
        parts["x"].require_room(HUNDREDTH, label="beyond")
    bob = Ledger.open(address).acting(payer="bob", share=Fraction(1, 5))
    assert bob.remaining == Budget(0.2)
    bob.spend(dp_event.LaplaceDpEvent(5.0), label="all of it")
    assert Ledger.open(address).spent == Budget(0.4)


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
def test_a_share_counts_in_the_accounts_own_units(tmp_path: Path, accountant: Any) -> None:
    """Half of an account admits half as many like charges, or one less for what is rounded."""
    event = dp_event.GaussianDpEvent(30.0)
    at = Budget(0.2, 1e-7) if accountant == "basic" else None

    def admitted(**how: Any) -> int:
        name = f"{len(how)}"
        ledger = Ledger.create(
            f"sqlite:///{tmp_path}/{name}.db", name=name, budget=Budget(2.0, 1e-5), accountant=accountant
        )
        acting, number = ledger.acting(**how), 0
        while number < 500:
            try:
                acting.spend(event, label="q", at=at)
            except BudgetExceeded:
                return number
            number += 1
        return number

    whole = admitted()
    assert 5 <= whole < 500
    assert whole // 2 - 1 <= admitted(payer="alice", share=0.5) <= whole // 2


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
@pytest.mark.parametrize("before", [{}, {"bob": 0.3}, {"alice": 0.3}, {"alice": 0.2, "bob": 0.3}, {"alice": 1.5}])
def test_what_is_left_of_a_share_is_what_fits(tmp_path: Path, accountant: Any, before: dict[str, float]) -> None:
    """The largest event that still fits costs what is told to be left, in the account's own way of telling."""
    budget = Budget(4.0, 1e-5)
    whole = Ledger.create(tmp_path / "whole.db", name="whole", budget=budget, accountant=accountant)
    alice = whole.acting(payer="alice", share=0.5)

    def event(epsilon: float) -> Any:
        # Gaussian accounts take no other noise, and basic ones no Gaussian noise without a claim.
        return dp_event.LaplaceDpEvent(1 / epsilon) if accountant == "basic" else dp_event.GaussianDpEvent(5 / epsilon)

    for payer, epsilon in before.items():
        whole.acting(payer=payer).spend(event(epsilon), label="before")
    low, high = 0.001, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if alice.affords(event(middle)) else (low, middle)
    cost = alice.price(event(low))
    if accountant == "gaussian":
        # Told as one release by itself would cost.
        alone = Ledger.create(tmp_path / "alone.db", name="alone", budget=budget, accountant=accountant)
        alone.spend(event(low), label="as much")
        cost = alone.spent
    assert alice.remaining.epsilon == pytest.approx(cost.epsilon, rel=1e-6)
    assert alice.remaining.exact_delta >= cost.exact_delta


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 40)), max_size=12),
    st.fractions(Fraction(1, 50), 1, max_denominator=50),
)
def test_shares_only_ever_refuse_more(charges: list[tuple[str, int]], share: Fraction) -> None:
    """Whatever a share admits, the account alone admits; what payers spent stays within their shares exactly."""
    account, history = account_for(Budget(1.0), "basic"), History(0, "")
    paid: dict[str, Budget] = {}
    for payer, percent in charges:
        standing, amount = Standing(payer, share), Budget(Fraction(percent, 100))
        grown = history.with_amount((), amount)
        if account.fits(grown.total()) and standing.fits(account, history, amount):
            paid[payer] = paid.get(payer, Budget(0)) + amount
            history = History(0, "", grown.sums, {}, {}, dict(paid))
    assert all(amount.exact_epsilon <= share for amount in paid.values())
    assert history.total().exact_epsilon <= 1


def test_racing_threads_and_processes_stay_within_a_share(address: str, tmp_path: Path, worker: Worker) -> None:
    """Four processes of four threads charge as one payer; together they get exactly the share."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    counts = worker("race_share", address, tmp_path)
    assert sum(counts) == 25
    assert ledger.acting(payer="alice").paid == Budget(0.25) == ledger.spent


def test_estimators_oracles_clones_and_pickles_charge_in_the_same_name(tmp_path: Path) -> None:
    """The standing goes wherever the handle goes: clone, deep copy, pickle, part of the records, conversation."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(9.0, 1e-4))
    acting = ledger.acting(payer="alice", share=1)
    schema = Schema({"x": Number(0, 1), "y": Flag()}, target="y")
    records = Records({"x": [0.1, 0.9] * 300, "y": [False, True] * 300}, schema, name="some")
    train, _ = records.split()
    model = PrivateLogisticRegression(epsilon=0.5, ledger=acting)
    for each in (model, clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        each.fit(train)
    oracle = StatisticalOracle(train, ledger=acting)
    oracle.ask(StatisticalQuery(lambda t: t.x > 0.5), epsilon=0.5)
    talk = oracle.conversation(2, epsilon=0.5)
    talk.ask(StatisticalQuery(lambda t: t.x > 0.25))
    charges = [entry for entry in ledger.entries() if entry.event is not None]
    assert len(charges) == 6
    assert {entry.payer for entry in charges} == {"alice"}


def test_a_handle_without_a_standing_writes_what_it_always_wrote(tmp_path: Path) -> None:
    """Entries of nobody have no more keys than before, and an old text is read as before."""
    address = f"sqlite:///{tmp_path}/l.db"
    Ledger.create(address, name="a", budget=Budget(1.0)).spend(TENTH, label="q")
    ((text,),) = rows(address, "SELECT content FROM tacit_entry")
    assert "standing" not in text
    assert Ledger.open(address).entries()[0].payer is None


@pytest.mark.parametrize(
    "changes",
    [
        {"payer": "bob"},
        {"share": "1"},
        {"ticket": "other"},
        {"place": 2},
        {"payer": None, "ticket": None, "place": None},
    ],
)
def test_a_changed_standing_is_refused(address: str, changes: dict[str, Any]) -> None:
    """Who paid, how much they may and under which ticket are under the entry's hash (the twin: nothing changed)."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    ledger.acting(payer="alice", share=0.5, ticket="t").spend(TENTH, label="q")
    Ledger.open(address)
    rewrite(address, 1, standing={"payer": "alice", "place": 1, "share": "1/2", "ticket": "t", **changes})
    with pytest.raises(LedgerCorrupt):
        Ledger.open(address)


@pytest.mark.parametrize(
    "how",
    [
        {"share": 0.5},
        {"payer": ""},
        {"payer": 3},
        {"payer": "a\nb"},
        {"payer": "alice", "share": 0},
        {"payer": "alice", "share": 1.5},
        {"payer": "alice", "share": float("nan")},
        {"payer": "alice", "share": "half"},
        {"ticket": ""},
        {"ticket": 7},
        {"witness": "a place"},
    ],
)
def test_a_standing_that_makes_no_sense_is_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    """Names are printable, shares above 0 and at most 1, and a share is somebody's."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(1.0))
    with pytest.raises(InvalidParameter):
        ledger.acting(**how)


def test_acting_changes_what_is_given_and_keeps_the_rest(tmp_path: Path) -> None:
    """A handle that acts is another handle of the same account; the first is as it was."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(1.0))
    alice = ledger.acting(payer="alice", share=0.5)
    assert ledger.standing == Standing()
    assert alice.acting(ticket="t").standing.payer == "alice"
    assert ledger != alice
    assert alice == ledger.acting(payer="alice", share=0.5)
