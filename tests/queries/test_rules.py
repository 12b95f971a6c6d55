"""What may be asked of a table: total operations on one record; everything else is refused before a look at it."""

from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalQuery
from tacit.queries.engine import Engine
from tacit.queries.sources import engine_for

RECORDS = pa.table(
    {
        "age": pa.array([61, 40, None], pa.int32()),
        "pay": pa.array([1e6, 0.0, float("nan")]),
        "name": pa.array(["Ann", "Bob", None]),
        "ill": pa.array([True, False, None]),
        "day": pa.array([0, 1, 2], pa.date32()),
        "list": pa.array([[1], [2], None], pa.list_(pa.int64())),
    }
)
OTHER = ibis.table({"age": "int64"}, name="records")


@pytest.fixture(scope="module")
def gone() -> tuple[Engine, Any]:
    """Give an engine whose records were dropped after they were counted: whoever looks at them fails."""
    connection = ibis.duckdb.connect()
    table = connection.create_table("records", RECORDS)
    engine = engine_for(table)
    connection.drop_table("records")
    return engine, table


@ibis.udf.scalar.python
def shout(text: str) -> str:
    """Say it louder."""
    return text + "!"


def _deep(t: Any) -> Any:
    condition = t.age > 0
    for number in range(5000):
        condition = condition & (t.age > number)
    return condition


def _wide(t: Any) -> Any:
    value = t.pay
    for _ in range(60):
        value = value + value
    return value


