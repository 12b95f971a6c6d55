"""Records in memory: a matrix of features and a column of labels."""

from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tacit.errors import InvalidParameter
from tacit.noise import unique_name
from tacit.queries.chosen import Chosen
from tacit.queries.engine import Engine, Part, Prepared, columns_of, text_of
from tacit.queries.expressions import Expression, Records
from tacit.queries.meanings import constant, written
from tacit.queries.opaque import Opaque
from tacit.queries.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery

__all__ = ["ArrayEngine"]

Floats = NDArray[np.float64]


@final
class ArrayEngine(Engine):
    """A matrix X, dense or sparse, whose columns are called x0, x1, ... unless named, and perhaps labels y.

    Without an `identity` no other arrays are taken for these; pickles keep it.
    """

    fixed_by: Literal["index"] = "index"

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        label: str = "y",
        labels: tuple[Any, Any] = (-1, 1),
        identity: str | None = None,
    ) -> None:
        self.rows = _stored(X) if sparse.issparse(X) else _matrix(X)
        self.n, width = self.rows.shape
        features = tuple(names) if names is not None else tuple(f"x{j}" for j in range(width))
        self.marks = None if y is None else _column(y, self.n)
        self.names = features if y is None else (*features, label)
        if len(features) != width or len(set(self.names)) != len(self.names):
            raise InvalidParameter(f"names must name the {width} columns and the label differently.")
        if not self.n:
            raise InvalidParameter("an oracle needs at least one record, got none.")
        self.label = None if y is None else label
        self.labels = labels
        self.identity = identity or unique_name()
        self.places = {name: j for j, name in enumerate(features)}

    def prepare(self, query: Query) -> Prepared:
        """Write the query down; what the function is called with stands for columns and holds no record."""
        if not isinstance(query, StatisticalQuery | Histogram | RowSums | SecondMoments):
            raise InvalidParameter(f"arrays cannot answer a {type(query).__name__}.")
        table = Records(self.names, self._tried)
        for name in getattr(query, "features", ()):
            table[name]
            if name == self.label:
                raise InvalidParameter(f"features must be columns of X, got the label {name!r}.")
        columns = columns_of(query, lambda function: _called(function, table))
        for column in columns:
            if not isinstance(column, Expression):
                raise InvalidParameter(
                    "a query's function must give an expression of the columns it is called with, got "
                    f"{type(column).__name__}."
                )
        text = text_of(query, [written(column) for column in columns])
        return Prepared(query, columns, text, _levels(getattr(query, "levels", ())))

    def part_size(self, part: Part) -> int:
        """Return how many of the indices belong to the part."""
        return len(range(part.number, self.n, part.count))

    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Floats]:
        """Return each query's sums, in shares."""
        chosen = Chosen.of(self, self.n if part is None else self.part_size(part), flipped, part)
        return [chosen.sums(prepared) for prepared in queries]

    def _tried(self, function: Any) -> Opaque:
        labels = None if self.label is None else tuple(map(float, self.labels))
        return Opaque.tried(function, len(self.places), labels, dense=not sparse.issparse(self.rows))


def _called(function: Any, table: Records) -> Any:
    if not callable(function):
        raise InvalidParameter(
            f"over arrays a query needs a function such as lambda t: t.x0 > 0, got {type(function).__name__}."
        )
    return function(table)


def _levels(levels: Sequence[tuple[Any, ...]]) -> tuple[tuple[float, ...], ...]:
    """Return levels as numbers that cells can equal; they must differ as such."""
    numbers = tuple(tuple(constant(value) for value in level) for level in levels)
    if len(set(numbers)) != len(numbers):
        raise InvalidParameter("levels must be different numbers, got two that are the same float.")
    return numbers


def _stored(X: Any) -> Any:
    """Return a sparse matrix with each cell stored once: cells are clamped where they are stored."""
    rows = sparse.csc_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def _matrix(X: Any) -> Floats:
    matrix = _numbers(X, "X must be a matrix of numbers; give other tables as a data frame.")
    if matrix.ndim != 2:
        raise InvalidParameter(f"X must be a matrix, got the shape {matrix.shape}.")
    return matrix


def _column(y: ArrayLike, n: int) -> Floats:
    column = _numbers(y, "y must be numbers; give other labels their numbers first.")
    if column.shape != (n,):
        raise InvalidParameter(f"y must have one label for each of the {n} rows, got the shape {column.shape}.")
    return column


def _numbers(values: Any, refusal: str) -> Floats:
    """Return an array of floats; a refusal has no context that could quote a record."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidParameter(refusal)
