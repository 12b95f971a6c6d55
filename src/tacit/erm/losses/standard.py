"""Convex losses with the constants that privacy proofs need, declared beside the formula.

    Loss                      what a model's scores cost
    ├── PointwiseLoss         one score a record
    │   ├── Logistic          log(1 + exp(anchor - m))                margin m = y w.x
    │   ├── HuberHinge        the hinge, rounded within `width`       margin
    │   ├── Hinge             max(0, 1 - m)                           margin
    │   ├── Squared           r^2 / 2                                 residual r = w.x - y
    │   └── HuberRegression   r^2 / 2, linear beyond `width`          residual
    └── Softmax               k scores a record (its own module)

The formulas take t = m - anchor or t = r, as `tacit.erm.losses.loss` explains.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from tacit.checks import finite_number, positive_number
from tacit.erm.losses.loss import PointwiseLoss
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.bisection import bisect


@final
@dataclass(frozen=True)
class Logistic(PointwiseLoss):
    """The logistic loss log(1 + exp(anchor - m)): L = 1, c = 1/4, derivative in (-1, 0).

    The anchor 0 is the ordinary loss, whose derivative at margin 0 is only half as steep as the noise is made for.
    With an anchor above 0 a record counts in full until its margin comes near the anchor.
    """

    anchor: float = 0.0
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 0.25
    one_sided: ClassVar[bool] = True
    free_jacobian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor", finite_number("anchor", self.anchor))
        if not 0 <= self.anchor <= 100:
            raise InvalidParameter(f"anchor must be a number from 0 to 100, got {self.anchor!r}.")

    @property
    def margin(self) -> float:
        """The lead at which a record begins to count less: the anchor."""
        return self.anchor

    def value(self, t: Floats) -> Floats:
        """Return log(1 + exp(-t))."""
        return np.logaddexp(0.0, -t)

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return -1 / (1 + exp(t))."""
        # exp(t) may overflow: the quotient is then zero, which is within 1e-308 of the truth.
        with np.errstate(over="ignore"):
            power = np.exp(t, out=out)
        power += 1.0
        return np.divide(-1.0, power, out=power)

    def slopes(self, shifted: Floats, targets: NDArray[np.generic]) -> Floats:
        """Return 1 / (1 + exp(-z)) for target -1, minus 1 for target +1: no product with the target."""
        slopes = self.derivative(shifted, out=shifted)
        slopes += np.less(targets.astype(np.float64, copy=False), 0.0)[:, None]
        return slopes

    def curvature(self, t: Floats) -> Floats:
        """Return exp(-|t|) / (1 + exp(-|t|))^2."""
        power = np.exp(-np.abs(t))
        return power / np.square(1.0 + power)

    def rounding(self, reach: float) -> float:
        """Allow exp four units in the last place, and one rounding each for two sums and the quotient."""
        return 16 * UNIT_ROUNDOFF

    def relative_smoothness(self, reach: float) -> float:
        """The maximum of |t| exp(t) / (1 + exp(t))^2 is 0.22394."""
        return min(0.224, 0.25 * (reach + self.anchor))

    def gradient_diameter(self, size: float, norm: float) -> float:
        """Return norm * max over theta of 2 sin(theta) sig(anchor + k cos(theta)), k = size * norm.

        That grows from `norm` at zero, without an anchor, to twice that far out. The maximum is where cos(theta) =
        k sin(theta)^2 sig(-anchor - k cos(theta)), one side of which falls and the other rises.
        """
        k = size * norm

        def rising(angle: float) -> bool:
            cosine = math.cos(angle)
            return cosine > k * math.sin(angle) ** 2 * _sigmoid(-self.anchor - k * cosine)

        low, high = bisect(rising, 0.0, math.pi / 2, steps=60)
        return norm * 2 * math.sin(high) * _sigmoid(self.anchor + k * math.cos(low)) * (1 + 1e-12)


def _sigmoid(t: float) -> float:
    return 1 / (1 + math.exp(-t)) if t > -700 else 0.0


@final
@dataclass(frozen=True)
class HuberHinge(PointwiseLoss):
    """The hinge rounded to a parabola where |1 - m| <= width: L = 1, c = 1/(2 width)."""

    width: float = 0.5
    lipschitz: ClassVar[float] = 1.0
    one_sided: ClassVar[bool] = True
    anchor = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive_number("width", self.width))

    @property
    def smoothness(self) -> float:
        """The curvature 1/(2 width) of the parabola."""
        return 1.0 / (2.0 * self.width)

    def value(self, t: Floats) -> Floats:
        """Return 0 for t >= width, -t for t <= -width, (width - t)^2/(4 width) between."""
        inside = np.square(self.width - np.clip(t, -self.width, self.width)) / (4.0 * self.width)
        return inside + np.maximum(-t - self.width, 0.0)

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return -(width - t)/(2 width), cut to [-1, 0]."""
        slope = np.subtract(t, self.width, out=out)
        slope /= 2.0 * self.width
        return np.clip(slope, -1.0, 0.0, out=slope)

    def curvature(self, t: Floats) -> Floats:
        """Return 1/(2 width) where |t| <= width, else 0."""
        return np.where(np.abs(t) <= self.width, self.smoothness, 0.0)

    def rounding(self, reach: float) -> float:
        """Each of the three roundings is at most a unit of the result's range [0, 1]."""
        return 8 * UNIT_ROUNDOFF

    def relative_smoothness(self, reach: float) -> float:
        """Curvature is zero where |t| > width."""
        return 0.5


