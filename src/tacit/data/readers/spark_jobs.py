"""What runs on a Spark cluster: work on executors, and actions that end with all their jobs when interrupted."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from zipimport import zipimporter

from tacit.errors import QueryFailed
from tacit.noise import unique_name

Answer = TypeVar("Answer")
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
_AT_MOST = 10.0
"""How many seconds are spent on cancelling what failed."""


def worked(work: Callable[[Iterator[Any]], Iterator[Any]], items: Iterator[Any]) -> Iterator[Any]:
    """Do some work on an executor, and let the next task there begin at once.

    Before each task PySpark has all finders of modules read again what there is. One for each folder of its own archive
    reads the archive's whole list: most tasks take less time. A finder that is not kept is made anew when it is needed.
    """
    yield from work(items)
    for folder, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache.pop(folder, None)


def asked(context: Any, ask: Callable[[], Answer]) -> Answer:
    """Run an action. What the engine says of a failure is withheld."""
    failure = None
    try:
        found = interruptible(context, ask)
    except Exception as error:
        failure = type(error).__name__
    if failure is not None:
        raise QueryFailed(
            f"the cluster failed ({failure}); nothing was answered. Details are withheld, as they may quote records: "
            "the cluster's own log has them."
        )
    return found


def interruptible(context: Any, ask: Callable[[], Answer]) -> Answer:
    """Run an action; whatever ends it early ends its jobs too, and Ctrl-C is raised as what it is.

    Spark's own handler of the signal speaks to Spark in the middle of its answer, and mixes the two up: the interrupt
    is lost, and the jobs go on. Handlers of a caller's own are left alone.
    """
    group = f"tacit_{unique_name()}"
    interrupts: list[int] = []

    def note(number: int, _: object) -> None:
        if interrupts:
            raise KeyboardInterrupt
        interrupts.append(number)
        _cancelling(context, group)

    with _handled(note), _grouped(context, group):
        try:
            found = ask()
            if not interrupts:
                return found
        except BaseException:
            _cancelling(context, group).join(_AT_MOST)
            if not interrupts:
                raise
    raise KeyboardInterrupt


def _cancelling(context: Any, group: str) -> threading.Thread:
    """Cancel a group's jobs from a thread of its own, whose connection to Spark is not in the middle of anything."""

    def cancel() -> None:
        with suppress(Exception):
            context.cancelJobGroup(group)

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    return thread


@contextmanager
def _grouped(context: Any, group: str) -> Iterator[None]:
    """Run this thread's jobs in a group meanwhile."""
    before = {name: context.getLocalProperty(name) for name in _GROUP}
    context.setJobGroup(group, "tacit", False)
    try:
        yield
    finally:
        for name, value in before.items():
            with suppress(Exception):
                context.setLocalProperty(name, value)


@contextmanager
def _handled(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle Ctrl-C meanwhile, in place of Python or Spark; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler and not getattr(before, "__module__", "").startswith("pyspark."):
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
