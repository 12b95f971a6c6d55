"""Expressions in words, as a person would type them: for the entries of a ledger."""

from collections.abc import Sequence

import numpy as np

from tacit.sums.language.calendar import month, weekday, year
from tacit.sums.language.expression import Expression, inner_first

_LONGEST = 200
_SIGNS = {"+": "+", "-": "-", "*": "*", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "==", "same": "=="}
_SIGNS |= {"and": "&", "or": "|"}
_CALENDAR = {"year": year, "month": month, "weekday": weekday}


def in_words(expressions: Sequence[Expression]) -> str:
    """Write expressions out, cut where they get long."""
    return ", ".join(_cut(_said(each)) for each in expressions)


def _said(expression: Expression) -> str:
    nodes = inner_first([expression])
    known: dict[object, int] = {}
    dates = _dates([node for node in nodes if node.operation == "column" and node.is_moment], known)
    numbers: dict[int, int] = {}
    said: dict[int, str] = {}
    for node in nodes:
        number = _numbered(node, numbers, known)
        parts = [said[id(each)] if isinstance(each, Expression) else each for each in node.operands]
        said[id(node)] = dates[number] if number in dates else _cut(_one(node, parts))
    text = said[id(expression)]
    return text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text


def _dates(moments: Sequence[Expression], known: dict[object, int]) -> dict[int, str]:
    """Return the words for the year, month and weekday of some columns, by the number of that expression."""
    words = {}
    for moment in moments:
        for what, part in _CALENDAR.items():
            numbers: dict[int, int] = {}
            for node in inner_first([part(moment)]):
                number = _numbered(node, numbers, known)
            words[number] = f"{moment.operands[0]}.{what}"
    return words


def _numbered(node: Expression, numbers: dict[int, int], known: dict[object, int]) -> int:
    """Return a number that expressions of the same operations share."""
    operands = tuple(("#", numbers[id(each)]) if isinstance(each, Expression) else repr(each) for each in node.operands)
    return numbers.setdefault(id(node), known.setdefault((node.operation, operands), len(known)))


def _one(node: Expression, parts: list[object]) -> str:
    match node.operation:
        case "column" | "truth" | "one" | "snap" | "code":
            return str(parts[0])
        case "constant":
            return f"{parts[0]:g}"
        case "not":
            return f"~{parts[0]}"
        case "member":
            column, places = node.operands
            return f"({parts[0]} is {' or '.join(column.levels[place][0] for place in places) or 'nothing'})"
        case "choose" | "choose truth":
            return f"({parts[1]} if {parts[0]} else {parts[2]})"
        case "clip":
            return f"clip({parts[0]}, {parts[1]:g}, {parts[2]:g})"
        case sign if sign in _SIGNS:
            one, other = node.operands
            if one.is_moment and other.operation == "constant":
                return f"({parts[0]} {_SIGNS[sign]} {_date(other.low)})"
            return f"({parts[0]} {_SIGNS[sign]} {parts[1]})"
    return f"{node.operation}({', '.join(map(str, parts))})"


def _date(days: float) -> str:
    text = str(np.datetime64(round(days * 86_400), "s")) if abs(days) < 1e7 else f"{days:g}"
    return text.removesuffix("T00:00:00")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
