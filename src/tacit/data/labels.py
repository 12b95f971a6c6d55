"""Labels and levels: which declared class each record has, found out for one record at a time.

A container read as a whole lets one record decide how all others are read: `np.asarray([1, 2, "?"])` holds three
texts, and one float beside 2**53 + 1 rounds it. So every cell is looked up by itself (`places`). It is a text, or a
number compared exactly as Python compares int, float and bool (2**53 + 1 is not float(2**53), True is 1); anything
else (None, NaN, a date, a list, an object of some other kind) is at no class. Nothing here fails or warns because of
a cell.

A table may have rounded all its whole numbers to floats because one of them was missing, before it came here. Classes
that a float64 cannot tell apart are therefore refused (`checked_classes`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tacit.data.values import UNREADABLE, as_float, objects, plain_cell
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes
from tacit.numerics.attempts import attempt

Label = str | bool | int | float | Fraction | Decimal
"""What a cell can be; the last two only in cells, never as a declared class."""

_PLAIN_KINDS = "biufU"
_BLOCK = 2**16
_FEW = 32


def label(cell: object) -> Label | None:
    """Return the text or number that a cell is; None for anything else. A function of this cell alone, and total."""
    kind = type(cell)
    if kind is str or kind is int or kind is bool:
        return cast(Label, cell)
    if issubclass(kind, np.floating) and not issubclass(kind, float):
        return _exact(cast("np.floating[Any]", cell))
    read = plain_cell(cell)
    is_nan = read.is_nan() if isinstance(read, Decimal) else isinstance(read, float) and math.isnan(read)
    return read if isinstance(read, Label) and not is_nan else None


def places(values: object, classes: Sequence[Any] | NDArray[Any]) -> Codes:
    """Return for each record the index of its class, or -1; each depends on that record's cell alone."""
    known: dict[object, int] = {}
    for index, declared in enumerate(_listed(classes)):
        if (name := label(declared)) is not None:
            known.setdefault(name, index)
    cells = column(values)
    plain = cells.dtype.kind in _PLAIN_KINDS
    if plain and len(known) <= _FEW:
        return _compared(cells, known)
    found = np.empty(len(cells), dtype=np.intp)
    for start in range(0, len(cells), _BLOCK):
        part: Iterable[object] = cells[start : start + _BLOCK].tolist()
        keys = part if plain else map(label, part)
        count = min(_BLOCK, len(cells) - start)
        found[start : start + count] = np.fromiter((known.get(key, -1) for key in keys), np.intp, count)
    return found


def _compared(cells: NDArray[Any], known: Mapping[object, int]) -> Codes:
    """Look an array of one number or text type up by comparing all of it with each class that its type can hold."""
    found = np.full(len(cells), -1, dtype=np.intp)
    # A signalling NaN among the cells makes a comparison invalid.
    with np.errstate(all="ignore"):
        for name, index in known.items():
            if (same := _held(cells.dtype, name)) is not None:
                found[cells == same] = index
    return found


def _held(kind: np.dtype[Any], name: Any) -> np.generic | None:
    """Return the one value of an array type that equals a class; None when it has none."""
    if isinstance(name, str) != (kind.kind == "U") or (isinstance(name, str) and name.endswith("\0")):
        # numpy drops null characters at the end of a text, so no cell has one there.
        return None
    if isinstance(name, str):
        return np.str_(name)
    try:
        same: np.generic = kind.type(name)
    except (OverflowError, ValueError):
        return None
    return same if same.item() == name else None


def checked_classes(classes: object, *, least: int = 2) -> NDArray[Any]:
    """Return declared classes, sorted, if they are texts or numbers that nobody can mistake for one another."""
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise InvalidParameter(f"classes must be a list of labels, got {type(classes).__name__}.")
    given = _listed(classes)
    names = [label(name) for name in given]
    if len(names) < least:
        raise InvalidParameter(
            f"classes must list at least {'two' if least == 2 else least} different labels, got {len(names)}."
        )
    texts = all(isinstance(name, str) for name in names)
    if not texts and not all(isinstance(name, int | float) and math.isfinite(as_float(name)) for name in names):
        raise InvalidParameter(
            "classes must be all texts or all finite numbers, got something else or a mixture. Spell them as they "
            "occur among the labels."
        )
    if len(set(names)) < len(names):
        raise InvalidParameter("classes must be different labels, got one of them twice.")
    kept = np.array(sorted(names), dtype=_kept_type(classes, texts))  # type: ignore[type-var]
    if len({name if texts else float(name) for name in kept.tolist()}) < len(names):
        raise InvalidParameter(
            "two of the classes are the same number in double precision, so that a table with floats could not tell "
            "them apart. Declare texts, or smaller numbers."
            if not texts
            else "two of the classes differ only in null characters at their end. Spell them differently."
        )
    return kept


