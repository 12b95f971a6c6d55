"""What the rows of a block contribute to a query, in whole numbers: exact sums, in any order, on any machine."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import sparse

from tacit.numerics.arrays import Codes, Floats, Integers
from tacit.sums.block_cells import Cells
from tacit.sums.grid import TINY, TOGETHER, Grid, factor_steps, rounded, row_shift, steps_for
from tacit.sums.language import Expression
from tacit.sums.language.evaluate import Program
from tacit.sums.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

FINE = 2**10
"""Into how many parts a step is cut for rows of persons: a square, and sums of 2^52 steps stay below 2^62 of them."""
_ROWS_AT_ONCE = 65_536
_NUMBERS_AT_ONCE = 2**21
_COPIES = 64
"""As many numbers are worked with for each feature, so that the copies of some rows stay in a processor's cache."""


def rows_at_once(width: int) -> int:
    """Return how many rows with so many numbers in each are worked on at once: a thread takes a few times 16 MiB."""
    return max(1_024, min(_ROWS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, width)))


@final
@dataclass(frozen=True)
class Prepared:
    """A query whose function was called before any record was touched.

    `columns` are what the function gave, each a number or a level's place, `levels` the numbers that they are compared
    with, `features` the numbers that are added up; `text` says the question in words that are the same whenever the
    question is the same.
    """

    query: Query
    columns: tuple[Expression, ...]
    levels: tuple[tuple[float, ...], ...]
    features: tuple[Expression, ...]
    text: str

    @cached_property
    def program(self) -> Program:
        """What computes the columns: conditions and levels as they are, without making numbers of them."""
        return Program([each.operands[0] if each.operation in ("one", "code") else each for each in self.columns])

    @cached_property
    def feature_program(self) -> Program:
        """What computes the features."""
        return Program(self.features)

    @cached_property
    def places(self) -> "LevelPlaces":
        """What tells which level a record is at."""
        return LevelPlaces(self.columns, self.levels)


def block_sums(prepared: Prepared, cells: Cells, n: int) -> Integers:
    """Return what some rows, of `n` records or persons in all, contribute to each number of a query's answer.

    Guarantee: whole numbers; a record contributes at most the steps of a share, a person not more over all of their
    rows, each of which contributes the same part of what it would by itself, rounded towards 0.
    Assumes: n is at most 2^44.
    Reference: queries/oracle/oracle.md, "Whole steps" and "Persons".
    """
    match prepared.query:
        case StatisticalQuery() as query:
            return _mean(query, prepared, cells, n)
        case Histogram() as query:
            return _counts(query, prepared, cells, n)
        case RowSums() as query:
            return _row_sums(query, prepared, cells, n)
        case SecondMoments() as query:
            return _second_moments(query, prepared, cells, n)
    raise TypeError(type(prepared.query).__name__)


def in_shares(query: Query, sums: Integers, n: int, *, of_persons: bool) -> Floats:
    """Return sums of whole numbers in shares of the query."""
    whole = sums.astype(np.float64) / (FINE if of_persons else 1)
    match query:
        case StatisticalQuery() | RowSums(norm=None):
            grid = Grid.over(query.low, query.high, n)
            return np.asarray(whole * grid.step / grid.width)
        case Histogram():
            return whole / steps_for(n) if of_persons else whole
        case RowSums():
            return whole / steps_for(n)
    upper = np.triu_indices(len(getattr(query, "features", ())))
    shares: Floats = whole / factor_steps(n) ** 2
    return shares * np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))


def _mean(query: StatisticalQuery, prepared: Prepared, cells: Cells, n: int) -> Integers:
    grid, total, (column,) = Grid.over(query.low, query.high, n), 0, prepared.columns
    # The cells of a column are in its declared range already.
    is_inside = column.operation == "column" and grid.low <= column.low and column.high <= grid.high
    for rows, (values,) in _evaluated(prepared.program, cells):
        if cells.divisors is not None:
            steps = _whole(np.asarray(values, dtype=np.float64), grid) / grid.step
            total += int(_divided(steps, cells.divisors[rows]).sum())
        elif column.operation == "one":
            no, yes = (_whole(np.array([0.0, 1.0]), grid) / grid.step).tolist()
            there = int(np.count_nonzero(values))
            total += there * int(yes) + (len(values) - there) * int(no)
        else:
            total += _sum_of_steps(np.asarray(values, dtype=np.float64), grid, is_inside=is_inside)
    return np.array([total])


