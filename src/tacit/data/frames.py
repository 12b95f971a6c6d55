"""Tables of any make, read by column.

A table is a data frame (pandas, polars, pyarrow and whatever else narwhals knows), a mapping from names to
columns, a list of records as mappings, or rows without names in the schema's order. The names and the number
of records are public; messages here speak of nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter

__all__ = ["read_columns"]


def read_columns(table: object, wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Return the wanted columns of a table, each as an array with one cell per record.

    `order` says which columns the rows of a table without names hold. Columns that are not wanted may be
    there; a wanted one that is not there is an error.
    """
    columns = _by_name(table, wanted, order)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidParameter(f"all columns of a table must be equally long, got lengths {sorted(lengths)!r}.")
    if lengths == {0}:
        raise InvalidParameter("a table needs at least one record, got 0.")
    return columns


def _by_name(table: object, wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Read the wanted columns according to the make of the table."""
    if issparse(table):
        raise InvalidParameter(f"a table must be dense, got a sparse {type(table).__name__}. Make it dense.")
    if isinstance(table, Mapping):
        _refuse_absent(wanted, table)
        return [_cells(table[name]) for name in wanted]
    if isinstance(table, np.ndarray):
        return _from_array(table, wanted, order)
    if isinstance(table, list | tuple):
        return _from_records(table, wanted, order)
    return _from_frame(table, wanted, order)


def _from_array(table: AnyArray, wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Read an array whose columns stand in the declared order."""
    if not order:
        raise InvalidParameter(f"an array has no column names to find {list(wanted)!r} by. Pass a data frame.")
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
    return [_cells(table[:, order.index(name)]) for name in wanted]


def _from_records(table: Sequence[Any], wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Read a list of mappings, or a list of rows in the declared order."""
    if table and all(isinstance(record, Mapping) for record in table):
        _refuse_absent(wanted, [name for name in wanted if all(name in record for record in table)])
        return [_cells([record[name] for record in table]) for name in wanted]
    sized = all(isinstance(row, list | tuple | np.ndarray) for row in table)
    if not sized or {len(row) for row in table} - {len(order)}:
        raise InvalidParameter(
            "a list as a table must hold one mapping per record, or one row per record with the "
            f"{len(order)} columns {list(order)!r} in this order."
        )
    return [_cells([row[order.index(name)] for row in table]) for name in wanted]


def _from_frame(table: object, wanted: Sequence[str], order: Sequence[str]) -> list[AnyArray]:
    """Read a data frame through narwhals, or what converts itself to an array."""
    try:
        import narwhals as nw
    except ImportError:
        raise InvalidParameter(
            f"reading a {type(table).__name__} needs narwhals. Install it with `pip install 'tacit[cli]'`, or "
            "pass a dict of columns."
        ) from None
    try:
        frame = nw.from_native(table, eager_only=True)  # type: ignore[call-overload]
    except nw.exceptions.DuplicateError:
        raise InvalidParameter("a table must not have two columns of the same name. Rename one.") from None
    except TypeError:
        if hasattr(table, "__array__"):
            return _from_array(np.asarray(table), wanted, order)
        raise InvalidParameter(
            "a table must be a data frame in memory (pandas, polars, pyarrow), a dict of columns, a list of "
            f"dicts or a 2-D array, got {type(table).__name__}. Collect lazy frames first."
        ) from None
    _refuse_absent(wanted, frame.columns)
    return [_from_series(frame[name]) for name in wanted]


def _from_series(series: Any) -> AnyArray:
    """Read a column of a data frame; a null becomes a cell that reads as missing."""
    plain = series.dtype.is_float() or series.dtype.is_integer()
    return _cells(series.to_numpy() if plain and series.null_count() == 0 else series.to_list())


def _cells(column: object) -> AnyArray:
    """Return a column as an array of numbers, or else of objects: conversions of mixed types lose meaning."""
    if getattr(column, "ndim", 1) != 1 or not isinstance(column, Iterable) or isinstance(column, str | bytes):
        raise InvalidParameter(f"a column must be a list or a 1-D array, got {type(column).__name__}.")
    if isinstance(column, np.ma.MaskedArray):
        return _cells(column.tolist())
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufU":
        return column
    cells: list[object] = list(column)
    return np.fromiter(cells, dtype=object, count=len(cells))


def _refuse_absent(wanted: Sequence[str], present: Iterable[object]) -> None:
    """Refuse a table without all the wanted columns."""
    have = set(present)
    if absent := [name for name in wanted if name not in have]:
        raise InvalidParameter(
            f"a table must have the declared columns {list(wanted)!r}, this one lacks {absent!r}. "
            "Rename the table's columns, or declare a schema without those."
        )
