"""`tacit demo`: from a table to a private model, its scores, its file, its card and its report, in a minute."""

import shlex
import shutil
import sys
import textwrap
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Self, final

import typer

from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import best_guess
from tacit.budget import Budget
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.paying import finish, telling
from tacit.cli.places import make_folder
from tacit.cli.predict import as_csv
from tacit.data.bundled import load_adult
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.erm.classification import PrivateLogisticRegression
from tacit.evaluation import TwoClassReport, report
from tacit.files import check_room, write_whole
from tacit.models.file import save
from tacit.reports.card import card_of_model
from tacit.reports.facts import exact_amount
from tacit.reports.scores import scores_page

EXAMPLE = example("tacit demo --output demo")
_LEFT = Budget(0.5)
_EXACT = 1e4
_ROOM = 16 * 2**20
_WIDTH = 78


@final
@dataclass(frozen=True)
class _Places:
    """Where the files of a demonstration go."""

    table: Path
    schema: Path
    ledger: Path
    model: Path
    card: Path
    report: Path

    @classmethod
    def within(cls, folder: Path) -> Self:
        names = ("adult.csv", "adult.toml", "ledger.db", "model.tacit", "card.yaml", "report.html")
        return cls(*(folder / name for name in names))

    @property
    def address(self) -> str:
        return f"sqlite:///{self.ledger}"


@final
@dataclass(frozen=True)
class _Found:
    """What a demonstration has to tell."""

    records: int
    model: PrivateLogisticRegression
    scores: TwoClassReport
    plain: float
    majority: float
    ledger: Ledger


def demo(
    output: Annotated[Path, typer.Option(help="The folder for everything that is made.")] = Path("demo"),
    epsilon: Annotated[float, typer.Option(help="How much privacy the model may cost; usual are 0.1 to 10.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail; 0 promises for sure.")] = 1e-6,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model on 45,222 bundled records, score it, and write its file, card and report."""
    with answering(as_json, quiet) as out:
        model = Budget(epsilon, delta)
        make_folder(output)
        places = _Places.within(output)
        check_room(places.report, _ROOM)
        with out.progress("writing the table", total=4) as step:
            schema = _table(places)
            name = f"adult-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
            ledger = Ledger.create(places.address, name=name, budget=model + _LEFT)
            step("training, scoring, and comparing")
            with telling(ledger):
                found = _learned(Records(str(places.table), schema), model, ledger)
                step("writing model, card and report", advance=2)
                finish(out, lambda: _write(found, places))
            step()
        out.result(_plain(found, places), _summary(found, places))


def _table(places: _Places) -> Schema:
    """Write the bundled records as any table comes: a CSV file, and a declaration beside it."""
    columns = {name: column.tolist() for name, column in load_adult("all").items()}
    write_whole(places.table, [as_csv(columns).encode("ascii")])
    write_whole(places.schema, [files("tacit.data").joinpath("adult/adult.toml").read_bytes()])
    return Schema.load(places.schema)


def _learned(records: Records, budget: Budget, ledger: Ledger) -> _Found:
    """Train on a part and score on the other; Adult is public, so that it may be told what privacy cost."""
    train, test = records.split(by="index")
    model = PrivateLogisticRegression(budget.epsilon, budget.delta, ledger=ledger).fit(train)
    scores = _two(report(model, test, epsilon=budget.epsilon, delta=budget.delta, ledger=ledger))
    plain = PrivateLogisticRegression(float("inf"), random_state=0).fit(train)
    known = _two(report(plain, test, epsilon=_EXACT, random_state=0))
    majority = max(known.at(1.0)["accuracy"].value, known.at(0.0)["accuracy"].value)
    return _Found(records.n, model, scores, known.accuracy.value, majority, ledger)


def _two(scores: Any) -> TwoClassReport:
    assert isinstance(scores, TwoClassReport)
    return scores


def _write(found: _Found, places: _Places) -> None:
    card = card_of_model(found.model, ledger=found.ledger)
    save(found.model, places.model, card=card)
    card.save(places.card)
    again = f"tacit train {places.table.name} --schema {places.schema.name} --part train "
    again += f"--epsilon {found.model.epsilon:g} --delta {found.model.delta:g} "
    again += f"--ledger sqlite:///{places.ledger.name} --account {found.ledger.name} --output {places.model.name}"
    write_whole(places.report, [scores_page(found.model, card, found.scores, again).encode("utf-8", "replace")])


def _plain(found: _Found, places: _Places) -> dict[str, Any]:
    accuracy = found.scores.accuracy
    return {
        "n": found.records,
        "guarantee": found.model.release_.guarantee,
        "accuracy": {"value": accuracy.value, "interval": list(accuracy.interval)},
        "accuracy_without_privacy": found.plain,
        "larger_class": found.majority,
        "spent": exact_amount(found.ledger.spent),
        "left": exact_amount(found.ledger.remaining),
        "ledger": places.address,
        "account": found.ledger.name,
        "model": str(places.model),
        "card": str(places.card),
        "report": str(places.report),
    }


def _summary(found: _Found, places: _Places) -> str:
    """Say what happened to somebody who has to answer for it."""
    accuracy, guess = found.scores.accuracy, 100 * best_guess(found.ledger.spent)
    low, high = accuracy.interval
    delta = found.ledger.spent.delta
    but = f" (but for a chance of {delta:.6f})" if delta else ""
    facts = {
        "The task": f"From a census survey of {found.records:,} people: who earns over $50,000 a year?",
        "The model": f"It is right for {accuracy.value:.1%} of people it never saw (95 % sure: {low:.1%} to "
        f"{high:.1%}). Without any privacy it would be {found.plain:.1%}, always answering no {found.majority:.1%}: "
        "these two are exact, which only public records like these allow.",
        "The promise": "Whoever sees all that was released, and knows everybody else in the table, still guesses a "
        f"yes-or-no fact about one person right at most {guess:.1f} times in 100{but}. A coin is right 50 times.",
        "The budget": f"{found.ledger.spent} of {found.ledger.budget} is spent. The ledger charges before noise "
        "is drawn, never refunds, and refuses what does not fit any more.",
        "The limits": "The promise is about one person's row. It does not hide what is true of the whole population, "
        "nor the columns' declared ranges, nor how many people there are.",
    }
    lines: list[str] = []
    for name, words in facts.items():
        lines += textwrap.wrap(words, _WIDTH, initial_indent=f"{name:13}", subsequent_indent=" " * 13)
    made = {"report": places.report, "model": places.model, "card": places.card, "ledger": places.ledger}
    lines += ["", *(f"{name:8} {path}" for name, path in made.items()), "", "Next:"]
    return "\n".join([*lines, *(f"  {command}" for command in _next(found, places))])


def _next(found: _Found, places: _Places) -> list[str]:
    """Return commands that go on from here, as they can be pasted where this was started."""
    account = found.ledger.name
    table, address = str(places.table), places.address
    query = ["query", table, "age > 60", "--schema", str(places.schema), "--epsilon", "0.1"]
    return [
        shlex.join([_tacit(), *words])
        for words in (
            ["inspect", str(places.model)],
            ["predict", str(places.model), table, "--output", str(places.table.with_name("predictions.csv"))],
            ["ledger", "show", address, "--name", account],
            [*query, "--ledger", address, "--account", account],
        )
    ]


def _tacit() -> str:
    """Return what this command was called by, where that is not what `tacit` alone would start."""
    called, found = Path(sys.argv[0]), shutil.which("tacit")
    if called.name != "tacit" or (found is not None and Path(found).resolve() == called.resolve()):
        return "tacit"
    return str(called)
