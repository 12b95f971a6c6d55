"""`tacit demo`: three releases about real records, what they cost and what that means."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from tacit import statistics
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.budget import Budget
from tacit.cli.console import console, one_line_errors
from tacit.data import load_adult
from tacit.release import Release

__all__ = ["demo"]


def demo(
    output: Annotated[Path, typer.Option(help="The folder for the ledger and the picture.")] = Path("demo"),
) -> None:
    """Ask three questions about the bundled Adult records under one budget, and draw the answers."""
    with one_line_errors():
        output.mkdir(parents=True, exist_ok=True)
        _run(output)


def _run(output: Path) -> None:
    columns = load_adult()
    ages = np.asarray(columns["age"], dtype=float)
    education = np.asarray(columns["education-num"], dtype=float)
    ledger = Ledger.create(
        f"sqlite:///{output / 'ledger.db'}",
        name=f"adult {datetime.now(UTC).isoformat(timespec='microseconds')}",
        budget=Budget(1.0),
    )
    levels = list(range(1, 17))
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("asking", total=3)
        older = statistics.count(ages > 60, epsilon=0.1, ledger=ledger, label="older than 60")
        progress.advance(task)
        age = statistics.mean(ages, low=17, high=90, epsilon=0.1, ledger=ledger, label="mean age")
        progress.advance(task)
        schooling = statistics.histogram(education, levels=levels, epsilon=0.3, ledger=ledger, label="schooling")
        progress.advance(task)
    truth = np.array([np.count_nonzero(education == level) for level in levels])
    console.print(_table(ages, older, age, schooling, truth))
    console.print(f"budget {ledger.budget}\nspent  {ledger.spent}\nleft   {ledger.remaining}\n")
    console.print(explain(ledger.spent))
    picture = output / "adult.png"
    _draw(picture, levels, schooling, truth)
    console.print(f"\npicture: {picture}   ledger: {output / 'ledger.db'} (see `tacit ledger show`)")


def _table(
    ages: NDArray[np.float64],
    older: Release[float],
    age: Release[float],
    schooling: Release[NDArray[np.float64]],
    truth: NDArray[np.int64],
) -> Table:
    table = Table(title="Adult, a public data set: so the true values may be shown beside the private ones")
    for column in ("question", "private answer", "true value", "guarantee"):
        table.add_column(column, overflow="fold")
    table.add_row("how many are older than 60?", f"{older.value:.1f}", str((ages > 60).sum()), older.guarantee)
    table.add_row("mean age?", f"{age.value:.3f}", f"{ages.mean():.3f}", age.guarantee)
    worst = np.abs(schooling.value - truth).max()
    table.add_row("how many at each of 16 levels of schooling?", f"off by {worst:.1f} at most", "", schooling.guarantee)
    return table


def _draw(path: Path, levels: list[int], schooling: Release[NDArray[np.float64]], truth: NDArray[np.int64]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.bar([level - 0.2 for level in levels], truth, width=0.4, label="true (public data)", color="lightgray")
    axes.bar([level + 0.2 for level in levels], schooling.value, width=0.4, label="private")
    axes.set(xlabel="education-num", ylabel="records", title=f"Schooling of {truth.sum():,} people")
    axes.legend(title=f"{schooling.budget}, replace-one")
    figure.savefig(path, dpi=150)
