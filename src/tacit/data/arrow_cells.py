"""Columns in Arrow's form, cleaned without a Python object for each cell.

What comes out has the bits that each cell would have by itself. Ordinary cells are converted by Arrow all at once;
cells that Arrow would read by another grammar, or refuse, are left to `tacit.data.values`, each different one once.
"""

from typing import Any

import numpy as np

from tacit.data.columns import Column, Key, Moment, Number, State
from tacit.data.file_form import BLANKS, MOMENT_PATTERN, NUMBER_PATTERN, FileForm
from tacit.data.labels import series_cells
from tacit.data.values import MISSING_MOMENT, AnyArray, numbers, objects
from tacit.numerics.arrays import Codes, Floats, Truths
from tacit.numerics.attempts import attempt

# A comma becomes a point, and a point what no number has.
_WITH_POINTS = np.arange(256, dtype=np.uint8)
_WITH_POINTS[list(b",.")] = list(b".x")
_NOWHERE = objects([None])


def clean_arrow(cells: Any, column: Column, form: FileForm) -> tuple[AnyArray, State] | None:
    """Clean a column of Arrow by a declaration; None for types whose cells must be looked at one by one."""
    import pyarrow as pa

    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    if len(chunks) != 1:
        parts = [clean_arrow(chunk, column, form) for chunk in chunks or [pa.array([], cells.type)]]
        read = [part for part in parts if part is not None]
        if len(read) < len(parts):
            return None
        return np.concatenate([values for values, _ in read]), np.concatenate([states for _, states in read])
    (whole,) = chunks
    kind, types = whole.type, pa.types
    if types.is_floating(kind) and kind.bit_width > 16:
        # A null becomes NaN; without one nothing is copied.
        return column.clean(whole.to_numpy(zero_copy_only=False), form)
    if types.is_timestamp(kind) or types.is_date(kind):
        return column.clean(arrow_moments(whole), form)
    if types.is_integer(kind) and isinstance(column, Number | Key):
        return _clean_whole(whole, column, form)
    if is_text(kind) and isinstance(column, Number):
        return column.clean(numbers_of_texts(whole, form))
    countable = (types.is_dictionary, types.is_integer, types.is_boolean, types.is_decimal, is_text)
    if not any(is_kind(kind) for is_kind in countable):
        return None
    coded, places = _coded(whole)
    different = moments_of_texts(coded, form) if is_text(coded.type) and isinstance(column, Moment) else None
    values, states = column.clean(objects([*series_cells(coded), None]) if different is None else different, form)
    return values.take(places), states.take(places)


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow holds text, with one buffer of bytes and one of their places."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _coded(cells: Any) -> tuple[Any, Codes]:
    """Return the different cells of an array of Arrow, and their places; a null is at the last one, behind them."""
    if hasattr(cells, "dictionary") and len(cells.dictionary) > len(cells):
        # Few of the words of a long dictionary stand in a few rows.
        cells = cells.dictionary_decode()
    coded = cells if hasattr(cells, "dictionary") else cells.dictionary_encode()
    return coded.dictionary, np.asarray(coded.indices.cast("int64").fill_null(-1))


def arrow_moments(cells: Any) -> AnyArray:
    """Return moments of Arrow as numpy has them, by the whole numbers that they are stored as: in UTC, with a zone."""
    import pyarrow as pa

    if pa.types.is_date(cells.type):
        unit = "D" if pa.types.is_date32(cells.type) else "ms"
        cells = cells.cast(pa.int32()) if unit == "D" else cells
    else:
        unit = cells.type.unit
    return np.array(cells.cast(pa.int64()).fill_null(MISSING_MOMENT)).view(f"M8[{unit}]")


def _clean_whole(cells: Any, column: Column, form: FileForm) -> tuple[AnyArray, State]:
    """Clean whole numbers as they are: with a null among them, an array of numpy's would hold floats."""
    values, states = column.clean(np.asarray(cells.fill_null(0)), form)
    if cells.null_count:
        gone = np.asarray(cells.is_null())
        value, state = column.clean(_NOWHERE, form)
        values[gone], states[gone] = value[0], state[0]
    return values, states


