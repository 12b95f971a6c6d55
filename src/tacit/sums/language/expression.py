"""Expressions: what may be asked about one record, written down before it meets any.

An expression is a number with a known range, a truth value, or one of a column's declared levels. The operations are
+ - *, comparisons, and, or, not, a choice, membership among declared levels, a clamp and the absolute value. Ranges
follow from the declared bounds: rounding is monotone, so the range of a result is that of the results at the ends.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, final

import numpy as np

from tacit.data.columns import LARGEST, SMALLEST, day_number
from tacit.errors import InvalidParameter

Kind = Literal["number", "truth", "level"]
MOST_OPERATIONS = 20_000
_LEAST_PRODUCT = 1e-290


def refuse(what: str) -> NoReturn:
    """Refuse what is not in the language, and say what is."""
    raise InvalidParameter(
        f"{what} is not possible in a query. There are + - * and division by a constant, abs, clip, between, the "
        "comparisons < <= > >= == !=, & | ~ for and, or, not, condition.ifelse(a, b), isin and == with declared "
        "levels, and .year, .month, .weekday of a Moment."
    )


Operator = Callable[[Any, Any], "Expression"]


def _either_way(build: Operator) -> tuple[Operator, Operator]:
    """Return an operator for an expression on its left, and for one on its right alone."""
    return build, lambda self, other: build(other, self)


def _comparison(sign: str) -> Operator:
    return lambda self, other: _compared(self, sign, other)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A column, or an operation on expressions and constants; built with the usual operators.

    Use `&`, `|` and `~` for and, or and not. Values of a number lie in [low, high]; `least` is a positive number that
    none of them is nearer to 0 than, unless it is 0, or 0 if no such number is known.
    """

    operation: str
    operands: tuple[Any, ...]
    kind: Kind
    low: float = 0.0
    high: float = 1.0
    least: float = 0.0
    levels: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
    is_ordered: bool = False
    is_flag: bool = False
    is_moment: bool = False

    # numpy must not take an expression apart, nor make arrays of it.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse("a numpy function")

    def __bool__(self) -> NoReturn:
        refuse(
            "a Python condition (`if`, `and`, `or`, `not`, `in`, `max`, a chained comparison): use &, |, ~, ifelse, "
            "isin and clip instead; it"
        )

    def __iter__(self) -> NoReturn:
        refuse("going through the records")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        """Write the expression out."""
        return written(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"`.{name}`")

    __add__, __radd__ = _either_way(lambda one, other: _sum(number(one), number(other)))
    __sub__, __rsub__ = _either_way(lambda one, other: _difference(number(one), number(other)))
    __mul__, __rmul__ = _either_way(lambda one, other: _product(number(one), number(other)))
    __and__, __rand__ = _either_way(lambda one, other: Expression("and", (truth(one), truth(other)), "truth"))
    __or__, __ror__ = _either_way(lambda one, other: Expression("or", (truth(one), truth(other)), "truth"))

    def __truediv__(self, other: Any) -> "Expression":
        """Divide by a constant: multiply by its inverse."""
        if isinstance(other, Expression) or not constant(other).low:
            refuse("division by a column or by 0")
        return _product(number(self), constant(1.0 / constant(other).low))

    def __rtruediv__(self, other: Any) -> NoReturn:
        refuse("division by a column")

    def __pow__(self, exponent: Any) -> "Expression":
        """Raise to the power 2 or 3."""
        if isinstance(exponent, bool) or not isinstance(exponent, int) or exponent not in (2, 3):
            refuse("a power other than 2 and 3")
        return self * self if exponent == 2 else self * self * self

    def __neg__(self) -> "Expression":
        return _difference(constant(0.0), number(self))

    def __pos__(self) -> "Expression":
        return number(self)

    def __abs__(self) -> "Expression":
        value = number(self)
        ends = sorted((abs(value.low), abs(value.high)))
        low = 0.0 if value.low <= 0 <= value.high else ends[0]
        return Expression("abs", (value,), "number", low, ends[1], value.least)

    def abs(self) -> "Expression":
        """Return the absolute value."""
        return abs(self)

    def clip(self, lower: Any = None, upper: Any = None) -> "Expression":
        """Bring a number into a range of constants."""
        value = number(self)
        low = value.low if lower is None else _end(lower)
        high = value.high if upper is None else _end(upper)
        if not low <= high:
            raise InvalidParameter(f"clip needs a lower end below the upper one, got {low!r} and {high!r}.")
        ends = [min(max(end, low), high) for end in (value.low, value.high)]
        least = min([value.least, *(abs(end) for end in (low, high) if end)])
        return Expression("clip", (value, low, high), "number", ends[0], ends[1], least)

    def between(self, lower: Any, upper: Any) -> "Expression":
        """Ask whether the value lies between two others, both included."""
        return Expression("and", (self >= lower, self <= upper), "truth")

    __lt__, __le__, __gt__, __ge__ = (_comparison(sign) for sign in ("<", "<=", ">", ">="))

    def __eq__(self, other: Any) -> "Expression":  # type: ignore[override]
        if self.kind == "level":
            return is_one_of(self, [other])
        if self.kind == "truth" and _is_truth(other):
            return Expression("same", (self, truth(other)), "truth")
        return _compared(self, "=", other)

    def __ne__(self, other: Any) -> "Expression":  # type: ignore[override]
        return Expression("not", (self == other,), "truth")

    def isin(self, values: Sequence[Any]) -> "Expression":
        """Ask whether the value is one of these constants."""
        listed = list(values) if isinstance(values, Sequence | set | frozenset | range | np.ndarray) else [values]
        if isinstance(values, str) or any(isinstance(value, Expression) for value in listed):
            refuse("isin with anything but a list of constants")
        if self.kind == "level":
            return is_one_of(self, listed)
        found = [self == value for value in listed]
        return joined(found, "or") if found else Expression("truth", (False,), "truth")

    def __xor__(self, other: Any) -> "Expression":
        return ~Expression("same", (truth(self), truth(other)), "truth")

    __rxor__ = __xor__

    def __invert__(self) -> "Expression":
        return Expression("not", (truth(self),), "truth")

    def ifelse(self, yes: Any, no: Any) -> "Expression":
        """Choose between two numbers or two conditions."""
        return choose(truth(self), yes, no)

    @property
    def code(self) -> "Expression":
        """The place of a level among the declared ones, from 0; -1 where a record has none of them."""
        if self.kind != "level":
            refuse("`.code` of something other than a column with levels")
        return Expression("code", (self,), "number", -1.0, len(self.levels) - 1.0, 1.0)

    @property
    def year(self) -> "Expression":
        """The year of a moment."""
        return _calendar(self, "year")

    @property
    def month(self) -> "Expression":
        """The month of a moment, from 1 to 12."""
        return _calendar(self, "month")

    @property
    def weekday(self) -> "Expression":
        """The day of the week of a moment, from 0 for Monday to 6."""
        return _calendar(self, "weekday")