REFUSED: dict[str, tuple[Any, str]] = {
    "a mean": (lambda t: t.pay.mean(), "Mean"),
    "a comparison with a mean": (lambda t: t.pay > t.pay.mean(), "Mean"),
    "a maximum": (lambda t: t.pay - t.pay.max(), "Max"),
    "a count": (lambda t: t.count(), "CountStar"),
    "a window": (lambda t: t.pay.sum().over(ibis.window(group_by=t.age)), "Sum|Window"),
    "the record before": (lambda t: t.pay.lag(), "Lag"),
    "a row number": (lambda t: ibis.row_number(), "RowNumber"),
    "a subquery": (lambda t: t.age.isin(t.filter(t.pay > 1).age), "another table|InSubquery"),
    "a filtered table": (lambda t: t.filter(t.age > 1).pay, "made from this one"),
    "coins": (lambda t: ibis.random() > 0.5, "RandomScalar"),
    "the clock": (lambda t: ibis.now().cast("date") > t.day, "TimestampNow|conversion"),
    "a Python function": (lambda t: shout(t.name) == "Ann!", "shout"),
    "another table": (lambda t: OTHER.age > 1, "another table"),
    "a missing column": (lambda t: t.salary > 1, "salary"),
    "two columns": (lambda t: [t.age, t.pay], r"1 column\(s\), got 2"),
    "a constant": (lambda t: 0.5, "got float"),
    "nothing": (lambda t: None, "got NoneType"),
    "a text": (lambda t: t.name, "string"),
    "a date": (lambda t: t.day, "date"),
    "a list": (lambda t: t.list.length(), "array"),
    "kinds mixed": (lambda t: t.ill.ifelse(t.name, "x").fill_null(t.name) == t.age.cast("string"), "conversion"),
    "a text as a number": (lambda t: t.name.cast("float64"), "string as a number"),
    "a float as an integer": (lambda t: t.pay.cast("int64"), "conversion"),
    "an order of texts": (lambda t: t.name > "B", "order of texts"),
    "another power": (lambda t: t.pay**0.5, "power"),
    "a power that is a column": (lambda t: t.pay**t.age, "power"),
    "another remainder": (lambda t: t.age % t.age, "remainder"),
    "another logarithm": (lambda t: t.pay.log(2), "base"),
    "rounding to digits": (lambda t: t.pay.round(2), "digits"),
    "a constant that is no number": (lambda t: t.pay > float("nan"), "constant"),
    "an infinite constant": (lambda t: t.pay > float("inf"), "constant"),
    "a tiny constant": (lambda t: t.pay > 1e-200, "constant"),
    "too many factors": (lambda t: t.pay**3 * t.pay**3 * t.pay**3 * t.pay**3, "factors"),
    "a quotient of tiny numbers": (lambda t: 1 / (t.pay**3 * t.pay**3), "factors"),
    "too many operations": (_wide, "operations"),
    "too deep": (_deep, "deep"),
    "a failure": (lambda t: 1 / 0, "ZeroDivisionError"),
    "a wrong method": (lambda t: t.pay.frobnicate(), "frobnicate"),
    "a branch": (lambda t: 1 if t.pay > 0 else 0, "failed|got int"),
    "an integer that Ibis has no type for": (lambda t: t.age > 10**30, "failed"),
    "a name": ("age", "got str"),
    "a bitwise operation": (lambda t: (t.age & 1) == 1, "BitwiseAnd"),
    "a hash": (lambda t: t.name.hash() % 2 == 0, "Hash"),
    "a regular expression": (lambda t: t.name.re_search("(a+)+$"), "RegexSearch"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_can_fail_or_looks_at_several_records_is_refused_without_a_look(
    what: str, gone: tuple[Engine, Any]
) -> None:
    """The message says what, and the records, which are not there any more, were not missed."""
    function, message = REFUSED[what]
    with pytest.raises(InvalidParameter, match=message):
        gone[0].prepare(StatisticalQuery(function))


BAD_QUERIES: list[tuple[Query, str]] = [
    (Histogram(lambda t: t.age, ["sixty"]), "level of type str"),
    (Histogram(lambda t: t.name, [1]), "level of type int"),
    (Histogram(lambda t: t.ill, [2]), "level of type int"),
    (Histogram(lambda t: t.age, [None]), "level of type NoneType"),
    (Histogram(lambda t: t.pay, [float("nan")]), "at most 1e30"),
    (Histogram(lambda t: t.age, [2**53, 2**53 + 1]), "the same value"),
    (Histogram(lambda t: t.pay, [0.0, 1e-40]), "the same value"),
    (Histogram(lambda t: [t.age], [(1, 2)]), r"2 column\(s\), got 1"),
    (RowSums(("age", "salary")), "no column 'salary'"),
    (RowSums(("age", "name")), "string as a number"),
    (SecondMoments(("age", "day")), "date as a number"),
]


@pytest.mark.parametrize(("query", "message"), BAD_QUERIES)
def test_levels_and_features_must_fit_the_columns(query: Query, message: str, gone: tuple[Engine, Any]) -> None:
    """Levels that are the same value would count a record twice; others would need conversions that can fail."""
    with pytest.raises(InvalidParameter, match=message):
        gone[0].prepare(query)


def test_a_failure_of_the_function_is_chained(gone: tuple[Engine, Any]) -> None:
    """No record was touched, so the original may be shown."""
    with pytest.raises(InvalidParameter, match="no record was touched") as caught:
        gone[0].prepare(StatisticalQuery(lambda t: {}["x"]))
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "asked",
    [
        lambda t: t.age > 60,
        lambda t: [t.age > 60],
        ibis._.age > 60,
        lambda t: ibis._.age > 60,
        [ibis._.age > 60],
    ],
)
def test_functions_deferred_expressions_and_lists_ask_the_same(asked: Any) -> None:
    """All of them count the one record, and have the same text."""
    engine = engine_for(RECORDS)
    prepared = engine.prepare(StatisticalQuery(asked))
    assert engine.sums([prepared])[0].tolist() == [1]
    assert prepared.text == engine.prepare(StatisticalQuery(lambda t: t.age > 60)).text


def test_a_ready_expression_over_the_table_asks_the_same() -> None:
    """It is taken from the table to its columns, and refused if it is another table's."""
    table = ibis.duckdb.connect().create_table("records", RECORDS)
    engine = engine_for(table)
    prepared = engine.prepare(StatisticalQuery((table.age > 60) & table.ill))
    assert engine.sums([prepared])[0].tolist() == [1]
    with pytest.raises(InvalidParameter, match="another table"):
        engine.prepare(StatisticalQuery(OTHER.age > 60))


def test_the_text_tells_questions_apart() -> None:
    """The same question has the same text; another constant, however near, another."""
    engine = engine_for(RECORDS)

    def text(function: Any, **options: Any) -> str | None:
        return engine.prepare(StatisticalQuery(function, **options)).text

    assert text(lambda t: t.pay > 0.1) == text(lambda t: t.pay > 0.1)
    others = [
        text(lambda t: t.pay > 0.1),
        text(lambda t: t.pay > np.nextafter(0.1, 1)),
        text(lambda t: t.pay >= 0.1),
        text(lambda t: t.pay > 0.1, high=2),
        text(lambda t: t.pay > 0.1, missing=1),
        text(lambda t: t.name == "a"),
        text(lambda t: t.name == "A"),
        text(lambda t: t.name == "a'; --"),
    ]
    assert len(set(others)) == len(others)


def test_a_conjunction_of_a_hundred_columns_is_not_too_deep() -> None:
    """Learners ask such questions."""
    engine = engine_for({f"x{j}": [0, 1, 1] for j in range(100)})

    def everything(t: Any) -> Any:
        condition = t.x0 == 1
        for j in range(1, 100):
            condition = condition & (t[f"x{j}"] == 1)
        return condition

    assert engine.sums([engine.prepare(StatisticalQuery(everything))])[0].tolist() == [2]
