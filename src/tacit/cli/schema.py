"""`tacit schema`: begin a schema from a table's catalogue, and check one that was written."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.console import cell
from tacit.cli.sources import Source, UnitColumn, source_of
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


@app.command(epilog=example("tacit schema check s.toml --data patients.csv"))
def check(
    schema: Annotated[Path, typer.Argument(help="The schema, as TOML.")],
    data: Annotated[str | None, typer.Option(help="Check that this table has the declared columns, too.")] = None,
    unit: UnitColumn = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check a schema, and that a table can be read by it. Values are not looked at: that would be a release."""
    with answering(as_json, quiet) as out:
        declared = Schema.load(schema)
        n = None
        if data is not None:
            n = Records(source_of(data), declared, unit=unit).n
        elif unit is not None:
            raise InvalidParameter("--unit is about a table: give --data as well.")
        columns = {name: column_in_words(column) for name, column in declared.columns.items()}
        lines = [f"{cell(name)}: {words}" for name, words in columns.items()]
        lines.append(f"target: {declared.target or 'none'}")
        if n is not None:
            lines.append(f"the table has these columns; n = {n:,}")
        plain = {"columns": columns, "target": declared.target, "classes": list(declared.classes), "n": n}
        out.result(plain, "\n".join(lines))
