"""A lower triangle M with M M^T = K + jitter I, grown point by point as points are asked about.

Its rows are numbers about public points. Rows already in use are never changed: noise drawn through them was seen.
"""

import math
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats

_CHUNK = 256


def triangle_error(size: int, square: float, accuracy: float) -> float:
    """Bound the spectral norm of M M^T - (K + jitter I + D), D diagonal and at least 0, for `size` points.

    `square` bounds K(z, z) + 2 jitter, and `accuracy` the error of a computed K(z, z').
    """
    return size * (1.02 * (size + 8) * 2.0**-53 * square + accuracy)


@final
class Triangle:
    """The rows of M so far, in chunks so that nothing is copied when it grows."""

    def __init__(self, jitter: float) -> None:
        self._jitter = jitter
        self._chunks: list[Floats] = []
        self.size = 0

    def append(self, row: Floats) -> None:
        """Add the next row, of one number more than there are rows."""
        place = self.size % _CHUNK
        if place == 0:
            self._chunks.append(np.zeros((_CHUNK, self.size + _CHUNK)))
        self._chunks[-1][place, : self.size + 1] = row
        self.size += 1

    def solved(self, cross: Floats) -> Floats:
        """Return X with X M^T = cross, for K(z, z') of new points z and all old ones z'."""
        found = np.empty((len(cross), self.size))
        for number, chunk in enumerate(self._chunks):
            start = number * _CHUNK
            stop = min(start + _CHUNK, self.size)
            rows, corner = chunk[: stop - start, :start], chunk[: stop - start, start:stop]
            right = cross[:, start:stop] - found[:, :start] @ rows.T
            found[:, start:stop] = solve_triangular(corner, right.T, lower=True, check_finite=False).T
        return found

    def next_rows(self, cross: Floats, corner: Floats) -> list[Floats]:
        """Return the rows of new points, given K between new and old points and among the new ones.

        In exact arithmetic a pivot is at least the jitter; one below half of it shows that K is no kernel, and the
        points are refused. Otherwise it is raised to the jitter, which only adds noise.
        """
        old = self.solved(cross)
        rest = corner - old @ old.T
        new = np.zeros_like(rest)
        for place in range(len(rest)):
            before = new[:place, :place]
            if place:
                new[place, :place] = solve_triangular(before, rest[place, :place], lower=True, check_finite=False)
            pivot = rest[place, place] + self._jitter - float(new[place, :place] @ new[place, :place])
            if not pivot >= self._jitter / 2:
                raise InvalidParameter("the kernel is not positive semi-definite at these points. Nothing was drawn.")
            new[place, place] = math.sqrt(max(pivot, self._jitter))
        return [np.append(old[place], new[place, : place + 1]) for place in range(len(rest))]
