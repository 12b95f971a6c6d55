"""Faults: workers are killed, databases restarted, disks full, files locked, clocks and backups set back.

After each of them: no answer without its charge, no charge lost, or made twice by a retry, and ledgers that verify.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

import support
from support.service import Running, running
from support.statistical import sample_size
from tacit.accounting import Ledger, chain, store
from tacit.accounting.lock import locked
from tacit.accounting.witness import witness_at
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt
from tacit.service import clock
from tacit.service.app import create_app
from tacit.service.settings import Limits, Settings

ROUTE = "/v1/datasets/clinic/queries"
COST = 0.001


class Workers:
    """A service that is killed and started again, and clients that do not give up."""

    def __init__(self, ask: Any, settings: Settings, token: str) -> None:
        self.ask, self.settings, self.token = ask, settings, token
        self.document = json.loads(json.dumps(asdict(settings), default=str))
        self.port = ask("port")
        self.given: dict[str, Any] = {}
        self.statuses: list[int] = []
        self.stop = threading.Event()

    def start(self, largest: int | None = None) -> int:
        """Start a worker."""
        return int(self.ask("start", self.document, largest))

    def send(self, client: httpx.Client, key: str) -> httpx.Response | None:
        """Send a question of its own for a key; None if whoever was to answer died."""
        body = {"queries": [{"mean": f"age > {hash(key) % 10**6 / 10**4}"}], "epsilon": COST}
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key}
        try:
            answer = client.post(f"http://127.0.0.1:{self.port}{ROUTE}", json=body, headers=headers)
        except httpx.HTTPError:
            return None
        self.statuses.append(answer.status_code)
        return answer

    def until_answered(self, client: httpx.Client, key: str) -> Any:
        """Send a question again until it is answered; the answer must be the one that was given before, if one was."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            answer = self.send(client, key)
            if answer is not None and answer.status_code == 200:
                assert self.given.setdefault(key, answer.json()) == answer.json()
                return answer.json()
            time.sleep(0.005)
        raise AssertionError(f"{key} was never answered")

    @contextmanager
    def asking(self, threads: int = 3) -> Iterator[None]:
        """Let clients ask one question after the other meanwhile."""
        failures: list[BaseException] = []

        def asks(number: int) -> None:
            count = 0
            with httpx.Client(timeout=20) as client:
                while not self.stop.is_set() and not failures:
                    count += 1
                    try:
                        self.until_answered(client, f"{number} {count}")
                    except BaseException as failure:
                        failures.append(failure)

        asking = [threading.Thread(target=asks, args=(number,)) for number in range(threads)]
        for thread in asking:
            thread.start()
        try:
            yield
        finally:
            self.stop.set()
            for thread in asking:
                thread.join()
        assert not failures, failures

    def check(self) -> int:
        """Compare the account with every answer that was given; return how many there were."""
        with httpx.Client(timeout=20) as client:
            for key in list(self.given):
                self.until_answered(client, key)
        last = witness_at(self.settings.witness).last("clinic")
        assert last is not None
        ledger = Ledger.open(self.settings.account("clinic"), name="clinic", head=last[1])
        charges = [entry for entry in ledger.entries() if entry.event is not None]
        assert sorted(told["entry"] for told in self.given.values()) == [entry.number for entry in charges]
        assert ledger.spent == Budget(COST) * len(charges)
        assert set(self.statuses) <= {200, 503}
        return len(charges)


@pytest.fixture(scope="module")
def ask() -> Iterator[Any]:
    """Give a function that has a command of support/service_worker.py carried out."""
    script, pipe = Path(support.__file__).with_name("service_worker.py"), subprocess.PIPE
    with subprocess.Popen([sys.executable, script], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(command: str, *arguments: object) -> Any:
            print(json.dumps([command, *arguments]), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield send
        process.kill()


def _workers(ask: Any, folder: Path, **changes: Any) -> Workers:
    ask("end_all")
    limits = Limits(requests_per_minute=10**6, at_once=100, seconds=changes.pop("seconds", 10.0))
    with running(folder, limits=limits, **changes) as served:
        return Workers(ask, served.settings, served.tokens["alice"])


@pytest.mark.stats
def test_a_worker_that_is_killed_at_any_moment_loses_and_doubles_nothing(ask: Any, tmp_path: Path) -> None:
    """SIGKILL at random moments under load, a new worker each time: every request has one answer and one charge."""
    workers, moments = _workers(ask, tmp_path), random.Random(7)
    with workers.asking():
        for _ in range(sample_size(10)):
            child = workers.start()
            before = len(workers.given)
            deadline = time.monotonic() + 30
            while len(workers.given) == before and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.1))
            assert ask("end", child, int(signal.SIGKILL)) == -signal.SIGKILL
        child = workers.start()
        workers.stop.set()
    assert workers.check() >= 10
    assert ask("end", child, int(signal.SIGTERM)) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("wrong", ["lost", "doubled", "another"])
