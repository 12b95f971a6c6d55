"""What records are to a kernel: rows of numbers clipped to a norm, or whatever a user's function takes."""

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from tacit.checks import finite_number
from tacit.erm.fitting import private_rows
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.custom import is_total
from tacit.kernels.kernel.kernel import Kernel, size_of, unseen
from tacit.numerics.arrays import Floats

_BLOCK = 2048
_SMALLEST, _LARGEST = 1e-201, 1e201


@final
@dataclass(frozen=True)
class Domain:
    """A kernel on clipped records, which then has bounded features.

    `width` is the number of columns of a vector, 0 for records that are no vectors. `square` is R^2, the largest
    K(x, x) of a clipped record, and `accuracy` how far a computed K(x, z) may be from the kernel: a kernel is asked for
    them once, so that all that is calibrated to them is calibrated to the same numbers.
    """

    kernel: Kernel
    norm: float
    width: int
    square: float = field(init=False)
    accuracy: float = field(init=False)

    def __post_init__(self) -> None:
        norm = finite_number("data_norm", self.norm)
        square = finite_number("the bound of a kernel", self.kernel.bound(norm))
        if not _SMALLEST <= square <= _LARGEST:
            raise InvalidParameter(
                f"the bound of K(x, x) must lie between {_SMALLEST:g} and {_LARGEST:g}, got {square:g}. "
                "Use another data_norm, degree or constant."
            )
        accuracy = finite_number("the accuracy of a kernel", self.kernel.accuracy(norm, self.width))
        if accuracy < 0:
            raise InvalidParameter(f"the accuracy of a kernel must not be negative, got {accuracy:g}.")
        for name, value in (("norm", norm), ("square", square), ("accuracy", accuracy)):
            object.__setattr__(self, name, value)

    @property
    def vectors(self) -> bool:
        """Whether records are rows of numbers."""
        return self.width > 0

    @property
    def radius(self) -> float:
        """R, the largest norm of a record's features."""
        return math.sqrt(self.square) * (1 + 2.0**-50)

    def clipped(self, records: Any) -> Any:
        """Return the records, vectors scaled down to the norm where they are longer: each by itself, bit for bit."""
        if size_of(records) == 0:
            raise InvalidParameter("there must be at least one record, got none.")
        if not self.vectors:
            return records
        if records.shape[1] != self.width:
            raise InvalidParameter(f"records must have {self.width} columns, got {records.shape[1]}.")
        rows = private_rows(records, self.norm, False, None)
        data = rows.matrix.array
        if rows.scale is None:
            return data
        if isinstance(data, np.ndarray):
            return data * rows.scale[:, None]
        return data.multiply(rows.scale[:, None]).tocsr()

    def block(self, left: Any, right: Any) -> Floats:
        """Return K(x, z) for every record x on the left and z on the right.

        It is total: whatever the records are there are values, within the bound, and each row depends on its record and
        on the right side alone. Where a class of a user's own fails for a record, that record has no features.
        """
        if is_total(self.kernel):
            found = self.kernel.block(left, right)
        else:
            found = np.zeros((size_of(left), size_of(right)))
            for place in range(len(found)):
                found[place] = self._row(left[place : place + 1], right)
        # No kernel exceeds its bound, so cutting off takes away errors alone.
        np.nan_to_num(found, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip(found, -self.square, self.square, out=found)

    def _row(self, record: Any, right: Any) -> Floats | float:
        try:
            with unseen():
                found = np.array(self.kernel.block(record, right), dtype=np.float64)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return 0.0
        return found[0] if found.shape == (1, size_of(right)) else 0.0

    def gram(self, records: Any) -> Floats:
        """Return K(x, z) for all pairs of records, filled by blocks of rows, total and exactly symmetric."""
        count = size_of(records)
        found = np.empty((count, count))
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            found[start:stop, :stop] = self.block(records[start:stop], records[:stop])
            found[:start, start:stop] = found[start:stop, :start].T
            corner = found[start:stop, start:stop]
            corner[:] = (corner + corner.T) / 2
        return found

    def public_gram(self, points: Any) -> Floats:
        """Return K for all pairs of public points; refuse a function that shows there that it is no kernel."""
        self.kernel.public_diagonal(points)
        found = np.array(self.kernel.public_block(points, points), dtype=np.float64)
        if found.shape != (size_of(points),) * 2 or not np.all(np.isfinite(found)):
            raise InvalidParameter("the kernel is not finite at the landmarks.")
        if np.any(np.abs(found - found.T) > 4 * self.accuracy):
            raise InvalidParameter("the kernel function is not symmetric: K(x, z) and K(z, x) differ.")
        return np.asarray((found + found.T) / 2)
