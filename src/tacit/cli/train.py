"""`tacit train`: from a table and its schema to a model file with a card and a report, charged once."""

import json
import shlex
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast, final

import typer

from tacit.accounting.ledger import Ledger
from tacit.cli import sources
from tacit.cli.answering import FAILED, Answering, AsJson, Quiet, answering, example, refuse
from tacit.cli.methods import LandmarksGiven, MethodName, Shape, model_for
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import FileNotWritten, InvalidParameter
from tacit.files import check_room, write_whole
from tacit.models.file import save
from tacit.reports.card import Card, card_of_model
from tacit.reports.facts import exact_amount
from tacit.reports.page import model_page
from tacit.reports.registry import check_answers
from tacit.reports.verdicts import MethodVerdict, check_about

EXAMPLE = example(
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --ledger sqlite:///l.db --output m.tacit",
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --method kernel --output k.tacit",
)
_ROOM = 4 * 2**20


@final
@dataclass(frozen=True)
class Files:
    """Where a model, its report and its card go."""

    model: Path
    report: Path
    card: Path | None

    @property
    def all(self) -> list[Path]:
        """The files that will be written."""
        return [path for path in (self.model, self.report, self.card) if path is not None]

    def check(self) -> None:
        """Refuse, before any charge, places where nothing can be written."""
        if len({path.resolve() for path in self.all}) < len(self.all):
            raise InvalidParameter("the model, its report and its card need names of their own.")
        if self.card is not None and self.card.suffix not in (".yaml", ".yml", ".json"):
            raise InvalidParameter("--card must end in .yaml or .json.")
        for path in self.all:
            check_room(path, _ROOM)

    def write(self, model: Any, card: Card, as_json: bool, again: str = "") -> None:
        """Write the model with its card, its report, and the card by itself where that was asked for."""
        pieces: dict[Path, Callable[[Path], None]] = {
            self.model: lambda path: save(model, path, card=card),
            self.report: lambda path: write_whole(
                path, [model_page(model, card, again=again).encode("utf-8", "replace")]
            ),
        }
        if self.card is not None:
            pieces[self.card] = card.save
        write_all(pieces, as_json)


