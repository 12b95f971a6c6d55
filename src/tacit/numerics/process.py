"""Which process this is, for what must not be copied by a fork."""

import os

_forks = 0


def this_process() -> tuple[int, int]:
    """Return what no fork of this process has.

    Not the number alone: a child may have the same one, in another namespace. Not the count of forks alone: a fork
    that goes around Python is not counted.
    """
    return os.getpid(), _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
