"""Questions that would be paid for and say nothing are refused in words, before anything is charged."""

import re

import pytest

from tacit import Budget, Ledger, Records, Schema, StatisticalOracle, StatisticalQuery
from tacit.data import Number
from tacit.errors import InvalidParameter

SCHEMA = Schema({"income": Number(0, 16), "share": Number(0, 1)})
TABLE = {"income": [4.0] * 500, "share": [0.25] * 500}


@pytest.fixture
def oracle(tmp_path):
    """An oracle on five hundred incomes, and an account."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="l", budget=Budget(9))
    return StatisticalOracle(Records(TABLE, SCHEMA), ledger=ledger), ledger


def test_a_column_of_numbers_needs_its_range(oracle):
    """Cut to [0, 1] its average would be about 1; with a range, inside it, or compared, it is answered."""
    asked, ledger = oracle
    for function in (lambda t: t.income, "income"):
        with pytest.raises(InvalidParameter, match=re.escape("low=0, high=16")):
            asked.ask(StatisticalQuery(function), epsilon=1.0)
    assert ledger.entries() == []
    assert abs(asked.ask(StatisticalQuery(lambda t: t.income, 0, 16), epsilon=2.0).value - 4) < 1
    assert abs(asked.ask(StatisticalQuery("share"), epsilon=2.0).value - 0.25) < 0.2
    assert asked.ask(StatisticalQuery("income > 2"), epsilon=2.0).value > 0.8


@pytest.mark.parametrize("tolerance", [1e-5, 1e-9, 1e-99])
def test_a_tolerance_that_no_table_keeps_is_refused_in_words(oracle, tolerance):
    """However small it is, what is said is about the records, and not about a number that nobody gave."""
    asked, ledger = oracle
    for ask in (asked.ask, lambda query, **how: asked.preview([query], **how)):
        with pytest.raises(InvalidParameter, match="No number of records would do"):
            ask(StatisticalQuery("income > 2"), tolerance=tolerance)
    with pytest.raises(InvalidParameter, match="records would do with"):
        asked.ask(StatisticalQuery("income > 2"), tolerance=0.001)
    assert ledger.entries() == []
