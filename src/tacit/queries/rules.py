"""Which Ibis expressions may be asked: those that have a value for every record, computed from that record alone.

An engine that fails on one record (1/0, a text that is no number, an integer that overflows) tells that the record
is there, and nothing pays for that. So only operations that cannot fail are accepted, and some are rewritten until
they cannot (`guards`). The rules are those of `meanings`, so the same question has the same answer everywhere; only
upper and lower case outside ASCII, and the last bit of exp and ln, are the engine's own.
"""

from typing import Any

import ibis.expr.operations as ops

from tacit.errors import InvalidParameter
from tacit.queries.cells import as_float, kind_of, refuse, small_integer
from tacit.queries.guards import GUARDS, cast
from tacit.queries.meanings import LARGEST, SMALLEST
from tacit.queries.ranges import check_ranges, inner_first

__all__ = ["total"]

_TOTAL = (
    ops.Field, ops.Literal, ops.And, ops.Or, ops.Not, ops.Lowercase, ops.Uppercase,
    ops.StartsWith, ops.EndsWith, ops.StringContains,
)  # fmt: skip
_ORDERED = (ops.Greater, ops.GreaterEqual, ops.Less, ops.LessEqual, ops.Between)
_COMPARED = (ops.Equals, ops.NotEquals, *_ORDERED, ops.InValues)
_ALIKE = (*_COMPARED, ops.NullIf, ops.Coalesce, ops.IfElse, ops.SearchedCase, ops.SimpleCase)
"""Operations on values of one kind: engines convert other pairs, and a conversion can fail."""
_MOST_OPERATIONS = 5_000
_MOST_NESTED = 200


def total(expression: Any, asked: Any, records: Any) -> Any:
    """Return an expression that has a value for every record, or refuse.

    The expression is over `asked` and the result over `records`, two tables without rows; the second has twins.
    """
    _check_size(expression.op())
    for node in inner_first(expression.op()):
        _check_origin(node, asked.op())

    def rewritten(node: Any, arguments: dict[str, Any] | None) -> Any:
        if node == asked.op():
            return records.op()
        rebuilt = node.__recreate__(arguments) if arguments else node
        if isinstance(node, ops.Cast):
            return cast(rebuilt.arg.to_expr(), rebuilt.to).op()
        guard = GUARDS.get(type(node))
        if guard is not None:
            return guard(*[value.to_expr() if isinstance(value, ops.Value) else value for value in _flat(rebuilt)]).op()
        return _alike(rebuilt) if isinstance(node, _ALIKE) else rebuilt

    node = expression.op()
    check_ranges(node)
    safe = node.replace(rewritten)
    _check_size(safe)
    return safe.to_expr()


def _check_origin(node: Any, records: Any) -> None:
    """Refuse columns of other tables, other operations and constants out of range."""
    if node == records:
        return
    if isinstance(node, ops.Relation) or (isinstance(node, ops.Field) and node.rel != records):
        refuse("a column of another table, or of a table made from this one,")
    if isinstance(node, ops.Value):
        kind_of(node.dtype)
    if not isinstance(node, (*_TOTAL, *_ALIKE, ops.Cast, *GUARDS)):
        refuse(type(node).__name__)
    if isinstance(node, ops.Literal) and node.dtype.is_numeric() and node.value is not None:
        size = abs(float(node.value))
        if not (size == 0 or SMALLEST <= size <= LARGEST):
            refuse("a constant that is not 0 and not between 1e-30 and 1e30")


def _flat(node: Any) -> list[Any]:
    """List a node's arguments, those in tuples as well."""
    found: list[Any] = []
    for argument in node.args:
        found += argument if isinstance(argument, tuple) else (argument,)
    return found


def _alike(node: Any) -> Any:
    """Return an operation with all its values of one kind, and numbers as floats unless all are small integers."""
    groups = [_values(node)]
    if isinstance(node, ops.SimpleCase):
        groups = [[node.base, *node.cases], [*node.results, node.default]]
    changed: dict[Any, Any] = {}
    for group in groups:
        kinds = {kind_of(value.dtype) for value in group} - {"null"}
        if kinds == {"timestamp", "timestamp(9)"}:
            # A constant is converted to nanoseconds before any record is read; a column would be record by record.
            columns = {kind_of(value.dtype) for value in group if not isinstance(value, ops.Literal)}
            kinds = columns or kinds
        if kinds == {"truth", "number"} or (kinds == {"truth"} and isinstance(node, _COMPARED)):
            # Also because `a = b = c` is written down without the brackets that it needs.
            kinds = {"number"}
        if len(kinds) > 1:
            refuse(f"{type(node).__name__} on values of different kinds ({', '.join(sorted(kinds))})")
        if kinds == {"text"} and isinstance(node, _ORDERED):
            refuse("an order of texts, which depends on the engine,")
        if kinds == {"number"} and not all(small_integer(value.dtype) or _is_integer(value) for value in group):
            changed |= {value: as_float(value.to_expr()).op() for value in group if not value.dtype.is_null()}
    arguments = {
        name: tuple(changed.get(item, item) for item in value)
        if isinstance(value, tuple)
        else (changed.get(value, value) if name != "bool_expr" else value)
        for name, value in zip(node.argnames, node.args, strict=True)
        if not (name == "cases" and isinstance(node, ops.SearchedCase))
    }
    return node.copy(**arguments)


def _values(node: Any) -> list[Any]:
    """List the values that an operation compares, or chooses from."""
    if isinstance(node, ops.IfElse):
        return [node.true_expr, node.false_null_expr]
    if isinstance(node, ops.SearchedCase):
        return [*node.results, node.default]
    return [value for value in _flat(node) if isinstance(value, ops.Value)]


def _is_integer(value: Any) -> bool:
    """Whether a value is a constant that small integers can be compared with as integers."""
    if not (isinstance(value, ops.Literal) and value.dtype.is_integer()):
        return bool(value.dtype.is_null())
    return value.value is None or abs(value.value) < 2**53


def _check_size(node: Any) -> None:
    """Refuse an expression whose text would be too long, or too deep, for an engine to read."""
    sizes: dict[Any, tuple[int, int]] = {}
    for each in inner_first(node):
        below = [sizes[child] for child in _flat(each) if child in sizes] if isinstance(each, ops.Value) else []
        sizes[each] = (1 + sum(size for size, _ in below), 1 + max((depth for _, depth in below), default=0))
    size, depth = sizes[node]
    if size > _MOST_OPERATIONS or depth > _MOST_NESTED:
        raise InvalidParameter(
            f"a query over a table may have {_MOST_OPERATIONS} operations, nested {_MOST_NESTED} deep, written out in "
            f"full; got {size}, nested {depth} deep. Ask in several queries, or name a column of the table for it."
        )
