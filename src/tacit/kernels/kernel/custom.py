"""A user's own kernel: a function of two records with a declared bound, of which nothing else is believed.

Exact kernel models, and noise shaped like a kernel, rest on features with K(x, z) = <phi(x), phi(z)>. Formulas of
tacit's own have them (`is_proven`); no number of records or points could show it of a function or a class of a user's,
and a refusal after a look at records would tell about them. Such kernels are learned with through public landmarks,
whose coordinates are bounded whatever the function returns.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tacit.checks import positive_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.kernel import Constant, Kernel, Product, Sum, size_of, unseen
from tacit.kernels.kernel.standard import RBF, Laplacian, Linear, Polynomial
from tacit.numerics.arrays import Floats

_LARGEST_VALUE = 1e100
_PROVEN = (Constant, Linear, Polynomial, RBF, Laplacian)


@final
@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """K(x, z) = function(x, z), where K(x, x) is at most `largest`: what two records have in common.

    It is learned with through public landmarks (method="landmarks", or landmarks=... of an interactive predictor): a
    record becomes its coordinates with respect to them, computed from K(x, z) at the landmarks z, and these are cut to
    norm sqrt(largest). So the guarantee does not rest on the function being symmetric or positive semi-definite, nor
    on `largest`; a model is only good if they are right. Exact kernel models would rest on it, and refuse a function.

    Assumes: what the function and `accepts` return depends on their arguments alone, and they tell nobody else about
    them (they do not print, keep or send records, nor take their time by them) and leave them as they are (arrays
    cannot be written to; a list or a set can).

    Records are total: one that `accepts` says no to, that the function raises for (anything but KeyboardInterrupt) or
    for which K(x, x) is no finite number (of size at most 1e100) has no features, K(x, z) = 0 for all z; a single pair
    of that kind counts as 0; warnings are not shown. A record whose K(x, x) is above `largest` has its features scaled
    down, K(x, z) c(x) c(z) with c(x) = sqrt(largest/K(x, x)), and every value is cut to [-largest, largest].
    Points and landmarks are public: what the function fails for, or shows to be no kernel at, is refused there, with an
    allowance of `error` relative to `largest`. To see a function's own errors call it on public examples.

    With `vectors` records are rows of numbers and are clipped to the data norm first; otherwise they may be texts,
    tuples or sets.
    """

    function: Callable[[Any, Any], float]
    largest: float
    vectors: bool = False  # type: ignore[misc]
    error: float = 1e-13
    accepts: Callable[[Any], bool] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(f"function must take two records, got {type(self.function).__name__}.")
        if self.accepts is not None and not callable(self.accepts):
            raise InvalidParameter(f"accepts must be a function of one record, got {type(self.accepts).__name__}.")
        if not isinstance(self.vectors, bool):
            raise InvalidParameter(f"vectors must be True or False, got {type(self.vectors).__name__}.")
        object.__setattr__(self, "largest", positive_number("largest", self.largest))
        object.__setattr__(self, "error", positive_number("error", self.error))
        if not 2.0**-52 <= self.error <= 1e-9:
            raise InvalidParameter(f"error must lie between 2^-52 and 1e-9, got {self.error:g}.")

    def bound(self, norm: float) -> float:
        """The largest value, as it was declared."""
        return self.largest

    def block(self, left: Any, right: Any) -> Floats:
        """Return all values, features scaled down where they are too long; 0 where the function fails."""
        return np.nan_to_num(self._scaled(left, right), nan=0.0)

    def diagonal(self, records: Any) -> Floats:
        """Return K(x, x), at most the bound; 0 where the function fails."""
        return np.clip(np.nan_to_num(self._squares(records), nan=0.0), 0.0, self.largest)

    def public_block(self, left: Any, right: Any) -> Floats:
        """Return `block` of public points; refuse a pair for which the function fails."""
        found = self._scaled(left, right)
        _require(not np.any(np.isnan(found)), "must accept the points and return a finite number for each pair of them")
        return found

    def public_diagonal(self, points: Any) -> Floats:
        """Return `diagonal` of public points; refuse one that the function fails for or has K(x, x) < 0 at."""
        squares = self._squares(points)
        _require(not np.any(np.isnan(squares)), "must accept the points and return a finite number K(x, x) for each")
        # A true K(x, x) is not negative, so a computed one is above minus the error.
        negative = np.any(squares < -self.accuracy(1.0, 0))
        _require(not negative, "must be positive semi-definite, and returned K(x, x) < 0 at a point")
        return np.clip(squares, 0.0, self.largest)

    def accuracy(self, norm: float, width: int) -> float:
        """As declared, with room for the scaling; a scaled value is no larger than an unscaled one."""
        return 8 * self.error * self.largest

    def _scaled(self, left: Any, right: Any) -> Floats:
        """Return all values, not a number where the function fails; it is given only what it accepts."""
        rows, columns = self._factors(left), self._factors(right)
        found = np.full((size_of(left), size_of(right)), math.nan)
        known = ~np.isnan(columns)
        others = [z for z, taken in zip(right, known, strict=True) if taken]
        with unseen():
            for place, x in enumerate(left):
                if not np.isnan(rows[place]):
                    found[place, known] = [self._value(x, z) for z in others]
        return np.asarray(np.clip(rows[:, None] * found * columns, -self.largest, self.largest))

    def _factors(self, records: Any) -> Floats:
        """Return c(x), not a number where the function fails."""
        return np.sqrt(self.largest / np.maximum(self._squares(records), self.largest))

    def _squares(self, records: Any) -> Floats:
        """Return K(x, x), not a number where x is not accepted or the function fails."""
        with unseen():
            return np.array([self._value(x, x) if self._accepted(x) else math.nan for x in records], dtype=np.float64)

    def _accepted(self, x: Any) -> bool:
        try:
            return self.accepts is None or bool(self.accepts(x))
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False

    def _value(self, x: Any, z: Any) -> float:
        """Return what the function does, not a number if that is no finite one; what it raises may quote a record."""
        try:
            found = self.function(x, z)
            value = math.nan if np.iscomplexobj(found) else float(found)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return math.nan
        return value if abs(value) <= _LARGEST_VALUE else math.nan


def _require(holds: bool, wanted: str) -> None:
    if not holds:
        raise InvalidParameter(f"the kernel function {wanted}.")


def anew(kernel: Kernel) -> Kernel:
    """Return a kernel of tacit's own anew from its parameters: a method put on an instance is no part of a proof."""
    if type(kernel) in (Sum, Product):
        return type(kernel)(anew(kernel.first), anew(kernel.second))  # type: ignore[attr-defined,call-arg]
    return replace(kernel) if is_total(kernel) else kernel  # type: ignore[type-var]


def is_proven(kernel: Kernel) -> bool:
    """Tell whether a kernel's formula is known to be positive semi-definite; a class of a user's own never is."""
    return _built_of(kernel, _PROVEN)


def is_total(kernel: Kernel) -> bool:
    """Tell whether `block` computes each pair by itself and cannot fail: formulas, and a user's function as wrapped."""
    return _built_of(kernel, (*_PROVEN, FunctionKernel))


def check_proven(kernel: Kernel) -> None:
    """Refuse a kernel that is only declared to be one, before any record is looked at."""
    if not is_proven(kernel):
        raise InvalidParameter(
            "this method rests on a kernel that is known to be positive semi-definite, got a function or class of "
            "your own. Give public landmarks and use method='landmarks' (or landmarks=... of an interactive predictor)."
        )


def _built_of(kernel: Kernel, parts: tuple[type[Kernel], ...]) -> bool:
    """Look at exact types: a subclass may override anything."""
    if type(kernel) in (Sum, Product):
        return _built_of(kernel.first, parts) and _built_of(kernel.second, parts)  # type: ignore[attr-defined]
    return type(kernel) in parts
