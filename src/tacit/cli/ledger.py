"""`tacit ledger`: create, show and verify budget accounts."""

from typing import Annotated

import typer
from rich.table import Table

from tacit.accounting.events import event_to_json
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.accounting.unit import NEIGHBOURS
from tacit.budget import Budget
from tacit.cli.console import cell, console, one_line_errors, say

app = typer.Typer(help="Budget accounts: create one, look at what was spent, verify its history.", no_args_is_help=True)

Address = Annotated[str, typer.Argument(help='"sqlite:///file.db" or "postgresql://user@host/database".')]
Name = Annotated[str | None, typer.Option(help="The account; may be left out if there is only one.")]


@app.command()
def create(
    address: Address,
    name: Annotated[str, typer.Option(help="What to call the account.")],
    budget: Annotated[str, typer.Option(help='Such as "1" or "epsilon=1, delta=1e-6".')],
    accountant: Annotated[
        str, typer.Option(help="basic (sums), renyi (many small releases) or gaussian (Gaussian noise alone).")
    ] = "basic",
    unit: Annotated[str, typer.Option(help="Whom it promises for: record, or person (all their rows).")] = "record",
) -> None:
    """Open a new account."""
    with one_line_errors():
        amount = Budget.parse(budget)
        ledger = Ledger.create(address, name=name, budget=amount, accountant=accountant, unit=unit)  # type: ignore[arg-type]
        say(f"created {ledger!r}")
        say(explain(ledger.budget))


@app.command()
def show(address: Address, name: Name = None) -> None:
    """Show an account: budget, spent, left, and every entry."""
    with one_line_errors():
        ledger = Ledger.open(address, name=name)
        table = Table(title=cell(f"{ledger.name} ({ledger.accountant} account, {NEIGHBOURS[ledger.unit]})"))
        for column in ("#", "time (UTC)", "part", "what", "charged", "event"):
            table.add_column(column, overflow="fold")
        for entry in ledger.entries():
            table.add_row(*(cell(text) for text in _row(entry)))
        console.print(table)
        say(f"budget  {ledger.budget}\nspent   {ledger.spent}\nleft    {ledger.remaining}\nhead    {ledger.head}")


def _row(entry: Entry) -> tuple[str, ...]:
    charged, event = "", ""
    if entry.event is not None:
        charged, event = str(entry.amount), event_to_json(entry.event)
    elif entry.partition is not None:
        charged = f"parts: {', '.join(entry.partition.parts)}"
    part = " / ".join(f"{partition}={part}" for partition, part in entry.path)
    return str(entry.number), str(entry.time)[:19], part, str(entry.label), charged, event


@app.command()
def verify(
    address: Address,
    name: Name = None,
    head: Annotated[str | None, typer.Option(help="A hash noted earlier that the history must contain.")] = None,
) -> None:
    """Verify the whole history of an account; exit code 2 if it was changed or shortened."""
    with one_line_errors():
        ledger = Ledger.open(address, name=name, head=head)
        say(f"{cell(ledger.name)}: {len(ledger.entries())} entries, unbroken; head {ledger.head}")
