"""A loss of the user's own, as the library uses it: a table of its derivative at public points.

Functions from outside are asked about fixed points before any record is read, and never again. What is minimised is
the library's own convex function whose derivative joins these values by straight lines and goes on level beyond the
last ones. Its constants are read off the table, so they hold for every margin and every residual, whatever the given
functions do between the points; and they cannot fail, warn, hang or remember because of a record.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, final

import numpy as np

from tacit.checks import finite_number, positive_number
from tacit.erm.losses.loss import PointwiseLoss
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats

_FINEST = 2.0**-10
_FINE_UP_TO = 8.0
_PER_OCTAVE = 512
_FARTHEST = 2.0**20
_LARGEST = 1e50


def table_points() -> Floats:
    """Return the points: 1/1024 apart as far as 8 from the anchor, then 0.14 % of their size, as far as a million."""
    fine = np.arange(-_FINE_UP_TO, _FINE_UP_TO + _FINEST, _FINEST)
    octaves = math.log2(_FARTHEST / _FINE_UP_TO)
    far = _FINE_UP_TO * np.exp2(np.arange(1, int(octaves * _PER_OCTAVE) + 1) / _PER_OCTAVE)
    return np.concatenate([-far[::-1], fine, far])


@final
@dataclass(frozen=True, eq=False)
class Tabulated(PointwiseLoss):
    """A convex loss given by its derivative at increasing points: L and c are the table's, exactly.

    `slopes_there`, at `table_points()`, must not decrease. Build it with `Tabulated.of`.
    """

    slopes_there: Floats
    target_bound: float
    called: str
    anchor: float = 0.0
    kind: Literal["margin", "residual"] = "margin"  # type: ignore[misc]

    def __post_init__(self) -> None:
        slopes = np.array(self.slopes_there, dtype=np.float64)
        # A table that falls somewhere is that of a loss that is not convex, and its largest rise bounds nothing.
        rising = slopes.shape == table_points().shape and np.all(slopes[1:] >= slopes[:-1])
        if not (rising and np.all(np.isfinite(slopes))):
            raise InvalidParameter(
                "slopes_there must hold a finite number for each of table_points(), none below the one before. Use "
                "Tabulated.of(loss)."
            )
        if not 1 / _LARGEST < np.max(np.abs(slopes)) < _LARGEST:
            raise InvalidParameter(f"the derivative of {self.called} must not be 0 everywhere, nor huge.")
        if self.kind not in ("margin", "residual"):
            raise InvalidParameter(f"kind must be 'margin' or 'residual', got {self.kind!r}.")
        slopes.flags.writeable = False
        object.__setattr__(self, "slopes_there", slopes)
        object.__setattr__(self, "target_bound", positive_number("target_bound", self.target_bound))
        object.__setattr__(self, "anchor", finite_number("anchor", self.anchor))

    @classmethod
    def of(cls, loss: PointwiseLoss) -> Self:
        """Ask a loss for its derivative at the points, once; refuse what is no bounded, rising derivative there."""
        points = table_points()
        bound = finite_number("lipschitz", loss.lipschitz)
        given = np.asarray(loss.derivative(points.copy()))
        if given.shape != points.shape or given.dtype.kind not in "fiu" or not np.all(np.isfinite(given)):
            raise InvalidParameter(f"the derivative of {type(loss).__name__} must be one finite number for each t.")
        slopes = np.maximum.accumulate(np.clip(given.astype(np.float64), -bound, bound))
        return cls(slopes, loss.largest_target, type(loss).__name__, loss.anchor, loss.kind)

    @property
    def name(self) -> str:
        """The name of the loss that was tabulated."""
        return f"{self.called} (tabulated)"

    @property
    def largest_target(self) -> float:
        """The bound to which targets are clipped."""
        return self.target_bound

    @cached_property
    def points(self) -> Floats:
        """Where the slopes are."""
        return table_points()

    @cached_property
    def lipschitz(self) -> float:
        """The steepest slope in the table."""
        return float(np.max(np.abs(self.slopes_there)))

    @cached_property
    def smoothness(self) -> float:
        """The steepest rise between two points, rounded up."""
        return float(np.max(self._rises)) * (1 + 8 * UNIT_ROUNDOFF) + 1e-300

    @cached_property
    def one_sided(self) -> bool:
        """Whether no slope in the table is on the other side of zero."""
        return bool(np.all(self.slopes_there <= 0.0) or np.all(self.slopes_there >= 0.0))

    @property
    def at_zero(self) -> float:
        """Unknown: a derivative does not say how high above its infimum a function lies."""
        return math.inf

    @cached_property
    def _rises(self) -> Floats:
        return np.append(np.diff(self.slopes_there) / np.diff(self.points), 0.0)

    @cached_property
    def _heights(self) -> Floats:
        """The loss at the points, from zero at the lowest."""
        means = (self.slopes_there[1:] + self.slopes_there[:-1]) / 2
        heights = np.append(0.0, np.cumsum(means * np.diff(self.points)))
        return np.asarray(heights - heights.min())

    def value(self, t: Floats) -> Floats:
        """Return the integral of the derivative, zero at the lowest of the points."""
        at, rise = self._cell(t)
        ahead = t - self.points[at]
        return np.asarray(self._heights[at] + ahead * (self.slopes_there[at] + rise * ahead / 2))

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return the slope between those of the two points about t."""
        at, rise = self._cell(t)
        found = self.slopes_there[at] + rise * (t - self.points[at])
        return np.clip(found, self.slopes_there[0], self.slopes_there[-1], out=out)

    def curvature(self, t: Floats) -> Floats:
        """Return the rise between the two points about t, 0 beyond the last."""
        return self._cell(t)[1]

    def _cell(self, t: Floats) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.intp]], Floats]:
        """Return the point below each t (the first where there is none) and the rise above it."""
        near = np.abs(t) < _FINE_UP_TO
        # Powers of two: nothing here is rounded.
        at = np.where(near, np.floor(np.where(near, t, 0.0) / _FINEST), 0.0).astype(np.intp) + len(self.points) // 2
        at[~near] = np.searchsorted(self.points, t[~near], side="right") - 1
        return np.maximum(at, 0), np.where(at < 0, 0.0, self._rises[at])

    def rounding(self, reach: float) -> float:
        """Allow the rise three roundings, its product with t less the point two, and the sum one."""
        return 32 * UNIT_ROUNDOFF * self.lipschitz

    def relative_smoothness(self, reach: float) -> float:
        """The largest product of a rise with the size of t where it holds."""
        farther = np.maximum(np.abs(self.points[1:]), np.abs(self.points[:-1]))
        return float(np.max(self._rises[:-1] * farther)) * (1 + 8 * UNIT_ROUNDOFF)
