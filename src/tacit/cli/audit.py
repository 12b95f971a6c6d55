"""`tacit audit`: attack a claim and say whether it survives."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tacit.audit import NAMES, Case, Question, Report, Verdict, case, picture
from tacit.cli.console import cell, console, one_line_errors, say
from tacit.errors import InvalidParameter

_FORMATS = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
_COLOURS = {Verdict.HOLDS: "green", Verdict.REFUTED: "red", Verdict.CANNOT_TELL: "yellow"}


def audit(
    name: Annotated[str, typer.Argument(help=f"What to audit: {', '.join(NAMES)}.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="The claimed epsilon.")],
    delta: Annotated[float | None, typer.Option(help="The claimed delta; by default the usual one, or none.")] = None,
    n_lambda: Annotated[float | None, typer.Option(help="Number of records times the ridge.")] = None,
    perturbation: Annotated[str | None, typer.Option(help="Of an estimator: objective, output, gradient...")] = None,
    plays: Annotated[int | None, typer.Option(help="How often to play; by default, enough to tell.")] = None,
    confidence: Annotated[float, typer.Option(help="That a refutation is right.")] = 0.999,
    jobs: Annotated[int, typer.Option(help="Processes to play in.")] = 1,
    output: Annotated[Path | None, typer.Option(help="The picture; by default audit-NAME.png.")] = None,
) -> None:
    """Play Alice's and Bob's game.

    Exit code 0: the claim holds; 1: it is refuted; 2: the command makes no sense; 4: the audit can not tell; 5: it was
    interrupted or failed, and says nothing about the claim.
    """
    with _failures_are_not_verdicts(), one_line_errors():
        chosen = case(name, Question(epsilon, delta, n_lambda, perturbation))
        path = output or Path(f"audit-{name}.png")
        _check_picture(path)
        report = _run(chosen, plays, confidence, jobs)
        _show(report)
        picture(report, path)
        say(f"picture: {path}")
    raise typer.Exit(report.exit_code)


@contextmanager
def _failures_are_not_verdicts() -> Iterator[None]:
    """Leave with exit code 5 after whatever nobody expected: Python's own would be 1, which says "refuted"."""
    try:
        yield
    except typer.Exit:
        raise
    except (KeyboardInterrupt, Exception) as failure:
        words = "interrupted" if isinstance(failure, KeyboardInterrupt) else f"{type(failure).__name__}: {failure}"
        say(f"The audit did not end: {words}", to=Console(stderr=True, highlight=False))
        raise typer.Exit(5) from failure


def _check_picture(path: Path) -> None:
    """Refuse, before the game, a place where no picture can be saved."""
    if not path.parent.is_dir():
        raise InvalidParameter(f"the picture's folder {path.parent} does not exist. Make it first.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidParameter(f"the picture can not be written to {path}. Choose another place with --output.")
    if path.suffix.lower() not in _FORMATS:
        raise InvalidParameter(f"a picture ends in {', '.join(_FORMATS)}, got {path.name!r}.")


def _run(chosen: Case, plays: int | None, confidence: float, jobs: int) -> Report:
    count = chosen.sufficient(confidence) if plays is None else plays
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"playing with {chosen.name}", total=count)
        return chosen.audit(
            plays=count, confidence=confidence, jobs=jobs, progress=lambda done: progress.advance(task, done)
        )


def _show(report: Report) -> None:
    table = Table(title=f"audit of {report.name}", show_header=False)
    for question, answer in report.rows():
        table.add_row(cell(question), cell(answer))
    console.print(table)
    say(report.conclusion, f"bold {_COLOURS[report.verdict]}")
