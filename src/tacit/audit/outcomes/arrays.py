"""Arrays of numpy: their type, shape, layout, mask and every bit of their numbers."""

from typing import Any

import numpy as np

from tacit.audit.outcomes.plain import LOW, WHOLE, text
from tacit.audit.outcomes.trace import Trace, look, looks_at


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
        flat = values.ravel()
        parts = np.stack([flat.real, flat.imag], axis=-1)
        _floats(parts, trace, path)
        return
    trace.number(path, values)
    if values.dtype.itemsize > 8:
        trace.number(f"{path}~low", values.ravel() - trace.numbers[path].astype(values.dtype))
