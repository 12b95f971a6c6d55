"""Adding up what records in memory contribute: those of one part, with labels as they are or exchanged."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.queries.engine import Part, Prepared, steps_for
from tacit.queries.expressions import Expression
from tacit.queries.grid import Grid, factor_steps, rounded, row_shift
from tacit.queries.meanings import cleaned, evaluate
from tacit.queries.opaque import HEIGHT, Opaque
from tacit.queries.query import Histogram, RowSums, SecondMoments, StatisticalQuery

if TYPE_CHECKING:
    from tacit.queries.arrays import ArrayEngine

__all__ = ["Chosen"]

_ROWS_AT_ONCE = 16 * HEIGHT

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Chosen:
    """The records of one part."""

    rows: Any
    marks: Floats | None
    n: int
    engine: "ArrayEngine"

    @classmethod
    def of(cls, engine: "ArrayEngine", n: int, flipped: bool, part: Part | None) -> "Chosen":
        """Choose the records of a part by their index, and exchange the labels if asked to."""
        rows, marks = engine.rows, engine.marks
        if part is not None:
            chosen = slice(part.number, None, part.count)
            rows, marks = rows[chosen], None if marks is None else marks[chosen]
        if flipped and marks is not None:
            negative, positive = engine.labels
            marks = np.where(marks == positive, negative, np.where(marks == negative, positive, marks))
        return cls(rows, marks, n, engine)

    def sums(self, prepared: Prepared) -> Floats:
        """Return one query's sums."""
        match prepared.query:
            case StatisticalQuery() as query:
                return self._scalar(query, prepared.columns[0])
            case Histogram() as query:
                places = self._levels(prepared.levels, prepared.columns)
                return np.bincount(places, minlength=query.size + 1)[: query.size].astype(np.float64)
            case RowSums() as query:
                return self._row_sums(query, prepared)
            case SecondMoments() as query:
                return self._second_moments(query)
        raise TypeError(type(prepared.query).__name__)

    def _evaluated(self, columns: Sequence[Expression]) -> Iterator[list[Floats]]:
        """Yield the columns' values, some records at a time."""
        whole = _Whole(self)
        for start in range(0, self.n, _ROWS_AT_ONCE):
            rows = _Some(whole, slice(start, min(self.n, start + _ROWS_AT_ONCE)))
            height = rows.chosen.stop - start
            yield [np.broadcast_to(evaluate(column, rows), (height,)) for column in columns]

    def _scalar(self, query: StatisticalQuery, column: Expression) -> Floats:
        grid = Grid.over(query.low, query.high, self.engine.n)
        assert query.missing is not None
        total = 0.0
        for (values,) in self._evaluated([column]):
            total += float(_whole(values, grid, query.missing).sum())
        return np.array([total / grid.width])

    def _levels(self, levels: Sequence[tuple[float, ...]], columns: Sequence[Expression]) -> NDArray[np.intp]:
        """Return the number of the level that each record is at, or the number of levels if at none."""
        return np.concatenate([_places(levels, values) for values in self._evaluated(columns)])

    def _row_sums(self, query: RowSums, prepared: Prepared) -> Floats:
        levels = prepared.levels
        places = self._levels(levels, prepared.columns) if levels else np.zeros(self.n, dtype=np.intp)
        counted = np.flatnonzero(places < query.groups)
        member = sparse.csr_array((np.ones(len(counted)), (places[counted], counted)), shape=(query.groups, self.n))
        rows = self._features(query.features)
        grid = Grid.over(query.low, query.high, self.engine.n)
        steps = steps_for(self.engine.n)
        if sparse.issparse(rows) and query.norm is None and query.low == 0:
            # A cell that is not stored is 0, which is `low`: it contributes nothing.
            shares = rows.copy()
            shares.data = _whole(cleaned(rows.data), grid, query.low)
            return np.asarray((member @ shares).toarray()).ravel() / grid.width
        total = np.zeros((query.groups, len(query.features)))
        for start, block in _blocks(rows):
            cells = cleaned(block)
            whole = _whole(cells, grid, query.low) if query.norm is None else _whole_rows(cells, query.norm, steps)
            total += member[:, start : start + len(block)] @ whole
        return total.ravel() / (grid.width if query.norm is None else 1.0)

    def _second_moments(self, query: SecondMoments) -> Floats:
        total = np.zeros((len(query.features), len(query.features)))
        for _, block in _blocks(self._features(query.features)):
            whole = _whole_rows(cleaned(block), query.norm, factor_steps(self.engine.n))
            total += whole.T @ whole
        upper = np.triu_indices(len(query.features))
        return np.asarray(total[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0)))

    def _features(self, names: Sequence[str]) -> Any:
        places = [self.engine.places[name] for name in names]
        return self.rows if places == list(range(self.rows.shape[1])) else self.rows[:, places]


@final
@dataclass(frozen=True)
class _Whole:
    """The columns of the chosen records; those of a sparse matrix are kept as long as a query needs them."""

    chosen: Chosen
    known: dict[str | None, Any] = field(default_factory=dict)

    def column(self, name: str) -> Any:
        """Return a column."""
        chosen = self.chosen
        if name == chosen.engine.label:
            return chosen.marks
        if not sparse.issparse(chosen.rows):
            return chosen.rows[:, chosen.engine.places[name]]
        if name not in self.known:
            self.known[name] = chosen.rows[:, [chosen.engine.places[name]]].toarray()[:, 0]
        return self.known[name]

    def by_row(self) -> Any:
        """Return the matrix in an order that blocks of rows are cut from."""
        if not sparse.issparse(self.chosen.rows):
            return self.chosen.rows
        if None not in self.known:
            self.known[None] = self.chosen.rows.tocsr()
        return self.known[None]


@final
@dataclass(frozen=True)
class _Some:
    """Some of the chosen records, one after another."""

    whole: _Whole
    chosen: slice

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        return self.whole.column(name)[self.chosen]

    def applied(self, function: Opaque) -> Floats:
        """Return what a function gives for each record."""
        marks = self.whole.chosen.marks
        return function.values(self.whole.by_row()[self.chosen], None if marks is None else marks[self.chosen])


def _places(levels: Sequence[tuple[float, ...]], columns: Sequence[Floats]) -> NDArray[np.intp]:
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


def _blocks(rows: Any) -> Iterator[tuple[int, Floats]]:
    height = max(1, 2**22 // max(1, rows.shape[1]))
    ordered = rows.tocsr() if sparse.issparse(rows) else rows
    for start in range(0, rows.shape[0], height):
        block = ordered[start : start + height]
        yield start, block.toarray() if sparse.issparse(block) else block


def _whole(values: Floats, grid: Grid, missing: float) -> Floats:
    """Return how far each value lies above the range's lower end, in whole steps."""
    filled = np.where(np.isnan(values), missing, values)
    return np.asarray(rounded(np.clip(filled, grid.low, grid.high) - grid.low, grid.shift))


def _whole_rows(rows: Floats, norm: float, steps: float) -> Floats:
    """Return rows of norm at most 1, in whole steps; a missing cell is 0.

    Squares are added one column after the other, so that the length is the same float in every engine.
    """
    shares = np.where(np.isnan(rows), 0.0, rows).T / norm
    square = np.zeros(rows.shape[0])
    for share in shares:
        square += share * share
    cells = shares / np.maximum(np.sqrt(square), 1.0)
    return np.ascontiguousarray(np.asarray(rounded(cells, row_shift(steps))).T)
