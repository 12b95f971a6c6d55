"""Names that stand for the declared columns, and expressions built again over them.

A query's function is called with names. What it gives back is built again from nothing but its operations: whatever
else an expression says of itself is not believed. Ranges keep evaluation from failing, so they must follow from the
declarations alone. An expression that somebody made by hand, or changed, may claim any range and name any column; built
again, it has the ranges that its operations have, and what is not in the language is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from tacit.data.columns import SMALLEST, Column, Moment, Number, Uncoded, day_number
from tacit.data.levels import Flag, Levelled, Ordinal
from tacit.data.stored import nearest_name
from tacit.errors import InvalidParameter
from tacit.sums.language.calendar import floor, quotient
from tacit.sums.language.expression import Expression, choose, constant, inner_first, member, number, refuse, truth


@final
class Names:
    """`t.age` or `t["age"]` stands for a declared column, ids and ignored ones left out; there is nothing else."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = {name: column for name, column in columns.items() if not isinstance(column, Uncoded)}
        self._known: dict[str, Expression] = {}

    def __getitem__(self, name: str) -> Expression:
        """Return what stands for a column: the same object each time."""
        # A text of somebody's own may print itself, or be equal, as it likes.
        plain = str.__str__(name) if issubclass(type(name), str) else None
        if plain is None or plain not in self._columns:
            near = None if plain is None else nearest_name(plain, self._columns)
            shown = ", ".join(list(self._columns)[:20]) + (", ..." if len(self._columns) > 20 else "")
            told = f"did you mean {near!r}?" if near else f"the records have {shown}."
            raise InvalidParameter(f"there is no declared column {name!r}; {told}{_spelled(near, self._columns)}")
        return self._known.setdefault(plain, stands_for(plain, self._columns[plain]))

    def __getattr__(self, name: str) -> Expression:
        """Return what stands for a column."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)


def _spelled(near: str | None, columns: Mapping[str, Column]) -> str:
    """Say how a name is written that is no word of Python's, if what was meant may be one."""
    name = next((name for name in ([near] if near else columns) if not name.isidentifier()), None)
    return "" if name is None else f" Write column({name!r}) in a text, t[{name!r}] in Python."


def stands_for(name: str, column: Column) -> Expression:
    """Return the expression for a column, with the range that its declaration gives it."""
    if isinstance(column, Number):
        return Expression("column", (name,), "number", column.low, column.high, SMALLEST)
    if isinstance(column, Moment):
        low, high = day_number(column.low), day_number(column.high)
        return Expression("column", (name,), "number", low, high, SMALLEST, is_moment=True)
    assert isinstance(column, Levelled)
    return Expression(
        "column",
        (name,),
        "level",
        levels=column.spellings,
        is_ordered=isinstance(column, Ordinal),
        is_flag=isinstance(column, Flag),
    )


def replayed(expression: Expression, table: Names) -> Expression:
    """Return the expression with the same operations, over the columns that a table declares."""
    built: dict[int, Expression] = {}
    for node in inner_first([expression]):
        operands: list[Any] = [built[id(each)] if type(each) is Expression else _plain(each) for each in node.operands]
        built[id(node)] = built_again(node.operation, operands, table)
    return built[id(expression)]


def built_again(operation: str, operands: Sequence[Any], table: Names) -> Expression:
    """Return the expression that an operation makes of operands, over the columns that a table declares."""
    if operation == "column":
        return table[operands[0]]
    if operation not in _BUILT:
        refuse(f"the operation {operation!r}")
    return _BUILT[operation](*operands)


def _plain(operand: Any) -> Any:
    """Return a constant, a name or a list of places, and nothing that could answer in a way of its own."""
    if type(operand) not in (bool, int, float, str, tuple):
        refuse(f"an operand of type {type(operand).__name__}")
    return operand


def _code(column: Any) -> Expression:
    if type(column) is not Expression:
        refuse("`.code` of something other than a column with levels")
    return column.code


def _compared(sign: str) -> Callable[[Any, Any], Expression]:
    return lambda one, other: Expression(sign, (number(one), number(other)), "truth")


def _joined(sign: str) -> Callable[[Any, Any], Expression]:
    return lambda one, other: Expression(sign, (truth(one), truth(other)), "truth")


_BUILT: Mapping[str, Callable[..., Expression]] = {
    "constant": constant,
    "truth": truth,
    "one": lambda value: number(truth(value)),
    "code": _code,
    "member": member,
    "+": lambda one, other: number(one) + number(other),
    "-": lambda one, other: number(one) - number(other),
    "*": lambda one, other: number(one) * number(other),
    "snap": number,
    "abs": lambda value: abs(number(value)),
    "clip": lambda value, low, high: number(value).clip(low, high),
    "floor": floor,
    "quotient": quotient,
    "choose": lambda condition, yes, no: choose(truth(condition), number(yes), number(no)),
    "choose truth": lambda condition, yes, no: choose(truth(condition), truth(yes), truth(no)),
    "not": lambda value: ~truth(value),
    **{sign: _compared(sign) for sign in ("<", "<=", ">", ">=", "=")},
    **{sign: _joined(sign) for sign in ("and", "or", "same")},
}
