"""Operations that can fail, or that engines disagree about, rewritten until they cannot and do not.

Arithmetic is on floats; what has no value (1/0, the root of -1) is null. Each function takes the operation's
arguments and gives the expression to compute instead.
"""

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.operations as ops

from tacit.queries.cells import as_float, number, refuse
from tacit.queries.meanings import EXPONENT, WHOLE

__all__ = ["GUARDS", "cast"]


def cast(value: Any, kind: Any) -> Any:
    """Convert to a float, or a truth value to an integer; other conversions can fail or round."""
    if kind.is_floating():
        return as_float(value)
    if not (value.type().is_boolean() and kind.is_integer()):
        refuse(f"a conversion from {value.type()} to {kind}")
    return value.cast("int32")


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(as_float, values))


def _where(condition: Any, value: Any) -> Any:
    return condition.ifelse(value, ibis.null("float64"))


def _constant(value: Any) -> Any:
    return value.op().value if isinstance(value.op(), ops.Literal) else None


def _power(base: Any, exponent: Any) -> Any:
    power, value = _constant(exponent), as_float(base)
    if isinstance(power, bool) or power not in (2, 3):
        refuse("a power other than 2 and 3")
    return value * value if power == 2 else value * value * value


def _clip(value: Any, lower: Any, upper: Any) -> Any:
    inside = as_float(value)
    bounds = []
    if lower is not None:
        bounds.append((inside < as_float(lower), as_float(lower)))
    if upper is not None:
        bounds.append((inside > as_float(upper), as_float(upper)))
    return ibis.cases(*bounds, else_=inside) if bounds else inside


def _bounded(value: Any, bound: float) -> Any:
    return _clip(value, number(-bound), number(bound))


def _floor(value: Any) -> Any:
    return _bounded(value, WHOLE).floor().cast("float64")


def _ceil(value: Any) -> Any:
    return _bounded(value, WHOLE).ceil().cast("float64")


def _round(value: Any, digits: Any) -> Any:
    if digits is not None and _constant(digits) != 0:
        refuse("rounding to digits")
    return _floor(as_float(value) + number(0.5))


def _logarithm(value: Any, base: Any = None) -> Any:
    if base is not None:
        refuse("a logarithm to another base")
    return _where(as_float(value) > number(0.0), as_float(value)).ln()


def _divide(top: Any, bottom: Any) -> Any:
    return top / bottom.nullif(number(0.0))


def _remainder(value: Any, divisor: Any) -> Any:
    """Return the remainder with the sign of the value; exact for whole numbers, missing beyond 1e15."""
    by = _constant(divisor)
    if isinstance(by, bool) or not isinstance(by, int | float) or not 1 <= by <= WHOLE or by != int(by):
        refuse("a remainder other than by a whole positive constant")
    whole = _where(as_float(value).abs() <= number(WHOLE), as_float(value))
    ratio = whole / number(by)
    below = (ratio < number(0.0)).ifelse(ratio.ceil().cast("float64"), ratio.floor().cast("float64"))
    return whole - number(by) * below


def _sign(value: Any) -> Any:
    value = as_float(value)
    return ibis.cases(
        (value > number(0.0), number(1.0)), (value < number(0.0), number(-1.0)), (value == number(0.0), number(0.0))
    )


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*values: Any) -> Any:
        numbers = list(map(as_float, values))
        # Engines leave nulls out of account; here, as for arrays, one missing value makes the whole missing.
        missing = numbers[0].isnull()
        for value in numbers[1:]:
            missing |= value.isnull()
        return missing.ifelse(ibis.null("float64"), function(*numbers))

    return chosen


def _bracketed(value: Any) -> Any:
    """Return a truth value as a number: `a > b IS NULL` is written down without the brackets that it needs."""
    return as_float(value) if value.type().is_boolean() else value


GUARDS: dict[Any, Callable[..., Any]] = {
    ops.Add: _arithmetic(lambda one, other: one + other),
    ops.Subtract: _arithmetic(lambda one, other: one - other),
    ops.Multiply: _arithmetic(lambda one, other: one * other),
    ops.Divide: _arithmetic(_divide),
    ops.FloorDivide: lambda top, bottom: _floor(_divide(as_float(top), as_float(bottom))),
    ops.Modulus: _remainder,
    ops.Negate: _arithmetic(lambda value: -value),
    ops.Abs: _arithmetic(lambda value: value.abs()),
    ops.Floor: _floor,
    ops.Ceil: _ceil,
    ops.Round: _round,
    ops.Sign: _sign,
    ops.Sqrt: _arithmetic(lambda value: _where(value >= number(0.0), value).sqrt()),
    ops.Log: _logarithm,
    ops.Ln: _logarithm,
    ops.Exp: lambda value: _bounded(value, EXPONENT).exp(),
    ops.Power: _power,
    ops.Clip: _clip,
    ops.Greatest: _extreme(ibis.greatest),
    ops.Least: _extreme(ibis.least),
    # Two XOR in a row are written down wrongly; unequal says the same.
    ops.Xor: _arithmetic(lambda one, other: one != other),
    ops.IsNull: lambda value: _bracketed(value).isnull(),
    ops.NotNull: lambda value: _bracketed(value).notnull(),
    ops.IsNan: lambda value: _bracketed(value).isnull(),
}
