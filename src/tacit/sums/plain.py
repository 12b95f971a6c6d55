"""Queries as plain JSON and back: what a client sends to a service, and what a file may hold.

    {"mean": expression, "low": 0, "high": 1}
    {"histogram": [expression, ...], "levels": [[value, ...], ...]}
    {"row_sums": [name, ...], "by": [expression, ...], "levels": [...], "low": 0, "high": 1} or with "norm"
    {"second_moments": [name, ...], "norm": 1}

An expression is a text such as "age > 60 and ward in ['A', 'B']", or the steps of `tacit.sums.language.steps`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from tacit.data.columns import Column
from tacit.errors import InvalidParameter
from tacit.sums.language.expression import Expression
from tacit.sums.language.names import Names
from tacit.sums.language.steps import expression_of, steps_of
from tacit.sums.language.text import function_of
from tacit.sums.query import Histogram, Query, RowSums, SecondMoments, StatisticalQuery, given_by

MOST_LEVELS = 100_000
_KEYS = {
    "mean": {"low", "high"},
    "histogram": {"levels"},
    "row_sums": {"by", "levels", "low", "high", "norm"},
    "second_moments": {"norm"},
}


def plain_query(query: Query, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Write a query about declared columns as plain values: its function is called once, with their names."""
    expressions = [steps_of(each) for each in given_by(query, Names(columns))]
    match query:
        case StatisticalQuery():
            return {"mean": expressions[0], "low": query.low, "high": query.high}
        case Histogram():
            return {"histogram": expressions, "levels": _plain_levels(query.levels)}
        case RowSums():
            bounds = {"norm": query.norm} if query.norm is not None else {"low": query.low, "high": query.high}
            by = {"by": expressions, "levels": _plain_levels(query.levels)} if query.levels else {}
            return {"row_sums": list(query.features), **by, **bounds}
        case SecondMoments():
            return {"second_moments": list(query.features), "norm": query.norm}
    raise InvalidParameter(f"a {type(query).__name__} cannot be written as plain values.")


def query_of(plain: object) -> Query:
    """Return the query that plain values say; refuse what says none, whoever wrote it."""
    if type(plain) is not dict:
        raise InvalidParameter(f'a query is an object such as {{"mean": "age > 60"}}, got {type(plain).__name__}.')
    kinds = [kind for kind in _KEYS if kind in plain]
    if len(kinds) != 1:
        raise InvalidParameter(f"a query has exactly one of the keys {', '.join(_KEYS)}.")
    (kind,) = kinds
    if not plain.keys() <= _KEYS[kind] | {kind}:
        raise InvalidParameter(f"a {kind} query may have, besides, the keys {', '.join(sorted(_KEYS[kind]))}.")
    numbers: dict[str, Any] = {name: _number(name, plain[name]) for name in ("low", "high", "norm") if name in plain}
    match kind:
        case "mean":
            return StatisticalQuery(_function(plain["mean"]), **numbers)
        case "histogram":
            return Histogram(_functions(plain["histogram"]), _levels(plain.get("levels")))
        case "row_sums":
            grouped = {"by", "levels"} & plain.keys()
            by: dict[str, Any] = {}
            if grouped:
                by = {"function": _functions(plain.get("by")), "levels": _levels(plain.get("levels"))}
            return RowSums(_names(plain["row_sums"]), **by, **numbers)
    return SecondMoments(_names(plain["second_moments"]), **numbers)


def _function(expression: object) -> Callable[[Names], Any]:
    if type(expression) is str:
        return function_of(expression)
    return lambda table: expression_of(expression, table)


def _functions(expressions: object) -> Callable[[Names], Sequence[Expression]]:
    """Return a function that gives several columns; one of them may stand without its list."""
    listed = [expressions] if type(expressions) is str else expressions
    if type(listed) is not list or not listed:
        raise InvalidParameter("wanted a list of expressions, each a text or a list of steps.")
    functions = [_function(each) for each in listed]
    return lambda table: [function(table) for function in functions]


def _names(names: object) -> tuple[str, ...]:
    if type(names) is not list or not all(type(name) is str for name in names):
        raise InvalidParameter("wanted a list of column names.")
    return tuple(names)


def _number(name: str, value: object) -> float:
    if type(value) not in (int, float):
        raise InvalidParameter(f"{name} must be a number, got {type(value).__name__}.")
    return value  # type: ignore[return-value]


def _levels(levels: object) -> tuple[tuple[Any, ...], ...]:
    if type(levels) is not list or not 0 < len(levels) <= MOST_LEVELS:
        raise InvalidParameter(f"levels must be a list of 1 to {MOST_LEVELS} levels.")
    listed = [level if type(level) is list else [level] for level in levels]
    if not all(type(value) in (str, int, float, bool) for level in listed for value in level):
        raise InvalidParameter("a level is a text, a number or a truth value, or a list of them.")
    return tuple(tuple(level) for level in listed)


def _plain_levels(levels: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [[_plain_value(value) for value in level] for level in levels]


def _plain_value(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, date):
        return plain.isoformat()
    if type(plain) not in (str, int, float, bool):
        raise InvalidParameter(f"a level is a text, a number or a truth value, got {type(value).__name__}.")
    return plain
