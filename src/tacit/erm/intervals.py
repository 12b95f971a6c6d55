"""Intervals for what coefficients would be without noise."""

import math
from typing import Any

from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from tacit.checks import checked_confidence
from tacit.numerics.arrays import Floats


def noise_intervals(model: Any, confidence: float) -> tuple[Floats, Floats]:
    """Return the low and the high ends for the coefficients of a fitted linear model (perturbations/noise.md)."""
    confidence = checked_confidence(confidence)
    check_is_fitted(model)
    budget = model.release_.budget
    width = float(ndtri((1 + confidence) / 2))
    if budget is not None and budget.is_pure:
        # A coordinate of spherical Laplace noise has lighter tails than Laplace noise of the same deviation.
        width = max(math.log(1 / (1 - confidence)) / math.sqrt(2), width)
    return model.coef_ - width * model.coef_noise_, model.coef_ + width * model.coef_noise_
