"""The `tacit` command and its subcommands."""

from typing import Annotated

import typer

from tacit.cli.audit import EXAMPLE as AUDIT
from tacit.cli.audit import audit
from tacit.cli.demo import EXAMPLE as DEMO
from tacit.cli.demo import demo
from tacit.cli.evaluate import EXAMPLE as EVALUATE
from tacit.cli.evaluate import evaluate
from tacit.cli.explain import EXAMPLE as EXPLAIN
from tacit.cli.explain import explain
from tacit.cli.group import TacitGroup
from tacit.cli.inspect import EXAMPLE as INSPECT
from tacit.cli.inspect import inspect
from tacit.cli.ledger import app as ledger
from tacit.cli.predict import EXAMPLE as PREDICT
from tacit.cli.predict import predict
from tacit.cli.query import EXAMPLE as QUERY
from tacit.cli.query import query
from tacit.cli.reproduce import EXAMPLE as REPRODUCE
from tacit.cli.reproduce import reproduce
from tacit.cli.schema import app as schema
from tacit.cli.serve import EXAMPLE as SERVE
from tacit.cli.serve import serve
from tacit.cli.train import EXAMPLE as TRAIN
from tacit.cli.train import train
from tacit.cli.tune import EXAMPLE as TUNE
from tacit.cli.tune import tune
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


app.command(epilog=TRAIN)(train)
app.command(epilog=PREDICT)(predict)
app.command(epilog=EVALUATE)(evaluate)
app.command(epilog=TUNE)(tune)
app.command(epilog=INSPECT)(inspect)
app.command(epilog=QUERY)(query)
app.command(epilog=EXPLAIN)(explain)
app.add_typer(schema, name="schema")
app.add_typer(ledger, name="ledger")
app.command(epilog=AUDIT)(audit)
app.command(epilog=REPRODUCE)(reproduce)
app.command(epilog=DEMO)(demo)
app.command(epilog=SERVE)(serve)
