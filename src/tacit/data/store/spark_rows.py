"""Encoded records on a Spark cluster: made of the private files whenever they are read, and summed where they are made.

What comes back to the driver are sums. A task that is repeated, because an executor was lost, makes the same rows of
the same files and computes the same sum, and Spark counts one result for each.
"""

import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.data.readers.spark_jobs import asked, worked
from tacit.errors import QueryFailed
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import CompensatedSum
from tacit.numerics.passing import at_the_end
from tacit.numerics.spread import SpreadTable

SAMPLED = 8
"""Every so manyth row of a lot is in its sample."""
_LEVELS = 5
_FEW = 64
_FEWEST, _NUMBERS = 1024, 2**20


@final
@dataclass(frozen=True, eq=False)
class SparkRows(SpreadTable):
    """Lots of encoded rows, and every 8th row of each by itself: as arrays, or, in Spark's storage, as their bytes."""

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

    def every(self, step: int) -> "SparkRows":
        """Return the rows of the level next below."""
        level = min(self.level + int(math.log2(step)) // 3, len(self.counts) - 1)
        return SparkRows(self.lots, self.eighths, self.counts, self.features, self.beside, level)

    def mapped(self, function: Callable[[Floats], NDArray[Any]], width: int) -> "SparkRows":
        """Make other rows of these on the executors, and keep them in Spark's storage: features cost more than that."""
        assert self.level == 0
        make = partial(_mapped, function, self.features, self.features + self.beside, width)
        return keep_rows(self.lots.mapPartitions(partial(worked, make)), width, self.beside)

    def together(self, job: Callable[[Floats], Floats]) -> Floats:
        """Do a job on one executor, which the lots are brought to."""
        return self._result(self._on(partial(_together, job), tasks=1))

    def sum(self, job: Callable[[Floats], Floats]) -> Floats:
        """Add up on the executors; sums of many tasks in two rounds."""
        sums = self._on(partial(_summed, job))
        if (tasks := sums.getNumPartitions()) > _FEW:
            sums = sums.repartition(math.isqrt(tasks)).mapPartitions(partial(worked, _merged))
        return self._result(sums)

    def _on(self, work: Callable[[Iterator[Floats]], Iterator[bytes]], tasks: int | None = None) -> Any:
        """Do some work on the rows of this level, in so many tasks."""
        lots, step = (self.eighths, SAMPLED ** (self.level - 1)) if self.level else (self.lots, 1)
        read = partial(_read, work, self.features + self.beside, step)
        # Rows that change tasks pass through Java.
        return (lots if tasks is None else lots.coalesce(tasks)).mapPartitions(partial(worked, read))

    def _result(self, sums: Any) -> Floats:
        """Fetch sums, and add them up."""
        total = CompensatedSum()
        shape = None
        for cell in asked(self.lots.ctx, sums.collect):
            shape, halves = _unpacked(cell)
            for half in halves:
                total.add(half)
        if shape is None:
            raise QueryFailed("the cluster gave no sum; nothing was answered.")
        return total.result().reshape(shape)


def rows_to_a_lot(features: int) -> int:
    """Return how many encoded rows a lot has."""
    return max(_FEWEST, _NUMBERS // features)


def counted(lengths: Iterable[int]) -> tuple[int, ...]:
    """Return how many rows lots of these lengths have, and their samples, and samples of these."""
    found = list(lengths)
    return tuple(sum(-(-length // SAMPLED**level) for length in found) for level in range(_LEVELS))


def keep_rows(lots: Any, features: int, beside: int) -> SparkRows:
    """Keep lots in Spark's storage, and every 8th of their rows, and count them."""
    from pyspark import StorageLevel

    # Python hands over what it made as it is.
    lots._bypass_serializer = True
    lots.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    eighths = lots.mapPartitions(partial(worked, partial(_eighths, features + beside)))
    eighths.persist(StorageLevel.MEMORY_AND_DISK)
    kept = [weakref.finalize(each, _forget, each._jrdd) for each in (lots, eighths)]
    for each in kept:
        at_the_end(each)
    try:
        found = asked(lots.ctx, eighths.map(itemgetter(0)).collect)
    except BaseException:
        for each in kept:
            each()
        raise
    return SparkRows(lots, eighths, counted(found), features, beside)


def _forget(lots: Any) -> None:
    """Let Spark's storage go; a session that is gone has let it go already."""
    try:
        lots.unpersist(False)
    except Exception:
        return


def _eighths(width: int, lots: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Return how many rows each lot has, and every 8th of them."""
    for lot in lots:
        rows = np.frombuffer(lot, dtype=np.float64).reshape(-1, width)
        yield len(rows), rows[::SAMPLED].tobytes()


def _read(
    work: Callable[[Iterator[Floats]], Iterator[bytes]], width: int, step: int, kept: Iterator[Any]
) -> Iterator[bytes]:
    """Do some work with lots, or with rows of their samples, on an executor."""
    cells = (cell[1] if isinstance(cell, tuple) else cell for cell in kept)
    lots = (np.frombuffer(cell, dtype=np.float64).reshape(-1, width) for cell in cells)
    with np.errstate(all="ignore"):
        yield from work(np.ascontiguousarray(lot[::step]) for lot in lots)


def _mapped(
    function: Callable[[Floats], NDArray[Any]], features: int, whole: int, width: int, lots: Iterator[bytes | Floats]
) -> Iterator[bytes]:
    """Make other rows of lots, on an executor; what stands beside the features stays there."""
    most = rows_to_a_lot(width)
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
