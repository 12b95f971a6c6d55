"""What expressions mean over arrays of cleaned cells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from tacit.data.columns import SMALLEST
from tacit.sums.language.expression import Expression, inner_first


@final
class Program:
    """Expressions as a list of operations in the order in which they are computed: written once, run for every block.

    Values stand at numbered places. A step takes some of them and constants, and puts its own at its place; what no
    later step takes is dropped, so that a long question over a block of records does not hold all that it computed:
    `most_held` says how many values, besides the cells of columns, there are at once.
    """

    def __init__(self, roots: Sequence[Expression]) -> None:
        nodes = inner_first(roots)
        places = {id(node): place for place, node in enumerate(nodes)}
        self._roots = [places[id(root)] for root in roots]
        self._columns: list[tuple[int, str]] = []
        self._constants: list[Any] = [None] * len(nodes)
        self._steps: list[tuple[str, int, list[int], list[Any], list[int]]] = []
        self.most_held, held = 1, set[int]()
        last = {places[id(each)]: place for place, node in enumerate(nodes) for each in _inside(node)}
        for place, node in enumerate(nodes):
            if node.operation == "column":
                self._columns.append((place, node.operands[0]))
                continue
            takes = [places[id(each)] for each in _inside(node)]
            rest = list(node.operands[len(takes) :])
            if not takes:
                self._constants[place] = _OPERATIONS[node.operation](*rest)
                continue
            drops = [each for each in {*takes} - {*self._roots} if last[each] == place]
            self._steps.append((node.operation, place, takes, rest, drops))
            held.add(place)
            self.most_held = max(self.most_held, len(held))
            held.difference_update(drops)

    def run(self, cells: Callable[[str], Any]) -> list[Any]:
        """Return the values of the expressions for every record, given the cleaned cells of each column by its name.

        Numbers have eight bytes, levels as many as they are kept in. What is the same for all records has no length.
        """
        values = self._constants.copy()
        for place, name in self._columns:
            values[place] = cells(name)
        with np.errstate(all="ignore"):
            for operation, place, takes, rest, drops in self._steps:
                values[place] = _OPERATIONS[operation](*[values[each] for each in takes], *rest)
                for each in drops:
                    values[each] = None
        return [values[place] for place in self._roots]


def evaluate(roots: Sequence[Expression], cells: Callable[[str], Any]) -> list[Any]:
    """Return the values of expressions, as `Program.run` does, of one block of records."""
    return Program(roots).run(cells)


def _inside(node: Expression) -> list[Expression]:
    """Return the expressions among a node's operands, which come before its constants."""
    return [each for each in node.operands if isinstance(each, Expression)]


def _member(codes: Any, places: tuple[int, ...]) -> Any:
    if not places:
        return np.zeros(np.shape(codes), dtype=np.bool_)
    if len(places) == 1:
        return np.equal(codes, places[0])
    if places[-1] - places[0] == len(places) - 1:
        return (codes >= places[0]) & (codes <= places[-1])
    return np.isin(codes, places)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "constant": np.float64,
    "truth": np.bool_,
    "one": lambda value: np.asarray(value, dtype=np.float64),
    "code": lambda codes: np.asarray(codes, dtype=np.float64),
    "member": _member,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "abs": np.abs,
    "floor": np.floor,
    "quotient": lambda value, divisor: np.floor(value / divisor),
    "snap": lambda value: np.where(np.abs(value) < SMALLEST, 0.0, value),
    "clip": np.clip,
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
