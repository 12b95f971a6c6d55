"""Nothing is half-done whatever happens: full disks, interrupts and failures before, during and after the charge."""

import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

import tacit
from cli.conftest import SECRET, raising
from tacit import Budget, Ledger
from tacit.cli import products
from tacit.errors import FileNotWritten


def test_a_read_only_folder_is_refused_before_any_charge(clinic, monkeypatch):
    """Nothing can be written there: said at once, and nothing is charged."""
    head = clinic.ledger.head
    opening = os.open

    def refusing(path, flags, *more, **others):
        if ".partial" in str(path):
            raise PermissionError(13, "Permission denied")
        return opening(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", refusing)
    ended = clinic.train("--ledger", clinic.address)
    assert ended.code == 2
    assert "permission denied" in ended.err
    for output in ("no/such/folder/m.tacit", "."):
        arguments = ("train", "patients.csv", "--schema", "s.toml", "--epsilon", "0.1", "--output", output)
        assert clinic.run(*arguments, "--ledger", clinic.address, "--report", "r.html").code == 2
    assert clinic.ledger.head == head


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs the right to")
def test_a_file_system_that_is_really_read_only_is_refused_before_any_charge(clinic):
    """A mounted one, not a pretended one: model, report or picture go nowhere, and nothing is charged."""
    fixed = clinic.folder / "fixed"
    fixed.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(fixed)], capture_output=True
    ).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        head = clinic.ledger.head
        for option in ("--output", "--report", "--card"):
            ended = clinic.train("--ledger", clinic.address, option, str(fixed / "there.json"))
            assert ended.code == 2
            assert "read-only" in ended.err
        assert clinic.run("explain", "1", "--output", str(fixed / "e.png")).code == 2
        assert clinic.run("demo", "--output", str(fixed / "demo")).code == 2
        assert clinic.ledger.head == head
    finally:
        subprocess.run(["umount", str(fixed)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs the right to")
def test_a_full_disk_is_noticed_before_any_charge(clinic):
    """On a file system without room nothing is charged and nothing is left there."""
    small = clinic.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        head = clinic.ledger.head
        ended = clinic.train("--ledger", clinic.address, "--report", str(small / "r.html"))
        assert ended.code == 2
        assert "no space left" in ended.err
        assert clinic.ledger.head == head
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("option", ["--output", "--report", "--card"])
def test_a_file_that_may_not_grow_is_noticed_before_any_charge(clinic, option):
    """Where no file may grow beyond 64 KiB, nothing is charged and nothing is left; this needs no rights."""
    head, before = clinic.ledger.head, clinic.names()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, hard))
    try:
        ended = clinic.train("--ledger", clinic.address, option, "there.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (ended.code, "cannot be written: file too large" in ended.err) == (2, True)
    assert clinic.ledger.head == head
    assert clinic.names() == before


def test_a_disk_that_fills_up_during_the_fit_loses_nothing(clinic, monkeypatch):
    """What was paid for is saved elsewhere, the message says where, and the exit code is 5."""
    saving = products.save

    def failing(model, path, **others):
        if str(path) == "m.tacit":
            raise FileNotWritten("no space left")
        saving(model, path, **others)

    monkeypatch.setattr(products, "save", failing)
    ended = clinic.train("--ledger", clinic.address)
    assert ended.code == 5
    place = ended.err.split("m.tacit is at ")[1].split(". The ledger was charged")[0]
    assert tacit.load(place.split(";")[0]).release_.entry == clinic.ledger.entries()[-1]
    assert "m.tacit" not in clinic.names()


def test_an_interrupt_says_whether_anything_was_charged(clinic, monkeypatch):
    """Ctrl-C before the charge and after it: exit code 5, no file, and the right words."""
    monkeypatch.setattr("tacit.releases.release", raising(KeyboardInterrupt()))
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, "Nothing was charged" in ended.err) == (5, True)
    assert clinic.ledger.spent == Budget(0)
    monkeypatch.undo()
    os.chdir(clinic.folder)
    monkeypatch.setattr("tacit.erm.perturbations.perturbation.solve", raising(KeyboardInterrupt()))
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, "was charged" in ended.err) == (5, True)
    assert clinic.ledger.spent == Budget(0.5)
    assert not {"m.tacit", "m.html"} & clinic.names()


