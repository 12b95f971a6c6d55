"""What a play says besides its answer: warnings, printed text and log entries."""

import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, TextIO, final

from tacit.audit.outcomes.plain import text
from tacit.audit.outcomes.trace import Trace, look, type_name

_MOST = 20


@final
@dataclass(eq=False)
class Heard:
    """Warnings in their order, what was printed, and what was logged."""

    warned: list[warnings.WarningMessage] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    def note(self, trace: Trace) -> None:
        """Note what was heard as part of the outcome."""
        for number, warning in enumerate(self.warned[:_MOST]):
            trace.mark(f"warning[{number}]", "is", type_name(warning.category))
            text(str(warning.message), trace, f"warning[{number}]")
        for name, lines in (("printed", self.printed), ("logged", self.logged)):
            if lines:
                text("".join(lines), trace, name)
        if len(self.warned) > _MOST:
            look(len(self.warned), trace, "warnings")


@final
class _Tap(io.TextIOBase):
    """A stream that keeps what its own thread writes; other threads, such as a progress bar's, write on as before."""

    def __init__(self, kept: list[str], before: TextIO) -> None:
        self._kept, self._before, self._thread = kept, before, threading.get_ident()

    def write(self, words: str) -> int:
        """Keep what the game has printed; pass on what others print."""
        if threading.get_ident() != self._thread:
            return self._before.write(words)
        self._kept.append(words)
        return len(words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)


@final
class _Log(logging.Handler):
    def __init__(self, kept: list[str]) -> None:
        super().__init__()
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what was logged, as a line."""
        self._kept.append(f"{record.levelname} {record.name}: {record.getMessage()}\n")


@contextmanager
def listening() -> Iterator[Heard]:
    """Keep all that is said meanwhile; every warning is kept, whatever filters the caller has set."""
    heard, log = Heard(), logging.getLogger()
    handler = _Log(heard.logged)
    with ExitStack() as stack:
        heard.warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(redirect_stdout(_Tap(heard.printed, sys.stdout)))
        stack.enter_context(redirect_stderr(_Tap(heard.printed, sys.stderr)))
        log.addHandler(handler)
        stack.callback(log.removeHandler, handler)
        yield heard
