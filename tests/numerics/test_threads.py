"""Parts that are made ahead, in a thread of their own."""

import threading
from collections.abc import Generator

import pytest

from tacit.numerics.threads import ahead

_LONG = 30.0


def test_parts_come_in_order_whatever_they_are() -> None:
    """What is made ahead is what would have been made in turn, empty parts and those that are None among it."""
    parts: list[object] = [1, None, [], 0, "a"]
    assert list(ahead(part for part in parts)) == parts
    assert list(ahead(part for part in ())) == []


def test_a_part_is_made_while_the_one_before_is_worked_on() -> None:
    """Nobody has to ask for the next one, and no more than one waits."""
    made, begun = [], threading.Event()

    def parts() -> Generator[int]:
        for part in range(10):
            made.append(part)
            if part == 1:
                begun.set()
            yield part

    found = ahead(parts())
    assert next(found) == 0
    assert begun.wait(_LONG)
    assert made == [0, 1]
    found.close()


def test_what_fails_ahead_is_raised_in_its_turn() -> None:
    """Parts before a failure are all there; the failure is the one that was raised."""

    def parts() -> Generator[int]:
        yield from range(3)
        raise KeyError("x")

    found = ahead(parts())
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="x"):
        next(found)


def test_parts_are_let_go_by_the_thread_that_made_them() -> None:
    """A lock that is held while parts are made is released when whoever asked for them stops, for whatever reason."""
    lock, threads = threading.RLock(), []

    def parts() -> Generator[int]:
        with lock:
            threads.append(threading.get_ident())
            yield from range(10)

    def worked() -> None:
        for _ in ahead(parts()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worked()
    assert threads != [threading.get_ident()]
    assert lock.acquire(timeout=_LONG)
