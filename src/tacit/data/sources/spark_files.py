"""Parquet files that Spark would only scan, read by the executors' own Python: nothing passes through Java.

What Spark would do is read off its own plan of the scan. Only where that is to hand over the cells of files as they
stand there, and nothing else, are the files read without it (docs/decisions/0028-files-read-by-executors.md).
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, final
from urllib.parse import unquote, urlsplit

import numpy as np

from tacit.data.columns import Column, Number
from tacit.data.labels import series_cells
from tacit.data.sources.spark_jobs import interruptible, worked
from tacit.data.values import AnyArray, objects

_EXECUTION = "org.apache.spark.sql.execution."
_HANDS_ON = {f"{_EXECUTION}{name}" for name in ("WholeStageCodegenExec", "InputAdapter", "ColumnarToRowExec")}
_PROJECT, _SCAN = f"{_EXECUTION}ProjectExec", f"{_EXECUTION}FileSourceScanExec"
_PARQUET = f"{_EXECUTION}datasources.parquet.ParquetFileFormat"
_LOCAL = {"org.apache.hadoop.fs.LocalFileSystem", "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem"}
_OPTIONS = {"path", "paths", "recursivefilelookup", "pathglobfilter", "serialization.format"}
"""Options of a scan that say which files there are, not what is in them."""
_OFF = ("parquet.fieldId.read.enabled", "files.ignoreCorruptFiles", "files.ignoreMissingFiles")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "boolean": ("bool",), "tinyint": ("int8",), "smallint": ("int16",), "int": ("int32",), "bigint": ("int64",),
    "float": ("float",), "double": ("double",),
    "string": ("string", "large_string", "dictionary<values=string, indices=int32, ordered=0>"),
}  # fmt: skip
"""Types of Spark whose cells are the same bits in Arrow, and what Arrow calls them."""
_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_CODECS = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"}
"""Ways to write a column that Spark reads, too: what was opened here may be asked about in SQL."""
_FEWEST, _CELLS = 1024, 2**20
_TO_A_TASK = 2**28


@final
@dataclass(frozen=True)
class Piece:
    """Those groups of rows of a file that begin in a range of its bytes, and what the file was like."""

    path: str
    start: int
    end: int
    size: int
    written: int


Tasks = tuple[tuple[Piece, ...], ...]


def plain_files(session: Any, sql: str, types: Mapping[str, str]) -> Tasks | None:
    """Return the files whose columns a statement selects, if Spark would hand over their cells as they are.

    No record is read. Whatever is not known to be so, is not so.
    """
    try:
        return _plain_files(session, sql, types)
    except Exception:
        return None


def _plain_files(session: Any, sql: str, types: Mapping[str, str]) -> Tasks | None:
    if any(session.conf.get(f"spark.sql.{name}") != "false" for name in _OFF):
        return None
    frame = session.sql(sql)
    if {field.name: field.dataType.simpleString() for field in frame.schema.fields} != types:
        return None
    plan = frame._jdf.queryExecution().executedPlan()
    while (kind := plan.getClass().getName()) != _SCAN:
        columns_alone = kind == _PROJECT and plan.projectList().mkString() == plan.output().mkString()
        if kind not in _HANDS_ON and not columns_alone:
            return None
        plan = plan.child()
    relation, found = plan.relation(), plan.requiredSchema()
    options = set(relation.options().keySet().mkString("\n").lower().split("\n")) - {""}
    plain = (
        relation.fileFormat().getClass().getName() == _PARQUET
        and relation.partitionSchema().isEmpty()
        and relation.bucketSpec().isEmpty()
        and plan.partitionFilters().isEmpty()
        and plan.dataFilters().isEmpty()
        and options <= _OPTIONS
        and set(found.fieldNames()) == set(types)
    )
    return _pieces(session, plan) if plain else None


def _pieces(session: Any, scan: Any) -> Tasks | None:
    """Return what the tasks of a scan read, dealt out evenly; None unless all of it is whole files of this machine."""
    settings, pieces, lengths = session._jsparkSession.sessionState().newHadoopConf(), [], dict[str, int]()
    partitions = scan.inputRDDs().apply(0).filePartitions()
    for place in range(partitions.size()):
        for file in partitions.apply(place).files():
            address = urlsplit(file.filePath().urlEncoded())
            system = file.filePath().toPath().getFileSystem(settings).getClass().getName()
            if address.scheme != "file" or address.netloc or system not in _LOCAL:
                return None
            path, start, length = unquote(address.path), file.start(), file.length()
            state = os.stat(path)
            lengths[path] = lengths.get(path, 0) + length - state.st_size * (start == 0)
            pieces.append(Piece(path, start, start + length, state.st_size, state.st_mtime_ns))
    if not pieces or any(lengths.values()):
        return None
    # Starting a task takes Python longer than reading some megabytes: few tasks, as many for each core.
    cores = session.sparkContext.defaultParallelism
    wanted = sum(piece.end - piece.start for piece in pieces) // _TO_A_TASK
    count = min(len(pieces), max(cores, wanted - wanted % cores))
    pieces.sort(key=lambda piece: (piece.start - piece.end, piece.path, piece.start))
    return tuple(tuple(pieces[place::count]) for place in range(count))


def rows_of(session: Any, tasks: Tasks, types: Mapping[str, str]) -> int | None:
    """Read every cell of some columns once and count the rows; None if a file is not what Spark says of it."""
    if not set(types.values()) <= _TYPES.keys():
        return None
    context = session.sparkContext
    try:
        counts = interruptible(context, over_files(context, tasks, partial(_counted, types)).collect)
    except Exception:
        return None
    return sum(counts) if min(counts) >= 0 else None


def over_files(context: Any, tasks: Tasks, work: Callable[[Piece], Iterator[Any]]) -> Any:
    """Return what some work yields for each piece, on the executors."""
    return context.range(len(tasks), numSlices=len(tasks)).mapPartitions(partial(worked, partial(_done, tasks, work)))


def cleaned_cells(piece: Piece, columns: Mapping[str, Column], rows: int) -> Iterator[dict[str, AnyArray]]:
    """Yield the cleaned cells of a piece, so many rows at a time, on an executor."""
    with _opened(piece) as file:
        for batch in _batches(file, piece, list(columns), rows):
            yield {name: _cleaned(batch.column(name), column) for name, column in columns.items()}


def _done(tasks: Tasks, work: Callable[[Piece], Iterator[Any]], places: Iterator[int]) -> Iterator[Any]:
    for place in places:
        for piece in tasks[place]:
            yield from work(piece)


def _counted(types: Mapping[str, str], piece: Piece) -> Iterator[int]:
    """Look at a piece, on an executor; -1 stands for one that is for Spark to read."""
    count = -1
    with suppress(Exception), _opened(piece) as file:
        if _is_plain(file, piece, types):
            count = sum(map(len, _batches(file, piece, list(types), max(_FEWEST, _CELLS // len(types)))))
    yield count


@contextmanager
def _opened(piece: Piece) -> Iterator[Any]:
    """Open the file of a piece, if it is as it was."""
    import pyarrow.parquet as pq

    with open(piece.path, "rb") as opened:
        state = os.fstat(opened.fileno())
        if (state.st_size, state.st_mtime_ns) != (piece.size, piece.written):
            raise ValueError("a file is no longer what it was when the records were opened")
        yield pq.ParquetFile(opened)


def _is_plain(file: Any, piece: Piece, types: Mapping[str, str]) -> bool:
    """Whether a file has these columns of these types, and they are written in a way that Spark reads, too."""
    fields, facts = file.schema_arrow, file.metadata
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return (
        len({name.casefold() for name in fields.names}) == len(fields.names)
        and all(str(fields.field(name).type) in _TYPES[kind] for name, kind in types.items())
        and all(0 <= _begin(group) < piece.size for group in groups)
        and all(chunk.compression in _CODECS and _ENCODINGS.issuperset(chunk.encodings) for chunk in chunks)
    )


def _begin(group: Any) -> int:
    """Return where a group of rows begins, in its file."""
    return int(group.column(0).data_page_offset)


def _batches(file: Any, piece: Piece, names: list[str], rows: int) -> Iterator[Any]:
    """Read columns of those groups of rows that begin in a piece."""
    begins = [_begin(file.metadata.row_group(place)) for place in range(file.num_row_groups)]
    groups = [place for place, begin in enumerate(begins) if piece.start <= begin < piece.end]
    if groups:
        yield from file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)


def _cleaned(cells: Any, column: Column) -> AnyArray:
    """Clean cells as those in memory are; each different one once where they are no numbers."""
    if isinstance(column, Number):
        # A missing one is NaN.
        return column.clean(cells.to_numpy(zero_copy_only=False))[0]
    coded = cells.dictionary_encode()
    values, _ = column.clean(objects([*series_cells(coded.dictionary), None]))
    return np.asarray(values[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
