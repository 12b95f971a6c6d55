"""Dense and sparse matrices behind the few products that a linear model needs.

Other number types than doubles are converted part by part, never as a whole; sparse rows are never made
dense.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from tacit.data.store.lazy_rows import LazyRows
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes, Floats
from tacit.numerics.exact import Point, long_product, long_sum, two_sum
from tacit.numerics.products import square_lengths


@dataclass(frozen=True, eq=False)
class StoredRows(ABC):
    """Rows of numbers, wherever they are: what is computed with them is computed part by part."""

    array: Any

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and how many columns."""
        rows, columns = self.array.shape
        return rows, columns

    @property
    def entries(self) -> int:
        """How many numbers are stored, explicit zeros included: of dense rows all."""
        return math.prod(self.shape)

    @property
    def longest(self) -> int:
        """The largest number of stored numbers in a row: of dense rows all columns."""
        return self.shape[1]

    @abstractmethod
    def every(self, step: int) -> "StoredRows":
        """Return every step-th row; dense ones share their memory."""

    @abstractmethod
    def take(self, indices: Codes) -> "Matrix":
        """Return a copy of the rows at the indices, as doubles."""

    @abstractmethod
    def part(self, start: int, stop: int) -> "Matrix":
        """Return the rows from start to stop as doubles, sharing the memory of doubles."""


class Matrix(StoredRows):
    """Rows of numbers in memory, dense or sparse."""

    def every(self, step: int) -> Self:
        """Return every step-th row; dense ones share their memory."""
        return type(self)(self.array[::step])

    def take(self, indices: Codes) -> Self:
        """Return a copy of the rows at the indices, as doubles."""
        return type(self)(self.array[indices].astype(np.float64))

    @abstractmethod
    def square_lengths(self) -> Floats:
        """Return the squared norm of every row."""

    @abstractmethod
    def sums(self) -> Floats:
        """Return the sum of the sizes of the numbers in every row."""

    def times(self, coefficients: Floats) -> Floats:
        """Return X W^T for coefficients W of shape (models, columns)."""
        return np.asarray(self.array @ coefficients.T)

    def pull(self, slopes: Floats) -> Floats:
        """Return G^T X for slopes G of shape (rows, models)."""
        return np.asarray((self.array.T @ slopes).T)

    @abstractmethod
    def gram(self, weights: Floats) -> Floats:
        """Return X^T diag(weights) X for nonnegative weights."""

    @abstractmethod
    def outer(self) -> Floats:
        """Return X X^T: all inner products of rows."""

    @abstractmethod
    def squares(self, weights: Floats) -> Floats:
        """Return the diagonal of X^T diag(weights) X."""

    @abstractmethod
    def long_times(self, models: Point) -> tuple[Floats, Floats]:
        """Return X W^T, computed with twice the digits, as the sum of two arrays."""


@final
@dataclass(frozen=True, eq=False)
class DenseMatrix(Matrix):
    """Rows in an array of two dimensions."""

    def part(self, start: int, stop: int) -> Self:
        """Return the rows from start to stop, a view when they are doubles already."""
        return type(self)(np.asarray(self.array[start:stop], dtype=np.float64))

    def square_lengths(self) -> Floats:
        """Return the squared norm of every row."""
        return square_lengths(self.array)

    def sums(self) -> Floats:
        """Return the sum of the sizes of the numbers in every row."""
        # By rows, however they are stored: a single row by columns is added up in the order of one by rows.
        return np.asarray(np.abs(self.array, order="C").sum(axis=1))

    def gram(self, weights: Floats) -> Floats:
        """Return X^T diag(weights) X as a symmetric rank-k update."""
        kept = np.flatnonzero(weights)
        if 2 * len(kept) < len(weights):
            root = self.array[kept] * np.sqrt(weights[kept])[:, None]
        else:
            root = self.array * np.sqrt(weights)[:, None]
        return np.asarray(root.T @ root)

    def outer(self) -> Floats:
        """Return X X^T: all inner products of rows."""
        return np.asarray(self.array @ self.array.T)

    def squares(self, weights: Floats) -> Floats:
        """Return the diagonal of X^T diag(weights) X."""
        return np.asarray(weights @ np.square(self.array))

    def long_times(self, models: Point) -> tuple[Floats, Floats]:
        """Add the products of a row in pairs, pairs of pairs and so on, keeping what each sum loses."""
        each = (models.both(itemgetter(row)) for row in range(len(models.high)))
        high, low = zip(*(long_sum(*long_product(self.array, model)) for model in each), strict=True)
        return np.column_stack(high), np.column_stack(low)


