"""The usual kernels on vectors, each with the bound that its formula gives."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from tacit.checks import finite_number, is_whole, positive_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.kernel import Kernel, dots, grown, growth
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.products import square_lengths


@final
@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product x.z."""

    def bound(self, norm: float) -> float:
        """The inner product of a record with itself: its squared norm."""
        return grown(norm * norm)

    def block(self, left: Any, right: Any) -> Floats:
        """Return all inner products."""
        return dots(left, right)

    def diagonal(self, records: Any) -> Floats:
        """Return all squared norms."""
        return squares(records)

    def accuracy(self, norm: float, width: int) -> float:
        """A sum of `width` products."""
        return growth(width + 2) * norm * norm


@final
@dataclass(frozen=True)
class Polynomial(Kernel):
    """(x.z + constant)^degree, for a whole degree from 1 on and a constant of at least 0."""

    degree: int
    constant: float = 1.0

    def __post_init__(self) -> None:
        if not is_whole(self.degree) or not 1 <= self.degree <= 100:
            raise InvalidParameter("degree must be a whole number from 1 to 100, got something else.")
        object.__setattr__(self, "degree", int(self.degree))
        constant = finite_number("constant", self.constant)
        object.__setattr__(self, "constant", positive_number("constant", constant) if constant else 0.0)

    def bound(self, norm: float) -> float:
        """At x = z of full norm."""
        return grown(_power(norm * norm + self.constant, self.degree))

    def block(self, left: Any, right: Any) -> Floats:
        """Return all powers, by repeated products in place."""
        base = dots(left, right)
        base += self.constant
        return _raised(base, self.degree)

    def diagonal(self, records: Any) -> Floats:
        """Return (|x|^2 + constant)^degree."""
        return _raised(squares(records) + self.constant, self.degree)

    def accuracy(self, norm: float, width: int) -> float:
        """The error of the inner product grows with the degree, and each product adds a rounding."""
        steep = self.degree * _power(norm * norm + self.constant, self.degree - 1)
        return growth(width + 3) * (norm * norm + self.constant) * steep + growth(self.degree + 2) * self.bound(norm)


@dataclass(frozen=True)
class OfDistance(Kernel):
    """A kernel that falls with the distance of its records, gamma times as fast, from 1 on."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive_number("gamma", self.gamma))

    def bound(self, norm: float) -> float:
        """One, whatever the norm."""
        return 1.0

    def diagonal(self, records: Any) -> Floats:
        """Return ones: no record is away from itself."""
        return np.ones(records.shape[0])


@final
@dataclass(frozen=True)
class RBF(OfDistance):
    """exp(-gamma |x - z|^2), the Gaussian kernel."""

    def block(self, left: Any, right: Any) -> Floats:
        """Return all values; squared distances come from inner products."""
        found = dots(left, right)
        found *= 2.0
        found -= squares(left)[:, None]
        found -= squares(right)
        np.minimum(found, 0.0, out=found)
        found *= self.gamma
        return np.exp(found, out=found)

    def accuracy(self, norm: float, width: int) -> float:
        """The error of a squared distance, times gamma, and that of the exponential."""
        return self.gamma * growth(width + 6) * 4 * norm * norm + 8 * UNIT_ROUNDOFF


@final
@dataclass(frozen=True)
class Laplacian(OfDistance):
    """exp(-gamma |x - z|_1)."""

    def block(self, left: Any, right: Any) -> Floats:
        """Return all values."""
        found = cdist(_dense(left), _dense(right), "cityblock")
        found *= -self.gamma
        return np.asarray(np.exp(found, out=found))

    def accuracy(self, norm: float, width: int) -> float:
        """A relative error of the distance t moves exp(-t) by at most its part of t exp(-t) <= 1/e."""
        return growth(width + 3) + 8 * UNIT_ROUNDOFF


def squares(records: Any) -> Floats:
    """Return the squared norm of every row."""
    if issparse(records):
        return np.asarray(records.multiply(records).sum(axis=1), dtype=np.float64).ravel()
    return square_lengths(records)


def _dense(records: Any) -> Floats:
    return np.asarray(records.toarray() if issparse(records) else records, dtype=np.float64)


def _power(base: float, degree: int) -> float:
    try:
        return math.pow(base, degree)
    except OverflowError:
        return math.inf


def _raised(base: Floats, degree: int) -> Floats:
    """Raise to a whole power by squaring, far quicker than a general power."""
    result: Floats | None = None
    while degree:
        if degree & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        degree >>= 1
        if degree:
            base = base * base
    return np.ones_like(base) if result is None else result
