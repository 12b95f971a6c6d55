"""Rows of doubles in a private file: written once, from the first to the last, and read back a part at a time.

The file has no name, so nobody can open it, and it is gone with the process that made it, whatever ends that. Beside
all rows stand every 8th of them, every 64th and so on, in files of their own, for whoever begins with a sample.
"""

import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileNotWritten, InvalidParameter, QueryFailed
from tacit.numerics.arrays import Codes, Floats

_EIGHT = 8
_LEVELS = 7
_BYTES = 8
_FEWEST, _NUMBERS = 1024, 2**20
"""How many rows, and how many numbers, are made of others at a time."""


@final
class _File:
    """A file without a name, readable at any place by several threads."""

    def __init__(self, folder: Path | None) -> None:
        if not hasattr(os, "preadv"):
            raise _unwritten("this system has no files without a name that threads can share, as Linux and macOS have")
        failure = ""
        try:
            with tempfile.TemporaryFile(dir=folder, buffering=0) as made:
                self._handle = os.dup(made.fileno())
        except OSError as error:
            failure = (error.strerror or "the system refused it").lower()
        if failure:
            raise _unwritten(failure)
        self.close = weakref.finalize(self, os.close, self._handle)
        if os.fstat(self._handle).st_nlink:
            self.close()
            # A network file system gives an open file another name instead of taking its last, and a crash leaves it.
            raise _unwritten("it keeps a name there, under which others could find it, as on a network file system")

    def write(self, rows: Floats) -> None:
        """Append rows to the file."""
        left = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        failure = ""
        try:
            while left.nbytes:
                left = left[os.write(self._handle, left) :]
        except OSError as error:
            failure = (error.strerror or "the system refused it").lower()
        if failure:
            raise _unwritten(failure)

    def read(self, place: int, into: Floats) -> None:
        """Fill an array with what begins at a place, counted in doubles."""
        left, at, found = into.reshape(-1).view(np.uint8).data, place * _BYTES, -1
        try:
            while left.nbytes and found:
                found = os.preadv(self._handle, [left], at)
                left, at = left[found:], at + found
        except OSError:
            found = 0
        if left.nbytes:
            raise QueryFailed("the private file of encoded rows cannot be read any more. Look at the disk it is on.")

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        # Its number means another file elsewhere, and here too once it is closed.
        raise InvalidParameter(
            "rows in a private file belong to the process that wrote it: open the records in each process."
        )


class Elsewhere:
    """Rows that are not in memory."""


@final
@dataclass(frozen=True, eq=False)
class DiskArray(Elsewhere):
    """A column or a table of doubles in a file; `files` hold all of its rows, every 8th, every 64th, and so on.

    A slice of it is read into an array; every so manyth row is, too, unless they take more than `memory`/4 bytes.
    """

    files: tuple[_File, ...]
    shape: tuple[int, ...]
    memory: int

    @property
    def ndim(self) -> int:
        """How many dimensions: 1 for a column."""
        return len(self.shape)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self.shape[1] if self.ndim == 2 else 1

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> "Floats | DiskArray":
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return self._every(step)
        found = np.empty((max(0, stop - start), *self.shape[1:]))
        self.files[0].read(start * self.width, found.reshape(-1))
        return found

    def take(self, rows: Codes) -> Floats:
        """Return the rows at some places."""
        found = np.empty((len(rows), *self.shape[1:]))
        for row, place in zip(found.reshape(len(rows), -1), rows.tolist(), strict=True):
            self.files[0].read(place * self.width, row)
        return found

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int) -> "DiskArray":
        """Return a table of what a function of rows, each by itself, makes of them, in files of its own."""
        lot = max(_FEWEST, _NUMBERS // max(width, self.width))
        with DiskWriter(width, self.memory) as writer:
            for start in range(0, len(self), lot):
                rows = self[start : start + lot]
                assert isinstance(rows, np.ndarray)
                writer.append(np.asarray(function(rows), dtype=np.float64))
            return writer.done()

    def _every(self, step: int) -> "Floats | DiskArray":
        level = 0
        while step % _EIGHT == 0 and level + 1 < len(self.files):
            step, level = step // _EIGHT, level + 1
        length = -(-len(self) // _EIGHT**level)
        sample = DiskArray(self.files[level:], (length, *self.shape[1:]), self.memory)
        if step > 1:
            return sample.take(np.arange(0, length, step))
        # Some samples are there at a time, and blocks beside them.
        return sample if 4 * length * sample.width * _BYTES > self.memory else np.asarray(sample[:])


@final
class DiskWriter:
    """Writes a `DiskArray`, some rows at a time, with samples of them or without.

    Within a `with` block whatever goes wrong gives the disk back at once, although an exception still names the files.
    """

    def __init__(self, width: int | None, memory: int, folder: Path | None = None, *, samples: bool = True) -> None:
        self._tail = () if width is None else (width,)
        self._memory, self._count = memory, 0
        self._files = tuple(_File(folder) for _ in range(_LEVELS if samples else 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            for file in self._files:
                file.close()

    def append(self, rows: Floats) -> None:
        """Write some rows behind those before."""
        for level, file in enumerate(self._files):
            step = _EIGHT**level
            file.write(rows[-self._count % step :: step])
        self._count += len(rows)

    def done(self) -> DiskArray:
        """Return what was written."""
        return DiskArray(self._files, (self._count, *self._tail), self._memory)


@final
@dataclass(frozen=True, eq=False)
class Computed(Elsewhere):
    """A column computed from others, of which one at least is not in memory: part by part, whenever a part is read."""

    function: Callable[..., NDArray[Any]]
    columns: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each row."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, rows: slice) -> "NDArray[Any] | Self":
        parts = tuple(column[rows] for column in self.columns)
        if any(isinstance(part, Elsewhere) for part in parts):
            return type(self)(self.function, parts)
        return self.function(*parts)


def by_part(function: Callable[..., NDArray[Any]], *columns: Any) -> Any:
    """Return a function of columns, row by row: at once where all are in memory, else whenever a part is read."""
    if any(isinstance(column, Elsewhere) for column in columns):
        return Computed(function, columns)
    return function(*columns)


def _unwritten(failure: str) -> FileNotWritten:
    return FileNotWritten(
        f"the private file of encoded rows cannot be written: {failure}. Make room in {tempfile.gettempdir()!r}, or "
        "name another folder in the environment variable TMPDIR. Nothing was charged, and nothing is left there."
    )
