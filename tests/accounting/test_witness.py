"""A second place knows every charge: an older ledger is refused, and for a charge it missed nothing is drawn."""

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlparse

import pytest
from dp_accounting import dp_event

from support.databases import roll_back
from tacit.accounting import Ledger
from tacit.accounting import witness as witness_module
from tacit.accounting.witness import DatabaseWitness, FileWitness, WebWitness, Witness, witness_at
from tacit.budget import Budget
from tacit.errors import LedgerCorrupt, WitnessFailed
from tacit.mechanisms import Laplace
from tacit.releases import release

TENTH = dp_event.LaplaceDpEvent(10.0)


class _Notary(BaseHTTPRequestHandler):
    """A witness as somebody else may run it."""

    told: ClassVar[list[dict[str, Any]]] = []

    turn: ClassVar[threading.Lock] = threading.Lock()

    def do_POST(self) -> None:
        new = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.turn:
            entry = [new["account"], new.get("number")]
            same = [each for each in self.told if [each["account"], each.get("number")] == entry]
            forked = "number" in new and any(each["head"] != new["head"] for each in same)
            if not forked:
                self.told.append(new)
        self.send_response(409 if forked else 204)
        self.end_headers()

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlparse(self.path).query).items()}
        own = [each for each in self.told if each["account"] == asked.get("account")]
        if not asked:
            found: Any = {"accounts": sorted({each["account"] for each in self.told if "number" in each})}
        elif "ticket" in asked:
            found = {"closed": any(each.get("ticket") == asked["ticket"] for each in own)}
        else:
            heads = [each for each in own if "number" in each]
            found = max(heads, key=lambda each: each["number"]) if heads else None
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 64


@pytest.fixture(params=["file", "sqlite", "postgresql", "web"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Give a place for a witness, of each kind."""
    if request.param == "web":
        _Notary.told.clear()
        server = _Server(("127.0.0.1", 0), _Notary)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/heads"
        server.shutdown()
        thread.join()
        server.server_close()
    elif request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        yield server.address(request.getfixturevalue("database"))
    else:
        yield f"sqlite:///{tmp_path}/witness.db" if request.param == "sqlite" else str(tmp_path / "witness")


def test_a_rolled_back_ledger_is_refused_by_its_witness(place: str, tmp_path: Path) -> None:
    """After every charge the witness's head opens the ledger; a backup of before it is refused (the twin: is not)."""
    address = f"sqlite:///{tmp_path}/l.db"
    witness = witness_at(place)
    ledger = Ledger.create(address, name="a", budget=Budget(1.0)).acting(witness=witness)
    assert witness.last("a") is None
    for number in (1, 2, 3):
        entry = ledger.spend(TENTH, label="q")
        assert witness_at(place).last("a") == (number, entry.hash)
        Ledger.open(address, head=entry.hash)
    roll_back(address)
    Ledger.open(address)
    with pytest.raises(LedgerCorrupt, match="no entry with the hash given"):
        Ledger.open(address, head=witness_at(place).last("a")[1])
    assert witness.last("other") is None


def test_tickets_are_closed_for_one_account(place: str) -> None:
    """What was closed is known to whoever asks, and nothing else is."""
    witness_at(place).append("a", 1, "00")
    witness_at(place).close("a", "t")
    witness_at(place).close("a", "t")
    found = witness_at(place)
    assert found.is_closed("a", "t")
    assert not found.is_closed("a", "u")
    assert not found.is_closed("b", "t")
    assert found.last("a") == (1, "00")
    witness_at(place).close("c", "t")
    witness_at(place).append("d", 1, "00")
    assert found.accounts() == {"a", "d"}


def test_many_threads_tell_one_witness(place: str) -> None:
    """Nothing is lost when many speak at once, and the last head is that of the largest number."""
    witness = witness_at(place)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: witness.append("a", number, f"{number:02}"), range(40, 0, -1)))
    assert witness_at(place).last("a") == (40, "40")


class _Failing(Witness):
    def append(self, account: str, number: int, head: str) -> None:
        raise WitnessFailed("cannot be reached")

    close = last = is_closed = accounts = append  # type: ignore[assignment]


