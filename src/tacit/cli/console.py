"""What the commands share: a console, text that shows as it is, and errors as one line instead of a traceback.

Labels, names and paths are other people's words: nothing in them is markup, an emoji's name or an order to the
terminal. Everything that is not a constant of ours is printed by `say` or stands in a `cell`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

from tacit.errors import TacitError

console = Console(highlight=False)


def cell(text: str, style: str = "") -> Text:
    """Return a text of one line, as it is; what cannot be printed is spelled out, like \\x1b."""
    return Text(_spelled_out(text, keep=""), style)


def say(text: str, style: str = "", *, to: Console = console) -> None:
    """Print a text of any number of lines, as it is; what cannot be printed is spelled out, like \\x1b."""
    to.print(Text(_spelled_out(text, keep="\n\t"), style), soft_wrap=True)


def _spelled_out(text: str, *, keep: str) -> str:
    return "".join(
        letter if letter in keep or letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print an error that tacit raised on purpose and leave with exit code 2."""
    try:
        yield
    except TacitError as error:
        errors = Console(stderr=True, highlight=False)
        errors.print(cell(f"{type(error).__name__}: ", "bold red"), end="")
        say(str(error), to=errors)
        raise typer.Exit(2) from None
