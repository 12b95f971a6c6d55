"""Tables in memory of any make, read column by column and cell by cell.

A table is a data frame (pandas, polars, pyarrow and whatever else narwhals knows), a mapping from names to columns, a
list of records as mappings or rows, or an array whose columns stand in a declared order. Names, stored types and the
number of records are public; messages here speak of nothing else. What one record holds never changes how another is
read: a list is not made an array as a whole, and a record without a cell has a missing one. The cells of a column are
read when they are asked for: nobody looks at those of a column that was not declared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from tacit.data.arrow_cells import clean_arrow
from tacit.data.columns import Column, State
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.labels import column as cells_of
from tacit.data.labels import has_order, series_cells
from tacit.data.stored import Stored, StoredKind, nearest_name
from tacit.data.values import UNREADABLE, AnyArray, objects
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import unmasked
from tacit.numerics.attempts import attempt


@final
@dataclass(frozen=True)
class Unread:
    """A column: what it is stored as, and how its cells are read; `arrow` may give them in Arrow's form instead."""

    stored: Stored
    cells: Callable[[], AnyArray]
    arrow: Callable[[], Any] | None = None

    def cleaned(self, column: Column, form: FileForm = STANDARD) -> tuple[AnyArray, State]:
        """Return every cell cleaned by a declaration, and how it fared."""
        if (arrow := self.arrow) is not None:
            found = attempt(lambda: clean_arrow(arrow(), column, form), None)
            if found is not None:
                return found
        return column.clean(self.cells(), form)


UnreadTable = Mapping[str, Unread]

_UNTYPED = Stored("cells")
_INFERRED = ("Enum", "Categorical", "Decimal")
_ARRAY_KINDS: Mapping[str, StoredKind] = {
    "b": "truth", "i": "whole", "u": "whole", "f": "real", "U": "text", "T": "text", "M": "moment", "O": "cells",
}  # fmt: skip
_KINDS: Mapping[str, StoredKind] = {
    "Boolean": "truth", "Decimal": "decimal", "String": "text", "Date": "day", "Datetime": "moment",
    "Categorical": "cells", "Enum": "cells", "Object": "cells", "Unknown": "cells",
}  # fmt: skip
_CELL_BY_CELL = ("Float16", "Int128", "UInt128", "Object", "Unknown")
"""Types that Arrow has not, or would round."""


def clean_columns(
    table: object, declared: Mapping[str, Column], order: Sequence[str], form: FileForm = STANDARD
) -> dict[str, AnyArray]:
    """Return the declared columns of a table, each with one cleaned cell per record.

    `order` says which columns the rows of a table without names hold. Columns that are not declared may be
    there; a declared one that is not there is an error.
    """
    found = read_table(table, order, tuple(declared))
    columns = {name: found[name].cleaned(column, form)[0] for name, column in declared.items()}
    check_lengths(columns.values())
    return columns


