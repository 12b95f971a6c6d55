"""What was answered stays answered: turns, files, forks and pickles."""

import copy
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.memories import ONE, TWO, Memory, answers_in
from tacit.accounting import lock
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels.interactive.memory import KeptAnswer, ProcessMemory
from tacit.kernels.interactive.state_file import FileMemory


@pytest.fixture(params=["process", "file"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    """Give an empty memory of either kind."""
    return ProcessMemory() if request.param == "process" else FileMemory.create(tmp_path / "state.db", "mark")


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
    assert answers_in(memory) == []


def test_a_turn_within_a_turn_is_refused(memory: Memory) -> None:
    """Who asks from within an answer, as a signal handler may, gets an error, and the turn goes on."""
    with memory.turn() as turn:
        with pytest.raises(LedgerBusy, match="from within its own answer"), memory.turn():
            pass
        turn.keep([ONE])
    assert answers_in(memory) == [ONE]


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
    assert [int(entry.point) for entry in answers_in(memory)] == list(range(80))


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
    assert answers_in(sealed) == [KeptAnswer(b"a", b"1public")]
    assert answers_in(memory) == [ONE]
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
    assert _exit_code_of_child(lambda: not memory.writable and answers_in(memory) == [ONE]) == 0


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
                answers_in(memory)
            return True

        assert _exit_code_of_child(refused) == 0
        turn.keep([TWO])
    assert answers_in(memory) == [ONE, TWO]


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
    assert answers_in(memory) == [ONE, TWO]


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
    assert answers_in(memory) == [TWO]


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
