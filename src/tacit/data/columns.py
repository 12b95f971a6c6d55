"""What is publicly known about a column, and the code that follows from it.

    Column
    ├── Number       a measurement between two declared bounds        one output in [-1, 1]
    ├── Levelled     one of finitely many declared levels             (levels.py)
    │   ├── Category    without an order                              one output per level, 0 or 1/2
    │   ├── Ordinal     with an order                                 one output in [-1, 1]
    │   └── Flag        false or true                                 one output, -1/2 or 1/2
    └── Ignored      known, but not used                              no output

Every value has a place. Numbers beyond their bounds are clamped; a value that is missing or makes no sense
goes to the place declared for it, and where none is declared to the origin of the code, which leans to no
side: the middle of a range, no level at all.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import final

import numpy as np

from tacit.data.values import AnyArray, FloatArray, numbers
from tacit.errors import InvalidParameter

__all__ = ["Column", "Ignored", "Number"]


class Column(ABC):
    """What is publicly known about one column."""

    @abstractmethod
    def outputs(self, name: str) -> tuple[str, ...]:
        """Name the numbers that a column of this name becomes."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest L2 norm of a row of the code: at most 1."""

    @abstractmethod
    def encode(self, values: AnyArray) -> FloatArray:
        """Return a block with one row of norm at most `largest` per value, each computed from its value alone."""


@final
@dataclass(frozen=True)
class Number(Column):
    """A number between two public bounds, mapped to [-1, 1].

    Bounds come from what the number means (an age, a percentage, a five-digit field), never from the records.
    With `log=True` the scale is that of log(1 + value - low), for amounts that span orders of magnitude.
    `missing` is the value that stands in for one that is missing; by default the one whose code is 0.
    """

    low: float
    high: float
    log: bool = False
    missing: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _finite("low", self.low))
        object.__setattr__(self, "high", _finite("high", self.high))
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise InvalidParameter(
                f"a Number needs bounds low < high with a finite distance, got {self.low!r} and {self.high!r}. "
                "Declare the range that the number can have by its meaning."
            )
        if not isinstance(self.log, bool):
            raise InvalidParameter(f"log must be True or False, got {self.log!r}.")
        if self.missing is not None:
            object.__setattr__(self, "missing", _finite("missing", self.missing))
            if not self.low <= self.missing <= self.high:
                raise InvalidParameter(
                    f"missing must lie between low={self.low!r} and high={self.high!r}, got {self.missing!r}."
                )

    def outputs(self, name: str) -> tuple[str, ...]:
        """Name the one output as the column."""
        return (name,)

    @property
    def largest(self) -> float:
        """The code of a bound."""
        return 1.0

    def encode(self, values: AnyArray) -> FloatArray:
        """Clamp to the bounds and map these to -1 and 1."""
        shifted = self.clamp(values) - self.low
        width = self.high - self.low
        if self.log:
            # A vectorised log1p may round by a value's position in the array; this one cannot.
            shifted = np.fromiter(map(math.log1p, shifted.tolist()), dtype=np.float64, count=len(shifted))
            width = math.log1p(width)
        code = np.clip(2.0 * (shifted / width) - 1.0, -1.0, 1.0)
        return np.nan_to_num(code, nan=0.0)[:, None]

    def clamp(self, values: AnyArray) -> FloatArray:
        """Read numbers between the bounds; NaN is left only where a value and its place are both missing."""
        read = np.clip(numbers(values), self.low, self.high)
        return read if self.missing is None else np.nan_to_num(read, nan=self.missing)


@final
@dataclass(frozen=True)
class Ignored(Column):
    """A column that is known but not used."""

    def outputs(self, name: str) -> tuple[str, ...]:
        """Name nothing."""
        return ()

    @property
    def largest(self) -> float:
        """Nothing is coded."""
        return 0.0

    def encode(self, values: AnyArray) -> FloatArray:
        """Return a block without columns."""
        return np.empty((len(values), 0))


def _finite(name: str, value: object) -> float:
    """Return a declared finite number."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidParameter(f"{name} must be a finite number, got {value!r}.")
    return number
