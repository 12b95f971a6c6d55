"""Threads that share the blocks of one pass over the rows.

Each block is small enough for a core's cache, so the parallelism is over blocks, one thread a core, with
the linear algebra library held to one thread of its own meanwhile. Partial sums are added in the order of
the blocks, with compensation: the sum of many blocks loses no more than one rounding.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TypeVar, final

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from tacit.numerics.arrays import Floats, Integers
from tacit.numerics.exact import CompensatedSum

Bounds = tuple[int, int]
T = TypeVar("T")

_WORTH_ARRANGING = 100_000
_WORTH_SHARING = 2_000_000
_PARTS = 32


def ahead(parts: Generator[T]) -> Generator[T]:
    """Yield the parts, each of which is made in a thread of its own while whoever asked works on the one before."""
    context = copy_context()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(context.run, _listed, parts)
        try:
            while found := coming.result():
                coming = thread.submit(context.run, _listed, parts)
                yield found.pop()
        finally:
            # Where it was begun: what it holds may be that thread's own.
            thread.submit(context.run, parts.close)


def _listed(parts: Generator[T]) -> list[T]:
    """Return the next part in a list, or an empty one: an executor's thread cannot tell of the end otherwise."""
    return list(islice(parts, 1))


def longest(blocks: Sequence[Bounds]) -> int:
    """Return the rows of the longest block."""
    return max(stop - start for start, stop in blocks)


@final
@dataclass(frozen=True, eq=False)
class Threads:
    """Runs the blocks of a pass, on the threads of `executor` or on the caller's."""

    executor: ThreadPoolExecutor | None

    def sum(self, work: Callable[[Bounds], Floats], blocks: Sequence[Bounds]) -> Floats:
        """Return the sum of `work(block)` over the blocks, rounded once."""

        def share(part: Sequence[Bounds]) -> CompensatedSum:
            partial = CompensatedSum()
            for block in part:
                partial.add(work(block))
            return partial

        total = CompensatedSum()
        for partial in self._shared(share, blocks):
            total.merge(partial)
        return total.result()

    def each(self, work: Callable[[Bounds], T], blocks: Sequence[Bounds]) -> list[T]:
        """Return `work(block)` for every block, in order."""

        def share(part: Sequence[Bounds]) -> list[T]:
            return [work(block) for block in part]

        return [result for part in self._shared(share, blocks) for result in part]

    def added(self, work: Callable[[Bounds], Sequence[Integers]], blocks: Sequence[Bounds]) -> list[Integers]:
        """Return the sums of the arrays of whole numbers that `work` makes of each block; few are held at once."""
        return added(self._shared(lambda part: added(map(work, part)), blocks))

    def _shared(self, share: Callable[[Sequence[Bounds]], T], blocks: Sequence[Bounds]) -> Iterator[T]:
        """Cut the blocks into parts that idle threads pick up; the parts do not depend on the threads."""
        size = max(1, -(-len(blocks) // _PARTS))
        parts = [blocks[start : start + size] for start in range(0, len(blocks), size)]

        def quiet(part: Sequence[Bounds]) -> T:
            # Threads have error states of their own; whether numbers overflow depends on records and must not raise.
            with np.errstate(all="ignore"):
                return share(part)

        return map(quiet, parts) if self.executor is None else self.executor.map(quiet, parts)


def added(arrays: Iterable[Sequence[Integers]]) -> list[Integers]:
    """Add up arrays, each with those at its place; some have none, where there were no rows."""
    total: list[Integers] = []
    for each in arrays:
        total = [one + other for one, other in zip(total, each, strict=True)] if total and each else total or [*each]
    return total


@cache
def _libraries() -> ThreadpoolController:
    """Find the linear algebra libraries, which were loaded with numpy and SciPy: a search of several milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def threads(entries: int) -> Iterator[Threads]:
    """Start threads for passes over `entries` matrix entries, as many as the linear algebra library may use."""
    if entries < _WORTH_ARRANGING:
        yield Threads(None)
        return
    libraries = _libraries()
    threads = max((library["num_threads"] for library in libraries.info()), default=1)
    # Many small products are slower on several of the library's threads than on one, much so on a busy machine.
    with libraries.limit(limits=1):
        if threads == 1 or entries < _WORTH_SHARING:
            yield Threads(None)
            return
        with ThreadPoolExecutor(threads) as executor:
            yield Threads(executor)
