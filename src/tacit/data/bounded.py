"""Rows that state their own bound.

An encoder knows the norm that its rows cannot exceed, and an estimator behind it needs that number. In a
scikit-learn pipeline nothing but the array passes between the two, so the array carries it.

What is carried is a public number that depends on no record. It is not what makes an estimator private: the
estimator clips every row to the norm it works with, wherever that number came from. A wrong statement would
cost accuracy, never privacy. Still it should not go stale: the rows cannot be written to, only a selection
of whole rows keeps the statement, and every other operation (arithmetic, joining, choosing columns, a data
frame as the container) loses it, whereupon the estimator asks for `data_norm`.
"""

from typing import Any, Self, final

import numpy as np

from tacit.data.store.lazy_rows import StreamedRows
from tacit.numerics.arrays import Floats


@final
class BoundedRows(np.ndarray[tuple[int, int], np.dtype[np.float64]]):
    """A read-only matrix whose rows have an L2 norm of at most `data_norm`, when that is not None.

    `filled`, when not None, says that no row has more numbers other than 0 than this: the sum of their sizes is then
    at most the root of that times `data_norm`, which pure noise can be made for.
    `has_constant` says that the last column is the constant of a linear model, scaled with its row: an
    estimator needs no intercept besides.
    """

    data_norm: float | None
    has_constant: bool
    filled: int | None

    def __new__(cls, rows: Floats, *, data_norm: float, has_constant: bool = False, filled: int | None = None) -> Self:
        """State a bound on rows that were made to respect it; the array is taken over, not copied."""
        bounded = rows.view(cls)
        bounded._state(data_norm, has_constant, filled)
        return bounded

    def _state(self, data_norm: float | None, has_constant: bool, filled: int | None) -> None:
        """Make the statement and seal the rows."""
        self.data_norm, self.has_constant, self.filled = data_norm, has_constant, filled
        self.flags.writeable = False

    def __array_finalize__(self, source: object) -> None:
        self.data_norm, self.has_constant, self.filled = None, False, None

    def __getitem__(self, key: Any) -> Any:
        chosen = super().__getitem__(key)
        # scikit-learn selects rows by X[rows, ...].
        key = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
        if not isinstance(key, tuple) and isinstance(chosen, BoundedRows) and chosen.ndim == self.ndim == 2:
            # A single key selects along the first axis: every row of the result is a row of these.
            chosen._state(self.data_norm, self.has_constant, self.filled)
        return chosen

    def __reduce__(self) -> Any:
        parts: Any = super().__reduce__()
        return *parts[:2], (parts[2], self.data_norm, self.has_constant, self.filled)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state[0])
        self._state(*state[1:])


def stated_norm(X: object) -> float | None:
    """Return the norm that rows state for themselves, or None when they state none."""
    return X.data_norm if isinstance(X, BoundedRows | StreamedRows) else None


def stated_filled(X: object) -> int | None:
    """Return how many numbers other than 0 rows say that they have at most, or None when they do not say."""
    return X.filled if isinstance(X, BoundedRows | StreamedRows) else None
