"""`tacit schema`: begin a schema from a table's catalogue, and check one that was written."""

import math
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.accounting.ledger import Ledger
from tacit.cli.answering import Answering, AsJson, Quiet, answering, example
from tacit.cli.console import cell
from tacit.cli.paying import telling, warn_of_classes, warn_unpaid
from tacit.cli.sources import AccountName, LedgerAddress, Source, UnitColumn, account, opened, source_of
from tacit.data.column_words import column_in_words
from tacit.data.mismatches import Mismatches
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.source_opening import stored_columns
from tacit.data.store.packed_file import is_packed, schema_of_packed
from tacit.errors import InvalidParameter

app = typer.Typer(
    help="Schemas: what may be known about a table without its records.", no_args_is_help=True, rich_markup_mode=None
)


@app.command(epilog=example("tacit schema draft patients.csv"))
def draft(source: Source, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Begin a schema, for a person to complete.

    Names and stored types are written as TOML. No value is looked at.
    """
    with answering(as_json, quiet) as out:
        if is_packed(source):
            raise InvalidParameter("packed records have their schema: `tacit records show` prints it.")
        place = source_of(source)
        toml = Schema.draft(place)
        columns = [{"name": name, "stored": stored.words} for name, stored in stored_columns(place).items()]
        out.document({"columns": columns, "schema": toml}, toml)
        if len(columns) == 1 and any(mark in columns[0]["name"] for mark in ";\t|"):
            out.warn(
                "There is one column: are they separated by something else than commas? Save the file with commas."
            )
        count = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        out.note(f"{count}. Declare their bounds and levels from the codebook, never from the records.")


@app.command(
    epilog=example(
        "tacit schema check s.toml --data patients.csv",
        "tacit schema check s.toml --data patients.csv --epsilon 0.1 --ledger sqlite:///l.db",
    )
)
def check(
    schema: Annotated[Path, typer.Argument(help="The schema, as TOML.")],
    data: Annotated[str | None, typer.Option(help="Check that this table has the declared columns, too.")] = None,
    unit: UnitColumn = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Look at the values, too, for this much: do they fit what is declared?")
    ] = None,
    ledger: LedgerAddress = None,
    account_name: AccountName = None,
    seed: Annotated[int | None, typer.Option(help="Rehearse: repeatable, NOT private, never charged.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check a schema, and that a table can be read by it.

    Values are looked at only for an --epsilon.
    """
    with answering(as_json, quiet) as out:
        declared = Schema.load(schema)
        if data is None and (unit, epsilon, ledger, seed) != (None,) * 4:
            raise InvalidParameter("--unit, --epsilon, --ledger and --seed are about a table: give --data as well.")
        if epsilon is None and (ledger, seed) != (None, None):
            raise InvalidParameter("--ledger and --seed are for looking at values: give --epsilon as well.")
        if data is not None and is_packed(data) and schema_of_packed(Path(data)) != declared:
            raise InvalidParameter("these records were packed under another schema: `tacit records show` prints it.")
        records = None if data is None else opened(data, declared, out, unit=unit)
        n = None if records is None else records.n
        found = None
        if records is not None and epsilon is not None:
            found = _mismatches(records, epsilon, account(ledger, account_name, seed, epsilon), seed, out)
        columns = {name: column_in_words(column) for name, column in declared.columns.items()}
        lines = [f"{cell(name)}: {words}" for name, words in columns.items()]
        positive = declared.positive
        about = "" if positive is None else f" (positive: {positive})"
        lines.append(f"target: {declared.target or 'none'}{about}")
        if n is not None:
            lines.append(f"the table has these columns; n = {n:,}")
        plain: dict[str, Any] = {
            "columns": columns,
            "target": declared.target,
            "classes": list(declared.classes),
            "positive": positive,
            "n": n,
        }
        warn_of_classes(declared, out)
        if found is not None:
            lines += ["", str(found), *found.words]
            plain["mismatches"] = {
                each.column: {"missing": each.missing, "undeclared": each.undeclared} for each in found.columns
            }
            plain["words"] = list(found.words)
            plain["noise"] = found.noise_error
            plain["guarantee"] = found.release.guarantee
        elif records is not None:
            # At which shares of missing and undeclared values are told to within 5 %, by public facts.
            count = len(declared.columns)
            enough = f"{max(0.001, 2 * count * math.log(40 * count) / (0.05 * records.n)):.1g}"
            out.note(
                f"Whether the values fit is not looked at: --epsilon {enough} --ledger ... asks, with noise of some 5 "
                f"% of the {records.whom.kind}s."
            )
        out.result(plain, "\n".join(lines))


def _mismatches(
    records: Records, epsilon: float, ledger: Ledger | None, seed: int | None, out: Answering
) -> Mismatches:
    """Ask how well the declarations fit; warnings are among the words that are printed."""
    warn_unpaid(out, ledger, seed, "the answer is")
    with telling(ledger), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return records.mismatches(epsilon=epsilon, ledger=ledger, random_state=seed)
