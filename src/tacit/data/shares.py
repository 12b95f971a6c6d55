"""How much each row counts, of how many units: records that are weighed, or persons who own several rows."""

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from tacit.accounting.unit import RECORD, Unit
from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.numerics.by_part import by_part
from tacit.numerics.spread import beside


@final
@dataclass(frozen=True, eq=False)
class Shares:
    """A weight in [0, 1] for each row, and the public number of units, N.

    Where `whom` is a person, they may own any number of rows, whose weights add up to at most 1 in exact arithmetic;
    else a unit is one row. All means are sums over rows divided by N, whatever the weights add up to:
    dividing by their sum would make every row's part depend on all others (perturbation.md, "Weights and persons").
    """

    weights: Any
    units: int
    whom: Unit = RECORD

    @classmethod
    def of(cls, weights: Any, units: int, whom: Unit = RECORD) -> Self:
        """Check what is public: the number of weights is, or follows from, the caller's own table."""
        if len(weights.shape) != 1 or (whom == RECORD and len(weights) != units):
            raise InvalidParameter("there must be one weight for each row.")
        # Whatever was handed over, a row counts between nothing and once.
        inside = by_part(lambda part: np.clip(np.where(np.isnan(part), 0.0, part), 0.0, 1.0), weights)
        return cls(inside, whole_number("the number of units", units), whom)

    def every(self, step: int) -> Self:
        """Return the shares of every step-th row, with as much of N as there is of the rows."""
        weights = self.weights[::step]
        return replace(self, weights=weights, units=max(1, round(self.units * len(weights) / len(self.weights))))

    def beside(self, table: Any) -> Self:
        """Return the same shares of rows that were made of those they stand beside."""
        return replace(self, weights=beside(self.weights, table))
