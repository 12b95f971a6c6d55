"""Anything else: objects by their attributes, functions by their code and what they hold, exceptions by their text.

Of an object all attributes count, and every public property. Names with a leading underscore are looked at too, since
a saved object carries them, but what can not be read there (a lock, a cache) is not held against it. What a property
gives is looked at without its own properties, or `matrix.T.T.T` would never end.
"""

import struct
import sys
from collections.abc import Iterator
from functools import cached_property, partial
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, SimpleNamespace, TracebackType
from typing import Any

import numpy as np

from tacit.audit.outcomes.plain import text
from tacit.audit.outcomes.tables import table_looker
from tacit.audit.outcomes.trace import NotPrivate, Trace, look, looks_at, type_name
from tacit.releases import Release

__all__: list[str] = []


@looks_at(object)
def _object(thing: Any, trace: Trace, path: str) -> None:
    looker = table_looker(type(thing))
    if looker is not None:
        looker(thing, trace, path)
    elif _written_in_python(thing):
        _attributes(thing, trace, path)
    elif hasattr(type(thing), "__array__"):
        look(np.asarray(thing), trace, f"{path}.array")
    else:
        trace.refuse(path, f"a {type_name(type(thing))} can not be looked into")


@looks_at(Release)
def _release(thing: Any, trace: Trace, path: str) -> None:
    if not thing.private:
        raise NotPrivate(f"there is no claim to audit: {thing.guarantee}. Leave random_state out.")
    _attributes(thing, trace, path)


@looks_at(SimpleNamespace)
def _attributes(thing: Any, trace: Trace, path: str) -> None:
    for name, derived in dict(_names(thing, properties=not trace.derived)).items():
        hidden = name.startswith("_")
        trace.derived, trace.hidden = trace.derived + derived, trace.hidden + hidden
        try:
            look(getattr(thing, name), trace, f"{path}.{name}")
        except NotPrivate:
            raise
        except Exception as error:
            trace.mark(f"{path}.{name}", "raises", type_name(type(error)))
            text(str(error), trace, f"{path}.{name}")
        finally:
            trace.derived, trace.hidden = trace.derived - derived, trace.hidden - hidden
    trace.mark(path, "attributes", ", ".join(getattr(thing, "__dict__", {})))


def _names(thing: Any, properties: bool) -> Iterator[tuple[str, bool]]:
    """Yield the names of attributes, and whether each is worked out by a property."""
    for kind in reversed(type(thing).__mro__):
        known = _importable(kind)
        for name, member in vars(kind).items():
            if name.startswith("__"):
                continue
            if isinstance(member, MemberDescriptorType):
                if hasattr(thing, name):
                    yield name, False
            elif isinstance(member, property | cached_property):
                if properties and not name.startswith("_"):
                    yield name, True
            elif not known and not callable(member) and not hasattr(type(member), "__get__"):
                yield name, False
    yield from ((str(name), False) for name in getattr(thing, "__dict__", {}))


def _written_in_python(thing: Any) -> bool:
    """Whether an object keeps all it knows in attributes: one of compiled code may have memory of its own."""
    kind = type(thing)
    bases = [base for base in kind.__mro__ if base is not object]
    slots = sum(isinstance(member, MemberDescriptorType) for base in bases for member in vars(base).values())
    # Besides its slots an object of Python has at most a dictionary and a list of weak references.
    no_memory = kind.__basicsize__ <= object.__basicsize__ + _WORD * (slots + 2)
    inside = hasattr(thing, "__dict__") or all("__slots__" in vars(base) for base in bases)
    return inside and no_memory and all("__module__" in vars(base) for base in bases)


_WORD = struct.calcsize("P")


def _importable(kind: Any) -> bool:
    """Whether a class or function is found under its name, so that the name says all about it."""
    found: Any = sys.modules.get(getattr(kind, "__module__", None) or "")
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind


@looks_at(type)
def _class(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "name", type_name(thing))
    if not _importable(thing):
        for name, member in vars(thing).items():
            if not name.startswith("__") and not isinstance(member, property | MemberDescriptorType):
                look(member, trace, f"{path}.{name}")


@looks_at(FunctionType)
def _function(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "name", type_name(thing))
    if _importable(thing):
        return
    code = thing.__code__
    text(f"{code.co_code.hex()[:2000]} {code.co_names}", trace, f"{path}.code")
    look([constant for constant in code.co_consts if not hasattr(constant, "co_code")], trace, f"{path}.constants")
    look([cell.cell_contents for cell in thing.__closure__ or ()], trace, f"{path}.closure")
    look([thing.__defaults__, thing.__kwdefaults__, vars(thing)], trace, f"{path}.defaults")


@looks_at(MethodType, BuiltinFunctionType, np.ufunc)
def _method(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "name", str(thing.__name__))
    owner = getattr(thing, "__self__", None)
    if owner is not None and not isinstance(owner, type(sys)):
        look(owner, trace, f"{path}.self")


@looks_at(partial)
def _partial(thing: Any, trace: Trace, path: str) -> None:
    look([thing.func, thing.args, thing.keywords], trace, path)


@looks_at(BaseException)
def _exception(thing: Any, trace: Trace, path: str) -> None:
    text(str(thing), trace, path)
    look(list(thing.args), trace, f"{path}.args")
    look(dict(vars(thing)), trace, f"{path}.attributes")
    trace.mark(path, "at", " < ".join(_places(thing.__traceback__)))
    for link in ("__cause__", "__context__"):
        if getattr(thing, link) is not None:
            look(getattr(thing, link), trace, f"{path}.{link}")


def _places(traceback: TracebackType | None) -> Iterator[str]:
    while traceback is not None:
        yield f"{traceback.tb_frame.f_code.co_qualname}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
