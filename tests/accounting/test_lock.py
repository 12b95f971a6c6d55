"""The lock beside a database file: held by readers together or by one, through copies, forks, links and removals."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.accounting import lock
from tacit.accounting.lock import lock_path, locked, turn_path


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Give a file to lock."""
    file = tmp_path / "data.db"
    file.touch(0o640)
    with locked(str(file), 0):
        return str(file)


def _is_free(path: str, *, reads: bool = False, among_readers: bool = False) -> bool:
    try:
        with locked(path, 0, reads=reads, among_readers=among_readers):
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


def test_a_writer_holds_it_alone(path: str) -> None:
    """While somebody writes, nobody reads or writes."""
    with locked(path, 60):
        assert _exit_code_of_child(lambda: not _is_free(path) and not _is_free(path, reads=True)) == 0
    assert _is_free(path)


def test_readers_hold_it_together_and_keep_writers_out(path: str) -> None:
    """While somebody reads, others may read and nobody writes, whether it takes turns or not."""
    with locked(path, 60, reads=True):
        assert _exit_code_of_child(lambda: _is_free(path, reads=True) and not _is_free(path)) == 0
        assert _exit_code_of_child(lambda: not _is_free(path, among_readers=True)) == 0
    assert _is_free(path)


def _writer_behind_readers(path: str, relays: int, patience: float) -> tuple[int, int]:
    """Let readers overlap so that the lock is never free while a writer waits; count readers until it got through.

    A new reader comes while the one before is still inside; return how many came before the writer was through, and
    the writer's exit code.
    """
    started, tell = os.pipe()

    def writes() -> bool:
        os.write(tell, b"x")
        with locked(path, patience, among_readers=True):
            return True

    inside = locked(path, 60, reads=True)
    inside.__enter__()
    writer = os.fork()
    if writer == 0:
        code = 1
        try:
            code = 0 if writes() else 1
        finally:
            os._exit(code)
    os.read(started, 1)
    came = 0
    for came in range(1, relays + 1):
        # Each reader is a process of its own: it comes, tells, and stays until the one before it has left.
        (here, arrived), (wait, go) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                with locked(path, 0.05, reads=True):
                    os.write(arrived, b"y")
                    os.read(wait, 1)
            except TimeoutError:
                os.write(arrived, b"n")
            os._exit(0)
        got_in = os.read(here, 1) == b"y"
        if got_in and came < relays:
            # The chain of readers goes on in this process: the child leaves after this one came back in.
            inside.__exit__(None, None, None)
            inside = locked(path, 0, reads=True)
            try:
                inside.__enter__()
            except TimeoutError:
                got_in = False
        os.write(go, b"z")
        os.waitpid(child, 0)
        for descriptor in (here, arrived, wait, go):
            os.close(descriptor)
        if not got_in:
            break
    inside.__exit__(None, None, None)
    code = os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1])
    os.close(started)
    os.close(tell)
    return came, code


def test_readers_that_never_leave_a_gap_do_not_keep_a_writer_out(path: str) -> None:
    """Where the lock is held by some reader at every moment, a waiting writer is let in after those inside."""
    with locked(path, 60, among_readers=True):
        pass
    came, code = _writer_behind_readers(path, relays=200, patience=60)
    assert code == 0
    assert came < 200


def test_without_a_turn_such_readers_keep_a_writer_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the same readers keep the same writer out for as long as they come, if nobody takes turns."""
    monkeypatch.setattr(lock, "_turn", lambda *_: None)
    with locked(path, 60):
        pass
    came, code = _writer_behind_readers(path, relays=20, patience=60)
    assert (came, code) == (20, 0)


def test_a_turn_that_cannot_be_had_keeps_nobody_out_and_nobody_apart(path: str) -> None:
    """Who cannot open the turn's file goes on without it; the lock alone keeps readers and writers apart."""
    os.mkdir(turn_path(path))
    with locked(path, 60, among_readers=True):
        assert _exit_code_of_child(lambda: not _is_free(path, reads=True) and not _is_free(path)) == 0
    with locked(path, 60, reads=True):
        assert _exit_code_of_child(lambda: _is_free(path, reads=True) and not _is_free(path, among_readers=True)) == 0


