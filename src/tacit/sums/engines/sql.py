"""Records behind an engine of SQL: many queries in one scan, whose sums are whole steps."""

import math
from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np

from tacit.data.dialects import Dialect
from tacit.data.parts import scattered_sql
from tacit.data.records import Records
from tacit.data.sources.sql import SQLTable
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.sums.engines.engine import Engine, Part, Prepared, steps_for
from tacit.sums.engines.grid import TINY, TOGETHER, Grid, factor_steps, row_shift
from tacit.sums.language import Expression
from tacit.sums.language.names import stands_for
from tacit.sums.language.sql import Printed
from tacit.sums.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

_SUMS_AT_ONCE = 500


@final
class SQLEngine(Engine):
    """A table of an engine, asked through the cleaning step; its number of records is checked in every scan."""

    def __init__(self, records: Records, *, label: str | None, labels: tuple[Any, Any]) -> None:
        assert isinstance(records.table, SQLTable)
        self._records, self._table = records, records.table
        self.n, self.columns, self.identity = records.n, records.columns, records.identity
        self.label, self.labels = label, labels
        self.fixed_by: Literal["key"] | None = None if records.key is None else "key"
        self._sizes: dict[Part, int] = {}

    @property
    def split_name(self) -> str:
        """A text that is the same only if every record is in the same part as before."""
        return f"{self.identity} by {self._records.key}"

    def check(self) -> None:
        """Refuse files that were written anew."""
        self._table.check()

    def prepare(self, query: Query) -> Prepared:
        """Call the query's function, and refuse what is too long to be printed before anything is charged."""
        prepared = super().prepare(query)
        Printed(self._table.dialect, _roots(prepared), self._table.own)
        return prepared

    def part_size(self, part: Part) -> int:
        """Count the keys that belong to the part."""
        if part not in self._sizes:
            (row,) = self._table.run(f"SELECT count(*) FROM {self._source((), part)}")
            self._sizes[part] = int(row[0])
        return self._sizes[part]

    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Floats]:
        """Return each query's sums, in shares, in as few scans as the number of sums allows."""
        size = self.n if part is None else self.part_size(part)
        totals: list[float] = []
        for start, end in _batches([prepared.query.size for prepared in queries]):
            totals += self._scanned(queries[start:end], flipped, part, size)
        ends = np.cumsum([prepared.query.size for prepared in queries])
        parts = np.split(np.array(totals), ends[:-1])
        return [_shares(prepared, own) for prepared, own in zip(queries, parts, strict=True)]

    def _scanned(self, queries: Sequence[Prepared], flipped: bool, part: Part | None, size: int) -> list[float]:
        """Return the sums of some queries, making sure that no record came or went meanwhile."""
        dialect = self._table.dialect
        printed = Printed(dialect, [each for prepared in queries for each in _roots(prepared)], self._table.own)
        source = self._source(printed.columns(), part)
        if flipped and self.label in printed.columns():
            source = self._flipped(printed.columns(), source)
        scan = _Scan(dialect, printed, self.n)
        for number, prepared in enumerate(queries):
            scan.add(f"tacit_{number}", prepared)
        relation, wanted = scan.relation(printed.relation(source)), scan.sums
        found: list[float] = []
        for start in range(0, len(wanted), _SUMS_AT_ONCE):
            sums = wanted[start : start + _SUMS_AT_ONCE]
            (row,) = self._table.run(f"SELECT {', '.join(['count(*)', *sums])} FROM {relation}")
            if int(row[0]) != size:
                raise InvalidParameter(f"the table no longer has the {size} records that it was opened with.")
            found += [float(each or 0.0) for each in row[1:]]
        return found

    def _source(self, names: Sequence[str], part: Part | None) -> str:
        """Print the relation of cleaned columns of the records (of one part)."""
        records = self._records
        if part is None:
            return self._table.cleaned(names, records.part, records.key)
        if records.key is None:
            raise InvalidParameter("a table is split by a key: Records(..., key='the column declared as a Key').")
        wanted = dict.fromkeys([*names, records.key])
        source = self._table.cleaned(tuple(wanted), records.part, records.key)
        number = scattered_sql(self._table.own[records.key])
        return f"(SELECT * FROM {source} WHERE {number} % {part.count} = {part.number}) AS chosen"

    def _flipped(self, names: Sequence[str], source: str) -> str:
        """Print the relation with the labels exchanged."""
        assert self.label is not None
        expression, own = self.exchanged(stands_for(self.label, self.columns[self.label])), self._table.own
        other = Printed(self._table.dialect, [expression], own)
        exchanged = f"{other.text(expression)} AS {own[self.label]}"
        columns = [exchanged if name == self.label else own[name] for name in names]
        return f"(SELECT {', '.join(columns)} FROM {other.relation(source)}) AS exchanged"


