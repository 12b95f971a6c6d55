"""Privacy-loss distributions composed by fast Fourier transforms, with a bound on what that may have lost.

Transforms have absolute errors, and a delta of 1e-13 is smaller than many of them. The bound is proved in
prices.md; whoever asks for a delta takes it off first.
"""

import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting.events import Event
from tacit.accounting.prices import loss_distribution
from tacit.numerics.arrays import Floats

_STAGE = 16 * 2.0**-53
"""Bound on the relative error of one stage of a transform; there are log2(length) stages."""

_CURVE = 2.0**-48
"""Bound on the error of delta, at any epsilon, of one distribution before it is composed."""


def composed_losses(parts: list[tuple[Event, int]]) -> tuple[pld.PrivacyLossDistribution, float]:
    """Return the losses of all events together, and by how much any delta taken from them may be too small."""
    total: pld.PrivacyLossDistribution | None = None
    error = 0.0
    for event, count in parts:
        losses = loss_distribution(event, count)
        error += count * _CURVE + _error_of_power(_chances(losses), count)
        if total is not None:
            error += _error_of_product(_chances(total), _chances(losses))
        total = losses if total is None else total.compose(losses)
    return total if total is not None else pld.identity(), error


def _chances(losses: pld.PrivacyLossDistribution) -> Floats:
    return np.asarray(losses._pmf_remove.to_dense_pmf()._probs, dtype=np.float64)  # there is no public way


def _error_of_power(chances: Floats, count: int) -> float:
    """Bound the sum of all errors in the result of convolving a distribution count times with itself."""
    if count == 1:
        return 0.0
    norm = math.pow(float(np.linalg.norm(chances)), 1 - 1 / count)
    return (count + 1) * _transform(chances.size) * norm


def _error_of_product(first: Floats, second: Floats) -> float:
    norms = float(np.linalg.norm(first)) + float(np.linalg.norm(second))
    return 3 * _transform(first.size + second.size) * norms


def _transform(size: int) -> float:
    """Return the relative error of a transform to a length of at most twice the size, times the root of that length."""
    length = 2.0 * size + 16
    return _STAGE * math.log2(length) * math.sqrt(length)
