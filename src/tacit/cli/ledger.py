"""`tacit ledger`: create, show and verify budget accounts."""

from typing import Annotated

import typer
from rich.table import Table

from tacit.accounting.events import event_to_json
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.budget import Budget
from tacit.cli.console import console, one_line_errors

__all__ = ["app"]

app = typer.Typer(help="Budget accounts: create one, look at what was spent, verify its history.", no_args_is_help=True)

Address = Annotated[str, typer.Argument(help='"sqlite:///file.db" or "postgresql://user@host/database".')]
Name = Annotated[str | None, typer.Option(help="The account; may be left out if there is only one.")]


@app.command()
def create(
    address: Address,
    name: Annotated[str, typer.Option(help="What to call the account.")],
    budget: Annotated[str, typer.Option(help='Such as "1" or "epsilon=1, delta=1e-6".')],
    accountant: Annotated[str, typer.Option(help="basic (sums) or renyi (many Gaussian releases).")] = "basic",
) -> None:
    """Open a new account."""
    with one_line_errors():
        ledger = Ledger.create(address, name=name, budget=Budget.parse(budget), accountant=accountant)  # type: ignore[arg-type]
        console.print(f"created {ledger!r}", markup=False)
        console.print(explain(ledger.budget))


@app.command()
def show(address: Address, name: Name = None) -> None:
    """Show an account: budget, spent, left, and every entry."""
    with one_line_errors():
        ledger = Ledger.open(address, name=name)
        table = Table(title=f"{ledger.name} ({ledger.accountant} account, replace-one neighbours)")
        for column in ("#", "time (UTC)", "part", "what", "charged", "event"):
            table.add_column(column, overflow="fold")
        for entry in ledger.entries():
            table.add_row(
                str(entry.number),
                entry.time[:19],
                " / ".join(f"{partition}={part}" for partition, part in entry.path),
                entry.label,
                str(entry.amount)
                if entry.event is not None
                else f"parts: {', '.join(entry.partition.parts)}"
                if entry.partition
                else "",
                event_to_json(entry.event) if entry.event is not None else "",
            )
        console.print(table)
        console.print(f"budget  {ledger.budget}\nspent   {ledger.spent}\nleft    {ledger.remaining}")
        console.print(f"head    {ledger.head}")


@app.command()
def verify(
    address: Address,
    name: Name = None,
    head: Annotated[str | None, typer.Option(help="A hash noted earlier that the history must contain.")] = None,
) -> None:
    """Verify the whole history of an account; exit code 2 if it was changed or shortened."""
    with one_line_errors():
        ledger = Ledger.open(address, name=name, head=head)
        console.print(f"{ledger.name}: {len(ledger.entries())} entries, unbroken; head {ledger.head}")
