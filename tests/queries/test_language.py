"""The closed language of queries: what can be said, what it means, and that nothing else can be said."""

import datetime
import math
import operator
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import Category, Column, Flag, Ignored, Key, Moment, Number, Ordinal, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalQuery
from tacit.sums.engines.opening import engine_for
from tacit.sums.language import Expression, Names
from tacit.sums.language.evaluate import evaluate
from tacit.sums.language.expression import MOST_OPERATIONS, number, written
from tacit.sums.language.words import in_words

COLUMNS: dict[str, Column] = {
    "x": Number(-2, 3),
    "z": Number(0, 1e60),
    "small": Number(-1e-99, 1e-99),
    "town": Category(["A", "B", "rest"]),
    "stage": Ordinal(["I", "II", "III"]),
    "ill": Flag("no", ["yes", "ja"]),
    "seen": Moment("2015-01-01", "2024-12-31"),
    "born": Moment("0001-01-01", "9999-12-31"),
}
CELLS: dict[str, Any] = {
    "x": np.array([-2.0, 0.0, 1.0, 3.0]),
    "z": np.array([0.0, 1.0, 1e30, 1e60]),
    "small": np.array([-1e-99, 0.0, 1e-100, 1e-99]),
    "town": np.array([0, 1, 2, -1]),
    "stage": np.array([0, 1, 2, -1]),
    "ill": np.array([0, 1, 1, -1]),
    "seen": np.array([16436.0, 17000.5, 20088.0, 18262.25]),
    "born": np.array([-719162.0, 0.0, 11016.0, 2932896.0]),
}


def _values(function: Callable[[Any], Any]) -> list[Any]:
    """Return what an expression is for the four records above."""
    expression = function(Names(COLUMNS))
    assert type(expression) is Expression
    (found,) = evaluate([expression], CELLS.__getitem__)
    return np.broadcast_to(found, 4).tolist()


