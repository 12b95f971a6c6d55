"""Numbers, text and containers of Python's own."""

import re
from array import array
from collections import deque
from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import ModuleType, NoneType
from typing import Any

import numpy as np

from tacit.audit.outcomes.trace import Trace, look, looks_at, type_name

WHOLE = 2**53
"""Up to here every whole number is a double."""

LOW = 0xFFFFFFFF
"""The low bits of a whole number, which a double may not keep."""

_LONGEST_TEXT = 4096
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@looks_at(NoneType, type(NotImplemented), type(Ellipsis))
def _nothing(thing: Any, trace: Trace, path: str) -> None:
    """Say nothing more: the type is all there is."""


@looks_at(int)
def _whole(thing: Any, trace: Trace, path: str) -> None:
    trace.number(path, _nearest(thing))
    if abs(thing) > WHOLE:
        trace.number(f"{path}~low", [float(int(thing) & LOW), float(int(thing).bit_length())])
        trace.mark(path, "is exactly", hex(thing))


def _nearest(thing: int) -> float:
    try:
        return float(thing)
    except OverflowError:
        return float("inf") if thing > 0 else float("-inf")


@looks_at(float, complex)
def _real(thing: Any, trace: Trace, path: str) -> None:
    trace.number(path, [thing.real, thing.imag] if isinstance(thing, complex) else float(thing))


@looks_at(Fraction)
def _fraction(thing: Any, trace: Trace, path: str) -> None:
    text(f"{thing.numerator:x}/{thing.denominator:x}", trace, path)
    trace.number(path, thing.numerator / thing.denominator if abs(thing) < WHOLE else _nearest(int(thing)))


@looks_at(bytes, bytearray, memoryview)
def _bytes(thing: Any, trace: Trace, path: str) -> None:
    text(bytes(thing).decode("latin-1"), trace, path)


@looks_at(Decimal, date, time, timedelta, tzinfo, PurePath, range, slice, re.Pattern, np.dtype)
def _printed(thing: Any, trace: Trace, path: str) -> None:
    text(repr(thing), trace, path)


@looks_at(Enum, ModuleType)
def _named(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "name", str(getattr(thing, "name", getattr(thing, "__name__", ""))))


@looks_at(str)
def text(thing: str, trace: Trace, path: str) -> None:
    """Note a text: itself, its form with every number left out, its letters and the numbers that it spells."""
    letters = np.frombuffer(str.encode(thing, "utf-8", "surrogatepass"), dtype=np.uint8)
    trace.mark(path, "text", str(thing))
    trace.mark(path, "form", _NUMBER.sub("#", thing))
    trace.mark(path, "length", str(len(thing)))
    trace.number(path, letters[:_LONGEST_TEXT])
    if letters.size > _LONGEST_TEXT:
        trace.refuse(path, f"text of more than {_LONGEST_TEXT:,} bytes can not be attacked")
    if numbers := _NUMBER.findall(thing)[:_LONGEST_TEXT]:
        trace.number(f"{path}~spelled", [float(number) for number in numbers])


@looks_at(list, tuple, deque)
def _sequence(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "length", str(len(thing)))
    kinds = {type(part) for part in thing}
    if kinds == {float}:
        trace.mark(path, "holds", "builtins.float")
        trace.number(path, thing)
        return
    for index, part in enumerate(thing):
        look(part, trace, f"{path}[{index}]")


@looks_at(KeysView, ValuesView, ItemsView, array)
def _listed(thing: Any, trace: Trace, path: str) -> None:
    trace.mark(path, "code", str(getattr(thing, "typecode", "")))
    _sequence(list(thing), trace, path)


@looks_at(set, frozenset)
def _set(thing: Any, trace: Trace, path: str) -> None:
    _sequence(sorted(thing, key=_key), trace, path)


@looks_at(Mapping)
def _mapping(thing: Any, trace: Trace, path: str) -> None:
    keys = [_key(key) for key in thing]
    trace.mark(path, "keys", ", ".join(keys))
    for name, key in zip(keys, thing, strict=True):
        trace.mark(path, "key", name)
        look(key, trace, f"{path}.key({name})")
        look(thing[key], trace, f"{path}[{name}]")


def _key(key: Any) -> str:
    """Return a text for a key or a member: True, 1 and 1.0 are different ones."""
    if isinstance(key, tuple | frozenset):
        return f"{type_name(type(key))}({', '.join(_key(part) for part in key)})"
    plain = isinstance(key, str | bytes | int | float | complex | date | time | Enum | Decimal | Fraction | NoneType)
    return f"{type(key).__name__} {key!r}" if plain else type_name(type(key))