def train(
    source: sources.Source,
    schema: sources.SchemaFile,
    epsilon: Annotated[float, typer.Option(help="How much privacy the model may cost; usual values are 0.1 to 10.")],
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail; 0 promises for sure.")] = 0.0,
    method: MethodName = "auto",
    kernel: Annotated[Shape | None, typer.Option(help="Of --method kernel; quadratic by default.")] = None,
    landmarks: LandmarksGiven = None,
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    output: sources.ModelOutput = Path("model.tacit"),
    report: sources.ModelReport = None,
    card: Annotated[Path | None, typer.Option(help="Write the privacy card, too: a .yaml or .json file.")] = None,
    about: Annotated[Path | None, typer.Option(help="TOML with what only people know, for the card.")] = None,
    audit: Annotated[
        Path | None, typer.Option(help="For the card: what `tacit audit NAME --json` printed of this method.")
    ] = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model: charge the ledger, learn, and write the model, its card and a report."""
    with answering(as_json, quiet) as out:
        files = Files(output, report or output.with_suffix(".html"), card)
        declared, answers, paying = Schema.load(schema), _answers(about), sources.account(ledger, account_name, seed)
        with telling(paying, out):
            records = sources.opened(source, declared, unit=unit, key=key, part=part)
            model = model_for(
                method,
                records,
                epsilon=epsilon,
                delta=delta,
                landmarks=landmarks,
                kernel=kernel,
                source=source,
                ledger=paying,
                random_state=seed,
            )
            price = model.price(records)
            if dry_run:
                out.result(priced(price), str(price))
                return
            files.check()
            verdict = _verdict(audit, model)
            if paying is None and seed is None:
                out.warn("No ledger was given: the model is private, and nobody remembers what it cost.")
            with out.progress(f"training on {records.n:,} records"):
                model.fit(records)
        made = card_of_model(model, ledger=paying, answers=answers, audit=verdict)
        options = [
            ("--delta", f"{delta:g}" if delta else None),
            ("--method", None if method == "auto" else method),
            ("--kernel", kernel),
            ("--landmarks", None if landmarks is None else _name(landmarks)),
            *records_options(unit, key, part),
        ]
        files.write(model, made, as_json, repeated("train", source, schema, epsilon, options))
        plain = {**_told(model, records, made), "model": str(output), "report": str(files.report)}
        out.result(plain, shown(plain))
        if made.open:
            look = shlex.join(["tacit", "inspect", str(output), "--card", "yaml"])
            out.note(f"{len(made.open)} fields of its card are for a person to fill in: {look}")


def _answers(about: Path | None) -> dict[str, str]:
    """Read what a person answers for the card."""
    if about is None:
        return {}
    try:
        answers = tomllib.loads(about.read_text("utf-8"))
    except (OSError, ValueError):
        raise InvalidParameter(f"there are no answers that can be read as TOML at {str(about)!r}.") from None
    return check_answers(answers)


def _verdict(audit: Path | None, model: Any) -> Mapping[str, Any] | None:
    """Read a verdict of the auditor; refuse one that is not about the method."""
    if audit is None:
        return None
    try:
        found = json.loads(audit.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InvalidParameter(f"there is no verdict that can be read as JSON at {str(audit)!r}.") from None
    check_about(MethodVerdict.of_json(found), type(model).__name__)
    return cast("Mapping[str, Any]", found)


@contextmanager
def telling(ledger: Ledger | None, out: Answering) -> Iterator[None]:
    """Say, when something is interrupted or fails, whether anything was charged before."""
    before = 0 if ledger is None else len(ledger.entries())
    try:
        yield
    except BaseException as failure:
        # Naming the parts of a split is an entry, too, and no charge.
        new = [] if ledger is None else ledger.entries()[before:]
        charged = any(entry.partition is None for entry in new)
        if charged or isinstance(failure, KeyboardInterrupt):
            out.warn("The ledger was charged: noise may have been drawn." if charged else "Nothing was charged.")
        raise


def write_all(pieces: Mapping[Path, Callable[[Path], None]], as_json: bool) -> None:
    """Write every file; what cannot be written where it should goes to the temporary folder, and the command fails."""
    lost: dict[Path, Path | None] = {}
    for path, write in pieces.items():
        try:
            write(path)
        except FileNotWritten:
            other = Path(tempfile.mkdtemp(prefix="tacit-")) / path.name
            try:
                write(other)
                lost[path] = other
            except FileNotWritten:
                lost[path] = None
    if lost:
        words = "; ".join(f"{path} is at {other}" if other else f"{path} is lost" for path, other in lost.items())
        refuse("FileNotWritten", f"the fit was made, and not every file could be written: {words}.", FAILED, as_json)


def priced(price: Any) -> dict[str, Any]:
    """Return what something would cost as plain values."""
    return {
        "charged": False,
        "cost": None if price.budget is None else exact_amount(price.budget),
        "affordable": price.affordable,
        "left": None if price.left is None else exact_amount(price.left),
    }


def _told(model: Any, records: Records, card: Card) -> dict[str, Any]:
    release = model.release_
    return {
        "kind": type(model).__name__,
        "guarantee": release.guarantee,
        "private": release.private,
        "unit": release.unit,
        "cost": None if release.budget is None else exact_amount(release.budget),
        "charged": release.entry is not None,
        "entry": None if release.entry is None else release.entry.number,
        "left": card.tacit.get("ledger", {}).get("left"),
        "n": records.n,
        "features": int(model.n_features_in_),
        "classes": [str(name) for name in getattr(model, "classes_", [])],
        "open": card.open,
    }


def shown(plain: Mapping[str, Any]) -> str:
    """Return what a person wants to know of a model that was made and paid for."""
    left = "" if plain["left"] is None else f"left       {plain['left']['words']}\n"
    return (
        f"model      {plain['model']}\nreport     {plain['report']}\nguarantee  {plain['guarantee']}\n"
        f"charged    {'entry ' + str(plain['entry']) if plain['charged'] else 'nothing'}\n{left}"
        f"next       tacit inspect {shlex.quote(plain['model'])}"
    )


def repeated(command: str, source: str, schema: Path, epsilon: float, options: Iterable[tuple[str, str | None]]) -> str:
    """Return the command that does it again, ready to be pasted, without the places of this machine."""
    words = ["tacit", command, _name(source), "--schema", schema.name, "--epsilon", f"{epsilon:g}"]
    for option, value in options:
        words += [] if value is None else [option, value]
    return shlex.join(words)


def records_options(unit: str | None, key: str | None, part: str) -> list[tuple[str, str | None]]:
    """Return the options that say which records were meant."""
    return [("--unit", unit), ("--key", key), ("--part", None if part == "all" else part)]


def _name(source: str) -> str:
    return source.rpartition("#")[2] if "#" in source else Path(source).name
