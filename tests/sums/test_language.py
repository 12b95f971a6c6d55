"""The closed language of queries: what can be said, what it means, and that nothing else can be said."""

import datetime
import math
import operator
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pytest

from support.every_column import CELLS, COLUMNS
from tacit.data import Category, Flag, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, StatisticalQuery
from tacit.sums.language import Expression, Names
from tacit.sums.language.evaluate import evaluate
from tacit.sums.record_evaluator import evaluator_for


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


class _Number:
    def __float__(self) -> float:
        raise RuntimeError("no number")


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
    "a moment of Ibis": (
        lambda t: (t.x > 0).ifelse(ibis.literal("3000-01-01", type="timestamp(9)"), 0),
        "constant of type TimestampScalar",
    ),
    "a null": (lambda t: (t.x > 0).ifelse(None, 0), "constant of type NoneType"),
    "clip to a null": (lambda t: t.x.clip(None, ibis.null("float64")), "constant of type FloatingScalar"),
    "clip to not a number": (lambda t: t.x.clip(math.nan, 1), "at most 1e100"),
    "division by what counts as 0": (lambda t: t.x / 5e-324, "by 0"),
    "pattern": (lambda t: t.town.re_search("a"), r"`\.re_search`"),
    "upper case": (lambda t: t.town.upper() == "A", r"`\.upper`"),
    "a large float": (lambda t: t.x * 1.1e100, "at most 1e100"),
    "a range beyond 1e100": (lambda t: t.z * t.z, "Clip its parts"),
    "an object that is no number": (lambda t: t.x + _Number(), "failed"),
    "bytes": (lambda t: t.x == b"1", "constant of type bytes"),
    "window": (lambda t: t.x.lag(1), r"`\.lag`"),
    "a random number": (lambda t: ibis.random() > 0.5, "got BooleanScalar"),
    "choice of levels": (lambda t: (t.x > 0).ifelse(t.town, t.stage), "arithmetic with a column of levels"),
    "several columns": (lambda t: [t.x, t.z], "must give 1 column"),
    "constant": (lambda t: 0.5, "got float"),
    "truth": (lambda t: True, "got bool"),
    "the table": (lambda t: t, "got Names"),
    "failing": (lambda t: 1 // 0, "ZeroDivisionError"),
    "not a function": (7, "got int"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("what", REFUSED)
def test_everything_else_is_refused_with_words_about_what_there_is(what: str, evaluator: Any) -> None:
    """Before any record is touched: an InvalidParameter, whatever Python or numpy would make of it."""
    function, message = REFUSED[what]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidParameter, match=message):
            evaluator.prepare(StatisticalQuery(function))


def test_a_refusal_names_every_operation_there_is() -> None:
    """A person who tried something else can go on from the message."""
    with pytest.raises(InvalidParameter) as caught:
        Names(COLUMNS).x.sqrt()
    for word in ("+ - *", "abs", "clip", "between", "<=", "&", "~", "ifelse", "isin", ".year", ".weekday"):
        assert word in str(caught.value)


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
    function: Any, levels: Any, message: str, evaluator: Any
) -> None:
    """Two levels that are the same value would count a record twice."""
    with pytest.raises(InvalidParameter, match=message):
        evaluator.prepare(Histogram(function, levels))


def test_a_level_may_be_said_in_any_of_its_words() -> None:
    """2, 2.0 and " 2 " are one level; a Flag has several words for each."""
    schema = Schema({"ward": Category([1, 2, "2b"]), "ill": Flag(["no", 0], ["yes", 1])})
    evaluator = evaluator_for(Records({"ward": [2, "2.0", " 2 ", "2b"], "ill": ["yes", 1, "0", True]}, schema))
    for level in (2, 2.0, "2", " 2 ", np.int64(2)):
        (sums,) = evaluator.sums([evaluator.prepare(StatisticalQuery(lambda t, level=level: t.ward == level))])
        assert sums.tolist() == [2]
    (sums,) = evaluator.sums([evaluator.prepare(Histogram(lambda t: t.ill, [0, "yes"]))])
    assert sums.tolist() == [1, 2]
