"""Expressions over a record's features, and declared regions that records count inside of.

Expressions are affine functions and the nearest of some centres, as arrays and databases both understand them. A
region is a box or a ball, with points spread over it by no record.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from tacit.data.bounded import stated_norm
from tacit.errors import InvalidParameter
from tacit.estimators.parameters import known_norm
from tacit.noise import public_stream
from tacit.numerics.arrays import Floats
from tacit.sums.language.expression import Expression, constant, number
from tacit.sums.query import Function, RowSums, checked_ranges

_LARGEST, _SMALLEST = 1e30, 1e-30
"""What constants in a query must lie between."""
_SPREAD = 0.7
"""How much of the region points are spread over: its rim is rarely where records are."""
_NUDGE = 1e-3
"""How far two centres that share a cluster start apart: next to nothing, so that they halve it."""


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
    inside = np.clip(np.nan_to_num(numbers), -_LARGEST, _LARGEST)
    return [float(number) for number in np.where(np.abs(inside) <= _SMALLEST, 0.0, inside)]


@final
@dataclass(frozen=True)
class Region:
    """A ball around 0 (`norm`), or a box (`bounds`: one pair for all features, or one for each)."""

    norm: float | None
    bounds: tuple[tuple[float, float], ...] = ()
    width: int = 0

    def over(self, width: int) -> "Region":
        """Return the region in a space of so many features."""
        if len(self.bounds) > 1 and len(self.bounds) != width:
            raise InvalidParameter(f"bounds must be one pair, or one for each of {width} features.")
        return replace(self, bounds=self.bounds * width if len(self.bounds) == 1 else self.bounds, width=width)

    @property
    def origin(self) -> Floats:
        """What a missing feature counts as, and what sums are counted from."""
        return np.zeros(self.width) if self.norm is not None else np.array([low for low, _ in self.bounds])

    @property
    def words(self) -> str:
        """What is public about rows."""
        return "the bounds" if self.norm is None else f"row norm {self.norm:g}"

    def row_sums(self, names: tuple[str, ...], function: Function, levels: Any) -> list[RowSums]:
        """Ask for the sums of rows at each level: features with the same bounds together."""
        if self.norm is not None:
            return [RowSums(names, function, levels, norm=self.norm)]
        return [
            RowSums(tuple(names[j] for j in places), function, levels, low=low, high=high)
            for (low, high), places in self._alike.items()
        ]

    def joined(self, answers: Sequence[Any]) -> Floats:
        """Return the answers as sums of whole rows, counted from the origin."""
        if self.norm is not None:
            return np.asarray(answers[0])
        sums = np.empty((len(answers[0]), self.width))
        for answer, places in zip(answers, self._alike.values(), strict=True):
            sums[:, places] = answer
        return sums

    def inside(self, points: Floats) -> Floats:
        """Return points brought into the region."""
        if self.norm is None:
            low, high = np.array(self.bounds).T
            return np.clip(points, low, high)
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points * np.minimum(1.0, self.norm / np.maximum(lengths, 1e-300)))

    def spread(self, count: int) -> Floats:
        """Return points all over the region, always the same."""
        coins = public_stream(0, count * (self.width + 1)).reshape(count, -1)
        if self.norm is None:
            low, high = np.array(self.bounds).T
            return np.asarray((low + high) / 2.0 + _SPREAD * (high - low) * (coins[:, 1:] - 0.5))
        return _SPREAD * self.norm * coins[:, :1] ** (1.0 / self.width) * _directions(coins[:, 1:])

    def nudges(self, count: int, turn: int) -> Floats:
        """Return short steps in different directions, others at every turn."""
        ways = _directions(public_stream(turn, count * self.width).reshape(count, -1))
        return _NUDGE * ways * (self.norm if self.norm is not None else np.diff(np.array(self.bounds)).T)

    @property
    def _alike(self) -> dict[tuple[float, float], list[int]]:
        groups: dict[tuple[float, float], list[int]] = {}
        for place, pair in enumerate(self.bounds):
            groups.setdefault(pair, []).append(place)
        return groups


def region_for(bounds: Any, data_norm: object, X: object) -> Region:
    """Return the region that was declared; it must not be read off the data."""
    if bounds is None:
        if data_norm is None and stated_norm(X) is None:
            raise InvalidParameter(
                "bounds is missing, and so is data_norm: features are clamped to bounds=(low, high), or rows are "
                "clipped to data_norm, and neither must be read off the data. Give the one that records keep."
            )
        return Region(known_norm(data_norm, X))
    if data_norm is not None:
        raise InvalidParameter("give bounds or data_norm, not both.")
    return Region(None, tuple(checked_ranges(bounds)))


def _directions(coins: Floats) -> Floats:
    """Return directions from uniform numbers."""
    ways = ndtri(np.clip(coins, 1e-12, 1.0 - 1e-12))
    return np.asarray(ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-300))
