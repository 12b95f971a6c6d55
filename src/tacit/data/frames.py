"""Tables in memory of any make, read column by column and cell by cell.

A table is a data frame (pandas, polars, pyarrow and whatever else narwhals knows), a mapping from names to columns, a
list of records as mappings or rows, or an array whose columns stand in a declared order. Names, stored types and the
number of records are public; messages here speak of nothing else. What one record holds never changes how another is
read: a list is not made an array as a whole, and a record without a cell has a missing one. The cells of a column are
read when they are asked for: nobody looks at those of a column that was not declared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from tacit.data.columns import Column, State
from tacit.data.labels import column as cells_of
from tacit.data.labels import has_order, series_cells
from tacit.data.stored import Stored, StoredKind, nearest_name
from tacit.data.values import MISSING_MOMENT, UNREADABLE, AnyArray, objects
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes
from tacit.numerics.attempts import attempt

Repeated = tuple[AnyArray, Codes]
"""Cells, each different one once, and which of them stands at each place."""


@final
@dataclass(frozen=True)
class Unread:
    """A column: what it is stored as, and how its cells are read; `repeated` may read each different one once."""

    stored: Stored
    cells: Callable[[], AnyArray]
    repeated: Callable[[], Repeated | None] = lambda: None

    def cleaned(self, column: Column) -> tuple[AnyArray, State]:
        """Return every cell cleaned by a declaration, and how it fared."""
        found = self.repeated()
        if found is None:
            return column.clean(self.cells())
        different, places = found
        values, states = column.clean(different)
        return values.take(places), states.take(places)


UnreadTable = Mapping[str, Unread]

_UNTYPED = Stored("cells")
_ARRAY_KINDS: Mapping[str, StoredKind] = {
    "b": "truth", "i": "whole", "u": "whole", "f": "real", "U": "text", "T": "text", "M": "moment", "O": "cells",
}  # fmt: skip
_KINDS: Mapping[str, StoredKind] = {
    "Boolean": "truth", "Decimal": "decimal", "Categorical": "cells", "Enum": "cells",
    "Object": "cells", "Unknown": "cells",
}  # fmt: skip
_WIDE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def read_columns(table: object, wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Return the wanted columns of a table, each as an array with one cell per record.

    `order` says which columns the rows of a table without names hold. Columns that are not wanted may be
    there; a wanted one that is not there is an error.
    """
    found = read_table(table, order, wanted)
    columns = [found[name].cells() for name in wanted]
    check_lengths(columns)
    return columns


def clean_columns(table: object, declared: Mapping[str, Column], order: Sequence[str]) -> dict[str, AnyArray]:
    """Return the declared columns of a table, each with one cleaned cell per record; as `read_columns` otherwise."""
    found = read_table(table, order, tuple(declared))
    columns = {name: found[name].cleaned(column)[0] for name, column in declared.items()}
    check_lengths(columns.values())
    return columns


def check_lengths(columns: Iterable[Sized]) -> int:
    """Return how many records columns have; refuse columns that are not equally long, or empty."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidParameter(f"all columns of a table must be equally long, got lengths {sorted(lengths)!r}.")
    if lengths in ({0}, set()):
        raise InvalidParameter("a table needs at least one record, got 0.")
    return lengths.pop()


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
    plain = np.ma.filled(table.astype(object), None) if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
    return {name: Unread(_UNTYPED, partial(_cells, plain[:, order.index(name)])) for name in _names(wanted, order)}


def _from_records(table: Sequence[Any], order: Sequence[str], wanted: Sequence[str] | None) -> UnreadTable:
    """Read a list of records, each by itself: a mapping by its names, a row by the declared order."""
    if not order and wanted is None:
        raise InvalidParameter("a list of records has no stored types. Pass a dict of columns or a data frame.")
    places = {name: order.index(name) if name in order else -1 for name in _names(wanted, order)}
    return {name: Unread(_UNTYPED, partial(_picked, table, name, place)) for name, place in places.items()}


def _picked(table: Sequence[Any], name: str, place: int) -> AnyArray:
    return objects([_cell(record, name, place) for record in table])


def _cell(record: object, name: str, place: int) -> object:
    """Return what a record has under a name or at a place, None where it has nothing."""
    return attempt(lambda: _picked_off(record, name, place), UNREADABLE)


def _picked_off(record: object, name: str, place: int) -> object:
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
        frame = nw.from_native(_unbatched(table), eager_only=True)  # type: ignore[call-overload]
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


def _unbatched(table: object) -> object:
    """Return a batch of Arrow's as a table, which narwhals can read; anything else as it is."""
    if not type(table).__module__.startswith("pyarrow."):
        return table
    import pyarrow as pa

    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _from_series(series: Any) -> Unread:
    """Say how a column of a data frame is stored and read; a null becomes a cell that reads as missing."""
    if getattr(series.to_native(), "dtype", None) == np.dtype(object):
        # narwhals would look at the cells to tell what such a column holds.
        return Unread(_UNTYPED, partial(_listed, series))
    kind = series.dtype
    name = str(kind)
    if kind.is_float():
        plain = name in ("Float32", "Float64")
        return Unread(Stored("real", name), partial(_typed if plain else _listed, series))
    if kind.is_integer():
        return Unread(Stored("whole", name), partial(_whole if name in _WIDE else _listed, series))
    if name == "Date" or name.startswith("Datetime"):
        return Unread(Stored("day" if name == "Date" else "moment", name), partial(_moments, series))
    if name == "String":
        return Unread(Stored("text", name), partial(_texts, series), partial(_repeated_texts, series))
    stored = Stored(_KINDS.get(name.split("(")[0], "other"), name)
    return Unread(stored, partial(_nothing if stored.kind == "other" else _listed, series))