def test_nothing_is_drawn_for_a_charge_that_the_witness_missed(address: str) -> None:
    """The charge stands, the release fails, and no noise was asked for."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    drawn: list[int] = []

    mechanism = Laplace.for_budget(Budget(0.5), 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Laplace, "randomise", lambda *_: drawn.append(1))
        with pytest.raises(WitnessFailed):
            release(mechanism, 1.0, label="q", ledger=ledger.acting(witness=_Failing()))
    assert drawn == []
    assert ledger.spent == Budget(0.5)


@pytest.mark.parametrize(
    "torn", [b"", b'{"account": "a", "num', b"nonsense\n", b"[1]\n", b'{"account": "a"}\n', b"\xff\n"]
)
def test_a_line_that_was_left_unfinished_counts_for_nothing(tmp_path: Path, torn: bytes) -> None:
    """A crash in the middle of a line spoils neither the lines before nor those after."""
    path = tmp_path / "witness"
    FileWitness(str(path)).append("a", 1, "11")
    with path.open("ab") as file:
        file.write(torn)
    assert FileWitness(str(path)).last("a") == (1, "11")
    FileWitness(str(path)).append("a", 2, "22")
    assert FileWitness(str(path)).last("a") == (2, "22")


def test_who_reads_on_reads_what_is_new(tmp_path: Path) -> None:
    """A witness that was read before sees what another process wrote since."""
    path = str(tmp_path / "witness")
    reader, writer = FileWitness(path), FileWitness(path)
    assert reader.last("a") is None
    for number in (1, 2):
        writer.append("a", number, f"{number}")
        assert reader.last("a") == (number, f"{number}")


def test_a_file_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    """A missing folder, and a disk without room: `WitnessFailed`, never silence."""
    with pytest.raises(WitnessFailed):
        FileWitness(str(tmp_path / "none" / "witness")).append("a", 1, "11")
    if os.path.exists("/dev/full"):
        with pytest.raises(WitnessFailed):
            FileWitness("/dev/full").append("a", 1, "11")


def test_a_forked_history_is_noticed(place: str, tmp_path: Path) -> None:
    """A ledger that was rolled back and went on has another entry of a number that the witness knows, and stays known.

    The twin: the same entry told again, and one that was told late, are no fork.
    """
    address = f"sqlite:///{tmp_path}/l.db"
    witness = witness_at(place)
    ledger = Ledger.create(address, name="a", budget=Budget(1.0)).acting(witness=witness)
    entries = [ledger.spend(TENTH, label="q") for _ in range(3)]
    for entry in entries:
        witness_at(place).append("a", entry.number, entry.hash)
    witness.append("a", 9, "99")
    witness.append("a", 7, "77")
    for _ in entries:
        roll_back(address)
    for again in (witness, witness_at(place)):
        with pytest.raises(LedgerCorrupt, match="another entry"):
            Ledger.open(address).acting(witness=again).spend(TENTH, label="another")
        with pytest.raises(LedgerCorrupt, match="another entry 7"):
            again.append("a", 7, "78")
    assert witness_at(place).last("a") == (9, "99")


def test_two_who_write_one_file_agree_on_an_entry(tmp_path: Path) -> None:
    """What another process wrote is read before a line is written: of two heads of one number the first stands."""
    one, other = (FileWitness(str(tmp_path / "witness")) for _ in range(2))
    assert one.last("a") is None
    other.append("a", 1, "11")
    with pytest.raises(LedgerCorrupt, match="another entry 1"):
        one.append("a", 1, "12")
    assert witness_at(str(tmp_path / "witness")).last("a") == (1, "11")


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/none", "postgresql://nobody@127.0.0.1:9/none"])
def test_a_place_that_cannot_be_reached_is_a_failure(place: str) -> None:
    """Nobody there: `WitnessFailed` for telling and for asking."""
    witness = witness_at(place)
    for act in (lambda: witness.append("a", 1, "11"), lambda: witness.last("a"), lambda: witness.is_closed("a", "t")):
        with pytest.raises(WitnessFailed):
            act()
    assert isinstance(witness, WebWitness | DatabaseWitness)


@pytest.mark.parametrize("place", ["web"], indirect=True)
def test_a_witness_may_know_of_as_many_accounts_as_a_service_has_sessions(place: str) -> None:
    """All their names are read, however long that is."""
    names = [f"session/{number:032x}" for number in range(5_000)]
    _Notary.told.extend({"account": name, "number": 1, "head": "h"} for name in names)
    assert witness_at(place).accounts() == set(names)


class _Elsewhere(BaseHTTPRequestHandler):
    """What stands before a witness when a proxy has lost it: it sends on to a page, or speaks no HTTP."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/garbled":
            self.wfile.write(b"HELLO\r\n\r\n")
        else:
            self.send_response(int(self.path[1:]))
            self.send_header("Location", "/sign-in")
            self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"null")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize("answer", ["301", "302", "303", "307", "409", "garbled"])
