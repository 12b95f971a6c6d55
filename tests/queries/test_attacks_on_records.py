"""Attacks on records: objects that lie about themselves, and readings that do not belong together."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.budget import Budget
from tacit.data import Key, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.queries.oracle.rounds import Rounds
from tacit.queries.oracle.session import Session
from tacit.sums.language.expression import Expression
from tacit.sums.query import Histogram, Query, RowSums, StatisticalQuery

SCHEMA = Schema({"x": Number(0, 10), "z": Number(0, 10)})
LABELLED = Schema({"x": Number(0, 10), "y": Number(0, 1)}, target="y")


@pytest.fixture
def oracle() -> StatisticalOracle:
    """An oracle over 100 records; x is 3 in all of them."""
    return StatisticalOracle(Records({"x": [3] * 100, "z": [1] * 100}, SCHEMA))


def shares(oracle: StatisticalOracle, query: Query) -> float:
    """Return the first sum that the evaluator gives, which 100 records cannot take above 100 shares."""
    return float(oracle.evaluator.sums([oracle.evaluator.prepare(query)])[0][0])


class Text(str):
    """A text that prints itself as another."""

    def replace(self, *_: Any) -> str:
        """Say something else."""
        return 'x" * 1e9 + "x'


def test_a_text_of_ones_own_is_the_plain_text_it_holds(oracle: StatisticalOracle) -> None:
    """Claim: no name reaches the evaluator as its object likes to print itself."""
    assert shares(oracle, StatisticalQuery(lambda t: t[Text("x")], 0, 10)) == 30.0
    assert shares(oracle, RowSums((Text("x"),), low=0, high=10)) == 30.0


class Subclass(Expression):  # type: ignore[misc]
    """An expression that is not replayed because its type is another."""


class Coded:
    """Something whose `code` claims a range that it does not have."""

    code = Expression("column", ("x",), "number", 0.0, 0.1)


class Divisor(float):
    """A number that is equal to every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize(
    "forged",
    [
        lambda t: Expression("+", (Subclass("column", ("x",), "number", 0.0, 0.1), 1.0), "number"),
        lambda t: Expression("code", (Coded(),), "number"),
        lambda t: Expression("code", ("x",), "number"),
        lambda t: Expression("quotient", (t.x, Divisor(0.0)), "number"),
        lambda t: Expression("quotient", (t.x, 0.0), "number"),
    ],
)
def test_operands_that_lie_are_refused(oracle: StatisticalOracle, forged: Any) -> None:
    """Claim: an expression is of plain operands and expressions all the way down; none is taken at its word."""
    with pytest.raises(InvalidParameter):
        oracle.preview([StatisticalQuery(forged)], epsilon=1.0) and oracle.evaluator.prepare(StatisticalQuery(forged))


def test_what_a_function_does_to_its_names_changes_no_range(oracle: StatisticalOracle) -> None:
    """Claim: ranges follow from the declarations, not from what stands in the names after the function was called."""

    def forging(t: Any) -> Any:
        t._columns["x"] = Number(0, 0.1)
        t._known.clear()
        return t.x

    assert shares(oracle, StatisticalQuery(forging)) <= 100.0


class Changing(list[Query]):
    """A list that holds a cheap histogram at the first looks, and dear means at the later ones."""

    looks = 0

    def __iter__(self) -> Iterator[Query]:
        self.looks += 1
        return iter([Histogram(lambda t: t.x, tuple(range(8)))]) if self.looks < 3 else super().__iter__()


def test_what_is_asked_is_what_was_charged_for(oracle: StatisticalOracle) -> None:
    """Claim: a list of queries is looked at once, so that the noise belongs to the very queries that are answered."""
    dear: list[Query] = [StatisticalQuery(lambda t: t.x)] * 8
    with Session(oracle, Budget(1.0), [dear, dear]) as session:
        told = session.ask(0, Changing(dear))
    assert len(told.values) == len(oracle.ask_all(Changing(dear), epsilon=1.0)) == 1


