"""The rows of a linear model, clipped and with an intercept, without a copy of the data.

Row i stands for [scale_i x_i, constant]: clipping is a factor for each row, the intercept a constant that
every row ends with. Both are applied on the fly, so that a million rows need no second matrix.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, cast, final

import numpy as np

from tacit.accounting.unit import RECORD, Unit
from tacit.checks import finite_number, whole_number
from tacit.data.shares import Shares
from tacit.data.store.lazy_rows import LazyRows
from tacit.erm.rows.block import Block
from tacit.erm.rows.matrix import DenseMatrix, LazyMatrix, Matrix, SparseMatrix, SpreadMatrix, StoredRows, as_matrix
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Codes, Floats
from tacit.numerics.by_part import by_part
from tacit.numerics.spread import TARGET, SpreadTable, in_lot, plain
from tacit.numerics.threads import Bounds, Threads, longest, threads

_CACHE_ENTRIES = 2**18
_ON_ONE_NODE = 2**24
_LARGEST = 1e150


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """The design matrix with rows [scale_i x_i, constant].

    Build it with `Rows.clipped`: every row is brought into a ball of public radius. `norm` bounds that of every row,
    the constant included, in exact arithmetic. With `shares` rows count in part, in every sum and mean over them.
    `filled`, if known, bounds the sum of the sizes of a row's numbers too, by its root times `norm`: that of a row
    with so many numbers other than 0.
    """

    matrix: StoredRows
    scale: Any
    constant: float | None
    norm: float
    shares: Shares | None = None
    filled: int | None = None

    @classmethod
    def clipped(cls, data: object, norm: float, constant: float | None = None, filled: int | None = None) -> Self:
        """Scale rows that are longer than `norm` down to it; end every row with `constant` if given.

        With `filled`, rows whose sizes add up to more than its root times `norm` are scaled down to that as well.
        """
        norm = finite_number("norm", norm)
        constant = None if constant is None else finite_number("constant", constant)
        filled = None if filled is None else whole_number("filled", filled)
        if not 0 < norm < _LARGEST:
            raise InvalidParameter(f"norm must be a positive finite number, got {norm!r}.")
        matrix = as_matrix(data)
        lengths = _lengths(matrix, filled)
        scale = _factors(lengths, norm) if float(lengths.max()) > norm else None
        return cls(matrix, scale, constant, _joint_norm(norm, constant), filled=_with_constant(filled, constant))

    @classmethod
    def stored(
        cls,
        data: LazyRows | SpreadTable,
        within: float,
        norm: float,
        constant: float | None = None,
        filled: int | None = None,
    ) -> Self:
        """Do the same with rows elsewhere, whose norms are at most `within`: factors are computed as rows are read.

        They have at most `filled` numbers other than 0 each, which bounds their sums by itself.
        """
        joint, filled = _joint_norm(norm, constant), _with_constant(filled, constant)
        if isinstance(data, SpreadTable):
            # Factors are computed where the rows are, when these are looked at: see `_there`.
            return cls(SpreadMatrix(data), norm if within > norm else None, constant, joint, filled=filled)
        scale = by_part(partial(_row_factors, norm), data) if within > norm else None
        return cls(LazyMatrix(data), scale, constant, joint, filled=filled)

    def over(self, targets: Any, workers: Threads, job: "Callable[[Rows, Any, Threads], Floats]") -> Floats:
        """Return the sum of `job(rows, their targets, threads)` over the places that rows are kept in.

        The job is a plain function that sums over the rows it is given: here, or on each node of a cluster.
        """
        if not isinstance(self.matrix, SpreadMatrix):
            return job(self, targets, workers)
        table: SpreadTable = self.matrix.array
        return table.sum(self._sent(targets, job))

    def together(self, targets: Any, job: "Callable[[Rows, Any, Threads], Floats]") -> Floats | None:
        """Return `job(rows, their targets, threads)` from one node of a cluster; None for rows here, or too many."""
        if not isinstance(self.matrix, SpreadMatrix) or self.length * self.dimension > _ON_ONE_NODE:
            return None
        table: SpreadTable = self.matrix.array
        return table.together(self._sent(targets, job))

    def _sent(self, targets: Any, job: "Callable[[Rows, Any, Threads], Floats]") -> Callable[[Floats], Floats]:
        """Return a job as it is sent to where lots of these rows are."""
        weights = None if self.shares is None else plain(self.shares.weights)
        shell = replace(self, matrix=cast(Any, None), shares=None)
        return partial(_there, shell, weights, self.count, self.whom, plain(targets), job)

    def weighed(self, shares: Shares | None) -> Self:
        """Return the same rows, each of which counts as much as its share."""
        if shares is not None and len(shares.weights) != self.length:
            raise InvalidParameter("there must be one weight, or one person's id, for each row.")
        return replace(self, shares=shares)

    @property
    def length(self) -> int:
        """How many rows there are: private where persons own them."""
        return self.matrix.shape[0]

    @property
    def count(self) -> int:
        """The number that sums over rows are divided by: public; of rows, or of the persons who own them."""
        return self.length if self.shares is None else self.shares.units

    @property
    def whom(self) -> Unit:
        """Whom a release about these rows protects: a record, or a person, who may own several rows."""
        return RECORD if self.shares is None else self.shares.whom

    @property
    def dimension(self) -> int:
        """How many coefficients a score has, the intercept's included."""
        return self.matrix.shape[1] + (self.constant is not None)

    @property
    def longest(self) -> int:
        """The largest number of terms in a score."""
        return self.matrix.longest + (self.constant is not None)

    def every(self, step: int) -> Self:
        """Return every step-th row; dense rows share their memory."""
        scale = self.scale[::step] if hasattr(self.scale, "__getitem__") else self.scale
        shares = None if self.shares is None else self.shares.every(step)
        return replace(self, matrix=self.matrix.every(step), scale=scale, shares=shares)

    def take(self, indices: Codes) -> Block:
        """Return the rows at the indices, as a copy, each of which counts in full."""
        scale = None if self.scale is None else self.scale[indices]
        return Block(self.matrix.take(indices), scale, self.constant)

    def blocks(self, columns: int, most: float = math.inf) -> list[Bounds]:
        """Cut the rows into blocks of at most `most` rows that fit a cache beside their scores."""
        return _cut(self.matrix, columns, most)

    def longest_block(self, columns: int, most: float = math.inf) -> int:
        """Bound the rows of the longest of these blocks, wherever the rows are."""
        if isinstance(self.matrix, SpreadMatrix):
            return max(1, int(min(most, _CACHE_ENTRIES)))
        return longest(self.blocks(columns, most))

    def block(self, bounds: Bounds) -> Block:
        """Return the rows within the bounds."""
        start, stop = bounds
        scale = None if self.scale is None else self.scale[start:stop]
        weights = None if self.shares is None else self.shares.weights[start:stop]
        return Block(self.matrix.part(start, stop), scale, self.constant, weights)


