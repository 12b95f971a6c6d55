"""Products of rows with coefficients in which every row stands alone.

Libraries of linear algebra add up the last rows of a table in another order than those before: which bits a row's
score has depends on where it stands. Where persons own rows, that depends on how many rows others have; in a table of a
database, on what else was written there.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tacit.numerics.arrays import Floats

_STRIP = 2048
_AT_ONCE = 4096


def products_alone(rows: Floats, coefficients: Floats) -> Floats:
    """Return X W^T for dense rows X, each row of it the same to the last bit wherever its row stands.

    Columns are added one after the other, each in a cell of its own: single products and sums are rounded alike.
    """
    models = np.atleast_2d(coefficients)
    found = np.zeros((len(rows), len(models)))
    for start in range(0, len(rows), _STRIP):
        columns = np.ascontiguousarray(rows[start : start + _STRIP].T, dtype=np.float64)
        total = np.zeros((len(models), columns.shape[1]))
        for column, weights in zip(columns, models.T, strict=True):
            total += weights[:, None] * column
        found[start : start + _STRIP] = total.T
    return found if coefficients.ndim == 2 else found[:, 0]


def square_lengths(rows: Floats) -> Floats:
    """Return the squared norm of every dense row, the same to the last bit whatever stands beside it.

    So many columns at a time: a row that is the only one numpy would cut after 8,192 numbers, and other rows not.
    """
    parts = (rows[:, start : start + _AT_ONCE] for start in range(0, rows.shape[1], _AT_ONCE))
    return np.asarray(sum(np.einsum("ij,ij->i", part, part) for part in parts))


def pieces(rows: Any, count: int, alone: bool) -> Iterator[Any]:
    """Yield all of so many rows at once, or each by itself if rows have to stand alone."""
    if not alone:
        yield rows
        return
    for place in range(count):
        yield rows[place : place + 1]
