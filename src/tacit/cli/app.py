"""The `tacit` command and its subcommands."""

from typing import Annotated

import typer

from tacit.cli import (
    audit,
    demo,
    evaluate,
    explain,
    inspect,
    ledger,
    predict,
    query,
    reproduce,
    schema,
    serve,
    train,
    tune,
)
from tacit.cli.group import TacitGroup
from tacit.version import VERSION

app = typer.Typer(
    cls=TacitGroup,
    name="tacit",
    help="Learn from records; repeat none of them. Guarantees are for replace-one neighbours with public n.\n\n"
    "Results go to stdout, words to stderr. Exit codes: 0 done or holds, 1 refuted or verification failed, 2 wrong "
    "usage or input, 3 refused for budget, 4 cannot tell, 5 unexpected failure.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {VERSION}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn from records; repeat none of them."""


app.command(epilog=train.EXAMPLE, short_help="From a table and its schema to a model, card and report.")(train.train)
app.command(epilog=predict.EXAMPLE, short_help="What a model file says about the records of a table.")(predict.predict)
app.command(epilog=evaluate.EXAMPLE, short_help="Private scores of a model on records it never saw.")(evaluate.evaluate)
app.command(epilog=tune.EXAMPLE, short_help="The best of some candidates, chosen and paid for once.")(tune.tune)
app.command(epilog=inspect.EXAMPLE, short_help="What a model file promises, holds and leaves open.")(inspect.inspect)
app.command(epilog=query.EXAMPLE, short_help="A share of the records, or the mean of a number.")(query.query)
app.command(epilog=explain.EXAMPLE, short_help="What an epsilon means, in words and as a picture.")(explain.explain)
app.add_typer(schema.app, name="schema", short_help="Begin a schema, and check one.")
app.add_typer(ledger.app, name="ledger", short_help="Budget accounts: create, show, verify, divide.")
app.command(epilog=audit.EXAMPLE, short_help="Attack a claim and say whether it survives.")(audit.audit)
app.command(epilog=reproduce.EXAMPLE, short_help="A table or figure of the papers, computed anew.")(reproduce.reproduce)
app.command(epilog=demo.EXAMPLE, short_help="All of it on 45,222 bundled records, in a minute.")(demo.demo)
app.command(epilog=serve.EXAMPLE, short_help="Answer analysts over HTTP, who never see a record.")(serve.serve)
