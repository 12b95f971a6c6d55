"""A history that was changed, shortened or replaced is refused, and left as it was found."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from dp_accounting import dp_event

from support.databases import everything, rechain, rewrite, roll_back, rows
from tacit.accounting import Ledger, chain, event_to_json
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt, LedgerError, LedgerVersion

TENTH = dp_event.LaplaceDpEvent(10.0)
FIFTH = dp_event.LaplaceDpEvent(5.0)


@pytest.fixture
def ledger(address: str) -> Ledger:
    """Give an account with four entries: two spends, a partition and a spend in one of its parts."""
    ledger = Ledger.create(address, name="clinic", budget=Budget(1.0, 1e-6))
    ledger.spend(TENTH, label="first")
    ledger.spend(FIFTH, label="second")
    ledger.partition("halves", ["left", "right"], fixed_by="index")["left"].spend(TENTH, label="third")
    return ledger


def _swap(address: str) -> None:
    rows(address, "UPDATE tacit_entry SET number = 99 WHERE number = 1")
    rows(address, "UPDATE tacit_entry SET number = 1 WHERE number = 2")
    rows(address, "UPDATE tacit_entry SET number = 2 WHERE number = 99")


def _insert(address: str) -> None:
    rows(
        address,
        "INSERT INTO tacit_entry SELECT account, 5, content, hash FROM tacit_entry WHERE number = 4",
    )


def _terms(address: str, **changes: object) -> None:
    ((text,),) = rows(address, "SELECT terms FROM tacit_account")
    rows(address, "UPDATE tacit_account SET terms = :terms", terms=json.dumps({**json.loads(text), **changes}))


def _set(column: str, value: object) -> Callable[[str], object]:
    return lambda address: rows(address, f"UPDATE tacit_account SET {column} = :value", value=value)


def _content(text: str) -> Callable[[str], object]:
    return lambda address: rows(address, "UPDATE tacit_entry SET content = :text WHERE number = 2", text=text)


CHANGES: dict[str, Callable[[str], object]] = {
    "a smaller amount": lambda address: rewrite(address, 2, epsilon="1/10"),
    "another spelling of the amount": lambda address: rewrite(address, 2, epsilon="2/10"),
    "a negative amount": lambda address: rewrite(address, 2, epsilon="-1/5"),
    "an amount over zero": lambda address: rewrite(address, 2, epsilon="1/0"),
    "an amount that is a number": lambda address: rewrite(address, 2, epsilon=0.1),
    "another delta": lambda address: rewrite(address, 2, delta="1/10"),
    "another label": lambda address: rewrite(address, 1, label="forged"),
    "another time": lambda address: rewrite(address, 1, time="1970-01-01T00:00:00.000000+00:00"),
    "another event": lambda address: rewrite(address, 1, event=event_to_json(FIFTH)),
    "no event": lambda address: rewrite(address, 1, event=None),
    "another path": lambda address: rewrite(address, 4, path=[["halves", "right"]]),
    "another partition": lambda address: rewrite(address, 3, parts=["left", "right", "middle"]),
    "another reason for disjointness": lambda address: rewrite(address, 3, fixed_by="key"),
    "another number": lambda address: rewrite(address, 1, number=7),
    "the hash of a neighbour": lambda address: rows(
        address,
        "UPDATE tacit_entry SET hash = (SELECT e.hash FROM tacit_entry e WHERE e.number = 1) WHERE number = 2",
    ),
    "content that is no JSON": _content("{"),
    "content that is a list": _content("[]"),
    "content that is null": _content("null"),
    "content nested too deeply": _content("[" * 100_000),
    "the first entry removed": lambda address: rows(address, "DELETE FROM tacit_entry WHERE number = 1"),
    "a middle entry removed": lambda address: rows(address, "DELETE FROM tacit_entry WHERE number = 2"),
    "the last entry removed": lambda address: rows(address, "DELETE FROM tacit_entry WHERE number = 4"),
    "all entries removed": lambda address: rows(address, "DELETE FROM tacit_entry"),
    "two entries swapped": _swap,
    "an entry inserted": _insert,
    "an entry moved to another account": lambda address: rows(
        address, "UPDATE tacit_entry SET account = 'other' WHERE number = 4"
    ),
    "a larger count": _set("count", 5),
    "a smaller count": _set("count", 3),
    "a negative count": _set("count", -1),
    "another head": _set("head", "0" * 64),
    "an empty head": _set("head", ""),
    "count and head of the start": lambda address: (_set("count", 0)(address), _set("head", "")(address)),
}
NEW_TERMS: dict[str, Callable[[str], object]] = {
    "a larger budget": lambda address: _terms(address, epsilon="2"),
    "a larger delta": lambda address: _terms(address, delta="1/10"),
    "a budget that is none": lambda address: _terms(address, epsilon="lots"),
    "a number for a text": lambda address: _terms(address, epsilon=1),
    "another accountant": lambda address: _terms(address, accountant="renyi"),
    "an unknown accountant": lambda address: _terms(address, accountant="free"),
    "other neighbours": lambda address: _terms(address, neighbours="none"),
    "another name inside": lambda address: _terms(address, name="bank"),
    "one more term": lambda address: _terms(address, discount="1/2"),
    "terms that are no JSON": _set("terms", "{"),
    "terms that are a list": _set("terms", "[]"),
    "terms that are null": _set("terms", "null"),
    "terms nested too deeply": _set("terms", "[" * 100_000),
}


@pytest.fixture
def piece(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let histories be read in one piece from PostgreSQL, and by twos from SQLite: how is no matter of the database."""
    monkeypatch.setattr(chain, "_PIECE", 2 if address.startswith("sqlite") else 5000)


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_history_is_refused(ledger: Ledger, address: str, change: Callable[[str], object]) -> None:
    """Whoever opens, reads or charges a changed history is told so, and nothing is changed."""
    change(address)
    found = everything(address)
    attempts: list[Callable[[], Any]] = [
        lambda: Ledger.open(address),
        lambda: ledger.entries(),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerCorrupt, match=r"(?i)restore|shortened|replaced"):
            attempt()
    assert everything(address) == found


