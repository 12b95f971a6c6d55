"""`tacit evaluate`: private scores of a model on records that it did not learn from, charged once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.budget import Budget
from tacit.cli import sources
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.predict import ModelFile
from tacit.cli.train import priced, telling, write_all
from tacit.errors import InvalidParameter
from tacit.estimators.price import price_of
from tacit.evaluation import Figure, report
from tacit.files import check_room, write_whole
from tacit.models.file import load
from tacit.reports.card import card_of_scores
from tacit.reports.page import model_page
from tacit.reports.scores import pictures_of, scored

EXAMPLE = example(
    "tacit evaluate m.tacit patients.csv --part test --epsilon 0.2 --ledger sqlite:///l.db --report scores.html"
)


def evaluate(
    model: ModelFile,
    source: sources.Source,
    epsilon: Annotated[float, typer.Option(help="How much the scores may cost, all of them together.")],
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail.")] = 0.0,
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    report_file: Annotated[
        Path | None, typer.Option("--report", help="The report; by default beside the model, as .scores.html.")
    ] = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a model on held-out records: every usual figure with its error bars, for one charge.

    Trained on --part train and evaluated on --part test of the same table, the two cost the larger of both.
    """
    with answering(as_json, quiet) as out:
        found, paying = load(model), sources.account(ledger, account_name, seed)
        encoder = getattr(found, "encoder_", None)
        if encoder is None:
            raise InvalidParameter("this model learned from arrays: evaluate it in Python, tacit.evaluation.report.")
        place = report_file or model.with_suffix(".scores.html")
        records = sources.opened(source, encoder.schema, unit=unit, key=key, part=part)
        from_account = records.account(paying)
        if dry_run:
            price = price_of("report", Budget(epsilon, delta), None, from_account, records.whom)
            out.result(priced(price), str(price))
            return
        check_room(place)
        if paying is None and seed is None:
            out.warn("No ledger was given: the scores are private, and nobody remembers what they cost.")
        with telling(paying, out), out.progress(f"scoring on {records.n:,} records"):
            told = report(found, records, epsilon=epsilon, delta=delta, ledger=paying, random_state=seed)
        plain = {
            "guarantee": told.release.guarantee,
            "private": told.release.private,
            "charged": told.release.entry is not None,
            "n": records.n,
            "scores": {name: _figure(figure) for name, figure in told.figures().items()},
            "report": str(place),
        }
        # What was paid for is told before anything else can fail.
        out.result(plain, f"{told}\nreport     {place}")
        card = card_of_scores(found, told.release, ledger=paying)
        page = model_page(
            found, card, scores=scored(told), scores_guarantee=told.release.guarantee, pictures=pictures_of(told)
        )
        write_all({place: lambda path: write_whole(path, [page.encode("utf-8", "replace")])}, as_json=False)


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "noise": list(figure.noise),
        "sampling": list(figure.sampling),
        "interval": list(figure.interval),
        "confidence": figure.confidence,
    }
