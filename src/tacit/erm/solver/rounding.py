"""How wrong a computed gradient can be: a bound known before the pass over the data.

With u = 2^-53 and g(k) = k u / (1 - k u), a sum of k products in any order, fused or not, is off by at most
g(k) times the sum of the products' sizes (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3).
For rows of norm at most R, of at most k terms, and a coefficient of norm |w|:

- a score is off by at most g(k + 4) |w| R, which moves a slope by at most c times that;
- with twice the digits a score is off by a relative u, and by 16 g(k + 8)^2 (|w| R + offset);
- a computed slope is off by `loss.rounding`;
- a sum over a block of B rows is off by at most g(B + 8) times the sum of slope sizes times R; block sums
  are added with compensation, in any order and grouping, which costs one more u, and another where lots of
  blocks lie on other machines (the 8 covers these, the clipping factor, the weight, the mean);
- the ridge and the linear term are rounded a few times.

Compensation removes the number of rows n from the bound; without it n u R would exceed the usual tolerance
1e-5 R/n from n = 300,000 on.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.erm.solver.objective import Objective
from tacit.numerics.arrays import UNIT_ROUNDOFF

FEWEST_ROWS = 16
"""The rows of the smallest block that a tolerance may ask for."""

_SAFETY = 1.01
_UNDERFLOW = 1e-290


def _growth(terms: float) -> float:
    """Return g(terms) = terms u / (1 - terms u)."""
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)


@final
@dataclass(frozen=True)
class Rounding:
    """The public constants that bound the rounding error of an objective's gradient.

    With `given_slopes` the slopes count as exact, whatever scores they came from: what is bounded is then the
    error of their sum over records.
    """

    objective: Objective
    given_slopes: bool = False

    def plan(self, size: float, wanted: float) -> tuple[float, bool]:
        """Return how to compute a gradient within `wanted` at coefficients of norm `size`, no finer than needed.

        That is the most rows for a block, and whether scores take twice the digits.
        """
        accurate = self._fixed(size, False) > 0.75 * wanted
        left = wanted - self._fixed(size, accurate)
        rows = 0.99 * left / (_SAFETY * UNIT_ROUNDOFF * self._steepest(size)) - 8.0
        return max(float(FEWEST_ROWS), rows), accurate

    def error(self, size: float, rows_per_block: int, accurate: bool) -> float:
        """Bound the norm of the error of a gradient computed so."""
        return self._fixed(size, accurate) + _SAFETY * _growth(rows_per_block + 8.0) * self._steepest(size)

    def _steepest(self, size: float) -> float:
        """Bound the norm of slope times row."""
        norm = self.objective.rows.norm
        return norm * self.objective.loss.steepest(norm * size)

    def _fixed(self, size: float, accurate: bool) -> float:
        """Bound the part of the error that has nothing to do with the length of sums over records."""
        rows, linear = self.objective.rows, self.objective.linear
        tilt = 0.0 if linear is None else float(np.linalg.norm(linear)) / rows.count
        rest = _growth(8.0) * (self._steepest(size) + self.objective.alpha * size + tilt)
        slope = 0.0 if self.given_slopes else self._slope(size, accurate)
        return _SAFETY * (rows.norm * slope + rest) + _UNDERFLOW

    def _slope(self, size: float, accurate: bool) -> float:
        """Bound the error of a computed slope."""
        loss, reach = self.objective.loss, self.objective.rows.norm * size
        score = loss.smoothness * self.score(size, accurate)
        if accurate:
            score += UNIT_ROUNDOFF * loss.relative_smoothness(reach)
        return score + loss.rounding(reach)

    def score(self, size: float, accurate: bool, terms: int | None = None) -> float:
        """Bound the absolute error of a score minus its offset (plus a relative u when accurate).

        Rows are taken to have as many terms as the fullest one, which is private, unless `terms` says how many.
        """
        rows = self.objective.rows
        reach = rows.norm * size + self.objective.loss.offset_bound
        if accurate:
            # The dimension, not the fullest row, so that the finest error depends on nothing private.
            return 16 * _growth(rows.dimension + 8.0) ** 2 * reach
        return _growth((terms or rows.longest) + 4.0) * reach


def coefficient_bound(objective: Objective) -> float:
    """Bound the norm of the minimiser by public quantities and the norm of the linear term.

    From J(w) <= J(0) and loss >= 0, and from the stationarity of J; the smaller of the two.
    """
    count, alpha = objective.rows.count, objective.alpha
    tilt = 0.0 if objective.linear is None else float(np.linalg.norm(objective.linear)) / count / alpha
    by_value = tilt + math.sqrt(tilt**2 + 2.0 * objective.loss.at_zero / alpha)
    by_slope = tilt + objective.rows.norm * objective.loss.lipschitz / alpha
    return 1.001 * min(by_value, by_slope)
