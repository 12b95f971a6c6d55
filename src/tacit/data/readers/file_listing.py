"""Which files a table is made of, each once, and whether they are still those that were opened.

Names are names: a bracket or a star in one is a letter like any other. How a file is written follows from its ending
and from what was declared, never from its lines.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import final

from tacit.checks import shown
from tacit.errors import InvalidParameter

_PARQUET = (".parquet", ".pq")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""What stands between fields, by the ending of a file."""


@final
class FileStates:
    """What changes when one of some files is written, moved or replaced."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._states = [_state(file) for file in files]

    @property
    def name(self) -> str:
        """A text that names these files for good; not by their sizes, which follow from records."""
        return repr([(place, *facts[:2], *facts[3:]) for place, *facts in self._states])

    def check(self) -> None:
        """Refuse files that are no longer what they were."""
        if [_state(file) for file in self._files] != self._states:
            raise InvalidParameter(
                "the files are not those that were opened: one was written, moved or replaced meanwhile. Open the "
                "records anew, from files that nobody writes to."
            )


def list_files(path: Path) -> tuple[Path, ...]:
    """Return the files of one table: the one at a path, or all in the folder there."""
    try:
        return _listed(path)
    except InvalidParameter:
        raise
    except (OSError, ValueError) as error:
        failure = type(error).__name__
    raise InvalidParameter(f"there are no files that can be listed at {shown(str(path))} ({failure}).")


def kind_of(file: Path) -> str | None:
    """Return how a file is written, by its ending alone: "parquet", ".csv" or ".tsv"."""
    name = file.name.lower().removesuffix(".gz")
    if name.endswith(_PARQUET):
        return "parquet" if name == file.name.lower() else None
    return next((ending for ending in SEPARATORS if name.endswith(ending)), None)


def check_names(names: Sequence[str], file: Path) -> None:
    """Refuse names of columns that people take for the same."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = seen.setdefault(name.casefold(), place)
        if first != place:
            # Not by their names: a file without a line of names has a record there.
            raise InvalidParameter(
                f"columns {first} and {place} of {str(file)!r} have names that differ in case at most. "
                "Rename one; or, if the first line is a record, put a line with the columns' names above it."
            )


def _listed(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and kind_of(file) is not None)
        hidden = [any(part.startswith((".", "_")) for part in file.parts[len(path.parts) :]) for file in files]
        listed = tuple(file for file, hides in zip(files, hidden, strict=True) if not hides)
    else:
        listed = (path,) if path.is_file() else ()
    if not listed:
        raise InvalidParameter(f"there are no .parquet, .csv or .tsv files at {str(path)!r}.")
    kinds = {kind_of(file) for file in listed}
    if len(kinds) > 1 or None in kinds:
        raise InvalidParameter(
            f"the files of one table must be all .parquet, all .csv or all .tsv, got others at {str(path)!r}."
        )
    seen: dict[tuple[int, int], Path] = {}
    unpacked: dict[str, Path] = {}
    for file in listed:
        status = file.stat()
        if (other := seen.setdefault((status.st_dev, status.st_ino), file)) != file:
            raise InvalidParameter(
                f"{str(other)!r} and {str(file)!r} are one file: its records would count twice. Remove the link."
            )
        if (other := unpacked.setdefault(re.sub(r"\.gz$", "", str(file), flags=re.I), file)) != file:
            raise InvalidParameter(
                f"{str(other)!r} and {str(file)!r} seem to be one file, once compressed: its records would count "
                "twice. Move one of them away."
            )
    return listed


def _state(file: Path) -> tuple[str, int, int, int, int, int]:
    """Return what changes when a file is written: the last number is the system's own and cannot be put back."""
    try:
        status = file.stat()
    except OSError:
        return str(file), 0, 0, 0, 0, 0
    place = str(file.resolve())
    return place, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
