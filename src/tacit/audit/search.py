"""Look for the neighbouring data sets that lose most: a wrong constant is found, not just confirmed.

For objective perturbation the privacy loss of a pair at an output is known exactly. The search walks through
families of pairs (tiny data sets with one record made 0, opposite, a far corner or another label; and large ones
that hold the output where two records pull hardest) and climbs in the output for each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
from scipy.special import expit

from tacit.audit.laws import CountedRows, ObjectiveLaw
from tacit.errors import InvalidParameter
from tacit.noise import source_for, uniform
from tacit.numerics.arrays import Floats

_MOST_ROUNDS = 80
Calibration = Callable[[int], ObjectiveLaw]
"""What an algorithm does with so many records: the law of its coefficient."""


@final
@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two neighbouring data sets, and an output to start looking from."""

    first: CountedRows
    second: CountedRows
    start: Floats
    kind: str


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The largest privacy loss of a search, its pair and output, and how many pairs were searched."""

    loss: float
    pair: NeighbourPair
    point: Floats
    pairs: int

    @property
    def where(self) -> str:
        """The pair, for people."""
        row, other = self.pair.first.rows[0], self.pair.second.rows[0]
        return (
            f"{self.pair.kind}, n={self.pair.first.count}: {np.round(row, 3).tolist()} becomes "
            f"{np.round(other, 3).tolist()}, seen at {np.round(self.point, 3).tolist()}"
        )


def search(calibrate: Calibration, pairs: Iterator[NeighbourPair]) -> Found:
    """Return the worst of all pairs under the algorithm's own calibration for their size."""
    found = [(*largest_loss(calibrate(pair.first.count), pair), pair) for pair in pairs]
    if not found:
        raise InvalidParameter("there are no pairs to search.")
    loss, point, pair = max(found, key=lambda each: each[0])
    return Found(loss, pair, point, len(found))


def tiny_pairs(dimension: int, norm: float, sets: int = 12) -> Iterator[NeighbourPair]:
    """Yield tiny data sets with one record replaced: by 0, by its opposite, by a far corner; or its label flipped."""
    source = source_for(0)
    for number in range(sets):
        count = 1 + number % 4
        rows = uniform(source, count * dimension).reshape(count, dimension) * 2 - 1
        rows *= norm / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        rows[1:] *= uniform(source, count - 1)[:, None]
        targets = np.where(uniform(source, count) < 0.5, 1.0, -1.0)
        first = CountedRows.of(rows, targets)
        corner = np.zeros(dimension)
        corner[number % dimension] = norm
        moves = (
            ("record becomes 0", np.zeros(dimension), targets[0]),
            ("record becomes its opposite", -rows[0], targets[0]),
            ("record becomes a far corner", corner, -targets[0]),
            ("label flips", rows[0], -targets[0]),
        )
        for kind, row, target in moves:
            yield NeighbourPair(first, first.replaced(row, target), np.zeros(dimension), f"tiny set, {kind}")


def held_pairs(norm: float, ridge: float, anchor: float = 0.0) -> Iterator[NeighbourPair]:
    """Yield pairs in two dimensions whose two records pull apart with nearly all their weight, for a logistic loss.

    Many short records along the first axis hold the output at (W, 0), far out. There the replaced record u and its
    replacement both have negative margins, so both pull with nearly full weight although they point almost
    opposite ways along the second axis; a few more records like the replacement turn b that way.
    """
    widths, pulls, others = (4.0, 8.0, 15.0, 30.0, 60.0, 120.0), (0.6, 0.7, 0.8, 0.9, 0.97), (3.0, 5.0, 9.0)
    for width, pull, margin in product(widths, pulls, others):
        for aligned in (1, 3):
            far = width / norm
            one = _record(norm, far, np.log(pull / (1 - pull)) - anchor, 1.0)
            other = _record(norm, far, margin, -1.0)
            if one is None or other is None:
                continue
            short = 1.278 / far
            weight = short * float(expit(anchor - far * short))
            # What the ridge and the long records along the first axis leave for the short ones to hold.
            load = ridge * far - (aligned + 1) * other[0] * float(expit(anchor + margin))
            held = max(1, round(load / weight))
            first = CountedRows.of(np.array([one, other, [short, 0.0]]), np.ones(3), [1, aligned, held])
            yield NeighbourPair(first, first.replaced(other, 1.0), np.array([far, 0.0]), f"held at W={width:g}")


def _record(norm: float, far: float, margin: float, side: float) -> Floats | None:
    """Return a record of full norm whose margin at (far, 0) is minus this, if there is one."""
    along = -margin / far
    return np.array([along, side * np.sqrt(norm**2 - along**2)]) if abs(along) < norm else None


def largest_loss(law: ObjectiveLaw, pair: NeighbourPair) -> tuple[float, Floats]:
    """Return the largest |log ratio| over outputs: the best of rays through both records, then a compass climb."""

    def loss(points: Floats) -> Floats:
        return np.abs(law.log_density(points, pair.first) - law.log_density(points, pair.second))

    points = _starts(pair)
    values = loss(points)
    best, highest = points[values.argmax()], float(values.max())
    compass = np.concatenate([np.eye(points.shape[1]), -np.eye(points.shape[1])])
    step = 0.2 * (float(np.linalg.norm(best)) + 0.1 / max(1e-9, float(np.abs(pair.first.rows).max())))
    smallest = 1e-10 * step
    for _ in range(_MOST_ROUNDS):
        around = best + step * compass
        values = loss(around)
        if values.max() > highest:
            best, highest, step = around[values.argmax()], float(values.max()), step * 1.5
        elif step > smallest:
            step /= 2
        else:
            break
    return highest, best


def _starts(pair: NeighbourPair) -> Floats:
    directions = [row for row in (pair.first.rows[0], pair.second.rows[0]) if np.any(row)]
    directions.append(directions[-1][::-1].copy())
    sizes = np.concatenate([-np.geomspace(0.03, 300, 25), [0.0], np.geomspace(0.03, 300, 25)])
    rays = [sizes[:, None] * row / np.dot(row, row) for row in directions]
    return np.concatenate([pair.start[None, :], *rays])
