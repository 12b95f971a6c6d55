"""What an engine is: the only part that reads records, and all it gives away are sums over all of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, final

from tacit.accounting.unit import RECORD, Unit
from tacit.data.columns import LARGEST, Column, day_number
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.sums.language import Expression, Names
from tacit.sums.language.expression import constant, is_one_of, number, truth, written
from tacit.sums.language.names import replayed, stands_for
from tacit.sums.query import KINDS, Query, given_by


@final
@dataclass(frozen=True)
class Part:
    """One of `count` disjoint parts of the records, fixed by index or by key."""

    number: int
    count: int


@final
@dataclass(frozen=True)
class Prepared:
    """A query whose function was called before any record was touched.

    `columns` are what the function gave, each a number or a level's place, `levels` the numbers that they are compared
    with, `features` the numbers that are added up; `text` says the question in words that are the same whenever the
    question is the same.
    """

    query: Query
    columns: tuple[Expression, ...]
    levels: tuple[tuple[float, ...], ...]
    features: tuple[Expression, ...]
    text: str


class Engine(ABC):
    """Records somewhere, and a way to add up what they contribute.

    Every contribution is a whole number of steps, so sums are exact and the same in every engine and order.
    """

    n: int
    """The number of records: public."""
    columns: Mapping[str, Column]
    """The declared columns that can be asked about."""
    label: str | None
    """The column that random classification noise is about."""
    labels: tuple[Any, Any]
    """The two labels that this noise exchanges."""
    identity: str
    """A text that names these records and no others."""
    fixed_by: Literal["index", "key"] | None
    """What fixes the part that a record belongs to, or None if the records cannot be split."""

    unit: Unit = RECORD
    """Whom a sum over all protects: `n` counts records, or persons, who contribute the mean over their rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: public."""
        return tuple(self.columns)

    @property
    def split_name(self) -> str:
        """A text that is the same only if every record is in the same part as before."""
        return f"{self.identity} by index"

    def check(self) -> None:
        """Refuse records that are no longer those that were opened, before anything is charged."""
        return

    @abstractmethod
    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Floats]:
        """Return each query's sums over the records (of one part), in shares; `flipped` exchanges the labels."""

    @abstractmethod
    def part_size(self, part: Part) -> int:
        """Return how many records a part has: public, as the parts are fixed by index or by a public key."""

    def prepare(self, query: Query) -> Prepared:
        """Call the query's function with names that stand for columns; touch no record."""
        if type(query) not in KINDS:
            raise InvalidParameter(f"an oracle cannot answer a {type(query).__name__}.")
        query, table = replace(query), Names(self.columns)  # type: ignore[type-var]
        features = tuple(_feature(table, name) for name in getattr(query, "features", ()))
        _check_norm(getattr(query, "norm", None), features)
        # The function gets names of its own: what it does to them changes nothing here.
        given = tuple(replayed(column, table) for column in given_by(query, Names(self.columns)))
        levels = getattr(query, "levels", ())
        columns = tuple(_compared(column) if levels else number(column) for column in given)
        values = tuple(
            tuple(_value(column, value) for column, value in zip(given, level, strict=True)) for level in levels
        )
        if len(set(values)) != len(values):
            raise InvalidParameter("levels must be different, got two that are the same value of the columns.")
        texts = [written(column) for column in (*columns, *features)] + ([repr(values)] if levels else [])
        return Prepared(query, columns, values, features, _text(query, texts))

    def check_labels(self) -> None:
        """Refuse to exchange labels that are not declared, before anything is charged."""
        if self.label is None:
            raise InvalidParameter(
                "noise_rate is about labels: say which column they are in, StatisticalOracle(..., label='y')."
            )
        self.exchanged(stands_for(self.label, self.columns[self.label]))

    def exchanged(self, node: Expression) -> Expression:
        """Return the column of labels with its two labels exchanged."""
        negative, positive = (_value(node, label) for label in self.labels)
        column = _compared(node)
        return (column == positive).ifelse(negative, (column == negative).ifelse(positive, column))


def steps_for(n: int) -> float:
    """Return how many steps a share has: a power of two that leaves room for an exact sum of n shares in a float."""
    return 2.0 ** max(8, min(40, 52 - n.bit_length()))


def _feature(table: Names, name: str) -> Expression:
    column = table[name]
    if column.kind == "level" and not column.is_flag:
        raise InvalidParameter(f"features must be numbers or flags, got the levels of {name!r}. Ask by level instead.")
    return number(column)


def _check_norm(norm: float | None, features: Sequence[Expression]) -> None:
    """Refuse rows whose squares could overflow, by the declared bounds alone."""
    largest = max((max(-feature.low, feature.high) for feature in features), default=0.0)
    if norm is not None and largest / norm > LARGEST:
        raise InvalidParameter(f"norm={norm:g} is too small for features that may reach {largest:g}. Declare bounds.")


def _compared(column: Expression) -> Expression:
    """Return a column that levels can be compared with, as a number."""
    return column.code if column.kind == "level" else number(column)


def _value(column: Expression, value: Any) -> float:
    """Return the number that a level is among the values of `_compared`."""
    if column.kind == "level":
        return float(is_one_of(column, [value]).operands[1][0])
    if column.kind == "truth":
        if value not in (0, 1, False, True):
            raise InvalidParameter(f"a level of a condition is True or False, got {value!r}.")
        return float(truth(bool(value)).operands[0])
    return day_number(value) if column.is_moment else constant(value).low


def _text(query: Query, columns: Sequence[str]) -> str:
    """Return all that a question consists of as one text: equal questions have equal texts."""
    given = [each.name for each in fields(query) if each.init]  # type: ignore[arg-type]
    facts = [f"{name}={getattr(query, name)!r}" for name in given if name not in ("function", "levels")]
    return repr([type(query).__name__, list(columns), facts])
