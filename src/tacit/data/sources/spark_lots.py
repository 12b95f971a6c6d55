"""Encoded records on a Spark cluster: lots of rows as binary cells, kept in Spark's storage, summed where they are.

Executors clean and encode cells. What comes back to the driver are sums, and numbers of rows. A task that is repeated,
because an executor was lost, computes the same sum, and Spark counts one result for each.
"""

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.columns import Column
from tacit.data.sources.spark_files import Piece, Tasks, cleaned_cells, over_files
from tacit.data.sources.spark_jobs import interruptible, on_executors
from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import CompensatedSum
from tacit.numerics.passing import at_the_end
from tacit.numerics.spread import SpreadTable

_EIGHT = 8
_LEVELS = 5
_COLUMNS = ", ".join(f"lot{level} binary, n{level} long" for level in range(_LEVELS))
_FEW = 64
_TO_A_TASK = 8
_FEWEST, _NUMBERS = 1024, 2**20
_TURN = threading.RLock()
_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

IN_PIECES = {"spark.sql.codegen.wholeStage": "false"}
"""Cleaning many columns makes one piece of code that is too long for Java to compile: in pieces it is twice as fast."""

Encode = Callable[[dict[str, Any]], Iterator[Floats]]
"""Encodes cleaned cells: tables of rows, with what stands beside the features as their last columns."""


@final
@dataclass(frozen=True, eq=False)
class SparkLots(SpreadTable):
    """Lots of encoded rows in a cached data frame: one column of all rows, one of every 8th, and so on."""

    frame: Any
    counts: tuple[int, ...]
    features: int
    beside: int
    partitions: int
    level: int = 0

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows, and numbers in each that are features."""
        return self.counts[self.level], self.features

    def every(self, step: int) -> "SparkLots":
        """Return the rows of the level next below."""
        level = min(self.level + int(math.log2(step)) // 3, len(self.counts) - 1)
        return SparkLots(self.frame, self.counts, self.features, self.beside, self.partitions, level)

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int) -> "SparkLots":
        """Make other rows of these on the executors, and keep them there too."""
        assert self.level == 0
        with settled(self.frame.sparkSession, {_PER_BATCH: "2"}):
            make = partial(_mapped, function, self.features, self.beside, width)
            frame = on_executors(self.frame.select("lot0"), make, _COLUMNS)
            return _kept(frame, width, self.beside, 2)

    def together(self, job: Callable[[Floats], Floats]) -> Floats:
        """Do a job on one executor, which the lots are brought to."""
        lots = self.frame.select(f"lot{self.level}").coalesce(1)
        work = partial(_together, job, self.features + self.beside)
        return self._result(on_executors(lots, work, "half binary"))

    def sum(self, job: Callable[[Floats], Floats]) -> Floats:
        """Add up on the executors, some partitions to a task; many in two rounds."""
        # Of a task that adds up a few lots most time goes into starting it.
        tasks = max(self.frame.sparkSession.sparkContext.defaultParallelism, self.partitions // _TO_A_TASK)
        lots = self.frame.select(f"lot{self.level}").coalesce(tasks)
        sums = on_executors(lots, partial(_summed, job, self.features + self.beside), "half binary")
        if tasks > _FEW:
            sums = on_executors(sums.repartition(math.isqrt(tasks)), _merged, "half binary")
        return self._result(sums)

    def _result(self, sums: Any) -> Floats:
        """Fetch sums, and add them up."""
        total = CompensatedSum()
        shape = None
        for row in _asked(self.frame.sparkSession, sums.collect):
            shape, halves = _unpacked(row[0])
            for half in halves:
                total.add(half)
        if shape is None:
            raise QueryFailed("the cluster gave no sum; nothing was answered.")
        return total.result().reshape(shape)


def encode_there(
    session: Any,
    sql: str,
    names: tuple[str, ...],
    numbers: Mapping[str, Column],
    encode: Encode,
    features: int,
    beside: int,
) -> SparkLots:
    """Encode the rows of a statement on the executors, keep them there, and return the handle to them.

    Its first columns are those of `names`, cleaned; then comes an array of what columns of numbers hold, if there are
    any.
    """
    with settled(session, IN_PIECES):
        frame = on_executors(session.sql(sql), partial(_encoded, names, dict(numbers), encode), _COLUMNS)
        return _kept(frame, features, beside, max(_FEWEST, _NUMBERS // features))


def encode_files(
    session: Any, tasks: Tasks, columns: Mapping[str, Column], encode: Encode, features: int, beside: int
) -> SparkLots:
    """Encode the cells of files on the executors that read them; as `encode_there` otherwise."""
    rows = max(_FEWEST, _NUMBERS // features)
    work = partial(_encoded_files, dict(columns), encode, rows)
    return _kept(over_files(session, tasks, work, _COLUMNS), features, beside, rows)


def _kept(frame: Any, features: int, beside: int, rows: int) -> SparkLots:
    """Make the lots of a frame, from batches of so many rows, count their rows, and keep them in Spark's storage."""
    frame = frame.persist()
    kept = weakref.finalize(frame, _forget, frame._jdf)
    at_the_end(kept)
    counted = [f"sum(n{level}) AS n{level}" for level in range(_LEVELS)]
    try:
        (found,) = _asked(frame.sparkSession, lambda: frame.selectExpr(*counted).collect(), rows)
    except BaseException:
        kept()
        raise
    counts = tuple(int(count or 0) for count in found)
    if not counts[0]:
        raise InvalidParameter("the table no longer has as many records as when it was opened.")
    partitions = frame.rdd.getNumPartitions()
    return SparkLots(frame, tuple(count for count in counts if count), features, beside, partitions)


