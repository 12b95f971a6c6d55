"""Arrays by what they hold, and the relative error of one rounded operation on their numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

UNIT_ROUNDOFF = 2.0**-53
