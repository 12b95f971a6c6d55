"""Which engine reads what: arrays, data frames, files, databases, clusters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.queries.arrays import ArrayEngine
from tacit.queries.engine import Engine

__all__ = ["engine_for"]

_SPARK_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")


def engine_for(
    table: Any,
    *,
    n: int | None = None,
    label: str | None = None,
    labels: tuple[Any, Any] = (-1, 1),
    key: str | None = None,
    name: str | None = None,
) -> Engine:
    """Return the engine for a table; see `StatisticalOracle` for what a table may be."""
    if isinstance(table, Engine):
        return table
    if isinstance(table, tuple) and len(table) == 2:
        engine = ArrayEngine(*table, label=label or "y", labels=labels, identity=name)
        if n is not None and n != engine.n:
            raise InvalidParameter(f"n={n} was declared, but there are {engine.n} rows.")
        return engine
    try:
        from tacit.queries.tables import TableEngine
    except ModuleNotFoundError as error:
        raise InvalidParameter(
            f"a {type(table).__name__} is read with Ibis and DuckDB: pip install 'tacit[sql]'. Arrays (X, y) need "
            "neither."
        ) from error
    opened, identity, reopen = _opened(table)
    return TableEngine(opened, n=n, label=label, labels=labels, key=key, identity=name or identity, reopen=reopen)


def _opened(table: Any) -> tuple[Any, str | None, Callable[[], Any] | None]:
    """Return a table for Ibis, a text that names its records if there is one, and how to open it elsewhere."""
    import ibis

    if isinstance(table, ibis.expr.types.Table):
        return table, None, None
    if isinstance(table, str | Path):
        files = _Files.at(Path(table))
        return files(), files.identity, files
    if type(table).__module__.startswith("pyspark."):
        return _from_spark(table), None, None
    frame = _Frame.of(table)
    return frame(), None, frame


@final
@dataclass(frozen=True)
class _Files:
    """CSV or Parquet files, read by a DuckDB of this process without loading them."""

    paths: tuple[str, ...]
    kind: str

    @classmethod
    def at(cls, path: Path) -> "_Files":
        """Find the files: one, those in a folder, or those of a pattern."""
        if path.is_dir():
            found = {kind: sorted(path.rglob(f"*.{kind}")) for kind in ("parquet", "csv")}
            kind = "parquet" if found["parquet"] else "csv"
            files = found[kind]
        else:
            files = [path] if path.is_file() else sorted(path.parent.glob(path.name))
            kind = "parquet" if path.suffix in (".parquet", ".pq") else "csv"
            files = files if {".parquet", ".pq", ".csv", ".tsv", ".gz"} & set(path.suffixes) else []
        if not files:
            raise InvalidParameter(f"there are no .parquet or .csv files at {path}.")
        return cls(tuple(str(file.resolve()) for file in files), kind)

    @property
    def identity(self) -> str:
        """Name the records: files that were written anew hold others."""
        states = [Path(path).stat() for path in self.paths]
        return repr([(path, s.st_size, s.st_mtime_ns) for path, s in zip(self.paths, states, strict=True)])

    def __call__(self) -> Any:
        """Open the files."""
        import ibis

        connection = ibis.duckdb.connect()
        if self.kind == "parquet":
            _check_alike(self.paths)
            return connection.read_parquet(list(self.paths), table_name="records", can_have_nan=True)
        # Types are taken from all lines: with types from some of them, a later line could fail to be read.
        return connection.read_csv(list(self.paths), table_name="records", sample_size=-1)


def _check_alike(paths: tuple[str, ...]) -> None:
    """Refuse Parquet files of different columns or types: a conversion could fail on a record."""
    import pyarrow.parquet as pq

    first, *others = (pq.read_schema(path).remove_metadata() for path in paths)
    if any(not other.equals(first) for other in others):
        raise InvalidParameter("the Parquet files of one table must have the same columns of the same types.")


@final
@dataclass(frozen=True)
class _Frame:
    """A data frame, or a dict of columns, read by a DuckDB of this process where it stands."""

    data: Any

    @classmethod
    def of(cls, table: Any) -> "_Frame":
        """Take the columns; a dictionary-encoded one is spelled out, as its list of values is no type."""
        import pyarrow as pa

        data = None
        try:
            if type(table).__module__.split(".")[0] == "pandas":
                data = pa.Table.from_pandas(table, preserve_index=False)
            else:
                data = pa.table(dict(table) if isinstance(table, Mapping) else table)
        except (TypeError, ValueError):
            # The refusal is raised below, without a context that could quote a record.
            pass
        if data is None:
            raise InvalidParameter(
                "an oracle needs (X, y) arrays, a data frame, a dict of columns, a path to CSV or Parquet files, an "
                f"Ibis table or a Spark data frame, got {type(table).__name__} that is not."
            )
        for place, field in enumerate(data.schema):
            if pa.types.is_dictionary(field.type):
                kind = pa.string() if pa.types.is_string_view(field.type.value_type) else field.type.value_type
                parts = [(chunk.indices, chunk.dictionary.cast(kind)) for chunk in data.column(place).chunks]
                plain = [pa.DictionaryArray.from_arrays(*part).dictionary_decode() for part in parts]
                data = data.set_column(place, field.name, pa.chunked_array(plain, kind))
        return cls(data)

    def __call__(self) -> Any:
        """Open the frame."""
        import ibis

        # The engine must be DuckDB whatever Ibis is told to use by default.
        return ibis.duckdb.connect().create_table("records", self.data, temp=True)


def _from_spark(frame: Any) -> Any:
    """Return a Spark data frame as an Ibis table, with the settings of its session as they were."""
    import ibis

    session = frame.sparkSession
    before = {setting: session.conf.get(setting, None) for setting in _SPARK_SETTINGS}
    connection = ibis.pyspark.connect(session)
    for setting, value in before.items():
        session.conf.unset(setting) if value is None else session.conf.set(setting, value)
    name = f"tacit_records_{unique_name()}"
    frame.createOrReplaceTempView(name)
    return connection.table(name)
