"""A fitted kernel model as a secret function: its values, and how accurately they are computed."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import growth, size_of
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import CompensatedSum

_BLOCK = 256


@final
@dataclass(frozen=True, eq=False)
class KernelModel:
    """z -> sum_i weight_i K(x_i, z) over training records: a secret, with a value at every point."""

    domain: Domain
    records: Any
    weights: Floats

    def values(self, points: Any) -> Floats:
        """Return the value at every point, summed block by block with compensation."""
        kept = np.flatnonzero(self.weights)
        total = CompensatedSum()
        total.add(np.zeros(size_of(points)))
        for start in range(0, len(kept), _BLOCK):
            part = kept[start : start + _BLOCK]
            total.add(self.domain.block(points, self.records[part]) @ self.weights[part])
        return total.result()

    def accuracy(self, mass: float) -> float:
        """Bound the error of a computed value when the sizes of the weights sum to at most `mass`."""
        return (self.domain.accuracy + growth(_BLOCK + 8) * self.domain.square) * mass


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """u -> coefficient . u over features of clipped norm: a secret."""

    domain: Domain
    coefficient: Floats

    def values(self, points: Any) -> Floats:
        """Return the value at every point."""
        return np.asarray(points @ self.coefficient)

    def accuracy(self, size: float) -> float:
        """Bound the error of a computed value when the coefficient's norm is at most `size`."""
        return growth(len(self.coefficient) + 4) * self.domain.radius * size
