"""Fourier features: a translation-invariant kernel as an inner product of cosines and sines at public frequencies."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.checks import is_whole
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.custom import is_proven
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Constant, Kernel, Sum, size_of
from tacit.kernels.kernel.standard import RBF, Laplacian, Linear
from tacit.kernels.maps.landmarks import public_uniform
from tacit.numerics.arrays import Floats
from tacit.numerics.products import pieces

_BLOCK = 1024


@final
@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """x -> sqrt(1/m) (cos(w_1.x), sin(w_1.x), ...), and a constant if the kernel has one: of norm R whatever x is.

    Rahimi and Recht 2007: with frequencies drawn from the kernel's spectrum, inner products of features approach the
    kernel. The frequencies here are fixed numbers that look random, the same for everyone: the map is public.
    """

    domain: Domain
    frequencies: Floats
    constant: float

    source: ClassVar[str] = "frequencies"

    @classmethod
    def of(cls, domain: Domain, count: Any) -> "FourierFeatures":
        """Choose frequencies for a number of features, which must be public."""
        kernel, constant = _parts(domain.kernel)
        if not is_whole(count) or not 2 <= count <= 10**5:
            raise InvalidParameter("with method='fourier', landmarks must be a number of features from 2 to 100000.")
        half = int(count) // 2
        uniform = public_uniform(half * domain.width).reshape(half, domain.width)
        if isinstance(kernel, RBF):
            frequencies = math.sqrt(2 * kernel.gamma) * ndtri(uniform)
        else:
            frequencies = kernel.gamma * np.tan(math.pi * (uniform - 0.5))
        return cls(domain, np.asarray(frequencies), constant)

    @property
    def count(self) -> int:
        """How many features there are."""
        return 2 * len(self.frequencies) + (self.constant > 0)

    @property
    def inner_domain(self) -> Domain:
        """The linear kernel on features, clipped to the kernel's radius."""
        return Domain(Linear(), self.domain.radius, self.count)

    def features(self, records: Any, alone: int | None = None) -> NDArray[np.floating[Any]]:
        """Return the features of records, block by block; with `alone`, as `Landmarks.features` has it, row by row."""
        total, half = size_of(records), len(self.frequencies)
        found = np.empty((total, self.count))
        for start in range(0, total, _BLOCK):
            part = slice(start, min(start + _BLOCK, total))
            place = start
            for piece in pieces(self.domain.clipped(records[part]), part.stop - start, alone is not None):
                angles = np.asarray(piece @ self.frequencies.T)
                some = slice(place, place := place + len(angles))
                found[some, :half] = np.cos(angles)
                found[some, half : 2 * half] = np.sin(angles)
        found[:, : 2 * half] *= math.sqrt(1 / half)
        found[:, 2 * half :] = math.sqrt(self.constant)
        return found

    def model(self, coefficients: Floats) -> "FourierModel":
        """Return the model with these coefficients, one model a row."""
        return FourierModel(self, coefficients)


@final
@dataclass(frozen=True, eq=False)
class FourierModel:
    """Scores that are linear in Fourier features, one model a row of coefficients."""

    features: FourierFeatures
    coefficients: Floats

    def scores(self, records: Any, *, alone: bool = False) -> Floats:
        """Return the scores of every record, with `alone` each computed by itself."""
        features = self.features.features(records, size_of(records) if alone else None)
        parts = pieces(features, len(features), alone)
        return np.concatenate([part @ self.coefficients.T for part in parts])


def _parts(kernel: Kernel) -> tuple[RBF | Laplacian, float]:
    """Return a translation-invariant kernel and the constant added to it."""
    first, constant = kernel, 0.0
    if isinstance(kernel, Sum) and isinstance(kernel.second, Constant):
        first, constant = kernel.first, kernel.second.value
    # By exact type, as everywhere: a subclass may be another function.
    if is_proven(kernel) and isinstance(first, RBF | Laplacian):
        return first, constant
    raise InvalidParameter(
        f"method='fourier' is for RBF and Laplacian kernels, plus a constant, got {type(kernel).__name__}. "
        "Use landmarks."
    )
