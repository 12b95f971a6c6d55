"""What persons contribute to sums: the mean over their rows, rounded towards 0 to whole steps."""

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from scipy import sparse

from tacit.data.persons import Persons
from tacit.numerics.arrays import Codes


@final
class Means:
    """Persons whose rows lie beside each other, in the order `rows`.

    Guarantee: what a person contributes is a function of that person's rows alone, whatever their order.
    Assumes: contributions of rows are whole steps, at most 2^53 of them; a person has less than 2^31 rows.
    Reference: queries/oracle/oracle.md, "Persons".
    """

    def __init__(self, persons: Persons) -> None:
        self.rows = np.argsort(persons.owners, kind="stable")
        self._owners, self._counts = persons.owners[self.rows], persons.rows
        self._ends = np.cumsum(self._counts)

    def blocks(self, most: int) -> Iterator[slice]:
        """Cut the rows into blocks of whole persons: of so many rows, or of a single person who has more."""
        start = 0
        while start < len(self.rows):
            last = np.searchsorted(self._ends, start + most, "right") - 1
            end = int(self._ends[max(last, np.searchsorted(self._ends, start, "right"))])
            yield slice(start, end)
            start = end

    def of(self, block: slice, places: Codes, contributed: Any, step: float) -> tuple[Codes, Any]:
        """Return what persons contribute at each place at which a row of theirs is, and these places.

        `contributed` has a line for each row of the block, dense, or sparse and then without negative numbers.
        """
        top = int(places.max()) + 1
        cells, cell = np.unique(self._owners[block] * top + places, return_inverse=True)
        mine, all_rows = self._counts[self._owners[block]], self._counts[cells // top]
        member = sparse.csr_array(
            (np.ones(len(cell), dtype=np.int64), (cell, np.arange(len(cell)))), shape=(len(cells), len(cell))
        )
        # Quotients and rests by themselves: a person's steps together may be more than 64 bits hold.
        total = member @ _each(contributed, mine, lambda found, rows: (found / step).astype(np.int64) // rows)
        rest = member @ _each(contributed, mine, lambda found, rows: (found / step).astype(np.int64) % rows)
        total = total + _each(rest, all_rows, np.floor_divide)
        if not sparse.issparse(total):
            total += (total < 0) & (rest % all_rows[:, None] > 0)
        return cells % top, total.astype(np.float64) * step


def _each(table: Any, numbers: Any, function: Any) -> Any:
    """Return a table, dense or sparse, in which a function was applied to each cell and its line's number."""
    if not sparse.issparse(table):
        return function(table, numbers[:, None])
    lines = table.tocsr()
    return sparse.csr_array(
        (function(lines.data, np.repeat(numbers, np.diff(lines.indptr))), lines.indices, lines.indptr), lines.shape
    )