def test_an_answer_or_a_charge_too_many_would_be_seen(ask: Any, tmp_path: Path, wrong: str) -> None:
    """The twin: an account that does not match its answers by one, or an answer that changed, does not pass."""
    workers = _workers(ask, tmp_path)
    child = workers.start()
    with httpx.Client(timeout=20) as client:
        first, second = (workers.until_answered(client, key) for key in ("first", "second"))
    if wrong == "lost":
        del workers.given["first"]
    else:
        workers.given["second"] = first if wrong == "doubled" else {**second, "answers": first["answers"]}
    with pytest.raises(AssertionError):
        workers.check()
    assert ask("end", child, int(signal.SIGTERM)) in (0, -signal.SIGTERM)


def test_a_database_that_is_restarted_under_load_loses_and_doubles_nothing(
    ask: Any, tmp_path: Path, postgresql: Any, database: str
) -> None:
    """PostgreSQL stops as if the machine had, and comes back: 503 meanwhile, then every request has its one answer."""
    address = postgresql.address(database)
    workers = _workers(ask, tmp_path, state=address, ledgers=address, threads=4, seconds=5.0)
    child = workers.start()
    with workers.asking(2):
        for _ in range(2):
            before = len(workers.given)
            while len(workers.given) < before + 3:
                time.sleep(0.01)
            postgresql.restart()
        workers.stop.set()
    assert workers.check() >= 6
    ask("end", child, int(signal.SIGTERM))


def test_a_full_disk_answers_nothing_that_is_not_charged_and_kept(ask: Any, tmp_path: Path) -> None:
    """No file can grow: 503 that says what was charged; with room again, each request has one answer and one charge."""
    workers = _workers(ask, tmp_path)
    with httpx.Client(timeout=20) as client:
        sizes = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
        assert sizes
        keys = [f"k {number}" for number in range(40)]
        room = (tmp_path / "ledgers" / "clinic.db").stat().st_size + 8192
        child = workers.start(room)
        answers = [workers.send(client, key) for key in keys]
        for key, answer in zip(keys, answers, strict=True):
            assert answer is not None
            if answer.status_code == 200:
                workers.given[key] = answer.json()
        assert {answer.status_code for answer in answers if answer} == {200, 503}
        ask("end", child, int(signal.SIGKILL))
        child = workers.start()
        for key in keys:
            workers.until_answered(client, key)
        assert workers.check() == len(keys)
    ask("end", child, int(signal.SIGTERM))


@pytest.mark.parametrize("which", ["state", "ledger"])
def test_a_locked_database_is_busy_and_charged_once(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another program holds the file: 503, soon, and no word of charges; then the same is charged once."""
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.3)
    body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
    with running(tmp_path, limits=Limits(seconds=0.3)) as served:
        if which == "state":
            engine = sa.create_engine(served.settings.state, poolclass=sa.NullPool)
            with engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                busy = served.post(ROUTE, body, key="k")
                connection.rollback()
        else:
            # As from another process: a thread of this one would wait at the gate.
            with _held(served.settings.account("clinic")):
                busy = served.post(ROUTE, body, key="k")
        assert (busy.status_code, busy.json()["error"]["charged"]) == (503, None)
        assert served.post(ROUTE, body, key="k").status_code == 200
        assert served.service.datasets.get("clinic").account.spent == Budget(0.5)


@contextmanager
def _held(path: str) -> Iterator[None]:
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path, 5.0):
            holding.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(30)
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_clock_that_is_set_back_changes_no_budget(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries say the hour that they were told; what is spent, what is repeated and what is refused do not change."""

    class Back(datetime):
        @classmethod
        def now(cls, zone: Any = None) -> datetime:
            return datetime(1999, 12, 31, tzinfo=UTC)

    body = {"queries": [{"mean": "age > 60"}], "epsilon": 2}
    first = served.post(ROUTE, body, key="k").json()
    for module in (chain, clock):
        monkeypatch.setattr(module, "datetime", Back)
    assert served.post(ROUTE, body, key="k").json() == first
    assert served.post(ROUTE, {**body, "epsilon": 1}).status_code == 200
    assert served.post(ROUTE, {**body, "epsilon": 1.5}).status_code == 402
    assert served.get("/v1/datasets/clinic/verify", "dora").json()["holds"]
    assert served.service.datasets.get("clinic").account.spent == Budget(3)


def test_a_backup_that_is_restored_is_refused_until_it_is_whole(tmp_path: Path) -> None:
    """The ledgers' folder of yesterday beside the witness of today: no start; with today's folder it starts again."""
    folder, backup = tmp_path / "service", tmp_path / "backup"
    body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
    with running(folder) as served:
        shutil.copytree(folder / "ledgers", backup)
        first = served.post(ROUTE, body, key="k").json()
        token = served.tokens["alice"]
    shutil.move(folder / "ledgers", tmp_path / "today")
    shutil.copytree(backup, folder / "ledgers")
    with pytest.raises(LedgerCorrupt):
        create_app(Settings(folder))
    shutil.rmtree(folder / "ledgers")
    shutil.move(tmp_path / "today", folder / "ledgers")
    with running(folder) as served:
        served.tokens["alice"] = token
        assert served.post(ROUTE, body, key="k").json() == first
        assert served.service.datasets.get("clinic").account.spent == Budget(0.5)
