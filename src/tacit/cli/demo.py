"""`tacit demo`: questions, a model and its score, all about real records and out of one budget."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from tacit import evaluation, statistics
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.budget import Budget
from tacit.cli.console import console, one_line_errors, say
from tacit.cli.pictures import accuracy_curve, coefficients, histogram
from tacit.data import PublicEncoder, adult_schema, load_adult
from tacit.erm.classification import PrivateLogisticRegression
from tacit.estimators.exact_scores import public_data
from tacit.numerics.arrays import Floats

_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_REHEARSALS = 5
_CLASSES = ["<=50K", ">50K"]


@dataclass(frozen=True)
class _Records:
    """Adult, encoded by its schema, and split by coins that look at no record."""

    ages: Floats
    schooling: Floats
    names: list[str]
    train: tuple[Any, Any]
    test: tuple[Any, Any]


def demo(
    output: Annotated[Path, typer.Option(help="The folder for the ledger and the pictures.")] = Path("demo"),
    epsilon: Annotated[float, typer.Option(help="The epsilon that the model is trained with.")] = 1.0,
) -> None:
    """Ask questions about the bundled Adult records, train on them and score the model, out of one budget."""
    with one_line_errors():
        budget = Budget(epsilon) + Budget(0.5)
        output.mkdir(parents=True, exist_ok=True)
        address = f"sqlite:///{output / 'ledger.db'}"
        name = f"adult {datetime.now(UTC).isoformat(timespec='microseconds')}"
        ledger = Ledger.create(address, name=name, budget=budget)
        steps = 4 + (1 + len(_EPSILONS)) * _REHEARSALS
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("reading records", total=steps)

            def step(doing: str) -> None:
                progress.update(task, description=doing, advance=1)

            records = _read()
            _run(records, ledger, epsilon, output, step)


def _read() -> _Records:
    columns, schema = load_adult("all"), adult_schema()
    encoder = PublicEncoder(schema)
    rows, labels = encoder.fit_transform(columns), schema.labels(columns)
    names = [str(name) for name in encoder.get_feature_names_out()]
    train, test = ((rows[part], labels[part]) for part in evaluation.split_by_index(len(rows)))
    return _Records(columns["age"].astype(float), columns["education-num"].astype(float), names, train, test)


def _run(records: _Records, ledger: Ledger, epsilon: float, output: Path, step: Any) -> None:
    table = Table(title="Adult is a public data set: so true values may be shown beside private ones")
    for column in ("question", "private answer", "true value", "guarantee"):
        table.add_column(column, overflow="fold")
    _ask(records, ledger, output, table, step)
    _learn(records, ledger, epsilon, output, table, step)
    console.print(table)
    say(f"budget {ledger.budget}\nspent  {ledger.spent}\nleft   {ledger.remaining}\n")
    say(explain(ledger.spent))
    say(
        f"\npictures: {output}/schooling.png, {output}/coefficients.png, {output}/accuracy.png\n"
        f"ledger:   tacit ledger show sqlite:///{output}/ledger.db --name '{ledger.name}'"
    )


def _ask(records: _Records, ledger: Ledger, output: Path, table: Table, step: Any) -> None:
    levels = list(range(1, 17))
    step("asking three questions")
    older = statistics.count(records.ages > 60, epsilon=0.1, ledger=ledger, label="older than 60")
    age = statistics.mean(records.ages, low=17, high=90, epsilon=0.1, ledger=ledger, label="mean age")
    schooling = statistics.histogram(records.schooling, levels=levels, epsilon=0.3, ledger=ledger, label="schooling")
    truth = np.array([np.count_nonzero(records.schooling == level) for level in levels])
    table.add_row("how many are over 60?", f"{older.value:.1f}", f"{(records.ages > 60).sum()}", older.guarantee)
    table.add_row("mean age?", f"{age.value:.3f}", f"{records.ages.mean():.3f}", age.guarantee)
    worst = float(np.abs(schooling.value - truth).max())
    table.add_row("16 levels of schooling?", f"counts off by {worst:.1f} at most", "see picture", schooling.guarantee)
    histogram(output / "schooling.png", levels, schooling, truth)


def _learn(records: _Records, ledger: Ledger, epsilon: float, output: Path, table: Table, step: Any) -> None:
    parts = ledger.partition("use", ["train", "test"], fixed_by="index")
    step("training privately")
    model = PrivateLogisticRegression(epsilon, classes=_CLASSES, ledger=parts["train"]).fit(*records.train)
    step("scoring privately")
    score = evaluation.accuracy(model, *records.test, epsilon=min(epsilon, 0.5), ledger=parts["test"])
    with public_data():
        truth = model.score(*records.test)
    table.add_row("who earns over 50K? (logistic regression)", "see picture", "", model.release_.guarantee)
    table.add_row("its accuracy on held-out records?", f"{score.value:.4f}", f"{truth:.4f}", score.release.guarantee)
    again = [_rehearse(records, epsilon, seed, step) for seed in range(_REHEARSALS)]
    spread = np.std([rehearsal.coef_[0] for rehearsal in again], axis=0, ddof=1)
    coefficients(output / "coefficients.png", records.names, model, spread)
    curve = {
        level: [_rehearse(records, level, seed, step).score(*records.test) for seed in range(_REHEARSALS)]
        for level in _EPSILONS
    }
    step("fitting without privacy")
    plain = PrivateLogisticRegression(float("inf"), classes=_CLASSES).fit(*records.train).score(*records.test)
    majority = float(np.mean(records.test[1] == _CLASSES[0]))
    accuracy_curve(output / "accuracy.png", curve, plain, majority, epsilon, score)


def _rehearse(records: _Records, epsilon: float, seed: int, step: Any) -> PrivateLogisticRegression:
    step(f"rehearsing on public data, epsilon={epsilon:g}")
    return PrivateLogisticRegression(epsilon, classes=_CLASSES, random_state=seed).fit(*records.train)
