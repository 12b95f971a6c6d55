"""Expressions built again from nothing but their operations: whatever else they say of themselves is not believed.

Ranges keep every engine from failing, so they must follow from the declarations alone. An expression that somebody made
by hand, or changed, may claim any range and name any column; built again, it has the ranges that its operations have,
and what is not in the language is refused.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tacit.sums.language.calendar import floor, quotient
from tacit.sums.language.expression import Expression, choose, constant, inner_first, member, number, refuse, truth
from tacit.sums.language.names import Names


def replayed(expression: Expression, table: Names) -> Expression:
    """Return the expression with the same operations, over the columns that a table declares."""
    built: dict[int, Expression] = {}
    for node in inner_first([expression]):
        operands: list[Any] = [built[id(each)] if type(each) is Expression else _plain(each) for each in node.operands]
        if node.operation == "column":
            built[id(node)] = table[operands[0]]
        elif node.operation in _BUILT:
            built[id(node)] = _BUILT[node.operation](*operands)
        else:
            refuse(f"the operation {node.operation!r}")
    return built[id(expression)]


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
