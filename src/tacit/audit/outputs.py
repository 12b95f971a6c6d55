"""Numbers of many plays as one table, a play a row."""

from collections.abc import Sequence

import numpy as np

from tacit.numerics.arrays import Floats

FARTHEST = 1e300
"""What stands for infinity in the answers that attacks compute with."""


def as_table(rows: Sequence[Floats]) -> Floats:
    """Stack numbers, every bit of them; shorter rows are filled up with NaN."""
    width = max((row.size for row in rows), default=0)
    table = np.full((len(rows), max(width, 1)), np.nan)
    for index, row in enumerate(rows):
        table[index, : row.size] = row
    return table


def within_reach(table: Floats) -> Floats:
    """Return the numbers with infinite ones replaced by the farthest finite ones."""
    return np.asarray(np.clip(table, -FARTHEST, FARTHEST))
