"""How long a play may take: a play that takes far longer than plays do counts as hung, which is an outcome like others.

The play is interrupted by an alarm signal in the main thread of its process. Where there is none (Windows, or an audit
that runs in another thread) nothing is interrupted, and neither is a play that never leaves compiled code: the audit
then hangs itself, and says nothing.
"""

import signal
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any, final

from tacit.checks import finite_number
from tacit.errors import InvalidParameter


class Hung(BaseException):
    """The play took too long."""


@final
@dataclass(frozen=True)
class Patience:
    """A play counts as hung after `factor` times what a play was seen to take, and never before so many `seconds`.

    Time itself is no part of a claim, so the limit has to be far beyond what records may cost.
    """

    factor: float = 100.0
    seconds: float = 2.0

    def __post_init__(self) -> None:
        """Refuse a limit that ordinary plays could meet."""
        if finite_number("factor", self.factor) < 2 or finite_number("seconds", self.seconds) <= 0:
            raise InvalidParameter(f"patience must have a factor of at least 2 and seconds above 0, got {self}.")

    def limit(self, took: float) -> float:
        """Return the seconds that a play may take when another took so many."""
        return max(self.seconds, self.factor * took)


@final
class Alarm:
    """Raise `Hung` inside the block once the seconds are over, and again a little later if that was swallowed."""

    def __init__(self, seconds: float | None) -> None:
        """Take the limit; None for none."""
        able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        self._seconds = seconds if able else None
        self._armed = False
        self._before: Any = None

    def __enter__(self) -> "Alarm":
        """Start the clock."""
        if self._seconds is not None:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, self._seconds, max(0.05, self._seconds / 10))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock."""
        self.stop()

    def stop(self) -> None:
        """Stop the clock; may be called again, in case the alarm rang while it was being stopped."""
        self._armed = False
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            raise Hung