def _compared(one: Expression, sign: str, other: Any) -> Expression:
    if one.kind == "level":
        return _ordered(one, sign, other)
    if one.is_moment and not isinstance(other, Expression):
        other = day_number(other)
    return Expression(sign, (number(one), number(other)), "truth")


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (
        isinstance(value, Expression) and (value.kind == "truth" or value.is_flag)
    )


def number(value: Any) -> Expression:
    """Return an expression that is a number: truth counts as 1."""
    if not isinstance(value, Expression):
        return constant(value)
    if value.kind == "number":
        return value
    if value.kind == "level" and not value.is_flag:
        refuse("arithmetic with a column of levels: compare it with them, or use its .code; it")
    return Expression("one", (truth(value),), "number", 0.0, 1.0, 1.0)


def truth(value: Any) -> Expression:
    """Return an expression that is true or false; a Flag is true where its word for true stands."""
    if isinstance(value, bool | np.bool_):
        return Expression("truth", (bool(value),), "truth")
    if isinstance(value, Expression) and value.kind == "truth":
        return value
    if isinstance(value, Expression) and value.is_flag:
        return member(value, (1,))
    refuse(f"{'a number' if isinstance(value, Expression) else type(value).__name__} in the place of a condition")


def constant(value: Any) -> Expression:
    """Return a finite constant, checked when it is written."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, np.ndarray | str | bytes) or not hasattr(type(plain), "__float__"):
        refuse(f"a constant of type {type(value).__name__}")
    try:
        found = float(plain)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not abs(found) <= LARGEST:
        raise InvalidParameter("a query computes with constants of at most 1e100, got one that is not.")
    found = found if abs(found) >= SMALLEST else 0.0
    return Expression("constant", (found,), "number", found, found, abs(found) or LARGEST)


def _end(value: Any) -> float:
    if isinstance(value, Expression):
        refuse("clip to anything but constants")
    return constant(value).low


def _sum(one: Expression, other: Expression) -> Expression:
    return _numeric("+", one, other, one.low + other.low, one.high + other.high, 0.0)


def _difference(one: Expression, other: Expression) -> Expression:
    least = other.least if one.operation == "constant" and not one.low else 0.0
    return _numeric("-", one, other, one.low - other.high, one.high - other.low, least)


def _product(one: Expression, other: Expression) -> Expression:
    """Multiply; a factor so small that the product might be no normal float counts as 0."""
    if one.least * other.least < _LEAST_PRODUCT:
        one, other = _snapped(one), _snapped(other)
    ends = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    # Products of constants 0 must not become infinite, nor infinity times 0 no number at all: all would compare false.
    return _numeric("*", one, other, min(ends), max(ends), min(one.least * other.least, LARGEST))


def _snapped(value: Expression) -> Expression:
    if value.least >= SMALLEST:
        return value
    return Expression("snap", (value,), "number", min(value.low, 0.0), max(value.high, 0.0), SMALLEST)


def _numeric(sign: str, one: Expression, other: Expression, low: float, high: float, least: float) -> Expression:
    if not (abs(low) <= LARGEST and abs(high) <= LARGEST):
        raise InvalidParameter(
            f"values of a query must stay within 1e100 of 0, but this one may reach {max(abs(low), abs(high)):.3g}. "
            "Clip its parts: t.x.clip(low, high)."
        )
    return Expression(sign, (one, other), "number", low, high, least)


def choose(condition: Expression, yes: Any, no: Any) -> Expression:
    """Return one of two values of the same kind, by a condition."""
    if _is_truth(yes) and _is_truth(no):
        return Expression("choose truth", (condition, truth(yes), truth(no)), "truth")
    one, other = number(yes), number(no)
    low, high = min(one.low, other.low), max(one.high, other.high)
    return Expression("choose", (condition, one, other), "number", low, high, min(one.least, other.least))


def is_one_of(column: Expression, values: Sequence[Any]) -> Expression:
    """Ask whether a column is at one of some declared levels."""
    return member(column, {_place(column, value) for value in values})


def member(column: Any, places: Iterable[int]) -> Expression:
    """Ask whether a column's level has one of some places."""
    listed = list(places)
    if not isinstance(column, Expression) or column.kind != "level" or column.operation != "column":
        refuse("levels of something other than a column")
    if not all(type(place) is int and 0 <= place < len(column.levels) for place in listed):
        refuse("a level that is not declared")
    # Each once: runs of neighbours are told by their ends and number.
    return Expression("member", (column, tuple(sorted(set(listed)))), "truth")


