"""Which process this is, for what must not be copied by a fork, and how much memory it may map."""

import os
import sys

if sys.platform != "win32":
    import resource

_forks = 0


def this_process() -> tuple[int, int]:
    """Return what no fork of this process has.

    Not the number alone: a child may have the same one, in another namespace. Not the count of forks alone: a fork
    that goes around Python is not counted.
    """
    return os.getpid(), _forks


def address_limit() -> int | None:
    """Return how many bytes this process may map, None without a limit."""
    if sys.platform == "win32":
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
