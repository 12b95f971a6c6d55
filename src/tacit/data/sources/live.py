"""Records that stay where they are: tables of PostgreSQL, of an Ibis connection, of Spark."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from tacit.data.columns import Column
from tacit.data.dialects import DuckDB, PostgreSQL, Spark
from tacit.data.sources.duckdb_types import arrow_blocks, stored_types
from tacit.data.sources.sql import SQLTable
from tacit.data.sources.table import BLOCK
from tacit.data.stored import Stored, StoredKind
from tacit.errors import InvalidParameter
from tacit.noise import unique_name

_POSTGRESQL: Mapping[int, tuple[StoredKind, str]] = {
    16: ("truth", "boolean"), 20: ("whole", "bigint"), 21: ("whole", "smallint"), 23: ("whole", "integer"),
    700: ("real", "real"), 701: ("real", "double precision"), 1700: ("decimal", "numeric"), 25: ("text", "text"),
    1043: ("text", "character varying"), 1042: ("text", "character"), 1082: ("day", "date"),
    1114: ("moment", "timestamp"), 1184: ("moment", "timestamp with time zone"),
}  # fmt: skip
_SPARK: Mapping[str, StoredKind] = {
    "boolean": "truth", "tinyint": "whole", "smallint": "whole", "int": "whole", "bigint": "whole", "float": "real",
    "double": "real", "string": "text", "date": "day", "timestamp": "moment", "timestamp_ntz": "moment",
}  # fmt: skip


class _Live(SQLTable):
    """A connection of somebody's own: it stays in the process that made it."""

    def _connect(self) -> Any:
        raise InvalidParameter(
            "a table of a live connection belongs to the process that connected. Give a path or a database's address, "
            "or connect and open the records in each process; a ledger may be shared."
        )

    def __getstate__(self) -> dict[str, Any]:
        self._connect()
        raise AssertionError


