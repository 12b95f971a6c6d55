"""Expressions: values stay in the range that was promised, a text tells questions apart, and nobody can forge one."""

import functools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.every_column import COLUMNS
from tacit.data import Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalQuery
from tacit.sums.language import Expression, Names
from tacit.sums.language.evaluate import Program, evaluate
from tacit.sums.language.expression import MOST_OPERATIONS, number, written
from tacit.sums.language.words import in_words
from tacit.sums.record_evaluator import evaluator_for

NUMBERS = st.recursive(
    st.sampled_from(["t.x", "t.z", "t.small", "t.ill", "t.town.code", "t.seen.month", "0.5", "-3", "1e-60", "1e20"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda part: f"number({part}).clip(-2, 0.7)"),
        inner.map(lambda part: f"abs(number({part}))"),
        st.tuples(inner, inner, inner).map(lambda p: f"(number({p[0]}) > {p[1]}).ifelse({p[1]}, {p[2]})"),
    ),
    max_leaves=12,
)


@given(text=NUMBERS)
def test_values_stay_in_the_range_that_was_promised_and_are_never_subnormal(text: str) -> None:
    """For every cell that a declaration allows: inside [low, high], and 0 or at least `least` from it."""
    try:
        expression = number(eval(text, {"t": Names(COLUMNS), "number": number, "abs": abs}))
    except InvalidParameter as refusal:
        assert "1e100" in str(refusal)  # noqa: PT017
        return
    grid = {
        "x": np.array([-2.0, 3.0, 0.0, 1e-100, -1e-100, 1 / 3]),
        "z": np.array([0.0, 1e60, 1e-100, 1.0, 1e30]),
        "small": np.array([-1e-99, 1e-99, 0.0, 1e-100]),
        "ill": np.array([-1, 0, 1]),
        "town": np.array([-1, 0, 2]),
        "seen": np.array([16436.0, 20088.0, 17000.25]),
    }
    draw = np.random.default_rng(0)
    cells = {name: draw.choice(values, 400) for name, values in grid.items()}
    with np.errstate(all="raise", under="ignore"):
        (values,) = evaluate([expression], cells.__getitem__)
    found = np.broadcast_to(values, 400)
    assert expression.low <= found.min() <= found.max() <= expression.high
    assert -1e100 <= expression.low <= expression.high <= 1e100
    nonzero = np.abs(found[found != 0])
    assert not len(nonzero) or nonzero.min() >= max(expression.least, np.finfo(np.float64).tiny)


def test_ranges_are_exact_for_what_a_person_writes() -> None:
    """Bounds follow from the declared ones, operation by operation."""
    t = Names(COLUMNS)
    ranges = {
        (-2, 3): t.x,
        (-6, 6): t.x * 2 - t.x.clip(0, 1) * 2,
        (0, 9): abs(t.x) ** 2,
        (-6, 9): t.x * t.x,
        (0, 1): number(t.x > 0),
        (-1, 2): t.town.code,
        (2, 3): t.x.clip(2, 9),
        (2015, 2024): t.seen.year.clip(2015, 2024),
        (1, 12): t.seen.month,
        (0, 6): t.seen.weekday,
    }
    for (low, high), expression in ranges.items():
        assert (expression.low, expression.high) == (low, high), written(expression)
    year = t.seen.year
    assert 2014 <= year.low <= 2015 <= 2024 <= year.high <= 2025


def test_a_product_that_might_overflow_is_refused_until_its_parts_are_clipped() -> None:
    """1e60 times 1e60 is beyond 1e100: the message says how far it may reach, and what to do."""
    t = Names(COLUMNS)
    with pytest.raises(InvalidParameter, match=r"may reach 1e\+120.*Clip its parts"):
        t.z * t.z
    assert (t.z.clip(0, 1e40) * t.z).high <= 1e100
    with pytest.raises(InvalidParameter, match="within 1e100"):
        t.x.clip(0, 1) * 1e100 + 1e100


