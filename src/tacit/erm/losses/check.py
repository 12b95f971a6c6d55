"""Does a loss keep what it declares? A numerical check of convexity and of every constant.

This looks for a contradiction at the points of a fine, wide table; it cannot prove that there is none elsewhere. No
guarantee rests on it: what is minimised is the table (`tabulated.py`), and a loss that fails here is refused
because its author means something else than what would be minimised.
"""

import math
from numbers import Real

import numpy as np

from tacit.erm.losses.loss import PointwiseLoss
from tacit.erm.losses.tabulated import table_points
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats

_SLACK = 1e-7
_SHARE_OF_CORNERS = 0.05


def check_loss(loss: PointwiseLoss) -> None:
    """Refuse a loss of which a declaration is contradicted at some point of a fine grid."""
    if not isinstance(loss, PointwiseLoss):
        raise InvalidParameter(f"loss must be a PointwiseLoss, got {type(loss).__name__}.")
    _check_constants(loss)
    t = table_points()
    untouched = t.copy()
    value, slope, bend = loss.value(t), loss.derivative(t), loss.curvature(t)
    _require(loss, bool(np.array_equal(t, untouched)), "its methods must leave their argument alone")
    for name, result in (("value", value), ("derivative", slope), ("curvature", bend)):
        shaped = isinstance(result, np.ndarray) and result.shape == t.shape
        _require(loss, shaped and bool(np.all(np.isfinite(result))), f"{name} must be finite everywhere")
    _require(loss, bool(np.all(value >= 0.0)), "its value must never be negative")
    _check_slope(loss, t, value, slope)
    _check_bend(loss, t, slope, bend)


def _check_constants(loss: PointwiseLoss) -> None:
    """Refuse constants that are no constants."""
    _require(loss, loss.kind in ("margin", "residual"), "kind must be 'margin' or 'residual'")
    _require(loss, _is_positive(loss.lipschitz), "lipschitz must be positive and finite")
    corner = isinstance(loss.smoothness, float) and loss.smoothness == math.inf
    _require(loss, corner or _is_positive(loss.smoothness), "smoothness must be positive (infinite for a corner)")
    _require(loss, loss.anchor == 0 or _is_positive(abs(loss.anchor)), "anchor must be finite")
    _require(loss, _is_positive(loss.largest_target), "largest_target must be positive and finite")


def _is_positive(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and 0 < float(number) < math.inf


def _check_slope(loss: PointwiseLoss, t: Floats, value: Floats, slope: Floats) -> None:
    """Check the derivative against the value, convexity, the Lipschitz constant and one-sidedness."""
    size = float(np.max(np.abs(slope)))
    _require(loss, size <= loss.lipschitz * (1 + _SLACK), f"its derivative must stay within {loss.lipschitz:g}")
    _require(loss, bool(np.all(np.diff(slope) >= -_SLACK * size)), "it must be convex")
    chord = np.diff(value) / np.diff(t)
    # A chord of a convex function is at least as steep as its left end and at most as its right one.
    room = _SLACK * size + 1e-14 * np.abs(value[1:]) / np.diff(t)
    inside = (chord >= slope[:-1] - room) & (chord <= slope[1:] + room)
    _require(loss, bool(np.all(inside)), "its derivative must be the derivative of its value")
    one_signed = bool(np.all(slope <= 0.0) or np.all(slope >= 0.0))
    _require(loss, one_signed or not loss.one_sided, "one_sided needs a derivative of one sign")


def _check_bend(loss: PointwiseLoss, t: Floats, slope: Floats, bend: Floats) -> None:
    """Check the second derivative against the derivative and the smoothness constant."""
    _require(loss, bool(np.all(bend >= 0.0)), "its curvature must never be negative")
    if math.isinf(loss.smoothness):
        return
    limit = loss.smoothness * (1 + _SLACK)
    _require(loss, bool(np.all(bend <= limit)), f"its curvature must stay within {loss.smoothness:g}")
    rise = np.diff(slope) / np.diff(t)
    room = _SLACK * loss.smoothness + 1e-14 * np.abs(slope[1:]) / np.diff(t)
    _require(loss, bool(np.all(rise <= limit + room)), "its derivative must not rise faster than smoothness")
    # A few cells may hold a corner of the derivative; elsewhere the two must agree.
    off = np.abs(rise - (bend[:-1] + bend[1:]) / 2) > 0.02 * loss.smoothness
    _require(loss, float(np.mean(off)) <= _SHARE_OF_CORNERS, "its curvature must be its second derivative")


def _require(loss: PointwiseLoss, holds: bool, wanted: str) -> None:
    """Refuse the loss unless the claim holds."""
    if not holds:
        raise InvalidParameter(f"{type(loss).__name__} contradicts its declarations: {wanted}.")
