"""How far a long fit has come, told while it runs: only where the number of steps is public."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tacit.errors import InvalidParameter

Report = Callable[[int, int], None]
_WIDTH = 40
_REPORT: ContextVar[Report | None] = ContextVar("progress", default=None)


@contextmanager
def progress(report: Report | None = None) -> Iterator[None]:
    """Tell how far fits have come, in this thread and within the block.

    Guarantee: what is told depends on public numbers alone: steps done, and steps in all.
    Assumes: nothing.
    Reference: solvers whose number of steps depends on records tell nothing.

    `report(done, total)` is called after every step; without one, a bar is drawn on stderr, and nothing if that is not
    a terminal. What `report` raises ends the fit, which has been charged by then; the model stays as it was.
    """
    if report is not None and not callable(report):
        raise InvalidParameter(
            f"report must be a function of two numbers, done and total, got {type(report).__name__}."
        )
    before = _REPORT.set(report or _draw)
    try:
        yield
    finally:
        _REPORT.reset(before)


def told(done: int, total: int) -> None:
    """Tell whoever asked that so many of all steps are done."""
    report = _REPORT.get()
    if report is not None:
        report(done, total)


def _draw(done: int, total: int) -> None:
    """Draw a bar on a terminal."""
    if not sys.stderr.isatty():
        return
    filled = _WIDTH * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,} of {total:,} steps{end}")
    sys.stderr.flush()
