"""What expressions over arrays mean: the same as in SQL, with nothing that can fail.

Numbers are floats; truth is 1, falsehood 0, and what is missing NaN. A missing cell makes what is computed from it
missing, except where the rest decides (`false & missing` is false). A cell beyond 1e30 counts as 1e30, one nearer
to 0 than 1e-30 as 0, and what has no value (1/0, the root of -1) is missing.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter

__all__ = ["CONDITIONS", "EXPONENT", "LARGEST", "SMALLEST", "WHOLE", "cleaned", "constant", "evaluate", "written"]

LARGEST = 1e30
SMALLEST = 1e-30
WHOLE = 1e15
"""What whole numbers saturate at; remainders of larger numbers are missing."""
EXPONENT = 100.0
"""What the argument of `exp` saturates at."""
_MOST_OPERATIONS = 20_000

Floats = NDArray[np.float64]


class Rows(Protocol):
    """Records to evaluate expressions on."""

    def column(self, name: str) -> Floats:
        """Return the cells of a column."""

    def applied(self, function: Any) -> Floats:
        """Return what an opaque function gives for every record."""


def evaluate(expression: Any, rows: Rows) -> Any:
    """Return the value for every record as floats, NaN where it is missing."""
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for node in _inner_first(expression):
            if node.operation == "column":
                value = cleaned(rows.column(node.operands[0]))
            elif node.operation == "apply":
                value = cleaned(rows.applied(node.operands[0]))
            else:
                operands = [values[id(each)] if _is_node(each) else np.float64(each) for each in node.operands]
                value = np.asarray(_MEANINGS[node.operation](*operands), dtype=np.float64)
            values[id(node)] = value
    return values[id(expression)]


def written(expression: Any) -> str | None:
    """Write an expression down: the same text means the same question; None if it holds an opaque function."""
    numbers: dict[int, int] = {}
    lines: dict[str, int] = {}
    for node in _inner_first(expression):
        if node.operation == "apply":
            return None
        operands = [f"#{numbers[id(each)]}" if _is_node(each) else repr(each) for each in node.operands]
        numbers[id(node)] = lines.setdefault(f"{node.operation}({', '.join(operands)})", len(lines))
    return "; ".join(lines)


def constant(value: Any) -> float:
    """Return a constant that a query may compute with."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST or isinstance(value, str | bytes):
        raise InvalidParameter(
            "a query compares and computes with numbers of at most 1e30, got a constant of type "
            f"{type(value).__name__} that is not."
        )
    return number if abs(number) >= SMALLEST else 0.0


def cleaned(cells: NDArray[Any]) -> Floats:
    """Bring cells into the range that queries compute with; NaN stays."""
    values = np.clip(cells.astype(np.float64), -LARGEST, LARGEST)
    values[np.abs(values) < SMALLEST] = 0.0
    return values


def _is_node(operand: Any) -> bool:
    return hasattr(operand, "operation")


def _inner_first(expression: Any) -> list[Any]:
    """List an expression and all inside it, each once and after what it is made of, however deep they are nested."""
    found: dict[int, Any] = {}
    waiting = [(expression, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            found[id(node)] = node
        elif id(node) not in found:
            waiting.append((node, True))
            waiting += [(each, False) for each in node.operands if _is_node(each)]
        if len(found) > _MOST_OPERATIONS:
            raise InvalidParameter(f"a query may have {_MOST_OPERATIONS} operations, got more. Ask in several queries.")
    return list(found.values())


def _comparison(function: Callable[..., Any]) -> Callable[..., Floats]:
    return lambda one, other: np.where(np.isnan(one) | np.isnan(other), np.nan, function(one, other))


def _and(one: Any, other: Any) -> Floats:
    missing = np.where(np.isnan(one) | np.isnan(other), np.nan, 1.0)
    return np.where((one == 0) | (other == 0), 0.0, missing)


def _not(value: Any) -> Floats:
    return np.where(np.isnan(value), np.nan, value == 0)


def _in(value: Any, *listed: Any) -> Floats:
    return np.where(np.isnan(value) & bool(listed), np.nan, np.isin(value, listed))


def _coalesce(value: Any, *others: Any) -> Any:
    for other in others:
        value = np.where(np.isnan(value), other, value)
    return value


def _divide(top: Any, bottom: Any) -> Floats:
    return np.where(bottom == 0, np.nan, np.divide(top, bottom))


def _floor(value: Any) -> Any:
    return np.floor(np.clip(value, -WHOLE, WHOLE))


def _remainder(value: Any, divisor: Any) -> Floats:
    """Return the remainder with the sign of the value, as SQL has it; exact for whole numbers."""
    rest = value - divisor * np.trunc(_divide(value, divisor))
    return np.asarray(np.where(np.abs(value) <= WHOLE, rest, np.nan))


def _choose(truth: Any, yes: Any, no: Any) -> Floats:
    return np.asarray(np.where(np.isnan(truth) | (truth == 0), no, yes))


_MEANINGS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
    "//": lambda top, bottom: _floor(_divide(top, bottom)),
    "%": _remainder,
    "negate": np.negative,
    "abs": np.abs,
    "square": lambda value: value * value,
    "sqrt": np.sqrt,
    "log": lambda value: np.where(value <= 0, np.nan, np.log(value)),
    "exp": lambda value: np.exp(np.clip(value, -EXPONENT, EXPONENT)),
    "floor": _floor,
    "ceil": lambda value: np.ceil(np.clip(value, -WHOLE, WHOLE)),
    "sign": np.sign,
    "least": np.minimum,
    "greatest": np.maximum,
    "raise": lambda value, lower: np.where(value < lower, lower, value),
    "lower": lambda value, upper: np.where(value > upper, upper, value),
    "clip": lambda value, lower, upper: np.where(value < lower, lower, np.where(value > upper, upper, value)),
    ">": _comparison(np.greater),
    ">=": _comparison(np.greater_equal),
    "<": _comparison(np.less),
    "<=": _comparison(np.less_equal),
    "=": _comparison(np.equal),
    "!=": _comparison(np.not_equal),
    "and": _and,
    "or": lambda one, other: _not(_and(_not(one), _not(other))),
    "xor": _comparison(lambda one, other: (one != 0) != (other != 0)),
    "not": _not,
    "in": _in,
    "null": np.isnan,
    "missing": lambda value: np.full_like(value, np.nan),
    "coalesce": _coalesce,
    "nullif": lambda value, other: np.where(value == other, np.nan, value),
    "choose": _choose,
}
CONDITIONS = frozenset([">", ">=", "<", "<=", "=", "!=", "and", "or", "xor", "not", "in", "null"])
"""The operations whose value is true or false."""
