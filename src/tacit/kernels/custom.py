"""A user's own kernel: a function of two records (sets, texts, vectors) with a declared bound."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.errors import InvalidParameter
from tacit.kernels.kernel import Array, Kernel, positive, size_of

__all__ = ["FunctionKernel"]


@final
@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """K(x, z) = function(x, z), where K(x, x) is at most `largest`.

    A record whose K(x, x) is larger has its features scaled down, K(x, z) c(x) c(z) with c(x) = sqrt(largest/K(x, x)),
    which is clipping in the feature space, and every value is cut to [-largest, largest]: the numbers in use are within
    the bound whatever the function returns.

    Assumes: the function is symmetric and positive semi-definite over all records and points that can occur, depends
    on its two arguments alone, returns a finite number for each pair, and is off by at most `error`, relative to
    `largest`. Only then are its values inner products of features, which the guarantee is about. Matrices of records
    in which the opposite shows are refused; at points that are still to be asked nobody can look.

    With `vectors` records are rows of numbers and are clipped to the data norm first; otherwise they may be texts,
    tuples or sets.
    """

    function: Callable[[Any, Any], float]
    largest: float
    vectors: bool = False  # type: ignore[misc]
    error: float = 1e-13

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(f"function must take two records, got {type(self.function).__name__}.")
        positive("largest", self.largest)
        if not 2.0**-52 <= self.error <= 1e-9:
            raise InvalidParameter(f"error must lie between 2^-52 and 1e-9, got {self.error!r}.")

    def bound(self, norm: float) -> float:
        """As declared."""
        return float(self.largest)

    def block(self, left: Any, right: Any) -> Array:
        """Return all values, features scaled down where they are too long."""
        found = np.array([[self._value(x, z) for z in right] for x in left], dtype=np.float64)
        found = found.reshape(size_of(left), size_of(right))
        return np.clip(self._factors(left)[:, None] * found * self._factors(right), -self.largest, self.largest)

    def diagonal(self, records: Any) -> Array:
        """Return K(x, x), at most the bound."""
        return np.minimum(self._raw_diagonal(records), float(self.largest))

    def accuracy(self, norm: float, width: int) -> float:
        """As declared, with room for the scaling; a scaled value is no larger than an unscaled one."""
        return 8 * self.error * self.largest

    def _raw_diagonal(self, records: Any) -> Array:
        found = np.array([self._value(x, x) for x in records], dtype=np.float64)
        if found.size and found.min() < 0:
            raise InvalidParameter("the kernel function returned K(x, x) < 0, so it is not positive semi-definite.")
        return found

    def _factors(self, records: Any) -> Array:
        long = np.maximum(self._raw_diagonal(records), float(self.largest))
        return np.sqrt(self.largest / long)

    def _value(self, x: Any, z: Any) -> float:
        value, failure = math.nan, ""
        try:
            value = float(self.function(x, z))
        except Exception as error:
            failure = type(error).__name__
        # Outside of the handler: what the function raised may quote a record, and must not come along as a context.
        if failure:
            raise InvalidParameter(f"the kernel function must return finite numbers, and raised {failure}.")
        if not abs(value) <= 1e100:
            raise InvalidParameter("the kernel function must return finite numbers, and returned something else.")
        return value
