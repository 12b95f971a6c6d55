"""What the commands share: a console, and text that shows as it is.

Labels, names and paths are other people's words: nothing in them is markup, an emoji's name or an order to the
terminal. Everything that is not a constant of ours is printed by `say` or stands in a `cell`.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import final

from rich.console import Console
from rich.text import Text


@final
class Lines(Console):
    """A console that says when nobody reads it, where rich would leave with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Let whoever prints know."""
        raise BrokenPipeError


console = Lines(highlight=False)


@final
class NotPrinted(Exception):
    """The result could not be printed, or not all of it; `gone` if whoever read it has just gone away."""

    def __init__(self, failure: OSError, kept: str = "") -> None:
        reason = (failure.strerror or "the system refused it").lower()
        super().__init__(f"the result could not be printed: {reason}.{kept and ' '}{kept}")
        self.gone = isinstance(failure, BrokenPipeError)


@contextlib.contextmanager
def printing(kept: str = "") -> Iterator[None]:
    """Print to stdout, all of it before this ends, or raise `NotPrinted`; `kept` says where the result is besides."""
    try:
        if sys.stdout is None:
            raise OSError(9, "it is closed")
        yield
        sys.stdout.flush()
    except OSError as failure:
        # Python prints once more on its way out what is still waiting to be printed.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stdout = sys.stdout.fileno()
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
        raise NotPrinted(failure, kept) from None


def cell(text: str, style: str = "") -> Text:
    """Return a text of one line, as it is; what cannot be printed is spelled out, like \\x1b."""
    return Text(spelled_out(text, keep=""), style)


def say(text: str, style: str = "", *, to: Console = console) -> None:
    """Print a text of any number of lines, as it is; what cannot be printed is spelled out, like \\x1b."""
    to.print(Text(spelled_out(text), style), soft_wrap=True)


def spelled_out(text: str, *, keep: str = "\n\t") -> str:
    """Return a text in which what cannot be printed is spelled out, like \\x1b."""
    return "".join(
        letter if letter in keep or letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
