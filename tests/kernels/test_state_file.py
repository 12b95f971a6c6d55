"""A file of answers: shared by all its handles, refused when it is another one, an older one or damaged."""

import os
import pickle
import sqlite3
import stat
from pathlib import Path

import pytest

from support.memories import ONE, TWO, answers_in, keep
from tacit.accounting import lock
from tacit.errors import InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels.interactive import state_file
from tacit.kernels.interactive.memory import FILE_LOCKS, KeptAnswer
from tacit.kernels.interactive.state_file import FileMemory


def test_handles_of_a_file_share_it(tmp_path: Path) -> None:
    """A pickled handle reads and writes the same answers."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    other = pickle.loads(pickle.dumps(memory))
    with other.turn() as turn:
        turn.keep([ONE])
    assert answers_in(memory) == [ONE]
    assert memory.writable
    assert other.writable


def test_a_file_of_another_fit_is_refused(tmp_path: Path) -> None:
    """The mark ties file and predictor."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    with pytest.raises(LedgerCorrupt, match="another fit"):
        answers_in(FileMemory(memory.path, "other"))


def test_a_file_that_was_put_back_is_refused_by_every_handle_in_the_process(tmp_path: Path) -> None:
    """Old handles and old pickles notice, also when the old file has grown again by other answers."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    text = pickle.dumps(memory)
    keep(memory, ONE)
    old = Path(memory.path).read_bytes()
    keep(memory, TWO)
    newer = pickle.dumps(memory)
    Path(memory.path).write_bytes(old)
    for handle in (memory, pickle.loads(text)):
        with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
            answers_in(handle)
    # Another process, which saw none of it, goes on from the old file.
    FILE_LOCKS.clear()
    keep(pickle.loads(text), KeptAnswer(b"b", b"3"), KeptAnswer(b"c", b"4"))
    FILE_LOCKS.clear()
    with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
        answers_in(pickle.loads(newer))


def test_a_pickle_knows_what_was_answered_before_it(tmp_path: Path) -> None:
    """After a restart the file must hold at least what it held at the pickle."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    empty = Path(memory.path).read_bytes()
    keep(memory, ONE)
    text = pickle.dumps(memory)
    keep(memory, TWO)
    FILE_LOCKS.clear()  # what a restart forgets
    assert answers_in(pickle.loads(text)) == [ONE, TWO]
    Path(memory.path).write_bytes(empty)
    FILE_LOCKS.clear()
    # A pickle of a pickle that was never asked knows it too.
    with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
        answers_in(pickle.loads(pickle.dumps(pickle.loads(text))))


@pytest.mark.parametrize(
    "change",
    ["UPDATE answers SET numbers = x'00' WHERE place = 0", "DELETE FROM answers WHERE place = 0",
     "UPDATE answers SET place = place + 5 WHERE place = 1"],
)  # fmt: skip
def test_a_file_whose_entries_do_not_follow_each_other_is_refused(change: str, tmp_path: Path) -> None:
    """Each entry's hash covers all before it."""
    memory = FileMemory.create(tmp_path / "state.db", "mark")
    keep(memory, ONE, TWO)
    connection = sqlite3.connect(memory.path)
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerCorrupt, match=r"damaged|shorter or replaced"):
        answers_in(memory)


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
        answers_in(memory)
    Path(memory.path).write_bytes(b"this is no database" * 100)
    with pytest.raises(LedgerCorrupt, match="cannot be used"):
        answers_in(memory)
    Path(memory.path).unlink()
    sqlite3.connect(memory.path).close()
    with pytest.raises(LedgerCorrupt, match="cannot be used"):
        answers_in(memory)


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
    assert answers_in(memory) == []


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
