"""Arrays of numpy (type, shape, layout, mask and every bit of their numbers), data frames and Arrow tables.

No library of tables is imported here.
"""

from typing import Any

import numpy as np

from tacit.audit.outcomes.plain import LOW, WHOLE, text
from tacit.audit.outcomes.trace import Looker, Trace, look, looks_at


@looks_at(np.generic)
def _scalar(thing: Any, trace: Trace, path: str) -> None:
    numbers(np.asarray(thing), trace, path)


@looks_at(np.ndarray)
def _array(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "dtype", str(thing.dtype.descr if thing.dtype.names else thing.dtype.str))
    trace.mark(path, "shape", str(thing.shape))
    trace.mark(path, "layout", "C" if thing.flags.c_contiguous else "F" if thing.flags.f_contiguous else "strided")
    if isinstance(thing, np.ma.MaskedArray):
        look(np.asarray(np.ma.getmaskarray(thing)), trace, f"{path}.mask")
        look(thing.fill_value, trace, f"{path}.fill_value")
        thing = thing.data
    numbers(np.asarray(thing), trace, path)


def numbers(values: np.ndarray[Any, Any], trace: Trace, path: str) -> None:
    """Note the elements of an array, by the kind of its dtype."""
    kind = values.dtype.kind
    if values.dtype.names:
        for name in values.dtype.names:
            look(values[name], trace, f"{path}.{name}")
    elif kind == "O":
        for index, part in enumerate(values.ravel().tolist()):
            look(part, trace, f"{path}[{index}]")
    elif kind in "mM":
        trace.mark(path, "unit", str(values.dtype))
        _wholes(values.view(np.int64) if values.ndim else values.reshape(1).view(np.int64), trace, path)
    elif kind in "iu":
        _wholes(values, trace, path)
    elif kind in "fc":
        _floats(values, trace, path)
    elif kind == "b":
        trace.number(path, values)
    elif kind in "USVT":
        for index, part in enumerate(values.ravel().tolist()):
            text(part if isinstance(part, str) else repr(part), trace, f"{path}[{index}]")
    else:
        trace.refuse(path, f"an array of {values.dtype} can not be looked into")


def _wholes(values: np.ndarray[Any, Any], trace: Trace, path: str) -> None:
    trace.number(path, values)
    if values.dtype.itemsize == 8 and bool(np.any((values > WHOLE) | (values < -WHOLE))):
        trace.number(f"{path}~low", values & values.dtype.type(LOW))


def _floats(values: np.ndarray[Any, Any], trace: Trace, path: str) -> None:
    if values.dtype.kind == "c":
        values = np.stack([values.real.ravel(), values.imag.ravel()], axis=-1)
    trace.number(path, values)
    if values.dtype.itemsize > 8:
        trace.number(f"{path}~low", values.ravel() - trace.numbers[path].astype(values.dtype))


def table_looker(kind: type) -> Looker | None:
    """Return what looks into tables of this type, by the library that it comes from."""
    libraries = (base.__module__.split(".")[0] for base in kind.__mro__)
    return next((_LIBRARIES[library] for library in libraries if library in _LIBRARIES), None)


def _pandas(thing: Any, trace: Trace, path: str) -> None:
    look(dict(getattr(thing, "attrs", {})), trace, f"{path}.attrs")
    if hasattr(thing, "columns") and hasattr(thing, "iloc"):
        look(thing.columns, trace, f"{path}.columns")
        look(thing.index, trace, f"{path}.index")
        for place in range(thing.shape[1]):
            _column(thing.iloc[:, place].array, trace, f"{path}[{place}]")
    elif hasattr(thing, "dtype") and hasattr(thing, "to_numpy"):
        look(getattr(thing, "name", None), trace, f"{path}.name")
        if hasattr(thing, "iloc"):
            look(thing.index, trace, f"{path}.index")
        _column(thing, trace, path)
    else:
        text(repr(thing), trace, path)


def _column(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "dtype", str(thing.dtype))
    trace.mark(path, "length", str(len(thing)))
    if hasattr(thing.dtype, "categories"):
        trace.mark(path, "ordered", str(thing.dtype.ordered))
        look(list(thing.dtype.categories), trace, f"{path}.categories")
    plain = getattr(thing.dtype, "kind", "O") in "biufc" and type(thing.dtype).__module__.startswith("numpy")
    look(thing.to_numpy() if plain else list(thing), trace, path)


def _polars(thing: Any, trace: Trace, path: str) -> None:
    if hasattr(thing, "to_dict") and hasattr(thing, "schema"):
        text(str(thing.schema), trace, f"{path}.schema")
        look(thing.to_dict(as_series=False), trace, path)
    elif hasattr(thing, "to_list"):
        text(f"{thing.name!r} {thing.dtype!r}", trace, f"{path}.schema")
        look(thing.to_list(), trace, path)
    else:
        trace.refuse(path, f"a {type(thing).__name__} of polars holds no values yet")


def _arrow(thing: Any, trace: Trace, path: str) -> None:
    for schema in ("schema", "type"):
        if hasattr(thing, schema):
            text(f"{getattr(thing, schema)}", trace, f"{path}.{schema}")
    for values in ("to_pydict", "to_pylist", "as_py"):
        if hasattr(thing, values):
            look(getattr(thing, values)(), trace, path)
            return
    trace.refuse(path, f"a {type(thing).__name__} of pyarrow can not be looked into")


_LIBRARIES: dict[str, Looker] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
