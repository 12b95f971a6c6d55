"""Tables of an Ibis connection, each read the way that its database is read by itself.

Not by Ibis: it makes a frame of the rows of some databases, where one missing cell rounds all whole numbers of a
column, and fails over dates that Python has no object for.
"""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from tacit.data.readers import postgresql, sqlite
from tacit.data.readers.relation import refuse_changed, select, source_of, withheld
from tacit.data.readers.source import Batch, Source
from tacit.data.stored import Stored, StoredKind
from tacit.errors import InvalidParameter

_ROWS = 2**16
_DUCKDB: Mapping[str, StoredKind] = {
    "BOOLEAN": "truth", "TINYINT": "whole", "SMALLINT": "whole", "INTEGER": "whole", "BIGINT": "whole",
    "UTINYINT": "whole", "USMALLINT": "whole", "UINTEGER": "whole", "UBIGINT": "whole", "FLOAT": "real",
    "DOUBLE": "real", "VARCHAR": "text", "UUID": "uuid", "DATE": "day", "TIMESTAMP": "moment", "TIMESTAMP_NS": "moment",
    "TIMESTAMP WITH TIME ZONE": "moment",
}  # fmt: skip


def open_ibis(table: Any) -> Source:
    """Open a table of DuckDB, PostgreSQL or SQLite, whose connection stays with whoever connected.

    A connection does one thing at a time: a table that is read while another one is may be refused.
    """
    ((database, connection, relation),) = withheld("there is no such table", _located(table))
    connect: Any = partial(nullcontext, connection)
    match database:
        case "postgres":
            return postgresql.open_relation(connect, relation)
        case "sqlite":
            return sqlite.open_relation(connect, relation)
    return source_of(connect, relation, _describe, _read_rows)


def _located(table: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the name of the database that a table is in, the connection to it, and the table as a query."""
    import ibis

    if table.op().find(ibis.expr.operations.InMemoryTable):
        raise InvalidParameter(
            "a table that Ibis made of a frame (ibis.memtable) is in no database. Give the frame itself as the source."
        )
    backend = table.get_backend()
    if backend.name not in ("duckdb", "postgres", "sqlite"):
        raise InvalidParameter(
            f"through Ibis records are read from DuckDB, PostgreSQL, SQLite and Spark, got a table of {backend.name}. "
            "Give a data frame, or write the table as Parquet."
        )
    yield backend.name, backend.con, f"({str(ibis.to_sql(table, pretty=False)).rstrip().rstrip(';')})"


def _describe(connection: Any, relation: str) -> Mapping[str, Stored]:
    return _types(connection.sql(f"SELECT * FROM {relation} AS records"))


def _read_rows(connection: Any, relation: str, stored: Mapping[str, Stored]) -> Iterator[Batch]:
    rows = connection.sql(select(tuple(stored), relation))
    refuse_changed(stored, _types(rows))
    # The method was renamed in DuckDB 1.4.
    yield from (getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader)(_ROWS)


def _types(rows: Any) -> Mapping[str, Stored]:
    names = zip(rows.columns, map(str, rows.types), strict=True)
    return {
        # A list of decimals is called by its decimals and brackets.
        column: Stored(
            "decimal" if name.startswith("DECIMAL(") and name.endswith(")") else _DUCKDB.get(name, "other"),
            name.lower(),
        )
        for column, name in names
    }