MEANINGS: list[tuple[Callable[[Any], Any], list[Any]]] = [
    (lambda t: t.x + 1, [-1, 1, 2, 4]),
    (lambda t: 2 - t["x"], [4, 2, 1, -1]),
    (lambda t: t.x * t.x, [4, 0, 1, 9]),
    (lambda t: np.float64(3) * t.x, [-6, 0, 3, 9]),
    (lambda t: t.x / 2, [-1, 0, 0.5, 1.5]),
    (lambda t: t.x**2 + t.x**3, [-4, 0, 2, 36]),
    (lambda t: -t.x, [2, 0, -1, -3]),
    (lambda t: +t.x, [-2, 0, 1, 3]),
    (lambda t: abs(t.x), [2, 0, 1, 3]),
    (lambda t: t.x.abs(), [2, 0, 1, 3]),
    (lambda t: t.x.clip(-1, 2), [-1, 0, 1, 2]),
    (lambda t: t.x.clip(lower=0.5), [0.5, 0.5, 1, 3]),
    (lambda t: t.x.clip(upper=0.5), [-2, 0, 0.5, 0.5]),
    (lambda t: t.x.clip(5, 7), [5, 5, 5, 5]),
    (lambda t: t.x > 0.5, [False, False, True, True]),
    (lambda t: np.float64(0.5) < t.x, [False, False, True, True]),
    (lambda t: 1 >= t.x, [True, True, True, False]),  # noqa: SIM300
    (lambda t: t.x == 1, [False, False, True, False]),
    (lambda t: t.x != Fraction(1), [True, True, False, True]),
    (lambda t: t.x < t.z, [True, True, True, True]),
    (lambda t: t.x.between(0, 1), [False, True, True, False]),
    (lambda t: t.x.isin([0, 3, 7]), [False, True, False, True]),
    (lambda t: t.x.isin(range(-2, 1)), [True, True, False, False]),
    (lambda t: t.x.isin([]), [False] * 4),
    (lambda t: (t.x > 0.5) & (t.z > 1e40), [False, False, False, True]),
    (lambda t: (t.x > 0.5) | (t.z == 0), [True, False, True, True]),
    (lambda t: (t.x > 0.5) ^ (t.z > 1), [False, False, False, False]),
    (lambda t: ~(t.x > 0.5), [True, True, False, False]),
    (lambda t: (t.x > 0.5) & True, [False, False, True, True]),
    (lambda t: False | (t.x > 0.5), [False, False, True, True]),
    (lambda t: (t.x > 0.5) == t.ill, [True, False, True, False]),
    (lambda t: (t.x > 0.5) == True, [False, False, True, True]),  # noqa: E712
    (lambda t: (t.x > 0) + (t.x > 1), [0, 0, 1, 2]),
    (lambda t: (t.x > 0.5).ifelse(10, t.x), [-2, 0, 10, 10]),
    (lambda t: (t.x > 0.5).ifelse(t.x, True), [1, 1, 1, 3]),
    (lambda t: t.ill.ifelse(t.x > 0, t.x < 0), [True, False, True, False]),
    (lambda t: t.town == "A", [True, False, False, False]),
    (lambda t: t.town != " B ", [True, False, True, True]),
    (lambda t: t.town.isin(["A", "rest"]), [True, False, True, False]),
    (lambda t: t.town.isin({"B", "rest"}), [False, True, True, False]),
    (lambda t: t.town.code, [0, 1, 2, -1]),
    (lambda t: t.stage >= "II", [False, True, True, False]),
    (lambda t: t.stage > "II", [False, False, True, False]),
    (lambda t: t.stage < "II", [True, False, False, False]),
    (lambda t: "II" >= t.stage, [True, True, False, False]),  # noqa: SIM300
    (lambda t: t.stage.between("I", "II"), [True, True, False, False]),
    (lambda t: t.stage == "III", [False, False, True, False]),
    (lambda t: t.ill & (t.x > 2), [False] * 4),
    (lambda t: ~t.ill, [True, False, False, True]),
    (lambda t: t.ill == "ja", [False, True, True, False]),
    (lambda t: t.ill == "no", [True, False, False, False]),
    (lambda t: t.ill == True, [False, True, True, False]),  # noqa: E712
    (lambda t: t.ill == False, [True, False, False, False]),  # noqa: E712
    (lambda t: t.ill.isin(["yes", False]), [True, True, True, False]),
    (lambda t: t.ill * 3 + 1, [1, 4, 4, 1]),
    (lambda t: t.seen > "2016-07-18", [False, True, True, True]),
    (lambda t: t.seen > "2016-07-18T12:00", [False, False, True, True]),
    (lambda t: t.seen >= datetime.date(2016, 7, 18), [False, True, True, True]),
    (lambda t: t.seen == datetime.datetime(2016, 7, 18, 12), [False, True, False, False]),
    (lambda t: t.seen.between("2015-01-01", "2016-12-31"), [True, True, False, False]),
    (lambda t: t.seen.isin(["2015-01-01", datetime.date(2024, 12, 31)]), [True, False, True, False]),
    (lambda t: t.seen - t.born > 20_000, [True, False, False, False]),
    (lambda t: t.seen.year, [2015, 2016, 2024, 2020]),
    (lambda t: t.seen.month, [1, 7, 12, 1]),
    (lambda t: t.seen.weekday, [3, 0, 1, 2]),
    (lambda t: t.born.year == 2000, [False, False, True, False]),
]


