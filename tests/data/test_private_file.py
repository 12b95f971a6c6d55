"""The private file of cells: one process writes it, and nobody can find it."""

import os

import numpy as np
import pytest

from tacit.data.store.private_file import PrivateFile
from tacit.errors import FileNotWritten


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_fork_reads_a_private_file_and_cannot_write_it() -> None:
    """Both would append to one place, so that records counted twice."""
    file, cells = PrivateFile(), np.arange(1000)
    start, ended = file.append(cells), 3
    forked = os.fork()
    if forked == 0:
        try:
            ended = 1 if np.array_equal(file.read(start, 1000, cells.dtype), cells) else 2
            file.append(cells)
        except FileNotWritten as refusal:
            os._exit(0 if ended == 1 and "forked" in str(refusal) else 4)
        finally:
            os._exit(ended)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert file.append(cells) == start + cells.nbytes
