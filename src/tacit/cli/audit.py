"""`tacit audit`: attack a claim and say whether it survives."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tacit.audit import NAMES, AuditReport, Case, Question, Verdict, case, picture
from tacit.cli.answering import Answering, AsJson, Quiet, answering, example
from tacit.cli.console import cell
from tacit.cli.pictures import check_picture, write_picture

EXAMPLE = example("tacit audit Laplace --epsilon 1 --plays 3000 --output audit.png")
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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Play Alice's and Bob's game. What --json prints can go into a card: tacit train --audit.

    Exit code 0: the claim holds; 1: it is refuted; 2: the command makes no sense; 4: the audit can not tell; 5: it was
    interrupted or failed, and says nothing about the claim.
    """
    with answering(as_json, quiet) as out:
        chosen = case(name, Question(epsilon, delta, n_lambda, perturbation))
        path = output or Path(f"audit-{name}.png")
        check_picture(path)
        report = _run(chosen, plays, confidence, jobs, out)
        write_picture(path, picture(report))
        out.result({**report.plain(), "picture": str(path)}, _shown(report))
        out.note(f"picture: {path}")
    raise typer.Exit(report.exit_code)


def _run(chosen: Case, plays: int | None, confidence: float, jobs: int, out: Answering) -> AuditReport:
    count = chosen.sufficient(confidence) if plays is None else plays
    with out.progress(f"playing with {chosen.name}", count) as step:
        return chosen.audit(plays=count, confidence=confidence, jobs=jobs, progress=lambda done: step(advance=done))


def _shown(report: AuditReport) -> Group:
    table = Table(title=f"audit of {report.name}", show_header=False)
    for question, answer in report.rows():
        table.add_row(cell(question), cell(answer))
    return Group(table, Text(report.conclusion, f"bold {_COLOURS[report.verdict]}"))
