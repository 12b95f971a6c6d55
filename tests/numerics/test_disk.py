"""Arrays in private files: the same numbers as in memory, readable by nobody else, gone whatever happens."""

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import FileNotWritten, QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.disk import Allowance, Computed, DiskArray, DiskWriter, by_part
from tacit.numerics.passing import all_goes_at_the_end


def _stored(rows: Floats, memory: int = 2**30) -> DiskArray:
    """Write rows in lots of uneven size."""
    writer = DiskWriter(rows.shape[1] if rows.ndim == 2 else None, memory)
    for lot in np.split(rows, [1, 8, 9, 100, 4097]):
        writer.append(lot)
    return writer.done()


@pytest.mark.parametrize("shape", [(5000, 3), (5000,)])
def test_slices_and_samples_are_those_of_the_array(shape: tuple[int, ...]) -> None:
    """Parts, every so manyth row and chosen rows are the array's own, whether samples are read or left on disk."""
    rows = np.random.default_rng(0).normal(size=shape)
    for memory in (1, 2**30):
        stored = _stored(rows, memory)
        assert stored.shape == rows.shape
        assert len(stored) == 5000
        for start, stop in ((0, 5000), (17, 4099), (4999, 5000), (7, 7)):
            assert np.array_equal(np.asarray(stored[start:stop]), rows[start:stop])
        for step in (2, 3, 8, 9, 16, 64, 100, 512, 8**6, 8**8):
            sample = stored[::step]
            assert np.array_equal(sample[:] if isinstance(sample, DiskArray) else sample, rows[::step])
        assert np.array_equal(stored.take(np.array([3, 0, 4999])), rows[[3, 0, 4999]])


def test_samples_that_fit_are_read_and_others_stay() -> None:
    """Every 8th row stays in its file where memory does not hold it; every 64th of those is found there too."""
    rows = np.arange(5000.0)
    stored = _stored(rows, memory=4 * 100 * 8)
    eighth = stored[::8]
    assert isinstance(eighth, DiskArray)
    assert isinstance(eighth[::8], np.ndarray)
    assert np.array_equal(np.asarray(eighth[::8]), rows[::64])


def test_columns_computed_from_columns_on_disk_are_computed_part_by_part() -> None:
    """A function of columns gives the same numbers, and sees no more rows at a time than are asked for."""
    rows, seen = np.arange(5000.0), []

    def doubled(part: Floats, weights: Floats) -> Floats:
        seen.append(len(part))
        return 2 * part + weights

    column = by_part(doubled, _stored(rows, memory=4000), np.ones(5000))
    assert isinstance(column, Computed)
    assert column.shape == (5000,)
    assert np.array_equal(np.asarray(column[10:20]), 2 * rows[10:20] + 1)
    sample = column[::8]
    assert isinstance(sample, Computed)
    assert np.array_equal(np.asarray(sample[:]), 2 * rows[::8] + 1)
    assert max(seen) == 625
    assert np.array_equal(by_part(doubled, rows, np.ones(5000)), 2 * rows + 1)


def test_threads_read_at_the_same_time() -> None:
    """No thread moves the place that another one reads at."""
    rows = np.random.default_rng(1).normal(size=(5000, 3))
    stored = _stored(rows)
    starts = list(range(0, 5000, 50)) * 4
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda start: np.asarray(stored[start : start + 50]), starts))
    assert all(np.array_equal(part, rows[start : start + 50]) for start, part in zip(starts, parts, strict=True))


def test_the_file_has_no_name_and_is_its_owners_alone(tmp_path: Path) -> None:
    """Nobody finds the file while it is in use, and its rights are 0600."""
    writer = DiskWriter(2, 1, tmp_path)
    writer.append(np.ones((10, 2)))
    assert list(tmp_path.iterdir()) == []
    for file in writer.done().files:
        assert stat.S_IMODE(os.fstat(file._handle).st_mode) == 0o600


