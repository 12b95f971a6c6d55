"""Arrays by what they hold, and the relative error of one rounded operation on their numbers."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

UNIT_ROUNDOFF = 2.0**-53


def are_all(cells: Iterable[object], *kinds: type) -> bool:
    """Whether cells are of exactly these types, told by identity: a class may have no hash, or fail to compare."""
    return set(map(id, map(type, cells))) <= set(map(id, kinds))
