"""A table of coefficients beside the noise in them, for people."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.checks import whole_number
from tacit.numerics.arrays import Floats

_NOTE = (
    "noise: a bound on the standard deviation that privacy adds to each coefficient (an estimate where "
    "sufficient statistics or gradients were released). It says nothing about how far the records themselves stand for "
    "others. A coefficient below twice its noise may well be noise alone."
)


def summary_of(model: Any, most: int) -> str:
    """Return the table of a fitted linear model: the guarantee, and at most so many coefficients, clearest first."""
    check_is_fitted(model)
    most = whole_number("most", most)
    names = _names(model)
    labels, coefficients, noises = _lines(model, names)
    clear = np.abs(coefficients) / np.where(noises > 0, noises, 1.0)
    order = np.argsort(-clear, kind="stable")
    shown = order[:most]
    width = max(len("coefficient of"), *(len(labels[place]) for place in shown)) if shown.size else 0
    lines = [
        type(model).__name__,
        model.release_.guarantee,
        "",
        f"{'coefficient of':<{width}}  {'value':>12}  {'noise':>12}",
        *(f"{labels[place]:<{width}}  {coefficients[place]:>12.5g}  {noises[place]:>12.5g}" for place in shown),
    ]
    if len(order) > most:
        lines.append(f"... and {len(order) - most} more")
    if np.any(noises > 0):
        below = int(np.sum(clear < 2))
        lines += ["", f"{below} of {len(order)} coefficients are below twice their noise.", _NOTE]
    return "\n".join(lines)


def _names(model: Any) -> list[str]:
    """Name the columns: by the encoder, by the table the model was fitted to, or by number."""
    encoder, named = getattr(model, "encoder_", None), getattr(model, "feature_names_in_", None)
    names = named if encoder is None else encoder.get_feature_names_out()
    return [f"x{place}" for place in range(model.n_features_in_)] if names is None else list(map(str, names))


def _lines(model: Any, names: list[str]) -> tuple[list[str], Floats, Floats]:
    """Return the label, the value and the noise of each coefficient, intercepts after the columns of each score."""
    weights, noises = np.atleast_2d(model.coef_), np.atleast_2d(model.coef_noise_)
    intercepts, intercept_noises = np.atleast_1d(model.intercept_), np.atleast_1d(model.intercept_noise_)
    if np.any(intercepts) or np.any(intercept_noises):
        names = [*names, "(intercept)"]
        weights = np.column_stack([weights, intercepts])
        noises = np.column_stack([noises, intercept_noises])
    of = [f"{label}: " for label in model.classes_] if len(weights) > 1 else [""]
    return [f"{score}{name}" for score in of for name in names], weights.ravel(), noises.ravel()
