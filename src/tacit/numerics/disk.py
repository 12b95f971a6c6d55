"""Rows of doubles in a private file: written once, from the first to the last, and read back a part at a time.

The file has no name, so nobody can open it, and it is gone with the process that made it, whatever ends that. Beside
all rows stand every 8th of them, every 64th and so on, in files of their own, for whoever begins with a sample.
"""

import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileNotWritten, InvalidParameter, QueryFailed
from tacit.numerics.arrays import Codes, Floats
from tacit.numerics.passing import at_the_end
from tacit.numerics.process import this_process

_EIGHT = 8
_LEVELS = 7
_BYTES = 8
_FEWEST, _NUMBERS = 1024, 2**20
"""How many rows, and how many numbers, are made of others at a time."""

_UNCHARGED = " Nothing was charged, and nothing is left there."
_LATE = " How many rows persons have is private, so this is said after the charge only."


@final
class _File:
    """A file without a name, readable at any place by several threads."""

    def __init__(self, folder: Path | None) -> None:
        if not can_keep_files():
            raise _unwritten("this system has no files without a name that threads can share, as Linux and macOS have")
        failure = ""
        try:
            with tempfile.TemporaryFile(dir=folder, buffering=0) as made:
                self._handle = os.dup(made.fileno())
        except OSError as error:
            failure = (error.strerror or "the system refused it").lower()
        if failure:
            raise _unwritten(failure)
        self._made_in = this_process()
        self.close = weakref.finalize(self, os.close, self._handle)
        at_the_end(self.close)
        if os.fstat(self._handle).st_nlink:
            self.close()
            # A network file system gives an open file another name instead of taking its last, and a crash leaves it.
            raise _unwritten("it keeps a name there, under which others could find it, as on a network file system")

    def write(self, rows: Floats) -> None:
        """Append rows to the file; a fork would append the same ones once more, since it shares the place."""
        if this_process() != self._made_in:
            raise _unwritten("this process was forked from the one that writes it")
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
            # Once closed, its number may be that of another file.
            while left.nbytes and found and self.close.alive:
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
@dataclass
class Allowance:
    """How many bytes private files may still take together, and when one hears that they cannot be written.

    Where the number of rows is private, hearing it would tell of that number. So with `late` nothing is raised when
    they are written, and whoever reads them, which a fit does after its charge, hears of it then.
    """

    left: int = 2**62
    late: bool = False

    def take(self, size: int) -> None:
        """Count so many bytes that are to be written, or refuse."""
        self.left -= size
        if self.left < 0:
            raise _unwritten("it would be larger than was declared in Records(..., disk=...)")


def can_keep_files() -> bool:
    """Whether this system has files without a name that threads can share."""
    return hasattr(os, "preadv")


def refuse_unwritable() -> None:
    """Refuse a folder in which no private file can be made, by making one that stays empty."""
    _File(None).close()


@final
@dataclass(frozen=True, eq=False)
class DiskArray(Elsewhere):
    """A column or a table of doubles in a file; `files` hold all of its rows, every 8th, every 64th, and so on.

    A slice of it is read into an array; every so manyth row is, too, unless they take more than `memory`/4 bytes. Where
    it could not be written, reading it fails, and so does reading what is made of it.
    """

    files: tuple[_File, ...]
    shape: tuple[int, ...]
    memory: int
    allowance: Allowance = field(default_factory=Allowance)
    failure: str = ""

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
        self._read(start * self.width, found.reshape(-1))
        return found

    def _read(self, place: int, into: Floats) -> None:
        if self.failure:
            raise QueryFailed(self.failure)
        self.files[0].read(place, into)

    def take(self, rows: Codes) -> Floats:
        """Return the rows at some places."""
        found = np.empty((len(rows), *self.shape[1:]))
        for row, place in zip(found.reshape(len(rows), -1), rows.tolist(), strict=True):
            self._read(place * self.width, row)
        return found

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int | None) -> "DiskArray":
        """Return a table, or a column, of what a function of rows, each by itself, makes of them, in other files."""
        if self.failure:
            return replace(self, shape=(len(self), *_tail(width)))
        lot = max(_FEWEST, _NUMBERS // max(width or 1, self.width))
        with DiskWriter(width, self.memory, allowance=self.allowance) as writer:
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
        sample = replace(self, files=self.files[level:], shape=(length, *self.shape[1:]))
        if step > 1:
            return sample.take(np.arange(0, length, step))
        # Some samples are there at a time, and blocks beside them.
        return sample if 4 * length * sample.width * _BYTES > self.memory else np.asarray(sample[:])


@final
class DiskWriter:
    """Writes a `DiskArray`, some rows at a time, with samples of them or without.

    Within a `with` block whatever goes wrong gives the disk back at once, although an exception still names the files.
    """

    def __init__(
        self,
        width: int | None,
        memory: int,
        folder: Path | None = None,
        *,
        samples: bool = True,
        allowance: Allowance | None = None,
    ) -> None:
        self._tail, self._memory, self._count = _tail(width), memory, 0
        self._allowance = Allowance() if allowance is None else allowance
        self._files: tuple[_File, ...] = ()
        self._failure = ""
        self._attempt(lambda: self._open(folder, _LEVELS if samples else 1))

    def _open(self, folder: Path | None, count: int) -> None:
        self._files = tuple(_File(folder) for _ in range(count))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            for file in self._files:
                file.close()

    def append(self, rows: Floats) -> None:
        """Write some rows behind those before."""
        self._attempt(lambda: self._write(rows))
        self._count += len(rows)

    def _write(self, rows: Floats) -> None:
        for level, file in enumerate(self._files):
            step = _EIGHT**level
            some = rows[-self._count % step :: step]
            self._allowance.take(some.size * _BYTES)
            file.write(some)

    def _attempt(self, act: Callable[[], None]) -> None:
        """Do something with the files; where rows are private in number, a failure waits until they are read."""
        if self._failure:
            return
        try:
            act()
        except FileNotWritten as error:
            if not self._allowance.late:
                raise
            self._failure = str(error).removesuffix(_UNCHARGED) + _LATE

    def done(self) -> DiskArray:
        """Return what was written."""
        return DiskArray(self._files, (self._count, *self._tail), self._memory, self._allowance, self._failure)


def _tail(width: int | None) -> tuple[int, ...]:
    """Return the shape of one row; None stands for a column."""
    return () if width is None else (width,)


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
        f"name another folder in the environment variable TMPDIR.{_UNCHARGED}"
    )
