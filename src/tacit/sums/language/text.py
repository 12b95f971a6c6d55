"""Questions as text: `age > 60 and ward in ['A', 'B']`, read into the closed language and never run."""

import ast
from collections.abc import Callable
from typing import Any

from tacit.errors import InvalidParameter
from tacit.sums.language.expression import Expression

_LONGEST = 10_000


def function_of(question: str) -> Callable[[Any], Any]:
    """Return what a question asks about a table, if it is written in the closed language: nothing is run but that.

    The words are Python's, since people know them: and, or, not, in, comparisons (also chained), + - *, numbers, texts.
    """
    if len(question) > _LONGEST:
        raise InvalidParameter(f"a question may have {_LONGEST} letters, got {len(question)}.")
    try:
        tree = ast.parse(question.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidParameter(
            "this question cannot be read. Write it like: age > 60 and ward in ['A', 'B']; equal is ==, and a name "
            "that is not one word is written column('hours a week')."
        ) from None
    return lambda table: _read(tree, table)


def written(name: str) -> str:
    """Return a column's name as a question has it: as it is if that is read as this name, and else as a text."""
    try:
        tree = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    return name if isinstance(tree, ast.Name) and tree.id == name else f"column({name!r})"


def _read(node: ast.expr, table: Any) -> Any:
    """Return the expression that a part of a question stands for."""
    match node:
        case ast.Name(id=name):
            return table[name]
        case ast.Constant(value=value) if type(value) in (int, float, str, bool):
            return value
        case ast.BoolOp(op=op, values=values):
            return _joined(isinstance(op, ast.And), [_read(value, table) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return ~_read(inner, table)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_read(inner, table)
        case ast.UnaryOp(op=ast.Invert(), operand=inner):
            return ~_condition(inner, table)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
            return _joined(type(op) is ast.BitAnd, [_condition(left, table), _condition(right, table)])
        case ast.BinOp(left=ast.Name(id=left), op=ast.Sub(), right=ast.Name(id=right)):
            return _difference(left, right, table)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_read(left, table), _read(right, table))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others[:-1]]
            triples = zip(ops, sides, others, strict=True)
            return _joined(True, [_compared(op, one, other, table) for op, one, other in triples])
        case ast.Call(func=ast.Name(id="column"), args=[ast.Constant(value=str(name))], keywords=[]):
            return table[name]
        case ast.Call():
            raise InvalidParameter(
                "a question calls no functions but column('a name with blanks'): the name of a number alone asks for "
                "its mean, a condition such as age > 60 for its share."
            )
        case ast.Attribute():
            raise InvalidParameter(
                "a question has no dots: a name with one is written column('a.b'). If this is a table, it comes first, "
                "and the question second."
            )
        case _:
            raise InvalidParameter(
                f"{ast.unparse(node)[:80]!r} is not possible in a question. There are column names, column('a name "
                "with blanks'), numbers, texts, and, or, not, in [...], + - * /, and < <= > >= == !=."
            )


def _condition(node: ast.expr, table: Any) -> Any:
    """Read what stands beside & or |, which bind more tightly than comparisons."""
    found = _read(node, table) if not isinstance(node, ast.Constant) else None
    if type(found) is not Expression:
        raise InvalidParameter("& and | need parentheses: write (age > 6) & (ward == 'A'), or age > 6 and ward == 'A'.")
    return found


def _difference(left: str, right: str, table: Any) -> Any:
    """Read a difference of two columns, or say how one name with a dash is written."""
    try:
        return table[left] - table[right]
    except InvalidParameter as error:
        raise InvalidParameter(f"{error} A name with a dash is written column('{left}-{right}').") from None


def _compared(op: ast.cmpop, left: ast.expr, right: ast.expr, table: Any) -> Any:
    if isinstance(op, ast.In | ast.NotIn):
        if not isinstance(right, ast.List | ast.Tuple):
            raise InvalidParameter("after `in` there must be a list: ward in ['A', 'B'].")
        found = _read(left, table).isin([_read(each, table) for each in right.elts])
        return ~found if isinstance(op, ast.NotIn) else found
    if type(op) not in _COMPARISONS:
        raise InvalidParameter("`is` is not possible in a question: use ==.")
    one, other = _read(left, table), _read(right, table)
    if type(one) is not Expression and type(other) is not Expression:
        raise InvalidParameter(
            "a comparison needs a column on one of its sides: in quotes there is a text, and a name that is not one "
            "word is written column('hours a week')."
        )
    return _COMPARISONS[type(op)](one, other)


def _joined(all_of: bool, parts: list[Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found & part if all_of else found | part
    return found


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda one, other: one < other,
    ast.LtE: lambda one, other: one <= other,
    ast.Gt: lambda one, other: one > other,
    ast.GtE: lambda one, other: one >= other,
    ast.Eq: lambda one, other: one == other,
    ast.NotEq: lambda one, other: one != other,
}
