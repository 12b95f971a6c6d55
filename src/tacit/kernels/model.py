"""A fitted kernel model as a secret function: its values, and how accurately they are computed."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.erm.exact import CompensatedSum
from tacit.kernels.domain import Domain
from tacit.kernels.kernel import Array, growth, size_of

__all__ = ["KernelModel", "LinearModel", "total_block"]

_BLOCK = 256


@final
@dataclass(frozen=True, eq=False)
class KernelModel:
    """z -> sum_i weight_i K(x_i, z) over training records: a secret.

    A pair of a point and a record for which a kernel fails, or returns no finite number, counts as 0: points are chosen
    by whoever asks, and an error that some records make and others do not would be an exact answer about them.
    """

    domain: Domain
    records: Any
    weights: Array

    def values(self, points: Any) -> Array:
        """Return the value at every point, summed block by block with compensation."""
        kept = np.flatnonzero(self.weights)
        total = CompensatedSum()
        total.add(np.zeros(size_of(points)))
        for start in range(0, len(kept), _BLOCK):
            part = kept[start : start + _BLOCK]
            chosen = self.records[part] if hasattr(self.records, "shape") else [self.records[i] for i in part]
            total.add(total_block(self.domain, points, chosen) @ self.weights[part])
        return total.result()

    def accuracy(self, mass: float) -> float:
        """Bound the error of a computed value when the sizes of the weights sum to at most `mass`."""
        return (self.domain.accuracy + growth(_BLOCK + 8) * self.domain.square) * mass


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """u -> coefficient . u over features of clipped norm: a secret."""

    domain: Domain
    coefficient: Array

    def values(self, points: Any) -> Array:
        """Return the value at every point."""
        return np.asarray(points @ self.coefficient)

    def accuracy(self, size: float) -> float:
        """Bound the error of a computed value when the coefficient's norm is at most `size`."""
        return growth(len(self.coefficient) + 4) * self.domain.radius * size


def total_block(domain: Domain, left: Any, right: Any) -> Array:
    """Return K for all pairs, one by one if it fails for all together; a pair that fails counts as 0."""
    shape = size_of(left), size_of(right)
    found = _computed(domain, left, right, shape)
    if found is None:
        found = np.zeros(shape)
        for i, j in np.ndindex(*shape):
            one = _computed(domain, left[i : i + 1], right[j : j + 1], (1, 1))
            found[i, j] = 0.0 if one is None else one[0, 0]
    # No kernel exceeds its bound, so cutting off takes away errors alone.
    return np.clip(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0), -domain.square, domain.square)


def _computed(domain: Domain, left: Any, right: Any, shape: tuple[int, int]) -> Array | None:
    try:
        found = np.asarray(domain.kernel.block(left, right), dtype=np.float64)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return found if found.shape == shape else None
