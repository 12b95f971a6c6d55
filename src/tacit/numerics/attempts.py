"""Reading what may fail in any way: a cell of a class of somebody's own, or a cell inside a compiled library."""

from collections.abc import Callable
from typing import TypeVar

Read = TypeVar("Read")
Other = TypeVar("Other")


def attempt(read: Callable[[], Read], otherwise: Other) -> Read | Other:
    """Return what reading something gives; `otherwise` whatever was raised instead, but for an interrupt.

    The panic of a compiled library, and the exit that a class of somebody's own asks for, are no `Exception`.
    """
    try:
        return read()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise
