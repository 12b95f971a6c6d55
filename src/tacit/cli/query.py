"""`tacit query`: a statistical question about records, answered with noise and charged once."""

from typing import Annotated, Any

import typer

from tacit.cli import sources
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.paying import foretell, priced, telling, warn_unpaid
from tacit.errors import InvalidParameter
from tacit.estimators.price import price_of
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.reports.facts import exact_amount
from tacit.sums.query import query_of

EXAMPLE = example(
    "tacit query patients.csv 'age > 60 and smoker' --schema s.toml --epsilon 0.1 --ledger sqlite:///l.db"
)


def query(
    source: sources.Source,
    question: Annotated[
        str, typer.Argument(help="Such as: age > 60 and ward in ['A', 'B'], column('hours a week') > 40.")
    ],
    schema: sources.SchemaFile = None,
    epsilon: Annotated[float | None, typer.Option(help="How much the answer may cost.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Or how far it may be off; the cost follows.")] = None,
    delta: Annotated[float, typer.Option(help="The chance that the promise may fail.")] = 0.0,
    confidence: Annotated[float, typer.Option(help="How sure the answer's tolerance is.")] = 0.95,
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Ask which share of the records something is true of, or for the mean of a number with declared bounds."""
    with answering(as_json, quiet) as out:
        if (epsilon is None) == (tolerance is None):
            raise InvalidParameter("give --epsilon, what the answer may cost, or --tolerance, how far it may be off.")
        declared = sources.schema_of(schema, source)
        paying = sources.account(ledger, account_name, seed, epsilon, part)
        asked = query_of(question, declared.columns)
        records = sources.part_of(sources.opened(source, declared, out, unit=unit, key=key), part)
        oracle = StatisticalOracle(records, ledger=None if paying is None else paying.looking(), random_state=seed)
        how: dict[str, Any] = {"epsilon": epsilon, "tolerance": tolerance, "delta": delta, "confidence": confidence}
        if dry_run or paying is not None:
            plan = oracle.preview([asked], **how)
            event, at = oracle.event_of([asked], plan)
            pays = None if paying is None else records.account(paying.looking())
            price = price_of("the answer", at, event, pays, records.whom)
            foretell(price, paying, records, out)
        if dry_run:
            out.result({**priced(price), "tolerance": plan.tolerance}, f"{plan}\n{price}")
            return
        warn_unpaid(out, paying, seed, "the answer is")
        with telling(paying):
            oracle = StatisticalOracle(records, ledger=paying, random_state=seed)
            answer = oracle.ask(asked, **how)
            plain = {
                "question": question,
                "value": float(answer.value),
                "tolerance": float(answer.tolerance),
                "confidence": answer.confidence,
                "cost": exact_amount(answer.plan.budget),
                "private": answer.private,
                "repeated": answer.repeated,
                "n": records.n,
            }
            kind = "" if answer.private else " (NOT private: a rehearsal)"
            value, near = _figure(float(answer.value), 6), _figure(float(answer.tolerance), 3)
            again = " (told before, under this account: nothing was charged)" if answer.repeated else ""
            out.result(plain, f"{value} within {near} of the population's at confidence {confidence:.3g}{kind}{again}")


def _figure(value: float, digits: int) -> str:
    """Write a number with some digits, a large one in whole units and not as a power of ten."""
    return f"{value:,.0f}" if 10.0**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"