@pytest.mark.parametrize("change", NEW_TERMS.values(), ids=NEW_TERMS)
def test_changed_terms_are_refused(ledger: Ledger, address: str, change: Callable[[str], object]) -> None:
    """A budget edited in the database is refused when it is opened, and an open handle keeps to the old one."""
    change(address)
    found = everything(address)
    with pytest.raises(LedgerCorrupt, match=r"restore|Restore"):
        Ledger.open(address)
    with pytest.raises(LedgerCorrupt):
        ledger.entries()
    assert ledger.budget == Budget(1.0, 1e-6)
    assert everything(address) == found


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize(
    "change",
    ["the last entry removed", "all entries removed", "an entry inserted", "another head", "a larger count"],
)
def test_a_handle_notices_a_change_behind_its_memory(ledger: Ledger, address: str, change: str) -> None:
    """A handle that verified the history refuses to read or charge after entries were taken or added."""
    assert ledger.spent == Budget(0.4)
    CHANGES[change](address)
    found = everything(address)
    for attempt in (
        lambda: ledger.spent,
        lambda: ledger.remaining,
        lambda: ledger.head,
        lambda: ledger.price(TENTH),
        lambda: ledger.spend(TENTH, label="more"),
        lambda: ledger.partition("thirds", ["a", "b", "c"], fixed_by="key"),
    ):
        with pytest.raises(LedgerCorrupt, match=r"Restore"):
            attempt()
    assert everything(address) == found


def test_a_rolled_back_history_is_refused_by_who_saw_more(ledger: Ledger, address: str) -> None:
    """Taking back the last entry with a matching count and head fools only those who never saw it."""
    assert ledger.spent == Budget(0.4)
    head = ledger.head
    roll_back(address)
    found = everything(address)
    assert Ledger.open(address).spent == Budget(0.3)
    for attempt in (
        lambda: ledger.spent,
        lambda: ledger.spend(TENTH, label="more"),
        lambda: Ledger.open(address, head=head),
    ):
        with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
            attempt()
    assert everything(address) == found


def test_a_handle_remembers_its_own_last_spend(address: str) -> None:
    """Right after a spend, before anything else is read, taking that spend back is noticed."""
    ledger = Ledger.create(address, name="clinic", budget=Budget(1.0))
    ledger.spend(TENTH, label="only")
    roll_back(address)
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        ledger.spend(TENTH, label="again")


def test_a_part_is_worthless_without_its_partition(address: str) -> None:
    """Taking back the declaration of a partition does not make spends on its parts free."""
    ledger = Ledger.create(address, name="clinic", budget=Budget(1.0))
    stranger = Ledger.open(address)
    part = ledger.partition("halves", ["left", "right"], fixed_by="index")["left"]
    roll_back(address)
    with pytest.raises(LedgerCorrupt):
        part.spend(dp_event.LaplaceDpEvent(0.1), label="free lunch")
    # Even a handle that has seen nothing yet refuses a path that no partition leads to.
    part._chain = stranger._chain
    with pytest.raises(LedgerCorrupt):
        part.spend(dp_event.LaplaceDpEvent(0.1), label="free lunch")
    assert stranger.spent == Budget(0)
    assert stranger.entries() == []


