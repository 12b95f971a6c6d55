"""Encoded records on a Spark cluster: lots of rows as bytes, kept in Spark's storage, summed where they are.

Executors clean and encode cells. What comes back to the driver are sums, and numbers of rows. A task that is repeated,
because an executor was lost, computes the same sum, and Spark counts one result for each.
"""

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.columns import Column
from tacit.data.sources.spark_files import Piece, Tasks, cleaned_cells, over_files
from tacit.data.sources.spark_jobs import interruptible, worked
from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import CompensatedSum
from tacit.numerics.passing import at_the_end
from tacit.numerics.spread import SpreadTable

_EIGHT = 8
_LEVELS = 5
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
    """Lots of encoded rows in Spark's storage, as the bytes of their numbers, and every 8th row of each by itself."""

    lots: Any
    eighths: Any
    counts: tuple[int, ...]
    features: int
    beside: int
    level: int = 0

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows, and numbers in each that are features."""
        return self.counts[self.level], self.features

    def every(self, step: int) -> "SparkLots":
        """Return the rows of the level next below."""
        level = min(self.level + int(math.log2(step)) // 3, len(self.counts) - 1)
        return SparkLots(self.lots, self.eighths, self.counts, self.features, self.beside, level)

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int) -> "SparkLots":
        """Make other rows of these on the executors, and keep them there too."""
        assert self.level == 0
        make = partial(_mapped, function, self.features, self.features + self.beside, width)
        return _kept(_as_bytes(self.lots.mapPartitions(partial(worked, make))), width, self.beside)

    def together(self, job: Callable[[Floats], Floats]) -> Floats:
        """Do a job on one executor, which the lots are brought to."""
        return self._result(self._on(1, partial(_together, job)))

    def sum(self, job: Callable[[Floats], Floats]) -> Floats:
        """Add up on the executors, some partitions to a task; many in two rounds."""
        # Of a task that adds up a few lots most time goes into starting it.
        tasks = max(self.lots.ctx.defaultParallelism, self.lots.getNumPartitions() // _TO_A_TASK)
        sums = self._on(tasks, partial(_summed, job))
        if tasks > _FEW:
            sums = sums.repartition(math.isqrt(tasks)).mapPartitions(partial(worked, _merged))
        return self._result(sums)

    def _on(self, tasks: int, work: Callable[[Iterator[Floats]], Iterator[bytes]]) -> Any:
        """Do some work in so many tasks, on the rows of this level."""
        kept, step = (self.eighths, _EIGHT ** (self.level - 1)) if self.level else (self.lots, 1)
        read = partial(_read, work, self.features + self.beside, step)
        return kept.coalesce(tasks).mapPartitions(partial(worked, read))

    def _result(self, sums: Any) -> Floats:
        """Fetch sums, and add them up."""
        total = CompensatedSum()
        shape = None
        for cell in _asked(self.lots.ctx, sums.collect):
            shape, halves = _unpacked(cell)
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
    context = session.sparkContext
    with settled(session, IN_PIECES | {_PER_BATCH: str(_rows(features))}):
        encoded = partial(worked, partial(_encoded, names, dict(numbers), encode))
        frame = session.sql(sql).mapInArrow(encoded, "lot binary")
        # To plan it may be to run it, up to its last shuffle.
        return _kept(_asked(context, partial(_cells, frame)), features, beside)


def encode_files(
    session: Any, tasks: Tasks, columns: Mapping[str, Column], encode: Encode, features: int, beside: int
) -> SparkLots:
    """Encode the cells of files on the executors that read them; as `encode_there` otherwise."""
    work = partial(_encoded_files, dict(columns), encode, _rows(features))
    return _kept(_as_bytes(over_files(session.sparkContext, tasks, work)), features, beside)


def _rows(features: int) -> int:
    """Return how many rows a lot has."""
    return max(_FEWEST, _NUMBERS // features)


def _cells(frame: Any) -> Any:
    """Return the binary cells of a frame's one column, which go to Python as they are, and are never rows again."""
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    context = frame.sparkSession.sparkContext
    cells = getattr(frame._jdf, "as")(context._jvm.org.apache.spark.sql.Encoders.BINARY())
    return RDD(cells.javaRDD(), context, NoOpSerializer())


def _as_bytes(lots: Any) -> Any:
    """Have Python hand over what it made as it is: bytes."""
    lots._bypass_serializer = True
    return lots


