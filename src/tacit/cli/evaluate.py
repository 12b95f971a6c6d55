"""`tacit evaluate`: private scores of a model on records that it did not learn from, charged once."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.budget import Budget
from tacit.cli import products, sources
from tacit.cli.answering import AsJson, Lost, Quiet, answering, example
from tacit.cli.paying import carded, finish, foretell, names_of, priced, telling, warn_unpaid
from tacit.cli.places import Inputs
from tacit.cli.predict import ModelFile, Threshold, loaded
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import FITTED, LearnedFrom, learned_from
from tacit.estimators.price import price_of
from tacit.evaluation import TwoClassReport, report
from tacit.evaluation.foreseen import foreseen_sketch
from tacit.evaluation.matching import listed_classes, positive_place, tells_classes
from tacit.reports.card import card_of_scores
from tacit.reports.scores import at_thresholds, plain_figure, scores_page

EXAMPLE = example(
    "tacit evaluate m.tacit patients.csv --part test --epsilon 0.2 --ledger sqlite:///l.db --report scores.html"
)


def evaluate(
    model: ModelFile,
    source: sources.Source,
    epsilon: Annotated[float, typer.Option(help="How much the scores may cost, all of them together.")],
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail.")] = 0.0,
    threshold: Threshold = None,
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    report_file: Annotated[
        Path | None, typer.Option("--report", help="The report; by default beside the model, as .scores.html.")
    ] = None,
    card: products.CardFile = None,
    about: products.About = None,
    audit: products.AuditFile = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.PartToJudge = None,
    overwrite: products.Overwrite = False,
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a model: every usual figure with its error bars, for one charge.

    A model that was trained on --part train is judged on --part test of the same table: the two cost the larger of
    both. Records that it was trained on are judged if they are asked for, and called so.
    """
    with answering(as_json, quiet) as out:
        found, added = loaded(model), products.Added.read(about, audit)
        paying = sources.account(ledger, account_name, seed, epsilon, part)
        encoder = getattr(found, "encoder_", None)
        if encoder is None:
            raise InvalidParameter("this model learned from arrays: evaluate it in Python, tacit.evaluation.report.")
        files = products.Files(report_file or model.with_suffix(".scores.html"), card=card, overwrite=overwrite)
        origin = learned_from(found)
        records, chosen = sources.to_judge(origin, source, encoder.schema, out, unit=unit, key=key, part=part)
        if tells_classes(found):
            positive_place(records, listed_classes(found))
        if origin is not None:
            judged = LearnedFrom.of(records)
            out.note(f"The model learned from {origin}. Judged are {judged}.")
            if FITTED in origin.says_of(judged):
                out.warn(f"Warning: these are records {FITTED}, or some of them are: scores on them flatter it.")
        budget, pays = Budget(epsilon, delta), None if paying is None else records.account(paying.looking())
        # Every report of so many records is charged as the same event.
        event = foreseen_sketch(records.n, budget).event if budget.exact_epsilon else None
        price = price_of("report", budget, event, pays, records.whom)
        foretell(price, paying, records, out)
        if dry_run:
            out.result(priced(price), str(price))
            return
        files.check(Inputs((source,), ledger, (model, about, audit)))
        added.check_scores(records)
        warn_unpaid(out, paying, seed, "the scores are", "they cost")
        options = [
            ("--threshold", None if threshold is None else f"{threshold:g}"),
            ("--delta", f"{delta:g}" if delta else None),
            *products.terms_of(records, source, chosen, ledger, account_name, seed),
        ]
        again = products.repeated("evaluate", model.name, products.name_of(source), epsilon=epsilon, options=options)

        def keep() -> None:
            made = carded(lambda of: card_of_scores(found, told.release, ledger=of, **vars(added)), paying, out)
            files.write(None, made, lambda: scores_page(found, made, told, again))

        with telling(paying):
            with out.progress(f"scoring on {records.n:,} records"):
                told = report(
                    found, records, epsilon=epsilon, delta=delta, ledger=paying, threshold=threshold, random_state=seed
                )
            plain = {
                "guarantee": told.release.guarantee,
                "private": told.release.private,
                "charged": told.release.entry is not None,
                "n": records.n,
                "part": chosen,
                "judged": told.judged,
                "positive": str(told.classes[1]) if isinstance(told, TwoClassReport) else None,
                "scores": {name: plain_figure(figure) for name, figure in told.figures().items()},
                "thresholds": at_thresholds(told),
                "report": str(files.report),
            }
            lost = None
            try:
                finish(out, keep)
            except Lost as failure:
                lost = Lost(str(failure), printed=True)
            # The report is there whoever hears the scores, and the scores are told whatever became of the report.
            out.result(plain, f"{told}\nreport     {files.report}", "" if lost else names_of(files.all))
            if lost is not None:
                raise lost