@pytest.mark.parametrize(("function", "expected"), MEANINGS)
def test_everything_that_can_be_said_means_what_it_says(function: Any, expected: list[Any]) -> None:
    """Over cleaned cells; a record that has no level is at none, and a flag without a word is not true."""
    assert _values(function) == expected


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "division by a column": (lambda t: 1 / t.x, "division by a column"),
    "division by columns": (lambda t: t.z / t.x, "division by a column"),
    "division by 0": (lambda t: t.x / 0, "by 0"),
    "whole division": (lambda t: t.x // 2, "unsupported operand|not possible"),
    "remainder": (lambda t: t.x % 2, "unsupported operand|not possible"),
    "root": (lambda t: t.x**0.5, "a power other than 2 and 3"),
    "power of a column": (lambda t: 2**t.x, "unsupported operand|not possible"),
    "large power": (lambda t: t.x**4, "a power other than 2 and 3"),
    "square root": (lambda t: t.x.sqrt(), r"`\.sqrt`"),
    "exponential": (lambda t: t.x.exp(), r"`\.exp`"),
    "logarithm": (lambda t: t.x.log(), r"`\.log`"),
    "rounding": (lambda t: round(t.x), "failed|not possible"),
    "whole part": (lambda t: int(t.x), "failed|not possible"),
    "mean": (lambda t: t.x.mean(), r"`\.mean`"),
    "maximum": (lambda t: t.x.max(), r"`\.max`"),
    "missing": (lambda t: t.x.isnull(), r"`\.isnull`"),
    "fill": (lambda t: t.x.fill_null(0), r"`\.fill_null`"),
    "cast": (lambda t: t.x.cast("int64"), r"`\.cast`"),
    "a function of one's own": (lambda t: t.apply(len), "no declared column 'apply'"),
    "applied": (lambda t: t.x.apply(len), r"`\.apply`"),
    "text": (lambda t: t.town.startswith("A"), r"`\.startswith`"),
    "length": (lambda t: len(t.town), "failed|not possible"),
    "place in a text": (lambda t: t.town[0], "failed|not possible"),
    "numpy's function": (lambda t: np.log(t.x), "failed|not possible"),
    "numpy's maximum": (lambda t: np.maximum(t.x, 2), "failed|not possible"),
    "numpy's sum": (lambda t: np.sum(t.x), "failed|not possible"),
    "numpy's sort": (lambda t: np.sort(t.x), "not possible"),
    "numpy's array": (lambda t: np.array([t.x, t.z]), "failed|not possible"),
    "numpy's choice": (lambda t: np.where(t.x > 0, 1, 0), "Python condition|numpy|not possible"),
    "added array": (lambda t: t.x + np.arange(4), "constant of type ndarray"),
    "array in front": (lambda t: np.arange(4) + t.x, "constant of type ndarray"),
    "and": (lambda t: t.x > 0 and t.z > 0, "Python condition"),
    "or": (lambda t: t.x > 0 or t.z > 0, "Python condition"),
    "not": (lambda t: not t.ill, "Python condition"),
    "if": (lambda t: 1 if t.ill else 0, "Python condition"),
    "chained comparison": (lambda t: 0 < t.x < 1, "Python condition"),
    "in": (lambda t: t.town in ("A", "B"), "Python condition"),
    "contains": (lambda t: "A" in t.town, "going through the records"),
    "iteration": (lambda t: list(t.x), "going through the records"),
    "unpacking": (lambda t: operator.add(*t.x), "going through the records"),
    "max of two": (lambda t: max(t.x, t.z), "Python condition"),
    "sum of a list": (lambda t: sum([t.town, t.x]), "arithmetic with a column of levels"),
    "infinity": (lambda t: t.x > math.inf, "at most 1e100"),
    "not a number": (lambda t: t.x + math.nan, "at most 1e100"),
    "a large constant": (lambda t: t.x < 10**400, "at most 1e100"),
    "complex": (lambda t: t.x + 1j, "constant of type complex"),
    "nothing": (lambda t: t.x == None, "constant of type NoneType"),  # noqa: E711
    "text for a number": (lambda t: t.x == "1", "constant of type str"),
    "number for a moment": (lambda t: t.seen > 17_000, "must be a date or time"),
    "no date": (lambda t: t.seen > "soon", "must be a date or time"),
    "no such day": (lambda t: t.seen > "2015-02-30", "must be a date or time"),
    "year of a number": (lambda t: t.x.year, r"`\.year` of something other than a Moment"),
    "hour": (lambda t: t.seen.hour, r"`\.hour`"),
    "undeclared level": (lambda t: t.town == "C", "'C' is no declared level.*'A', 'B', 'rest'"),
    "level in other case": (lambda t: t.town == "a", "no declared level"),
    "undeclared levels": (lambda t: t.town.isin(["A", "C"]), "no declared level"),
    "undeclared grade": (lambda t: t.stage > "IV", "no declared level"),
    "undeclared word": (lambda t: t.ill == "maybe", "no declared level"),
    "truth of a level": (lambda t: t.town == True, "no declared level"),  # noqa: E712
    "levels in an order": (lambda t: t.town > "A", "declare an Ordinal"),
    "flag in an order": (lambda t: t.ill > "no", "declare an Ordinal"),
    "two columns of levels": (lambda t: t.town == t.stage, "comparing columns of levels"),
    "level and number": (lambda t: t.town + 1, "arithmetic with a column of levels"),
    "number and level": (lambda t: t.x < t.town, "arithmetic with a column of levels"),
    "code of a number": (lambda t: t.x.code, r"`\.code` of something"),
    "level as a condition": (lambda t: t.town & (t.x > 0), "in the place of a condition"),
    "number as a condition": (lambda t: t.x & (t.z > 0), "a number in the place of a condition"),
    "constant as a condition": (lambda t: (t.x > 0) | 1, "int in the place of a condition"),
    "inverted number": (lambda t: ~t.x, "a number in the place of a condition"),
    "choice by a number": (lambda t: t.x.ifelse(1, 2), "a number in the place of a condition"),
    "clip to a column": (lambda t: t.x.clip(t.z), "clip to anything but constants"),
    "clip upside down": (lambda t: t.x.clip(2, 1), "lower end below the upper"),
    "isin a column": (lambda t: t.x.isin(t.z), "going through|list of constants"),
    "isin with a column": (lambda t: t.x.isin([1, t.z]), "list of constants"),
    "isin a text": (lambda t: t.town.isin("A"), "list of constants"),
    "column that is not there": (lambda t: t.weight, "no declared column 'weight'; the records have x, z"),
    "misspelt column": (lambda t: t.twon, "did you mean 'town'"),
    "key": (lambda t: t.id, "no declared column 'id'"),
    "ignored": (lambda t: t.note, "no declared column 'note'"),
    "several columns": (lambda t: [t.x, t.z], "must give 1 column"),
    "constant": (lambda t: 0.5, "got float"),
    "truth": (lambda t: True, "got bool"),
    "the table": (lambda t: t, "got Names"),
    "failing": (lambda t: 1 // 0, "ZeroDivisionError"),
    "not a function": (7, "got int"),  # type: ignore[dict-item]
}


@pytest.fixture(scope="module")
def engine() -> Any:
    """Give an engine over two records with all the columns, a key and an ignored one."""
    columns = {**COLUMNS, "id": Key(), "note": Ignored()}
    return engine_for(Records({name: [None, None] for name in columns}, Schema(columns)))


@pytest.mark.parametrize("what", REFUSED)
def test_everything_else_is_refused_with_words_about_what_there_is(what: str, engine: Any) -> None:
    """Before any record is touched: an InvalidParameter, whatever Python or numpy would make of it."""
    function, message = REFUSED[what]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidParameter, match=message):
            engine.prepare(StatisticalQuery(function))


