"""A file without a name: nobody can open it, and it is gone with the process that made it, whatever ends that."""

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, NoReturn, Self, final

import numpy as np

from tacit.data.values import AnyArray
from tacit.errors import FileNotWritten, InvalidParameter, QueryFailed
from tacit.numerics.process import this_process


@final
class PrivateFile:
    """Bytes that are appended by one process, and read at any place by several threads; or those of a file at a path.

    It has a handle of its own, that nobody else closes.
    """

    def __init__(self, path: Path | None = None) -> None:
        if not hasattr(os, "preadv"):
            raise _not_written("this system has no files without a name that threads can share, as Linux and macOS do")
        failure = ""
        try:
            with tempfile.TemporaryFile(buffering=0) if path is None else path.open("rb", buffering=0) as opened:
                self._handle = os.dup(opened.fileno())
        except OSError as error:
            failure = _reason(error)
        if failure:
            raise _not_written(failure)
        self._made_in, self.size = this_process(), os.fstat(self._handle).st_size
        self.close = weakref.finalize(self, os.close, self._handle)
        if path is None and os.fstat(self._handle).st_nlink:
            self.close()
            # A network file system gives an open file another name instead of taking its last, and a crash leaves it.
            raise _not_written("it keeps a name there, under which others could find it, as on a network file system")

    def append(self, cells: AnyArray) -> int:
        """Write cells behind those before, and return where they begin; a fork would write into the same place."""
        if this_process() != self._made_in:
            raise _not_written("this process was forked from the one that writes it")
        start, left, failure = self.size, np.ascontiguousarray(cells).reshape(-1).view(np.uint8).data, ""
        self.size += left.nbytes
        try:
            while left.nbytes:
                left = left[os.write(self._handle, left) :]
        except OSError as error:
            failure = _reason(error)
        if failure:
            raise _not_written(failure)
        return start

    def read(self, start: int, count: int, kind: np.dtype[Any]) -> AnyArray:
        """Return so many cells of a type that begin at a place."""
        return read_cells(self._handle, start, count, kind, self.close.alive)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise InvalidParameter(
            "records in a private file belong to the process that read them. Pack them, `tacit records pack`, and open "
            "the packed file in each process."
        )


def read_cells(handle: int, start: int, count: int, kind: np.dtype[Any], is_open: bool = True) -> AnyArray:
    """Return cells of a file that was opened before; what the system says of a failure is withheld."""
    cells = np.empty(count, dtype=kind)
    left, at, read = cells.view(np.uint8).data, start, -1
    try:
        # Once closed, its number may be that of another file.
        while left.nbytes and read and is_open:
            read = os.preadv(handle, [left], at)
            left, at = left[read:], at + read
    except OSError:
        read = 0
    if left.nbytes:
        raise QueryFailed("the file of the records cannot be read any more. Look at the disk it is on.")
    return cells


def _reason(error: OSError) -> str:
    return (error.strerror or "the system refused it").lower()


def _not_written(failure: str) -> FileNotWritten:
    return FileNotWritten(
        f"the private file of the records cannot be written: {failure}. Make room in {tempfile.gettempdir()!r}, or "
        "name another folder in the environment variable TMPDIR. Nothing was charged, and nothing is left there."
    )
