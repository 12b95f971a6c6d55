"""A long account is verified in pieces, adds up in one pass, and keeps labels of any allowed length."""

from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event

from support.databases import roll_back
from tacit.accounting import Ledger, chain, history
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt

HUNDREDTH = dp_event.LaplaceDpEvent(100.0)


@pytest.mark.parametrize("entries", [0, 1, 2, 3, 5, 6, 7])
def test_pieces_make_up_the_whole(address: str, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history read in pieces is the history, wherever the last piece ends, for readers, writers and copies."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    behind = Ledger.open(address)
    heads = [ledger.head, *(ledger.spend(HUNDREDTH, label=f"{number}").hash for number in range(entries))]
    monkeypatch.setattr(chain, "_PIECE", 3)
    again = Ledger.open(address)
    assert [entry.hash for entry in again.entries()] == heads[1:]
    assert again.spent == ledger.spent == Budget(0.01) * entries
    assert behind.spend(HUNDREDTH, label="by one who had to catch up").number == entries + 1
    for head in heads:
        assert Ledger.open(address, head=head).spent == Budget(0.01) * (entries + 1)
    with pytest.raises(LedgerCorrupt, match="no entry with the hash given"):
        Ledger.open(address, head="0" * 64)


def test_a_history_shortened_between_two_pieces_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads in pieces notices that what it has read is no longer there."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    start = ledger._chain.seen
    for number in range(4):
        ledger.spend(HUNDREDTH, label=f"{number}")
    monkeypatch.setattr(chain, "_PIECE", 3)
    pieces = ledger._chain.pieces(start)
    next(pieces)
    roll_back(address)
    roll_back(address)
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        next(pieces)


def test_what_parts_cost_is_not_added_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a sum, or adding one amount, touches the parts along one path, however many others there are."""
    declared = {((), f"p{number}"): history.Partition(tuple("abcdefghij"), "index") for number in range(30)}
    grown = history.History(0, "", partitions=declared)
    for (_, name), partition in declared.items():
        for part in partition.parts:
            grown = grown.with_amount(((name, part),), Budget(0.01))
    sums: list[Any] = []
    add = Budget.__add__

    def counted(one: Budget, other: Budget) -> Budget:
        sums.append(1)
        return add(one, other)

    monkeypatch.setattr(Budget, "__add__", counted)
    assert grown.total() == Budget(0.3)
    assert sums == []
    assert grown.with_amount((("p7", "c"),), Budget(0.02)).total() == Budget(0.32)
    assert len(sums) <= 3


@pytest.mark.parametrize("letter", ["x", "é", "🏥", "[", '"'])
def test_a_label_of_a_thousand_letters_is_kept(address: str, letter: str) -> None:
    """The longest label that is allowed comes back as it was, and one in a refusal is quoted whole."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    ledger.spend(HUNDREDTH, label=letter * 1000)
    assert Ledger.open(address).entries()[0].label == letter * 1000
    with pytest.raises(BudgetExceeded, match="does not fit"):
        ledger.spend(dp_event.LaplaceDpEvent(0.5), label=letter * 1000)


@pytest.mark.parametrize(
    ("label", "got"),
    [("x" * 1001, "one of 1001: shorten it"), ("a\nb", "cannot be printed"), (" ", "empty"), (5, "int")],
)
def test_a_label_that_is_refused_says_why(tmp_path: Path, label: Any, got: str) -> None:
    """What is wrong with a label is said without quoting it, and nothing is charged."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="a", budget=Budget(1.0))
    with pytest.raises(InvalidParameter, match=f"label must be a printable text of at most 1000 letters, got .*{got}"):
        ledger.spend(HUNDREDTH, label=label)
    assert ledger.spent == Budget(0)