def has_order(values: object) -> bool:
    """Whether something holds cells in an order that none of them decides, as a list or a series does.

    In what order a set gives its members follows from all of them, and a mapping gives no cells but names.
    """
    if isinstance(values, str | bytes | bytearray | memoryview | Set | Mapping):
        return False
    return isinstance(values, Sequence) or (hasattr(values, "__len__") and hasattr(values, "__array__"))


def column(values: object) -> NDArray[Any]:
    """Return a column as an array of its cells, none of which was read in the light of another.

    An array of numbers, truth values or texts stays what it is; everything else becomes an array of objects.
    """
    if hasattr(values, "to_native"):
        values = values.to_native()  # a series of narwhals is one of the library that it stands for
    if len(getattr(values, "shape", (0,))) != 1:
        # Before it becomes an array: one cell of a table would decide how all others are read.
        raise InvalidParameter("labels must be one column, got a table or an array of other dimensions.")
    if isinstance(values, np.ma.MaskedArray):
        return _masked(values)
    if isinstance(getattr(values, "dtype", None), np.dtype) or (
        hasattr(values, "__array__") and not hasattr(values, "__iter__")
    ):
        array: NDArray[Any] = np.asarray(values)
        if array.ndim != 1:
            raise InvalidParameter(f"labels must be one column, got {array.ndim} dimensions.")
        plain = array.dtype.kind in "biUO" or (array.dtype.kind in "uf" and array.dtype.itemsize <= 8)
        return array if plain else objects(list(array))
    if getattr(values, "ndim", 1) != 1 or not has_order(values):
        raise InvalidParameter(
            f"a column must be a list, a 1-D array or a series, whose cells have a fixed order, got "
            f"{type(values).__name__}."
        )
    if isinstance(values, list | tuple):
        return objects(values)
    holder = getattr(values, "array", values)
    if hasattr(holder, "categories") and hasattr(holder, "codes"):
        # With a missing value among them, whole numbers would come out of pandas as floats.
        levels = [*column(holder.categories).tolist(), None]
        return objects([levels[code] for code in np.asarray(holder.codes).tolist()])
    return objects(series_cells(holder))


def _listed(classes: Iterable[Any]) -> list[Any]:
    """Return declared classes as a list; a set has no order, which sorting gives them."""
    return list(classes) if isinstance(classes, Set) else column(classes).tolist()


def _kept_type(classes: object, texts: bool) -> Any:
    """Keep the number type of an array, and texts as objects where they came so."""
    given = getattr(classes, "dtype", None)
    if not isinstance(given, np.dtype) or given.kind not in "biufO":
        return None
    return object if given.kind == "O" and texts else (None if given.kind == "O" else given)


def _exact(number: "np.floating[Any]") -> Label | None:
    """Return the Python number that equals a numpy one, by numpy's own methods; a long double may need a fraction."""
    plain: Any = np.generic.item(number)
    if isinstance(plain, np.floating):
        try:
            return Fraction(*plain.as_integer_ratio())
        except (OverflowError, ValueError):
            plain = float(plain)
    return None if plain != plain else cast(Label, plain)


def _masked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return the cells of a masked array, with None for those that are masked."""
    cells = column(np.ma.getdata(values)).astype(object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def series_cells(values: Any) -> list[object]:
    """Return the cells of a series of pandas, polars or Arrow; in the place of one that cannot be read `UNREADABLE`."""
    kind: Any = getattr(values, "dtype", None)
    if hasattr(kind, "is_temporal"):
        # polars dies aloud, beyond any handler, of a cell that it has no Python object for.
        if kind.is_temporal() or kind.is_nested():
            return _moments_of_polars(values) if str(kind).startswith("Date") else [UNREADABLE] * len(values)
        if str(kind).split("(")[0] in ("String", "Categorical", "Enum"):
            return _texts_of_polars(values)
    ways = (getattr(values, name, None) for name in ("to_pylist", "to_list", "tolist", "__iter__"))
    whole = next(way for way in ways if way is not None)
    # A date out of Python's range, an undecodable text: the other cells are read none the less.
    cells = attempt(lambda: list(whole()), None)
    return list(_one_by_one(values)) if cells is None else cells


def _moments_of_polars(series: Any) -> list[object]:
    """Return dates and times as numpy has them, in UTC where they have a zone; none of them is a label."""
    zoned = getattr(series.dtype, "time_zone", None)
    return list((series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zoned else series).to_numpy())


def _texts_of_polars(series: Any) -> list[object]:
    """Return texts by their bytes, each decoded by itself."""
    import polars as pl

    found = series.cast(pl.String).cast(pl.Binary).to_list()
    return [None if cell is None else attempt(cell.decode, UNREADABLE) for cell in found]


def _one_by_one(values: Any) -> Iterator[object]:
    """Yield the cells of a series, `UNREADABLE` for one that cannot be read: None would be a missing id."""
    for index in range(len(values)):
        yield attempt(partial(_cell, values, index), UNREADABLE)


def _cell(values: Any, index: int) -> object:
    cell = values[index]
    return cell.as_py() if hasattr(cell, "as_py") else cell
