"""Records in memory: columns of cleaned cells, or a matrix of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from scipy import sparse

from tacit.data.columns import Column
from tacit.data.persons import Persons
from tacit.data.sources.table import Block
from tacit.numerics.arrays import Codes, Floats
from tacit.sums.engines.engine import Engine, Part, Prepared, steps_for
from tacit.sums.engines.grid import TINY, TOGETHER, Grid, factor_steps, rounded, row_shift
from tacit.sums.engines.means import Means
from tacit.sums.language import Expression
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.names import stands_for
from tacit.sums.query import Histogram, RowSums, SecondMoments, StatisticalQuery

_ROWS_AT_ONCE = 16_384


@final
@dataclass(frozen=True)
class Columns:
    """Cells kept by column."""

    cells: Block

    def chosen(self, rows: Any) -> "Columns":
        """Return the cells of some records."""
        return Columns({name: column[rows] for name, column in self.cells.items()})

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        return self.cells[name]

    def matrix(self, names: tuple[str, ...]) -> Any:
        """Return None: cells are no matrix."""
        return None


@final
@dataclass(frozen=True)
class ArrayCells:
    """Rows of features, kept as they are, and labels beside them."""

    rows: Any
    names: tuple[str, ...]
    label: str | None
    marks: Floats | None

    def chosen(self, rows: Any) -> "ArrayCells":
        """Return the cells of some records."""
        kept = self.rows.tocsr() if sparse.issparse(self.rows) else self.rows
        return replace(self, rows=kept[rows], marks=None if self.marks is None else self.marks[rows])

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        if name == self.label:
            return self.marks
        place = self.names.index(name)
        return self.rows[:, [place]].toarray()[:, 0] if sparse.issparse(self.rows) else self.rows[:, place]

    def matrix(self, names: tuple[str, ...]) -> Any:
        """Return some columns side by side."""
        if self.label in names:
            return None
        places = [self.names.index(name) for name in names]
        return self.rows if places == list(range(self.rows.shape[1])) else self.rows[:, places]


Cells = Columns | ArrayCells
"""The cleaned cells of some records: each kind gives a column, or some side by side if that is how they are kept."""


@final
class MemoryEngine(Engine):
    """Cleaned cells in memory, summed by numpy."""

    def __init__(
        self,
        cells: Cells,
        n: int,
        columns: Mapping[str, Column],
        *,
        label: str | None,
        labels: tuple[Any, Any],
        identity: str,
        fixed_by: Literal["index"] | None = "index",
        persons: Persons | None = None,
    ) -> None:
        self._cells, self.n, self.columns, self.fixed_by = cells, n, dict(columns), fixed_by
        self.label, self.labels, self.identity = label, labels, identity
        self._means: Means | None = None
        if persons is not None:
            # Parts by index would cut persons in two.
            self.unit, self.fixed_by, self._means = persons.whom, None, Means(persons)
            self._cells = cells.chosen(self._means.rows)

    def part_size(self, part: Part) -> int:
        """Return how many of the indices belong to the part."""
        return len(range(part.number, self.n, part.count))

    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Floats]:
        """Return each query's sums, in shares."""
        cells = self._cells if part is None else self._cells.chosen(slice(part.number, None, part.count))
        size = self.n if part is None else self.part_size(part)
        if self._means is not None:
            size = len(self._means.rows)
        some = _Some(cells, size, self.n, self._flipped_label if flipped else None, self._means)
        return [some.sums(prepared) for prepared in queries]

    @property
    def _flipped_label(self) -> tuple[str, Expression, bool]:
        assert self.label is not None
        node = stands_for(self.label, self.columns[self.label])
        return self.label, self.exchanged(node), node.kind == "level"


