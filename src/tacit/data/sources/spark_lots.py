"""Encoded records on a Spark cluster: lots of rows as binary cells, kept in Spark's storage, summed where they are.

Executors see cleaned cells and encoded rows only. What comes back to the driver are sums, and numbers of rows. A task
that is repeated, because an executor was lost, computes the same sum, and Spark counts one result for each.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from tacit.errors import InvalidParameter, QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import CompensatedSum
from tacit.numerics.spread import SpreadTable

_EIGHT = 8
_LEVELS = 5
_FEW = 64
_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

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

    def sum(self, job: Callable[[Floats], Floats]) -> Floats:
        """Add up on the executors, partition by partition; many partitions in two rounds."""
        width = self.features + self.beside
        sums = self.frame.select(f"lot{self.level}").mapInArrow(partial(_summed, job, width), "half binary")
        if self.partitions > _FEW:
            sums = sums.repartition(math.isqrt(self.partitions)).mapInArrow(_merged, "half binary")
        total = CompensatedSum()
        shape = None
        for row in _asked(self.frame.sparkSession, sums.collect):
            shape, halves = _unpacked(row[0])
            for half in halves:
                total.add(half)
        if shape is None:
            raise QueryFailed("the cluster gave no sum; nothing was answered.")
        return total.result().reshape(shape)


def encode_there(session: Any, sql: str, encode: Encode, features: int, beside: int) -> SparkLots:
    """Encode the rows of a statement on the executors, keep them there, and return the handle to them."""
    columns = ", ".join(f"lot{level} binary, n{level} long" for level in range(_LEVELS))
    frame = session.sql(sql).mapInArrow(partial(_encoded, encode), columns).persist()
    counted = [f"sum(n{level}) AS n{level}" for level in range(_LEVELS)]
    (found,) = _asked(session, lambda: frame.selectExpr(*counted).collect())
    counts = tuple(int(count or 0) for count in found)
    if not counts[0]:
        raise InvalidParameter("the table no longer has as many records as when it was opened.")
    partitions = frame.rdd.getNumPartitions()
    kept = SparkLots(frame, tuple(count for count in counts if count), features, beside, partitions)
    weakref.finalize(kept.frame, _forget, frame._jdf)
    return kept


def _forget(frame: Any) -> None:
    """Let Spark's storage go; a session that is gone has let it go already."""
    try:
        frame.unpersist(False)
    except Exception:
        return


def _asked(session: Any, ask: Callable[[], Any]) -> Sequence[Any]:
    """Run an action with small batches; what the engine says of a failure is withheld."""
    failure = None
    with _small_batches(session):
        try:
            found: Sequence[Any] = ask()
        except Exception as error:
            failure = type(error).__name__
    if failure is not None:
        raise QueryFailed(
            f"the cluster failed ({failure}); nothing was answered. Details are withheld, as they may quote records: "
            "the cluster's own log has them."
        )
    return found


@contextmanager
def _small_batches(session: Any) -> Iterator[None]:
    """Let few lots, which are large, go to Python at a time."""
    before = session.conf.get(_PER_BATCH)
    session.conf.set(_PER_BATCH, "2")
    try:
        yield
    finally:
        session.conf.set(_PER_BATCH, before)


def _encoded(encode: Encode, batches: Iterator[Any]) -> Iterator[Any]:
    """Encode batches of cleaned cells, on an executor."""
    import pyarrow as pa

    for batch in batches:
        cells = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
        for lot in encode(cells):
            samples = [np.ascontiguousarray(lot[:: _EIGHT**level]) for level in range(_LEVELS)]
            arrays = [pa.array([sample.tobytes()], pa.binary()) for sample in samples]
            counts = [pa.array([len(sample)], pa.int64()) for sample in samples]
            pairs = [cell for pair in zip(arrays, counts, strict=True) for cell in pair]
            names = [f"{name}{level}" for level in range(_LEVELS) for name in ("lot", "n")]
            yield pa.RecordBatch.from_arrays(pairs, names=names)


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
