"""What records are to a kernel: rows of numbers clipped to a norm, or whatever a user's function takes."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.erm.fitting import private_rows
from tacit.errors import InvalidParameter
from tacit.kernels.kernel import Array, Kernel, size_of

__all__ = ["Domain"]

_BLOCK = 2048


@final
@dataclass(frozen=True)
class Domain:
    """A kernel on clipped records, which then has bounded features.

    `width` is the number of columns of a vector, 0 for records that are no vectors.
    """

    kernel: Kernel
    norm: float
    width: int

    @property
    def square(self) -> float:
        """R^2, the largest K(x, x) of a clipped record."""
        return self.kernel.bound(self.norm)

    @property
    def radius(self) -> float:
        """R, the largest norm of a record's features."""
        return math.sqrt(self.square) * (1 + 2.0**-50)

    @property
    def accuracy(self) -> float:
        """How far a computed K(x, z) may be from the kernel."""
        return self.kernel.accuracy(self.norm, self.width)

    def clipped(self, records: Any) -> Any:
        """Return the records, vectors scaled down to the norm where they are longer."""
        if size_of(records) == 0:
            raise InvalidParameter("there must be at least one record, got none.")
        if not self.kernel.vectors:
            return records
        if records.shape[1] != self.width:
            raise InvalidParameter(f"records must have {self.width} columns, got {records.shape[1]}.")
        rows = private_rows(records, self.norm, False, None)
        data = rows.matrix.array  # type: ignore[attr-defined]
        if rows.scale is None:
            return data
        if isinstance(data, np.ndarray):
            return data * rows.scale[:, None]
        return data.multiply(rows.scale[:, None]).tocsr()

    def gram(self, records: Any) -> Array:
        """Return K(x, z) for all pairs of records, filled by blocks of rows and exactly symmetric."""
        count = size_of(records)
        found = np.empty((count, count))
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            found[start:stop, :stop] = self.kernel.block(records[start:stop], records[:stop])
            found[:start, start:stop] = found[start:stop, :start].T
            corner = found[start:stop, start:stop]
            if np.any(np.abs(corner - corner.T) > 4 * self.accuracy):
                raise InvalidParameter("the kernel function is not symmetric: K(x, z) and K(z, x) differ.")
            corner[:] = (corner + corner.T) / 2
        return found
