"""The `tacit` command and its subcommands."""

import typer

from tacit.cli.audit import audit
from tacit.cli.demo import demo
from tacit.cli.ledger import app as ledger

app = typer.Typer(
    name="tacit",
    help="Learn from records; repeat none of them. Guarantees are for replace-one neighbours with public n.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(audit)
app.command()(demo)
app.add_typer(ledger, name="ledger")
