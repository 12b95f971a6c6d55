"""`tacit tune`: the best of some candidates, chosen privately and paid for once, model and all."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import products, sources
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.methods import MethodName, model_for
from tacit.cli.paying import finish, foretell, names_of, priced, telling, warn_unpaid
from tacit.cli.places import Inputs
from tacit.data.curves import MOST_KNOTS
from tacit.errors import InvalidParameter
from tacit.model_selection import PrivateSearch
from tacit.models.file import USUAL_KNOTS, check_declared

EXAMPLE = example(
    "tacit tune patients.csv --schema s.toml --epsilon 0.5 --try alpha=auto,0.01,0.1 --runs 3 --output tuned.tacit"
)


def tune(
    source: sources.Source,
    epsilon: Annotated[float, typer.Option(help="How much everything may cost: all fits, all scores, the model.")],
    candidates: Annotated[
        list[str], typer.Option("--try", help="Values to try, such as alpha=auto,0.01,0.1; one option a parameter.")
    ],
    schema: sources.SchemaFile = None,
    delta: Annotated[float, typer.Option(help="Must be 0: the runs of a search are pure.")] = 0.0,
    method: MethodName = "auto",
    runs: Annotated[float | None, typer.Option(help="How many fits on average; by default 50 or more.")] = None,
    ledger: sources.LedgerAddress = None,
    account_name: sources.AccountName = None,
    output: sources.ModelOutput = Path("model.tacit"),
    report: sources.ModelReport = None,
    card: products.CardFile = None,
    about: products.About = None,
    unit: sources.UnitColumn = None,
    key: sources.KeyColumn = None,
    part: sources.Part = "all",
    overwrite: products.Overwrite = False,
    seed: sources.Seed = None,
    dry_run: sources.DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for the best parameters: two thirds of epsilon go to each run, and the best of them is yours, paid for.

    How long it takes tells how many runs there were, which is not private: do not publish it.
    """
    with answering(as_json, quiet) as out:
        files = products.Files(report or output.with_suffix(".html"), output, card, overwrite)
        if delta:
            raise InvalidParameter(
                "--delta must be 0 in a search: its runs are pure, as nothing bounds what many of them make of a delta."
            )
        declared, added = sources.schema_of(schema, source), products.Added.read(about)
        grid = _grid(candidates)
        check_declared(declared, knots=MOST_KNOTS if "curves" in grid else USUAL_KNOTS)
        paying = sources.account(ledger, account_name, seed, epsilon, part)
        records = sources.part_of(sources.opened(source, declared, out, unit=unit, key=key), part)
        search = PrivateSearch(
            model_for(method, records, source=source),
            grid,
            epsilon=epsilon,
            runs=runs,
            ledger=None if paying is None else paying.looking(),
            random_state=seed,
        )
        price = search.price(records)
        foretell(price, paying, records, out)
        if dry_run:
            out.result(priced(price), str(price))
            return
        files.check(Inputs((source,), ledger, (schema, about)))
        warn_unpaid(out, paying, seed, "the model is")
        options = [
            *(("--try", text) for text in candidates),
            ("--method", None if method == "auto" else method),
            ("--runs", None if runs is None else f"{runs:g}"),
            *products.terms_of(records, source, part, ledger, account_name, seed),
            ("--output", output.name),
        ]
        again = products.repeated("tune", *products.table_in_words(source, schema), epsilon=epsilon, options=options)

        search.ledger = paying
        with telling(paying):
            with out.progress("searching"):
                search.fit(records)
            made = finish(out, lambda: files.write_model(search.best_estimator_, added, paying, again, out))
            plain = {
                "guarantee": search.release_.guarantee,
                "private": search.release_.private,
                **products.charged(search.release_, made),
                "best": dict(search.best_params_),
                "scoring": search.scoring_,
                "score": float(search.best_score_),
                "score_noise": float(search.score_noise_),
                "model": str(output),
                "report": str(files.report),
            }
            chosen = ", ".join(f"{name}={value}" for name, value in search.best_params_.items())
            score = f"{search.best_score_:.4f} (noise within {search.score_noise_:.4f} at 95%)"
            judged = "mean absolute error" if search.scoring_ == "error" else search.scoring_
            words = f"best       {chosen}\n{judged:10} {score}\n{products.shown(plain)}"
            out.result(plain, words, names_of(files.all))


def _grid(given: list[str]) -> dict[str, list[Any]]:
    """Read alpha=auto,0.01,0.1 for each parameter."""
    grid: dict[str, list[Any]] = {}
    for text in given:
        name, mark, values = text.partition("=")
        if not mark or not name.isidentifier() or name in grid or not values:
            raise InvalidParameter(f"--try needs values of a parameter, such as alpha=auto,0.01,0.1; got {text!r}.")
        grid[name] = [_value(value) for value in values.split(",")]
    return grid


def _value(text: str) -> Any:
    """Read a truth value, a number or a word."""
    if text in ("true", "false", "True", "False"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
