"""`tacit train`: from a table and its schema to a model file with a card and a report, charged once."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import methods, products, sources
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.paying import finish, foretell, names_of, priced, telling, warn_of_classes, warn_unpaid
from tacit.cli.places import Inputs
from tacit.data.records import Records
from tacit.estimators.odd_terms import warn_of_charge
from tacit.models.file import check_declared
from tacit.reports.card import Card
from tacit.reports.facts import exact_amount

EXAMPLE = example(
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --ledger sqlite:///l.db --output m.tacit",
    "tacit train patients.csv --schema s.toml --epsilon 0.5 --method kernel --output k.tacit",
)


def train(
    source: sources.Source,
    epsilon: Annotated[float, typer.Option(help="How much privacy the model may cost; usual values are 0.1 to 10.")],
    schema: sources.SchemaFile = None,
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail; 0 promises for sure.")] = 0.0,
    method: methods.MethodName = "auto",
    kernel: Annotated[methods.Shape | None, typer.Option(help="Of --method kernel; quadratic by default.")] = None,
    landmarks: methods.LandmarksGiven = None,
    class_weight: methods.ClassWeights = None,
    curves: methods.CurvesGiven = "auto",
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    output: sources.ModelOutput = Path("model.tacit"),
    report: sources.ModelReport = None,
    card: products.CardFile = None,
    about: products.About = None,
    audit: products.AuditFile = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    overwrite: products.Overwrite = False,
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model: charge the ledger, learn, and write the model, its card and a report."""
    with answering(as_json, quiet) as out:
        files = products.Files(report or output.with_suffix(".html"), output, card, overwrite)
        declared, added = sources.schema_of(schema, source), products.Added.read(about, audit)
        check_declared(declared)
        warn_of_classes(declared, out)
        paying = sources.account(ledger, account_name, seed, epsilon, part)
        records = sources.part_of(sources.opened(source, declared, out, unit=unit, key=key), part)
        model = methods.model_for(
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
        methods.shape(model, class_weight, curves)
        price = model.price(records)
        foretell(price, paying, records, out)
        if dry_run:
            if price.budget is not None:
                warn_of_charge(price.budget, paying, records)
            for words in price.odd:
                out.warn(f"Warning: {words}")
            out.result(priced(price), str(price))
            return
        files.check(Inputs((source, methods.public_table(landmarks)), ledger, (schema, about, audit)))
        added.check_about(model, records)
        warn_unpaid(out, paying, seed, "the model is")
        options = [
            ("--delta", f"{delta:g}" if delta else None),
            ("--method", None if method == "auto" else method),
            ("--kernel", kernel),
            ("--landmarks", None if landmarks is None else products.name_of(landmarks)),
            *(("--class-weight", text) for text in class_weight or ()),
            ("--curves", None if curves == "auto" else curves),
            *products.terms_of(records, source, part, ledger, account_name, seed),
            ("--output", output.name),
        ]
        again = products.repeated("train", *products.table_in_words(source, schema), epsilon=epsilon, options=options)

        model.ledger = paying
        with telling(paying):
            with out.progress(f"training on {records.n:,} records"):
                model.fit(records)
            made = finish(out, lambda: files.write_model(model, added, paying, again, out))
            plain = {**_told(model, records, made), "model": str(output), "report": str(files.report)}
            out.result(plain, products.shown(plain), names_of(files.all))
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
        **products.charged(release, card),
        "n": records.n,
        "features": int(model.n_features_in_),
        "classes": [str(name) for name in getattr(model, "classes_", [])],
        "open": card.open,
    }
