"""The manner of every command: a result on stdout, words and progress on stderr, one exit code for each kind of end.

    0  done, or the claim holds
    1  refuted, or a verification failed
    2  wrong usage or input: nothing was charged
    3  refused for budget: nothing was charged
    4  cannot tell
    5  an unexpected failure or an interrupt, or anything that went wrong after the charge

With `--json` the result is one JSON object with stable keys, and so is an error: {"error": {"kind", "message",
"exit_code", "charged"}}. What nobody expected is told by its kind alone: its own words could quote a record.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, NoReturn, final

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tacit.cli.console import Lines, NotPrinted, cell, console, printing, say, spelled_out
from tacit.cli.ends import FAILED, INTERRUPTED, NO_BUDGET, REFUTED, WRONG, error_as_json
from tacit.errors import BudgetExceeded, LedgerCorrupt, QueryFailed, TacitError

# The root of errors of usage: click's own, or that of the click which typer carries.
UsageProblem: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result, or the error, as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but the result.")]


def example(*lines: str) -> str:
    """Return what `--help` ends with: commands that run as they are, never wrapped."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def in_numbers(plain: Any) -> Any:
    """Write amounts as numbers, with the exact ones beside them; cards stay as they are kept."""
    if isinstance(plain, list):
        return [in_numbers(each) for each in plain]
    if not isinstance(plain, Mapping):
        return plain
    if plain.keys() == {"words", "epsilon", "delta"}:
        exact = {name: plain[name] for name in ("epsilon", "delta")}
        numbers = {name: float(Fraction(each)) for name, each in exact.items()}
        return {**numbers, "exact": exact, "words": plain["words"]}
    return {name: each if name == "card" else in_numbers(each) for name, each in plain.items()}


