"""`tacit records`: read a table once and keep what was cleaned, show such a file, remove one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.cli.places import Inputs
from tacit.cli.sources import KeyColumn, SchemaFile, Source, UnitColumn, opened, schema_of
from tacit.data.column_words import column_in_words
from tacit.data.records import Records
from tacit.data.store.packed_file import ENDING, MAGIC, is_packed
from tacit.errors import InvalidParameter
from tacit.files import check_room

app = typer.Typer(
    help="Packed records: a table that was read and cleaned once, in one file that every command takes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PackedFile = Annotated[Path, typer.Argument(metavar="FILE", help=f"Packed records: a file that ends with {ENDING}.")]


@app.command(epilog=example(f"tacit records pack patients.csv --schema s.toml patients{ENDING}"))
def pack(
    source: Source,
    output: PackedFile,
    schema: SchemaFile = None,
    unit: UnitColumn = None,
    key: KeyColumn = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read a table once, and keep what was cleaned.

    The file holds the records: it is as secret as the table, and its owner alone can read it. Schema, unit and key are
    in it, and left out from then on.
    """
    with answering(as_json, quiet) as out:
        declared = schema_of(schema, source)
        if not is_packed(output) or is_packed(source):
            raise InvalidParameter(f"a table is packed into a file that ends with {ENDING}, and packed once.")
        if output.exists():
            raise InvalidParameter(
                f"there is {str(output)!r} already, and ledgers know its records by it. Name another file, or remove "
                "it first: tacit records remove."
            )
        Inputs((source,), files=(schema,)).spare([output])
        check_room(output)
        records = opened(source, declared, out, unit=unit, key=key).pack(output)
        out.result(_public(records, output), records.describe())
        out.note("Ask about this file from now on, not about the table as well: ledgers take the two for others.")


@app.command(epilog=example(f"tacit records show patients{ENDING}"))
def show(file: PackedFile, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show what is public about packed records.

    How many there are, whom they are of, what was declared. That every cell is as it was packed is checked.
    """
    with answering(as_json, quiet) as out:
        records = Records(_checked(file))
        out.result(_public(records, file), records.describe())


@app.command(epilog=example(f"tacit records remove patients{ENDING}"))
def remove(file: PackedFile, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Remove packed records.

    What was charged for them stays charged, and what was learned stays.
    """
    with answering(as_json, quiet) as out:
        _checked(file).unlink()
        out.result({"removed": str(file)}, f"removed {file}")
        out.note("The table that was packed is where it was. Its bytes on the disk are not overwritten.")


def _checked(file: Path) -> Path:
    """Return the path of packed records, damaged ones too; refuse any other file."""
    try:
        with file.open("rb") as opening:
            if is_packed(file) and opening.read(len(MAGIC)) == MAGIC:
                return file
    except OSError:
        pass
    raise InvalidParameter(f"there are no packed records at {str(file)!r}. `tacit records pack` makes such a file.")


def _public(records: Records, file: Path) -> dict[str, Any]:
    """Return what is public about records, as plain values."""
    return {
        "file": str(file),
        "n": records.n,
        "protects": records.whom.kind,
        "unit": records.unit,
        "key": records.key,
        "target": records.schema.target,
        "schema": records.schema.to_toml(),
        "columns": {name: column_in_words(column) for name, column in records.schema.columns.items()},
    }
