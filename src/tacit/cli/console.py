"""What the commands share: a console, and errors as one line instead of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from tacit.errors import TacitError

__all__ = ["console", "one_line_errors"]

console = Console(highlight=False)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print an error that tacit raised on purpose and leave with exit code 2."""
    try:
        yield
    except TacitError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]{type(error).__name__}:[/] ", end="")
        Console(stderr=True, highlight=False, markup=False).print(str(error), soft_wrap=True)
        raise typer.Exit(2) from None