def test_a_refusal_names_every_operation_there_is() -> None:
    """A person who tried something else can go on from the message."""
    with pytest.raises(InvalidParameter) as caught:
        Names(COLUMNS).x.sqrt()
    for word in ("+ - *", "abs", "clip", "between", "<=", "&", "~", "ifelse", "isin", ".year", ".weekday"):
        assert word in str(caught.value)


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
    """So no product is subnormal, which engines treat differently; what was large enough is not changed."""
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


def _calendar(days: list[int]) -> dict[str, list[int]]:
    t = Names(COLUMNS)
    cells = {"born": np.array(days, dtype=np.float64)}
    found = evaluate([t.born.year, t.born.month, t.born.weekday], cells.__getitem__)
    return {what: values.astype(int).tolist() for what, values in zip(("year", "month", "weekday"), found, strict=True)}


@pytest.mark.stats
def test_the_calendar_is_python_s_on_every_single_day() -> None:
    """All 3,652,059 of them, from the year 1 to 9999: nothing is left to chance, so there is no twin."""
    epoch = datetime.date(1970, 1, 1).toordinal()
    for start in range(1, datetime.date.max.toordinal() + 1, 500_000):
        dates = [
            datetime.date.fromordinal(each)
            for each in range(start, min(start + 500_000, datetime.date.max.toordinal() + 1))
        ]
        found = _calendar([date.toordinal() - epoch for date in dates])
        assert found["year"] == [date.year for date in dates]
        assert found["month"] == [date.month for date in dates]
        assert found["weekday"] == [date.weekday() for date in dates]


def test_the_time_of_day_does_not_change_the_day() -> None:
    """A microsecond before midnight it is still the day before, also before 1970; far from now, a tenth of a second."""
    t = Names(COLUMNS)
    for day, late in ((-719162, 1e-6), (-1, 1e-11), (0, 1e-11), (11015, 1e-11), (19782, 1e-11), (2932895, 1e-6)):
        before = _calendar([day])
        cells = {"born": np.array([day + 1 - late])}
        found = evaluate([t.born.year, t.born.month, t.born.weekday], cells.__getitem__)
        assert [int(value[0]) for value in found] == [before[what][0] for what in ("year", "month", "weekday")]