def test_a_head_written_down_notices_a_forged_chain(ledger: Ledger, address: str) -> None:
    """A forgery with all hashes recomputed is refused by any earlier head, and accepted heads are those kept."""
    heads = [entry.hash for entry in ledger.entries()]
    for head in heads:
        assert Ledger.open(address, head=head) == ledger
    rewrite(address, 2, epsilon="1/100")
    rechain(address)
    assert Ledger.open(address, head=heads[0]).spent == Budget(0.21)
    for head in heads[1:]:
        with pytest.raises(LedgerCorrupt, match="no entry with the hash given"):
            Ledger.open(address, head=head)
    with pytest.raises(LedgerCorrupt):
        _ = ledger.spent


def test_a_head_is_good_from_the_start(address: str) -> None:
    """The head of an account without entries is one to come back with; nonsense is not."""
    ledger = Ledger.create(address, name="clinic", budget=Budget(1.0))
    head = ledger.head
    ledger.spend(TENTH, label="first")
    assert Ledger.open(address, head=head) == ledger
    nonsense: list[Any] = ["", "0" * 64, 7, [], b"head"]
    for wrong in nonsense:
        with pytest.raises(LedgerError):
            Ledger.open(address, head=wrong)


def test_a_forged_negative_amount_is_refused_even_with_good_hashes(ledger: Ledger, address: str) -> None:
    """No entry can give budget back, not even one whose hash is right."""
    rewrite(address, 2, epsilon="-5")
    rechain(address)
    with pytest.raises(LedgerCorrupt, match="entry 2"):
        Ledger.open(address)


@pytest.mark.parametrize(
    ("number", "changes", "said"),
    [
        (4, {"path": [["halves", "middle"]]}, "belongs to a part that no partition has"),
        (4, {"path": [["thirds", "left"]]}, "belongs to a part that no partition has"),
        (2, {"path": [["halves", "left"]]}, "belongs to a part that no partition has"),
        (4, {"label": "halves", "path": [], "parts": ["left"], "fixed_by": "key"}, "for the second time"),
    ],
)
def test_a_forged_part_is_refused_even_with_good_hashes(
    ledger: Ledger, address: str, number: int, changes: dict[str, Any], said: str
) -> None:
    """No entry hides in a part that was not declared before it, and no partition is declared anew."""
    rewrite(address, number, **changes)
    rechain(address)
    with pytest.raises(LedgerCorrupt, match=f"entry {number} .*{said}.*Restore"):
        Ledger.open(address)


def test_a_vanished_account_is_refused(ledger: Ledger, address: str) -> None:
    """An account removed from the database is missed by its handles."""
    rows(address, "DELETE FROM tacit_account")
    with pytest.raises(LedgerCorrupt, match="vanished"):
        _ = ledger.spent
    with pytest.raises(LedgerCorrupt, match="vanished"):
        ledger.spend(TENTH, label="more")


def test_an_account_replaced_by_a_fresh_one_is_refused(ledger: Ledger, address: str) -> None:
    """An account removed and created again under its name is not the one a handle knew."""
    rows(address, "DELETE FROM tacit_account")
    rows(address, "DELETE FROM tacit_entry")
    Ledger.create(address, name="clinic", budget=Budget(1.0, 1e-6))
    with pytest.raises(LedgerCorrupt, match="shortened or replaced"):
        ledger.spend(TENTH, label="more")


def test_a_newer_format_is_refused(ledger: Ledger, address: str) -> None:
    """A ledger of a later version is neither read nor written nor added to."""
    rows(address, "UPDATE tacit_ledger SET version = 2")
    found = everything(address)
    for attempt in (
        lambda: Ledger.open(address),
        lambda: Ledger.create(address, name="other", budget=Budget(1.0)),
        lambda: ledger.spend(TENTH, label="more"),
        lambda: ledger.spent,
    ):
        with pytest.raises(LedgerVersion, match=r"newer tacit \(format 2.*Upgrade"):
            attempt()
    assert everything(address) == found


@pytest.mark.parametrize(
    "change", ["DELETE FROM tacit_ledger", "INSERT INTO tacit_ledger VALUES (1)", "UPDATE tacit_ledger SET version = 0"]
)
def test_a_format_that_makes_no_sense_is_refused(ledger: Ledger, address: str, change: str) -> None:
    """A ledger must say exactly one format, and one that exists."""
    rows(address, change)
    found = everything(address)
    with pytest.raises(LedgerCorrupt, match="format"):
        Ledger.open(address)
    assert everything(address) == found