def check_lengths(columns: Iterable[Sized], least: int = 1) -> int:
    """Return how many records columns have; refuse columns that are not equally long, or too short."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidParameter(f"all columns of a table must be equally long, got lengths {sorted(lengths)!r}.")
    length = lengths.pop() if lengths else 0
    if length < least:
        raise InvalidParameter("a table needs at least one record, got 0.")
    return length


def read_table(table: object, order: Sequence[str], wanted: Sequence[str] | None = None) -> UnreadTable:
    """Return all columns, unread, or the wanted ones, which must then be there."""
    if issparse(table):
        raise InvalidParameter(f"a table must be dense, got a sparse {type(table).__name__}. Make it dense.")
    if isinstance(table, Mapping):
        _refuse_absent(wanted, table)
        return {name: _column(table[name]) for name in _names(wanted, table)}
    if isinstance(table, np.ndarray):
        return _from_array(table, order, wanted)
    if isinstance(table, list | tuple):
        return _from_records(table, order, wanted)
    return _from_frame(table, order, wanted)


def _names(wanted: Sequence[str] | None, present: Iterable[Any]) -> list[str]:
    return list(wanted) if wanted is not None else [name for name in present if isinstance(name, str)]


def _from_array(table: AnyArray, order: Sequence[str], wanted: Sequence[str] | None) -> UnreadTable:
    """Read an array whose columns stand in the declared order; its one type says nothing about any of them."""
    if not order:
        raise InvalidParameter("an array has no column names to find columns by. Pass a data frame.")
    if table.ndim != 2:
        raise InvalidParameter(f"an array must be 2-D, got the shape {table.shape!r}. Reshape your data.")
    if table.shape[1] != len(order):
        # scikit-learn's wording, which its checks look for.
        raise InvalidParameter(
            f"X has {table.shape[1]} features, but Schema is expecting {len(order)} features as input: "
            f"{list(order)!r}, in this order. Rearrange the columns, or pass a data frame with names."
        )
    if table.dtype.kind == "c":
        raise InvalidParameter("Complex data not supported. Pass real numbers.")
    plain = np.asarray(unmasked(table, None))
    return {name: Unread(_UNTYPED, partial(_cells, plain[:, order.index(name)])) for name in _names(wanted, order)}


def _from_records(table: Sequence[Any], order: Sequence[str], wanted: Sequence[str] | None) -> UnreadTable:
    """Read a list of records, each by itself: a mapping by its names, a row by the declared order."""
    if not order and wanted is None:
        raise InvalidParameter("a list of records has no stored types. Pass a dict of columns or a data frame.")
    places = {name: order.index(name) if name in order else -1 for name in _names(wanted, order)}
    return {name: Unread(_UNTYPED, partial(_picked, table, name, place)) for name, place in places.items()}


def _picked(table: Sequence[Any], name: str, place: int) -> AnyArray:
    """Return what each record has under a name or at a place, None where it has nothing."""
    return objects([attempt(partial(_cell, record, name, place), UNREADABLE) for record in table])


def _cell(record: object, name: str, place: int) -> object:
    if isinstance(record, Mapping):
        return record.get(name)
    if isinstance(record, list | tuple | np.ndarray) and 0 <= place < len(record):
        cell: object = record[place]
        return cell
    return None


def _from_frame(table: object, order: Sequence[str], wanted: Sequence[str] | None) -> UnreadTable:
    """Read a data frame through narwhals, or an array of another make.

    Nothing else is made an array: each column of a table has a type of its own, and one cell would decide how all of
    them are read. What runs only when it is read, as a query does, may fail because of a record.
    """
    try:
        import narwhals as nw
    except ImportError:
        raise InvalidParameter(
            f"reading a {type(table).__name__} needs narwhals. Install it with `pip install narwhals`, or "
            "pass a dict of columns."
        ) from None
    try:
        frame: Any = nw.from_native(_unbatched(table), eager_only=True)
    except nw.exceptions.DuplicateError:
        raise InvalidParameter("a table must not have two columns of the same name. Rename one.") from None
    except TypeError:
        plain = attempt(lambda: np.asarray(table), None) if is_array(table) else None
        if plain is not None:
            return _from_array(plain, order, wanted)
        raise InvalidParameter(
            "a table must be a data frame in memory (pandas, polars, pyarrow), a dict of columns, a list of "
            f"dicts or a 2-D array, got {type(table).__name__}. Collect lazy frames, and queries of DuckDB, first."
        ) from None
    _refuse_absent(wanted, frame.columns)
    return {name: _from_series(frame[name]) for name in _names(wanted, frame.columns)}


def is_array(table: object) -> bool:
    """Whether something says that all its cells are of one type and stand in rows and columns."""
    typed = hasattr(type(table), "dtype") and hasattr(table, "__array__")
    return typed and len(getattr(table, "shape", ())) == 2


def _from_series(series: Any) -> Unread:
    """Say how a column of a data frame is stored and read; a null becomes a cell that reads as missing."""
    native = series.to_native()
    dtype = getattr(native, "dtype", None)

    def listed() -> AnyArray:
        return objects(series_cells(native))

    if dtype == np.dtype(object):
        # narwhals would look at the cells to tell what such a column holds.
        return Unread(_UNTYPED, listed)
    kind, name = series.dtype, str(series.dtype)
    otherwise: StoredKind = "real" if kind.is_float() else "whole" if kind.is_integer() else "other"
    bare = name.split("(")[0]
    # Levels of a categorical and digits of a decimal may have been inferred from cells: no facts of a catalogue.
    stored = Stored(_KINDS.get(bare, otherwise), bare if bare in _INFERRED else name)
    if stored.kind == "other":
        # Nothing is made of such cells, some of which no Python object could hold.
        return Unread(stored, lambda: objects([None] * len(series)))
    if isinstance(dtype, np.dtype):
        return Unread(stored, lambda: _cells(series.to_numpy()))
    # A category of pandas may be of any kind.
    by_cell = name in _CELL_BY_CELL or hasattr(dtype, "categories")
    return Unread(stored, listed, None if by_cell else series.to_arrow)


def _unbatched(table: object) -> object:
    """Return a batch of Arrow's as a table, which narwhals can read; anything else as it is."""
    if not type(table).__module__.startswith("pyarrow."):
        return table
    import pyarrow as pa

    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _column(column: object) -> Unread:
    """Say how a list, an array or a series of one column is stored and read."""
    if isinstance(column, Unread):
        return column
    if getattr(column, "ndim", 1) != 1 or not has_order(column):
        advice = ' Of a pandas frame, df.to_dict("list") gives such columns.' if isinstance(column, Mapping) else ""
        raise InvalidParameter(
            "a column must be a list, a 1-D array or a series, whose cells have a fixed order, got "
            f"{type(column).__name__}.{advice}"
        )
    if isinstance(column, np.ma.MaskedArray):
        return Unread(_UNTYPED, lambda: objects(column.tolist()))
    if isinstance(column, np.ndarray):
        # How many letters an array of texts has room for follows from its longest one.
        name = "str" if column.dtype.kind in "SUT" else str(column.dtype)
        return Unread(Stored(_ARRAY_KINDS.get(column.dtype.kind, "other"), name), partial(_cells, column))
    if type(column).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals"):
        import narwhals as nw

        with suppress(TypeError):
            return _from_series(nw.from_native(column, series_only=True))
    return Unread(_UNTYPED, lambda: _cells(cells_of(column)))


def _cells(column: AnyArray) -> AnyArray:
    """Return a copy of a column: as numbers or moments if it is typed so, else as objects."""
    if column.dtype.kind in "biufM" and column.dtype.itemsize <= 8:
        return np.array(column, copy=True, subok=False)
    return objects(list(column.tolist() if column.dtype.kind in "UT" else column))


def _refuse_absent(wanted: Sequence[str] | None, present: Iterable[object]) -> None:
    """Refuse a table without all the wanted columns."""
    have = {name: None for name in present if isinstance(name, str)}
    if absent := [name for name in wanted or () if name not in have]:
        near = nearest_name(absent[0], have)
        raise InvalidParameter(
            f"a table must have the declared columns {list(wanted or ())!r}, this one lacks {absent!r}"
            + (f"; is {absent[0]!r} the one it calls {near!r}? " if near else ". ")
            + "Rename the table's columns, or declare a schema without those."
        )
