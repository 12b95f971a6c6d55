"""Expressions printed as SQL: float64, int64 and boolean literals, and operators that cannot fail on cleaned cells."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import final

from tacit.data.columns import SMALLEST
from tacit.data.dialects import Dialect
from tacit.errors import InvalidParameter
from tacit.sums.language.expression import Expression, inner_first

_TRIVIAL = ("column", "constant", "truth")
# Their value is written several times: nested ones would grow without bounds unless it had a name.
_REPEATING = ("clip", "snap")
_SUMS = ("+", "-")
_HIGHEST = 40


@final
class Printed:
    """Expressions over a relation of cleaned columns; what is needed more than once is computed once, in a layer below.

    `names` says what declared columns are called there. Layers are subqueries: every one has the columns of the one
    below.
    """

    def __init__(self, dialect: Dialect, roots: Sequence[Expression], names: Mapping[str, str]) -> None:
        self._dialect, self._names = dialect, names
        nodes = inner_first(roots)
        uses = Counter(id(each) for node in nodes for each in node.operands if isinstance(each, Expression))
        uses.update(id(root) for root in roots)
        uses.update(id(node.operands[0]) for node in nodes if node.operation in _REPEATING)
        self._texts: dict[int, str] = {}
        self._nodes = nodes
        levels: dict[int, int] = {}
        depths: dict[int, tuple[int, int, int]] = {}
        self._layers: list[list[str]] = []
        for node in nodes:
            inner = [each for each in node.operands if isinstance(each, Expression)]
            level = max((levels[id(each)] for each in inner), default=0)
            depth, height, total = (1 + max((depths[id(each)][way] for each in inner), default=0) for way in (0, 1, 2))
            if total > dialect.highest:
                raise InvalidParameter(
                    f"a question may have {dialect.highest} operations on top of each other here, got more. Add up in "
                    "pairs, ask a shorter one, or read the records into memory."
                )
            text = self._print(node)
            if self._continues(node):
                # From left to right, as SQL reads them, terms need no parentheses of their own.
                left, right = inner
                depth = max(depths[id(left)][0], depths[id(right)][0] + 1)
            too_deep = depth > dialect.deepest or height > _HIGHEST
            if node.operation not in _TRIVIAL and (uses[id(node)] > 1 or too_deep):
                while len(self._layers) <= level:
                    self._layers.append([])
                name = f"tacit_v{len(self._texts)}"
                self._layers[level].append(f"{text} AS {name}")
                text, level, depth, height = name, level + 1, 0, 0
            self._texts[id(node)], levels[id(node)], depths[id(node)] = text, level, (depth, height, total)
        if len(self._layers) > dialect.most_layers:
            raise InvalidParameter(
                f"a question may have {dialect.most_layers} steps that need each other's results, got "
                f"{len(self._layers)}. Ask a shorter one, or read the records into memory."
            )

    def text(self, root: Expression) -> str:
        """Print one of the roots, over `relation`."""
        return self._texts[id(root)]

    def relation(self, source: str) -> str:
        """Print the relation with all layers over a source of cleaned columns."""
        for number, layer in enumerate(self._layers):
            source = f"(SELECT *, {', '.join(layer)} FROM {source}{self._dialect.fence}) AS layer{number}"
        return source

    def columns(self) -> tuple[str, ...]:
        """Name the cleaned columns that are read."""
        return tuple(dict.fromkeys(node.operands[0] for node in self._nodes if node.operation == "column"))

    def _continues(self, node: Expression) -> bool:
        """Whether a sum goes on from another that is printed at its place."""
        left = node.operands[0]
        return node.operation in _SUMS and left.operation in _SUMS and self._texts[id(left)].startswith("(")

    def _print(self, node: Expression) -> str:
        if node.operation == "column":
            return self._names[node.operands[0]]
        operands = [self._texts[id(each)] if isinstance(each, Expression) else each for each in node.operands]
        if self._continues(node):
            operands[0] = operands[0][1:-1]
        return _PRINTED[node.operation](self._dialect, *operands)


def _member(dialect: Dialect, codes: str, places: tuple[int, ...]) -> str:
    """Print whether a code is one of some places, run by run: engines make joins of long lists behind IN."""
    if not places:
        return "(1 = 0)"
    known = set(places)
    starts = [place for place in sorted(known) if place - 1 not in known]
    ends = [place for place in sorted(known) if place + 1 not in known]
    runs = [
        f"{codes} = {start}" if start == end else f"({codes} >= {start} AND {codes} <= {end})"
        for start, end in zip(starts, ends, strict=True)
    ]
    return f"({' OR '.join(runs)})"


def _snap(dialect: Dialect, value: str) -> str:
    low, high = dialect.number(-SMALLEST), dialect.number(SMALLEST)
    return f"(CASE WHEN {value} > {low} AND {value} < {high} THEN {dialect.number(0.0)} ELSE {value} END)"


def _clip(dialect: Dialect, value: str, low: float, high: float) -> str:
    least, most = dialect.number(low), dialect.number(high)
    return f"(CASE WHEN {value} < {least} THEN {least} WHEN {value} > {most} THEN {most} ELSE {value} END)"


def _infix(sign: str) -> Callable[..., str]:
    return lambda dialect, one, other: f"({one} {sign} {other})"


_PRINTED: Mapping[str, Callable[..., str]] = {
    "constant": lambda dialect, value: dialect.number(value),
    "truth": lambda dialect, value: "(1 = 1)" if value else "(1 = 0)",
    "one": lambda dialect, value: f"(CASE WHEN {value} THEN {dialect.number(1.0)} ELSE {dialect.number(0.0)} END)",
    "code": lambda dialect, codes: f"CAST({codes} AS {dialect.double})",
    "member": _member,
    "abs": lambda dialect, value: f"abs({value})",
    "floor": lambda dialect, value: f"CAST(floor({value}) AS {dialect.double})",
    "quotient": lambda dialect, value, by: f"CAST(floor({value} / {dialect.number(by)}) AS {dialect.double})",
    "snap": _snap,
    "clip": _clip,
    "same": _infix("="),
    "not": lambda dialect, value: f"(NOT {value})",
    "choose": lambda dialect, test, yes, no: f"(CASE WHEN {test} THEN {yes} ELSE {no} END)",
    "choose truth": lambda dialect, test, yes, no: f"(CASE WHEN {test} THEN {yes} ELSE {no} END)",
    **{sign: _infix(sign) for sign in ("+", "-", "*", "<", "<=", ">", ">=", "=")},
    "and": _infix("AND"),
    "or": _infix("OR"),
}
