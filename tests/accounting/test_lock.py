"""The lock beside a database file: held by one, or shared, through copies, forks, links and removals."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.accounting import lock
from tacit.accounting.lock import lock_path, locked


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Give a file to lock."""
    file = tmp_path / "data.db"
    file.touch(0o640)
    return str(file)


def _is_free(path: str, *, shared: bool = False) -> bool:
    try:
        with locked(path, 0, shared=shared):
            return True
    except TimeoutError:
        return False


def _exit_code_of_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_one_holds_it_alone_or_many_share_it(path: str) -> None:
    """Who holds it alone keeps out all others, who shares it only those who want it alone."""
    with locked(path, 0):
        assert not _is_free(path)
        assert not _is_free(path, shared=True)
    with locked(path, 0, shared=True):
        assert not _is_free(path)
        assert _is_free(path, shared=True)
    assert _is_free(path)


def test_it_tells_how_much_patience_is_left(path: str) -> None:
    """What was waited for the lock is not waited again for what comes after it."""
    with locked(path, 60) as left:
        assert 0 <= left <= 60


def test_reading_either_file_does_not_drop_it(path: str) -> None:
    """Backups of the file, of its lock and of the folder leave it held."""
    with locked(path, 0):
        Path(path).read_bytes()
        Path(lock_path(path)).read_bytes()
        assert not _is_free(path)
        assert _exit_code_of_child(lambda: not _is_free(path)) == 0


def test_it_has_the_rights_of_its_file(path: str) -> None:
    """Who may use the file may hold its lock, and nobody else."""
    with locked(path, 0):
        assert stat.S_IMODE(os.stat(lock_path(path)).st_mode) == stat.S_IMODE(os.stat(path).st_mode)


def test_links_lead_to_the_same_lock(path: str, tmp_path: Path) -> None:
    """A symbolic link to the file has the file's lock; one in the lock's place is not followed."""
    (tmp_path / "link.db").symlink_to(path)
    with locked(str(tmp_path / "link.db"), 0):
        assert not _is_free(path)
    (tmp_path / "other.db").touch()
    (tmp_path / "other.db.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), locked(str(tmp_path / "other.db"), 0):
        pass
    assert not (tmp_path / "victim").exists()


def test_it_is_not_made_if_so_wished(path: str) -> None:
    """A reader that must not write gets an error, and the folder stays as it was."""
    with pytest.raises(FileNotFoundError), locked(path, 0, shared=True, create=False):
        pass
    assert not os.path.exists(lock_path(path))


def test_who_waited_for_a_lock_that_was_removed_takes_the_new_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that somebody removed, or replaced, is nobody's lock any more."""
    held, may_go, waiting = threading.Event(), threading.Event(), threading.Event()

    def holds() -> None:
        with locked(path, 0):
            held.set()
            may_go.wait(60)

    def sleep(_: float) -> None:
        if not waiting.is_set():
            os.unlink(lock_path(path))
            may_go.set()
            holder.join(60)
            waiting.set()

    holder = threading.Thread(target=holds)
    holder.start()
    assert held.wait(60)
    monkeypatch.setattr(time, "sleep", sleep)
    with locked(path, 60):
        assert waiting.is_set()
        assert not _is_free(path)


def test_a_child_cannot_release_it(path: str) -> None:
    """A child that leaves the block it was forked in, whatever it locks itself meanwhile, leaves the lock held."""
    other = f"{path}2"
    Path(other).touch()

    def leaves() -> bool:
        with locked(other, 0):
            block.__exit__(None, None, None)
            return not _is_free(other) and not _is_free(path)

    block = locked(path, 0)
    block.__enter__()
    assert _exit_code_of_child(leaves) == 0
    assert not _is_free(path)
    block.__exit__(None, None, None)
    assert _is_free(path)


@pytest.mark.parametrize("hooked", [True, False], ids=["by Python", "by others"])
def test_a_child_that_lives_on_does_not_keep_it(path: str, hooked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is free when its block is left, though a child forked in it lives, and also past Python's hooks."""
    if not hooked:
        monkeypatch.setattr(lock, "_OPEN", set())
    wait, end = os.pipe()
    with locked(path, 0):
        if not hooked:
            lock._OPEN.clear()
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(wait, 1)
            os._exit(0)
    assert _is_free(path)
    os.close(end)
    os.close(wait)
    os.waitpid(child, 0)


def test_a_child_does_not_keep_the_lock_of_a_parent_that_died(path: str) -> None:
    """When a process is killed in the block, its lock is free at once, though its child lives."""
    wait, end = os.pipe()

    def dies() -> bool:
        with locked(path, 0):
            if os.fork() == 0:
                os.close(end)
                os.read(wait, 1)
            os._exit(0)

    assert _exit_code_of_child(dies) == 0
    # The child closes its copy right after the fork, which may come after the parent's end.
    with locked(path, 30):
        pass
    os.close(end)
    os.close(wait)
