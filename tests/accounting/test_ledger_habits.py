"""Habits: plain paths, and one line that opens or creates."""

import multiprocessing
from pathlib import Path

import pytest

from tacit import Budget, Ledger
from tacit.accounting.events import EpsilonDeltaDpEvent
from tacit.errors import InvalidParameter


def test_a_path_is_an_address(tmp_path, monkeypatch):
    """A text or a Path without a scheme names a file, the same account as its sqlite address."""
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("a ledger.db", name="l", budget=Budget(1))
    assert Ledger.open(Path("a ledger.db")) == ledger == Ledger.open(f"sqlite:///{tmp_path}/a ledger.db")


def test_opening_or_creating_neither_resets_nor_widens(tmp_path):
    """The same line comes back to the account with all that was spent; other terms are refused and change nothing."""
    line = {"name": "l", "budget": Budget(1, 1e-6), "accountant": "renyi"}
    ledger = Ledger.open_or_create(tmp_path / "l.db", **line)
    ledger.spend(EpsilonDeltaDpEvent(0.25), label="x")
    again = Ledger.open_or_create(tmp_path / "l.db", **line)
    assert again == ledger
    assert again.spent == ledger.spent != Budget(0)
    for other in ({"budget": Budget(2, 1e-6)}, {"accountant": "basic"}, {"unit": "person"}, {"order": 60.0}):
        with pytest.raises(InvalidParameter, match="other terms"):
            Ledger.open_or_create(tmp_path / "l.db", **(line | other))
    assert len(ledger.entries()) == 1
    assert Ledger.open_or_create(tmp_path / "l.db", **(line | {"name": "another"})).entries() == []


def _opened(path):
    return Ledger.open_or_create(path, name="l", budget=Budget(1)).name


def test_many_may_open_or_create_at_once(tmp_path):
    """Processes that race for a new account all get the one."""
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(_opened, [tmp_path / "l.db"] * 6) == ["l"] * 6
