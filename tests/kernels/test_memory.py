"""What was answered stays answered: turns, files, forks and pickles."""

import copy
import os
import pickle
import sqlite3
import threading
from pathlib import Path

import pytest

from tacit.errors import InvalidParameter, LedgerCorrupt
from tacit.kernels.memory import Entry, FileMemory, Memory, ProcessMemory, SealedMemory

ONE, TWO = Entry(b"a", b"1"), Entry(b"b", b"2")


@pytest.fixture(params=["process", "file"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    """Give an empty memory of either kind."""
    return ProcessMemory() if request.param == "process" else FileMemory.create(tmp_path / "state.db", "mark")


def _all(memory: Memory) -> list[Entry]:
    with memory.turn() as turn:
        return turn.since(0)


def test_answers_are_kept_in_order(memory: Memory) -> None:
    """What one turn appends the next one reads, from any place on."""
    with memory.turn() as turn:
        assert turn.since(0) == []
        turn.append([ONE])
        turn.append([TWO])
    with memory.turn() as turn:
        assert turn.since(0) == [ONE, TWO]
        assert turn.since(1) == [TWO]
        assert turn.since(2) == []


def test_a_turn_that_fails_keeps_nothing(memory: Memory) -> None:
    """An error inside a turn leaves the memory as it was."""

    def fail() -> None:
        with memory.turn() as turn:
            turn.append([ONE])
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        fail()
    assert _all(memory) == []


def test_turns_are_one_at_a_time(memory: Memory) -> None:
    """Eight threads that each read and append ten times lose nothing and interleave nothing."""

    def work() -> None:
        for _ in range(10):
            with memory.turn() as turn:
                turn.append([Entry(str(len(turn.since(0))).encode(), b"")])

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
        turn.append([ONE])
    with pytest.raises(InvalidParameter, match="with its predictor"):
        pickle.dumps(memory)
    sealed = pickle.loads(pickle.dumps(memory.sealed(lambda entry: Entry(entry.point, b"public"))))
    assert isinstance(sealed, SealedMemory)
    assert not sealed.writable
    assert memory.writable
    assert _all(sealed) == [Entry(b"a", b"public")]
    assert _all(memory) == [ONE]
    assert copy.deepcopy(memory) is memory


def test_a_fork_may_not_write_in_a_process_memory() -> None:
    """A child process reads what was answered, even if the lock was held, and knows that it must not draw."""
    memory = ProcessMemory()
    with memory.turn() as turn:
        turn.append([ONE])
        # The fork happens while the turn is held.
        child = os.fork()
        if child == 0:
            with memory.turn() as reading:
                os._exit(0 if not memory.writable and reading.since(0) == [] else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert memory.writable


def test_handles_of_a_file_share_it(tmp_path: Path) -> None:
    """A pickled handle reads and writes the same answers."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    other = pickle.loads(pickle.dumps(memory))
    with other.turn() as turn:
        turn.append([ONE])
    assert _all(memory) == [ONE]
    assert memory.writable
    assert other.writable


def test_a_file_of_another_fit_is_refused(tmp_path: Path) -> None:
    """The mark ties file and predictor."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(LedgerCorrupt, match="another fit"):
        _all(FileMemory(memory.path, "other"))


def test_a_shortened_file_is_refused(tmp_path: Path) -> None:
    """A file with fewer answers than were given from it has been put back."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(LedgerCorrupt, match="fewer answers"), memory.turn() as turn:
        turn.since(1)


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
