"""`tacit ledger`: create, show, verify and divide budget accounts."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Group
from rich.table import Table

from tacit.accounting.events import event_to_json
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.accounting.unit import Kind
from tacit.budget import Budget
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.console import cell, console
from tacit.cli.places import Inputs
from tacit.errors import InvalidParameter
from tacit.files import write_whole
from tacit.reports.card import card_of_ledger
from tacit.reports.facts import account, charge, exact_amount

app = typer.Typer(
    help="Budget accounts: create one, look at what was spent, verify its history.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Address = Annotated[str, typer.Argument(help='"sqlite:///file.db" or "postgresql://user@host/database".')]
Name = Annotated[str | None, typer.Option(help="The account; may be left out if there is only one.")]
_ROOM_FOR_EVENTS = 120
_COLUMNS = ("#", "time (UTC)", "part", "payer", "what", "charged", "event")
_SPLIT = re.compile(r" at \[[\d, ]+\] of ([0-9a-f]{8})[0-9a-f]{24}")
_WITNESS = {"name", "count", "head"}


@app.command(epilog=example("tacit ledger create sqlite:///new.db --name clinic --epsilon 1"))
def create(
    address: Address,
    name: Annotated[str, typer.Option(help="What to call the account.")],
    epsilon: Annotated[str | None, typer.Option(help="The epsilon that all releases together may cost.")] = None,
    delta: Annotated[str, typer.Option(help="The delta that all releases together may cost.")] = "0",
    budget: Annotated[str | None, typer.Option(help='Both in one: "epsilon=1, delta=1e-6".')] = None,
    accountant: Annotated[
        Literal["basic", "renyi", "gaussian"],
        typer.Option(help="basic (sums), renyi (many small releases) or gaussian (Gaussian noise alone)."),
    ] = "basic",
    unit: Annotated[Kind, typer.Option(help="Whom the account promises for.")] = "record",
    ids: Annotated[
        list[str] | None,
        typer.Option(help="The column of persons' ids; give one option for each, if the same persons' have several."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Open a new account."""
    with answering(as_json, quiet) as out:
        if (epsilon is None) == (budget is None):
            raise InvalidParameter('give --epsilon, or --budget "epsilon=1, delta=1e-6".')
        amount = _amount(epsilon, delta, budget)
        ledger = Ledger.create(address, name=name, budget=amount, accountant=accountant, unit=unit, ids=ids or ())
        out.result(_account(ledger), f"created {_words(ledger)}\n{explain(ledger.budget, ledger.unit)}")


