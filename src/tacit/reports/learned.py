"""What models without coefficients and curves learned, in lines of words: rules, groups, directions, shares."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tacit.numerics.arrays import Floats

_MOST_LINES = 200
_MOST_ON_A_LINE = 12


@np.errstate(all="ignore")
def lines_about(model: Any) -> list[str]:
    """Return the lines; of what is long the first ones, and how many more there are."""
    found = list(_lines(model))
    more = len(found) - _MOST_LINES
    return [*found[:_MOST_LINES], f"... and {more:,} more lines"] if more > 0 else found


def _lines(model: Any) -> Iterator[str]:
    if hasattr(model, "rules"):
        yield from model.rules().splitlines()
    elif hasattr(model, "literals_"):
        no, yes = model.classes_
        yield f"{yes} where all of these hold, else {no}:" if len(model.literals_) else f"always {yes}"
        yield from map(str, model.literals_)
    elif hasattr(model, "feature_log_prob_"):
        yield from _shares(model)
    elif hasattr(model, "cluster_centers_"):
        yield from _centres(model)
    elif hasattr(model, "components_"):
        names = _names(model, model.components_.shape[1])
        for place, (row, share) in enumerate(zip(model.components_, model.explained_variance_ratio_, strict=True), 1):
            yield f"direction {place} ({share:.0%} of the spread): {_largest(names, row)}"
    elif hasattr(model, "model_"):
        yield "a sum of functions around public points, or of public waves: its weights say nothing one by one."
        yield "A model fitted on Records shows the average effect of every column here."


def _shares(model: Any) -> Iterator[str]:
    """Say how often each class is, and in which classes each value of a feature is how frequent."""
    yield "how often: " + _pairs(model.classes_, np.exp(model.class_log_prior_))
    for feature, logs in zip(model.features_, model.feature_log_prob_, strict=True):
        for code, row in enumerate(np.exp(logs)):
            yield f"{feature.says(code)}: {_pairs(model.classes_, row)}"


def _centres(model: Any) -> Iterator[str]:
    """Say where every group is, in the units of the columns where they are known."""
    if getattr(model, "encoder_", None) is None:
        names = _names(model, model.cluster_centers_.shape[1])
        for place, row in enumerate(model.cluster_centers_, 1):
            yield f"group {place}: {_largest(names, row)}"
        return
    for place, centre in enumerate(model.centres(), 1):
        yield f"group {place}: " + ", ".join(f"{name} {_value(value)}" for name, value in centre.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{level} {share:.2f}' for level, share in value.items())})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _names(model: Any, count: int) -> Sequence[str]:
    encoder = getattr(model, "encoder_", None)
    if encoder is not None:
        return [str(name) for name in encoder.get_feature_names_out()]
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{place}" for place in range(count)])]


def _largest(names: Sequence[str], row: Floats) -> str:
    """Name the largest numbers of a row."""
    kept = np.argsort(-np.abs(row), kind="stable")[:_MOST_ON_A_LINE]
    more = f" and {len(row) - len(kept)} smaller ones" if len(row) > len(kept) else ""
    return ", ".join(f"{names[int(place)]} {row[place]:.3g}" for place in kept) + more


def _pairs(names: Any, shares: Floats) -> str:
    more = f" and {len(names) - _MOST_ON_A_LINE} more" if len(names) > _MOST_ON_A_LINE else ""
    pairs = list(zip(names, shares, strict=True))[:_MOST_ON_A_LINE]
    return ", ".join(f"{name} {share:.3f}" for name, share in pairs) + more