def test_more_operations_than_a_query_may_have_are_refused_before_any_record_is_touched(engine: Any) -> None:
    """The number is public, and counted without recursion, however deep they are nested."""

    def long(t: Any, count: int) -> Any:
        value = t.x.clip(0, 1)
        for _ in range(count):
            value = (value + 1).clip(0, 1)
        return value

    assert engine.prepare(StatisticalQuery(lambda t: long(t, MOST_OPERATIONS // 3 - 3))).columns
    with pytest.raises(InvalidParameter, match="may have 20000 operations"):
        engine.prepare(StatisticalQuery(lambda t: long(t, MOST_OPERATIONS // 3 + 1)))


def test_deep_and_shared_expressions_cost_what_they_are_made_of() -> None:
    """A conjunction of 3000 conditions, and 200 doublings of a sum, which written out would never end."""
    columns = {f"x{j}": Number(0, 1) for j in range(3000)}
    engine = engine_for(Records({name: np.ones(50) for name in columns}, Schema(columns)))

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
        prepared = engine.prepare(StatisticalQuery(function))
        assert engine.sums([prepared])[0].tolist() == [50]
        assert len(prepared.text) < 300_000
        assert len(in_words(prepared.columns)) <= 200


def test_the_text_tells_questions_apart(engine: Any) -> None:
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
    texts = [engine.prepare(StatisticalQuery(function)).text for function in functions]
    assert len(set(texts)) == len(texts)
    assert texts == [engine.prepare(StatisticalQuery(function)).text for function in functions]
    assert engine.prepare(StatisticalQuery(functions[0], high=2)).text not in texts
    assert engine.prepare(Histogram(functions[6], [True])).text != engine.prepare(Histogram(functions[6], [False])).text


@pytest.mark.parametrize(
    ("function", "levels", "message"),
    [
        (lambda t: t.x, [0.0, 1e-140], "the same value"),
        (lambda t: t.x, [2**53, 2**53 + 1], "the same value"),
        (lambda t: t.x, [math.nan], "1e100"),
        (lambda t: t.x, ["a"], "constant of type str"),
        (lambda t: t.x, [None], "constant of type NoneType"),
        (lambda t: t.town, ["A", " A "], "the same value"),
        (lambda t: t.town, ["A", "C"], "no declared level"),
        (lambda t: t.ill, ["yes", "ja"], "the same value"),
        (lambda t: t.ill, [True, "ja"], "the same value"),
        (lambda t: t.x > 0, [True, 1.5], "True or False"),
        (lambda t: t.seen, ["2015-01-01", datetime.date(2015, 1, 1)], "the same value"),
        (lambda t: t.seen, [5], "must be a date or time"),
    ],
)
def test_levels_of_a_histogram_must_be_declared_and_differ(
    function: Any, levels: Any, message: str, engine: Any
) -> None:
    """Two levels that are the same value would count a record twice."""
    with pytest.raises(InvalidParameter, match=message):
        engine.prepare(Histogram(function, levels))


def test_a_level_may_be_said_in_any_of_its_words() -> None:
    """2, 2.0 and " 2 " are one level; a Flag has several words for each."""
    schema = Schema({"ward": Category([1, 2, "2b"]), "ill": Flag(["no", 0], ["yes", 1])})
    engine = engine_for(Records({"ward": [2, "2.0", " 2 ", "2b"], "ill": ["yes", 1, "0", True]}, schema))
    for level in (2, 2.0, "2", " 2 ", np.int64(2)):
        (sums,) = engine.sums([engine.prepare(StatisticalQuery(lambda t, level=level: t.ward == level))])
        assert sums.tolist() == [2]
    (sums,) = engine.sums([engine.prepare(Histogram(lambda t: t.ill, [0, "yes"]))])
    assert sums.tolist() == [1, 2]


def test_what_an_expression_says_of_itself_is_not_believed(engine: Any) -> None:
    """A column of another table, or one made by hand, has the range that these records declare, or is refused."""
    narrow = engine_for(Records({"x": [2.0], "other": [1.0]}, Schema({"x": Number(0, 1e-6), "other": Number(0, 1)})))
    kept: list[Any] = []
    narrow.prepare(StatisticalQuery(lambda t: kept.extend([t.x, t.other]) or t.x))
    forged = Expression("column", ("x",), "number", 0.0, 1e-9, 1.0)
    for smuggled in (kept[0], forged, forged + 0, Expression("clip", (forged, -2.0, 3.0), "number", 0.0, 1e-9)):
        (column,) = engine.prepare(StatisticalQuery(lambda t, smuggled=smuggled: smuggled)).columns
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
            engine.prepare(StatisticalQuery(lambda t, wrong=wrong: wrong))


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


def test_prepared_questions_survive_a_pickle_with_their_text(engine: Any) -> None:
    """An oracle in another process recognises a question that was answered."""
    query = StatisticalQuery(_old)
    prepared = engine.prepare(query)
    copied = pickle.loads(pickle.dumps(engine))
    assert copied.identity == engine.identity
    assert copied.prepare(query).text == prepared.text


def _old(t: Any) -> Any:
    return t.x > 1
