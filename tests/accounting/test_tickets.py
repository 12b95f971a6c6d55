"""A ticket is charged once for each of its places, whoever takes an act up again and whenever the last one died."""

import copy
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from support.databases import rechain, rows
from tacit.accounting import Ledger
from tacit.accounting.tickets import Places, Ticket
from tacit.accounting.witness import FileWitness
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, LedgerCorrupt, TicketUsed

TENTH, FIFTH = dp_event.LaplaceDpEvent(10.0), dp_event.LaplaceDpEvent(5.0)
Worker = Callable[..., Any]


def test_an_act_taken_up_again_is_charged_once(address: str) -> None:
    """Each run of an act gets the same entries, one for each of its charges; another act pays for itself."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    runs = [Ledger.open(address).acting(ticket="t") for _ in range(3)]
    entries = [[run.spend(event, label="q") for event in (TENTH, TENTH, FIFTH)] for run in runs]
    assert entries[0] == entries[1] == entries[2]
    assert [entry.ticket for entry in entries[0]] == [("t", 1), ("t", 2), ("t", 3)]
    assert ledger.spent == Budget(0.4)
    ledger.acting(ticket="other").spend(TENTH, label="q")
    ledger.spend(TENTH, label="q")
    assert ledger.spent == Budget(0.6)


@pytest.mark.parametrize("changed", ["event", "label", "payer", "part", "at"])
def test_another_charge_at_a_tickets_place_is_refused(address: str, changed: str) -> None:
    """Event, label, payer, part and amount must be those of the entry; nothing is charged, and nothing else fits."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0, 1e-5))
    parts = ledger.partition("p", ["x", "y"], fixed_by="index")
    gaussian = dp_event.GaussianDpEvent(100.0)
    parts["x"].acting(payer="alice", ticket="t").spend(gaussian, label="q", at=Budget(0.1, 1e-6))
    where = parts["y" if changed == "part" else "x"]
    again = where.acting(payer="bob" if changed == "payer" else "alice", ticket="t")
    event = dp_event.GaussianDpEvent(200.0) if changed == "event" else gaussian
    at = Budget(0.2 if changed == "at" else 0.1, 1e-6)
    with pytest.raises(TicketUsed, match="entry 2 was charged under this ticket for something else"):
        again.spend(event, label="other" if changed == "label" else "q", at=at)
    assert ledger.spent == Budget(0.1, 1e-6)
    assert len(ledger.entries()) == 2


def test_a_refused_charge_is_refused_again(address: str) -> None:
    """What did not fit has a place without an entry, so that an act that went on with less finds itself again."""
    ledger = Ledger.create(address, name="a", budget=Budget(0.25))
    for _ in range(2):
        run = ledger.acting(ticket="t")
        run.spend(FIFTH, label="q")
        with pytest.raises(BudgetExceeded):
            run.spend(TENTH, label="too much")
        assert run.spend(dp_event.LaplaceDpEvent(20.0), label="less").ticket == ("t", 3)
    assert ledger.spent == Budget(0.25)


def test_an_act_is_not_refused_for_what_it_paid_itself(tmp_path: Path) -> None:
    """Room that is asked for ahead is there if the ticket's next place is paid for."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(0.2))
    ledger.acting(ticket="t").spend(FIFTH, label="q")
    ledger.acting(ticket="t").require_room(FIFTH, label="q")
    for ticket in (None, "other"):
        with pytest.raises(BudgetExceeded):
            ledger.acting(ticket=ticket).require_room(FIFTH, label="q")


def test_threads_copies_and_parts_count_together(tmp_path: Path) -> None:
    """Within one process, whoever came from a handle takes the next place: no two draws share a charge."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(9.0))
    run = ledger.acting(ticket="t")
    part = run.partition("p", ["x", "y"], fixed_by="index")["x"]
    handles = [run, copy.copy(run), copy.deepcopy(run), part]
    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(lambda number: handles[number % 4].spend(TENTH, label="q"), range(40)))
    assert len({entry.number for entry in entries}) == 40
    assert sorted(entry.ticket[1] for entry in entries if entry.ticket) == list(range(1, 41))


def test_pickles_and_forks_are_charged_anew(tmp_path: Path, worker: Worker) -> None:
    """Another process would count the same places again; so there everything is charged, under another name."""
    address = f"sqlite:///{tmp_path}/l.db"
    ledger = Ledger.create(address, name="a", budget=Budget(9.0))
    run = ledger.acting(payer="alice", ticket="t")
    text = pickle.dumps(run)
    run.spend(TENTH, label="q")
    for _ in range(2):
        pickle.loads(text).spend(TENTH, label="q")
    assert ledger.spent == Budget(0.3)
    assert worker("fork_ticket", address) == 3
    assert ledger.spent == Budget(0.6)
    names = [entry.ticket[0] for entry in ledger.entries() if entry.ticket]
    assert names.count("t") == 1
    assert len(set(names)) == 6
    assert {entry.payer for entry in ledger.entries()} == {"alice"}


