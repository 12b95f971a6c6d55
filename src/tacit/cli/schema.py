"""`tacit schema`: begin a schema from a table's catalogue, and check one that was written."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.accounting.ledger import Ledger
from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.console import cell
from tacit.cli.sources import AccountName, LedgerAddress, Source, UnitColumn, account, source_of
from tacit.data.mismatches import Mismatches, mismatches
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.sources.opening import stored_columns
from tacit.errors import InvalidParameter
from tacit.reports.facts import column_in_words

app = typer.Typer(help="Schemas: what may be known about a table without its records.", no_args_is_help=True)


@app.command(epilog=example("tacit schema draft patients.csv"))
def draft(source: Source, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Begin a schema: names and stored types as TOML, for a person to complete. No value is looked at."""
    with answering(as_json, quiet) as out:
        place = source_of(source)
        toml = Schema.draft(place)
        columns = [{"name": name, "stored": stored.words} for name, stored in stored_columns(place).items()]
        # Not through the console: what is redirected into a file is to be the bytes of the draft.
        if as_json:
            out.result({"columns": columns, "schema": toml}, "")
        else:
            typer.echo(toml, nl=False)
        out.note(f"{len(columns)} columns. Declare their bounds and levels from the codebook, never from the records.")


@app.command(
    epilog=example(
        "tacit schema check s.toml --data patients.csv",
        "tacit schema check s.toml --data patients.csv --epsilon 0.1 --ledger sqlite:///l.db",
    )
)
def check(
    schema: Annotated[Path, typer.Argument(help="The schema, as TOML.")],
    data: Annotated[str | None, typer.Option(help="Check that this table has the declared columns, too.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Release with noise, for this charge, how much of each column does not fit.")
    ] = None,
    ledger: LedgerAddress = None,
    account_name: AccountName = None,
    unit: UnitColumn = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check a schema, and that a table can be read by it. Values are looked at only where --epsilon pays for it."""
    with answering(as_json, quiet) as out:
        declared = Schema.load(schema)
        records = None
        if data is not None:
            records = Records(source_of(data), declared, unit=unit)
        elif unit is not None or epsilon is not None:
            raise InvalidParameter("--unit and --epsilon are about a table: give --data as well.")
        if epsilon is None and ledger is not None:
            raise InvalidParameter("nothing is charged without --epsilon: give it, or leave --ledger out.")
        paying = account(ledger, account_name)
        columns = {name: column_in_words(column) for name, column in declared.columns.items()}
        lines = [f"{cell(name)}: {words}" for name, words in columns.items()]
        lines.append(f"target: {declared.target or 'none'}")
        n = None if records is None else records.n
        if n is not None:
            lines.append(f"the table has these columns; n = {n:,}")
        plain: dict[str, Any] = {
            "columns": columns,
            "target": declared.target,
            "classes": list(declared.classes),
            "n": n,
        }
        if records is not None and epsilon is not None:
            found = _mismatches(records, epsilon, paying)
            lines += ["", str(found), *found.words]
            plain["mismatches"] = {each.column: [each.missing, each.undeclared] for each in found.columns}
        out.result(plain, "\n".join(lines))


def _mismatches(records: Records, epsilon: float, ledger: Ledger | None) -> Mismatches:
    """Return what does not fit; its warnings are among the words that are printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return mismatches(records, epsilon=epsilon, ledger=ledger)
