"""What is kept elsewhere for one fit, files and a cluster's storage, goes when the fit ends, however it ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

_ENDS: ContextVar[ExitStack | None] = ContextVar("what to let go at the end", default=None)


@contextmanager
def all_goes_at_the_end() -> Iterator[None]:
    """Let go at the end of the block whatever was kept elsewhere within it, in this thread.

    An exception names what it was raised over, and whoever keeps the exception would keep that.
    """
    with ExitStack() as ends:
        before = _ENDS.set(ends)
        try:
            yield
        finally:
            _ENDS.reset(before)


def at_the_end(let_go: Callable[[], object]) -> None:
    """Have this done at the end of the block, if there is one."""
    ends = _ENDS.get()
    if ends is not None:
        ends.callback(let_go)