@pytest.mark.parametrize("moment", ["before the commit", "after the commit", "before the witness", "after the witness"])
def test_a_process_that_dies_in_a_charge_is_taken_up(address: str, tmp_path: Path, moment: str, worker: Worker) -> None:
    """Whenever it is killed, the next run has one charge in all, and a witness that knows of it."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    place = str(tmp_path / "witness")
    assert worker("die_under_ticket", address, place, moment) == -9
    died_with = ledger.spent
    assert died_with == (Budget(0) if moment == "before the commit" else Budget(0.5))
    entry = ledger.acting(ticket="t", witness=FileWitness(place)).spend(dp_event.LaplaceDpEvent(2.0), label="fatal")
    assert ledger.spent == Budget(0.5)
    assert FileWitness(place).last("a") == (1, entry.hash)


def test_two_runs_at_once_share_the_charges(address: str, tmp_path: Path, worker: Worker) -> None:
    """Four processes run the same act of ten charges at once: ten entries, and each got all of them."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    found = worker("race_ticket", address, tmp_path)
    assert found[0] == found[1] == found[2] == found[3]
    assert len(found[0]) == 10
    assert ledger.spent == Budget(0.1)


def test_a_closed_ticket_draws_nothing_again(address: str, tmp_path: Path) -> None:
    """Once an answer was kept, a charge that is found under its ticket is refused; other tickets are as they were."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0)).acting(witness=FileWitness(str(tmp_path / "w")))
    run = ledger.acting(ticket="t")
    run.spend(TENTH, label="q")
    run.close_ticket()
    with pytest.raises(TicketUsed, match="was answered, and the answer is not here any more"):
        ledger.acting(ticket="t").spend(TENTH, label="q")
    ledger.acting(ticket="other").spend(TENTH, label="q")
    assert ledger.spent == Budget(0.2)


def test_an_act_that_was_ended_charges_nothing_more(address: str, tmp_path: Path) -> None:
    """Whoever runs it, in parts too, and whoever takes it up again later; others go on, and the end costs nothing."""
    witness = FileWitness(str(tmp_path / "w"))
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    run, waiting = ledger.acting(ticket="t"), Ledger.open(address).acting(ticket="u")
    run.spend(TENTH, label="q")
    for ticket in ("t", "u", "t"):
        ledger.acting(witness=witness).end_ticket(ticket)
    part = run.partition("p", ["x", "y"], fixed_by="index")["x"]
    for handle in (run, copy.deepcopy(run), part, waiting, Ledger.open(address).acting(ticket="t")):
        with pytest.raises(TicketUsed, match="was ended"):
            handle.spend(TENTH, label="q")
    assert [ledger.entry_of(ticket) for ticket in "tu"] == [1, None]
    ledger.acting(ticket="other").spend(TENTH, label="q")
    assert (ledger.spent, len(ledger.entries())) == (Budget(0.2), 5)
    last = witness.last("a")
    assert last is not None
    assert last[0] == 3


def test_a_charge_and_the_end_of_its_act_come_one_after_the_other(address: str) -> None:
    """At once, from handles that know nothing of each other: what stands after the end is all that ever does."""
    Ledger.create(address, name="a", budget=Budget(9.0))

    def race(number: int) -> bool:
        name = f"t{number}"

        def charge() -> bool:
            try:
                return bool(Ledger.open(address).acting(ticket=name).spend(TENTH, label="q"))
            except TicketUsed:
                return False

        with ThreadPoolExecutor(2) as pool:
            spent = pool.submit(charge)
            Ledger.open(address).end_ticket(name)
            charged = Ledger.open(address).entry_of(name) is not None
            return spent.result() == charged

    assert all(map(race, range(12)))


def test_a_place_that_is_charged_twice_is_damage(address: str) -> None:
    """A chain that was forged to have a ticket's place twice is refused."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    for ticket in ("t", "u"):
        ledger.acting(ticket=ticket).spend(TENTH, label="q")
    rows(address, """UPDATE tacit_entry SET content = replace(content, '"ticket": "u"', '"ticket": "t"')""")
    rechain(address)
    with pytest.raises(LedgerCorrupt, match="for the second time"):
        Ledger.open(address)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_made_while_a_place_is_taken_does_not_wait_for_it() -> None:
    """The thread that would give the turn back is not in the fork: who found an answer there waited for ever."""
    ticket = Ticket("t")
    with ticket.place():
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            ticket.pass_over()
            os._exit(0 if ticket.next[0] != "t" and ticket.next[1] == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ticket.next == ("t", 2)


@given(st.lists(st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(1, 60)), st.just((1, "")), max_size=5)))
def test_places_are_a_mapping_that_leaves_shorter_ones_alone(
    lots: list[dict[tuple[str, int], tuple[int, str]]],
) -> None:
    """What was added is found, what was not is not, in few lots; an earlier one knows no more than it did."""
    whole, found, earlier = {}, Places(), []
    for number, lot in enumerate(lots):
        fresh = {place: (number, "") for place in lot if place not in whole}
        earlier.append((found, dict(whole)))
        whole |= fresh
        found = found.with_more(fresh)
    for places, known in [*earlier, (found, whole)]:
        assert all(places.find((name, at)) == known.get((name, at)) for name in "abc" for at in range(1, 61))
    assert len(found.lots) <= 1 + max(1, len(whole)).bit_length()
