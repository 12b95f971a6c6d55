"""What is not a ledger is refused in clear words and left exactly as it was."""

import contextlib
import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from dp_accounting import dp_event

from support.databases import rows
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt, LedgerError, LedgerForeign, LedgerMissing

TENTH = dp_event.LaplaceDpEvent(10.0)


def _create(address: Any) -> Ledger:
    return Ledger.create(address, name="a", budget=Budget(1.0))


@pytest.mark.parametrize(
    "address",
    [
        "", "folder/", "a\0b.db", "a.db.lock", ":memory:", "://", "sqlite", "sqlite:a.db", "sqlite://", "sqlite:///", "sqlite:///:memory:",
        "sqlite:///a\0b.db", "sqlite:///a.db.lock", "sqlite:///a.db.lock-turn", "mysql://root@localhost/ledger",
        "oracle://host/db", "nonsense://host/db", "postgresql://user@host:port/db", "postgresql+nothing://user@host/db",
        None, 5, b"sqlite:///ledger.db", Path("a.db.lock"), ["sqlite:///ledger.db"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("use", [_create, Ledger.open], ids=["create", "open"])
def test_an_address_that_is_none_is_refused(
    address: Any, use: Callable[[Any], Ledger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Databases that forget, databases of other makers and nonsense are refused, and no file appears."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match=r"(?i)ledger|driver"):
        use(address)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PostgreSQL's driver the error says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'tacit\[postgres\]'"):
        Ledger.open("postgresql://user@host/db")


def test_opening_what_is_not_there_creates_nothing(tmp_path: Path) -> None:
    """A missing file is reported as missing and stays missing."""
    with pytest.raises(LedgerMissing, match=r"no ledger at .*Ledger.create"):
        Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    with pytest.raises(LedgerMissing, match="No such file or directory"):
        _create(f"sqlite:///{tmp_path}/missing/folder/ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_whose_file_has_gone_is_missing(tmp_path: Path) -> None:
    """A handle does not create its file again after it was removed."""
    ledger = _create(f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "ledger.db").unlink()
    for attempt in (lambda: ledger.spent, lambda: ledger.spend(TENTH, label="x"), lambda: ledger.entries()):
        with pytest.raises(LedgerMissing):
            attempt()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ledger.db.lock", "ledger.db.lock-turn"]


def test_a_folder_is_not_a_ledger(tmp_path: Path) -> None:
    """The address of a folder is refused both ways."""
    for use in (_create, Ledger.open):
        with pytest.raises(LedgerMissing):
            use(f"sqlite:///{tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_may_become_a_ledger_but_is_none(tmp_path: Path) -> None:
    """An empty file, which a crash may leave, is refused by open and taken by create."""
    file = tmp_path / "ledger.db"
    file.touch()
    with pytest.raises(LedgerForeign, match="not a tacit ledger"):
        Ledger.open(f"sqlite:///{file}")
    assert file.read_bytes() == b""
    assert _create(f"sqlite:///{file}").spent == Budget(0)


def test_a_new_ledger_is_private_to_its_owner(tmp_path: Path) -> None:
    """Nobody else can read the file of a new ledger, or hold its lock."""
    _create(f"sqlite:///{tmp_path}/ledger.db")
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0
    assert (tmp_path / "ledger.db.lock").stat().st_mode & 0o077 == 0
    assert (tmp_path / "ledger.db.lock-turn").stat().st_mode & 0o077 == 0


def test_a_ledger_without_its_lock_can_be_read_and_gets_one_when_it_is_charged(tmp_path: Path) -> None:
    """A ledger put back without the lock beside it is as good as before, and who only reads it makes no file."""
    ledger = _create(f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "ledger.db.lock").unlink()
    (tmp_path / "ledger.db.lock-turn").unlink()
    assert Ledger.open(ledger.address).spent == Budget(0)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]
    ledger.spend(TENTH, label="first")
    assert {file.name for file in tmp_path.iterdir()} == {"ledger.db", "ledger.db.lock", "ledger.db.lock-turn"}


@pytest.mark.parametrize("locks", [False, True], ids=["without its locks", "with its locks"])
def test_a_reader_finishes_what_a_killed_writer_left(tmp_path: Path, locks: bool) -> None:
    """A journal that is left over is rolled back by whoever comes first, alone."""
    ledger = _create(f"sqlite:///{tmp_path}/ledger.db")
    ledger.spend(TENTH, label="first")
    # A cache of one page spills in the middle of the transaction: both journal and file are half written.
    dies = (
        "import os, sqlite3, sys; execute = sqlite3.connect(sys.argv[1], isolation_level=None).execute; "
        "execute('PRAGMA cache_size = 1'); execute('BEGIN IMMEDIATE'); execute('DELETE FROM tacit_entry'); "
        "[execute('INSERT INTO tacit_entry VALUES (?, 1, ?, 2)', (str(row), 'x' * 999)) for row in range(99)]; "
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", dies, tmp_path / "ledger.db"], check=True)
    if not locks:
        (tmp_path / "ledger.db.lock").unlink()
        (tmp_path / "ledger.db.lock-turn").unlink()
    assert (tmp_path / "ledger.db-journal").exists()
    assert Ledger.open(ledger.address).spent == Budget(0.1)
    assert not (tmp_path / "ledger.db-journal").exists()


def _foreign(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda file: file.write_text("epsilon,delta\n1,0\n" * 100),
        lambda file: file.write_bytes(bytes(range(256)) * 20),
        lambda file: file.write_bytes(b"SQLite format 3\0" + bytes(84)),
        lambda file: _foreign(file, "CREATE TABLE patients (name TEXT)", "INSERT INTO patients VALUES ('Ann')"),
        lambda file: _foreign(file, "CREATE TABLE tacit_entry (name TEXT)", "CREATE TABLE patients (name TEXT)"),
    ],
    ids=["text", "bytes", "only a header", "another database", "another database with a table of that name"],
)
def test_a_foreign_file_is_left_alone(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """A file of another kind is refused by open and create, and not one byte of it changes."""
    file = tmp_path / "ledger.db"
    make(file)
    content = file.read_bytes()
    for use in (_create, Ledger.open):
        with pytest.raises(LedgerForeign, match=r"(?i)nothing was changed|of its own"):
            use(f"sqlite:///{file}")
    assert file.read_bytes() == content
    assert [other.name for other in tmp_path.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE tacit_account"],
        ["DROP TABLE tacit_entry"],
        ["DROP TABLE tacit_ledger", "CREATE TABLE tacit_ledger (format INTEGER)"],
        ["ALTER TABLE tacit_account RENAME COLUMN head TO tail"],
    ],
)
def test_a_ledger_with_a_broken_inside_is_refused(address: str, statements: list[str]) -> None:
    """Tables that are missing or look different are reported as damage."""
    ledger = _create(address)
    ledger.spend(TENTH, label="first")
    for statement in statements:
        rows(address, statement)
    for attempt in (lambda: Ledger.open(address), lambda: ledger.spend(TENTH, label="second")):
        with pytest.raises(LedgerCorrupt, match="damaged"):
            attempt()


def test_a_text_where_the_format_belongs_is_refused(tmp_path: Path) -> None:
    """SQLite would keep any text in a column of numbers; the format must be a number."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    _create(address)
    rows(address, "UPDATE tacit_ledger SET version = 'one'")
    with pytest.raises(LedgerCorrupt, match="format"):
        Ledger.open(address)


def test_a_server_may_hold_other_tables(postgresql: Any, database: str) -> None:
    """A ledger lives beside other tables on a server and touches none of them."""
    address = postgresql.address(database)
    with pytest.raises(LedgerForeign, match="not a tacit ledger"):
        Ledger.open(address)
    rows(address, "CREATE TABLE patients (name TEXT)")
    ledger = _create(address)
    ledger.spend(TENTH, label="first")
    assert rows(address, "SELECT count(*) FROM patients") == [(0,)]


def test_a_server_that_does_not_answer_is_reported(postgresql: Any, database: str) -> None:
    """A wrong port, a missing database and a missing user are errors of ours, whatever they are called."""
    for wrong in (
        "postgresql://postgres@127.0.0.1:1/db",
        postgresql.address("busy_and_locked"),
        postgresql.address("postgres", user="corrupt"),
    ):
        for use in (_create, Ledger.open):
            with pytest.raises(LedgerMissing, match="cannot be reached"):
                use(wrong)


def test_any_other_trouble_of_a_server_is_an_error_of_ours(postgresql: Any, database: str) -> None:
    """An account that may not write gets a ledger error, and nothing is charged."""
    ledger = _create(postgresql.address(database))
    postgresql.execute(f"CREATE ROLE reader_{database} LOGIN")
    postgresql.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_{database}", database)
    limited = Ledger.open(postgresql.address(database, user=f"reader_{database}"))
    with pytest.raises(LedgerError, match="permission denied"):
        limited.spend(TENTH, label="not mine")
    assert ledger.spent == limited.spent == Budget(0)


def test_a_ledger_that_may_only_be_read_can_be_read(worker: Callable[..., Any]) -> None:
    """Without the right to write, everything that writes is refused in our words and reading works."""
    nobody = 65534 if os.geteuid() == 0 else 0
    folder = Path(tempfile.mkdtemp(prefix="tacit-", dir="/tmp"))
    try:
        file = folder / "ledger.db"
        ledger = _create(f"sqlite:///{file}")
        ledger.spend(TENTH, label="first")
        handle = folder / "handle"
        handle.write_bytes(pickle.dumps(ledger))
        file.chmod(0o444)
        folder.chmod(0o555)
        content = file.read_bytes()
        first, *refusals = worker("without_rights", handle, nobody)
        assert first == ["spent", str(Budget(0.1))]
        assert [kind for kind, _ in refusals] == ["LedgerError"] * 3
        assert all("readonly" in text or "read-only" in text for _, text in refusals)
        assert file.read_bytes() == content
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the bytes of a ledger with some history."""
    file = tmp_path_factory.mktemp("sound") / "ledger.db"
    ledger = Ledger.create(f"sqlite:///{file}", name="a", budget=Budget(2.0))
    part = ledger.partition("halves", ["left", "right"], fixed_by="key")["left"]
    for number in range(8):
        part.spend(TENTH, label=f"query {number}")
    return file.read_bytes()


def _read_damaged(file: Path, content: bytes) -> None:
    """A damaged file either still says what it said or is refused in our words, and stays as it is."""
    file.write_bytes(content)
    with contextlib.suppress(LedgerError):
        assert Ledger.open(f"sqlite:///{file}").spent == Budget(0.8)
    try:
        Ledger.open(f"sqlite:///{file}").spend(TENTH, label="one more")
    except LedgerError:
        assert file.read_bytes() == content


def test_a_truncated_file_is_refused(tmp_path: Path, sound: bytes) -> None:
    """A file cut off anywhere is refused, and not one byte is added to what is left."""
    cuts = [1, 15, 16, 99, 100, 512, 1024, len(sound) // 2, len(sound) - 4096, len(sound) - 1]
    for cut in cuts:
        file = tmp_path / f"cut{cut}.db"
        file.write_bytes(sound[:cut])
        with pytest.raises(LedgerError):
            Ledger.open(f"sqlite:///{file}")
        assert file.read_bytes() == sound[:cut]


def test_a_garbled_file_is_refused_or_says_the_same(tmp_path: Path, sound: bytes) -> None:
    """Bytes overwritten anywhere never change what was spent without being noticed, nor crash."""
    chance = random.Random(8)
    used = [position for position, byte in enumerate(sound) if byte]
    for number in range(150):
        content = bytearray(sound)
        position = chance.choice(used)
        for offset in range(chance.choice([1, 1, 1, 2, 8])):
            content[min(position + offset, len(content) - 1)] = chance.randrange(256)
        _read_damaged(tmp_path / f"garbled{number}.db", bytes(content))


def test_every_byte_of_a_history_matters(tmp_path: Path, sound: bytes) -> None:
    """Any one letter changed inside an entry's text is refused, unless it is mere spelling."""
    file = tmp_path / "ledger.db"
    start = sound.index(b'"label": "query 3"')
    for position in range(start + 10, start + 17):
        content = bytearray(sound)
        content[position] ^= 1
        file.write_bytes(bytes(content))
        with pytest.raises(LedgerCorrupt):
            Ledger.open(f"sqlite:///{file}")


def test_two_ledgers_of_one_file_through_a_link_are_one(tmp_path: Path) -> None:
    """A symbolic link leads to the same budget."""
    ledger = _create(f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
    Ledger.open(f"sqlite:///{tmp_path}/link.db").spend(TENTH, label="through the link")
    assert ledger.spent == Budget(0.1)


def test_durability_is_asked_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge is committed with the database's strongest promise to survive a power failure."""
    ledger = _create(address)
    statements: list[str] = []
    execute = sa.Connection.exec_driver_sql

    def listening(self: sa.Connection, statement: str, *arguments: Any, **named: Any) -> Any:
        statements.append(statement)
        return execute(self, statement, *arguments, **named)

    monkeypatch.setattr(sa.Connection, "exec_driver_sql", listening)
    ledger.spend(TENTH, label="durable")
    wanted = (
        {"PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE"}
        if address.startswith("sqlite")
        else {"SET LOCAL synchronous_commit = on"}
    )
    assert wanted <= set(statements)
