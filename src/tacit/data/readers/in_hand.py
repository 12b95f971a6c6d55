"""Records in hand: arrays, frames, lists and dicts of this process, read as one batch."""

from collections.abc import Mapping
from typing import Any

from tacit.data.frames import UnreadTable, is_array, read_table
from tacit.data.persons import warn_of_ids
from tacit.data.readers.source import Source
from tacit.data.schema import Schema
from tacit.data.stored import Stored
from tacit.errors import InvalidParameter


def open_in_hand(source: Any, schema: Schema, unit: str | None) -> Source:
    """Return the source of arrays `(X, y)` or of a table; ids of persons are looked at for two spellings of one."""
    table = _in_hand(source, schema)

    def read(names: Any) -> Any:
        yield table
        if unit is not None:
            warn_of_ids(table[unit].cells())

    return Source({name: column.stored for name, column in table.items()}, True, read)


def stored_in_hand(source: Any) -> Mapping[str, Stored]:
    """Return the names and stored types of what is in hand; the columns of an array are called x0, x1, ..."""
    if isinstance(source, tuple) and len(source) == 2:
        return {**stored_in_hand(source[0]), "y": Stored("cells")}
    shape = None if hasattr(type(source), "columns") else getattr(source, "shape", None)
    if shape is None:
        return {name: column.stored for name, column in read_table(source, ()).items()}
    if len(shape) != 2:
        raise InvalidParameter(f"an array must be 2-D, got the shape {tuple(shape)!r}. Reshape your data.")
    return {f"x{place}": Stored("cells") for place in range(shape[1])}


def _in_hand(source: Any, schema: Schema) -> UnreadTable:
    """Say how arrays or a table are read; which records of a list are mappings, and which rows, is their own affair."""
    if isinstance(source, tuple) and len(source) == 2:
        X, y = source
        if schema.target is None:
            raise InvalidParameter("(X, y) needs a schema that says which column y is: Schema(columns, target=...).")
        return {**read_table(X, schema.inputs), **read_table({schema.target: y}, ())}
    if schema.target is not None and is_array(source):
        raise InvalidParameter("an array holds no target, which the schema names: give (X, y), or a dict of columns.")
    return read_table(source, tuple(schema.columns) if isinstance(source, list | tuple) else schema.inputs)