@final
@dataclass(frozen=True)
class _Some:
    """The cells of some records, of `n` in all, which is public; perhaps with the labels exchanged.

    With `means` they are rows of `n` persons, who contribute the mean over theirs.
    """

    cells: Cells
    size: int
    n: int
    label: tuple[str, Expression, bool] | None
    means: Means | None

    def sums(self, prepared: Prepared) -> Floats:
        """Return one query's sums."""
        match prepared.query:
            case StatisticalQuery() as query:
                grid, total = Grid.over(query.low, query.high, self.n), 0.0
                for block, (values,) in self._evaluated(prepared.columns):
                    _, shares = self._contributed(block, None, _whole(values, grid)[:, None], grid.step)
                    total += float(shares.sum())
                return np.array([total / grid.width])
            case Histogram() as query:
                counts = np.zeros(query.size + 1)
                for block, columns in self._evaluated(prepared.columns):
                    ones = np.ones((block.stop - block.start, 1))
                    at, shares = self._contributed(
                        block, _places(prepared.levels, columns), ones, 1 / steps_for(self.n)
                    )
                    counts += np.bincount(at, shares[:, 0], query.size + 1)
                return counts[: query.size]
            case RowSums() as query:
                return self._row_sums(query, prepared)
            case SecondMoments() as query:
                return self._second_moments(query, prepared)
        raise TypeError(type(prepared.query).__name__)

    def _contributed(self, block: slice, places: Codes | None, values: Any, step: float) -> tuple[Codes, Any]:
        """Return contributions at places: of each row, or what its person's come to."""
        at = np.zeros(values.shape[0], dtype=np.intp) if places is None else places
        return (at, values) if self.means is None else self.means.of(block, at, values, step)

    def _blocks(self, most: int) -> Iterator[slice]:
        """Cut the rows into blocks."""
        if self.means is not None:
            return self.means.blocks(most)
        return (slice(start, min(self.size, start + most)) for start in range(0, self.size, most))

    def _evaluated(self, columns: Sequence[Expression]) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield the columns' values, some records at a time."""
        known: dict[str, Any] = {}
        for rows in self._blocks(_ROWS_AT_ONCE):
            found = evaluate(columns, lambda name, rows=rows: self._cells(name, known)[rows])  # type: ignore[misc]
            height = (rows.stop - rows.start,)
            yield rows, [np.broadcast_to(np.asarray(each, dtype=np.float64), height) for each in found]

    def _cells(self, name: str, known: dict[str, Any]) -> Any:
        """Return a column, the label exchanged if need be; what takes work is kept as long as a query needs it."""
        if name not in known:
            known[name] = self.cells.column(name)
            if self.label is not None and name == self.label[0]:
                (flipped,) = evaluate([self.label[1]], lambda _: known[name])
                known[name] = np.asarray(flipped, dtype=np.intp) if self.label[2] else flipped
        return known[name]

    def _row_sums(self, query: RowSums, prepared: Prepared) -> Floats:
        places = np.zeros(self.size, dtype=np.intp)
        if prepared.levels:
            evaluated = self._evaluated(prepared.columns)
            places = np.concatenate([_places(prepared.levels, columns) for _, columns in evaluated])
        grid, steps = Grid.over(query.low, query.high, self.n), steps_for(self.n)
        rows = self.cells.matrix(query.features)
        if sparse.issparse(rows) and query.norm is None and query.low == 0:
            # A cell that is not stored is 0, which is `low`: it contributes nothing.
            shares = rows.copy()
            shares.data = _whole(rows.data, grid)
            found = self._contributed(slice(0, self.size), places, shares, grid.step)
            return np.asarray(_by_place(query.groups, *found).toarray()).ravel() / grid.width
        total = np.zeros((query.groups, len(query.features)))
        for block, values in self._features(rows, prepared):
            whole = _whole(values, grid) if query.norm is None else _whole_rows(values, query.norm, steps)
            step = grid.step if query.norm is None else 1 / steps
            total += _by_place(query.groups, *self._contributed(block, places[block], whole, step))
        return total.ravel() / (grid.width if query.norm is None else 1.0)

    def _second_moments(self, query: SecondMoments, prepared: Prepared) -> Floats:
        width, steps = len(query.features), factor_steps(self.n)
        total = np.zeros((width, width))
        for block, values in self._features(self.cells.matrix(query.features), prepared):
            whole = _whole_rows(values, query.norm, steps)
            if self.means is None:
                total += whole.T @ whole
                continue
            for place in range(width):
                products = whole[:, place, None] * whole[:, place:]
                total[place, place:] += self._contributed(block, None, products, 1 / steps**2)[1].sum(axis=0)
        upper = np.triu_indices(width)
        return np.asarray(total[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0)))

    def _features(self, rows: Any, prepared: Prepared) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows and their features."""
        if rows is None:
            for block, columns in self._evaluated(prepared.features):
                yield block, np.column_stack(columns)
            return
        ordered = rows.tocsr() if sparse.issparse(rows) else rows
        for block in self._blocks(max(1, 2**22 // max(1, rows.shape[1]))):
            yield block, ordered[block].toarray() if sparse.issparse(rows) else ordered[block]


def _by_place(groups: int, places: Codes, contributed: Any) -> Any:
    """Add up what was contributed at each place that is one of the groups."""
    there = np.flatnonzero(places < groups)
    shape = (groups, len(places))
    return sparse.csr_array((np.ones(len(there)), (places[there], there)), shape=shape) @ contributed


def _places(levels: Sequence[tuple[float, ...]], columns: Sequence[Floats]) -> Codes:
    """Return the number of the level that each record is at, or the number of levels: column by column."""
    code = np.zeros(len(columns[0]), dtype=np.intp)
    known: dict[tuple[float, ...], int] = {(): 0}
    for depth, cells in enumerate(columns):
        longer = {prefix: number for number, prefix in enumerate(dict.fromkeys(level[: depth + 1] for level in levels))}
        values = np.array(sorted({prefix[-1] for prefix in longer}))
        after = np.full((len(known) + 1, len(values)), len(longer), dtype=np.intp)
        for prefix, number in longer.items():
            after[known[prefix[:-1]], np.searchsorted(values, prefix[-1])] = number
        place = np.minimum(np.searchsorted(values, cells), len(values) - 1)
        code = np.where(values[place] == cells, after[code, place], len(longer))
        known = longer
    return code


def _whole(values: Floats, grid: Grid) -> Floats:
    """Return how far each value lies above the range's lower end, in whole steps."""
    return np.asarray(rounded(np.clip(values, grid.low, grid.high) - grid.low, grid.shift))


def _whole_rows(rows: Floats, norm: float, steps: float) -> Floats:
    """Return rows of norm at most 1, in whole steps.

    Squares are added one column after the other, so that the length is the same float in every engine.
    """
    with np.errstate(all="ignore"):
        shares = rows.T / norm
        shares = np.where(np.abs(shares) < TINY, 0.0, shares)
        square = np.zeros(rows.shape[0])
        for start in range(0, len(shares), TOGETHER):
            some = np.zeros(rows.shape[0])
            for share in shares[start : start + TOGETHER]:
                some += share * share
            square += some
        cells = shares / np.maximum(np.sqrt(square), 1.0)
    return np.ascontiguousarray(np.asarray(rounded(cells, row_shift(steps))).T)
