"""How high an expression may be is asked of its text, before anything is charged."""

import pytest

from tacit.data.columns import Number
from tacit.data.dialects import Dialect, DuckDB, PostgreSQL, Spark
from tacit.errors import InvalidParameter
from tacit.sums.language import Names
from tacit.sums.language.sql import Printed


def _sum_of(terms: int):
    column = Names({"x": Number(0.0, 1.0)})["x"]
    return sum((column for _ in range(terms - 1)), start=column)


@pytest.mark.parametrize("dialect", [DuckDB(), PostgreSQL(), Spark()], ids=lambda dialect: dialect.name)
def test_what_is_too_high_for_an_engine_is_refused_by_its_text(dialect: Dialect):
    """A sum as high as an engine can read is printed; one that is higher is refused in words."""
    Printed(dialect, [_sum_of(dialect.highest)], {"x": "x"})
    with pytest.raises(InvalidParameter, match=f"{dialect.highest} operations on top of each other"):
        Printed(dialect, [_sum_of(dialect.highest + 1)], {"x": "x"})


def test_spark_can_read_no_sum_of_500_terms():
    """A sum of 500 terms, over which Spark's optimizer fails once the records are read, is refused before that."""
    with pytest.raises(InvalidParameter, match="Add up in pairs"):
        Printed(Spark(), [_sum_of(500)], {"x": "x"})
