"""`tacit train`: from a table and its schema to a model file with a card and a report, charged once."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import sources
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.methods import (
    ClassWeights,
    CurvesGiven,
    LandmarksGiven,
    MethodName,
    Shape,
    model_for,
    public_table,
    shape,
)
from tacit.cli.paying import carded, finish, foretell, names_of, priced, telling
from tacit.cli.places import Inputs
from tacit.cli.products import (
    About,
    Added,
    AuditFile,
    CardFile,
    Files,
    Overwrite,
    name_of,
    paying_options,
    records_options,
    repeated,
    shown,
)
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.estimators.odd_terms import warn_of_charge
from tacit.models.file import check_declared
from tacit.reports.card import Card, card_of_model
from tacit.reports.facts import exact_amount
from tacit.reports.page import model_page

EXAMPLE = example(
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --ledger sqlite:///l.db --output m.tacit",
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --method kernel --output k.tacit",
)


def train(
    source: sources.Source,
    schema: sources.SchemaFile,
    epsilon: Annotated[float, typer.Option(help="How much privacy the model may cost; usual values are 0.1 to 10.")],
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail; 0 promises for sure.")] = 0.0,
    method: MethodName = "auto",
    kernel: Annotated[Shape | None, typer.Option(help="Of --method kernel; quadratic by default.")] = None,
    landmarks: LandmarksGiven = None,
    class_weight: ClassWeights = None,
    curves: CurvesGiven = "auto",
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    output: sources.ModelOutput = Path("model.tacit"),
    report: sources.ModelReport = None,
    card: CardFile = None,
    about: About = None,
    audit: AuditFile = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    overwrite: Overwrite = False,
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model: charge the ledger, learn, and write the model, its card and a report."""
    with answering(as_json, quiet) as out:
        files = Files(report or output.with_suffix(".html"), output, card, overwrite)
        declared, added = Schema.load(schema), Added.read(about, audit)
        check_declared(declared)
        paying = sources.account(ledger, account_name, seed, epsilon, part)
        records = sources.opened(source, declared, unit=unit, key=key, part=part)
        model = model_for(
            method,
            records,
            epsilon=epsilon,
            delta=delta,
            landmarks=landmarks,
            kernel=kernel,
            source=source,
            ledger=None if paying is None else paying.looking(),
            random_state=seed,
        )
        shape(model, class_weight, curves)
        price = model.price(records)
        foretell(price, paying, records, out)
        if dry_run:
            if price.budget is not None:
                warn_of_charge(price.budget, paying, records)
            for words in price.odd:
                out.warn(f"Warning: {words}")
            out.result(priced(price), str(price))
            return
        files.check(Inputs((source, public_table(landmarks)), ledger, (schema, about, audit)))
        added.check_about(model, records)
        if paying is None and seed is None:
            out.warn("No ledger was given: the model is private, and nobody remembers what it cost.")
        options = [
            ("--delta", f"{delta:g}" if delta else None),
            ("--method", None if method == "auto" else method),
            ("--kernel", kernel),
            ("--landmarks", None if landmarks is None else name_of(landmarks)),
            *(("--class-weight", text) for text in class_weight or ()),
            ("--curves", None if curves == "auto" else curves),
            *records_options(records, part),
            *paying_options(ledger, account_name, seed),
            ("--output", output.name),
        ]
        again = repeated("train", name_of(source), "--schema", schema.name, epsilon=epsilon, options=options)

        def keep() -> Card:
            made: Card = carded(lambda of: card_of_model(model, ledger=of, **vars(added)), paying, out)
            files.write(model, made, lambda: model_page(model, made, again=again))
            return made

        model.ledger = paying
        with telling(paying):
            with out.progress(f"training on {records.n:,} records"):
                model.fit(records)
            made = finish(out, keep)
            plain = {**_told(model, records, made), "model": str(output), "report": str(files.report)}
            out.result(plain, shown(plain), names_of(files.all))
        if made.open:
            look = shlex.join(["tacit", "inspect", str(output), "--card", "yaml"])
            out.note(f"{len(made.open)} fields of its card are for a person to fill in: {look}")


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
