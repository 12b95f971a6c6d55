"""The lock beside a database file: held by one, through copies, forks, links and removals."""

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


def _is_free(path: str, *, reads: bool = False) -> bool:
    try:
        with locked(path, 0, reads=reads):
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


@pytest.mark.parametrize("reads", [False, True])
def test_one_holds_it_alone(path: str, reads: bool) -> None:
    """Readers and writers keep out all others: readers that shared it would never leave a gap for a writer."""
    with locked(path, 60, reads=reads):
        assert _exit_code_of_child(lambda: not _is_free(path) and not _is_free(path, reads=True)) == 0
    assert _is_free(path)


def test_who_holds_it_is_not_kept_waiting_for_himself(path: str) -> None:
    """A signal handler that asks for it within its own block is told at once; the block goes on."""
    with locked(path, 60):
        with pytest.raises(TimeoutError), locked(path, 1e9):
            pass
        assert _exit_code_of_child(lambda: not _is_free(path)) == 0
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


def test_it_follows_the_rights_of_its_file(path: str) -> None:
    """Rights that were given later are those of the lock, too, whatever the umask is."""
    before = os.umask(0o077)
    try:
        for rights in (0o660, 0o640, 0o666):
            os.chmod(path, rights)
            with locked(path, 0):
                assert stat.S_IMODE(os.stat(lock_path(path)).st_mode) == rights
    finally:
        os.umask(before)


@pytest.mark.parametrize("trap", ["another name", "not empty"])
def test_a_file_that_was_there_and_is_not_surely_a_lock_keeps_its_rights(path: str, trap: str, tmp_path: Path) -> None:
    """Somebody's file under the lock's name is locked, and not given away."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"" if trap == "another name" else b"secret")
    victim.chmod(0o600)
    os.link(victim, lock_path(path)) if trap == "another name" else victim.rename(lock_path(path))
    with locked(path, 0):
        assert stat.S_IMODE(os.stat(lock_path(path)).st_mode) == 0o600


def test_what_is_no_file_is_not_waited_for(path: str) -> None:
    """A pipe in the lock's place is refused at once."""
    os.mkfifo(lock_path(path))
    for reads in (False, True):
        with pytest.raises(OSError, match="no file to lock"), locked(path, 0, reads=reads):
            pass


def test_a_fork_waits_for_other_threads_and_leaves_them_out_if_they_stay(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child is made while no other thread is within; if one stays, the child may not use that file, and says so."""
    inside, may_go = threading.Event(), threading.Event()

    def holds() -> None:
        with locked(path, 60):
            inside.set()
            may_go.wait(60)

    holder = threading.Thread(target=holds)
    holder.start()
    assert inside.wait(60)
    monkeypatch.setattr(lock, "_FORK_PATIENCE", 0.01)
    assert _exit_code_of_child(lambda: path + ".lock" in lock._SPOILED and not _is_free(path)) == 0
    monkeypatch.setattr(lock, "_FORK_PATIENCE", 60.0)
    threading.Timer(0.05, may_go.set).start()
    assert _exit_code_of_child(lambda: not lock._SPOILED and holder_is_out(path)) == 0
    holder.join(60)
    assert _is_free(path)


def holder_is_out(path: str) -> bool:
    """Whether nobody is in the middle of the lock."""
    with locked(path, 30):
        return True


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
    with pytest.raises(FileNotFoundError), locked(path, 0, reads=True, create=False):
        pass
    assert not os.path.exists(lock_path(path))


def test_who_waited_for_a_lock_that_was_removed_takes_the_new_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that somebody removed, or replaced, is nobody's lock any more."""
    (held, tell), (wait, go) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with locked(path, 0):
            os.write(tell, b"x")
            os.read(wait, 1)
        os._exit(0)
    os.read(held, 1)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 1:
            os.unlink(lock_path(path))
            os.write(go, b"x")
            os.waitpid(child, 0)

    monkeypatch.setattr(time, "sleep", sleep)
    with locked(path, 60):
        assert waited
        assert _exit_code_of_child(lambda: not _is_free(path)) == 0
    for descriptor in (held, tell, wait, go):
        os.close(descriptor)


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