def _sum_of_steps(values: Floats, grid: Grid, *, is_inside: bool) -> int:
    """Return the sum of the steps that each value lies above the range's lower end, in as few passes as it takes."""
    above = values if is_inside else np.clip(values, grid.low, grid.high)
    if grid.low:
        above = above - grid.low
    # From the shift to twice the shift floats are a step apart, and so are their bits, read as whole numbers, by 1:
    # sums of these wrap around at 2^64, which the sum of the steps themselves does not reach.
    bits = (above + grid.shift).view(np.int64)
    return (int(bits.sum()) - len(values) * int(np.float64(grid.shift).view(np.int64))) % 2**64


def _counts(query: Histogram, prepared: Prepared, cells: Cells, n: int) -> Integers:
    counts = np.zeros(query.size + 1, dtype=np.int64)
    for rows, columns in _evaluated(prepared.program, cells):
        at = prepared.places.of(columns)
        if cells.divisors is None:
            counts += np.bincount(at, minlength=query.size + 1)
        else:
            np.add.at(counts, at, _divided(np.full(len(at), steps_for(n)), cells.divisors[rows]))
    return counts[: query.size]


def _row_sums(query: RowSums, prepared: Prepared, cells: Cells, n: int) -> Integers:
    places = np.zeros(cells.rows, dtype=np.intp)
    if prepared.levels:
        places = np.concatenate([prepared.places.of(columns) for _, columns in _evaluated(prepared.program, cells)])
    grid, steps = Grid.over(query.low, query.high, n), steps_for(n)
    matrix = cells.matrix(query.features)
    if sparse.issparse(matrix) and query.norm is None and query.low == 0:
        # A cell that is not stored is 0, which is `low`: it contributes nothing.
        shares = matrix.tocsr()
        whole: Any = _whole(shares.data, grid) / grid.step
        if cells.divisors is not None:
            whole = _divided(whole, np.repeat(cells.divisors, np.diff(shares.indptr)))
        counted = sparse.csr_array((whole.astype(np.int64), shares.indices, shares.indptr), shares.shape)
        return np.asarray(_by_place(query.groups, places, counted).toarray()).ravel()
    total = np.zeros((query.groups, len(query.features)), dtype=np.int64)
    for rows, values in _features(matrix, prepared, cells):
        one = 1 / steps if query.norm is not None else grid.step
        whole = (_whole(values, grid) if query.norm is None else _whole_rows(values, query.norm, steps)) / one
        if cells.divisors is not None:
            whole = _divided(whole, cells.divisors[rows][:, None])
        total += np.asarray(_by_place(query.groups, places[rows], whole)).astype(np.int64)
    return total.ravel()


def _second_moments(query: SecondMoments, prepared: Prepared, cells: Cells, n: int) -> Integers:
    width, steps = len(query.features), factor_steps(n)
    total = np.zeros((width, width), dtype=np.int64)
    for rows, values in _features(cells.matrix(query.features), prepared, cells):
        if cells.divisors is None:
            whole = _whole_rows(values, query.norm, steps) * steps
            total += (whole.T @ whole).astype(np.int64)
        else:
            # Products rounded one by one would not be semidefinite, which the bound on second moments needs.
            roots = np.sqrt(cells.divisors[rows], dtype=np.float64)[:, None]
            parts = (_unit_rows(values, query.norm) * (steps * math.sqrt(FINE)) / roots).astype(np.int64)
            total += parts.T @ parts
    return total[np.triu_indices(width)]


def _divided(whole: Floats, divisors: Any) -> Integers:
    """Return the part of each row, in fine steps: what it would contribute over the rows of its person."""
    sizes = np.abs(whole).astype(np.int64) * FINE // divisors
    return np.asarray(np.where(whole < 0, -sizes, sizes))