def _place(column: Expression, value: Any) -> int:
    from tacit.data.values import text

    if column.is_flag and isinstance(value, bool | np.bool_):
        return int(value)
    wanted = None if isinstance(value, Expression) else text(value)
    for place, spellings in enumerate(column.levels):
        if wanted in spellings:
            return place
    if isinstance(value, Expression):
        refuse("comparing columns of levels with each other: ask for each level")
    known = ", ".join(repr(spellings[0]) for spellings in column.levels[:20])
    raise InvalidParameter(f"{value!r} is no declared level of {column!r}; it has {known}.")


def _ordered(column: Expression, sign: str, value: Any) -> Expression:
    """Compare an Ordinal with one of its levels; a record without a level is on neither side."""
    if not column.is_ordered:
        refuse("`<` or `>` for levels without an order (declare an Ordinal), which")
    place = _place(column, value)
    tests = {"<": range(place), "<=": range(place + 1), ">": range(place + 1, len(column.levels))}
    chosen = tests.get(sign, range(place, len(column.levels)))
    return member(column, chosen)


def joined(parts: Sequence[Expression], sign: str) -> Expression:
    """Join conditions in pairs, and these in pairs, so that the whole stays shallow."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [Expression(sign, tuple(pair), "truth") if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _calendar(moment: Expression, what: str) -> Expression:
    from tacit.sums.language.calendar import month, weekday, year

    if not moment.is_moment:
        refuse(f"`.{what}` of something other than a Moment")
    return {"year": year, "month": month, "weekday": weekday}[what](moment)


def inner_first(roots: Sequence[Expression]) -> list[Expression]:
    """List expressions and all inside them, each once and after what it is made of, however deep they are nested.

    Too many operations are refused; of several expressions never, if none of them has too many by itself.
    """
    found: dict[int, Expression] = {}
    waiting: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            found[id(node)] = node
        elif id(node) not in found:
            waiting.append((node, True))
            waiting += [(each, False) for each in reversed(node.operands) if isinstance(each, Expression)]
        if len(found) > MOST_OPERATIONS * len(roots):
            raise InvalidParameter(f"a query may have {MOST_OPERATIONS} operations, got more. Ask in several queries.")
    return list(found.values())


def written(expression: Expression) -> str:
    """Write an expression down: the same text means the same question."""
    numbers: dict[int, int] = {}
    lines: dict[str, int] = {}
    for node in inner_first([expression]):
        operands = [f"#{numbers[id(each)]}" if isinstance(each, Expression) else repr(each) for each in node.operands]
        numbers[id(node)] = lines.setdefault(f"{node.operation}({', '.join(operands)})", len(lines))
    return "; ".join(lines)
