"""Processes that race for a ledger, die over it or lose their rights to it; run as a script by the tests.

Each line that comes in is a command with its arguments as JSON. It is carried out in a child of its own, forked from
an interpreter without threads, which forks the processes that the claim is about; what happened goes out as a line of
JSON.
"""

import json
import os
import pickle
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from tacit.accounting import Ledger, store
from tacit.accounting.events import dp_event
from tacit.errors import BudgetExceeded, TacitError


def _forked(work: Callable[[], None]) -> int:
    """Run the work in a child process that leaves no trace of this one; return its process id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def _finished(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def race(address: str, folder: str) -> object:
    """Let four processes charge one ledger 50 times each; return how many charges each got through."""
    start, go = os.pipe()

    def spends(process: int) -> None:
        os.close(go)
        os.read(start, 1)
        accepted = 0
        ledger = Ledger.open(address)
        for attempt in range(50):
            try:
                ledger.spend(dp_event.LaplaceDpEvent(100.0), label=f"{process}.{attempt}")
                accepted += 1
            except BudgetExceeded:
                pass
        Path(folder, str(process)).write_text(str(accepted))

    children = [_forked(lambda process=process: spends(process)) for process in range(4)]
    os.close(start)
    os.close(go)
    assert all(map(_finished, children))
    return [int(Path(folder, str(process)).read_text()) for process in range(4)]


def race_share(address: str, folder: str) -> object:
    """Let four processes of four threads each charge as one payer with a quarter; return how many charges each made."""
    from concurrent.futures import ThreadPoolExecutor

    def spends(process: int) -> None:
        ledger = Ledger.open(address)

        def spend(_: int) -> int:
            try:
                ledger.acting(payer="alice", share=0.25).spend(dp_event.LaplaceDpEvent(100.0), label="raced")
            except BudgetExceeded:
                return 0
            return 1

        with ThreadPoolExecutor(4) as pool:
            Path(folder, f"share{process}").write_text(str(sum(pool.map(spend, range(12)))))

    children = [_forked(lambda process=process: spends(process)) for process in range(4)]
    assert all(map(_finished, children))
    return [int(Path(folder, f"share{process}").read_text()) for process in range(4)]


def race_ticket(address: str, folder: str) -> object:
    """Let four processes run the same act of ten charges; return the numbers of the entries that each got."""

    def runs(process: int) -> None:
        run = Ledger.open(address).acting(ticket="t")
        numbers = [run.spend(dp_event.LaplaceDpEvent(100.0), label="raced").number for _ in range(10)]
        Path(folder, f"ticket{process}").write_text(json.dumps(numbers))

    children = [_forked(lambda process=process: runs(process)) for process in range(4)]
    assert all(map(_finished, children))
    return [json.loads(Path(folder, f"ticket{process}").read_text()) for process in range(4)]


def fork_ticket(address: str) -> object:
    """Charge under a ticket after a fork, in three children; return how many charges were made."""
    run = Ledger.open(address).acting(payer="alice", ticket="t")
    before = len(run.entries())
    children = [_forked(lambda: run.spend(dp_event.LaplaceDpEvent(10.0), label="q")) for _ in range(3)]
    assert all(map(_finished, children))
    return len(run.entries()) - before


def die_under_ticket(address: str, place: str, moment: str) -> object:
    """Kill a process at a moment of its charge under a ticket; return how it ended."""
    from tacit.accounting.witness import FileWitness

    def charges() -> None:
        def dies(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        ledger = Ledger.open(address).acting(ticket="t", witness=FileWitness(place))
        commit, append = sa.Connection.commit, FileWitness.append
        if moment == "before the commit":
            sa.Connection.commit = dies
        elif moment == "after the commit":
            sa.Connection.commit = lambda self: (commit(self), dies())
        elif moment == "before the witness":
            FileWitness.append = dies
        else:
            FileWitness.append = lambda self, *told: (append(self, *told), dies())
        ledger.spend(dp_event.LaplaceDpEvent(2.0), label="fatal")

    return os.waitstatus_to_exitcode(os.waitpid(_forked(charges), 0)[1])


def create_race(address: str, folder: str) -> object:
    """Let four processes create the same account at once; return the kinds of what they got."""
    start, go = os.pipe()

    def creates(process: int) -> None:
        from tacit.budget import Budget

        os.close(go)
        os.read(start, 1)
        try:
            Ledger.create(address, name="contested", budget=Budget(1.0))
            outcome = "created"
        except Exception as error:
            outcome = type(error).__name__
        Path(folder, f"create{process}").write_text(outcome)

    children = [_forked(lambda process=process: creates(process)) for process in range(4)]
    os.close(start)
    os.close(go)
    assert all(map(_finished, children))
    return sorted(Path(folder, f"create{process}").read_text() for process in range(4))


def kill(address: str, folder: str, seed: str) -> object:
    """Kill a charging and answering process at 50 random moments; return what was wrong after each."""
    moments = random.Random(int(seed))
    answers = Path(folder, "answers")
    answers.touch()
    wrong: list[str] = []
    seen: list[str] = []

    def charges_and_answers(life: int) -> None:
        ledger = Ledger.open(address)
        with answers.open("ab", buffering=0) as file:
            while True:
                entry = ledger.spend(dp_event.LaplaceDpEvent(1000.0), label=f"life {life}")
                file.write(f"{entry.number} {entry.hash}\n".encode())

    for life in range(50):
        before = answers.stat().st_size
        child = _forked(lambda life=life: charges_and_answers(life))
        while answers.stat().st_size == before and life % 5:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.015))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ledger = Ledger.open(address)
        entries = {entry.number: entry.hash for entry in ledger.entries()}
        given = [line.split() for line in answers.read_text().splitlines()]
        if any(entries.get(int(number)) != link for number, link in given):
            wrong.append(f"life {life}: an answer without its charge")
        if not 0 <= len(entries) - len(given) <= life + 1:
            wrong.append(f"life {life}: {len(entries)} charges for {len(given)} answers")
        if list(entries.values())[: len(seen)] != seen:
            wrong.append(f"life {life}: a charge was lost")
        if ledger.spent.exact_epsilon * 1000 != len(entries):
            wrong.append(f"life {life}: spent {ledger.spent} for {len(entries)} charges")
        seen = list(entries.values())
    return {"wrong": wrong, "charges": len(seen), "answers": len(given)}


def die_in_spend(address: str, moment: str) -> object:
    """Kill a process just before or just after its charge is committed; return what is left of the charge."""

    def charges() -> None:
        ledger = Ledger.open(address)
        if moment == "before":
            sa.Connection.commit = lambda self: os.kill(os.getpid(), signal.SIGKILL)
        ledger.spend(dp_event.LaplaceDpEvent(2.0), label="fatal")
        os.kill(os.getpid(), signal.SIGKILL)

    child = _forked(charges)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"status": status, "spent": str(Ledger.open(address).spent)}


def inherit(address: str) -> object:
    """Use one handle on both sides of a fork; return what both sides see."""
    ledger = Ledger.open(address)
    ledger.spend(dp_event.LaplaceDpEvent(10.0), label="before the fork")
    child = _forked(lambda: ledger.spend(dp_event.LaplaceDpEvent(5.0), label="child"))
    assert _finished(child)
    ledger.spend(dp_event.LaplaceDpEvent(2.5), label="parent")
    return [entry.label for entry in ledger.entries()]


def impatient(handle: str) -> object:
    """Read and charge without waiting for others; return the kinds of what came of it."""
    store._WAIT_SECONDS = 0.05
    ledger: Ledger = pickle.loads(Path(handle).read_bytes())
    outcomes = []
    for attempt in (lambda: ledger.spent, lambda: ledger.spend(dp_event.LaplaceDpEvent(2.0), label="impatient")):
        try:
            attempt()
            outcomes.append("done")
        except TacitError as error:
            outcomes.append(type(error).__name__)
    return outcomes


def without_rights(handle: str, user: str) -> object:
    """Give up the rights to write and try everything; return the kinds and texts of the errors."""
    ledger: Ledger = pickle.loads(Path(handle).read_bytes())
    if int(user):
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    outcomes = [["spent", str(ledger.spent)]]
    for attempt in (
        lambda: ledger.spend(dp_event.LaplaceDpEvent(2.0), label="no"),
        lambda: ledger.partition("halves", ["a", "b"], fixed_by="index"),
        lambda: Ledger.create(ledger.address, name="other", budget=ledger.budget),
    ):
        try:
            attempt()
            outcomes.append(["accepted", ""])
        except TacitError as error:
            outcomes.append([type(error).__name__, str(error)])
    return outcomes


def carry_out(line: str) -> None:
    """Carry out one command and say what came of it, or why nothing did."""
    command, *arguments = json.loads(line)
    try:
        answer = {"answer": globals()[command](*arguments)}
    except Exception:
        answer = {"failure": traceback.format_exc()}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        _finished(_forked(partial(carry_out, line)))