def _kept(lots: Any, features: int, beside: int) -> SparkLots:
    """Keep lots in Spark's storage, and every 8th of their rows, and count them."""
    from pyspark import StorageLevel

    lots.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    eighths = lots.mapPartitions(partial(worked, partial(_eighths, features + beside)))
    eighths.persist(StorageLevel.MEMORY_AND_DISK)
    kept = [weakref.finalize(each, _forget, each._jrdd) for each in (lots, eighths)]
    for each in kept:
        at_the_end(each)
    try:
        found = _asked(lots.ctx, eighths.map(itemgetter(0)).collect)
    except BaseException:
        for each in kept:
            each()
        raise
    if not sum(found):
        raise InvalidParameter("the table no longer has as many records as when it was opened.")
    counts = tuple(sum(-(-count // _EIGHT**level) for count in found) for level in range(_LEVELS))
    return SparkLots(lots, eighths, counts, features, beside)


def _forget(lots: Any) -> None:
    """Let Spark's storage go; a session that is gone has let it go already."""
    try:
        lots.unpersist(False)
    except Exception:
        return


def _asked(context: Any, ask: Callable[[], Any]) -> Any:
    """Run an action. What the engine says of a failure is withheld."""
    failure = None
    try:
        found = interruptible(context, ask)
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
    import pyarrow as pa

    for batch in batches:
        cells = {name: batch.column(place).to_numpy(zero_copy_only=False) for place, name in enumerate(names)}
        if numbers:
            # Floats with a hole where a cell was missing, which is NaN here.
            found = batch.column(len(names)).flatten().to_numpy(zero_copy_only=False).reshape(-1, len(numbers))
            table = np.ascontiguousarray(found.T, dtype=np.float64)
            cells |= {name: column.clean(table[place])[0] for place, (name, column) in enumerate(numbers.items())}
        for lot in encode(cells):
            yield pa.RecordBatch.from_arrays([pa.array([lot.tobytes()], pa.binary())], names=["lot"])


def _encoded_files(columns: Mapping[str, Column], encode: Encode, rows: int, piece: Piece) -> Iterator[bytes]:
    """Encode the cells of a piece of a file, on an executor."""
    for cells in cleaned_cells(piece, columns, rows):
        for lot in encode(cells):
            yield lot.tobytes()


def _eighths(width: int, lots: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Return how many rows each lot has, and every 8th of them."""
    for lot in lots:
        rows = np.frombuffer(lot, dtype=np.float64).reshape(-1, width)
        yield len(rows), rows[::_EIGHT].tobytes()


def _read(
    work: Callable[[Iterator[Floats]], Iterator[bytes]], width: int, step: int, kept: Iterator[Any]
) -> Iterator[bytes]:
    """Do some work with lots, or with rows of their samples, on an executor."""
    cells = (cell if isinstance(cell, bytes) else cell[1] for cell in kept)
    lots = (np.frombuffer(cell, dtype=np.float64).reshape(-1, width) for cell in cells)
    with np.errstate(all="ignore"):
        yield from work(np.ascontiguousarray(lot[::step]) for lot in lots)


def _mapped(
    function: Callable[[Floats], NDArray[Any]], features: int, whole: int, width: int, lots: Iterator[bytes]
) -> Iterator[bytes]:
    """Make other rows of lots, on an executor; what stands beside the features stays there."""
    most = _rows(width)
    for cell in lots:
        lot = np.frombuffer(cell, dtype=np.float64).reshape(-1, whole)
        for start in range(0, len(lot), most):
            rows = lot[start : start + most]
            yield np.hstack([function(np.ascontiguousarray(rows[:, :features])), rows[:, features:]]).tobytes()


def _summed(job: Callable[[Floats], Floats], lots: Iterator[Floats]) -> Iterator[bytes]:
    """Add up a job's sums over the lots of a partition, on an executor."""
    total, shape = CompensatedSum(), None
    for lot in lots:
        found = job(lot)
        shape = found.shape
        total.add(np.array(found, dtype=np.float64).reshape(-1))
    yield from _packed(total, shape)


def _together(job: Callable[[Floats], Floats], lots: Iterator[Floats]) -> Iterator[bytes]:
    """Do a job on all lots of a partition as one, on an executor."""
    if whole := list(lots):
        yield from _summed(lambda rows: np.asarray(job(rows), dtype=np.float64), iter([np.concatenate(whole)]))


def _merged(cells: Iterator[bytes]) -> Iterator[bytes]:
    """Add up sums, on an executor."""
    total, shape = CompensatedSum(), None
    for cell in cells:
        shape, halves = _unpacked(cell)
        for half in halves:
            total.add(half)
    yield from _packed(total, shape)


def _packed(total: CompensatedSum, shape: tuple[int, ...] | None) -> Iterator[bytes]:
    """Write a sum down as its shape and two halves; a partition without lots has none."""
    if shape is not None:
        head = np.array([len(shape), *shape], dtype=np.float64)
        yield np.concatenate([head, total.halves.reshape(-1)]).tobytes()


def _unpacked(cell: bytes) -> tuple[tuple[int, ...], Floats]:
    numbers = np.frombuffer(cell, dtype=np.float64)
    dimensions = int(numbers[0])
    shape = tuple(int(size) for size in numbers[1 : 1 + dimensions])
    return shape, numbers[1 + dimensions :].reshape(2, -1).copy()