def _evaluated(program: Program, cells: Cells, most: int | None = None) -> Iterator[tuple[slice, list[Any]]]:
    """Yield the values that a program computes, some rows at a time."""
    kept: dict[str, Any] = {}

    def column(name: str) -> Any:
        if name not in kept:
            kept[name] = cells.column(name)
        return kept[name]

    most = rows_at_once(program.most_held) if most is None else most
    for start in range(0, cells.rows, most):
        rows = slice(start, min(start + most, cells.rows))
        values = program.run(lambda name, rows=rows: column(name)[rows])  # type: ignore[misc]
        yield rows, [each if np.ndim(each) else np.full(rows.stop - rows.start, each) for each in values]


def _features(matrix: Any, prepared: Prepared, cells: Cells) -> Iterator[tuple[slice, Floats]]:
    """Yield rows of features, some at a time."""
    most = rows_at_once(_COPIES * len(prepared.features))
    if matrix is None:
        for rows, columns in _evaluated(prepared.feature_program, cells, most):
            yield rows, np.column_stack(columns)
        return
    ordered = matrix.tocsr() if sparse.issparse(matrix) else matrix
    for start in range(0, cells.rows, most):
        rows = slice(start, min(start + most, cells.rows))
        yield rows, ordered[rows].toarray() if sparse.issparse(matrix) else ordered[rows]


def _by_place(groups: int, places: Codes, contributed: Any) -> Any:
    """Add up what was contributed at each place that is one of the groups."""
    if groups == 1 and not sparse.issparse(contributed) and not places.any():
        return contributed.sum(axis=0)[None, :]
    there = np.flatnonzero(places < groups)
    ones = np.ones(len(there), dtype=contributed.dtype)
    return sparse.csr_array((ones, (places[there], there)), shape=(groups, len(places))) @ contributed


@final
class LevelPlaces:
    """Tells which of some levels each record is at, column by column: the number of the level, or of levels if none.

    What a column has of the levels' values is looked up by the codes of its own levels, or by truth, where it has them.
    """

    def __init__(self, columns: Sequence[Expression], levels: Sequence[tuple[float, ...]]) -> None:
        self._steps: list[tuple[Floats, Codes | None, Codes]] = []
        so_far: dict[tuple[float, ...], int] = {(): 0}
        for depth, column in enumerate(columns):
            longer = dict.fromkeys(level[: depth + 1] for level in levels)
            numbers = {prefix: number for number, prefix in enumerate(longer)}
            values = np.array(sorted({prefix[-1] for prefix in longer}))
            # The last row is of no level so far, the last column of no value here.
            after = np.full((len(so_far) + 1, len(values) + 1), len(longer), dtype=np.intp)
            for prefix, number in numbers.items():
                after[so_far[prefix[:-1]], np.searchsorted(values, prefix[-1])] = number
            table = None
            if column.operation in ("one", "code"):
                # From 0 on, and last of all the code -1, which is no level.
                codes = [*range(int(column.high) + 1), *range(int(column.low), 0)]
                table = _among(values, np.array(codes, dtype=np.float64))
            self._steps.append((values, table, after))
            so_far = numbers

    def of(self, columns: Sequence[Any]) -> Codes:
        """Return where records are, given what `Prepared.program` computes of them."""
        code: Any = 0
        for (values, table, after), cells in zip(self._steps, columns, strict=True):
            if table is None:
                place = _among(values, cells)
            else:
                place = table[cells.astype(np.int8) if cells.dtype == np.bool_ else cells]
            code = after[code, place]
        return np.asarray(code)


def _among(values: Floats, cells: Floats) -> Codes:
    """Return at which of some sorted values each cell is, or how many values there are."""
    places = np.minimum(np.searchsorted(values, cells), len(values) - 1)
    return np.where(values[places] == cells, places, len(values))


def _whole(values: Floats, grid: Grid) -> Floats:
    """Return how far each value lies above the range's lower end, in whole steps."""
    return np.asarray(rounded(np.clip(values, grid.low, grid.high) - grid.low, grid.shift))


def _whole_rows(rows: Floats, norm: float, steps: float) -> Floats:
    """Return rows of norm at most 1, in whole steps."""
    return np.asarray(rounded(_unit_rows(rows, norm), row_shift(steps)))


def _unit_rows(rows: Floats, norm: float) -> Floats:
    """Return rows brought to a norm of at most 1.

    Squares are added one column after the other, so that a row's length does not depend on the rows beside it.
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
    return np.ascontiguousarray(cells.T)
