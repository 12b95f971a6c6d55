"""The budget holds and no charge is lost, however many processes race, hang or are killed."""

import os
import pickle
import select
import shutil
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from dp_accounting import dp_event

from tacit.accounting import Ledger, lock, store
from tacit.accounting.chain import Chain
from tacit.accounting.history import History
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, LedgerBusy

Worker = Callable[..., Any]
HUNDREDTH = dp_event.LaplaceDpEvent(100.0)


def test_four_racing_processes_get_exactly_the_budget(address: str, tmp_path: Path, worker: Worker) -> None:
    """Of 200 spends of 0.01 by four processes, exactly 100 get through a budget of 1."""
    ledger = Ledger.create(address, name="race", budget=Budget(1.0))
    accepted = worker("race", address, tmp_path)
    assert sum(accepted) == 100
    assert ledger.spent == Budget(1.0)
    assert not ledger.remaining
    assert len(Ledger.open(address).entries()) == 100


def test_four_racing_threads_get_exactly_the_budget(address: str) -> None:
    """Threads that share one handle cannot overspend it, though some of them only read."""
    ledger = Ledger.create(address, name="race", budget=Budget(1.0))
    start = threading.Barrier(4)

    def spends(thread: int) -> int:
        start.wait()
        accepted = 0
        for _ in range(35):
            try:
                ledger.spend(HUNDREDTH, label=f"thread {thread}")
                accepted += 1
            except BudgetExceeded:
                pass
            assert ledger.spent <= Budget(1.0)
        return accepted

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(spends, range(4))) == 100
    finally:
        sys.setswitchinterval(interval)
    assert ledger.spent == Budget(1.0)


