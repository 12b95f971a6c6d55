"""The exact privacy of Gaussian noise (Balle and Wang 2018), rounded outward.

With s = sensitivity / sigma, a Gaussian mechanism is (epsilon, delta)-private exactly when

    delta >= Phi(s/2 - epsilon/s) - e^epsilon Phi(-s/2 - epsilon/s).

The two terms nearly cancel, so they are computed as one density times a difference of Mills ratios, and
what rounding may have taken away is added back: `gaussian_delta` never understates delta.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.numerics.bisection import bisect

_SMALLEST_SHIFT = 2.0**-60
_TINY = 5e-324


def _mills_ratio(point: float) -> float:
    """Return (1 - Phi(t)) / phi(t)."""
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(point / math.sqrt(2)))


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Return an upper bound, within rounding, on the delta of Gaussian noise at shift = sensitivity/sigma."""
    from scipy.special import ndtr

    near = epsilon / shift - shift / 2
    far = epsilon / shift + shift / 2
    if near > 40:
        return max(_TINY, math.exp(-near * near / 2))
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    outer = float(ndtr(-near)) if near < 0 else density * _mills_ratio(near)
    inner = density * _mills_ratio(far)
    rounding = ((abs(near) + 1) * far + 16) * 2.0**-51 * (outer + inner)
    return min(1.0, max(_TINY, outer - inner + rounding))


@lru_cache(maxsize=1024)
def gaussian_shift(budget: Budget) -> float:
    """Return the largest shift = sensitivity/sigma whose Gaussian noise keeps the budget, rounded down.

    This is s_AGM of the proof notes: sigma = sensitivity / gaussian_shift(budget).
    """
    if budget.is_pure:
        raise InvalidParameter(
            f"Gaussian noise needs delta > 0, got {budget}. Give a delta well below 1/n, or use Laplace noise."
        )
    if not Fraction(1, 10**30) <= budget.exact_delta <= Fraction(1, 2):
        raise InvalidParameter(
            f"Gaussian noise can be calibrated for delta from 1e-30 to 0.5, got {budget}. Keep delta well below 1/n."
        )
    return _largest_shift(gaussian_delta, budget, 2.0**40)


def excess_delta(epsilon: float, shift: float) -> float:
    """Return an upper bound, within rounding, on E(Z - epsilon)+ for the privacy loss Z of Gaussian noise at a shift.

    Z is normal with mean s^2/2 and variance s^2, so this is s (phi(h) - h Phi(-h)), h = epsilon/s - s/2. It bounds
    delta, since (1 - e^(epsilon - Z))+ is at most (Z - epsilon)+, and unlike delta it is convex in Z.
    """
    near = epsilon / shift - shift / 2
    if near > 40:
        return max(_TINY, shift * math.exp(-near * near / 2))
    density = math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    if near <= 0:
        from scipy.special import ndtr

        return shift * (density - near * float(ndtr(-near))) * (1 + 2.0**-40)
    product = near * _mills_ratio(near)
    return max(_TINY, shift * density * (1 - product + (near + 16) * 2.0**-50))


def excess_shift(budget: Budget) -> float:
    """Return the largest shift at which `excess_delta` keeps the budget, rounded down."""
    # It is above the delta of Gaussian noise, so that the shift which that allows is too large.
    return _largest_shift(excess_delta, budget, 2 * gaussian_shift(budget))


def _largest_shift(delta_at: Callable[[float, float], float], budget: Budget, beyond: float) -> float:
    """Return the largest shift, of those below `beyond`, at which a bound on delta keeps the budget."""
    epsilon, delta = rounded_down(budget.exact_epsilon), rounded_down(budget.exact_delta)
    shift, _ = bisect(
        lambda shift: delta_at(epsilon, shift) <= delta,
        _SMALLEST_SHIFT,
        beyond,
        between=lambda low, high: math.sqrt(low * high),
    )
    if shift == _SMALLEST_SHIFT:
        raise InvalidParameter(f"{budget} is too small to certify any Gaussian noise for. Raise epsilon or delta.")
    return shift


def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest epsilon, rounded up, at which Gaussian noise with this shift has at most this delta."""
    if gaussian_delta(0.0, shift) <= delta:
        return 0.0
    return bisect(lambda epsilon: gaussian_delta(epsilon, shift) <= delta, shift * (shift / 2 + 41), 0.0)[0]


def rounded_down(exact: Fraction) -> float:
    """Return the largest float that does not exceed the exact number."""
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)