@final
class DuckDBTable(_Live):
    """A table of an Ibis connection to DuckDB."""

    dialect = DuckDB()

    def __init__(self, connection: Any, sql: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._hold(connection)
        self._turn = threading.Lock()
        self.relation = f"({sql}) AS records"
        self._prepare(_described(lambda: stored_types(connection, self.relation)), columns, name or unique_name())

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        # Not a cursor of one's own: temporary tables, which Ibis makes of files, are in the connection alone.
        with self._turn:
            found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return found

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        return arrow_blocks(connection, sql)


@final
class PostgreSQLTable(SQLTable):
    """A table or view of a PostgreSQL database, by the database's address."""

    dialect = PostgreSQL()

    def __init__(self, address: str, table: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._locate(address, table)
        self._prepare(_described(self._types), columns, name or unique_name())

    def _locate(self, address: str, table: str) -> None:
        self._address = address
        self.relation = ".".join(self.dialect.quoted(part) for part in table.split(".")) + " AS records"

    def _connect(self) -> Any:
        import sqlalchemy as sa

        failure = ""
        try:
            url = sa.make_url(self._address)
            driver = url if "+" in url.drivername else url.set(drivername="postgresql+psycopg")
            return sa.create_engine(driver, poolclass=sa.NullPool).raw_connection()
        except Exception as error:
            failure = type(error).__name__
        raise InvalidParameter(f"the database cannot be reached ({failure}). Check its address, and that it runs.")

    def _types(self) -> Mapping[str, Stored]:
        return _postgresql_types(self.connection.driver_connection, self.relation)

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        return _postgresql_rows(connection.driver_connection, sql)

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        return _postgresql_blocks(connection.driver_connection, sql)


@final
class PostgreSQLView(_Live):
    """A table of an Ibis connection to PostgreSQL."""

    dialect = PostgreSQL()

    def __init__(self, connection: Any, sql: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._hold(connection)
        self.relation = f"({sql}) AS records"
        stored = _described(lambda: _postgresql_types(connection, self.relation))
        self._prepare(stored, columns, name or unique_name())

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        return _postgresql_rows(connection, sql)

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        return _postgresql_blocks(connection, sql)


@final
class SparkTable(_Live):
    """A Spark data frame, or a table of an Ibis connection to Spark."""

    dialect = Spark()

    def __init__(self, session: Any, sql: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._hold(session)
        self.relation = f"({sql}) AS records"
        self._prepare(_described(lambda: _spark_types(session, sql)), columns, name or unique_name())

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in connection.sql(sql).collect()]

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        return _in_blocks(connection.sql(sql).toLocalIterator())


def from_ibis(table: Any, columns: Mapping[str, Column], name: str | None) -> SQLTable:
    """Open a table of an Ibis connection to DuckDB, PostgreSQL or Spark."""
    kind, connection, sql = _behind_ibis(table)
    opened: SQLTable = kind(connection, sql, columns, name)
    return opened


def from_spark(frame: Any, columns: Mapping[str, Column], name: str | None) -> SparkTable:
    """Open a Spark data frame."""
    return SparkTable(frame.sparkSession, _viewed(frame), columns, name)


def described(source: Any) -> Mapping[str, Stored]:
    """Return the stored types of a table that stays where it is; no record is read."""
    if isinstance(source, tuple):
        table = object.__new__(PostgreSQLTable)
        table._locate(*source)
        return _described(table._types)
    if type(source).__module__.startswith("pyspark."):
        return _described(lambda: _spark_types(source.sparkSession, _viewed(source)))
    kind, connection, sql = _behind_ibis(source)
    relation = f"({sql}) AS records"
    if kind is SparkTable:
        return _described(lambda: _spark_types(connection, sql))
    return _described(lambda: (stored_types if kind is DuckDBTable else _postgresql_types)(connection, relation))


def _behind_ibis(table: Any) -> tuple[Any, Any, str]:
    """Return which kind of table an Ibis table is, its connection, and its SQL."""
    import ibis

    backend = table.get_backend()
    sql = str(ibis.to_sql(table, pretty=False)).rstrip().rstrip(";")
    match backend.name:
        case "duckdb":
            return DuckDBTable, backend.con, sql
        case "postgres":
            return PostgreSQLView, backend.con, sql
        case "pyspark":
            return SparkTable, backend._session, sql
    raise InvalidParameter(f"records are read from DuckDB, PostgreSQL and Spark, got a table of {backend.name}.")


def _viewed(frame: Any) -> str:
    view = f"tacit_records_{unique_name()}"
    frame.createOrReplaceTempView(view)
    return f"SELECT * FROM {view}"


def _described(types: Any) -> Mapping[str, Stored]:
    failure = ""
    try:
        found: Mapping[str, Stored] = types()
        return found
    except InvalidParameter:
        raise
    except Exception as error:
        failure = type(error).__name__
    raise InvalidParameter(f"there is no such table, or it cannot be described ({failure}).")


def _postgresql_types(connection: Any, relation: str) -> Mapping[str, Stored]:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
        described = [(str(column.name), column.type_code) for column in cursor.description]
    if len({name for name, _ in described}) != len(described):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")
    return {name: Stored(*_POSTGRESQL.get(code, ("other", ""))) for name, code in described}


def _postgresql_rows(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(sql)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _postgresql_blocks(connection: Any, sql: str) -> Iterator[Sequence[Any]]:
    with connection.transaction(), connection.cursor(name=f"tacit_{unique_name()}") as cursor:
        cursor.execute(sql)
        while rows := cursor.fetchmany(BLOCK):
            yield list(zip(*rows, strict=True))


def _spark_types(session: Any, sql: str) -> Mapping[str, Stored]:
    fields = session.sql(sql).schema.fields
    if len({field.name for field in fields}) != len(fields):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")
    return {field.name: _spark_type(field.dataType.simpleString()) for field in fields}


def _spark_type(name: str) -> Stored:
    if name.startswith("decimal"):
        return Stored("decimal", name)
    return Stored(_SPARK.get(name.split(" ")[0], "other"), name)


def _in_blocks(rows: Iterator[Any]) -> Iterator[Sequence[Any]]:
    waiting: list[Any] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == BLOCK:
            yield list(zip(*waiting, strict=True))
            waiting = []
    if waiting:
        yield list(zip(*waiting, strict=True))
