"""Whatever a play shows is seen: nothing a mechanism returns or does makes the auditor fail, and nothing is skipped."""

import io
import signal
import sys
import threading

import numpy as np
import pytest

from tacit.audit import Patience
from tacit.audit.outcomes import observe, seen
from tacit.errors import InvalidParameter


class _Loud:
    """An object that fails at everything that one might ask of it."""

    __slots__ = ()

    def __repr__(self):
        raise RuntimeError("repr")

    def __eq__(self, other):
        raise RuntimeError("eq")

    def __hash__(self):
        raise RuntimeError("hash")

    def __len__(self):
        raise RuntimeError("len")


class _Evasive:
    def __getattribute__(self, name):
        raise RuntimeError(name)


class _Mute(Exception):
    def __str__(self):
        raise RuntimeError("str")


class _Endless:
    """A property that gives another object of the same kind."""

    @property
    def next(self):
        """Give another."""
        return _Endless()


def _nested(depth):
    inner = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "make",
    [
        _Loud,
        _Evasive,
        _Endless,
        object,
        lambda: [_Loud()],
        lambda: {"a": _Evasive()},
        lambda: _nested(500),
        lambda: 10**5000,
        lambda: ...,
    ],
    ids=["loud", "evasive", "endless", "bare", "list", "dict", "deep", "long", "dots"],
)
def test_no_answer_makes_the_auditor_fail(make):
    """Objects that raise when looked at, hold no end or lie too deep give an outcome."""
    outcome = observe(lambda data: make(), None)
    assert outcome.failure is None
    assert outcome.marks


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1]),
        threading.Lock,
        lambda: _nested(500),
        lambda: io.StringIO("a"),
        lambda: io.BytesIO(b"a"),
        _Evasive,
    ],
    ids=["iterator", "lock", "deep", "text", "bytes", "evasive"],
)
def test_what_cannot_be_read_is_said(make):
    """Iterators, locks, files and what lies too deep are noted as unread."""
    assert observe(lambda data: make(), None).unread


def test_an_exception_without_words_is_an_outcome():
    """An exception whose text raises is kept by its type."""

    def raises(data):
        raise _Mute

    outcome = observe(raises, None)
    assert outcome.failure is not None
    assert any("_Mute" in mark for mark in outcome.marks)


def test_an_object_that_holds_itself_is_seen_once():
    """Cycles end."""
    one: list[object] = [1.0]
    one.append({"again": one})
    assert seen(one) == seen(one)


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (True, 1), (1, 1.0), ([1.0], (1.0,)), (2**53, 2**53 + 1), ("a", b"a"), ({1}, {1.0})]
)
def test_what_python_calls_equal_is_seen_to_differ(one, other):
    """Equal numbers of different types or bits are different outcomes; the same thing twice is the same."""
    assert seen(one) != seen(other)
    assert seen(one) == seen(one)


def test_the_order_in_which_a_set_was_filled_is_no_outcome():
    """Sets have no order, so none is seen."""
    assert seen({"a", "b", "c"}) == seen({"c", "b", "a"})


def test_streams_handlers_and_signals_are_left_as_they_were():
    """After a play that printed, warned and hung, nothing of the auditor stays behind."""
    before = sys.stdout, sys.stderr, signal.getsignal(signal.SIGALRM)

    def noisy(data):
        print("oh")
        while True:
            pass

    assert observe(noisy, None, 0.01).hung
    assert (sys.stdout, sys.stderr, signal.getsignal(signal.SIGALRM)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_plays_go_on_without_an_alarm():
    """Only the main thread can be interrupted; elsewhere a play simply runs."""
    seen_there: list[object] = []
    thread = threading.Thread(target=lambda: seen_there.append(observe(lambda data: 1.0, None, 0.01)))
    thread.start()
    thread.join()
    assert seen_there[0].answer.tolist() == [1.0]


@pytest.mark.parametrize(
    "wrong", [{"factor": 1.0}, {"seconds": 0.0}, {"seconds": float("nan")}, {"factor": "x"}], ids=str
)
def test_patience_that_ordinary_plays_would_exhaust_is_refused(wrong):
    """A limit must leave room for what plays usually take."""
    with pytest.raises(InvalidParameter):
        Patience(**wrong)


def test_every_bit_of_a_number_is_kept():
    """NaN payloads, signs of zero and subnormals come through unchanged."""
    numbers = np.array([0x7FF8000000000123, 0x8000000000000000, 1, 0x7FF0000000000000], dtype=np.uint64).view(
        np.float64
    )
    assert observe(lambda data: numbers, None).numbers[""].tobytes() == numbers.tobytes()
