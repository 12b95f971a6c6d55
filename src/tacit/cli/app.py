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


app.command(epilog=train.EXAMPLE)(train.train)
app.command(epilog=predict.EXAMPLE)(predict.predict)
app.command(epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.command(epilog=tune.EXAMPLE)(tune.tune)
app.command(epilog=inspect.EXAMPLE)(inspect.inspect)
app.command(epilog=query.EXAMPLE)(query.query)
app.command(epilog=explain.EXAMPLE)(explain.explain)
app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")
app.command(epilog=audit.EXAMPLE)(audit.audit)
app.command(epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command(epilog=demo.EXAMPLE)(demo.demo)
app.command(epilog=serve.EXAMPLE)(serve.serve)