def _row_factors(norm: float, rows: Floats) -> Floats:
    return _factors(_lengths(DenseMatrix(rows)), norm)


def _there(
    shell: Rows,
    weights: Any,
    count: int,
    whom: Unit,
    targets: Any,
    job: Callable[[Rows, Any, Threads], Floats],
    lot: Floats,
) -> Floats:
    """Do a job on a lot of rows, where these are kept: the last numbers of a row stand beside its features."""
    matrix = DenseMatrix(lot[:, :TARGET])
    scale = None if shell.scale is None else _row_factors(shell.scale, matrix.array)
    found = in_lot(weights, lot)
    shares = None if found is None else Shares(found, count, whom)
    return job(replace(shell, matrix=matrix, scale=scale, shares=shares), in_lot(targets, lot), Threads(None))


def _factors(lengths: Floats, norm: float) -> Floats:
    """Return what to multiply rows of these lengths by, so that none is longer than `norm`."""
    # The last factor keeps the exact product within `norm` although the quotient is rounded.
    scale = (norm / np.maximum(lengths, norm)) * (1.0 - 4 * UNIT_ROUNDOFF)
    scale[lengths <= norm] = 1.0
    return scale


def _cut(matrix: StoredRows, columns: int, most: float = math.inf) -> list[Bounds]:
    """Cut a matrix into blocks of rows."""
    # A sparse block's sums are as wide as all features, a lazy one's columns are read one by one: few blocks pay.
    room = _CACHE_ENTRIES * (8 if isinstance(matrix, SparseMatrix) else 4 if isinstance(matrix, LazyMatrix) else 1)
    rows = matrix.shape[0]
    fitting = max(256.0, room / (matrix.entries / rows + 2 * columns))
    size = max(1, int(min(most, fitting, rows)))
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]


def _with_constant(filled: int | None, constant: float | None) -> int | None:
    """How many numbers of a row may differ from 0 when it ends with the constant."""
    return None if filled is None else filled + (constant is not None)


def _lengths(matrix: Matrix, filled: int | None = None) -> Floats:
    """Return an upper bound on the norm of every row; refuse numbers that are not finite.

    With `filled` the length of a row is at least the sum of its sizes over the root of that.
    """
    with threads(matrix.entries) as workers:
        parts = workers.each(lambda bounds: matrix.part(*bounds).square_lengths(), _cut(matrix, 1))
    squares = np.concatenate(parts)
    if not np.all(squares < _LARGEST**2):
        raise InvalidParameter(
            f"X must hold finite numbers below {_LARGEST:g} in size; it has NaN, infinity or larger ones."
        )
    # Squares below the smallest double vanish: the last term stands for them. The width, not the fullest row: how a
    # record is clipped must depend on no other.
    width = matrix.shape[1]
    relative = 1.0 + (width + 8) * UNIT_ROUNDOFF
    lengths = np.asarray(np.sqrt(squares) * relative + 1e-150 * math.sqrt(width))
    if filled is None:
        return lengths
    with threads(matrix.entries) as workers:
        sums = np.concatenate(workers.each(lambda bounds: matrix.part(*bounds).sums(), _cut(matrix, 1)))
    return np.maximum(lengths, sums * (relative / math.sqrt(filled)))


def _joint_norm(norm: float, constant: float | None) -> float:
    """Bound the norm of a row that ends with the constant."""
    if constant is None:
        return norm
    if not 0 < abs(constant) < _LARGEST:
        raise InvalidParameter(f"constant must be a finite number other than 0, got {constant!r}.")
    return math.hypot(norm, constant) * (1.0 + 4 * UNIT_ROUNDOFF)
