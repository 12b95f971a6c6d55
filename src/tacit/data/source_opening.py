"""Which reader reads a source: by its type and its name alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.data.columns import Ignored
from tacit.data.file_form import FileForm
from tacit.data.readers.file_listing import kind_of, list_files
from tacit.data.readers.in_hand import open_in_hand, stored_in_hand
from tacit.data.readers.source import Source
from tacit.data.readers.spark import is_spark, open_spark
from tacit.data.schema import Schema
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter

_ANY = Schema({"any": Ignored()})


def open_source(source: Any, schema: Schema, unit: str | None = None) -> Source:
    """Return the source of records; what its catalogue contradicts is refused when it is read."""
    if isinstance(source, str | Path):
        return _open_files(list_files(path_of(source)), schema.form)
    if is_address(source):
        return _open_database(*source)
    if is_ibis(source):
        from tacit.data.readers.ibis_table import open_ibis

        return open_ibis(source)
    return open_in_hand(source, schema, unit)


def stored_columns(source: Any) -> Mapping[str, Stored]:
    """Return the names and stored types of a source's columns: facts of its catalogue, never of a record."""
    if is_spark(source):
        return open_spark(source).stored
    if isinstance(source, str | Path) or is_address(source) or is_ibis(source):
        return open_source(source, _ANY).stored
    return stored_in_hand(source)


def _open_files(files: Sequence[Path], form: FileForm) -> Source:
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise InvalidParameter("files are read with pyarrow: pip install 'tacit[cli]'.") from None
    if kind_of(files[0]) == "parquet":
        from tacit.data.readers.parquet_file import open_parquet

        return open_parquet(files)
    from tacit.data.readers.csv_file import open_csv

    return open_csv(files, form)


def _open_database(address: str, table: str) -> Source:
    engine = address.split(":")[0].split("+")[0]
    if engine == "sqlite":
        from tacit.data.readers.sqlite import open_sqlite

        return open_sqlite(address, table)
    if engine == "postgresql":
        from tacit.data.readers.postgresql import open_postgresql

        return open_postgresql(address, table)
    raise InvalidParameter(
        "a database's address begins with sqlite:/// or postgresql://, got another. Other databases can be read "
        "through Ibis, or from files."
    )


def path_of(source: str | Path) -> Path:
    """Return the path of a file or folder; a database is no path."""
    if "://" in str(source) or str(source).startswith("sqlite:"):
        raise InvalidParameter(
            "a database is opened by its address and the name of a table: Records((address, table), schema)."
        )
    return Path(source)


def is_address(source: object) -> bool:
    """Whether this is the address of a database, and the name of a table."""
    return isinstance(source, tuple) and len(source) == 2 and all(isinstance(each, str) for each in source)


def is_ibis(source: object) -> bool:
    """Whether this is a table of Ibis."""
    return type(source).__module__.split(".")[0] == "ibis"
