"""Attacks on records: objects that lie about themselves, and readings that do not belong together."""

from pathlib import Path
from typing import Any

import pytest

from tacit.data import Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries.oracle import StatisticalOracle
from tacit.sums.language.expression import Expression
from tacit.sums.query import Query, RowSums, StatisticalQuery

SCHEMA = Schema({"x": Number(0, 10), "z": Number(0, 10)})


@pytest.fixture
def oracle(tmp_path: Path) -> StatisticalOracle:
    """An oracle over 100 records in a file, so that the engine is one of SQL; x is 3 in all of them."""
    path = tmp_path / "records.csv"
    path.write_text("x,z\n" + "3,1\n" * 100)
    return StatisticalOracle(Records(path, SCHEMA))


def shares(oracle: StatisticalOracle, query: Query) -> float:
    """Return the first sum that an engine gives, which 100 records cannot take above 100 shares."""
    return float(oracle.engine.sums([oracle.engine.prepare(query)])[0][0])


class Text(str):
    """A text that prints itself as SQL."""

    def replace(self, *_: Any) -> str:
        """Say something else."""
        return 'x" * 1e9 + "x'


def test_a_text_of_ones_own_is_the_plain_text_it_holds(oracle: StatisticalOracle) -> None:
    """Claim: no name reaches the engine as its object likes to print itself."""
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
        oracle.preview([StatisticalQuery(forged)], epsilon=1.0) and oracle.engine.prepare(StatisticalQuery(forged))


def test_what_a_function_does_to_its_names_changes_no_range(oracle: StatisticalOracle) -> None:
    """Claim: ranges follow from the declarations, not from what stands in the names after the function was called."""

    def forging(t: Any) -> Any:
        t._columns["x"] = Number(0, 0.1)
        t._known.clear()
        return t.x

    assert shares(oracle, StatisticalQuery(forging)) <= 100.0