def test_a_slow_reader_does_not_disturb_a_spend_on_the_same_handle(
    postgresql: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that read an older state of the account cannot make another thread's spend use it."""
    ledger = Ledger.create(postgresql.address(database), name="shared", budget=Budget(1.0))
    has_read, may_finish = threading.Event(), threading.Event()
    found, append = Chain.found, Chain.append

    def slow_found(self: Chain, *arguments: Any) -> Any:
        read = found(self, *arguments)
        if threading.current_thread().name == "slow reader":
            has_read.set()
            may_finish.wait(60)
        return read

    def late_append(self: Chain, *arguments: Any, **named: Any) -> Any:
        may_finish.set()
        reader.join(60)
        return append(self, *arguments, **named)

    monkeypatch.setattr(Chain, "found", slow_found)
    reader = threading.Thread(target=lambda: ledger.spent, name="slow reader")
    reader.start()
    assert has_read.wait(60)
    pickle.loads(pickle.dumps(ledger)).spend(HUNDREDTH, label="while the reader sleeps")
    monkeypatch.setattr(Chain, "append", late_append)
    assert ledger.spend(HUNDREDTH, label="while the reader wakes up").number == 2
    assert ledger.spent == Budget(0.02)


def test_a_reader_that_is_overtaken_sees_no_loss(
    postgresql: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that began before another thread's spend, on the same handle, does not take it for a missing entry."""
    ledger = Ledger.create(postgresql.address(database), name="shared", budget=Budget(1.0))
    began, may_go_on = threading.Event(), threading.Event()
    check_version = store.Store._check_version

    def slow_check(self: store.Store, connection: sa.Connection) -> None:
        check_version(self, connection)
        if threading.current_thread() is not main:
            began.set()
            may_go_on.wait(60)

    main = threading.current_thread()
    monkeypatch.setattr(store.Store, "_check_version", slow_check)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: ledger.spent)
        assert began.wait(60)
        ledger.spend(HUNDREDTH, label="overtaking")
        may_go_on.set()
        assert reading.result(60) == Budget(0)
    assert ledger.spent == Budget(0.01)


def test_four_processes_creating_one_account_agree_on_one(address: str, tmp_path: Path, worker: Worker) -> None:
    """One of four racing processes creates the account, the others are told that it exists."""
    assert worker("create_race", address, tmp_path) == ["LedgerExists"] * 3 + ["created"]
    assert Ledger.open(address).name == "contested"


def test_racing_processes_survive_a_server_that_defaults_to_serializable(
    postgresql: Any, tmp_path: Path, worker: Worker
) -> None:
    """The isolation level that a database defaults to changes nothing."""
    database = postgresql.new_database()
    postgresql.execute(f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'")
    address = postgresql.address(database)
    ledger = Ledger.create(address, name="race", budget=Budget(1.0))
    assert sum(worker("race", address, tmp_path)) == 100
    assert ledger.spent == Budget(1.0)


def test_a_killed_process_never_loses_a_charge(address: str, tmp_path: Path, worker: Worker) -> None:
    """Fifty kills at random moments leave every answer charged, every charge kept and the file sound."""
    Ledger.create(address, name="mortal", budget=Budget(1000))
    seed = uuid.uuid4().int % 2**32
    report = worker("kill", address, tmp_path, str(seed))
    assert report["wrong"] == [], f"seed {seed}"
    assert report["charges"] >= report["answers"] >= 40
    if address.startswith("sqlite"):
        with sa.create_engine(address, poolclass=sa.NullPool).connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


@pytest.mark.parametrize(("moment", "spent"), [("before", Budget(0)), ("after", Budget(0.5))])
def test_a_process_killed_around_its_commit(address: str, moment: str, spent: Budget, worker: Worker) -> None:
    """Killed before the commit nothing is charged and no lock remains; killed after it, the charge stays."""
    ledger = Ledger.create(address, name="mortal", budget=Budget(1.0))
    assert worker("die_in_spend", address, moment) == {"status": -9, "spent": str(spent)}
    ledger.spend(dp_event.LaplaceDpEvent(2.0), label="life goes on")
    assert ledger.spent == spent + Budget(0.5)


def test_a_handle_works_on_both_sides_of_a_fork(address: str, worker: Worker) -> None:
    """A process and its child charge the same account through the handle that both inherited."""
    Ledger.create(address, name="family", budget=Budget(1.0))
    assert worker("inherit", address) == ["before the fork", "child", "parent"]
    assert Ledger.open(address).spent == Budget(0.7)


def test_a_lock_held_for_too_long_is_reported(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spend that cannot get the lock says so, charges nothing and works again afterwards."""
    ledger = Ledger.create(address, name="slow", budget=Budget(1.0))
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.2)
    monkeypatch.setitem(store._POSTGRESQL, False, ("SET LOCAL lock_timeout = '200ms'",))
    engine = sa.create_engine(address.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    with engine.connect() as holder:
        holder.exec_driver_sql("UPDATE tacit_account SET count = count")
        with pytest.raises(LedgerBusy, match=r"(?i)locked .*nothing was charged"):
            ledger.spend(HUNDREDTH, label="impatient")
    assert ledger.spent == Budget(0)
    ledger.spend(HUNDREDTH, label="patient")
    assert ledger.spent == Budget(0.01)


@pytest.mark.parametrize("written", [False, True], ids=["before it writes", "after it wrote"])
def test_a_backup_in_the_middle_of_a_spend_lets_nobody_in(
    written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: Worker
) -> None:
    """Reading the file, which drops SQLite's locks, does not let another process charge from the same balance."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="copied", budget=Budget(0.75))
    handle = tmp_path / "handle"
    handle.write_bytes(pickle.dumps(ledger))
    append, inside, copied = Chain.append, threading.Event(), threading.Event()

    def slow_append(self: Chain, *arguments: Any, **named: Any) -> Any:
        appended = append(self, *arguments, **named) if written else None
        inside.set()
        copied.wait(60)
        return appended or append(self, *arguments, **named)

    monkeypatch.setattr(Chain, "append", slow_append)
    with ThreadPoolExecutor(1) as pool:
        spending = pool.submit(lambda: ledger.spend(dp_event.LaplaceDpEvent(2.0), label="slow"))
        try:
            assert inside.wait(60)
            shutil.copy(tmp_path / "ledger.db", tmp_path / "backup.db")
            assert worker("impatient", handle) == ["LedgerBusy", "LedgerBusy"]
        finally:
            copied.set()
        assert spending.result(60).number == 1
    assert worker("impatient", handle) == ["done", "BudgetExceeded"]
    assert ledger.spent == Budget(0.5)


def test_without_flock_a_ledger_relies_on_its_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no such lock, as on Windows, a ledger works and has no file beside it."""
    monkeypatch.setattr(lock, "fcntl", None)
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="alone", budget=Budget(1.0))
    ledger.spend(HUNDREDTH, label="first")
    assert ledger.spent == Budget(0.01)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]


def test_readers_leave_room_for_a_writer(tmp_path: Path) -> None:
    """Three processes that read without a pause do not keep a fourth from spending all of its budget."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="records", budget=Budget(1))
    readers = []
    stop, end = os.pipe()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os.close(end)
            while not select.select([stop], [], [], 0)[0]:
                _ = ledger.remaining
            os._exit(0)
        readers.append(child)
    for _ in range(20):
        ledger.spend(HUNDREDTH, label="x")
    os.close(end)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in readers] == [0, 0, 0]
    os.close(stop)
    assert len(ledger.entries()) == 20


def test_a_thread_that_reads_leaves_room_for_one_that_writes(tmp_path: Path) -> None:
    """A thread that reads without a pause gets no more than some readings in between two spends of another."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1))
    started, stop, readings = threading.Event(), threading.Event(), [0]

    def reads() -> None:
        while not stop.is_set():
            _ = ledger.spent
            readings[0] += 1
            started.set()

    reader = threading.Thread(target=reads)
    reader.start()
    assert started.wait(60)
    before = readings[0]
    for _ in range(20):
        ledger.spend(HUNDREDTH, label="x")
    among = readings[0] - before
    stop.set()
    reader.join(60)
    assert among <= 20 * 20
    assert ledger.spent == Budget(0.2)


def test_a_reader_of_a_long_history_does_not_hold_the_lock_while_it_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While somebody verifies entries that it has read, others can spend."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="records", budget=Budget(1))
    ledger.spend(HUNDREDTH, label="first")
    writer, extended = Ledger.open(address), History.extended
    spent: list[Any] = []

    def slow(self: History, links: Any) -> History:
        monkeypatch.setattr(History, "extended", extended)
        spent.append(writer.spend(HUNDREDTH, label="meanwhile"))
        return extended(self, links)

    monkeypatch.setattr(History, "extended", slow)
    assert [entry.label for entry in ledger.entries()] == ["first"]
    assert [entry.number for entry in spent] == [2]


def test_children_forked_while_a_thread_reads_can_spend(tmp_path: Path) -> None:
    """A fork waits until no other thread is in the middle of the file, so a child inherits nothing half done."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1))
    stop = threading.Event()

    def reads() -> None:
        while not stop.is_set():
            _ = ledger.remaining

    reader = threading.Thread(target=reads)
    reader.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ledger.spend(HUNDREDTH, label="x")
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    reader.join()
    assert codes == [0] * 10
    assert len(ledger.entries()) == 10
