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
def progress(report: Report | None = None, *, tick: Tick | None = None) -> Iterator[None]:
    """Tell how far fits have come, in this thread and within the block, or that time passes.

    Guarantee: what is told depends on public numbers, steps done and steps in all, and on the clock.
    Assumes: how long a fit takes is not hidden (docs/guarantees.md).
    Reference: solvers whose number of steps depends on records tell nothing; ticks come from a clock that knows none.

    `report(done, total)` is called after every step of fits whose number of steps is public: those by noisy gradients.
    While no step is told, `tick(seconds)` is called every second, from a thread of its own, with the time since the
    block began. Without either, a bar or the seconds are drawn on stderr, and nothing if that is not a terminal. What
    `report` raises ends the fit, which has been charged by then; the model stays as it was. What `tick` raises ends the
    ticks, and is raised when the block ends.
    """
    for name, given, wanted in (("report", report, "two numbers, done and total"), ("tick", tick, "seconds")):
        if given is not None and not callable(given):
            raise InvalidParameter(f"{name} must be a function of {wanted}, got {type(given).__name__}.")
    drawn = report is None and tick is None and sys.stderr.isatty()
    found = _Told(_draw, _draw_seconds) if drawn else _Told(report, tick)
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


@final
class _Told:
    """Whom steps and seconds are told."""

    def __init__(self, report: Report | None, tick: Tick | None) -> None:
        self._report, self._tick = report, tick
        self._last = time.monotonic()
        self._raised: BaseException | None = None
        self.ticked = False

    def step(self, done: int, total: int) -> None:
        """Tell of a step."""
        self._last = time.monotonic()
        if self._report is not None:
            self._report(done, total)

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


def _draw(done: int, total: int) -> None:
    """Draw a bar on a terminal, over whatever its line says."""
    filled = _WIDTH * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"{_CLEAR}[{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,} of {total:,} steps{end}")
    sys.stderr.flush()


def _draw_seconds(seconds: float) -> None:
    """Write on a terminal that time passes."""
    sys.stderr.write(f"{_CLEAR}working for {seconds:,.0f} s")
    sys.stderr.flush()
