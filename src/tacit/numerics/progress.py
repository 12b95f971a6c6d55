"""How far a long fit has come, told while it runs: by steps where their number is public, else by the clock alone."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import final

from tacit.errors import InvalidParameter

Report = Callable[[int, int], None]
Tick = Callable[[float], None]
_WIDTH = 40
_CLEAR = "\r\x1b[K"
_EVERY = 1.0
"""Seconds between two ticks."""


@contextmanager
def progress(report: Report | None = None, *, tick: Tick | None = None, rows: Report | None = None) -> Iterator[None]:
    """Tell how far fits have come, in this thread and within the block, or that time passes.

    Guarantee: what is told depends on public numbers, steps or rows done and in all, and on the clock.
    Assumes: how long a fit takes is not hidden (docs/guarantees.md).
    Reference: solvers whose number of steps depends on records tell nothing; ticks come from a clock that knows none.

    `report(done, total)` is called after every step of fits whose number of steps is public: those by noisy gradients.
    `rows(done, total)` is called while records are opened from Parquet files, which say how many there are; of persons'
    rows, whose number is private, nothing is told. While neither is told, `tick(seconds)` is called every second, from
    a thread of its own, with the time since the block began. Without any of the three, bars or the seconds are drawn
    on stderr, and nothing if that is not a terminal. What `report` raises ends the fit, which has been charged by
    then, and the model stays as it was; what `rows` raises ends the opening. What `tick` raises ends the ticks, and is
    raised when the block ends.
    """
    two = "two numbers, done and total"
    for name, given, wanted in (("report", report, two), ("tick", tick, "seconds"), ("rows", rows, two)):
        if given is not None and not callable(given):
            raise InvalidParameter(f"{name} must be a function of {wanted}, got {type(given).__name__}.")
    drawn = report is None and tick is None and rows is None and sys.stderr.isatty()
    found = _Told(_draw, _draw_seconds, _DrawnRows()) if drawn else _Told(report, tick, rows)
    before = _TOLD.set(found)
    try:
        with found.ticking():
            yield
    finally:
        _TOLD.reset(before)
        if drawn and found.ticked:
            sys.stderr.write(_CLEAR)


def told(done: int, total: int) -> None:
    """Tell whoever asked that so many of all steps are done."""
    found = _TOLD.get()
    if found is not None:
        found.step(done, total)


def told_rows(done: int, total: int) -> None:
    """Tell whoever asked that so many of all rows, whose number must be public, are read."""
    found = _TOLD.get()
    if found is not None:
        found.encoded(done, total)


@final
class _Told:
    """Whom steps, seconds and rows are told."""

    def __init__(self, report: Report | None, tick: Tick | None, rows: Report | None) -> None:
        self._report, self._tick, self._rows = report, tick, rows
        self._last = time.monotonic()
        self._raised: BaseException | None = None
        self.ticked = False

    def step(self, done: int, total: int) -> None:
        """Tell of a step."""
        self._last = time.monotonic()
        if self._report is not None:
            self._report(done, total)

    def encoded(self, done: int, total: int) -> None:
        """Tell of rows."""
        if self._rows is not None:
            self._last = time.monotonic()
            self._rows(done, total)

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Tell the time while the block runs, wherever no steps are told."""
        if self._tick is None:
            yield
            return
        over = threading.Event()
        clock = threading.Thread(target=self._tell_time, args=(self._tick, over), name="progress", daemon=True)
        clock.start()
        try:
            yield
        finally:
            over.set()
            clock.join()
        if self._raised is not None:
            raise self._raised

    def _tell_time(self, tick: Tick, over: threading.Event) -> None:
        began = self._last
        while not over.wait(_EVERY):
            try:
                if time.monotonic() - self._last >= _EVERY:
                    self.ticked = True
                    tick(time.monotonic() - began)
            except BaseException as raised:
                self._raised = raised
                return


_TOLD: ContextVar[_Told | None] = ContextVar("progress", default=None)


def _draw(done: int, total: int, what: str = "steps") -> None:
    """Draw a bar on a terminal, over whatever its line says."""
    filled = _WIDTH * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"{_CLEAR}[{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,} of {total:,} {what}{end}")
    sys.stderr.flush()


@final
class _DrawnRows:
    """Draws a bar of the rows that are read, with how many that were in a second."""

    def __init__(self) -> None:
        self._done, self._began = 0, time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Draw so many of all rows; where they are fewer than before another fit has begun."""
        now = time.monotonic()
        if done <= self._done:
            self._began = now
        self._done = done
        _draw(done, total, f"rows, {done / max(now - self._began, 0.01):,.0f} a second")


def _draw_seconds(seconds: float) -> None:
    """Write on a terminal that time passes."""
    sys.stderr.write(f"{_CLEAR}working for {seconds:,.0f} s")
    sys.stderr.flush()