def test_factors_that_are_too_small_count_as_nothing_before_they_are_multiplied() -> None:
    """So no product is subnormal, whatever a processor makes of those; what was large enough is not changed."""
    t = Names(COLUMNS)
    product = t.small * t.small * t.small * t.small
    cells = {"small": np.array([1e-99, -1e-99, 1e-100, 0.0])}
    (values,) = evaluate([product], cells.__getitem__)
    assert values.tolist() == [0.0, 0.0, 0.0, 0.0]
    (values,) = evaluate([t.small * t.small], cells.__getitem__)
    assert values.tolist() == [1e-99 * 1e-99, 1e-99 * 1e-99, 1e-100 * 1e-100, 0.0]
    difference = (t.x - t.x * 1.0) * 1e-60
    (values,) = evaluate([difference], {"x": np.array([1 / 3])}.__getitem__)
    assert values.tolist() == [0.0]


def test_constants_are_plain_floats_when_they_are_written() -> None:
    """numpy's scalars of any precision, whole numbers and fractions are one constant each; what is tiny is 0."""
    t = Names(COLUMNS)
    same = {
        written(t.x > value)
        for value in (3, 3.0, np.float32(3), np.int8(3), np.float64(3), Fraction(3), np.array(3)[()])
    }
    assert len(same) == 1
    assert written(t.x > 1e-101) == written(t.x > 0.0) == written(t.x > -0.0) == written(t.x > -5e-324)
    assert written(t.x > 0.1) != written(t.x > np.nextafter(0.1, 1))


