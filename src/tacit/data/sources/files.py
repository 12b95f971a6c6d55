"""Records in CSV or Parquet files, read by a DuckDB of this process without loading them.

Names are names: a bracket or a star in one is a letter like any other. Files are listed once; each is one file, reached
once; and at every scan they must be those that were opened. How a CSV file is written is fixed by its ending, never
guessed from its lines: commas for .csv, tabs for .tsv, the first line with the names, everything else text.
"""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from tacit.checks import shown
from tacit.data.columns import Column, Number
from tacit.data.dialects import DuckDB
from tacit.data.sources.duckdb_types import arrow_blocks, stored_types
from tacit.data.sources.sql import SQLTable
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter
from tacit.numerics.process import address_limit

_PARQUET = (".parquet", ".pq")
_LINES = {".csv": ",", ".tsv": "\t"}
_PATTERN = re.compile(r"[*?\[]")
_LONGEST_LINE = 16 * 2**20
_GROUPS = 20
"""A process that may map so many of the largest group of rows has room for DuckDB to read two at a time."""

_WITH_MORE_THREADS = 2
"""From this version on DuckDB has threads that only wait for files: eight of them."""


@final
class FileTable(SQLTable):
    """A file, or all files in a folder; the fields of CSV files are text until their columns are declared."""

    dialect = DuckDB()
    ordered = True
    read_ahead = True

    def __init__(self, path: Path, columns: Mapping[str, Column], name: str | None) -> None:
        self._files = listed(path)
        self._states = [_state(file) for file in self._files]
        self.relation = f"{_relation(self._files)} AS records"
        # Not by their sizes: a name is published, and how long a file of lines is follows from its records.
        places = [(place, *facts[:2], *facts[3:]) for place, *facts in self._states]
        self._prepare(_stored(self._files, self.connection), columns, name or repr(places))
        self.check()

    def check(self) -> None:
        """Refuse files that were written anew, moved or replaced since they were opened."""
        if [_state(file) for file in self._files] != self._states:
            raise InvalidParameter(
                "the files are not those that were opened: one was written, moved or replaced meanwhile. Open the "
                "records anew, from files that nobody writes to."
            )

    def _connect(self) -> Any:
        return _duckdb(self._files)

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        # A cursor of one's own: several threads may ask at the same time.
        found: list[tuple[Any, ...]] = connection.cursor().execute(sql).fetchall()
        self.check()
        return found

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        yield from arrow_blocks(connection.cursor(), sql)

    def _bare(self, names: Sequence[str]) -> Sequence[str]:
        # Faster than comparisons in DuckDB, with the same bits.
        return [name for name in names if self._is_float(name)]

    def _typed(self, name: str, cells: Any) -> Any:
        column = self.columns[name]
        return (
            column.cleaned(cells)
            if isinstance(column, Number) and self._is_float(name)
            else super()._typed(name, cells)
        )

    def _unreadable(self, failure: str) -> str:
        place = next((found for file in self._files if (found := _first_fault(file)) is not None), None)
        where = "" if place is None else f" {place}."
        if failure == "OutOfMemoryException":
            return (
                "the files cannot be read within the memory that this process may take. A group of rows of a Parquet "
                "file is read at once, several times its size: write smaller ones (row_group_size in pyarrow)."
            )
        return (
            f"the files cannot be read ({failure}).{where} What is there is not shown, as it may be a record. In a CSV "
            "file all lines need as many cells as the first, the same line ends, and quotes that are closed."
        )


def listed(path: Path) -> tuple[Path, ...]:
    """List the files at a path, each once."""
    try:
        return _listed(path)
    except InvalidParameter:
        raise
    except (OSError, ValueError) as error:
        failure = type(error).__name__
    raise InvalidParameter(f"there are no files that can be listed at {shown(str(path))} ({failure}).")