@pytest.mark.parametrize("command", ["evaluate", "query", "tune"])
def test_an_interrupt_after_the_charge_says_so_in_every_command(trained, monkeypatch, command):
    """The noise is drawn, the person presses Ctrl-C: what was charged is not told to be free."""
    asked = {
        "evaluate": ("m.tacit", "patients.csv"),
        "query": ("patients.csv", "age > 60", "--schema", "s.toml"),
        "tune": ("patients.csv", "--schema", "s.toml", "--try", "alpha=0.1", "--output", "t.tacit"),
    }[command]
    for law in ("Laplace", "Repetition"):
        monkeypatch.setattr(f"tacit.mechanisms.{law.lower()}.{law}.randomise", raising(KeyboardInterrupt()))
    monkeypatch.setattr("tacit.evaluation.sketch.Sketch.randomise", raising(KeyboardInterrupt()))
    ended = trained.run(command, *asked, "--epsilon", "0.2", "--ledger", trained.address)
    assert (ended.code, "was charged" in ended.err) == (5, True)
    assert trained.ledger.spent == Budget(0.5) + Budget(0.2)


@pytest.mark.parametrize(("part", "place", "charged"), [
    ("all", "tacit.erm.perturbations.perturbation.solve", True), ("train", "tacit.releases.release", False),
])  # fmt: skip
def test_a_failure_that_nobody_expected_says_whether_anything_was_charged(clinic, monkeypatch, part, place, charged):
    """After the charge it is said; before it, though the parts of a split were named in the ledger, nothing is."""
    monkeypatch.setattr(place, raising(RuntimeError(SECRET)))
    ended = clinic.train("--ledger", clinic.address, "--part", part)
    assert (ended.code, "was charged" in ended.err) == (5, charged)
    assert bool(clinic.ledger.spent) == charged


def test_scores_that_were_paid_for_are_told_though_no_report_can_be_written(trained, monkeypatch):
    """The report's place is gone after the charge: the scores stand on stdout, and the report is kept elsewhere."""
    write = products.write_whole

    def failing(path, pieces):
        if str(path) == "m.scores.html":
            raise FileNotWritten("no space left")
        write(path, pieces)

    monkeypatch.setattr(products, "write_whole", failing)
    ended = trained.run(
        "evaluate", "m.tacit", "patients.csv", "--epsilon", "0.2", "--ledger", trained.address, "--json"
    )
    assert (ended.code, ended.plain["charged"]) == (5, True)
    assert "accuracy" in ended.plain["scores"]
    assert "m.scores.html is at " in ended.err


@pytest.mark.stats
def test_interrupts_at_random_moments_leave_nothing_half_written(clinic):
    """A real process is interrupted: every file there is whole, and there is a model only if there was a charge."""
    random.seed(16)
    program = "from tacit.cli import main; main()"
    command = ["train", "patients.csv", "--schema", "s.toml", "--epsilon", "0.01", "--ledger", clinic.address]
    Ledger.create(f"sqlite:///{clinic.folder}/many.db", name="many", budget=Budget(10))
    command[-1] = f"sqlite:///{clinic.folder}/many.db"
    made, whole = 0, 2.5
    for number in range(6 * int(os.environ.get("TACIT_STATS_FACTOR", "1"))):
        output = clinic.folder / f"m{number}.tacit"
        before, begun = len(Ledger.open(command[-1]).entries()), time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", program, *command, "--output", str(output)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if number:
            time.sleep(random.uniform(0.1, whole))
            process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=120)[1].decode()
        # The first goes on to its end: how long that takes here says which moments there are.
        whole = whole if number else time.monotonic() - begun
        assert SECRET not in words
        entries = len(Ledger.open(command[-1]).entries())
        if "Nothing was charged" in words:
            assert entries == before
        if "was charged: noise" in words:
            assert entries == before + 1
        if output.exists():
            made += 1
            assert tacit.load(output).release_.entry.number == entries
        assert 1 <= made <= entries
        assert not [path.name for path in clinic.folder.iterdir() if path.name.endswith(".partial")]