def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    """A process that is killed while it has rows on disk leaves no file behind."""
    program = (
        "import sys, numpy as np; from pathlib import Path; from tacit.numerics.disk import DiskWriter\n"
        "writer = DiskWriter(2, 1, Path(sys.argv[1])); writer.append(np.ones((1000, 2)))\n"
        "print('written', flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_files_are_closed_when_nobody_holds_them() -> None:
    """A thousand arrays in turn take no more handles than one."""
    for _ in range(300):
        _stored(np.ones((10, 1)))


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the system says is passed on, nothing of it else, and nothing stays in the folder."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = DiskWriter(4, 1, tmp_path)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(FileNotWritten, match=r"file too large.*Nothing was charged"):
            writer.append(np.ones((1000, 4)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(FileNotWritten, match="no space left"):
        DiskWriter(4, 1, tmp_path).append(np.ones((1000, 4)))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotWritten, match="no such file"):
        DiskWriter(4, 1, tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_any_more_is_one_clear_error() -> None:
    """A disk that loses what was written stops the computation without a number of the rows."""
    stored = _stored(np.ones((5000, 2)))
    os.ftruncate(stored.files[0]._handle, 100)
    with pytest.raises(QueryFailed, match="cannot be read any more"):
        stored[0:100]


def test_a_file_that_keeps_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network file systems rename what is still open: after a crash it would lie there."""
    DiskWriter(2, 100, tmp_path)
    honest = os.fstat

    class Named:
        st_nlink = 1

    monkeypatch.setattr(os, "fstat", lambda handle: Named)
    with pytest.raises(FileNotWritten, match="keeps a name"):
        DiskWriter(2, 100, tmp_path)
    monkeypatch.setattr(os, "fstat", honest)
    monkeypatch.delattr(os, "preadv")
    with pytest.raises(FileNotWritten, match="without a name"):
        DiskWriter(2, 100, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_gives_the_disk_back_at_once(tmp_path: Path) -> None:
    """The files are closed though somebody keeps the exception, and with it the writer."""
    writer = DiskWriter(2, 100, tmp_path)
    failure = KeyboardInterrupt()
    with suppress(KeyboardInterrupt), writer:
        writer.append(np.ones((5, 2)))
        raise failure
    assert failure.__traceback__ is not None
    assert not any(file.close.alive for file in writer._files)


def test_files_take_no_more_than_they_may_together(tmp_path: Path) -> None:
    """Samples and several files count towards one allowance; what would go beyond it is refused and not written."""
    allowance = Allowance(8 * (100 * 2 + 13 * 2 + 2 * 2 + 4 * 2) + 8)
    table = DiskWriter(2, 1, tmp_path, allowance=allowance)
    table.append(np.ones((100, 2)))
    assert allowance.left == 8
    column = DiskWriter(None, 1, tmp_path, samples=False, allowance=allowance)
    with pytest.raises(FileNotWritten, match="larger than was declared"):
        column.append(np.ones(2))
    assert len(table.done()[:]) == 100


def test_what_cannot_be_written_late_is_said_when_it_is_read(tmp_path: Path) -> None:
    """Neither opening, nor writing, nor making other rows of them says it; whoever reads hears why."""
    small = DiskWriter(2, 1, tmp_path, allowance=Allowance(100, late=True))
    nowhere = DiskWriter(2, 1, tmp_path / "nowhere", allowance=Allowance(late=True))
    for writer in (small, nowhere):
        writer.append(np.ones((50, 2)))
        writer.append(np.ones((50, 2)))
        found = writer.done()
        made = found.mapped(lambda rows: rows[:, 0], None)
        assert (found.shape, made.shape) == ((100, 2), (100,))
        for read in (lambda each=found: each[3:5], lambda each=found: each[::8], lambda each=made: each[:]):
            with pytest.raises(QueryFailed, match=r"cannot be written.*after the charge only") as caught:
                np.asarray(read()[:])
            assert "Nothing was charged" not in str(caught.value)


def test_what_is_kept_for_a_fit_goes_when_it_ends(tmp_path: Path) -> None:
    """Its files are closed, whoever still has them; what another file has their numbers for is not read."""
    with all_goes_at_the_end():
        writer = DiskWriter(2, 1, tmp_path)
        writer.append(np.ones((50, 2)))
    others = [(tmp_path / f"{place}").open("w+b") for place in range(20)]
    try:
        with pytest.raises(QueryFailed, match="cannot be read"):
            writer.done()[:]
    finally:
        for other in others:
            other.close()
