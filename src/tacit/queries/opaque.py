"""Python functions of the record, over arrays: vectorised, and opaque to everything here.

The value of a record is what the function gives for it in a block of 1024 rows. If a block fails, records are
replaced by made-up rows, half of them at a time, until it is known which: such a record's value is missing, as is one
that is NaN. Blocks always have 1024 rows and a record always has its place in them, because a product of matrices
may differ in its last bit with its height; so how one record fares does not touch the value of another.

What is assumed: the function computes each row's value from that row alone, and keeps no state. Before any record is
touched it is tried on 64 made-up rows: together, one by one, in another order and once more. A contradiction is
refused; but a trial is no proof, so give functions that you trust with the records, such as `predict` of a model.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from tacit.errors import InvalidParameter
from tacit.noise import public_stream

__all__ = ["HEIGHT", "Opaque"]

HEIGHT = 1024
_TRIED = 64

Floats = NDArray[np.float64]
Function = Callable[[Any, Any], Any]


@final
@dataclass(frozen=True)
class Opaque:
    """A function that passed its trial, and a made-up row that it has a value for."""

    function: Function
    row: Any
    label: Floats | None

    @classmethod
    def tried(cls, function: Function, width: int, labels: tuple[float, ...] | None, *, dense: bool) -> "Opaque":
        """Try a function out on made-up rows of some width, with labels if there are any, or refuse it."""
        if not callable(function):
            raise InvalidParameter(f"apply needs a function of X and y, got {type(function).__name__}.")
        rows, marks = _made_up(width, labels, dense=dense)
        opaque = cls._with_a_row(function, rows, marks)
        together = opaque.values(rows, marks)
        order = np.argsort(public_stream(1, _TRIED))
        elsewhere = opaque.values(rows[order], None if marks is None else marks[order])
        single = np.array([opaque.values(rows[[i]], None if marks is None else marks[[i]])[0] for i in range(_TRIED)])
        for other in (opaque.values(rows, marks), single, elsewhere[np.argsort(order)]):
            if not np.allclose(together, other, rtol=1e-6, atol=1e-9, equal_nan=True):
                raise InvalidParameter(
                    "the function given to apply must compute each row's value from that row alone and keep no state, "
                    "but on made-up rows its values depend on the other rows, or change. No record was touched."
                )
        return opaque

    @classmethod
    def _with_a_row(cls, function: Function, rows: Any, marks: Floats | None) -> "Opaque":
        """Find a made-up row that the function has a value for."""
        failure: Exception | None = None
        for i in range(_TRIED):
            candidate = cls(function, rows[[i]], None if marks is None else marks[[i]])
            try:
                found = candidate._called(
                    rows[np.full(HEIGHT, i)], None if marks is None else np.repeat(marks[i], HEIGHT)
                )
            except Exception as error:
                failure = error
            else:
                if np.isfinite(found).all():
                    return candidate
        raise InvalidParameter(
            "the function given to apply must return one number for every row of X, but on none of 64 made-up rows "
            f"it does{f' ({type(failure).__name__}: {failure})' if failure else ''}. No record was touched."
        ) from failure

    def values(self, rows: Any, labels: Floats | None) -> Floats:
        """Return the value of every row, NaN where it is missing."""
        found = np.full(rows.shape[0], np.nan)
        for start in range(0, rows.shape[0], HEIGHT):
            block = slice(start, start + HEIGHT)
            found[block] = self._block(rows[block], None if labels is None else labels[block])
        return found

    def _block(self, rows: Any, labels: Floats | None) -> Floats:
        size = rows.shape[0]
        stack = sparse.vstack([rows, self.row], format="csr") if sparse.issparse(rows) else np.vstack([rows, self.row])
        marks = None if labels is None or self.label is None else np.append(labels, self.label)
        found = np.full(size, np.nan)
        waiting = [np.arange(size)]
        while waiting:
            kept = waiting.pop()
            places = np.full(HEIGHT, size)
            places[kept] = kept
            try:
                values = self._called(stack[places], None if marks is None else marks[places])
            except Exception:
                # What it says may quote records, and that it failed is all that counts.
                if len(kept) > 1:
                    waiting += [kept[: len(kept) // 2], kept[len(kept) // 2 :]]
            else:
                found[kept] = values[kept]
        return found

    def _called(self, rows: Any, labels: Floats | None) -> Floats:
        """Call the function on a full block, silently."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = np.asarray(self.function(rows, labels))
        if values.shape != (HEIGHT,):
            raise ValueError(f"{HEIGHT} rows gave an array of shape {values.shape}")
        return values.astype(np.float64)


def _made_up(width: int, labels: tuple[float, ...] | None, *, dense: bool) -> tuple[Any, Floats | None]:
    """Return rows of zeros, ones, small whole numbers and normal draws, and labels by turns."""
    coins = public_stream(0, _TRIED * (width + 2)).reshape(_TRIED, width + 2)
    kind, size, cells = coins[:, :1], coins[:, 1:2], coins[:, 2:]
    scales = np.where(size < 1 / 3, 0.1, np.where(size < 2 / 3, 1.0, 10.0))
    normal = scales * ndtri(np.clip(cells, 1e-9, 1 - 1e-9))
    rows = np.where(kind < 0.25, np.floor(3 * cells), np.where(kind < 0.5, scales, normal))
    rows[0], rows[1] = 0.0, 1.0
    marks = None if labels is None else np.resize(np.asarray(labels, dtype=np.float64), _TRIED)
    return (rows if dense else sparse.csr_array(rows)), marks
