"""Fits from files and databases that fail on the way: one clear error, what was charged is said, nothing is left."""

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit.data.sources.live as live
import tacit.erm.perturbations.perturbation as perturbation
import tacit.estimators.elsewhere as encoding
from support.fits import MODELS, people, schema_for
from support.stored_people import in_postgresql
from tacit import Budget, Ledger, PrivateKernelClassifier, PrivateLogisticRegression
from tacit.data import PublicEncoder, Records
from tacit.errors import FileNotWritten, QueryFailed, TacitError
from tacit.kernels import RBF
from tacit.numerics.disk import DiskWriter, _File

SMALL = 4000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all engines."""
    return people()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Open an account."""
    return Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))


@pytest.fixture(autouse=True)
def private(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let private files be made in a folder of their own, which has no file after every test, open or not."""
    folder = tmp_path_factory.mktemp("private")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    gc.collect()
    assert list(folder.iterdir()) == []
    held = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_there(each)]
    assert not [each for each in held if str(folder) in each]


def _is_there(descriptor: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{descriptor}")


def _fails(model: Any, records: Records, kind: type[BaseException]) -> str:
    """Fit, and return what the exception says, notes included; the model stays unfitted."""
    with pytest.raises(kind) as caught:
        model.fit(records)
    assert not hasattr(model, "coef_")
    return " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("change", ["disappears", "grows"])
def test_files_that_change_while_they_are_encoded_are_refused_uncharged(
    table: pd.DataFrame, tmp_path: Path, ledger: Ledger, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of a file that somebody writes to, or takes away, meanwhile is not fitted."""
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    records = Records(path, schema_for("answer"), memory=SMALL)
    honest = PublicEncoder.lots

    def changing(encoder: PublicEncoder, block: Any) -> Any:
        if change == "disappears":
            path.unlink(missing_ok=True)
        else:
            with path.open("a") as file:
                file.write("1.0,1.0,a,yes,low,1.0,7\n")
        return honest(encoder, block)

    monkeypatch.setattr(PublicEncoder, "lots", changing)
    told = _fails(PrivateLogisticRegression(1.0, ledger=ledger), records, TacitError)
    assert "not those that were opened" in told
    assert "nothing was charged" in told
    assert not ledger.entries()


def _mounted(folder: Path, size: str) -> bool:
    return os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False, capture_output=True
    ).returncode == 0  # fmt: skip


