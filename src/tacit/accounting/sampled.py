"""The Renyi divergence of the worst pair for a sampled Gaussian, by summing a positive function on a fine grid."""

import math
from functools import lru_cache

import numpy as np

from tacit.numerics.arrays import Floats

_REACH = 13.0
_UPWARD = 1 + 1e-9


@lru_cache(maxsize=4096)
def sampled_divergence(probability: float, shift: float, order: float) -> float:
    """Return the divergence of (1-q) N(0, 1) + q N(s, 1) from (1-q) N(0, 1) + q N(-s, 1), rounded up.

    With L the logarithm of the ratio, E[e^(order L)] - 1 = E[F(L)], F(l) = e^(order l) - 1 - order (e^l - 1) >= 0:
    summing F keeps all digits, however little a small sample or much noise leaves of it (prices.md).
    """
    step = min(0.05, 0.2 / shift)
    x = np.arange(-shift - _REACH, order * shift + _REACH + step, step)
    with np.errstate(all="ignore"):
        upper, lower = (_mixed(probability, sign * shift * x - shift * shift / 2) for sign in (1, -1))
        terms = _log_excess(upper - lower, order) + lower - x * x / 2
        top = float(terms.max())
        excess = top + math.log(float(np.exp(terms - top).sum()) * step / math.sqrt(2 * math.pi))
    return float(np.logaddexp(0.0, excess)) / (order - 1) * _UPWARD


def _mixed(probability: float, exponent: Floats) -> Floats:
    """Return log(1 - q + q e^exponent)."""
    small = np.log1p(probability * np.expm1(np.minimum(exponent, 30.0)))
    return np.where(exponent < 30, small, np.logaddexp(math.log1p(-probability), math.log(probability) + exponent))


def _log_excess(loss: Floats, order: float) -> Floats:
    """Return log F, rounded up where it is computed from its first term."""
    power = order * loss
    moderate = np.expm1(np.minimum(power, 30.0)) - order * np.expm1(np.minimum(loss, 30.0))
    curvature = order * order * np.exp(np.clip(power, 0.0, 1.0)) - order * np.exp(np.clip(loss, 0.0, 1.0))
    tiny = loss * loss / 2 * curvature
    large = power + np.log1p((order - 1) * np.exp(-power) - order * np.exp(loss - power))
    near = np.log(np.where(np.abs(power) < 1e-3, tiny, moderate))
    return np.where(power < 30, near, large)
