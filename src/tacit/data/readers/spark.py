"""Tables of a Spark cluster, which its executors read: folders of Parquet by themselves, all others through Spark."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

from tacit.data.readers.file_listing import FileStates, kind_of, list_files
from tacit.data.readers.parquet_file import read_footers, read_rows, stored_as
from tacit.data.readers.spark_jobs import worked
from tacit.data.stored import Stored, StoredKind
from tacit.errors import InvalidParameter
from tacit.numerics.attempts import attempt

_TYPES: Mapping[str, StoredKind] = {
    "boolean": "truth", "tinyint": "whole", "smallint": "whole", "int": "whole", "bigint": "whole", "float": "real",
    "double": "real", "string": "text", "date": "day", "timestamp": "moment", "timestamp_ntz": "moment",
}  # fmt: skip
_ROWS = 65_536
_TO_A_TASK = 2**28

Write = Callable[[Iterator[Any]], Iterator[Any]]
"""What an executor makes of batches of some rows: something that can be pickled, or nothing."""


@final
@dataclass(frozen=True)
class SparkFolder:
    """A folder of Parquet files, or one of them, as a source of `Records` that the executors of a session read.

    The driver and all nodes reach it under one path: a mounted disk, or with `local[...]` any path. Nothing passes
    through Java, so that it is read several times as fast as the data frame of the same files.
    """

    session: Any
    path: str | Path


@final
@dataclass(frozen=True, eq=False)
class SparkSource:
    """Where the executors of a session read records from.

    `stored` is what the catalogue says of every column. `over`, which is called once, returns what some work made of
    batches of rows with some columns, on the executors. `name` names the same records for good, where something public
    does.
    """

    session: Any
    stored: Mapping[str, Stored]
    over: Callable[[Sequence[str], Write], list[Any]]
    name: str | None = None


@final
@dataclass(frozen=True)
class _Groups:
    """Some groups of rows of a Parquet file."""

    path: str
    groups: list[int] = field(default_factory=list)


def is_spark(source: object) -> bool:
    """Whether this is read by the executors of a Spark session."""
    return isinstance(source, SparkFolder) or _is_frame(source) or _session_of_ibis(source) is not None


def open_spark(source: Any) -> SparkSource:
    """Return how executors read a folder of Parquet, a data frame, or a table of Ibis in Spark."""
    if isinstance(source, SparkFolder):
        return _of_folder(source)
    if _is_frame(source):
        return _of_frame(source)
    import ibis

    return _of_frame(_session_of_ibis(source).sql(str(ibis.to_sql(source, pretty=False))))


def _is_frame(source: object) -> bool:
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def _session_of_ibis(source: Any) -> Any:
    """Return the Spark session that a table of Ibis is in, None for anything else."""
    if type(source).__module__.split(".")[0] != "ibis":
        return None
    backend: Any = attempt(lambda: source.get_backend(), None)
    return backend._session if getattr(backend, "name", "") == "pyspark" else None


def _check_session(session: Any) -> None:
    kind = type(session).__module__
    if not kind.startswith("pyspark.sql.") or ".connect." in kind:
        raise InvalidParameter(
            "records are read by the executors of a classic SparkSession, got a "
            f"{type(session).__name__} of {kind}. Begin one with SparkSession.builder, not with Spark Connect."
        )


def _of_folder(source: SparkFolder) -> SparkSource:
    _check_session(source.session)
    files = list_files(Path(source.path))
    if kind_of(files[0]) != "parquet":
        raise InvalidParameter(f"executors read Parquet files, got others at {str(source.path)!r}.")
    states, footers = FileStates(files), read_footers(files)
    stored = {each.name: stored_as(each.type) for each in footers[0].schema.to_arrow_schema()}

    def over(names: Sequence[str], write: Write) -> list[Any]:
        context = source.session.sparkContext
        tasks = _dealt_out(files, footers, context.defaultParallelism)
        read = partial(worked, partial(_read_groups, names, write))
        found: list[Any] = context.parallelize(tasks, len(tasks)).mapPartitions(read).collect()
        states.check()
        return found

    return SparkSource(source.session, stored, over, states.name)


def _dealt_out(files: Sequence[Path], footers: Sequence[Any], cores: int) -> list[list[_Groups]]:
    """Return what each task reads, as many tasks for each core, and about as many bytes for each task."""
    groups = [
        (footer.row_group(place).total_byte_size, str(file.absolute()), place)
        for file, footer in zip(files, footers, strict=True)
        for place in range(footer.num_row_groups)
    ]
    groups.sort(key=lambda group: (-group[0], group[1:]))
    # Starting a task takes Python longer than reading some megabytes: few tasks, as many for each core.
    wanted = sum(size for size, _, _ in groups) // _TO_A_TASK
    count = max(1, min(len(groups), max(cores, wanted - wanted % cores)))
    tasks = []
    for task in range(count):
        pieces: dict[str, _Groups] = {}
        for _, path, place in sorted(groups[task::count], key=lambda group: group[1:]):
            pieces.setdefault(path, _Groups(path)).groups.append(place)
        tasks.append(list(pieces.values()))
    return tasks


def _read_groups(names: Sequence[str], write: Write, tasks: Iterator[list[_Groups]]) -> Iterator[Any]:
    """Read groups of rows, on an executor."""
    for task in tasks:
        yield from write(batch for piece in task for batch in read_rows(Path(piece.path), names, piece.groups))


def _of_frame(frame: Any) -> SparkSource:
    _check_session(frame.sparkSession)
    failure, fields = "", []
    try:
        fields = frame.schema.fields
    except Exception as error:
        failure = type(error).__name__
    if failure:
        raise InvalidParameter(f"there is no such table in Spark, or it cannot be described ({failure}).")
    all_names = [each.name for each in fields]
    if len(set(all_names)) < len(all_names):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")

    def over(names: Sequence[str], write: Write) -> list[Any]:
        # By their places: Spark takes names that differ in case for the same.
        renamed = frame.toDF(*(f"c{place}" for place in range(len(all_names))))
        chosen = renamed.select(*(f"c{all_names.index(name)}" for name in names))
        read = partial(worked, partial(_read_batches, tuple(names), write))
        return [pickle.loads(bytes(row[0])) for row in chosen.mapInArrow(read, "written binary").collect()]

    return SparkSource(frame.sparkSession, {each.name: _stored(each.dataType) for each in fields}, over)


def _stored(kind: Any) -> Stored:
    """Return what a type of Spark is called."""
    name = kind.simpleString()
    if name.startswith("decimal"):
        return Stored("decimal", name, kind.precision)
    return Stored(_TYPES.get(name.split(" ")[0], "other"), name)


def _read_batches(names: Sequence[str], write: Write, batches: Iterator[Any]) -> Iterator[Any]:
    """Read what Spark hands over, on an executor."""
    import pyarrow as pa

    for written in write(_joined(names, batches)):
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(written)], pa.binary())], names=["written"])


def _joined(names: Sequence[str], batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of several batches together: Spark's are short, and each costs as much as some thousand rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(pa.RecordBatch.from_arrays(batch.columns, names=list(names)))
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()
