"""Tables and views of SQLite, whose cells are of any type, whatever type was declared for their column."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from sqlite3 import Connection

from tacit.accounting.store import Store, opened
from tacit.data.readers.relation import quoted, select, source_of
from tacit.data.readers.source import Batch, Source
from tacit.data.stored import Stored
from tacit.data.values import objects
from tacit.errors import InvalidParameter

_ROWS = 2**16
_WAIT_SECONDS = 60.0


def open_sqlite(address: str, table: str) -> Source:
    """Open a table or view of the file that a ledger of this address would be."""
    if "?" in address:
        raise InvalidParameter("the address of an SQLite file takes no options: what follows a question mark is none.")

    def connect() -> AbstractContextManager[Connection]:
        return closing(opened(str(Store.at(address).url.database), "ro", _WAIT_SECONDS))

    return open_relation(connect, quoted(table))


def open_relation(connect: Callable[[], AbstractContextManager[Connection]], relation: str) -> Source:
    """Open a table or a query of whatever connects to SQLite."""
    return source_of(connect, relation, _describe, _read_rows)


def _describe(connection: Connection, relation: str) -> Mapping[str, Stored]:
    described = connection.execute(f"SELECT * FROM {relation} LIMIT 0").description
    return {str(column[0]): Stored("cells") for column in described}


def _read_rows(connection: Connection, relation: str, names: Mapping[str, Stored]) -> Iterator[Batch]:
    decode = connection.text_factory
    # A text that is not UTF-8 is a text none the less.
    connection.text_factory = lambda cell: cell.decode("utf-8", "replace")
    try:
        cursor = connection.execute(select(tuple(names), relation))
        while rows := cursor.fetchmany(_ROWS):
            yield dict(zip(names, map(objects, zip(*rows, strict=True)), strict=True))
    finally:
        connection.text_factory = decode