class Fewer(int):
    """A number of rounds that is another one in arithmetic than it is."""

    def __rtruediv__(self, other: Any) -> Any:
        return 1.0

    def __rmul__(self, other: Any) -> Any:
        return 1


def test_the_number_of_rounds_is_a_plain_number() -> None:
    """Claim: what is charged for rounds and what is drawn in them is computed from the same number."""
    rounds = Rounds(Budget(1.0), "laplace", Fewer(2), Fewer(5))
    assert type(rounds.count) is type(rounds.size) is int
    assert (rounds.count, rounds.size) == (2, 5)


class Stretched(StatisticalQuery):  # type: ignore[misc]
    """A query whose range is another at every look."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "high":
            Stretched.looks += 1
            return 1.0 if Stretched.looks % 2 else 1e-6
        return super().__getattribute__(name)


def test_a_query_of_ones_own_is_not_asked_in_a_conversation(oracle: StatisticalOracle) -> None:
    """Claim: the evaluator sees no query that is not one of the library's four, whichever way it came."""
    with pytest.raises(InvalidParameter, match="Stretched"):
        oracle.conversation(2, epsilon=1.0, plan="rounded").ask(Stretched(lambda t: t.x))


class Rate(float):
    """A rate that makes the answer a thousand times as large."""

    def __rsub__(self, other: float) -> float:
        return 1000.0


def test_a_rate_of_ones_own_does_not_scale_the_sums(oracle: StatisticalOracle) -> None:
    """Claim: sums are combined with the plain number that the noise was planned with."""
    asked = StatisticalOracle(Records({"x": [1.0] * 50, "y": [0] * 50}, LABELLED), labels=(0, 1))
    (answer,) = asked.ask_all([StatisticalQuery(lambda t: t.x.clip(0, 1))], epsilon=1e4, noise_rate=Rate(0.1))
    assert abs(answer.value - 1.0) < 0.1


@pytest.mark.parametrize("value", [0.0, 3.3])
def test_a_tiny_rate_fails_for_no_records(value: float) -> None:
    """Claim: whether an answer comes does not depend on records, whatever numpy was told to raise.

    Products of a subnormal rate underflow exactly if a sum is not 0.
    """
    asked = StatisticalOracle(Records({"x": [value] * 50, "y": [0] * 50}, LABELLED), labels=(0, 1))
    with np.errstate(all="raise"):
        asked.ask(StatisticalQuery(lambda t: t.x, 0, 10), epsilon=1.0, noise_rate=1e-310)


class Ranked(Number):  # type: ignore[misc]
    """A column that cleans each cell by a look at all others."""

    def clean(self, values: Any) -> Any:
        """Tell where the largest value is."""
        return np.where(values == np.max(values), self.high, self.low), np.zeros(len(values), dtype=np.int8)


def test_a_column_of_ones_own_is_no_declaration() -> None:
    """Claim: a schema has the library's columns alone, each of which cleans a cell by that cell."""
    with pytest.raises(InvalidParameter, match="maps names to"):
        Schema({"x": Ranked(0, 1)})


def test_rows_of_sqlite_are_not_split_by_their_place(tmp_path: Path) -> None:
    """Claim: parts are fixed by index only where no value decides the order.

    SQLite gives rows by their primary key: one record with another key would move hundreds to another part.
    """
    path = tmp_path / "records.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(number, 0.5) for number in range(100)])
    schema = Schema({"id": Key(), "x": Number(0, 1)})
    plain, keyed = (Records((f"sqlite:///{path}", "t"), schema, key=key) for key in (None, "id"))
    for records in (plain, keyed):
        with pytest.raises(InvalidParameter, match="no fixed place"):
            records.split()
    with pytest.raises(InvalidParameter, match="split"):
        StatisticalOracle(plain).conversation(2, epsilon=1.0, plan="split")
    assert StatisticalOracle(keyed).evaluator.fixed_by == "key"
    assert sum(part.n for part in keyed.split(by="key")) == 100