def _listed(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file) is not None)
        hidden = [any(part.startswith((".", "_")) for part in file.parts[len(path.parts) :]) for file in files]
        found = tuple(file for file, hides in zip(files, hidden, strict=True) if not hides)
    else:
        found = (path,) if path.is_file() else ()
    if not found:
        raise InvalidParameter(f"there are no .parquet, .csv or .tsv files at {str(path)!r}.")
    kinds = {_kind(file) for file in found}
    if len(kinds) > 1 or None in kinds:
        raise InvalidParameter(
            f"the files of one table must be all .parquet, all .csv or all .tsv, got others at {str(path)!r}."
        )
    if odd := [file for file in found if "\\" in str(file.resolve()) and _PATTERN.search(str(file.resolve()))]:
        raise InvalidParameter(
            f"{str(odd[0])!r} has both a backslash and one of the letters * ? [ in its name, which DuckDB reads as a "
            "pattern in any spelling. Rename it."
        )
    seen: dict[tuple[int, int], Path] = {}
    for file in found:
        status = file.stat()
        if (other := seen.setdefault((status.st_dev, status.st_ino), file)) != file:
            raise InvalidParameter(
                f"{str(other)!r} and {str(file)!r} are one file: its records would count twice. Remove the link."
            )
    plain: dict[str, Path] = {}
    for file in found:
        if (other := plain.setdefault(re.sub(r"\.gz$", "", str(file), flags=re.I), file)) != file:
            raise InvalidParameter(
                f"{str(other)!r} and {str(file)!r} seem to be one file, once compressed: its records would count "
                "twice. Move one of them away."
            )
    return found


def stored_in(path: Path) -> Mapping[str, Stored]:
    """Return the stored types of the files at a path; no record is read."""
    files = listed(path)
    return _stored(files, _duckdb(files))


def _duckdb(files: Sequence[Path]) -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401, what DuckDB hands the records over in
    except ModuleNotFoundError as error:
        raise InvalidParameter(f"files are read with {error.name}: pip install 'tacit[cli]'.") from error
    limit = address_limit()
    modest: dict[str, Any] = {}
    if limit is not None:
        # By itself DuckDB takes four fifths of the machine's memory, whatever this process may map; each of its threads
        # holds what it reads at a time, and maps 72 MiB before it reads anything.
        few = 1 if _largest_group(files) > limit // _GROUPS else 2
        modest = {"threads": few, "memory_limit": f"{limit // 5 // 2**20 + 1}MB"}
        if int(duckdb.__version__.split(".")[0]) >= _WITH_MORE_THREADS:
            modest["async_threads"] = 0
    connection = duckdb.connect(config=modest)
    connection.execute("SET enable_progress_bar = false")
    return connection


def _largest_group(files: Sequence[Path]) -> int:
    """Return how many bytes the largest group of rows takes that must be read at once; 0 for lines."""
    if _kind(files[0]) != "parquet":
        return 0
    footers = [footer for file in files if (footer := _footer(file)) is not None]
    groups = (footer.row_group(place) for footer in footers for place in range(footer.num_row_groups))
    return max((group.total_byte_size for group in groups), default=0)


def _footer(file: Path) -> Any:
    """Return what a Parquet file says of itself, None if it cannot be read as one."""
    import pyarrow.parquet as pq

    # By a name Arrow opens files through threads of its own, which map a gigabyte.
    with suppress(Exception), file.open("rb") as opened:
        return pq.ParquetFile(opened).metadata
    return None


def _kind(file: Path) -> str | None:
    """Return how a file is written, by its ending alone."""
    name = file.name.lower().removesuffix(".gz")
    if name.endswith(_PARQUET):
        return "parquet" if name == file.name.lower() else None
    return next((ending for ending in _LINES if name.endswith(ending)), None)


def _state(file: Path) -> tuple[str, int, int, int, int, int]:
    """Return what changes when a file is written: the last number is the system's own and cannot be put back."""
    try:
        status = file.stat()
    except OSError:
        return str(file), 0, 0, 0, 0, 0
    place = str(file.resolve())
    return place, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _relation(files: Sequence[Path]) -> str:
    quote = DuckDB().literal
    names = ", ".join(quote(_literal_name(str(file.resolve()))) for file in files)
    if _kind(files[0]) == "parquet":
        return (
            f"read_parquet([{names}], hive_partitioning = false, union_by_name = false, filename = false, "
            "can_have_nan = true)"
        )
    header = _header(files[0])
    columns = ", ".join(f"{quote(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv([{names}], auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {quote(_LINES[str(_kind(files[0]))])}, quote = '\"', escape = '\"', nullstr = '', "
        f"strict_mode = true, hive_partitioning = false, filename = false, max_line_size = {_LONGEST_LINE}, "
        f"buffer_size = {2 * _LONGEST_LINE}, "
        "encoding = 'utf-8')"
    )


