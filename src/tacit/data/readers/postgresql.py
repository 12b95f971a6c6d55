"""Tables and views of PostgreSQL: all rows by one binary COPY, in one transaction that only reads."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from tacit.data.readers.binary_copy import OTHER, TYPES, CopiedType, read_columns
from tacit.data.readers.relation import quoted, refuse_changed, select, source_of
from tacit.data.readers.source import Batch, Source
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter


def open_postgresql(address: str, table: str) -> Source:
    """Open a table or view, as `schema.table` or by its name alone, of the database at an address."""
    return open_relation(partial(_connect, address), ".".join(map(quoted, table.split("."))))


def open_relation(connect: Callable[[], AbstractContextManager[Any]], relation: str) -> Source:
    """Open a table or a query of whatever connects by psycopg."""
    return source_of(connect, relation, _describe, _read_rows)


def _connect(address: str) -> Any:
    """Connect to the database that a ledger of this address would be in."""
    failure = ""
    try:
        import psycopg
        import sqlalchemy as sa

        url = sa.make_url(address).set(drivername="postgresql+psycopg")
        words, options = url.get_dialect()().create_connect_args(url)
        connection = psycopg.connect(*words, **options)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return connection
    except Exception as error:
        failure = type(error).__name__
    raise InvalidParameter(f"the database cannot be reached ({failure}). Check its address, and that it runs.")


def _describe(connection: Any, relation: str) -> Mapping[str, Stored]:
    with connection.transaction(force_rollback=True):
        types = _types(connection, f"SELECT * FROM {relation} AS records")
        return {name: kind.stored for name, kind in types.items()}


def _read_rows(connection: Any, relation: str, stored: Mapping[str, Stored]) -> Iterator[Batch]:
    statement = select(tuple(stored), relation)
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        # What has been described cannot be altered before the transaction ends.
        types = _types(connection, statement)
        refuse_changed(stored, {name: kind.stored for name, kind in types.items()})
        with cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT BINARY)".encode()) as messages:
            for columns in read_columns(messages, [kind.decode for kind in types.values()]):
                yield dict(zip(types, columns, strict=True))


def _types(connection: Any, statement: str) -> Mapping[str, CopiedType]:
    """Return the types of the columns that a statement selects."""
    connection.execute(b"SET LOCAL client_encoding TO 'UTF8'")
    described = connection.execute(f"{statement} LIMIT 0".encode()).description
    return {str(column.name): TYPES.get(column.type_code, OTHER) for column in described}
