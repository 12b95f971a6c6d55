"""The manner of every command: a result on stdout, words and progress on stderr, one exit code for each kind of end.

    0  done, or the claim holds
    1  refuted, or a verification failed
    2  wrong usage or input: nothing was charged
    3  refused for budget: nothing was charged
    4  cannot tell
    5  an unexpected failure, or an interrupt

With `--json` the result is one JSON object with stable keys, and so is an error: {"error": {"kind", "message",
"exit_code"}}. What nobody expected is told by its kind alone: its own words could quote a record.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, final

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tacit.cli.console import cell, console, say
from tacit.errors import BudgetExceeded, LedgerCorrupt, QueryFailed, TacitError

# The root of errors of usage: click's own, or that of the click which typer carries.
UsageProblem: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

DONE, REFUTED, WRONG, NO_BUDGET, CANNOT_TELL, FAILED = range(6)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result, or the error, as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but the result.")]


def example(*lines: str) -> str:
    """Return what `--help` ends with: commands that run as they are, never wrapped."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


@final
@dataclass(frozen=True)
class Answering:
    """Where a command puts what it has to say."""

    as_json: bool
    quiet: bool

    def result(self, plain: Mapping[str, Any], shown: RenderableType | str) -> None:
        """Print the result: an object of plain values, or what a person would rather see."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=True) + "\n")
        elif isinstance(shown, str):
            say(shown)
        else:
            console.print(shown)

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            say(text, to=errors())

    def warn(self, text: str) -> None:
        """Say something that a person must hear, whatever is quiet."""
        say(text, to=errors())

    @contextmanager
    def progress(self, doing: str, total: int | None = None) -> Iterator[Any]:
        """Show how far something is, on a terminal; give a function that moves it on."""
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        shown = errors()
        with Progress(*columns, console=shown, transient=True, disable=self.quiet or not shown.is_terminal) as bar:
            task = bar.add_task(doing, total=total)

            def step(words: str | None = None, advance: int = 1) -> None:
                bar.update(task, description=words or doing, advance=advance)

            yield step


def errors() -> Console:
    """Return the console of everything that is no result; made anew, since tests and shells change stderr."""
    return Console(stderr=True, highlight=False)


@contextmanager
def answering(as_json: bool = False, quiet: bool = False) -> Iterator[Answering]:
    """Turn whatever happens into an answer with its exit code."""
    told = Answering(as_json, quiet)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: told.warn(f"Warning: {message}")
            # Commands say so themselves, in words of the command line.
            warnings.filterwarnings("ignore", "odd terms: a private fit under no ledger")
            yield told
    except typer.Exit:
        raise
    except BudgetExceeded as error:
        _refuse(error, NO_BUDGET, as_json)
    except LedgerCorrupt as error:
        _refuse(error, REFUTED, as_json)
    except QueryFailed as error:
        _refuse(error, FAILED, as_json)
    except TacitError as error:
        _refuse(error, WRONG, as_json)
    except UsageProblem as error:
        refuse("Usage", error.format_message(), WRONG, as_json)
    except KeyboardInterrupt:
        refuse("Interrupted", "interrupted: no file was half-written.", FAILED, as_json)
    except BrokenPipeError:
        raise
    except Exception as failure:
        refuse("UnexpectedFailure", f"something unexpected failed: {type(failure).__name__}.", FAILED, as_json)


def refuse(kind: str, message: str, code: int, as_json: bool) -> NoReturn:
    """Print an error and leave with its code."""
    if as_json:
        plain = {"error": {"kind": kind, "message": message, "exit_code": code}}
        sys.stdout.write(json.dumps(plain, indent=2) + "\n")
    else:
        console_of_errors = errors()
        console_of_errors.print(cell(f"{kind}: ", "bold red"), end="")
        say(message, to=console_of_errors)
    raise typer.Exit(code) from None


def _refuse(error: TacitError, code: int, as_json: bool) -> NoReturn:
    refuse(type(error).__name__, str(error), code, as_json)


def facts(rows: Mapping[str, str]) -> Table:
    """Return a table of names and values that folds what is long, in whatever width there is."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(cell(name), Text("\n").join(cell(line) for line in value.split("\n")))
    return table


Accountant = Literal["basic", "renyi", "gaussian"]