@final
@dataclass(frozen=True)
class Answering:
    """Where a command puts what it has to say."""

    as_json: bool
    quiet: bool

    def result(self, plain: Mapping[str, Any], shown: RenderableType | str, kept: str = "") -> None:
        """Print the result: an object of plain values, or what a person would rather see; `kept`: where it is besides.

        All of it is printed when this ends, or `NotPrinted` is raised.
        """
        with printing(kept):
            if self.as_json:
                sys.stdout.write(json.dumps(in_numbers(plain), indent=2, ensure_ascii=True) + "\n")
            elif isinstance(shown, str):
                say(shown)
            else:
                console.print(shown)

    def document(self, plain: Mapping[str, Any], text: str) -> None:
        """Print a result that is a document to be kept: byte by byte where it is piped."""
        with printing():
            if self.as_json:
                sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=True) + "\n")
            else:
                sys.stdout.write(spelled_out(text) if sys.stdout.isatty() else text)

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Say something that a person must hear, whatever is quiet; that nobody can hear it changes nothing."""
        with suppress(OSError):
            say(text, to=errors())

    @contextmanager
    def progress(self, doing: str, total: int | None = None) -> Iterator[Any]:
        """Show how far something is, on a terminal; give a function that moves it on."""
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        shown = errors()
        with Progress(*columns, console=shown, transient=True, disable=self.quiet or not shown.is_terminal) as bar:
            task = bar.add_task(doing, total=total)

            def step(words: str | None = None, **moved: Any) -> None:
                """Move on by one, or so far: `advance=`, or `completed=` and `total=`."""
                bar.update(task, description=words or doing, **(moved or {"advance": 1}))

            yield step


def errors() -> Console:
    """Return the console of everything that is no result; made anew, since tests and shells change stderr."""
    return Lines(stderr=True, highlight=False)


@contextmanager
def answering(as_json: bool = False, quiet: bool = False) -> Iterator[Answering]:
    """Turn whatever happens into an answer with its exit code."""
    told = Answering(as_json, quiet)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: told.warn(f"Warning: {message}")
            # Commands say so themselves, in words of the command line.
            warnings.filterwarnings("ignore", "odd terms: a private fit under no ledger")
            warnings.filterwarnings("ignore", "these are records that the model was fitted to")
            yield told
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as failure:
        refuse_for(failure, as_json)


@final
class Paid(Exception):
    """What ended a command after the ledger was charged; None where the ledger cannot be asked any more."""

    def __init__(self, failure: BaseException, charged: bool | None) -> None:
        super().__init__(str(failure))
        self.failure, self.charged = failure, charged


@final
class Lost(Exception):
    """What was made, and paid for, is not where it should be: the words say what became of it.

    `printed` if stdout has the result already, and has no room for an error beside it.
    """

    def __init__(self, words: str, *, printed: bool = False) -> None:
        super().__init__(words)
        self.printed = printed


def refuse_for(failure: BaseException, as_json: bool) -> NoReturn:
    """Say what ended a command, and leave with its code: 5 for whatever ends it after a charge."""
    ended = failure.failure if isinstance(failure, Paid) else failure
    # stdout takes no second object, and none at all where it took no result.
    as_json = as_json and not isinstance(ended, NotPrinted) and not (isinstance(ended, Lost) and ended.printed)
    if isinstance(failure, Paid):
        kind, message, _ = _told(ended)
        words = "The ledger was charged: noise may have been drawn."
        if failure.charged is None:
            words = "Whether the ledger was charged cannot be told: it cannot be read."
        refuse(kind, f"{message} {words}", FAILED, as_json=as_json, charged=failure.charged)
    kind, message, code = _told(failure)
    free = " Nothing was charged." if kind == "Interrupted" else ""
    gone = isinstance(failure, NotPrinted) and failure.gone
    refuse(kind, f"{message}{free}", code, as_json=as_json, quiet=gone)


_SPOKEN = (
    ("Schema.draft(source), or `tacit schema draft`,", "`tacit schema draft`"),
    ("fixed_by must be", "--fixed-by must be"),
    ('Records(..., unit=...).split(by="key"), or commands --unit COLUMN, keep them whole.', "--unit keeps them whole."),
    ("Records((address, table), schema)", "sqlite:///file.db#table"),
    ('Records(..., unit="the column of ids"), fit(X, y, groups=ids), or commands --unit COLUMN', "--unit COLUMN"),
    ('Ledger.create(..., unit="person"), or ledger create --unit person', "ledger create --unit person"),
    ("Ledger.create(..., ids=[...]), or ledger create", "ledger create"),
    ('Records(..., key="the column declared as a Key")', "--key COLUMN"),
)
"""What the library says to whoever writes Python, and what that is in commands."""
_CODES = ((BudgetExceeded, NO_BUDGET), (LedgerCorrupt, REFUTED), (QueryFailed, FAILED), (TacitError, WRONG))


def _told(failure: BaseException) -> tuple[str, str, int]:
    """Return the kind of a failure, its words and its exit code."""
    if isinstance(failure, KeyboardInterrupt | typer.Abort):
        return "Interrupted", INTERRUPTED, FAILED
    if isinstance(failure, NotPrinted | Lost):
        return type(failure).__name__, str(failure), FAILED
    if isinstance(failure, UsageProblem):
        return "Usage", failure.format_message(), WRONG
    for kind, code in _CODES:
        if isinstance(failure, kind):
            words = str(failure)
            for python, command in _SPOKEN:
                words = words.replace(python, command)
            return type(failure).__name__, words, code
    return "UnexpectedFailure", f"something unexpected failed: {type(failure).__name__}.", FAILED


def refuse(
    kind: str, message: str, code: int, *, as_json: bool, charged: bool | None = False, quiet: bool = False
) -> NoReturn:
    """Print an error and leave with its code; where stdout takes no JSON, in words on stderr."""
    if as_json:
        with suppress(NotPrinted), printing():
            sys.stdout.write(error_as_json(kind, message, code, charged))
            quiet = True
    if not quiet:
        with suppress(OSError):
            told = errors()
            told.print(cell(f"{kind}: ", "bold red"), end="")
            say(message, to=told)
    raise typer.Exit(code) from None


def facts(rows: Mapping[str, str]) -> Table:
    """Return a table of names and values that folds what is long, in whatever width there is."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(cell(name), Text("\n").join(cell(line) for line in value.split("\n")))
    return table
