"""`tacit audit`: attack a claim and say whether it survives."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tacit.audit import NAMES, Case, Question, Report, Verdict, case, picture
from tacit.cli.console import console, one_line_errors
from tacit.errors import InvalidParameter

__all__ = ["audit"]

_COLOURS = {Verdict.HOLDS: "green", Verdict.REFUTED: "red", Verdict.CANNOT_TELL: "yellow"}


def audit(
    name: Annotated[str, typer.Argument(help=f"What to audit: {', '.join(NAMES)}.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="The claimed epsilon.")],
    delta: Annotated[float, typer.Option(help="The claimed delta.")] = 0.0,
    n_lambda: Annotated[float | None, typer.Option(help="Number of records times the ridge.")] = None,
    perturbation: Annotated[str | None, typer.Option(help="Of an estimator: objective, output, gradient...")] = None,
    plays: Annotated[int | None, typer.Option(help="How often to play; by default, enough to tell.")] = None,
    confidence: Annotated[float, typer.Option(help="That a refutation is right.")] = 0.999,
    jobs: Annotated[int, typer.Option(help="Processes to play in.")] = 1,
    output: Annotated[Path | None, typer.Option(help="The picture; by default audit-NAME.png.")] = None,
) -> None:
    """Play Alice's and Bob's game. Exit code 0: the claim holds; 1: it is refuted; 2: the audit can not tell."""
    with one_line_errors():
        chosen = case(name, Question(epsilon, delta, n_lambda, perturbation))
        path = output or Path(f"audit-{name}.png")
        if not path.parent.is_dir():
            raise InvalidParameter(f"the picture's folder {path.parent} does not exist. Make it first.")
        report = _run(chosen, plays, confidence, jobs)
        picture(report, path)
        _show(report, path)
    raise typer.Exit(report.exit_code)


def _run(chosen: Case, plays: int | None, confidence: float, jobs: int) -> Report:
    count = chosen.sufficient(confidence) if plays is None else plays
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"playing with {chosen.name}", total=count)
        return chosen.audit(
            plays=count, confidence=confidence, jobs=jobs, progress=lambda done: progress.advance(task, done)
        )


def _show(report: Report, path: Path) -> None:
    table = Table(title=f"audit of {report.name}", show_header=False)
    for question, answer in report.rows():
        table.add_row(escape(question), escape(answer))
    console.print(table)
    console.print(f"[bold {_COLOURS[report.verdict]}]{escape(report.conclusion)}[/]", soft_wrap=True)
    console.print(f"picture: {path}", markup=False, soft_wrap=True)
