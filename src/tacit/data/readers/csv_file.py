"""Files of lines (CSV, TSV), read by a declared form: the first line has the names, every field is a text."""

import csv
import gzip
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, final

from tacit.data.file_form import STANDARD, FileForm
from tacit.data.readers.file_listing import SEPARATORS, FileStates, check_names, kind_of
from tacit.data.readers.source import Source
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter
from tacit.numerics.process import address_limit
from tacit.numerics.threads import ahead

_BLOCK = 4 * 2**20
"""How many bytes are read at a time, and how long a line may be at least."""
_MARK = "\ufeff"
"""What may stand at the beginning of a file to say how its bytes are ordered."""


def open_csv(files: Sequence[Path], form: FileForm = STANDARD) -> Source:
    """Say what the first lines of files say, and how to read the others."""
    states, names = FileStates(files), _header(files[0], form)
    for file in files[1:]:
        if _header(file, form) != names:
            raise InvalidParameter(
                f"all files of one table must have the same first line, but {str(file)!r} differs from "
                f"{str(files[0])!r}. Name one of the files, or move the others away."
            )
    read = partial(_read, files, states, form)
    return Source(dict.fromkeys(names, Stored("lines")), ordered=True, read=read, name=states.name)


def _separator(file: Path, form: FileForm) -> str:
    return SEPARATORS[str(kind_of(file))] if form.separator is None else form.separator


def _opened(file: Path) -> Any:
    return gzip.open(file, "rb") if file.name.lower().endswith(".gz") else file.open("rb")


def _text(file: Path, form: FileForm, errors: str) -> Any:
    opened = _opened(file)
    try:
        lines = TextIOWrapper(opened, form.encoding, errors, newline="")
        if lines.read(1) != _MARK:
            lines.seek(0)
    except BaseException:
        opened.close()
        raise
    return lines


def _header(file: Path, form: FileForm) -> list[str]:
    """Return the names in the first line."""
    names: list[str] | None = None
    # The refusal is raised below, without a context that could quote a line.
    with suppress(OSError, ValueError, csv.Error, EOFError), _text(file, form, "replace") as lines:
        names = next(csv.reader(lines, delimiter=_separator(file, form)), [])
    if names is None or "\ufffd" in "".join(names):
        raise InvalidParameter(f"the first line of {str(file)!r} cannot be read as {form.encoding} text.")
    if not names or not all(names):
        raise InvalidParameter(f"the first line of {str(file)!r} must name every column.")
    check_names(names, file)
    return names


def _read(files: Sequence[Path], states: FileStates, form: FileForm, names: Sequence[str]) -> Iterator[Any]:
    """Yield batches of some columns; refuse what cannot be read, and files that were changed meanwhile."""
    failure = None
    try:
        yield from ahead(_batches(files, form, names))
    except Exception as error:
        failure = type(error).__name__
    states.check()
    if failure is not None:
        fault = next((fault for file in files if (fault := _first_fault(file, form)) is not None), None)
        raise InvalidParameter(
            f"the files cannot be read ({failure}).{'' if fault is None else f' {fault}.'} What is there is not shown, "
            f"as it may be a record. All lines need as many fields as the first, at most {_BLOCK // 2**20} MiB, and "
            "quotes that are closed."
        )


def _batches(files: Sequence[Path], form: FileForm, names: Sequence[str]) -> Generator[Any]:
    import pyarrow as pa
    from pyarrow import csv as lines

    if address_limit() is not None:
        # Arrow's own pool maps a gigabyte at once.
        pa.set_memory_pool(pa.system_memory_pool())
    for file in files:
        separator = _separator(file, form)
        width = len(_header(file, form))
        with _opened(file) as opened:
            reader = lines.open_csv(
                pa.PythonFile(_CheckedQuotes(opened, form, separator), mode="r"),
                lines.ReadOptions(use_threads=address_limit() is None, block_size=_BLOCK),
                # A line without a field is a record of a table with one column, and nothing in any other.
                lines.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=width > 1),
                lines.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()), include_columns=list(names), check_utf8=True
                ),
            )
            # Arrow reads ahead in threads of its own, which must not outlive a file that cannot be read.
            with closing(reader):
                yield from reader


@final
class _CheckedQuotes:
    """The bytes of a file as UTF-8, which fail where a quote is not closed: Arrow would take what follows for text.

    A quote opens a field at its beginning, and closes it at its end; two of them are one letter of such a field. In the
    middle of any other field a quote is a letter.
    """

    closed = False

    def __init__(self, opened: Any, form: FileForm, separator: str) -> None:
        self._opened = opened
        self._letters = None if form.encoding == "utf-8" else TextIOWrapper(opened, form.encoding, newline="")
        end = b"[" + re.escape(separator.encode()) + b"\r\n]"
        # Possessive, so that no text is gone through twice.
        self._sound = re.compile(rb'(?:[^"]++|(?<!' + end + rb')"|"(?:[^"]++|"")*+"(?=' + end + b"))*+")
        self._begun = self._ended = False
        # What was not judged yet, and the byte before it.
        self._tail = b"\n"

    def read(self, size: int = _BLOCK) -> bytes:
        """Return at most so many bytes, and fewer at the end only: a first line alone must come with its end."""
        pieces: list[bytes] = []
        while (left := size - sum(map(len, pieces))) > 3 and not self._ended:
            # No letter is longer than four bytes; at the end nothing of one may be left.
            piece = self._opened.read(left) if self._letters is None else self._letters.read(left // 4).encode()
            self._ended = not piece
            if self._ended:
                piece = b"" if self._tail.endswith(b"\n") else b"\n"
            elif not self._begun:
                piece, self._begun = piece.removeprefix(_MARK.encode()), True
            pieces.append(piece)
            window = self._tail + piece + b"\n" * self._ended
            sound = self._sound.match(window, 1) if b'"' in window else None
            self._tail = window[(sound.end() if sound else len(window)) - 1 :]
            # No line is as long as two blocks.
            if len(self._tail) > (1 if self._ended else 2 * _BLOCK):
                raise ValueError
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._opened.close()


def _first_fault(file: Path, form: FileForm) -> str | None:
    """Say where the first fault of a file is, as a person would look for it; never what is there."""
    number = 1
    try:
        with _text(file, form, "strict") as lines:
            reader = csv.reader(lines, delimiter=_separator(file, form), strict=True)
            width = len(next(reader, []))
            for row in reader:
                number = reader.line_num
                if row and len(row) != width:
                    return f"Line {number} of {str(file)!r} has {len(row)} fields, the first line {width}"
    except UnicodeDecodeError:
        return f"{str(file)!r} is not {form.encoding.upper()} text, shortly after line {number}"
    except (csv.Error, OSError, EOFError, ValueError):
        return f"{str(file)!r} has quotes that do not match, or a field far too long, shortly after line {number}"
    return None