def _literal_name(name: str) -> str:
    """Return a name in which nothing is a pattern."""
    return _PATTERN.sub(r"[\g<0>]", name)


def _stored(files: Sequence[Path], connection: Any) -> Mapping[str, Stored]:
    """Return the stored types, the same in all files."""
    if _kind(files[0]) == "parquet":
        _check_alike(files)
        return _described(connection, files)
    header = _header(files[0])
    for file in files[1:]:
        if _header(file) != header:
            raise InvalidParameter(
                f"all files of one table must have the same first line, but {str(file)!r} differs from "
                f"{str(files[0])!r}. Name one of the files, or move the others away."
            )
    return dict.fromkeys(header, Stored("lines"))


def _described(connection: Any, files: Sequence[Path]) -> Mapping[str, Stored]:
    """Ask DuckDB for the stored types; what it says of files that it cannot read is withheld."""
    try:
        return stored_types(connection, _relation(files))
    except Exception as error:
        failure = type(error).__name__
    raise InvalidParameter(
        f"the Parquet files at {str(files[0].parent)!r} cannot be read ({failure}): they have no columns, or are "
        "written in a way that DuckDB does not know. Write them anew."
    )


def _check_alike(files: Sequence[Path]) -> None:
    """Refuse Parquet files of different columns or types: a conversion could fail on a record."""
    schemas = []
    for file in files:
        footer = _footer(file)
        if footer is None:
            raise InvalidParameter(f"{str(file)!r} is not a Parquet file that can be read.")
        schemas.append(footer.schema.to_arrow_schema().remove_metadata())
        if not schemas[-1].equals(schemas[0]):
            raise InvalidParameter(
                "the Parquet files of one table must have the same columns of the same types, but "
                f"{str(file)!r} differs from {str(files[0])!r}."
            )
        _check_names(schemas[-1].names, file)


def _header(file: Path) -> list[str]:
    """Return the names in the first line of a CSV file."""
    names: list[str] | None = None
    # The refusal is raised below, without a context that could quote a line.
    with suppress(OSError, ValueError, csv.Error, EOFError), _text(file, "utf-8-sig", "surrogateescape") as lines:
        read = next(csv.reader(lines, delimiter=_LINES[str(_kind(file))]), [])
        "".join(read).encode()
        names = read
    if names is None:
        raise InvalidParameter(f"the first line of {str(file)!r} cannot be read as text.")
    if not names or not all(names):
        raise InvalidParameter(f"the first line of {str(file)!r} must name every column.")
    _check_names(names, file)
    return names


def _check_names(names: Sequence[str], file: Path) -> None:
    """Refuse names that DuckDB takes for the same: it would give one of the columns another name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = seen.setdefault(name.casefold(), place)
        if first != place:
            # Not by their names: a file without a line of names has a record there.
            raise InvalidParameter(
                f"columns {first} and {place} of {str(file)!r} have names that differ in case at most. "
                "Rename one; or, if the first line is a record, put a line with the columns' names above it."
            )


def _text(file: Path, encoding: str, errors: str = "strict") -> Any:
    opener = gzip.open if file.name.lower().endswith(".gz") else open
    return opener(file, "rt", encoding=encoding, errors=errors, newline="")


def _first_fault(file: Path) -> str | None:
    """Say where the first fault of a CSV file is, as a person would look for it; never what is there."""
    kind = _kind(file)
    if kind == "parquet":
        return None
    number = 1
    try:
        with _text(file, "utf-8-sig") as lines:
            reader = csv.reader(lines, delimiter=_LINES[str(kind)], strict=True)
            width = len(next(reader, []))
            for row in reader:
                number = reader.line_num
                if row and len(row) != width:
                    return f"Line {number} of {str(file)!r} has {len(row)} fields, the first line {width}"
    except UnicodeDecodeError:
        return f"{str(file)!r} is not UTF-8 text, shortly after line {number}"
    except (csv.Error, OSError, EOFError):
        return f"{str(file)!r} has quotes that do not match, or a field far too long, shortly after line {number}"
    return None
