"""What readers of databases share: how a relation becomes a source, and what is said when its database fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from tacit.data.readers.source import Batch, Source
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter

T = TypeVar("T")


def source_of(
    connect: Callable[[], AbstractContextManager[Any]],
    relation: str,
    describe: Callable[[Any, str], Mapping[str, Stored]],
    read_rows: Callable[[Any, str, Mapping[str, Stored]], Iterator[Batch]],
) -> Source:
    """Return the source of a relation: what may stand behind FROM, the name of a table or a query in parentheses.

    `connect` gives a connection for as long as it is needed, `describe` the stored type of every column, and no record,
    and `read_rows` all rows of some columns, as one statement finds them, a lot at a time. Rows of a database have no
    order that holds.
    """

    def described() -> Iterator[Mapping[str, Stored]]:
        with connect() as connection:
            yield describe(connection, relation)

    def rows(names: Sequence[str]) -> Iterator[Batch]:
        with connect() as connection:
            yield from read_rows(connection, relation, {name: stored[name] for name in names})

    (stored,) = withheld("there is no such table, or it cannot be described", described())
    return Source(stored, ordered=False, read=lambda names: withheld("the table cannot be read", rows(names)))


def refuse_changed(before: Mapping[str, Stored], now: Mapping[str, Stored]) -> None:
    """Refuse columns that are stored otherwise than when they were described; no record is read."""
    if changed := [name for name in before if now.get(name) != before[name]]:
        raise InvalidParameter(
            f"the column {changed[0]!r} is no longer stored as it was when the table was opened. Open it anew."
        )


def withheld(what_failed: str, results: Iterator[T]) -> Iterator[T]:
    """Yield results; where the next one fails, say what failed and by which type of exception, not in its words."""
    try:
        yield from results
        return
    except InvalidParameter:
        raise
    except Exception as error:
        failure = type(error).__name__
    # Raised out here, so that what the database said is not even in the exception's context.
    raise InvalidParameter(
        f"{what_failed} ({failure}). What the database said is withheld, as it may quote records; its own log has it."
    )


def select(names: Sequence[str], relation: str) -> str:
    """Return the statement that selects some columns of a relation, each said to be its own.

    A name in quotes that no column has would be a text to SQLite, were it not said whose column it is.
    """
    return f"SELECT {', '.join(f'records.{quoted(name)}' for name in names)} FROM {relation} AS records"


def quoted(name: str) -> str:
    """Return a name in double quotes, as standard SQL has it."""
    return '"' + name.replace('"', '""') + '"'