def test_a_lock_that_nobody_shares_has_no_turn(path: str) -> None:
    """The second file is made by writers among readers, and by nobody else."""
    with locked(path, 0):
        assert not os.path.exists(turn_path(path))
    with locked(path, 0, reads=True):
        assert not os.path.exists(turn_path(path))
    with locked(path, 0, among_readers=True):
        assert stat.S_IMODE(os.stat(turn_path(path)).st_mode) == stat.S_IMODE(os.stat(path).st_mode)


def test_threads_take_turns(path: str) -> None:
    """A thread that locks again and again lets in one that waits."""
    done, rounds = threading.Event(), 0

    def waits() -> None:
        for _ in range(20):
            with locked(path, 60):
                pass
        done.set()

    waiter = threading.Thread(target=waits)
    waiter.start()
    while not done.is_set():
        rounds += 1
        with locked(path, 60, reads=True):
            time.sleep(0.001)
        assert rounds < 2000
    waiter.join(60)


def test_who_holds_it_is_not_kept_waiting_for_himself(path: str) -> None:
    """A signal handler that asks for it within its own block is told at once; the block goes on."""
    with locked(path, 60):
        with pytest.raises(TimeoutError), locked(path, 1e9):
            pass
        assert _exit_code_of_child(lambda: not _is_free(path)) == 0
    assert _is_free(path)


def test_nor_if_another_thread_waits_for_him(path: str) -> None:
    """Who asks again within its own block is told at once, also while another thread waits to be next."""
    waiter = threading.Thread(target=lambda: _is_free_within(path, 60))
    with locked(path, 60):
        waiter.start()
        # The waiter has the gate's turn as soon as nobody else can take it without waiting.
        gate = lock._GATES[lock_path(path)]
        while gate._next.acquire(blocking=False):
            gate._next.release()
            time.sleep(0.001)
        with pytest.raises(TimeoutError), locked(path, 1e9):
            pass
    waiter.join(60)
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
    """Who may use the file when its lock is made may hold the lock, and nobody else, whatever the umask is."""
    before = os.umask(0o077)
    try:
        for rights in (0o660, 0o640, 0o666):
            os.chmod(path, rights)
            os.unlink(lock_path(path))
            with locked(path, 0):
                assert stat.S_IMODE(os.stat(lock_path(path)).st_mode) == rights
    finally:
        os.umask(before)


@pytest.mark.parametrize("trap", ["another name", "not empty"])
def test_a_file_that_was_there_and_is_not_surely_a_lock_keeps_its_rights(path: str, trap: str, tmp_path: Path) -> None:
    """Somebody's file under the lock's name is locked, and not given away."""
    os.unlink(lock_path(path))
    victim = tmp_path / "victim"
    victim.write_bytes(b"" if trap == "another name" else b"secret")
    victim.chmod(0o600)
    os.link(victim, lock_path(path)) if trap == "another name" else victim.rename(lock_path(path))
    with locked(path, 0):
        assert stat.S_IMODE(os.stat(lock_path(path)).st_mode) == 0o600


def test_what_is_no_file_is_not_waited_for(path: str) -> None:
    """A pipe in the lock's place is refused at once."""
    os.unlink(lock_path(path))
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
    assert _exit_code_of_child(lambda: not lock._SPOILED and _is_free_within(path, 30)) == 0
    holder.join(60)
    assert _is_free(path)


def _is_free_within(path: str, seconds: float) -> bool:
    with locked(path, seconds):
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


def test_a_reader_does_not_make_it(path: str) -> None:
    """A reader where no lock is gets an error, and the folder stays as it was."""
    os.unlink(lock_path(path))
    with pytest.raises(FileNotFoundError), locked(path, 0, reads=True):
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