def _forget(frame: Any) -> None:
    """Let Spark's storage go; a session that is gone has let it go already."""
    try:
        frame.unpersist(False)
    except Exception:
        return


def _asked(session: Any, ask: Callable[[], Any], rows: int = 2) -> Sequence[Any]:
    """Run an action, so many rows to a batch: few lots, which are large. What the engine says of a failure is withheld.

    A plan that is run again, because an executor was lost, has the batches that it had at first.
    """
    failure = None
    with settled(session, {_PER_BATCH: str(rows)}):
        try:
            found: Sequence[Any] = interruptible(session, ask)
        except Exception as error:
            failure = type(error).__name__
    if failure is not None:
        raise QueryFailed(
            f"the cluster failed ({failure}); nothing was answered. Details are withheld, as they may quote records: "
            "the cluster's own log has them."
        )
    return found


@contextmanager
def settled(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Set some of a session's settings meanwhile, which all threads share: one of them at a time."""
    with _TURN:
        before = {name: session.conf.get(name) for name in settings}
        try:
            for name, value in settings.items():
                session.conf.set(name, value)
            yield
        finally:
            for name, value in before.items():
                session.conf.set(name, value)


def _encoded(
    names: tuple[str, ...], numbers: Mapping[str, Column], encode: Encode, batches: Iterator[Any]
) -> Iterator[Any]:
    """Clean numbers and encode batches of cells, on an executor."""
    for batch in batches:
        cells = {name: batch.column(place).to_numpy(zero_copy_only=False) for place, name in enumerate(names)}
        if numbers:
            # Floats with a hole where a cell was missing, which is NaN here.
            found = batch.column(len(names)).flatten().to_numpy(zero_copy_only=False).reshape(-1, len(numbers))
            table = np.ascontiguousarray(found.T, dtype=np.float64)
            cells |= {name: column.clean(table[place])[0] for place, (name, column) in enumerate(numbers.items())}
        for lot in encode(cells):
            yield _lot(lot)


def _encoded_files(columns: Mapping[str, Column], encode: Encode, rows: int, piece: Piece) -> Iterator[Any]:
    """Encode the cells of a piece of a file, on an executor."""
    for cells in cleaned_cells(piece, columns, rows):
        yield from map(_lot, encode(cells))


def _lot(rows: Floats) -> Any:
    """Return a lot of rows with its samples, as it is kept."""
    import pyarrow as pa

    samples = [np.ascontiguousarray(rows[:: _EIGHT**level]) for level in range(_LEVELS)]
    arrays = [pa.array([sample.tobytes()], pa.binary()) for sample in samples]
    counts = [pa.array([len(sample)], pa.int64()) for sample in samples]
    pairs = [cell for pair in zip(arrays, counts, strict=True) for cell in pair]
    names = [f"{name}{level}" for level in range(_LEVELS) for name in ("lot", "n")]
    return pa.RecordBatch.from_arrays(pairs, names=names)


def _mapped(
    function: Callable[[Floats], NDArray[Any]], features: int, beside: int, width: int, batches: Iterator[Any]
) -> Iterator[Any]:
    """Make other rows of lots, on an executor; what stands beside the features stays there."""
    most = max(_FEWEST, _NUMBERS // width)
    for batch in batches:
        for cell in batch.column(0):
            lot = np.frombuffer(cell.as_buffer(), dtype=np.float64).reshape(-1, features + beside)
            for start in range(0, len(lot), most):
                rows = lot[start : start + most]
                yield _lot(np.hstack([function(np.ascontiguousarray(rows[:, :features])), rows[:, features:]]))


def _summed(job: Callable[[Floats], Floats], width: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Add up a job's sums over the lots of a partition, on an executor."""
    total, shape = CompensatedSum(), None
    with np.errstate(all="ignore"):
        for batch in batches:
            for cell in batch.column(0):
                found = job(np.frombuffer(cell.as_buffer(), dtype=np.float64).reshape(-1, width))
                shape = found.shape
                total.add(np.array(found, dtype=np.float64).reshape(-1))
    yield from _packed(total, shape)


def _together(job: Callable[[Floats], Floats], width: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Do a job on all lots of a partition as one, on an executor."""
    lots = [np.frombuffer(cell.as_buffer(), dtype=np.float64) for batch in batches for cell in batch.column(0)]
    if lots:
        with np.errstate(all="ignore"):
            found = np.asarray(job(np.concatenate(lots).reshape(-1, width)), dtype=np.float64)
        total = CompensatedSum()
        total.add(found.reshape(-1))
        yield from _packed(total, found.shape)


def _merged(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up sums, on an executor."""
    total, shape = CompensatedSum(), None
    for batch in batches:
        for cell in batch.column(0):
            shape, halves = _unpacked(cell.as_py())
            for half in halves:
                total.add(half)
    yield from _packed(total, shape)


def _packed(total: CompensatedSum, shape: tuple[int, ...] | None) -> Iterator[Any]:
    """Write a sum down as its shape and two halves; a partition without lots has none."""
    import pyarrow as pa

    if shape is not None:
        head = np.array([len(shape), *shape], dtype=np.float64)
        cell = np.concatenate([head, total.halves.reshape(-1)]).tobytes()
        yield pa.RecordBatch.from_arrays([pa.array([cell], pa.binary())], names=["half"])


def _unpacked(cell: Any) -> tuple[tuple[int, ...], Floats]:
    numbers = np.frombuffer(bytes(cell), dtype=np.float64)
    dimensions = int(numbers[0])
    shape = tuple(int(size) for size in numbers[1 : 1 + dimensions])
    return shape, numbers[1 + dimensions :].reshape(2, -1).copy()
