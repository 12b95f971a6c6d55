"""The `tacit` command and its subcommands."""

from typing import Annotated

import typer

from tacit.cli.console import printing
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
        with printing():
            typer.echo(f"tacit {VERSION}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn from records; repeat none of them."""
