"""Affine functions of a record's features, as expressions that arrays and databases both understand."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.numerics.arrays import Floats
from tacit.sums.language.expression import Expression, constant, number

LARGEST, _SMALLEST = 1e30, 1e-30
"""What constants in a query must lie between."""


def features_of(table: Any, names: Sequence[str]) -> list[Expression]:
    """Return the features as numbers."""
    return [number(table[name]) for name in names]


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
    code = constant(len(centres) - 1)
    squares = np.square(centres).sum(axis=1)
    distances = [
        affine(features, -2.0 * centre, float(square)) for centre, square in zip(centres, squares, strict=True)
    ]
    for place in reversed(range(len(centres) - 1)):
        rivals = [distances[place] <= distances[other] for other in range(place + 1, len(centres))]
        code = _joined(rivals, operator.and_).ifelse(float(place), code)
    return code


def _joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join expressions in pairs, and these in pairs."""
    while len(parts) > 1:
        parts = [join(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def _constants(numbers: Floats) -> list[float]:
    """Return numbers that may stand in a query."""
    inside = np.clip(np.nan_to_num(numbers), -LARGEST, LARGEST)
    return [float(number) for number in np.where(np.abs(inside) <= _SMALLEST, 0.0, inside)]
