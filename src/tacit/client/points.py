"""Points as plain values: what goes over the wire to a predictor that stays with a service."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def plain_points(Z: Any) -> list[Any]:
    """Return points as plain values: rows of a table by the names of its columns, or rows of numbers."""
    if hasattr(Z, "to_dicts"):
        return [_row(row) for row in Z.to_dicts()]
    if hasattr(Z, "to_dict") and hasattr(Z, "columns"):
        return [_row(row) for row in Z.to_dict("records")]
    if isinstance(Z, Mapping):
        columns = [list(Z[name]) for name in Z]
        return [_row(dict(zip(Z, cells, strict=True))) for cells in zip(*columns, strict=True)]
    if isinstance(Z, list | tuple) and all(isinstance(row, Mapping) for row in Z):
        return [_row(row) for row in Z]
    return [list(map(_cell, row)) for row in np.asarray(Z).tolist()]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _cell(cell) for name, cell in row.items()}


def _cell(cell: Any) -> Any:
    """Return a cell that JSON can hold: what is missing as null, moments as text."""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    if plain is None or (isinstance(plain, float) and plain != plain):
        return None
    return plain if isinstance(plain, bool | int | float | str) else str(plain)
