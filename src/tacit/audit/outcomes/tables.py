"""Sparse matrices, data frames and Arrow tables, none of which is imported here."""

from typing import Any

from tacit.audit.outcomes.plain import text
from tacit.audit.outcomes.trace import Looker, Trace, look


def table_looker(kind: type) -> Looker | None:
    """Return what looks into tables of this type, by the library that it comes from."""
    return next((_LIBRARIES[base.__module__.split(".")[0]] for base in kind.__mro__ if _known(base)), None)


def _known(base: type) -> bool:
    return base.__module__.split(".")[0] in _LIBRARIES


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
