"""Arrays by what they hold, and the relative error of one rounded operation on their numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

UNIT_ROUNDOFF = 2.0**-53


def are_all(cells: Iterable[object], *kinds: type) -> bool:
    """Whether cells are of exactly these types, told by identity: a class may have no hash, or fail to compare."""
    return set(map(id, map(type, cells))) <= set(map(id, kinds))


def unmasked(values: Any, missing: object) -> Any:
    """Return a masked array as one of objects, with what stands for a missing cell; anything else as it is."""
    if not issubclass(type(values), np.ma.MaskedArray):
        return values
    cells = np.ma.getdata(values).astype(object)
    cells[np.ma.getmaskarray(values)] = missing
    return cells
