"""What may be asked about a record held in arrays: expressions that are written down before they meet a record.

A query's function is called once, with names that stand for columns, and gives back an expression. It never sees a
record, so it cannot mix records, branch on them, fail because of them or change how many there are. What
expressions mean is told in `meanings`; the methods below are those of Ibis columns, so that the same function can be
asked of arrays and of tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tacit.errors import InvalidParameter
from tacit.queries.meanings import CONDITIONS, WHOLE, constant, written

__all__ = ["Expression", "Records"]

_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "fmod": "%", "remainder": "%",
    "negative": "negate", "absolute": "abs", "fabs": "abs", "square": "square", "sqrt": "sqrt", "log": "log",
    "exp": "exp", "floor": "floor", "ceil": "ceil", "sign": "sign", "minimum": "least", "maximum": "greatest",
    "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "equal": "=", "not_equal": "!=",
    "bitwise_and": "and", "logical_and": "and", "bitwise_or": "or", "logical_or": "or", "bitwise_xor": "xor",
    "logical_xor": "xor", "invert": "not", "logical_not": "not", "isnan": "null",
}  # fmt: skip


@final
@dataclass(frozen=True, eq=False, repr=False)
class Expression(NDArrayOperatorsMixin):
    """A column, or an operation on expressions and constants; built with the usual operators.

    Use `&`, `|` and `~` for and, or and not. Elementwise numpy functions such as `np.exp` and the methods below
    work; whatever would look at more than one record does not.
    """

    operation: str
    operands: tuple[Any, ...]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> "Expression":
        """Write an elementwise numpy operation down."""
        symbol = _SYMBOLS.get(ufunc.__name__)
        if method != "__call__" or options or symbol is None:
            _refuse(f"numpy's {ufunc.__name__}" + ("" if method == "__call__" else f".{method}"))
        if symbol == "%" and not _is_whole_constant(inputs[1]):
            _refuse("a remainder other than by a whole positive constant")
        return _built(symbol, *inputs)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("a numpy function that needs the records themselves")

    def __bool__(self) -> NoReturn:
        _refuse("a Python condition (`if`, `and`, `or`, `not`): use &, | and ~ instead, which")

    def __iter__(self) -> NoReturn:
        _refuse("going through the records")

    def __pow__(self, exponent: Any) -> "Expression":
        """Raise to the power 2 or 3."""
        if isinstance(exponent, bool) or exponent not in (2, 3):
            _refuse("a power other than 2 and 3")
        square = _built("*", self, self)
        return square if exponent == 2 else _built("*", square, self)

    def __repr__(self) -> str:
        """Write the expression out."""
        return written(self) or "a function of the record"

    def isin(self, values: Sequence[float]) -> "Expression":
        """Ask whether the value is one of these constants."""
        listed = list(values)
        if any(isinstance(value, Expression) for value in listed):
            _refuse("isin with a column: compare the two columns by ==, which")
        return _built("in", self, *listed)

    def notin(self, values: Sequence[float]) -> "Expression":
        """Ask whether the value is none of these."""
        return _built("not", self.isin(values))

    def between(self, lower: Any, upper: Any) -> "Expression":
        """Ask whether the value lies between two others, both included."""
        return _built("and", self >= lower, self <= upper)

    def isnull(self) -> "Expression":
        """Ask whether the value is missing."""
        return _built("null", self)

    isnan = isnull

    def notnull(self) -> "Expression":
        """Ask whether the value is there."""
        return _built("not", self.isnull())

    def fill_null(self, value: Any) -> "Expression":
        """Put a value in the place of a missing one."""
        return _built("coalesce", self, value)

    def coalesce(self, *others: Any) -> "Expression":
        """Return the first value that is not missing."""
        return _built("coalesce", self, *others)

    def nullif(self, value: Any) -> "Expression":
        """Make the value missing where it equals another."""
        return _built("nullif", self, value)

    def clip(self, lower: Any = None, upper: Any = None) -> "Expression":
        """Bring the value into a range; a missing one stays missing."""
        below = self if lower is None else _built("raise", self, lower)
        if upper is None:
            return below
        return _built("lower", self, upper) if lower is None else _built("clip", self, lower, upper)

    def ifelse(self, yes: Any, no: Any) -> "Expression":
        """Choose by a condition; a missing condition chooses `no`."""
        return _built("choose", self, yes, no)

    def cases(self, *branches: tuple[Any, Any], else_: Any = None) -> "Expression":
        """Return what stands beside the first value that this one equals; else `else_`, or missing."""
        chosen = _built("missing", self) if else_ is None else else_
        for value, result in reversed(branches):
            chosen = _built("choose", self == value, result, chosen)
        return chosen if isinstance(chosen, Expression) else _built("choose", self.isnull(), chosen, chosen)

    def cast(self, kind: Any) -> "Expression":
        """Return the value as it is: numbers are floats already, and truth is 1."""
        name = str(kind)
        if not (name.startswith("float") or (name.startswith(("int", "uint")) and _is_condition(self))):
            _refuse(f"a conversion to {name}")
        return self

    def abs(self) -> "Expression":
        """Return the absolute value."""
        return _built("abs", self)

    def negate(self) -> "Expression":
        """Return the value with the other sign."""
        return _built("negate", self)

    def sqrt(self) -> "Expression":
        """Return the square root; that of a negative number is missing."""
        return _built("sqrt", self)

    def log(self) -> "Expression":
        """Return the natural logarithm; that of a number that is not positive is missing."""
        return _built("log", self)

    ln = log

    def exp(self) -> "Expression":
        """Return the exponential of the value, clipped to [-100, 100]."""
        return _built("exp", self)

    def floor(self) -> "Expression":
        """Return the whole number below, at most 1e15 from 0."""
        return _built("floor", self)

    def ceil(self) -> "Expression":
        """Return the whole number above, at most 1e15 from 0."""
        return _built("ceil", self)

    def round(self) -> "Expression":
        """Return the nearest whole number, halves up, at most 1e15 from 0."""
        return _built("floor", _built("+", self, 0.5))

    def sign(self) -> "Expression":
        """Return 1, 0 or -1."""
        return _built("sign", self)


@final
class Records:
    """What a query's function is called with: `t.age` or `t["age"]` stands for a column.

    `apply` is there for arrays only, and `accept` decides about the functions given to it.
    """

    def __init__(self, names: Sequence[str], accept: Callable[[Any], Any] | None = None) -> None:
        self._names = tuple(names)
        self._accept = accept

    def __getitem__(self, name: str) -> Expression:
        """Return what stands for a column."""
        if name not in self._names:
            shown = ", ".join(self._names[:20]) + (", ..." if len(self._names) > 20 else "")
            raise InvalidParameter(f"there is no column {name!r}; the records have {shown}.")
        return Expression("column", (name,))

    def __getattr__(self, name: str) -> Expression:
        """Return what stands for a column."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._names

    def apply(self, function: Callable[[Any, Any], Any]) -> Expression:
        """Return what stands for function(X, y), a vectorised Python function with one number for every row.

        It must treat each row on its own and keep no state: see `opaque`, which tries that out on made-up rows.
        """
        if self._accept is None:
            _refuse("a Python function of the record")
        return Expression("apply", (self._accept(function),))


def _refuse(what: str) -> NoReturn:
    raise InvalidParameter(
        f"{what} is not possible in a query: it must say what to compute from one record, by comparisons, "
        "&, |, ~, arithmetic and elementwise functions."
    )


def _is_condition(value: Any) -> bool:
    """Whether a value can only be true, false or missing."""
    if not isinstance(value, Expression):
        return value in (0.0, 1.0)
    chosen = {"choose": value.operands[1:], "coalesce": value.operands, "nullif": value.operands[:1]}
    return value.operation in CONDITIONS or (
        value.operation in chosen and all(map(_is_condition, chosen[value.operation]))
    )


def _is_whole_constant(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(1 <= value <= WHOLE and value == int(value))


def _built(operation: str, *operands: Any) -> Expression:
    return Expression(operation, tuple(each if isinstance(each, Expression) else constant(each) for each in operands))
