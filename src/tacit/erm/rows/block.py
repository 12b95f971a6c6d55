"""A block of rows [scale_i x_i, constant]: its scores, and the sums over records that follow from them."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from tacit.erm.rows.matrix import Matrix
from tacit.numerics.arrays import Codes, Floats
from tacit.numerics.exact import Point, long_product, two_product, two_sum


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Rows that fit into a cache, with clipping and the intercept applied on the fly.

    With `weights` each row counts so much in the sums over records (`pull`, `gram`, `squares`); scores have none.
    """

    matrix: Matrix
    scale: Floats | None
    constant: float | None
    weights: Floats | None = None

    def scores(self, models: Point, offset: Floats | None = None) -> Floats:
        """Return scores minus `offset`, shape (rows, models), for coefficients (models, dimension)."""
        coefficients = models.high
        features = self.matrix.shape[1]
        scores = self.matrix.times(coefficients[:, :features])
        if self.scale is not None:
            scores *= self.scale[:, None]
        if self.constant is not None:
            scores += self.constant * coefficients[:, -1]
        if offset is not None:
            scores -= offset[:, None]
        return scores

    def accurate_scores(self, models: Point, offset: Floats | None = None) -> Floats:
        """Return scores minus `offset`, as if computed with twice the digits and rounded once."""
        high, low = self.matrix.long_times(models.part(slice(self.matrix.shape[1])))
        if self.scale is not None:
            factor = self.scale[:, None]
            high, lost = two_product(high, factor)
            low = low * factor + lost
        if self.constant is not None:
            term, rest = long_product(np.array(self.constant), models.part(-1))
            high, lost = two_sum(high, term)
            low += lost + rest
        if offset is not None:
            high, lost = two_sum(high, -offset[:, None])
            low += lost
        return high + low

    def take(self, rows: Codes) -> Self:
        """Return some of the rows, as a copy."""
        scale = None if self.scale is None else self.scale[rows]
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.matrix.take(rows), scale, self.constant, weights)

    def counted(self, values: Floats) -> Floats:
        """Return what each row contributes to a sum, given what it would if it counted in full."""
        if self.weights is None:
            return values
        return values * (self.weights if values.ndim == 1 else self.weights[:, None])

    def pull(self, slopes: Floats) -> Floats:
        """Return the sum over records of slope times row, shape (models, dimension)."""
        slopes = self.counted(slopes)
        scaled = slopes if self.scale is None else slopes * self.scale[:, None]
        pulled = self.matrix.pull(scaled)
        if self.constant is None:
            return pulled
        return np.column_stack([pulled, self.constant * slopes.sum(axis=0)])

    def gram(self, weights: Floats) -> Floats:
        """Return the sum over records of weight times row times row transposed; weights at least 0."""
        weights = self.counted(weights)
        scaled = weights if self.scale is None else weights * np.square(self.scale)
        inner = self.matrix.gram(scaled)
        if self.constant is None:
            return inner
        once = weights if self.scale is None else weights * self.scale
        edge = self.constant * self.matrix.pull(once[:, None])
        corner = np.array([[self.constant**2 * weights.sum()]])
        return np.block([[inner, edge.T], [edge, corner]])

    def squares(self, weights: Floats) -> Floats:
        """Return the diagonal of `gram(weights)`."""
        weights = self.counted(weights)
        scaled = weights if self.scale is None else weights * np.square(self.scale)
        inner = self.matrix.squares(scaled)
        if self.constant is None:
            return inner
        return np.append(inner, self.constant**2 * weights.sum())

    def outer(self, weights: Floats) -> Floats:
        """Return the inner products of every two rows, times the weights of both."""
        scaled = weights if self.scale is None else weights * self.scale
        inner = self.matrix.outer() * np.outer(scaled, scaled)
        return inner if self.constant is None else inner + self.constant**2 * np.outer(weights, weights)
