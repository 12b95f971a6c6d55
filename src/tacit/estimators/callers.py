"""Who is calling: estimators look at what scikit-learn has them cloned, seeded, fitted and judged by."""

import sys
from collections.abc import Iterator
from types import FrameType

_DEEPEST = 60
"""How many callers are looked at: a search, a pipeline or a scorer stands a few steps above, behind one another."""


def callers() -> Iterator[FrameType]:
    """Yield the frames of those who called the function that asks, the nearest first."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_DEEPEST):
        if frame is None:
            return
        yield frame
        frame = frame.f_back
