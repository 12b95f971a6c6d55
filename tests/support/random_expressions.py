"""Random questions of the whole language: every operation, every kind of column, every kind of query, odd constants."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.data import Column, Flag, Key, Moment, Number, Ordinal
from tacit.data.levels import Levelled
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.sums.language import Expression, Names

CONSTANTS = [
    0, -0.0, 1, -1, 2, 0.5, 1 / 3, 7, 400, 5e-324, 1e-308, 1e-200, 1e-101, 1e-100, -1e-100, 1.0000000000000002e-100,
    1e-99, 1e-50, 1e-30, 1e-16, 2.0**-52, 1e16, 2**53, 2**53 + 1, -(2**63), 1e30, 1e50, 1e99, 1e100, -1e100,
    True, False,
]  # fmt: skip
DATES = ["0001-01-01", "1970-01-01", "1969-12-31T23:59:59.999999", "2000-02-29", "2000-03-01", "9999-12-31"]


class Generator:
    """Writes questions about declared columns, the same ones for the same seed."""

    def __init__(self, columns: Mapping[str, Column], seed: int) -> None:
        self._draw = random.Random(seed)
        self._columns = columns
        self._numbers = [name for name, column in columns.items() if isinstance(column, Number)]
        self._moments = [name for name, column in columns.items() if isinstance(column, Moment)]
        self._flags = [name for name, column in columns.items() if isinstance(column, Flag)]
        self._ordinals = [name for name, column in columns.items() if isinstance(column, Ordinal)]
        self._levelled = [name for name, column in columns.items() if isinstance(column, Levelled)]

    def query(self) -> Query:
        """Write one query; what the language refuses is written anew."""
        while True:
            try:
                return self._query()
            except InvalidParameter:
                continue

    def expression(self, table: Names, depth: int | None = None) -> Expression:
        """Write a number or a condition."""
        deep = self._draw.choice([1, 1, 2, 2, 3, 4, 6, 9]) if depth is None else depth
        return self._draw.choice([self._number, self._truth])(table, deep)

    def _query(self) -> Query:
        draw = self._draw
        table = Names(self._columns)
        match draw.choice("sssssssshhrrm"):
            case "s":
                low, high = self._range()
                expression = self.expression(table)
                return StatisticalQuery(lambda t: _moved(expression, t), low, high)
            case "h":
                function, levels = self._levels(table)
                return Histogram(function, levels)
            case "r":
                function, levels = self._levels(table) if draw.random() < 0.5 else (None, ())
                low, high = self._range()
                norm = draw.choice([None, 1e-50, 1e-3, 1, 7.5, 1e50])
                return RowSums(self._features(norm), function, levels, low=low, high=high, norm=norm)
        norm = draw.choice([1e-50, 1e-3, 1, 7.5, 1e50])
        return SecondMoments(self._features(norm), norm=norm)

    def _range(self) -> tuple[float, float]:
        ends = [0, 1, -1, 0.1, 1 / 3, 1e-100, -1e-100, 1e-99, 1e-50, 2.0**53, 1e50, 1e100, -1e100, 365.2425]
        low, high = sorted(self._draw.sample(ends, 2))
        return self._draw.choice([(0.0, 1.0), (low, high)])

    def _features(self, norm: float | None) -> tuple[str, ...]:
        known = [*self._numbers, *self._moments, *self._flags]
        small = [name for name in known if not isinstance(self._columns[name], Number) or self._reach(name) < 1e40]
        chosen = small if norm is not None and norm < 1 else known
        return tuple(self._draw.sample(chosen, self._draw.randint(1, min(4, len(chosen)))))

    def _reach(self, name: str) -> float:
        column = self._columns[name]
        assert isinstance(column, Number)
        return max(-column.low, column.high)

    def _levels(self, table: Names) -> tuple[Callable[[Names], list[Expression]], tuple[tuple[Any, ...], ...]]:
        """Write columns and some combinations of their values."""
        given, values = [], []
        for _ in range(self._draw.randint(1, 2)):
            expression, choices = self._levelled_column(table)
            given.append(expression)
            values.append(choices)
        levels = {tuple(self._draw.choice(choices) for choices in values) for _ in range(self._draw.randint(1, 5))}
        kept = [level for place, level in enumerate(levels) if not _repeated(level, list(levels)[:place])]
        return (lambda t: [_moved(each, t) for each in given]), tuple(kept)

    def _levelled_column(self, table: Names) -> tuple[Expression, list[Any]]:
        match self._draw.choice("ltn"):
            case "l":
                name = self._draw.choice(self._levelled)
                column = self._columns[name]
                assert isinstance(column, Levelled)
                return table[name], list(column.classes)
            case "t":
                return self._truth(table, 3), [True, False]
        return self._number(table, 3), [0, 1, -1, 3, 0.25, 1e-100, 1e100, 7]

    def _number(self, table: Names, depth: int) -> Expression:
        draw = self._draw
        if depth <= 0:
            return self._leaf(table)
        one = self._number(table, depth - 1 - draw.randint(0, 1))
        other: Any = draw.choice([self._number(table, depth - 1 - draw.randint(0, 2)), draw.choice(CONSTANTS), one])
        try:
            match draw.randint(0, 14):
                case 0 | 1:
                    return one + other
                case 2:
                    return other - one
                case 3 | 4 | 5:
                    return one * other
                case 6:
                    return one / draw.choice([3, 1e-50, 1e50, -7.5, 1e-100, 1e100])
                case 7:
                    return -one if draw.random() < 0.5 else abs(one)
                case 8 | 9:
                    return one.clip(*sorted(draw.sample([-1e100, -1e50, -2, -1e-100, 0, 1e-100, 0.1, 3, 1e30], 2)))
                case 10 | 11:
                    return self._truth(table, depth - 1).ifelse(one, other)
                case 12:
                    return +self._truth(table, depth - 1)
                case 13:
                    return one ** draw.choice([2, 3])
                case _:
                    return one.clip(-draw.random(), draw.random()) + other * 0.0
        except InvalidParameter:
            # A range that left 1e100: bring it back, as the refusal advises.
            return one.clip(-1e20, 1e20)

    def _leaf(self, table: Names) -> Expression:
        draw = self._draw
        match draw.choice("nnnnmfcy"):
            case "n":
                return table[draw.choice(self._numbers)]
            case "m":
                return table[draw.choice(self._moments)]
            case "f":
                return +table[draw.choice(self._flags)]
            case "c":
                return table[draw.choice(self._levelled)].code
        moment = table[draw.choice(self._moments)]
        return draw.choice([lambda: moment.year, lambda: moment.month, lambda: moment.weekday])()

    def _truth(self, table: Names, depth: int) -> Expression:
        draw = self._draw
        if depth > 0 and draw.random() < 0.6:
            one, other = self._truth(table, depth - 1), self._truth(table, depth - 2)
            return draw.choice([
                lambda: one & other, lambda: one | other, lambda: ~one, lambda: one ^ other, lambda: one == other,
                lambda: one != other, lambda: one.ifelse(other, ~one), lambda: one & True, lambda: False | one,
            ])()  # fmt: skip
        match draw.choice("cccclofmb"):
            case "c":
                one = self._number(table, depth - 1)
                value: Any = draw.choice(
                    [self._number(table, depth - 2), draw.choice(CONSTANTS), draw.choice(CONSTANTS)]
                )
                return draw.choice([
                    lambda: one < value, lambda: one <= value, lambda: one > value, lambda: one >= value,
                    lambda: one == value, lambda: one != value, lambda: one.between(value, 1),
                    lambda: one.isin(draw.sample(CONSTANTS, 3)),
                ])()  # fmt: skip
            case "l":
                return self._membership(table[draw.choice(self._levelled)])
            case "o":
                column = table[draw.choice(self._ordinals)]
                level = draw.choice(column.levels)[0]
                return draw.choice([lambda: column < level, lambda: column >= level, lambda: column <= level])()
            case "f":
                return table[draw.choice(self._flags)] & True
            case "m":
                moment, date = table[draw.choice(self._moments)], draw.choice(DATES)
                return draw.choice(
                    [lambda: moment < date, lambda: moment == date, lambda: moment.between(date, DATES[3])]
                )()
        return table[draw.choice(self._flags)] == draw.choice([True, False])

    def _membership(self, column: Expression) -> Expression:
        levels = [spelled[0] for spelled in column.levels]
        some = self._draw.sample(levels, self._draw.randint(0, len(levels)))
        return self._draw.choice(
            [lambda: column.isin(some), lambda: column != levels[-1], lambda: column == levels[0]]
        )()


def questions(columns: Mapping[str, Column], count: int, seed: int) -> Sequence[Query]:
    """Return some random queries about declared columns."""
    generator = Generator({name: each for name, each in columns.items() if not isinstance(each, Key)}, seed)
    return [generator.query() for _ in range(count)]


def _moved(expression: Expression, table: Names) -> Expression:
    """Return an expression that was written for other names of the same columns."""
    return expression


def _repeated(level: tuple[Any, ...], others: Sequence[tuple[Any, ...]]) -> bool:
    return level in others