@final
class _Scan:
    """What one statement computes: layers of columns over the records, and sums over the last layer."""

    def __init__(self, dialect: Dialect, printed: Printed, n: int) -> None:
        self._dialect, self._printed, self._n = dialect, printed, n
        self._shares: list[str] = []
        self._first: list[str] = []
        self._second: list[str] = []
        self.sums: list[str] = []

    def relation(self, source: str) -> str:
        """Print the layers over a source that has all expressions."""
        for number, layer in enumerate((self._shares, self._first, self._second)):
            if layer:
                source = f"(SELECT *, {', '.join(layer)} FROM {source}{self._dialect.fence}) AS scan{number}"
        return source

    def add(self, prefix: str, prepared: Prepared) -> None:
        """Add what one query needs."""
        query, dialect = prepared.query, self._dialect
        if prepared.levels:
            self._first.append(f"{self._level(prepared)} AS {prefix}_level")
        match query:
            case StatisticalQuery():
                (column,) = _asked(prepared)
                text = self._printed.text(column)
                counted = column.kind == "truth"
                grid = Grid.over(query.low, query.high, self._n)
                self.sums.append(dialect.count(text) if counted else f"sum({self._whole(text, grid, column)})")
            case Histogram():
                self.sums += [dialect.count(f"{prefix}_level = {place}") for place in range(query.size)]
            case RowSums():
                cells = self._cells(prefix, prepared, query.norm, steps_for(self._n))
                if not prepared.levels:
                    self.sums += [f"sum({cell})" for cell in cells]
                    return
                zero = dialect.number(0.0)
                self.sums += [
                    f"sum(CASE WHEN {prefix}_level = {place} THEN {cell} ELSE {zero} END)"
                    for place in range(query.groups)
                    for cell in cells
                ]
            case SecondMoments():
                cells = self._cells(prefix, prepared, query.norm, factor_steps(self._n))
                self.sums += [f"sum({one} * {other})" for i, one in enumerate(cells) for other in cells[i:]]

    def _level(self, prepared: Prepared) -> str:
        """Print the number of the level that a record is at: the first that fits, so never more than one."""
        columns = [self._printed.text(column) for column in prepared.columns]
        branches = []
        for place, values in enumerate(prepared.levels):
            same = [f"{text} = {self._dialect.number(value)}" for text, value in zip(columns, values, strict=True)]
            branches.append(f"WHEN {' AND '.join(same)} THEN {place}")
        return f"(CASE {' '.join(branches)} ELSE {len(prepared.levels)} END)"

    def _cells(self, prefix: str, prepared: Prepared, norm: float | None, steps: float) -> list[str]:
        """Add the columns that several sums need, to be computed once for each record, and name them."""
        texts = [self._printed.text(feature) for feature in prepared.features]
        names = [f"{prefix}_{place}" for place in range(len(texts))]
        query: Any = prepared.query
        if norm is None:
            grid = Grid.over(query.low, query.high, self._n)
            wholes = [self._whole(text, grid, node) for text, node in zip(texts, prepared.features, strict=True)]
            self._second += [f"{whole} AS {name}" for whole, name in zip(wholes, names, strict=True)]
            return names
        number = self._dialect.number
        tiny, low, zero, one = number(TINY), number(-TINY), number(0.0), number(1.0)
        shares = [f"({text} / {number(norm)})" for text in texts]
        snapped = [f"(CASE WHEN {each} < {tiny} AND {each} > {low} THEN {zero} ELSE {each} END)" for each in shares]
        # Each share is a column of its own: written out wherever it is used, the statement would be far too long.
        parts = [f"{prefix}_share_{place}" for place in range(len(texts))]
        self._shares += [f"{each} AS {part}" for each, part in zip(snapped, parts, strict=True)]
        squares = [f"({part} * {part})" for part in parts]
        sums = [" + ".join(squares[start : start + TOGETHER]) for start in range(0, len(squares), TOGETHER)]
        square = " + ".join(f"({some})" for some in sums)
        length = f"sqrt({square})"
        self._first.append(f"(CASE WHEN {length} > {one} THEN {length} ELSE {one} END) AS {prefix}_length")
        shift = number(row_shift(steps))
        self._second += [
            f"(({part} / {prefix}_length + {shift}) - {shift}) AS {name}"
            for part, name in zip(parts, names, strict=True)
        ]
        return names

    def _whole(self, text: str, grid: Grid, node: Expression) -> str:
        """Print how far a value lies above the range's lower end, in whole steps."""
        number = self._dialect.number
        low, high, shift = number(grid.low), number(grid.high), number(grid.shift)
        # What a declaration makes impossible is not asked about again.
        below = f" WHEN {text} < {low} THEN {low}" if node.low < grid.low else ""
        above = f" WHEN {text} > {high} THEN {high}" if node.high > grid.high else ""
        inside = f"(CASE{below}{above} ELSE {text} END)" if below or above else text
        return f"(({inside} - {low} + {shift}) - {shift})" if grid.low else f"(({inside} + {shift}) - {shift})"


def _roots(prepared: Prepared) -> tuple[Expression, ...]:
    """Return all expressions to print."""
    return (*_asked(prepared), *prepared.features)


def _asked(prepared: Prepared) -> tuple[Expression, ...]:
    """Return the expressions to print: of a query that counts records, the condition itself."""
    query = prepared.query
    if isinstance(query, StatisticalQuery) and (query.low, query.high) == (0.0, 1.0):
        (column,) = prepared.columns
        return (column.operands[0],) if column.operation == "one" else prepared.columns
    return prepared.columns


def _shares(prepared: Prepared, sums: Floats) -> Floats:
    """Return what some sums are in shares."""
    query = prepared.query
    if isinstance(query, SecondMoments):
        one, other = np.triu_indices(len(query.features))
        return sums * np.where(one == other, 1.0, math.sqrt(2.0))
    if isinstance(query, StatisticalQuery) or (isinstance(query, RowSums) and query.norm is None):
        return sums / (query.high - query.low)
    return sums


def _batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Cut a list of queries into runs of no more sums than are computed at once."""
    found, start, room = [], 0, _SUMS_AT_ONCE
    for place, size in enumerate(sizes):
        if place > start and size > room:
            found.append((start, place))
            start, room = place, _SUMS_AT_ONCE
        room -= size
    return [*found, (start, len(sizes))]
