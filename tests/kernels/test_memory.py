"""What was answered stays answered: turns, files, forks and pickles."""

import copy
import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacit.accounting import lock
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels.interactive import state_file
from tacit.kernels.interactive.memory import FILE_LOCKS, KeptAnswer, ProcessMemory
from tacit.kernels.interactive.state_file import FileMemory

Memory = ProcessMemory | FileMemory
ONE, TWO = KeptAnswer(b"a", b"1"), KeptAnswer(b"b", b"2")


@pytest.fixture(params=["process", "file"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    """Give an empty memory of either kind."""
    return ProcessMemory() if request.param == "process" else FileMemory.create(tmp_path / "state.db", "mark")


def _all(memory: Memory) -> list[KeptAnswer]:
    with memory.turn() as turn:
        return turn.since(0)


def test_answers_are_kept_in_order(memory: Memory) -> None:
    """What one turn keeps the next one reads, from any place on, and no place beyond the end is read from."""
    for entry in (ONE, TWO):
        with memory.turn() as turn:
            turn.keep([entry])
    with memory.turn() as turn:
        assert turn.since(0) == [ONE, TWO]
        assert turn.since(1) == [TWO]
        assert turn.since(2) == []
    with pytest.raises(LedgerCorrupt, match=r"shorter|fewer"), memory.turn() as turn:
        turn.since(3)


def test_answers_are_kept_all_or_none(tmp_path: Path) -> None:
    """An entry that cannot be written takes those of its turn along."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(TypeError), memory.turn() as turn:
        turn.keep([ONE, KeptAnswer(b"b", None)])  # type: ignore[arg-type]
    assert _all(memory) == []


def test_a_turn_within_a_turn_is_refused(memory: Memory) -> None:
    """Who asks from within an answer, as a signal handler may, gets an error, and the turn goes on."""
    with memory.turn() as turn:
        with pytest.raises(LedgerBusy, match="from within its own answer"), memory.turn():
            pass
        turn.keep([ONE])
    assert _all(memory) == [ONE]


def test_turns_are_one_at_a_time(memory: Memory) -> None:
    """Eight threads that each read and append ten times lose nothing and interleave nothing."""

    def work() -> None:
        for _ in range(10):
            with memory.turn() as turn:
                turn.keep([KeptAnswer(str(len(turn.since(0))).encode(), b"")])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(entry.point) for entry in _all(memory)] == list(range(80))


def test_a_sealed_copy_of_a_process_memory_holds_what_is_public() -> None:
    """A sealed copy cannot add answers and has forgotten what it was told to; by itself the memory is not pickled."""
    memory = ProcessMemory()
    with memory.turn() as turn:
        turn.keep([ONE])
    with pytest.raises(InvalidParameter, match="with its predictor"):
        pickle.dumps(memory)
    sealed = pickle.loads(pickle.dumps(memory.sealed(lambda numbers: numbers + b"public")))
    assert not sealed.writable
    with pytest.raises(InvalidParameter, match="not drawn in a copy"), sealed.turn() as turn:
        turn.keep([TWO])
    assert memory.writable
    assert _all(sealed) == [KeptAnswer(b"a", b"1public")]
    assert _all(memory) == [ONE]
    assert copy.deepcopy(memory) is memory


def _exit_code_of_child(work: Callable[[], bool]) -> int:
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_may_not_write_in_a_process_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child reads what was answered, even from within a turn, and may not add, whatever number it has."""
    # In a namespace of its own the child of process 1 is process 1.
    monkeypatch.setattr(os, "getpid", lambda: 1)
    memory = ProcessMemory()
    with memory.turn() as turn:

        def refused() -> bool:
            with memory.turn() as reading:
                empty = reading.since(0) == []
            with pytest.raises(InvalidParameter, match="fork"):
                turn.keep([ONE])
            return empty and not memory.writable

        assert _exit_code_of_child(refused) == 0
        turn.keep([ONE])
    assert memory.writable
    assert _exit_code_of_child(lambda: not memory.writable and _all(memory) == [ONE]) == 0


def test_a_fork_shares_a_file_unless_it_was_made_within_a_turn(tmp_path: Path) -> None:
    """A child may take turns; one forked in the middle of an answer may neither finish it nor begin another."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")

    def writes() -> bool:
        with memory.turn() as turn:
            turn.keep([ONE])
        return True

    assert _exit_code_of_child(writes) == 0
    with memory.turn() as turn:

        def refused() -> bool:
            with pytest.raises(LedgerBusy, match="forked"):
                turn.keep([TWO])
            with pytest.raises(LedgerBusy, match="forked"):
                _all(memory)
            return True

        assert _exit_code_of_child(refused) == 0
        turn.keep([TWO])
    assert _all(memory) == [ONE, TWO]


OTHER = """
import pickle, sys
from tacit.accounting import lock
from tacit.errors import LedgerBusy
from tacit.kernels.interactive import state_file
from tacit.kernels.interactive.memory import KeptAnswer

state_file._PATIENCE = 0.05
usual = lock.fcntl
for line in sys.stdin:
    handle, how = line.rstrip().split(",")
    lock.fcntl = None if how == "without flock" else usual
    try:
        with pickle.loads(bytes.fromhex(handle)).turn() as turn:
            turn.keep([KeptAnswer(b"b", b"2")])
    except LedgerBusy:
        print("busy", flush=True)
    else:
        print("kept", flush=True)
"""


@pytest.fixture(scope="module")
def other_process() -> Iterator[Callable[..., str]]:
    """Give another process, which waits for nobody: it keeps TWO in a memory and says what came of it."""
    with subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def keep(memory: FileMemory, how: str = "") -> str:
            process.stdin.write(f"{pickle.dumps(memory).hex()},{how}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        yield keep
        process.stdin.close()
    assert process.returncode == 0


def test_a_backup_in_the_middle_of_a_turn_lets_nobody_in(tmp_path: Path, other_process: Callable[..., str]) -> None:
    """Copying the file in the process that answers, which drops SQLite's lock, does not let another answer too."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with memory.turn() as turn:
        Path(memory.path).read_bytes()
        shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-backup"))
        assert other_process(memory) == "busy"
        turn.keep([ONE])
    assert other_process(memory) == "kept"
    assert _all(memory) == [ONE, TWO]


def test_a_turn_that_lost_its_lock_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_process: Callable[..., str]
) -> None:
    """If another process got in all the same, its answer stays and the turn's own is dropped."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    monkeypatch.setattr(lock, "fcntl", None)
    with memory.turn() as turn:
        assert turn.since(0) == []
        assert other_process(memory, "without flock") == "busy"
        Path(memory.path).read_bytes()
        assert other_process(memory, "without flock") == "kept"
        with pytest.raises(LedgerCorrupt, match="in the middle of an answer"):
            turn.keep([ONE])
    assert _all(memory) == [TWO]


def test_a_child_forked_within_a_turn_leaves_it_alone(tmp_path: Path, other_process: Callable[..., str]) -> None:
    """A child that fails its way out of the turn ends it for nobody else; one that lives on does not hold it."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    wait, end = os.pipe()
    children = []
    block = memory.turn()
    with block as turn:
        for leaves in (True, False):
            children.append(os.fork())
            if children[-1] == 0:
                code = 1
                try:
                    os.close(end)
                    block.__exit__(None, None, None) if leaves else os.read(wait, 1)
                    code = 0
                finally:
                    os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
        Path(memory.path).read_bytes()
        assert other_process(memory) == "busy"
        turn.keep([ONE])
    assert other_process(memory) == "kept"
    os.close(end)
    os.close(wait)
    assert os.waitstatus_to_exitcode(os.waitpid(children[1], 0)[1]) == 0


def test_handles_of_a_file_share_it(tmp_path: Path) -> None:
    """A pickled handle reads and writes the same answers."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    other = pickle.loads(pickle.dumps(memory))
    with other.turn() as turn:
        turn.keep([ONE])
    assert _all(memory) == [ONE]
    assert memory.writable
    assert other.writable


def test_a_file_of_another_fit_is_refused(tmp_path: Path) -> None:
    """The mark ties file and predictor."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(LedgerCorrupt, match="another fit"):
        _all(FileMemory(memory.path, "other"))


def _keep(memory: Memory, *entries: KeptAnswer) -> None:
    with memory.turn() as turn:
        turn.keep(list(entries))


def test_a_file_that_was_put_back_is_refused_by_every_handle_in_the_process(tmp_path: Path) -> None:
    """Old handles and old pickles notice, also when the old file has grown again by other answers."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    text = pickle.dumps(memory)
    _keep(memory, ONE)
    old = Path(memory.path).read_bytes()
    _keep(memory, TWO)
    newer = pickle.dumps(memory)
    Path(memory.path).write_bytes(old)
    for handle in (memory, pickle.loads(text)):
        with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
            _all(handle)
    # Another process, which saw none of it, goes on from the old file.
    FILE_LOCKS.clear()
    _keep(pickle.loads(text), KeptAnswer(b"b", b"3"), KeptAnswer(b"c", b"4"))
    FILE_LOCKS.clear()
    with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
        _all(pickle.loads(newer))


def test_a_pickle_knows_what_was_answered_before_it(tmp_path: Path) -> None:
    """After a restart the file must hold at least what it held at the pickle."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    empty = Path(memory.path).read_bytes()
    _keep(memory, ONE)
    text = pickle.dumps(memory)
    _keep(memory, TWO)
    FILE_LOCKS.clear()  # what a restart forgets
    assert _all(pickle.loads(text)) == [ONE, TWO]
    Path(memory.path).write_bytes(empty)
    FILE_LOCKS.clear()
    # A pickle of a pickle that was never asked knows it too.
    with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
        _all(pickle.loads(pickle.dumps(pickle.loads(text))))


@pytest.mark.parametrize(
    "change",
    ["UPDATE answers SET numbers = x'00' WHERE place = 0", "DELETE FROM answers WHERE place = 0",
     "UPDATE answers SET place = place + 5 WHERE place = 1"],
)  # fmt: skip
def test_a_file_whose_entries_do_not_follow_each_other_is_refused(change: str, tmp_path: Path) -> None:
    """Each entry's hash covers all before it."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    _keep(memory, ONE, TWO)
    connection = sqlite3.connect(memory.path)
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerCorrupt, match=r"damaged|shorter or replaced"):
        _all(memory)


def test_only_its_owner_reads_a_state_file(tmp_path: Path) -> None:
    """The file holds the noise, so it and its lock are made with mode 0600, whatever the mask allows."""
    before = os.umask(0)
    try:
        memory = FileMemory.create(tmp_path / "state.db", "mark")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(memory.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(lock.lock_path(memory.path)).st_mode) == 0o600


def test_missing_and_broken_files_are_refused(tmp_path: Path) -> None:
    """A file that is gone, or no database, is an error and not an empty memory."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    os.rename(memory.path, tmp_path / "elsewhere.db")
    with pytest.raises(LedgerCorrupt, match="missing"):
        _all(memory)
    Path(memory.path).write_bytes(b"this is no database" * 100)
    with pytest.raises(LedgerCorrupt, match="cannot be used"):
        _all(memory)
    Path(memory.path).unlink()
    sqlite3.connect(memory.path).close()
    with pytest.raises(LedgerCorrupt, match="cannot be used"):
        _all(memory)


@pytest.mark.parametrize("path", [3, None, ["x"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    """Only paths name a state file."""
    with pytest.raises(InvalidParameter, match="path"):
        FileMemory.create(path, "mark")  # type: ignore[arg-type]


def test_existing_files_and_missing_folders_are_refused(tmp_path: Path) -> None:
    """A new fit never writes over old answers."""
    FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(InvalidParameter, match="exists already"):
        FileMemory.create(tmp_path / "state.db", "other")
    with pytest.raises(InvalidParameter, match="folder"):
        FileMemory.create(tmp_path / "nowhere" / "state.db", "mark")


def test_a_file_that_another_process_holds_is_busy_not_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits too long for a turn is told to ask again, and can."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    monkeypatch.setattr(state_file, "_PATIENCE", 0.01)
    other = sqlite3.connect(memory.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy, match="Ask again"), memory.turn():
        pass
    other.execute("ROLLBACK")
    other.close()
    assert _all(memory) == []


def test_a_lock_that_cannot_be_held_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cannot have the lock draws nothing; a new file is not begun beside the lock of somebody else."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    os.unlink(lock.lock_path(memory.path))
    os.mkdir(lock.lock_path(memory.path))
    with pytest.raises(LedgerCorrupt, match="cannot be locked"), memory.turn():
        pass
    os.unlink(memory.path)
    monkeypatch.setattr(os, "access", lambda path, _: not str(path).endswith(".lock"))
    with pytest.raises(InvalidParameter, match="lock of the state file"):
        state_file.check_new(memory.path)


def test_a_folder_that_cannot_be_written_to_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check before a fit sees it."""
    state_file.check_new(tmp_path / "state.db")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InvalidParameter, match="cannot be written to"):
        state_file.check_new(tmp_path / "state.db")