@app.command(epilog=example("tacit ledger show sqlite:///l.db"))
def show(
    address: Address,
    name: Name = None,
    card: Annotated[bool, typer.Option("--card", help="Print the account's privacy card, as YAML.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show an account: budget, spent, left, and every entry."""
    with answering(as_json, quiet) as out:
        ledger = Ledger.open(address, name=name)
        if card:
            made = card_of_ledger(ledger)
            out.document(made.plain(), made.to_yaml())
            return
        entries = ledger.entries()
        table = Table(title=cell(_words(ledger)))
        rows = [_row(entry) for entry in entries]
        shown = [place for place, name in enumerate(_COLUMNS) if _is_shown(name, [row[place] for row in rows])]
        for place in shown:
            table.add_column(_COLUMNS[place], overflow="fold")
        for row in rows:
            table.add_row(*(cell(row[place]) for place in shown))
        rest = f"budget  {ledger.budget}\nspent   {ledger.spent}\nleft    {ledger.remaining}\nhead    {ledger.head}"
        plain = {**_account(ledger), "entries": [charge(entry) for entry in entries]}
        out.result(plain, Group(table, rest))


@app.command("list", epilog=example("tacit ledger list sqlite:///l.db"))
def list_accounts(address: Address, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """List the accounts at an address, with what is left of each."""
    with answering(as_json, quiet) as out:
        ledgers = [Ledger.open(address, name=name) for name in Ledger.names(address)]
        table = Table()
        for column in ("account", "unit", "budget", "spent", "left"):
            table.add_column(column, overflow="fold")
        for ledger in ledgers:
            row = ledger.name, str(ledger.whom), str(ledger.budget), str(ledger.spent), str(ledger.remaining)
            table.add_row(*(cell(text) for text in row))
        out.result({"accounts": [_account(ledger) for ledger in ledgers]}, table)


@app.command(
    epilog=example("tacit ledger verify sqlite:///l.db", "tacit ledger verify sqlite:///l.db --witness w.json")
)
def verify(
    address: Address,
    name: Name = None,
    head: Annotated[str | None, typer.Option(help="A hash noted earlier that the history must contain.")] = None,
    witness: Annotated[Path | None, typer.Option(help="A file that `tacit ledger witness` wrote earlier.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Verify the history of an account.

    Exit code 1 if it was changed or shortened.
    """
    with answering(as_json, quiet) as out:
        if witness is not None:
            name, head = _witnessed(witness, name, head)
        ledger = Ledger.open(address, name=name, head=head)
        count, last = len(ledger.entries()), ledger.head
        plain = {"name": ledger.name, "holds": True, "count": count, "head": last}
        out.result(plain, f"{cell(ledger.name)}: {count} entries, unbroken; head {last}")


@app.command(epilog=example("tacit ledger witness sqlite:///l.db --output w.json"))
def witness(
    address: Address,
    name: Name = None,
    output: Annotated[Path | None, typer.Option(help="The file to write; by default it is printed.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Note how far an account's history goes.

    Keep it elsewhere: `verify --witness` notices if the history was cut since.
    """
    with answering(as_json, quiet) as out:
        ledger = Ledger.open(address, name=name)
        count, head = len(ledger.entries()), ledger.head
        plain = {"name": ledger.name, "count": count, "head": head}
        if output is None:
            out.document(plain, json.dumps(plain) + "\n")
            return
        Inputs(ledger=address).spare([output])
        write_whole(output, [(json.dumps(plain) + "\n").encode()])
        out.result({**plain, "output": str(output)}, f"{output}: {count} entries, head {head}")


@app.command(epilog=example("tacit ledger partition sqlite:///l.db --title site --part north --part south"))
def partition(
    address: Address,
    title: Annotated[str, typer.Option(help="What to call the partition.")],
    part: Annotated[list[str], typer.Option(help="A part; give one option for each.")],
    fixed_by: Annotated[
        Literal["index", "key"], typer.Option(help="What fixes a record's part: its place, or a key it keeps.")
    ] = "key",
    name: Name = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Divide an account among disjoint parts of the records.

    Together they cost what the largest part does.
    """
    with answering(as_json, quiet) as out:
        parts = Ledger.open(address, name=name).partition(title, part, fixed_by=fixed_by)
        plain = {"partition": title, "fixed_by": fixed_by}
        left = {each: exact_amount(ledger.remaining) for each, ledger in parts.items()}
        lines = [f"{cell(each)}: {ledger.remaining} left" for each, ledger in parts.items()]
        out.result({**plain, "left": left}, "\n".join(lines))


def _amount(epsilon: str | None, delta: str, budget: str | None) -> Budget:
    """Read a budget; say which option was wrong."""
    if budget is not None:
        return Budget.parse(budget)
    for name, text, most in (("epsilon", epsilon, None), ("delta", delta, 1)):
        try:
            number = Fraction(str(text))
        except (ValueError, ZeroDivisionError):
            number = Fraction(-1)
        if number < 0 or (most is None and not number) or (most is not None and number >= most):
            wanted = (
                "a finite number above 0, such as 1" if most is None else "a number from 0 to below 1, such as 1e-6"
            )
            raise InvalidParameter(f"--{name} must be {wanted}, got {text!r}.")
    return Budget.parse(f"epsilon={epsilon}, delta={delta}")


def _witnessed(path: Path, name: str | None, head: str | None) -> tuple[str, str]:
    """Return the account and the head that a witness speaks of."""
    try:
        plain = json.loads(path.read_text("utf-8"))
        known = isinstance(plain, dict) and plain.keys() == _WITNESS
        known = known and all(isinstance(plain[each], str) for each in ("name", "head"))
    except (OSError, ValueError, RecursionError):
        known = False
    if not known:
        raise InvalidParameter(f"there is no witness at {str(path)!r}. `tacit ledger witness` writes them.")
    if head is not None or name not in (None, plain["name"]):
        raise InvalidParameter("a witness names the account and the hash by itself: leave --name and --head out.")
    return plain["name"], plain["head"]


def _words(ledger: Ledger) -> str:
    return f"{ledger.name} ({ledger.accountant} account, {ledger.whom.neighbours})"


def _account(ledger: Ledger) -> dict[str, Any]:
    return {**account(ledger), "unit": ledger.unit, "ids": list(ledger.whom.ids or ())}


def _is_shown(column: str, cells: list[str]) -> bool:
    """Whether there is something to show, and room for it: events would fold to ribbons, and are in --json."""
    if column == "event":
        return console.width >= _ROOM_FOR_EVENTS
    return column not in ("part", "payer") or any(cells)


def _row(entry: Entry) -> tuple[str, ...]:
    charged, event = "", ""
    if entry.event is not None:
        charged, event = str(entry.amount), event_to_json(entry.event)
    elif entry.partition is not None:
        charged = f"parts: {', '.join(entry.partition.parts)}"
    part = " / ".join(f"{partition}={part}" for partition, part in entry.path)
    time, payer = str(entry.time)[:16].replace("T", " "), entry.payer or ""
    return str(entry.number), time, _short(part), payer, _short(str(entry.label)), charged, event


def _short(text: str) -> str:
    """Cut the name of a split to what tells it from others; --json has it whole."""
    return _SPLIT.sub(r" \1", text)