@final
@dataclass(frozen=True)
class Hinge(PointwiseLoss):
    """The hinge max(0, 1 - m): L = 1 and not smooth, so for output perturbation only."""

    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = math.inf
    one_sided: ClassVar[bool] = True
    anchor = 1.0

    @property
    def has_corner(self) -> bool:
        """True, but not of a subclass, which may have another shape."""
        return type(self) is Hinge

    def value(self, t: Floats) -> Floats:
        """Return max(0, -t), t being the margin less the anchor."""
        return np.maximum(-t, 0.0)

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return -1 for t < 0, else 0 (a subgradient at the corner)."""
        return np.negative(np.less(t, 0.0), out=out, dtype=np.float64)

    def curvature(self, t: Floats) -> Floats:
        """Return 0, which is right away from the corner."""
        return np.zeros_like(t)

    def rounding(self, reach: float) -> float:
        """A computed subgradient is exact."""
        return 0.0


class _OfResiduals(PointwiseLoss):
    """A loss that is half the squared residual near 0, of targets clipped to `target_bound`: c = 1."""

    target_bound: float
    kind: ClassVar[Literal["residual"]] = "residual"
    smoothness: ClassVar[float] = 1.0
    one_sided: ClassVar[bool] = False

    @property
    def largest_target(self) -> float:
        """The bound to which targets are clipped."""
        return self.target_bound


@final
@dataclass(frozen=True)
class Squared(_OfResiduals):
    """Half the squared residual, targets clipped to `target_bound`: c = 1.

    Its derivative is bounded only as far as predictions are: L = target_bound + prediction_bound, where
    `prediction_bound` is a public bound on |w.x| over the coefficients that can come out.
    """

    target_bound: float
    prediction_bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_bound", positive_number("target_bound", self.target_bound))
        object.__setattr__(self, "prediction_bound", positive_number("prediction_bound", self.prediction_bound))

    @property
    def lipschitz(self) -> float:
        """The largest residual of a prediction within its bound."""
        return self.target_bound + self.prediction_bound

    def value(self, t: Floats) -> Floats:
        """Return t^2 / 2."""
        return 0.5 * np.square(t)

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return the residual t itself."""
        return np.positive(t, out=out)

    def curvature(self, t: Floats) -> Floats:
        """Return 1, the curvature of half a square."""
        return np.ones_like(t)

    def steepest(self, reach: float) -> float:
        """The largest residual of scores up to `reach`."""
        return reach + self.target_bound

    def bounded_at_minimum(self, norm: float, alpha: float) -> bool:
        """Whether the declared bound on predictions covers every minimiser's."""
        return norm * self.minimiser_bound(norm, alpha) <= self.prediction_bound * (1 + 8 * UNIT_ROUNDOFF)

    def minimiser_bound(self, norm: float, alpha: float) -> float:
        """Bound the norm of every minimiser: w = (X'X/n + alpha)^-1 X'y/n, and s/(s^2 + alpha) for s up to `norm`."""
        largest = 1 / (2 * math.sqrt(alpha)) if alpha <= norm**2 else norm / (norm**2 + alpha)
        return self.target_bound * largest

    def rounding(self, reach: float) -> float:
        """The residual itself is rounded once."""
        return 2 * UNIT_ROUNDOFF * self.steepest(reach)

    def relative_smoothness(self, reach: float) -> float:
        """The derivative is the argument."""
        return self.steepest(reach)


@final
@dataclass(frozen=True)
class HuberRegression(_OfResiduals):
    """Half the squared residual, continued linearly beyond `width`: L = width, c = 1."""

    width: float
    target_bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive_number("width", self.width))
        object.__setattr__(self, "target_bound", positive_number("target_bound", self.target_bound))

    @property
    def lipschitz(self) -> float:
        """The slope beyond the width."""
        return self.width

    def value(self, t: Floats) -> Floats:
        """Return t^2/2 for |t| <= width, else width |t| - width^2/2."""
        inside = np.minimum(np.abs(t), self.width)
        return inside * (np.abs(t) - 0.5 * inside)

    def derivative(self, t: Floats, out: Floats | None = None) -> Floats:
        """Return t cut to [-width, width]."""
        return np.clip(t, -self.width, self.width, out=out)

    def curvature(self, t: Floats) -> Floats:
        """Return 1 where |t| <= width, else 0."""
        return np.where(np.abs(t) <= self.width, 1.0, 0.0)

    def rounding(self, reach: float) -> float:
        """The residual itself is rounded once, and counts only up to the width."""
        return 2 * UNIT_ROUNDOFF * self.width

    def relative_smoothness(self, reach: float) -> float:
        """Curvature is zero where |t| > width."""
        return self.width
