"""Records in a database, a file or a cluster: anything that Ibis can speak to, in one scan for many queries."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import ibis
import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.queries.cells import as_float, cleaned, cleaned_type, column_for, with_twins
from tacit.queries.engine import Engine, Part, Prepared, columns_of, text_of
from tacit.queries.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.queries.rules import total
from tacit.queries.terms import computed_first, exchanged, lengths, levels_for, shares, terms

__all__ = ["TableEngine"]

_SUMS_AT_ONCE = 500
# A prime below 2^31 and a primitive root of it: consecutive keys fall into parts as if by chance.
_PRIME, _ROOT = 2**31 - 1, 48271
# Connections that a fork brought along: they belong to the parent, and closing them here would disturb it.
_INHERITED: list[Any] = []


@final
class TableEngine(Engine):
    """An Ibis table, with its number of rows, and perhaps a label and an integer key.

    Assumes: reading the table itself cannot fail because of a record, as a view that divides by a column could.
    `reopen` opens the table anew in another process: after a fork, and after unpickling. Without it the engine
    stays in the process that made it.
    """

    def __init__(
        self,
        table: Any,
        *,
        n: int | None = None,
        label: str | None = None,
        labels: tuple[Any, Any] = (-1, 1),
        key: str | None = None,
        identity: str | None = None,
        reopen: Callable[[], Any] | None = None,
    ) -> None:
        self.names = tuple(table.columns)
        for what, name in (("label", label), ("key", key)):
            if name is not None and name not in self.names:
                raise InvalidParameter(f"{what} must be one of the columns {', '.join(self.names)}, got {name!r}.")
        if reserved := [name for name in self.names if name.startswith("tacit_")]:
            raise InvalidParameter(f"columns must not be called tacit_..., got {', '.join(reserved)}. Rename them.")
        if key is not None and not table[key].type().is_integer():
            raise InvalidParameter(f"key must be a column of integers, got {table[key].type()}.")
        self.fixed_by: Literal["key"] | None = None if key is None else "key"
        self.label, self.labels = label, labels
        # A table of a database may be any other tomorrow: unless it is named, no other engine's is the same.
        self.identity = identity or unique_name()
        self._key, self._reopen = key, reopen
        self._opened: tuple[int, Any] | None = (os.getpid(), table)
        self._kinds = {name: cleaned_type(kind) for name, kind in table.schema().items()}
        self._sizes: dict[Part, int] = {}
        if label is not None:
            levels_for([self._asked[label]], [(each,) for each in labels])
        counted = _number_of_rows(table)
        if n is not None and n != counted:
            raise InvalidParameter(f"n={n} was declared, but the table has {counted} rows.")
        if not counted:
            raise InvalidParameter("an oracle needs at least one record, got none.")
        self.n = counted

    @property
    def split_name(self) -> str:
        """A text that is the same only if every record is in the same part as before."""
        return f"{self.identity} by {self._key}"

    @property
    def _asked(self) -> Any:
        """What a query's function is called with: a table with the columns, cleaned, but without rows."""
        return ibis.table(self._kinds, name="records")

    @property
    def _records(self) -> Any:
        """The same with the columns' twins."""
        return ibis.table(with_twins(self._kinds), name="records")

    @property
    def _table(self) -> Any:
        """The table, opened in this process."""
        if self._opened is not None and self._opened[0] == os.getpid():
            return self._opened[1]
        if self._reopen is None:
            raise InvalidParameter(
                "a table of a live connection belongs to the process that connected. Give a path, or connect and make "
                "an oracle in each process; a ledger may be shared."
            )
        _INHERITED.append(self._opened)
        self._opened = (os.getpid(), self._reopen())
        return self._opened[1]

    def __getstate__(self) -> dict[str, Any]:
        if self._reopen is None:
            raise InvalidParameter(
                "an engine of a live connection cannot be pickled. Give a path, or connect and make an oracle in each "
                "process; a ledger may be shared."
            )
        return {**vars(self), "_opened": None}

    def prepare(self, query: Query) -> Prepared:
        """Call the query's function with a table that has columns but no rows, and check what it gives."""
        if not isinstance(query, StatisticalQuery | Histogram | RowSums | SecondMoments):
            raise InvalidParameter(f"tables cannot answer a {type(query).__name__}.")
        asked, records, table = self._asked, self._records, self._table
        for name in getattr(query, "features", ()):
            if name not in self.names:
                raise InvalidParameter(f"there is no column {name!r}; the table has {', '.join(self.names)}.")
            as_float(records[name])
        given = columns_of(query, lambda function: _called(function, asked, table))
        columns = tuple(total(column, asked, records) for column in given)
        if isinstance(query, StatisticalQuery):
            as_float(columns[0])
        levels = levels_for(columns, getattr(query, "levels", ()))
        texts = [str(ibis.to_sql(records.select(q=column), dialect="duckdb", pretty=False)) for column in columns]
        return Prepared(query, columns, text_of(query, texts), levels)

    def part_size(self, part: Part) -> int:
        """Count the keys that belong to the part."""
        if part not in self._sizes:
            self._sizes[part] = _number_of_rows(self._part(part))
        return self._sizes[part]

    def sums(
        self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None
    ) -> list[NDArray[np.float64]]:
        """Return each query's sums, in shares, in as few scans as the number of sums allows."""
        size = self.n if part is None else self.part_size(part)
        totals: list[float] = []
        for start, end in _batches([prepared.query.size for prepared in queries]):
            totals += self._scanned(queries[start:end], flipped, part, size)
        ends = np.cumsum([prepared.query.size for prepared in queries])
        return [
            shares(prepared.query, prepared.columns, own.tolist())
            for prepared, own in zip(queries, np.split(np.array(totals), ends[:-1]), strict=True)
        ]

    def _scanned(self, queries: Sequence[Prepared], flipped: bool, part: Part | None, size: int) -> list[float]:
        """Return the sums of some queries, making sure that no record came or went meanwhile."""
        records = self._records
        rows = self._chosen(_used(queries, records), flipped, part)
        backend = rows.get_backend().name
        # What levels depend on, each expression once, and the rows' lengths.
        names: dict[Any, str] = {}
        first: dict[str, Any] = {}
        for i, prepared in enumerate(queries):
            first |= lengths(f"tacit_{i}", prepared.query, rows)
            for column in prepared.columns if prepared.levels else ():
                name = names.setdefault(column.op(), f"tacit_column_{len(names)}")
                first.setdefault(name, _over(rows, records, column))
        rows = _with(rows, first, backend)
        extra: dict[str, Any] = {}
        for i, prepared in enumerate(queries):
            columns = [rows[names[column.op()]] for column in prepared.columns] if prepared.levels else []
            extra |= computed_first(f"tacit_{i}", prepared, rows, columns, self.n)
        ready = _with(rows, extra, backend)
        wanted = []
        for i, prepared in enumerate(queries):
            columns = [] if prepared.levels else [_over(ready, records, column) for column in prepared.columns]
            wanted += terms(f"tacit_{i}", prepared.query, ready, columns, self.n, backend)
        found: list[float] = []
        for start in range(0, len(wanted), _SUMS_AT_ONCE):
            sums = {f"s{i}": term for i, term in enumerate(wanted[start : start + _SUMS_AT_ONCE])}
            row = _row(ready.aggregate(rows_counted=ready.count(), **sums))
            if int(row["rows_counted"]) != size:
                raise InvalidParameter(f"the table no longer has the {size} rows that were declared.")
            found += [float(row[name] or 0.0) for name in sums]
        return found

    def _part(self, part: Part | None) -> Any:
        """Return the records of one part."""
        rows = self._table
        if part is None:
            return rows
        if self._key is None:
            raise InvalidParameter("a table is split by a key: StatisticalOracle(..., key='the integer column').")
        rest = (rows[self._key] % _PRIME).cast("int64")
        return rows.filter((rest + _PRIME) % _PRIME * _ROOT % _PRIME % part.count == part.number)

    def _chosen(self, names: Sequence[str], flipped: bool, part: Part | None) -> Any:
        """Return some columns of the records (of one part), cleaned, with labels as they are or exchanged."""
        rows = self._part(part)
        backend = rows.get_backend().name
        if flipped and self.label is not None:
            label = cleaned(rows[self.label], backend)
            rows = rows.mutate(**{self.label: exchanged(label, self.labels)})
        return rows.select(**{name: column_for(rows, name, backend) for name in names})


