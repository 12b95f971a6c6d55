"""Points among encoded rows, read back in the units of the columns: years, currencies, shares of levels.

A row is encoded as v/|v|, v the codes of its columns and a constant 1/2 (`PublicEncoder`). A point is read as the v
that has its direction: its numbers over twice its constant.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import log1p
from typing import Any

import numpy as np

from tacit.data.columns import Moment, Number
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Category, Levelled
from tacit.numerics.arrays import Floats

_LEAST = 1e-3
"""A point with less of the constant is read as if it had that much: noise alone has brought it there."""


def in_units(encoder: PublicEncoder, points: Floats) -> list[dict[str, Any]]:
    """Return for each point what it says of every column: a number, a moment, or the share of each level."""
    names = [str(name) for name in encoder.get_feature_names_out()]
    found = []
    for point in points:
        codes = dict(zip(names, point / (2 * max(float(point[-1]), _LEAST)), strict=True))
        columns = encoder.schema.columns
        found.append({name: _read(columns[name], name, codes) for name in encoder.schema.features})
    return found


def _read(column: Any, name: str, codes: Mapping[str, float]) -> Any:
    if isinstance(column, Category):
        shares = {level: _share(2 * codes[f"{name}={level}"]) for level in column.classes if f"{name}={level}" in codes}
        if column.other is not None:
            shares[str(column.other)] = _share(1 - sum(shares.values()))
        return shares
    (output,) = column.outputs(name)
    if isinstance(column, Number):
        share, width = _share((codes[output] + 1) / 2), column.high - column.low
        return column.low + (float(np.expm1(share * log1p(width))) if column.log else share * width)
    if isinstance(column, Moment):
        low, high = column.ends
        moment = (low + _share((codes[output] + 1) / 2) * (high - low)) / 1e6
        return datetime.fromtimestamp(moment, UTC).date().isoformat()
    assert isinstance(column, Levelled)
    ends = column.codes().ravel()
    place = int(np.argmin(np.abs(ends - codes[output])))
    return _share(codes[output] + 0.5) if len(ends) == 2 and ends[0] == -0.5 else column.classes[place]


def _share(value: float) -> float:
    return float(np.clip(value, 0.0, 1.0))
