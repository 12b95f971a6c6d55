"""Opening a source of records: which kind of table reads it."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tacit.accounting.store import Store, opened
from tacit.data.columns import Column
from tacit.data.frames import UnreadTable, is_array, read_table
from tacit.data.persons import warn_of_ids
from tacit.data.schema import Schema
from tacit.data.sources.files import FileTable, stored_in
from tacit.data.sources.kept import Kept, open_kept
from tacit.data.sources.memory import MemoryTable
from tacit.data.sources.table import Table
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter
from tacit.noise import unique_name

_WAIT_SECONDS = 60.0


def open_table(source: Any, schema: Schema, name: str | None, unit: str | None = None) -> Table:
    """Open a source behind the cleaning step of a schema; `unit` names the column of persons' ids."""
    columns = schema.columns
    if isinstance(source, Kept):
        return open_kept(source, columns, name or unique_name())
    if isinstance(source, str | Path):
        return FileTable(_path(source), columns, name)
    if _is_address(source):
        return _from_database(source[0], source[1], columns, name, unit)
    if _is_live(source):
        from tacit.data.sources.live import open_live

        return open_live(source, columns, name)
    return _in_memory(_in_hand(source, schema), columns, name, unit)


def stored_columns(source: Any) -> Mapping[str, Stored]:
    """Return the names and stored types of a source's columns: facts of its catalogue, never of a record."""
    if isinstance(source, str | Path):
        return stored_in(_path(source))
    if _is_address(source) and _engine_of(source[0]) == "sqlite":
        return {name: column.stored for name, column in _read_sqlite(*source).items()}
    if _is_address(source) or _is_live(source):
        from tacit.data.sources.live import described

        return described(source)
    if _is_arrays(source):
        return {**_stored_features(source[0]), "y": Stored("cells")}
    return _stored_features(source)


def _stored_features(X: Any) -> Mapping[str, Stored]:
    """Return the names and stored types of a table's columns; those of an array are called x0, x1, ..."""
    shape = None if hasattr(type(X), "columns") else getattr(X, "shape", None)
    if shape is None:
        return {name: column.stored for name, column in read_table(X, ()).items()}
    if len(shape) != 2:
        raise InvalidParameter(f"an array must be 2-D, got the shape {tuple(shape)!r}. Reshape your data.")
    return {f"x{place}": Stored("cells") for place in range(shape[1])}


def _in_memory(
    found: UnreadTable, columns: Mapping[str, Column], name: str | None, unit: str | None, *, ordered: bool = True
) -> MemoryTable:
    table = MemoryTable(found, columns, name or unique_name(), ordered=ordered)
    if unit is not None:
        warn_of_ids(found[unit].cells())
    return table


def _in_hand(source: Any, schema: Schema) -> UnreadTable:
    """Read arrays or a table; which records of a list are mappings, and which rows, is their own affair."""
    if _is_arrays(source):
        return _arrays(source[0], source[1], schema)
    if schema.target is not None and is_array(source):
        raise InvalidParameter("an array holds no target, which the schema names: give (X, y), or a dict of columns.")
    return read_table(source, tuple(schema.columns) if isinstance(source, list | tuple) else schema.inputs)


def _arrays(X: Any, y: Any, schema: Schema) -> UnreadTable:
    """Read features and targets that stand beside each other."""
    if schema.target is None:
        raise InvalidParameter("(X, y) needs a schema that says which column y is: Schema(columns, target=...).")
    return {**read_table(X, schema.inputs), **read_table({schema.target: y}, ())}


def _from_database(
    address: str, table: str, columns: Mapping[str, Column], name: str | None, unit: str | None
) -> Table:
    if _engine_of(address) == "sqlite":
        # Rows come in the order of their primary key, which a replaced record changes.
        return _in_memory(_read_sqlite(address, table), columns, name, unit, ordered=False)
    from tacit.data.sources.live import PostgreSQLTable

    return PostgreSQLTable(address, table, columns, name)


def _engine_of(address: str) -> str:
    """Return which kind of database an address is of; refuse all but two."""
    engine = address.split(":")[0].split("+")[0]
    if engine not in ("postgresql", "sqlite"):
        raise InvalidParameter(
            "a database's address begins with sqlite:/// or postgresql://, got another. Other databases can be read "
            "through Ibis, or from files."
        )
    return engine


def _read_sqlite(address: str, table: str) -> UnreadTable:
    """Read all columns of a table into memory: whatever type was declared for a column, a cell may be of any."""
    if "?" in address:
        raise InvalidParameter("the address of an SQLite file takes no options: what follows a question mark is none.")
    failure = None
    try:
        # The very file that a ledger of this address would be: nothing in its name is more than a letter any more.
        with closing(opened(str(Store.at(address).url.database), "ro", _WAIT_SECONDS)) as connection:
            # A text that is not UTF-8 is no text; decoding it must not fail.
            connection.text_factory = lambda cell: cell.decode("utf-8", "replace")
            found = connection.execute('SELECT * FROM "' + table.replace('"', '""') + '"')
            names = [str(column[0]) for column in found.description]
            rows = found.fetchall()
    except Exception as error:
        failure = type(error).__name__
    if failure is not None:
        raise InvalidParameter(f"the table {table!r} cannot be read ({failure}). Check the address and the name.")
    if len(set(names)) != len(names):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")
    return read_table(rows, names)


def _path(source: str | Path) -> Path:
    if "://" in str(source) or str(source).startswith("sqlite:"):
        raise InvalidParameter(
            "a database is opened by its address and the name of a table: Records((address, table), schema)."
        )
    return Path(source)


def _is_address(source: object) -> bool:
    return isinstance(source, tuple) and len(source) == 2 and all(isinstance(each, str) for each in source)


def _is_arrays(source: object) -> bool:
    return isinstance(source, tuple) and len(source) == 2


def _is_live(source: object) -> bool:
    return type(source).__module__.split(".")[0] in ("ibis", "pyspark")
