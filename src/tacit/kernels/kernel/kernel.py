"""What a kernel is here: an inner product of public feature maps that knows how long features can be.

Each formula comes with two numbers: `bound`, the largest K(x, x) over records clipped to a norm, and `accuracy`, how
far a computed K(x, z) can be from the kernel that the proofs speak of. Both are rounded outward. Parameters are plain
Python numbers from the moment they enter: a single-precision constant would make a single-precision bound.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import issparse

from tacit.checks import positive_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.reading import numbers
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats

_OUTWARD = 1 + 2.0**-45
_FAR = 1e250


class Kernel(ABC):
    """A positive semi-definite function of two records.

    Of a class of your own nothing is believed but that a value depends on its two records alone. It is used through
    public landmarks only; it is given one record at a time, values are cut to its bound, which is asked for once, and a
    record for which it fails has no features.
    Sums and products of kernels are kernels; adding a positive number adds a constant feature, which is how a
    kernel model has an intercept.
    """

    vectors: ClassVar[bool] = True
    """Whether records are rows of numbers, clipped to a norm; otherwise they are what a user's function takes."""

    @abstractmethod
    def bound(self, norm: float) -> float:
        """Bound K(x, x) over records of at most this norm."""

    @abstractmethod
    def block(self, left: Any, right: Any) -> Floats:
        """Return K(x, z) for every record x on the left and z on the right."""

    @abstractmethod
    def diagonal(self, records: Any) -> Floats:
        """Return K(x, x) for every record."""

    @abstractmethod
    def accuracy(self, norm: float, width: int) -> float:
        """Bound how far a computed K(x, z) is from the kernel, for records of this norm and number of columns."""

    def public_block(self, left: Any, right: Any) -> Floats:
        """Return `block` of public points, and refuse those it cannot be computed for; never give it a record."""
        return _finite(self.block(left, right))

    def public_diagonal(self, points: Any) -> Floats:
        """Return `diagonal` of public points, and refuse those it cannot be computed for; never give it a record."""
        return _finite(self.diagonal(points))

    def __add__(self, other: "Kernel | float") -> "Kernel":
        return Sum(self, other if isinstance(other, Kernel) else Constant(other))

    __radd__ = __add__

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        return Product(self, other if isinstance(other, Kernel) else Constant(other))

    __rmul__ = __mul__


@final
@dataclass(frozen=True)
class Constant(Kernel):
    """The same number for all pairs: one constant feature, an intercept when it is added to a kernel."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive_number("the constant of a kernel", self.value))

    def bound(self, norm: float) -> float:
        """The number, whatever the records are."""
        return self.value

    def block(self, left: Any, right: Any) -> Floats:
        """Return the number for every pair."""
        return np.full((size_of(left), size_of(right)), self.value)

    def diagonal(self, records: Any) -> Floats:
        """Return the number for every record."""
        return np.full(size_of(records), self.value)

    def accuracy(self, norm: float, width: int) -> float:
        """Nothing is computed, so that nothing is rounded."""
        return 0.0


@dataclass(frozen=True)
class Pair(Kernel):
    """Two kernels whose values are combined pair by pair."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _shared(self.first, self.second))

    @staticmethod
    @abstractmethod
    def combined(first: Any, second: Any) -> Any:
        """Return the combination of two values, or of two arrays of them."""

    def bound(self, norm: float) -> float:
        """The bounds, combined."""
        return grown(self.combined(self.first.bound(norm), self.second.bound(norm)))

    def block(self, left: Any, right: Any) -> Floats:
        """Return all values, combined."""
        first = np.asarray(self.first.block(left, right), dtype=np.float64)
        return np.asarray(self.combined(first, self.second.block(left, right)))

    def diagonal(self, records: Any) -> Floats:
        """Return K(x, x) of both, combined."""
        return np.asarray(self.combined(self.first.diagonal(records), self.second.diagonal(records)))

    def public_block(self, left: Any, right: Any) -> Floats:
        """Return what `block` does, if both parts can be computed."""
        return np.asarray(self.combined(self.first.public_block(left, right), self.second.public_block(left, right)))

    def public_diagonal(self, points: Any) -> Floats:
        """Return what `diagonal` does, if both parts can be computed."""
        return np.asarray(self.combined(self.first.public_diagonal(points), self.second.public_diagonal(points)))


@final
@dataclass(frozen=True)
class Sum(Pair):
    """The sum of two kernels: their features side by side."""

    @staticmethod
    def combined(first: Any, second: Any) -> Any:
        """Add the two."""
        return first + second

    def accuracy(self, norm: float, width: int) -> float:
        """The sum of the errors, and one rounding."""
        both = self.first.accuracy(norm, width) + self.second.accuracy(norm, width)
        return 1.01 * both + 2 * UNIT_ROUNDOFF * self.bound(norm)


@final
@dataclass(frozen=True)
class Product(Pair):
    """The product of two kernels: all products of their features."""

    @staticmethod
    def combined(first: Any, second: Any) -> Any:
        """Multiply the two."""
        return first * second

    def accuracy(self, norm: float, width: int) -> float:
        """Each error times the other's size, and one rounding."""
        one, two = self.first.accuracy(norm, width), self.second.accuracy(norm, width)
        sizes = one * (self.second.bound(norm) + two) + two * self.first.bound(norm)
        return 1.01 * sizes + 2 * UNIT_ROUNDOFF * self.bound(norm)


def dots(left: Any, right: Any) -> Floats:
    """Return the inner products of rows, dense or sparse."""
    found = left @ right.T
    return np.asarray(found.toarray() if issparse(found) else found, dtype=np.float64)


def growth(terms: float) -> float:
    """Bound the relative error of a sum of so many products in any order (Higham 2002, section 3.1)."""
    return 1.01 * terms * UNIT_ROUNDOFF


def grown(value: float) -> float:
    """Round a bound outward; refuse one that overflowed."""
    if not value < math.inf:
        raise InvalidParameter("K(x, x) has no finite bound at this norm. Use a smaller data_norm, degree or constant.")
    return value * _OUTWARD


def size_of(records: Any) -> int:
    """Return the number of records; sparse matrices have no length."""
    return int(records.shape[0]) if hasattr(records, "shape") else len(records)


def computed(what: str, value: object, shape: tuple[int, ...]) -> Floats:
    """Return numbers that a model computed, as floats of a public shape; whatever they are, nothing is refused."""
    return np.clip(np.nan_to_num(numbers(what, value, shape).astype(np.float64)), -_FAR, _FAR)


@contextmanager
def unseen() -> Iterator[None]:
    """Show no warning of a user's code, and raise none where a caller asked for that: it would tell about records."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _finite(values: Floats) -> Floats:
    if not np.all(np.isfinite(values)):
        raise InvalidParameter("the kernel must return finite numbers at all points.")
    return values


def _shared(first: Kernel, second: Kernel) -> bool:
    """Tell whether the parts take vectors; a constant takes anything."""
    kinds = {part.vectors for part in (first, second) if type(part) is not Constant}
    if len(kinds) > 1:
        raise InvalidParameter("a kernel on vectors and one on other records cannot be combined.")
    return kinds.pop() if kinds else True
