"""An expression as a flat list of steps, for a file or a wire, and built again from one.

Each step is an operation with its operands. An operand that is an expression is given by the number of an earlier step,
so that nothing is nested, however deep the expression is, and what is used twice is written once:
`(t.age > 60) & t.ill` is `[["column", "age"], ["constant", 60.0], [">", 0, 1], ["column", "ill"], ["and", 2, 4]]`
with `["member", 3, [1]]` as the step between, by which a flag becomes a condition.
"""

from collections.abc import Sequence
from typing import Any

from tacit.errors import InvalidParameter
from tacit.sums.language.expression import MOST_OPERATIONS, Expression, inner_first
from tacit.sums.language.names import Names, built_again

# What follows the expressions among an operation's operands, by the types that JSON has.
_TEXT, _NUMBER, _TRUTH, _PLACES = str, (int, float), bool, list
_OPERANDS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "column": (0, (_TEXT,)),
    "constant": (0, (_NUMBER,)),
    "truth": (0, (_TRUTH,)),
    "member": (1, (_PLACES,)),
    "clip": (1, (_NUMBER, _NUMBER)),
    "quotient": (1, (_NUMBER,)),
    **dict.fromkeys(("one", "code", "snap", "abs", "floor", "not"), (1, ())),
    **dict.fromkeys(("+", "-", "*", "<", "<=", ">", ">=", "=", "and", "or", "same"), (2, ())),
    **dict.fromkeys(("choose", "choose truth"), (3, ())),
}


def steps_of(expression: Expression) -> list[list[Any]]:
    """Write an expression as steps, of plain numbers, texts, truth values and lists."""
    numbers: dict[int, int] = {}
    steps: list[list[Any]] = []
    for node in inner_first([expression]):
        operands = [numbers[id(each)] if type(each) is Expression else _plain(each) for each in node.operands]
        numbers[id(node)] = len(steps)
        steps.append([node.operation, *operands])
    return steps


def expression_of(steps: object, table: Names) -> Expression:
    """Build the expression that steps say over the columns of a table; whatever is not in the language is refused.

    Ranges follow from the table's declarations and the operations, as if the expression had been typed here.
    """
    if type(steps) is not list or not 0 < len(steps) <= MOST_OPERATIONS:
        raise InvalidParameter(f"an expression is a list of 1 to {MOST_OPERATIONS} steps, or a text.")
    built: list[Expression] = []
    for place, step in enumerate(steps):
        operation, operands = _read(step, place)
        count, _ = _OPERANDS[operation]
        given = [built[each] for each in operands[:count]] + [_tupled(each) for each in operands[count:]]
        built.append(built_again(operation, given, table))
    return built[-1]


def _plain(operand: Any) -> Any:
    return list(operand) if type(operand) is tuple else operand


def _tupled(operand: Any) -> Any:
    return tuple(operand) if type(operand) is list else operand


def _read(step: object, place: int) -> tuple[str, Sequence[Any]]:
    """Check the form of a step: a known operation, earlier steps, and constants of the right types."""
    if type(step) is not list or not step or type(step[0]) is not str or step[0] not in _OPERANDS:
        raise InvalidParameter(f"step {place} must be a list that begins with one of: {', '.join(_OPERANDS)}.")
    operation, *operands = step
    count, types = _OPERANDS[operation]
    if len(operands) != count + len(types):
        raise InvalidParameter(f"step {place}: {operation!r} takes {count + len(types)} operands, got {len(operands)}.")
    if not all(type(each) is int and 0 <= each < place for each in operands[:count]):
        raise InvalidParameter(f"step {place}: {operation!r} takes the numbers of {count} earlier steps first.")
    if not all(_is(each, kind) for each, kind in zip(operands[count:], types, strict=True)):
        raise InvalidParameter(f"step {place}: {operation!r} got a constant of a wrong type.")
    return operation, operands


def _is(operand: object, kind: Any) -> bool:
    if kind is _PLACES:
        return type(operand) is list and all(type(each) is int for each in operand)
    return type(operand) in (kind if isinstance(kind, tuple) else (kind,))
