"""The cells of some rows as queries see them: columns by name, and side by side where they are kept so."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy import sparse

from tacit.numerics.arrays import Integers
from tacit.sums.language import Expression
from tacit.sums.language.evaluate import evaluate


@final
@dataclass(frozen=True)
class Cells:
    """The cleaned cells of some rows: columns by name, and features side by side, dense or sparse, if arrays have them.

    `divisors` has the number of rows of each row's person, None for records.
    """

    columns: Mapping[str, Any]
    rows: int
    divisors: Integers | None = None
    features: tuple[str, ...] = ()
    array: Any = None

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        if name in self.columns:
            return self.columns[name]
        place = self.features.index(name)
        return self.array[:, [place]].toarray()[:, 0] if sparse.issparse(self.array) else self.array[:, place]

    def matrix(self, names: tuple[str, ...]) -> Any:
        """Return columns side by side, None if they are not kept so."""
        if self.array is None or any(name in self.columns for name in names):
            return None
        places = [self.features.index(name) for name in names]
        return self.array if places == list(range(len(self.features))) else self.array[:, places]

    def chosen(self, rows: Any) -> "Cells":
        """Return the cells of some of the rows."""
        kept = self.array.tocsr() if sparse.issparse(self.array) else self.array
        return Cells(
            {name: cells[rows] for name, cells in self.columns.items()},
            len(range(self.rows)[rows]) if isinstance(rows, slice) else int(np.count_nonzero(rows)),
            None if self.divisors is None else self.divisors[rows],
            self.features,
            None if kept is None else kept[rows],
        )

    def exchanged(self, label: str, exchange: Expression, *, is_level: bool) -> "Cells":
        """Return the same cells with the two labels of a column exchanged."""
        (marks,) = evaluate([exchange], lambda _: self.column(label))
        return replace(self, columns={**self.columns, label: marks.astype(np.intp) if is_level else marks})