def _called(function: Any, records: Any, table: Any) -> Any:
    """Return what a function gives, or a ready expression over the table as one over the table without rows."""
    if isinstance(function, list | tuple):
        return [_called(each, records, table) for each in function]
    if isinstance(function, ibis.Deferred):
        (column,) = records.bind(function)
        return column
    if isinstance(function, ibis.expr.types.Value):
        return _over(records, table, function)
    given = function(records) if callable(function) else function
    listed = given if isinstance(given, list | tuple) else [given]
    columns = [_called(each, records, table) if isinstance(each, ibis.Deferred) else each for each in listed]
    for column in columns:
        if not isinstance(column, ibis.expr.types.Value):
            raise InvalidParameter(
                "the query's function must give an expression of the table it is called with, got "
                f"{type(column).__name__}."
            )
    return columns


def _with(rows: Any, columns: dict[str, Any], backend: str) -> Any:
    """Return rows with more columns, computed once for each record."""
    if not columns:
        return rows
    # Unless something stands in between, PostgreSQL computes them anew for every sum.
    return rows.mutate(**columns).limit(2**62) if backend == "postgres" else rows.mutate(**columns)


def _over(rows: Any, records: Any, column: Any) -> Any:
    return column.op().replace({records.op(): rows.op()}).to_expr()


def _used(queries: Sequence[Prepared], records: Any) -> list[str]:
    """List the columns that some queries read, twins among them."""
    names: dict[str, None] = {}
    for prepared in queries:
        features = getattr(prepared.query, "features", ())
        names |= dict.fromkeys(features)
        for column in (*prepared.columns, *(as_float(records[name]) for name in features)):
            names |= dict.fromkeys(field.name for field in column.op().find(ops.Field))
    return list(names)


def _batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Cut a list of queries into runs of no more sums than are computed at once."""
    found, start, room = [], 0, _SUMS_AT_ONCE
    for place, size in enumerate(sizes):
        if place > start and size > room:
            found.append((start, place))
            start, room = place, _SUMS_AT_ONCE
        room -= size
    return [*found, (start, len(sizes))]


def _row(table: Any) -> Any:
    """Return the one row of a table."""
    backend = table.get_backend()
    if backend.name == "pyspark":
        # The other way leads through pandas, whose versions Spark follows late.
        return backend.raw_sql(str(ibis.to_sql(table))).first().asDict()
    (row,) = table.to_pyarrow().to_pylist()
    return row


def _number_of_rows(table: Any) -> int:
    return int(_row(table.aggregate(rows_counted=table.count()))["rows_counted"])