def test_a_disk_that_fills_up_charges_nothing_and_leaves_nothing(
    table: pd.DataFrame, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real disk of 64 KiB, or where none can be mounted a limit on the size of files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = _mounted(disk, "64k")
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    if not mounted:
        _limit_files(monkeypatch, 64 * 1024)
    try:
        told = _fails(
            PrivateLogisticRegression(1.0, ledger=ledger), Records(table, schema_for("answer"), memory=SMALL),
            FileNotWritten,
        )  # fmt: skip
        assert "Nothing was charged" in told
        assert list(disk.iterdir()) == []
        assert shutil.disk_usage(disk).used < 32 * 1024 or not mounted
    finally:
        gc.collect()
        if mounted:
            subprocess.run(["umount", disk], check=True)
    assert not ledger.entries()


def _limit_files(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    honest, written = os.write, [0]

    def limited(descriptor: int, data: Any) -> int:
        written[0] += len(data)
        if written[0] > most:
            raise OSError(28, "No space left on device")
        return honest(descriptor, data)

    monkeypatch.setattr(os, "write", limited)


@pytest.fixture
def of_persons(tmp_path: Path) -> Ledger:
    """Open an account that promises for persons."""
    return Ledger.create(f"sqlite:///{tmp_path / 'p.db'}", name="p", budget=Budget(100.0, 1e-3), unit="person")


def _neighbours(table: pd.DataFrame) -> Iterator[Records]:
    """Return records whose first person has one row, which memory holds, and 200 rows, which need a file."""
    base = table[:100].assign(who=range(100))
    for rows in (1, 200):
        found = pd.concat([base, *[base[:1]] * (rows - 1)], ignore_index=True)
        yield Records(found, schema_for("answer"), unit="who", memory=8 * 8 * 120)


def test_a_folder_that_takes_no_file_is_refused_however_many_rows_a_person_has(
    table: pd.DataFrame, of_persons: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a file was needed told how many rows a person has, as often as one asked, and nobody paid."""
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    model = PrivateLogisticRegression(1.0, curves=False, ledger=of_persons)
    told = {_fails(model, records, FileNotWritten) for records in _neighbours(table)}
    assert len(told) == 1
    assert "nothing was charged" in told.pop()
    assert not of_persons.entries()


@pytest.mark.parametrize(("number", "lack"), [(0, "full"), *((each, "declared") for each in range(len(MODELS)))])
def test_a_file_of_persons_that_cannot_be_written_is_paid_for(
    table: pd.DataFrame, of_persons: Ledger, number: int, lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full, or full by declaration, depends on how many rows persons have: it is said for a charge."""
    target, make = MODELS[number]
    model = make().set_params(ledger=of_persons, random_state=None)
    if lack == "full":
        _limit_files(monkeypatch, 1000)
    disk = {"disk": 1000} if lack == "declared" else {}
    records = Records(table, schema_for(target), unit="who", memory=SMALL, **disk)
    told = _fails(model, records, QueryFailed)
    assert "private file of encoded rows cannot be written" in told
    assert "charged for it: epsilon=1" in told
    assert "othing was charged" not in told
    assert len(of_persons.entries()) == 1


def test_features_of_persons_that_cannot_be_written_are_paid_for(table: pd.DataFrame, of_persons: Ledger) -> None:
    """The file of features counts towards the declared size, too."""
    model = PrivateKernelClassifier(RBF(1.0), 1.0, method="fourier", landmarks=100, ledger=of_persons)
    records = Records(table, schema_for("answer"), unit="who", memory=SMALL, disk=1_000_000)
    assert "charged for it: epsilon=1" in _fails(model, records, QueryFailed)
    assert len(of_persons.entries()) == 1


def test_an_exception_that_is_kept_keeps_no_file(
    table: pd.DataFrame, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook keeps the last exception, which names the rows it was raised over: their files are closed."""
    _at_the_first(monkeypatch, perturbation, "solve")
    with pytest.raises(KeyboardInterrupt) as caught:
        PrivateLogisticRegression(1.0, random_state=3).fit(Records(table, schema_for("answer"), memory=SMALL))
    held = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_there(each)]
    assert not [each for each in held if str(private) in each]
    assert caught.value is not None


def test_a_lost_connection_charges_nothing(
    table: pd.DataFrame, ledger: Ledger, postgresql: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session while rows are encoded: one error, without a word of the server's."""
    records = Records(in_postgresql(postgresql, database, table), schema_for("answer"), memory=SMALL)
    honest = live.PostgreSQLTable._stream

    def cut(stored: Any, connection: Any, sql: str) -> Iterator[Any]:
        for block in honest(stored, connection, sql):
            postgresql.execute(f"SELECT pg_terminate_backend({connection.driver_connection.info.backend_pid})")
            yield block

    monkeypatch.setattr(live.PostgreSQLTable, "_stream", cut)
    monkeypatch.setattr(live, "BLOCK", 500)
    told = _fails(PrivateLogisticRegression(1.0, ledger=ledger), records, QueryFailed)
    assert "terminating" not in told
    assert "nothing was charged" in told
    assert not ledger.entries()


def test_a_disk_that_cannot_be_read_back_says_what_was_charged(
    table: pd.DataFrame, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver reads after the charge: the note says so, and no value is named."""

    def broken(*_: Any) -> None:
        raise QueryFailed("the private file of encoded rows cannot be read any more. Look at the disk it is on.")

    monkeypatch.setattr(_File, "read", broken)
    told = _fails(
        PrivateLogisticRegression(0.5, ledger=ledger), Records(table, schema_for("answer"), memory=SMALL), QueryFailed
    )
    assert "charged for it: epsilon=0.5" in told
    assert len(ledger.entries()) == 1


def _at_the_first(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
    """Interrupt at the first call of a method."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, name, interrupted)


MOMENTS: list[tuple[Any, str, bool]] = [
    (Records, "blocks", False),
    (DiskWriter, "append", False),
    (DiskWriter, "done", False),
    (encoding, "_prepared", False),
    (_File, "read", True),
]


@pytest.mark.parametrize(("where", "name", "charged"), MOMENTS, ids=[name for _, name, _ in MOMENTS])
def test_an_interrupt_at_any_moment_leaves_ledger_files_and_model_consistent(
    table: pd.DataFrame, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, charged: bool
) -> None:
    """Before the charge the note says that nothing was charged, after it what; the next fit works."""
    model, records = (
        PrivateLogisticRegression(0.25, ledger=ledger), Records(table, schema_for("answer"), memory=SMALL),
    )  # fmt: skip
    with monkeypatch.context() as patch:
        _at_the_first(patch, where, name)
        told = _fails(model, records, KeyboardInterrupt)
    assert ("charged for it: epsilon=0.25" in told) == charged
    assert ("nothing was charged" in told) != charged
    assert len(ledger.entries()) == charged
    model.fit(records)
    assert len(ledger.entries()) == charged + 1


_ENDLESS = """
import os, signal, sys, threading, time
from support.fits import MODELS, people, schema_for
from tacit import Budget, Ledger, PrivateLogisticRegression, Records
ledger = Ledger.create(sys.argv[1], name="a", budget=Budget(1.0))
records = Records(people(), schema_for("answer"), memory=4000)
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        PrivateLogisticRegression(2**-20, ledger=ledger).fit(records)
except KeyboardInterrupt as stopped:
    print(len(ledger.entries()), "charged" in " ".join(getattr(stopped, "__notes__", [])), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("after", [0.3, 0.45])
def test_a_real_ctrl_c_leaves_a_ledger_that_opens_and_no_file(tmp_path: Path, private: Path, after: float) -> None:
    """Whenever the signal comes, the account is whole and can be charged again."""
    address = f"sqlite:///{tmp_path / 'c.db'}"
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS, address, str(after)],
        env=os.environ | {"TMPDIR": str(private), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    entries = int(done.stdout.split()[0])
    ledger = Ledger.open(address, name="a")
    assert len(ledger.entries()) == entries
    PrivateLogisticRegression(0.5, ledger=ledger).fit(Records(people(), schema_for("answer")))
    assert len(ledger.entries()) == entries + 1