def numbers_of_texts(cells: Any, form: FileForm) -> Floats:
    """Return what `FileForm.number` makes of each text of an array of Arrow; NaN for a null.

    Arrow takes the same texts for numbers, but for the names of infinite ones and of none, and rounds to the nearest
    double as Python does.
    """
    import pyarrow.compute as pc

    if form.thousands is None and len(cells):
        spelled, ordinary = _ordinary(cells, form)
        read = attempt(lambda: _numbers(spelled, ordinary), None)
        if read is not None and np.count_nonzero(np.isfinite(read)) == np.count_nonzero(ordinary):
            return read
        # A text is no number, has blanks around it, or is beyond all doubles, perhaps by its name.
        spelled, ordinary = _ordinary(pc.ascii_trim(cells, BLANKS), form)
        ordinary &= _match(spelled, NUMBER_PATTERN)
        read = attempt(lambda: _numbers(spelled, ordinary), None)
        if read is not None:
            return read
    different, places = _coded(cells)
    return np.asarray(numbers(objects([*series_cells(different), None]), form).take(places))


def _ordinary(cells: Any, form: FileForm) -> tuple[Any, Truths]:
    """Return texts with a point for the decimal sign, and which of them are neither empty nor mean a missing cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, places, letters = cells.buffers()
    width = np.dtype(np.int32 if cells.type == pa.string() else np.int64)
    offsets: AnyArray = np.frombuffer(places, width)[cells.offset : cells.offset + len(cells) + 1]
    ordinary = np.diff(offsets) > 0
    if cells.null_count:
        # A null may have letters that nobody sees.
        ordinary &= np.asarray(cells.is_valid())
    if form.missing:
        ordinary &= ~np.asarray(pc.is_in(cells, pa.array(form.missing, cells.type)))
    if form.decimal == "," and letters is not None:
        # Of a slice no more than its own letters.
        written = np.frombuffer(letters, np.uint8)[offsets[0] : offsets[-1]]
        buffers = [None, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(_WITH_POINTS[written])]
        cells = pa.Array.from_buffers(cells.type, len(cells), buffers)
    return cells, ordinary


def _numbers(cells: Any, ordinary: Truths) -> Floats:
    read: Floats = _converted(cells, ordinary, "float64").to_numpy(zero_copy_only=False)
    return read


def moments_of_texts(cells: Any, form: FileForm) -> AnyArray | None:
    """Return what `FileForm.moment` makes of each text of an array of Arrow, and none behind them for a null.

    None where Arrow refuses a text, such as a day that no calendar has, or where formats of dates were declared.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if form.dates or not len(cells):
        return None
    bare = pc.ascii_trim(cells, BLANKS)
    ordinary = _match(bare, MOMENT_PATTERN)
    # The calendar begins with the year 1.
    ordinary &= ~_match(bare, "0000.*")
    if form.missing:
        ordinary &= ~np.asarray(pc.is_in(bare, pa.array(form.missing, bare.type)))
    read = attempt(lambda: arrow_moments(_converted(bare, ordinary, pa.timestamp("us"))), None)
    return None if read is None else np.append(read, np.datetime64("NaT"))


def _match(cells: Any, pattern: str) -> Truths:
    """Return which texts match a pattern from the first letter to the last."""
    import pyarrow.compute as pc

    return np.array(pc.match_substring_regex(cells, rf"\A({pattern})\z").fill_null(False))


def _converted(cells: Any, ordinary: Truths, kind: Any) -> Any:
    """Return some texts as another type, null for the others; it raises where Arrow does not take one of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = cells if ordinary.all() else pc.if_else(pa.array(ordinary), cells, pa.scalar(None, cells.type))
    return chosen.cast(kind)