def _typed(series: Any) -> AnyArray:
    return _cells(series.to_numpy())


def _whole(series: Any) -> AnyArray:
    return _listed(series) if series.null_count() else _typed(series)


def _nothing(series: Any) -> AnyArray:
    """Read cells that nothing is made of, some of which no Python object could hold."""
    return objects([None] * len(series))


def _texts(series: Any) -> AnyArray:
    """Read a column of texts, each different one once where that can be."""
    found = _repeated_texts(series)
    return _listed(series) if found is None else np.asarray(found[0][found[1]])


def _repeated_texts(series: Any) -> Repeated | None:
    """Read each different text once, if the column can be had in Arrow's form."""
    return attempt(partial(_coded_texts, series), None)


def _coded_texts(series: Any) -> Repeated:
    column = series.to_arrow()
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    coded = whole.dictionary_encode()
    # A missing one is at the last place.
    return objects([*series_cells(coded.dictionary), None]), np.asarray(coded.indices.fill_null(-1).to_numpy())


def _moments(series: Any) -> AnyArray:
    """Read moments as numpy has them, in UTC where they have a zone: not every one has a Python object."""
    arrow = getattr(getattr(series.to_native(), "dtype", None), "pyarrow_dtype", None)
    if arrow is not None or type(series.to_native()).__module__.startswith("pyarrow."):
        return _arrow_moments(series.to_arrow())
    zoned = getattr(series.dtype, "time_zone", None)
    values = (series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zoned else series).to_numpy()
    return _cells(values) if values.dtype.kind == "M" else objects(list(values))


def _arrow_moments(cells: Any) -> AnyArray:
    """Read Arrow's moments by the whole numbers that they are stored as."""
    import pyarrow as pa

    is_day = pa.types.is_date32(cells.type)
    whole = cells.cast(pa.int32() if is_day else pa.int64()).cast(pa.int64())
    return np.array(whole.fill_null(MISSING_MOMENT).to_numpy()).view(f"M8[{'D' if is_day else cells.type.unit}]")


def _listed(series: Any) -> AnyArray:
    """Read a column as Python objects; a cell that has none, such as a text that is not UTF-8, makes no sense."""
    return objects(series_cells(series.to_native()))


def _column(column: object) -> Unread:
    """Say how a list, an array or a series of one column is stored and read."""
    if getattr(column, "ndim", 1) != 1 or not has_order(column):
        advice = ' Of a pandas frame, df.to_dict("list") gives such columns.' if isinstance(column, Mapping) else ""
        raise InvalidParameter(
            "a column must be a list, a 1-D array or a series, whose cells have a fixed order, got "
            f"{type(column).__name__}.{advice}"
        )
    if isinstance(column, np.ma.MaskedArray):
        return Unread(_UNTYPED, lambda: objects(column.tolist()))
    if isinstance(column, np.ndarray):
        return Unread(Stored(_ARRAY_KINDS.get(column.dtype.kind, "other"), str(column.dtype)), partial(_cells, column))
    if type(column).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals"):
        return _series(column)
    return Unread(_UNTYPED, lambda: _cells(cells_of(column)))


def _series(column: Any) -> Unread:
    import narwhals as nw

    try:
        return _from_series(nw.from_native(column, series_only=True))
    except TypeError:
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