@final
@dataclass(frozen=True, eq=False)
class SparseMatrix(Matrix):
    """A matrix in compressed sparse rows."""

    @property
    def entries(self) -> int:
        """The numbers that are stored."""
        return int(self.array.nnz)

    @cached_property
    def longest(self) -> int:
        """The number of stored numbers in the fullest row."""
        return int(np.diff(self.array.indptr).max())

    def part(self, start: int, stop: int) -> Self:
        """Return the rows from start to stop, sharing the memory of doubles."""
        first, last = self.array.indptr[start], self.array.indptr[stop]
        numbers = np.asarray(self.array.data[first:last], dtype=np.float64)
        pointers = self.array.indptr[start : stop + 1] - first
        shape = (stop - start, self.array.shape[1])
        return type(self)(sp.csr_array((numbers, self.array.indices[first:last], pointers), shape=shape))

    def square_lengths(self) -> Floats:
        """Return the squared norm of every row."""
        return np.asarray(self.array.power(2).sum(axis=1), dtype=np.float64).ravel()

    def sums(self) -> Floats:
        """Return the sum of the sizes of the numbers in every row."""
        return np.asarray(abs(self.array).sum(axis=1)).ravel()

    def gram(self, weights: Floats) -> Floats:
        """Return X^T diag(weights) X, whose rows and columns are features, not records."""
        return np.asarray((self.array.T @ (sp.diags_array(weights) @ self.array)).toarray())

    def outer(self) -> Floats:
        """Return X X^T: all inner products of rows."""
        return np.asarray((self.array @ self.array.T).toarray())

    def squares(self, weights: Floats) -> Floats:
        """Return the diagonal of X^T diag(weights) X."""
        return np.asarray(self.array.power(2).T @ weights)

    def long_times(self, models: Point) -> tuple[Floats, Floats]:
        """Add the first product of every row, then the second of every row that has one, and so on."""
        counts = np.diff(self.array.indptr)
        order = np.argsort(-counts, kind="stable")
        starts, counts = self.array.indptr[order], counts[order]
        high = np.zeros((len(counts), len(models.high)))
        low = np.zeros_like(high)
        for place in range(int(counts[0])):
            rows = order[: np.searchsorted(-counts, -place)]
            where = starts[: len(rows)] + place
            features = self.array.indices[where]
            product, rest = long_product(self.array.data[where][:, None], models.part(features).both(np.transpose))
            high[rows], lost = two_sum(high[rows], product)
            low[rows] += lost + rest
        return high, low


@final
@dataclass(frozen=True, eq=False)
class LazyMatrix(StoredRows):
    """Dense rows that are made of stored cells, part by part, whenever one is asked for."""

    def every(self, step: int) -> StoredRows:
        """Return every step-th row, in memory if they fit there."""
        sample = self.array[::step]
        return LazyMatrix(sample) if isinstance(sample, LazyRows) else DenseMatrix(sample)

    def take(self, indices: Codes) -> Matrix:
        """Make the rows at the indices."""
        return DenseMatrix(self.array.take(indices))

    def part(self, start: int, stop: int) -> Matrix:
        """Make the rows from start to stop."""
        return DenseMatrix(self.array[start:stop])


@final
@dataclass(frozen=True, eq=False)
class SpreadMatrix(StoredRows):
    """Dense rows on the nodes of a cluster: what is computed with them is computed there (`Rows.over`)."""

    @property
    def entries(self) -> int:
        """None of the numbers is stored on this machine."""
        return 0

    def every(self, step: int) -> StoredRows:
        """Return a sample, on the same nodes."""
        return SpreadMatrix(self.array.every(step))

    def take(self, indices: Codes) -> Matrix:
        """Refuse: rows stay where they are."""
        raise NotImplementedError("rows stay on the nodes of their cluster")

    def part(self, start: int, stop: int) -> Matrix:
        """Refuse: rows stay where they are."""
        raise NotImplementedError("rows stay on the nodes of their cluster")


def as_matrix(data: object) -> Matrix:
    """Wrap an array or a sparse matrix of real numbers; refuse anything else."""
    if sp.issparse(data):
        rows = sp.csr_array(data)
        if not rows.has_canonical_format:
            # Repeated entries would break the bound on row norms, which squares what is stored.
            rows = rows.copy()
            rows.sum_duplicates()
        matrix: Matrix = SparseMatrix(rows)
    else:
        array = np.asarray(data)
        if array.ndim != 2:
            raise InvalidParameter(f"X must have two dimensions, rows and features; got {array.ndim}.")
        matrix = DenseMatrix(array)
    kind = matrix.array.dtype.kind
    if kind not in "fiub":
        raise InvalidParameter(f"X must hold real numbers, got numbers of kind {kind!r}.")
    if 0 in matrix.shape:
        raise InvalidParameter(f"X must have at least one row and one feature, got shape {matrix.shape}.")
    return matrix
