"""How large and how small the numbers inside an Ibis expression can become, before any record is seen.

Some engines fail when a float overflows, or underflows to 0. Cells are brought between SMALLEST and LARGEST (or to
0) first; from there this module follows an expression and bounds, for every value inside it, its magnitude and its
quantum: a number of which the value is a whole multiple, up to a rounding that does not undershoot it. An expression
that could leave [1e-290, 1e290] is refused.
"""

import math
from typing import Any, NamedTuple, final

import ibis.expr.operations as ops

from tacit.errors import InvalidParameter
from tacit.queries.meanings import LARGEST, SMALLEST

__all__ = ["check_ranges", "inner_first"]

_ULP = 2.0**-53
_TOP = 1e290


@final
class _Range(NamedTuple):
    largest: float
    quantum: float


def check_ranges(node: Any) -> None:
    """Refuse an expression inside which a float could overflow or underflow."""
    known: dict[Any, _Range] = {}
    for part in inner_first(node):
        if isinstance(part, ops.Value) and (part.dtype.is_numeric() or part.dtype.is_boolean()):
            found = _range(part, [known[arg] for arg in _numbers(part) if arg in known])
            if not (found.largest <= _TOP and found.quantum >= 1 / _TOP):
                raise InvalidParameter(
                    "the query multiplies too many columns into each other: its numbers could leave the range of "
                    "floats. Clip in between, or ask for fewer factors."
                )
            known[part] = found


def inner_first(node: Any) -> list[Any]:
    """List a node and all below it, each once and after what it is made of, however deep they are nested."""
    found: dict[Any, None] = {}
    waiting = [(node, False)]
    while waiting:
        part, ready = waiting.pop()
        if ready:
            found[part] = None
        elif part not in found:
            waiting.append((part, True))
            waiting += [(below, False) for below in part.__children__]
    return list(found)


def _numbers(node: Any) -> list[Any]:
    """List the values among a node's arguments, tuples included."""
    found: list[Any] = []
    for argument in node.args:
        found += argument if isinstance(argument, tuple) else (argument,)
    return found


def _range(node: Any, parts: list[_Range]) -> _Range:
    match node:
        case ops.Literal():
            size = abs(float(node.value)) if node.value is not None else 0.0
            return _Range(size, max(size, SMALLEST) * _ULP)
        case ops.Field():
            return _cells(node.dtype)
        case ops.Add() | ops.Subtract():
            return _Range(sum(part.largest for part in parts), min(part.quantum for part in parts))
        case ops.Multiply():
            return _product(parts)
        case ops.Power():
            return _product([parts[0]] * 3)
        case ops.Divide() | ops.FloorDivide() | ops.Modulus():
            top, bottom = parts
            least = bottom.largest if isinstance(node.right, ops.Literal) and bottom.largest else bottom.quantum
            return _Range(top.largest / least, top.quantum / max(1.0, bottom.largest) * _ULP)
        case ops.Sqrt():
            return _Range(max(1.0, math.sqrt(parts[0].largest)), math.sqrt(parts[0].quantum) * _ULP)
        case ops.Exp():
            return _Range(math.exp(100.0), math.exp(-100.0) * _ULP)
        case ops.Log() | ops.Ln():
            return _Range(1e3, _ULP * _ULP)
        case ops.Floor() | ops.Ceil() | ops.Round():
            return _Range(2e15, 1.0)
        case ops.Sign():
            return _Range(1.0, 1.0)
        case ops.Clip():
            bounds = parts[1:] if node.lower is not None and node.upper is not None else parts
            return _Range(max(part.largest for part in bounds), min(part.quantum for part in parts))
    if node.dtype.is_boolean():
        return _Range(1.0, 1.0)
    if not parts:
        return _cells(node.dtype)
    return _Range(max(part.largest for part in parts), min(part.quantum for part in parts))


def _product(factors: list[_Range]) -> _Range:
    return _Range(
        math.prod(max(1.0, factor.largest) for factor in factors),
        math.prod(factor.quantum for factor in factors) * _ULP ** (len(factors) - 1),
    )


def _cells(kind: Any) -> _Range:
    if kind.is_integer() or kind.is_boolean():
        return _Range(2.0**64, 1.0)
    return _Range(max(LARGEST, 1e38), SMALLEST * _ULP)
