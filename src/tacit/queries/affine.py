"""Affine functions of a record's features, as expressions that arrays and databases both understand."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.queries.expressions import Expression
from tacit.queries.learner import as_number

__all__ = ["affine", "features_of", "nearest"]

Floats = NDArray[np.float64]

_LARGEST, _SMALLEST = 1e30, 1e-30
"""What constants in a query must lie between."""


def features_of(table: Any, names: Sequence[str], missing: Sequence[float] | Floats) -> list[Any]:
    """Return the features as numbers, each with a number in the place of a missing cell."""
    return [as_number(table[name]).fill_null(float(number)) for name, number in zip(names, missing, strict=True)]


def affine(features: Sequence[Any], weights: Floats, offset: float) -> Any:
    """Return weights . features + offset; added up in pairs, so that it stays shallow and the same everywhere.

    Its size depends on the number of features alone: what is too large to be asked is so from the first round on.
    """
    terms = [feature * weight for feature, weight in zip(features, _constants(weights), strict=True)]
    return _joined(terms, operator.add) + _constants(np.array([offset]))[0]


def nearest(features: Sequence[Any], centres: Floats) -> Any:
    """Return the number of the centre that is nearest; of several, the first.

    |x - c|^2 is |x|^2 + |c|^2 - 2 c.x, whose first part is the same for all centres. A centre that is as near as all
    after it is the one, unless one before it was.
    """
    code: Any = features[0] * 0.0 + float(len(centres) - 1)
    closer = _closer(features, centres)
    for number in reversed(range(len(centres) - 1)):
        rivals = [closer(number, other) for other in range(number + 1, len(centres))]
        code = _joined(rivals, operator.and_).ifelse(float(number), code)
    return code


def _closer(features: Sequence[Any], centres: Floats) -> Callable[[int, int], Any]:
    """Return what says that one centre is as near as another.

    Over arrays a distance is computed once for all comparisons. In a query to a database it would be written out again
    in each, so there the difference of two distances is compared with 0: half as long.
    """
    squares = np.square(centres).sum(axis=1)
    if not isinstance(features[0], Expression):
        return lambda one, other: (
            affine(features, 2.0 * (centres[other] - centres[one]), float(squares[one] - squares[other])) <= 0.0
        )
    distances = [
        affine(features, -2.0 * centre, float(square)) for centre, square in zip(centres, squares, strict=True)
    ]
    return lambda one, other: distances[one] <= distances[other]


def _joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join expressions in pairs, and these in pairs."""
    while len(parts) > 1:
        parts = [join(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def _constants(numbers: Floats) -> list[float]:
    """Return numbers that may stand in a query."""
    inside = np.clip(np.nan_to_num(numbers), -_LARGEST, _LARGEST)
    return [float(number) for number in np.where(np.abs(inside) <= _SMALLEST, 0.0, inside)]
