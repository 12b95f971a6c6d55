"""Queries as plain JSON: the same question after the wire, and nothing else gets in."""

import json

import pytest

from support.hostile_tables import SCHEMA, arrow_table
from support.random_expressions import questions
from tacit.data import Records
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, RowSums, SecondMoments, StatisticalQuery
from tacit.sums.language.expression import MOST_OPERATIONS
from tacit.sums.plain import plain_query, query_of
from tacit.sums.record_evaluator import evaluator_for

RECORDS = Records(arrow_table(20, 0), SCHEMA)
EVALUATOR = evaluator_for(RECORDS)


def text(plain: object) -> str:
    """Return the question that plain values stand for, as the evaluator sees it."""
    return EVALUATOR.prepare(query_of(json.loads(json.dumps(plain)))).text


def test_random_questions_of_the_whole_language_are_the_same_after_the_wire():
    """Operations, constants to their last bit, levels, bounds and norms: the evaluator is asked the same text."""
    asked = questions(RECORDS.columns, 600, 7)
    assert {type(query) for query in asked} == {StatisticalQuery, Histogram, RowSums, SecondMoments}
    for query in asked:
        assert text(plain_query(query, RECORDS.columns)) == EVALUATOR.prepare(query).text


def test_a_text_asks_what_the_function_asks():
    """`f > 3 and i < 7`, and the same written in Python."""
    asked = StatisticalQuery(lambda t: (t.f > 3) & (t.i < 7))
    assert text({"mean": "f > 3 and i < 7"}) == EVALUATOR.prepare(asked).text
    assert EVALUATOR.prepare(StatisticalQuery("f > 3 and i < 7")).text == EVALUATOR.prepare(asked).text


def test_what_is_used_twice_is_written_once():
    """A square of a square of a square has as many steps as operations, not as many as a tree of it has leaves."""

    def power(t):
        value = t.f.clip(-1, 1)
        for _ in range(200):
            value = value * value
        return value

    plain = plain_query(StatisticalQuery(power), RECORDS.columns)
    assert len(plain["mean"]) < 700
    assert text(plain) == EVALUATOR.prepare(StatisticalQuery(power)).text


COLUMN = ["column", "f"]


@pytest.mark.parametrize("plain", [
    None, [], "f > 3", 7, {}, {"mean": None}, {"mean": []}, {"mean": {}}, {"mean": 3}, {"mean": [[]]}, {"mean": ["f"]},
    {"mean": [COLUMN], "histogram": [[COLUMN]]}, {"mean": [COLUMN], "norm": 1}, {"mean": [COLUMN], "low": "0"},
    {"mean": [COLUMN], "low": float("nan")}, {"mean": [COLUMN], "high": 10**400}, {"mean": [COLUMN], "low": True},
    {"mean": [["column", "nobody's"]]}, {"mean": [["column", 3]]}, {"mean": [["column"]]}, {"mean": [["eval", "1"]]},
    {"mean": [["+", 0, 0]]}, {"mean": [COLUMN, ["+", 0, 1]]}, {"mean": [COLUMN, ["+", 0, -1]]},
    {"mean": [COLUMN, ["+", 0, True]]}, {"mean": [COLUMN, ["+", 0, 0.0]]}, {"mean": [COLUMN, ["+", 0]]},
    {"mean": [["constant", float("inf")]]}, {"mean": [["constant", "1"]]}, {"mean": [["constant", 10**400]]},
    {"mean": [COLUMN, ["clip", 0, 3, 1]]}, {"mean": [COLUMN, ["clip", 0, None, 1]]},
    {"mean": [COLUMN, ["member", 0, [1]]]}, {"mean": [["column", "c"], ["member", 0, [99999]]]},
    {"mean": [["column", "c"], ["member", 0, [True]]]}, {"mean": [COLUMN, ["quotient", 0, 3]]},
    {"mean": [COLUMN, ["and", 0, 0]]}, {"mean": [COLUMN] * (MOST_OPERATIONS + 1)}, {"mean": "(" * 5000},
    {"mean": "not " * 2000 + "f > 3"}, {"mean": "__import__('os')"}, {"mean": "f.__class__"}, {"mean": "f" * 20_000},
    {"mean": "1e99 * f * f"}, {"histogram": [], "levels": [1]}, {"histogram": "f"}, {"histogram": "f", "levels": []},
    {"histogram": "f", "levels": [[[]]]}, {"histogram": "f", "levels": [None]}, {"histogram": "f", "levels": [1, 1]},
    {"histogram": "f", "levels": [[1, 2]]}, {"histogram": ["f", "f"], "levels": [1]}, {"histogram": [3], "levels": [1]},
    {"row_sums": "f"}, {"row_sums": []}, {"row_sums": ["f", "f"]}, {"row_sums": [1]}, {"row_sums": ["f"], "by": ["i"]},
    {"row_sums": ["f"], "levels": [1]}, {"second_moments": ["f"], "norm": 0}, {"second_moments": ["f"], "low": 0},
    {"second_moments": ["c"], "norm": 1},
])  # fmt: skip
def test_what_is_no_question_is_refused_in_plain_words(plain):
    """Whatever a stranger sends is refused as input, before any record, without a failure of another kind."""
    with pytest.raises(InvalidParameter):
        EVALUATOR.prepare(query_of(plain))
