"""What expressions mean over arrays of cleaned cells."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.data.columns import SMALLEST
from tacit.sums.language.expression import Expression, inner_first


def evaluate(roots: Sequence[Expression], cells: Callable[[str], Any]) -> list[Any]:
    """Return the values of expressions for every record, given the cleaned cells of each column by its name."""
    values: dict[int, Any] = {}
    nodes = inner_first(roots)
    waiting = Counter(id(each) for node in nodes for each in node.operands if isinstance(each, Expression))
    waiting.update(id(root) for root in roots)
    with np.errstate(all="ignore"):
        for node in nodes:
            if node.operation == "column":
                values[id(node)] = cells(node.operands[0])
                continue
            operands = [values[id(each)] if isinstance(each, Expression) else each for each in node.operands]
            values[id(node)] = _OPERATIONS[node.operation](*operands)
            for each in node.operands:
                waiting[id(each)] -= isinstance(each, Expression)
                if isinstance(each, Expression) and not waiting[id(each)]:
                    # A long question over a block of records must not hold all that it has computed.
                    del values[id(each)]
    return [values[id(root)] for root in roots]


def _member(codes: Any, places: tuple[int, ...]) -> Any:
    if not places:
        return np.zeros(np.shape(codes), dtype=np.bool_)
    if places[-1] - places[0] == len(places) - 1:
        return (codes >= places[0]) & (codes <= places[-1])
    return np.isin(codes, places)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "constant": np.float64,
    "truth": np.bool_,
    "one": lambda value: np.where(value, 1.0, 0.0),
    "code": lambda codes: np.asarray(codes, dtype=np.float64),
    "member": _member,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "abs": np.abs,
    "floor": np.floor,
    "quotient": lambda value, divisor: np.floor(value / divisor),
    "snap": lambda value: np.where(np.abs(value) < SMALLEST, 0.0, value),
    "clip": lambda value, low, high: np.where(value < low, low, np.where(value > high, high, value)),
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "same": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "choose": np.where,
    "choose truth": np.where,
}
