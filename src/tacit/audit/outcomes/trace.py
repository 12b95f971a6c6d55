"""What can be seen of an answer: numbers, by the place where they stand, and marks, which are everything else.

A mark is a short text such as `.coef_ shape: (1, 3)`. Numbers keep every bit. What can be turned into neither is
noted as unread, and an audit in which something stayed unread never says "holds".
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, final

import numpy as np

from tacit.numerics.arrays import Floats

_LONGEST = 120
_DEEPEST = 40
_PLAIN = (int, float, complex, str, bytes, list, tuple, set, frozenset, dict, np.ndarray)


class NotPrivate(Exception):
    """The answer says of itself that it carries no guarantee: there is no claim to audit."""


@final
@dataclass(eq=False)
class Trace:
    """The numbers, marks and unread places of one outcome, as far as it was looked at.

    `open` are the things that are being looked into, by their id; `derived` and `hidden` count how many of these are
    what a property gave, or a private attribute.
    """

    numbers: dict[str, Floats] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    unread: dict[str, str] = field(default_factory=dict)
    open: list[int] = field(default_factory=list)
    derived: int = 0
    hidden: int = 0

    def mark(self, path: str, aspect: str, text: str) -> None:
        """Note something that is not a number."""
        self.marks.add(f"{path or 'answer'} {aspect}: {_short(text)}")

    def number(self, path: str, values: Any) -> None:
        """Note numbers in a place, as float64 with every bit that they have."""
        self.numbers[path] = np.asarray(values, dtype=np.float64).ravel()

    def refuse(self, path: str, why: str) -> None:
        """Note that a thing can not be read: private parts of an object aside, nothing holds then."""
        if not self.hidden:
            self.unread[path or "answer"] = why


Looker = Callable[[Any, Trace, str], None]


def look(thing: Any, trace: Trace, path: str = "") -> None:
    """Note all that can be seen of a thing, whatever it is; one that holds itself is looked at once."""
    trace.mark(path, "is", type_name(type(thing)))
    if id(thing) in trace.open:
        trace.mark(path, "is", f"again the thing {len(trace.open) - trace.open.index(id(thing))} steps above")
        return
    if len(trace.open) >= _DEEPEST:
        trace.refuse(path, f"it lies more than {_DEEPEST} steps deep")
        return
    trace.open.append(id(thing))
    try:
        _look_into(thing, trace, path)
        if isinstance(thing, _PLAIN) and getattr(thing, "__dict__", None):
            look(dict(vars(thing)), trace, f"{path}.__dict__")
    except NotPrivate:
        raise
    except Exception as error:
        trace.mark(path, "when looked at raises", type_name(type(error)))
        trace.refuse(path, f"looking into it raised {type(error).__name__}")
    finally:
        trace.open.pop()


@singledispatch
def _look_into(thing: Any, trace: Trace, path: str) -> None:
    raise NotImplementedError  # `objects` looks at whatever nothing else does


def looks_at(*kinds: type) -> Callable[[Looker], Looker]:
    """Make a function the one that notes what is inside things of these types."""

    def registered(looker: Looker) -> Looker:
        for kind in kinds:
            _look_into.register(kind, looker)
        return looker

    return registered


def type_name(kind: type) -> str:
    """Return a type's full name."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(text: str) -> str:
    """Return a text, or its beginning and a digest that no other text shares."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:40]}... {hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"