def test_a_witness_that_sends_on_or_refuses_was_told_nothing(answer: str) -> None:
    """A post that became a look at another page, or was not kept, is not taken for told: nobody would know of it."""
    with _Server(("127.0.0.1", 0), _Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            witness = witness_at(f"http://127.0.0.1:{server.server_port}/{answer}")
            # To an entry, 409 says that another is known.
            with pytest.raises(LedgerCorrupt if answer == "409" else WitnessFailed):
                witness.append("visits", 1, "head")
            with pytest.raises(WitnessFailed):
                witness.close("visits", "ticket")
        finally:
            server.shutdown()
            thread.join()


class _Odd(BaseHTTPRequestHandler):
    """A witness whose answers are of another form than agreed, or come letter by letter."""

    answer: ClassVar[bytes] = b""
    asked: ClassVar[str] = ""

    def do_GET(self) -> None:
        type(self).asked = self.path
        self.send_response(200)
        self.end_headers()
        for letter in self.answer.partition(b"...")[0]:
            self.wfile.write(bytes([letter]))
            self.wfile.flush()
            self.server.closing.wait(0.05)  # type: ignore[attr-defined]
        self.wfile.write(self.answer.partition(b"...")[2])

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def odd() -> Iterator[str]:
    """Serve odd answers at an address that has a query already."""
    with _Server(("127.0.0.1", 0), _Odd) as server:
        server.closing = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/w?key=s3"
        server.closing.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [b'...{"number": 1e400, "head": "x"}', b"..." + b"[" * 100_000, b'...{"number": 1.9, "head": "x"}',
     b'...{"number": true, "head": "x"}', b'...{"number": 3, "head": null}', b"...[1]", b"...0", b"...\xff"],
    ids=lambda answer: repr(answer[3:30]),
)  # fmt: skip
def test_an_answer_of_another_form_is_the_witnesss_failure(answer: bytes, odd: str) -> None:
    """Whatever it is: numbers beyond all numbers, and lists deeper than can be read, raised errors of their own."""
    _Odd.answer = answer
    with pytest.raises(WitnessFailed):
        witness_at(odd).last("visits")


def test_a_question_is_added_to_what_the_address_asks_already(odd: str) -> None:
    """An address may have a key in it."""
    _Odd.answer = b'...{"number": 3, "head": "x"}'
    assert witness_at(odd).last("visits") == (3, "x")
    assert _Odd.asked == "/w?key=s3&account=visits"


def test_an_answer_has_one_deadline_for_all_its_letters(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes letter by letter, each in time, is not waited for; the twin: in time it is read."""
    _Odd.answer = b" " * 8 + b"...null"
    assert witness_at(odd).last("visits") is None
    _Odd.answer = b" " * 200 + b"...null"
    monkeypatch.setattr(witness_module, "_SECONDS", 1.0)
    with pytest.raises(WitnessFailed):
        witness_at(odd).last("visits")


def test_what_a_database_is_told_waits_for_its_disk(postgresql: Any, database: str) -> None:
    """Whatever the database does for others: one that commits asynchronously would forget what was told."""
    postgresql.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = off', database)
    witness = DatabaseWitness(postgresql.address(database))
    assert witness._with(lambda session: session.exec_driver_sql("SHOW synchronous_commit").scalar()) == "on"
