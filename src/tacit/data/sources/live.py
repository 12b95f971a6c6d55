"""Records that stay where they are: tables of PostgreSQL, of an Ibis connection, of Spark."""

import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar, final

from tacit.data.columns import Column, Number
from tacit.data.dialects import DuckDB, PostgreSQL, Spark
from tacit.data.parts import Slice
from tacit.data.sources.duckdb_types import arrow_blocks, stored_types
from tacit.data.sources.spark_files import Tasks, plain_files, rows_of
from tacit.data.sources.spark_jobs import interruptible
from tacit.data.sources.spark_lots import IN_PIECES, Encode, SparkLots, encode_files, encode_there, settled
from tacit.data.sources.sql import SQLTable
from tacit.data.sources.table import BLOCK
from tacit.data.stored import Stored, StoredKind
from tacit.data.values import MISSING_KEY
from tacit.errors import InvalidParameter
from tacit.noise import unique_name

Facts = TypeVar("Facts")

_POSTGRESQL: Mapping[int, tuple[StoredKind, str]] = {
    16: ("truth", "boolean"), 20: ("whole", "bigint"), 21: ("whole", "smallint"), 23: ("whole", "integer"),
    700: ("real", "real"), 701: ("real", "double precision"), 1700: ("decimal", "numeric"), 25: ("text", "text"),
    1043: ("text", "character varying"), 1042: ("text", "character"), 2950: ("uuid", "uuid"), 1082: ("day", "date"),
    1114: ("moment", "timestamp"), 1184: ("moment", "timestamp with time zone"),
}  # fmt: skip
_SPARK: Mapping[str, StoredKind] = {
    "boolean": "truth", "tinyint": "whole", "smallint": "whole", "int": "whole", "bigint": "whole", "float": "real",
    "double": "real", "string": "text", "date": "day", "timestamp": "moment", "timestamp_ntz": "moment",
}  # fmt: skip


ROWS_OF_OWNER = ""
"""Stands for the number of rows of a row's person among the cells by name: no column is called nothing."""


