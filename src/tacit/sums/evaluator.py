"""The evaluator: the only part that adds up what records contribute; sums over all of them are all it gives away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, final

import numpy as np
from scipy import sparse

from tacit.accounting.unit import RECORD, Unit
from tacit.data.columns import LARGEST, Column, day_number
from tacit.data.parts import share_of_keys
from tacit.data.store.lots import ROWS_OF_OWNER
from tacit.data.store.store import Block, View
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Integers
from tacit.numerics.threads import threads
from tacit.sums.block_cells import Cells
from tacit.sums.block_sums import Prepared, block_sums, in_shares, rows_at_once
from tacit.sums.language import Expression, Names
from tacit.sums.language.expression import constant, inner_first, is_one_of, number, truth, written
from tacit.sums.language.names import replayed, stands_for
from tacit.sums.query import KINDS, Query, given_by

FixedBy = Literal["index", "key"]


@final
@dataclass(frozen=True)
class Part:
    """One of `count` disjoint parts of the records, fixed by index or by key."""

    number: int
    count: int


@final
class Evaluator:
    """Records, and a way to add up what they contribute.

    Guarantee: every contribution is a whole number of steps, so sums are exact and the same in every order.
    Assumes: `n`, the columns and the labels are public.
    Reference: queries/oracle/oracle.md.

    `label` is the column that random classification noise is about, `labels` are the two labels that it exchanges,
    `identity` names these records and no others, and `fixed_by` says what fixes the part that a record belongs to, None
    if they cannot be split. `unit` says whom a sum protects: `n` counts records, or persons.
    """

    def __init__(
        self,
        source: View | Cells,
        n: int,
        columns: Mapping[str, Column],
        *,
        label: str | None,
        labels: tuple[Any, Any],
        identity: str,
        fixed_by: FixedBy | None = "index",
        key: str | None = None,
        unit: Unit = RECORD,
    ) -> None:
        self._source, self.n, self.columns = source, n, dict(columns)
        self.label, self.labels, self.identity = label, labels, identity
        # Parts by index would cut persons in two.
        self.unit, self.fixed_by, self._key = unit, fixed_by if unit == RECORD else None, key

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: public."""
        return tuple(self.columns)

    @property
    def split_name(self) -> str:
        """A text that is the same only if every record is in the same part as before."""
        # Parts by one key overlap with those by another.
        return f"{self.identity} by {self.fixed_by}" + (f" {self._key!r}" if self.fixed_by == "key" else "")

    def part_size(self, part: Part) -> int:
        """Return how many records a part has: public, as the parts are fixed by index or by a public key."""
        if self.fixed_by == "index":
            return len(range(part.number, self.n, part.count))
        assert isinstance(self._source, View)
        keys = self._source.column(str(self._key))
        return int(np.count_nonzero(share_of_keys(keys, part.count) == part.number))

    def sums(self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None) -> list[Floats]:
        """Return each query's sums over the records (of one part), in shares; `flipped` exchanges the labels."""
        # What works on cells may be sent to the nodes of a cluster: it holds nothing but what it needs.
        n, label = self.n, str(self.label)
        node = stands_for(label, self.columns[label]) if flipped else None
        exchange, is_level = None if node is None else self.exchanged(node), node is not None and node.kind == "level"

        def work(cells: Cells) -> list[Integers]:
            seen = cells if exchange is None else cells.exchanged(label, exchange, is_level=is_level)
            return [block_sums(prepared, seen, n) for prepared in queries]

        roots = [root for each in queries for root in (*each.columns, *each.features)]
        asked = [each.operands[0] for each in inner_first(roots) if each.operation == "column"]
        names = tuple(dict.fromkeys([*asked, *([label] if flipped else [])]))
        whole = self._summed(work, names, part)
        persons = self.unit != RECORD
        return [
            in_shares(each.query, total, self.n, of_persons=persons) for each, total in zip(queries, whole, strict=True)
        ]

    def _summed(
        self, work: Callable[[Cells], list[Integers]], names: Sequence[str], part: Part | None
    ) -> list[Integers]:
        """Return the sums of what some work makes of each block of rows."""
        source = self._source
        if isinstance(source, Cells):
            some = source if part is None else source.chosen(slice(part.number, None, part.count))
            most = some.rows if sparse.issparse(some.array) else rows_at_once(len(some.features))
            bounds = [(start, min(start + most, some.rows)) for start in range(0, some.rows, most)]
            with threads(some.rows * max(1, len(names))) as workers:
                return workers.added(lambda each: work(some.chosen(slice(*each)) if len(bounds) > 1 else some), bounds)
        beside = [] if source.persons is None else [ROWS_OF_OWNER]
        key = [str(self._key)] if part is not None and self.fixed_by == "key" else []
        wanted = tuple(dict.fromkeys([*names, *beside, *key]))

        def read(block: Block, start: int, stop: int) -> list[Integers]:
            cells = Cells(block, stop - start, block[ROWS_OF_OWNER] if beside else None)
            if part is None:
                return work(cells)
            numbers = np.arange(start, stop) % part.count if not key else share_of_keys(block[key[0]], part.count)
            return work(cells.chosen(numbers == part.number))

        return source.sum(read, wanted, rows_at_once(len(wanted)))

    def prepare(self, query: Query) -> Prepared:
        """Call the query's function with names that stand for columns; touch no record."""
        if type(query) not in KINDS:
            raise InvalidParameter(f"an oracle cannot answer a {type(query).__name__}.")
        query, table = replace(query), Names(self.columns)  # type: ignore[type-var]
        features = tuple(_feature(table, name) for name in getattr(query, "features", ()))
        norm, largest = getattr(query, "norm", None), max((max(-each.low, each.high) for each in features), default=0.0)
        if norm is not None and largest / norm > LARGEST:
            # Squares of rows could overflow, by the declared bounds alone.
            raise InvalidParameter(
                f"norm={norm:g} is too small for features that may reach {largest:g}. Declare bounds."
            )
        # The function gets names of its own: what it does to them changes nothing here.
        given = tuple(replayed(column, table) for column in given_by(query, Names(self.columns)))
        levels = getattr(query, "levels", ())
        columns = tuple(_compared(column) if levels else number(column) for column in given)
        values = tuple(
            tuple(_value(column, value) for column, value in zip(given, level, strict=True)) for level in levels
        )
        if len(set(values)) != len(values):
            raise InvalidParameter("levels must be different, got two that are the same value of the columns.")
        if hasattr(query, "function"):
            # Nobody calls it again, and what it holds of its caller's could not be sent to a cluster.
            object.__setattr__(query, "function", None)
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


def _feature(table: Names, name: str) -> Expression:
    column = table[name]
    if column.kind == "level" and not column.is_flag:
        raise InvalidParameter(f"features must be numbers or flags, got the levels of {name!r}. Ask by level instead.")
    return number(column)


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