def test_more_operations_than_a_query_may_have_are_refused_before_any_record_is_touched(evaluator: Any) -> None:
    """The number is public, and counted without recursion, however deep they are nested."""

    def long(t: Any, count: int) -> Any:
        value = t.x.clip(0, 1)
        for _ in range(count):
            value = (value + 1).clip(0, 1)
        return value

    assert evaluator.prepare(StatisticalQuery(lambda t: long(t, MOST_OPERATIONS // 3 - 3))).columns
    with pytest.raises(InvalidParameter, match="may have 20000 operations"):
        evaluator.prepare(StatisticalQuery(lambda t: long(t, MOST_OPERATIONS // 3 + 1)))
    # Several questions are answered together whatever they have in all: a refusal now would come after the charge.
    several = [
        evaluator.prepare(StatisticalQuery(lambda t: long(t, MOST_OPERATIONS // 6), high=2 + i)) for i in range(3)
    ]
    assert len(evaluator.sums(several)) == 3


def test_deep_and_shared_expressions_cost_what_they_are_made_of() -> None:
    """A conjunction of 3000 conditions, and 200 doublings of a sum, which written out would never end."""
    columns = {f"x{j}": Number(0, 1) for j in range(3000)}
    evaluator = evaluator_for(Records({name: np.ones(50) for name in columns}, Schema(columns)))

    def everything(t: Any) -> Any:
        condition = t.x0 == 1
        for j in range(1, 3000):
            condition = condition & (t[f"x{j}"] == 1)
        return condition

    def doubled(t: Any) -> Any:
        value = t.x0
        for _ in range(200):
            value = (value + value) / 2
        return value

    for function in (everything, doubled):
        prepared = evaluator.prepare(StatisticalQuery(function))
        assert evaluator.sums([prepared])[0].tolist() == [50]
        assert len(prepared.text) < 300_000
        assert len(in_words(prepared.columns)) <= 200


def test_what_no_later_operation_takes_is_not_held() -> None:
    """Terms added from the left hold two values at once, terms added from the right all of them, and are counted."""
    column = Names(COLUMNS).x
    terms = [column * k for k in range(2, 50)]
    left = functools.reduce(lambda total, term: total + term, terms)
    right = functools.reduce(lambda total, term: term + total, reversed(terms))
    assert (Program([left]).most_held, Program([right]).most_held) == (3, 49)
    cells = np.array([1.0, -2.0])
    assert all(np.array_equal(Program([each]).run(lambda _: cells)[0], cells * 1224) for each in (left, right))


def test_the_text_tells_questions_apart(evaluator: Any) -> None:
    """The same question has the same text; another constant, however near, another column or another range another."""
    functions: list[Callable[[Any], Any]] = [
        lambda t: t.x > 0.1,
        lambda t: t.x > np.nextafter(0.1, 1),
        lambda t: t.z > 0.1,
        lambda t: (t.x > 0.1) & (t.x > 0.1),
        lambda t: (t.x > 0.1) & (t.z > 0.1),
        lambda t: (t.x > 0.1) | (t.z > 0.1),
        lambda t: t.town == "A",
        lambda t: t.town == "B",
        lambda t: t.stage == "I",
        lambda t: t.ill,
        lambda t: t.x.clip(0, 1),
        lambda t: t.x.clip(0, 2),
    ]
    texts = [evaluator.prepare(StatisticalQuery(function)).text for function in functions]
    assert len(set(texts)) == len(texts)
    assert texts == [evaluator.prepare(StatisticalQuery(function)).text for function in functions]
    assert evaluator.prepare(StatisticalQuery(functions[0], high=2)).text not in texts
    assert (
        evaluator.prepare(Histogram(functions[6], [True])).text
        != evaluator.prepare(Histogram(functions[6], [False])).text
    )


def test_what_an_expression_says_of_itself_is_not_believed(evaluator: Any) -> None:
    """A column of another table, or one made by hand, has the range that these records declare, or is refused."""
    narrow = evaluator_for(Records({"x": [2.0], "other": [1.0]}, Schema({"x": Number(0, 1e-6), "other": Number(0, 1)})))
    kept: list[Any] = []
    narrow.prepare(StatisticalQuery(lambda t: kept.extend([t.x, t.other]) or t.x))
    forged = Expression("column", ("x",), "number", 0.0, 1e-9, 1.0)
    for smuggled in (kept[0], forged, forged + 0, Expression("clip", (forged, -2.0, 3.0), "number", 0.0, 1e-9)):
        (column,) = evaluator.prepare(StatisticalQuery(lambda t, smuggled=smuggled: smuggled)).columns
        assert (column.low, column.high) == (-2.0, 3.0)
    for wrong in (
        kept[1],
        Expression("column", ("id",), "number"),
        Expression("sqrt", (forged,), "number"),
        Expression("clip", (forged, math.nan, 1.0), "number"),
        Expression("quotient", (forged, 0.0), "number"),
        Expression("member", (kept[0], (0,)), "truth"),
        Expression("constant", (math.inf,), "number"),
        Expression("number", (), "number"),
    ):
        with pytest.raises(InvalidParameter):
            evaluator.prepare(StatisticalQuery(lambda t, wrong=wrong: wrong))


def test_an_expression_cannot_be_made_to_be_something_else() -> None:
    """It is frozen, is no array, has no length or truth, and what stands for a column is always the same object."""
    t = Names(COLUMNS)
    assert t.x is t["x"]
    with pytest.raises(AttributeError):
        t.x.low = -1e300
    with pytest.raises(TypeError):
        len(t.x)
    with pytest.raises(InvalidParameter):
        np.asarray(t.x)
    with pytest.raises(TypeError):
        float(t.x)
    assert hash(t.x) == hash(t.x)


def test_prepared_questions_survive_a_pickle_with_their_text(evaluator: Any) -> None:
    """An oracle in another process recognises a question that was answered."""
    query = StatisticalQuery(_old)
    prepared = evaluator.prepare(query)
    copied = pickle.loads(pickle.dumps(evaluator))
    assert copied.identity == evaluator.identity
    assert copied.prepare(query).text == prepared.text


def _old(t: Any) -> Any:
    return t.x > 1