class _Live(SQLTable):
    """A table of somebody's own connection: it stays in the process that made it, and keeps the view it is read by."""

    view: object = None

    def __init__(self, connection: Any, sql: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._hold(connection)
        self.relation = f"({sql}) AS records"
        self._prepare(_catalogued(self.types, connection, self.relation), columns, name or unique_name())

    @staticmethod
    @abstractmethod
    def types(connection: Any, relation: str) -> Mapping[str, Stored]:
        """Return the stored types of a relation; no record is read."""

    def _catalogue(self) -> Mapping[str, Stored]:
        with self._turn:
            return _catalogued(self.types, self.connection, self.relation)

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
    types = staticmethod(stored_types)

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        # Not a cursor of one's own: temporary tables, which Ibis makes of files, are in the connection alone.
        with self._turn:
            found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return found

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        with self._turn:
            yield from arrow_blocks(connection, sql)


class _PostgreSQL(SQLTable):
    """A relation of a PostgreSQL database, read through the driver's own connection."""

    dialect = PostgreSQL()

    def _driver(self, connection: Any) -> Any:
        """Return the driver's own connection."""
        return connection

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        # In binary: as text a session may round numbers (extra_float_digits), by more than a record moves them.
        driver = self._driver(connection)
        with self._turn, driver.transaction(), driver.cursor(binary=True) as cursor:
            cursor.execute(sql)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        driver, name = self._driver(connection), f"tacit_{unique_name()}"
        with self._turn, driver.transaction(), driver.cursor(name=name, binary=True) as cursor:
            cursor.execute(sql)
            while rows := cursor.fetchmany(BLOCK):
                yield list(zip(*rows, strict=True))


@final
class PostgreSQLTable(_PostgreSQL):
    """A table or view of a PostgreSQL database, by the database's address."""

    def __init__(self, address: str, table: str, columns: Mapping[str, Column], name: str | None) -> None:
        self._locate(address, table)
        self._prepare(self._catalogue(), columns, name or unique_name())

    def _catalogue(self) -> Mapping[str, Stored]:
        with self._turn:
            return _catalogued(self._types)

    def _locate(self, address: str, table: str) -> None:
        self._address = address
        self.relation = ".".join(self.dialect.quoted(part) for part in table.split(".")) + " AS records"

    def _connect(self) -> Any:
        import sqlalchemy as sa

        try:
            url = sa.make_url(self._address)
            driver = url if "+" in url.drivername else url.set(drivername="postgresql+psycopg")
            return sa.create_engine(driver, poolclass=sa.NullPool).raw_connection()
        except Exception as error:
            failure = type(error).__name__
        raise InvalidParameter(f"the database cannot be reached ({failure}). Check its address, and that it runs.")

    def _driver(self, connection: Any) -> Any:
        return connection.driver_connection

    def _types(self) -> Mapping[str, Stored]:
        return _postgresql_types(self._driver(self.connection), self.relation)


@final
class PostgreSQLView(_PostgreSQL, _Live):
    """A table of an Ibis connection to PostgreSQL."""

    @staticmethod
    def types(connection: Any, relation: str) -> Mapping[str, Stored]:
        """Ask for no rows of it."""
        return _postgresql_types(connection, relation)


@final
class SparkTable(_Live):
    """A Spark data frame, or a table of an Ibis connection to Spark."""

    dialect = Spark()
    _files: Mapping[str, Tasks] = {}
    """Which files those columns were looked at in that executors read by themselves."""

    @staticmethod
    def types(connection: Any, relation: str) -> Mapping[str, Stored]:
        """Ask the session's catalogue."""
        fields = connection.sql(f"SELECT * FROM {relation}").schema.fields
        return _different([(field.name, _spark_type(field.dataType.simpleString())) for field in fields])

    def _run(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        # Cleaning is made of cases; what has none is short.
        with settled(connection, IN_PIECES if "CASE" in sql else {}):
            return [tuple(row) for row in interruptible(connection.sparkContext, connection.sql(sql).collect)]

    def _looked_at(self, names: tuple[str, ...]) -> int:
        """Let executors look at the files themselves, where the records are just that."""
        tasks = self._plain_files(names)
        count = None if tasks is None else rows_of(self.connection, tasks, self._named(names))
        if tasks is None or count is None:
            return super()._looked_at(names)
        self._files = {**self._files, **dict.fromkeys(names, tasks)}
        return count

    def _plain_files(self, names: tuple[str, ...]) -> Tasks | None:
        """Return the files that hold some columns as they are, if there are such."""
        wanted = ", ".join(map(self.dialect.quoted, names))
        return (
            plain_files(self.connection, f"SELECT {wanted} FROM {self.relation}", self._named(names)) if names else None
        )

    def _named(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """Return what Spark calls the types of some columns."""
        return {name: self.stored[name].name for name in names}

    def encoded_there(
        self, names: tuple[str, ...], part: Slice | None, key: str | None, unit: str | None, encode: Encode, width: int
    ) -> SparkLots:
        """Encode cells on the executors; a person's number of rows stands beside each of them.

        Numbers travel as one array a row and are cleaned there, as those in memory are: each column of its own costs
        Spark more than cleaning it.
        """
        self.check_columns()
        known = {self._files.get(name) for name in names}
        if part is None and unit is None and None not in known and known == {self._plain_files(names)}:
            columns = {name: self.columns[name] for name in names}
            return encode_files(self.connection, self._files[names[0]], columns, encode, width, 2)
        numbers = {name: column for name in names if isinstance(column := self.columns[name], Number)}
        others = [name for name in names if name not in numbers]
        array = f"array({', '.join(self.own[name] for name in numbers)}) AS tacit_numbers"
        wanted = {name: self.own[name] for name in others}
        if unit is not None:
            owner = self.own[unit]
            rows = f"count(*) OVER (PARTITION BY {owner})"
            wanted[ROWS_OF_OWNER] = f"CASE WHEN {owner} = {MISSING_KEY} THEN 1 ELSE {rows} END AS tacit_rows"
            others.append(unit)
        cleaned = [*(self.own[name] for name in numbers), *map(self._cleaned, others)]
        source = self._relation_of(cleaned, self._read((*numbers, *others), part, key))
        sql = f"SELECT {', '.join([*wanted.values(), *[array] * bool(numbers)])} FROM {source}"
        return encode_there(self.connection, sql, tuple(wanted), numbers, encode, width, 2)

    def persons(self, part: Slice | None, key: str | None, unit: str) -> int:
        """Count the persons: ids that differ, and rows without one."""
        owner = self.own[unit]
        known = f"count(DISTINCT CASE WHEN {owner} = {MISSING_KEY} THEN NULL ELSE {owner} END)"
        missing = f"count(CASE WHEN {owner} = {MISSING_KEY} THEN 1 END)"
        ((count,),) = self.run(f"SELECT {known} + {missing} FROM {self.cleaned((unit,), part, key)}")
        return int(count)

    def _stream(self, connection: Any, sql: str) -> Iterator[Sequence[Any]]:
        rows = connection.sql(sql).toLocalIterator()
        while some := list(islice(rows, BLOCK)):
            yield list(zip(*some, strict=True))


def open_live(source: Any, columns: Mapping[str, Column], name: str | None) -> SQLTable:
    """Open a Spark data frame, or a table of an Ibis connection to DuckDB, PostgreSQL or Spark."""
    kind, connection, sql, view = _catalogued(_behind, source)
    table = kind(connection, sql, columns, name)
    table.view = view
    return table


def described(source: Any) -> Mapping[str, Stored]:
    """Return the stored types of a table that stays where it is; no record is read."""
    if isinstance(source, tuple):
        table = object.__new__(PostgreSQLTable)
        table._locate(*source)
        return _catalogued(table._types)
    kind, connection, sql, view = _catalogued(_behind, source)
    found = _catalogued(kind.types, connection, f"({sql}) AS records")
    del view
    return found


@final
class _View:
    """A name for a data frame in its session's catalogue, which goes when nobody needs it any more."""

    def __init__(self, frame: Any) -> None:
        self.name = f"tacit_records_{unique_name()}"
        frame.createOrReplaceTempView(self.name)
        weakref.finalize(self, _drop, frame.sparkSession, self.name).atexit = False


def _drop(session: Any, name: str) -> None:
    """Take a name out of a session's catalogue, in a thread whose connection to Spark is in the middle of nothing."""

    def drop() -> None:
        with suppress(Exception):
            # By Spark's own catalogue for users the frame would lose what they cached of it.
            session._jsparkSession.sessionState().catalog().dropTempView(name)

    with suppress(RuntimeError):
        threading.Thread(target=drop, daemon=True).start()


def _behind(source: Any) -> tuple[type[_Live], Any, str, _View | None]:
    """Return which kind of table a source is, its connection, its SQL, and the view that this names, if it does."""
    if type(source).__module__.startswith("pyspark."):
        view = _View(source)
        return SparkTable, source.sparkSession, f"SELECT * FROM {view.name}", view
    import ibis

    if source.op().find(ibis.expr.operations.InMemoryTable):
        raise InvalidParameter(
            "a table that Ibis made of a frame (ibis.memtable) is in no database. Give the frame itself as the source."
        )
    backend = source.get_backend()
    sql = str(ibis.to_sql(source, pretty=False)).rstrip().rstrip(";")
    match backend.name:
        case "duckdb":
            return DuckDBTable, backend.con, sql, None
        case "postgres":
            return PostgreSQLView, backend.con, sql, None
        case "pyspark":
            return SparkTable, backend._session, sql, None
    raise InvalidParameter(f"records are read from DuckDB, PostgreSQL and Spark, got a table of {backend.name}.")


def _catalogued(read: Callable[..., Facts], *where: Any) -> Facts:
    """Return what is read of a catalogue; of a failure not its words, but its type."""
    try:
        return read(*where)
    except InvalidParameter:
        raise
    except Exception as error:
        failure = type(error).__name__
    raise InvalidParameter(f"there is no such table of a connection, or it cannot be described ({failure}).")


def _different(described: Sequence[tuple[str, Stored]]) -> Mapping[str, Stored]:
    found = dict(described)
    if len(found) != len(described):
        raise InvalidParameter("the table has two columns of the same name. Rename one.")
    return found


def _postgresql_types(connection: Any, relation: str) -> Mapping[str, Stored]:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
        columns = [(str(column.name), column.type_code) for column in cursor.description]
    return _different([(name, Stored(*_POSTGRESQL.get(code, ("other", "")))) for name, code in columns])


def _spark_type(name: str) -> Stored:
    if name.startswith("decimal"):
        return Stored("decimal", name)
    return Stored(_SPARK.get(name.split(" ")[0], "other"), name)
