"""What a text means: one grammar for numbers and one for moments, total, rounded once, the same at any speed."""

import datetime
import math
import random
import struct
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.statistical import sample_size
from tacit.data import Category, Flag, Key, Moment, Number
from tacit.data.arrow_cells import clean_arrow, numbers_of_texts
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.values import MISSING_KEY, numbers, objects
from tacit.errors import InvalidParameter

FORMS = [
    STANDARD,
    FileForm(decimal=","),
    FileForm(missing=["NA", "-", "-99", "k.A."]),
    FileForm(decimal=",", missing=["-1,5", "-99"]),
    FileForm(decimal=",", thousands="."),
    FileForm(thousands=" "),
]
ODD = [
    "", " ", "\t", "+", "-", ".", ",", "e", "E5", "1e", "1e+", "--1", "+-1", "1 2", "1_000", "0x10", "nan", "NaN",
    "-nan", "inf", "-inf", "Infinity", "infinity", "1.2.3", "1,2", "1.", ".5", ",5", "-.5", "+5", "00.5", "-0", "1e5",
    "1E+05", "1e-05", "1e400", "-1e400", "1e-400", "1e99999999999999999999", "-1e-99999999999999999999",
    "0e99999999999999999999", "1" * 400, "0" * 400 + "1", "0." + "0" * 400 + "1", " 7 ", "\n8\r\n", "\f9\v",
    "\u00a05", "5\u2003", "٣", "２", "1\0", "\0", "2000-01-01", "1.000", "1.000,5", "12.34", "1 000", "1.0000",
    "1.000.000", ".000", "NA", "-99", " -99", "k.A.", "-1,5", "true", "1f", "1d", "∞", "1e5e5", "9007199254740993",
    "9007199254740992.99999999999999999999", "9007199254740993.00000000000000000001", "1.7976931348623157e308",
    "1.7976931348623158e308", "1.7976931348623159e308", "4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "2.2250738585072011e-308", "6929495644600919.5", "3.2e-200" + "0", "1" + "0" * 22,
    "8.5e22", "123456789012345678901234567890e-20",
]  # fmt: skip


def doubles(draw: random.Random, count: int) -> list[str]:
    """Return numbers that are hard to round: any double, ends of its interval, and a digit beyond them."""
    texts = []
    with localcontext() as context:
        context.prec = 1200
        while len(texts) < count:
            (value,) = struct.unpack("d", draw.randbytes(8))
            if not math.isfinite(value):
                continue
            kind = draw.randrange(5)
            if kind == 0:
                texts.append(repr(value))
            elif kind == 1:
                texts.append(f"{value:.{draw.randrange(1, 40)}e}")
            elif kind == 2:
                texts.append(f"{draw.uniform(-1e4, 1e4):.{draw.randrange(0, 25)}f}")
            elif abs(value) < 1e300:
                middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
                exact = str(Decimal(middle.numerator) / Decimal(middle.denominator))
                texts.append(exact if kind == 3 or "E" in exact or "." not in exact else exact + "1")
    return texts


def mixtures(draw: random.Random, count: int) -> list[str]:
    """Return texts of the letters that numbers have, and of some that they have not."""
    letters = "00112233456789" * 2 + "+-..eE"
    odd = letters + ",_ \tnaif"
    return ["".join(draw.choices(draw.choice((letters, odd)), k=draw.randrange(9))) for _ in range(count)]


def agree(texts: list[str | None], form: FileForm = STANDARD) -> None:
    """Read texts both ways and compare the bits; all numbers that are none are alike."""
    slow = np.array([math.nan if each is None else form.number(each) for each in texts])
    slow[np.isnan(slow)] = math.nan
    for kind in (pa.string(), pa.large_string()):
        quick = numbers_of_texts(pa.array(texts, kind), form).copy()
        quick[np.isnan(quick)] = math.nan
        assert quick.tobytes() == slow.tobytes()


@pytest.mark.stats
def test_the_fast_way_and_the_slow_way_agree_on_hostile_texts() -> None:
    """To the last bit: doubles hard to round, letters of numbers in any order, alone and among others."""
    draw = random.Random(0)
    hard = doubles(draw, sample_size(10_000))
    for start in range(0, len(hard), 4096):
        agree(list(hard[start : start + 4096]))
    mixed = mixtures(draw, sample_size(90_000))
    for start in range(0, len(mixed), 50_000):
        agree(list(mixed[start : start + 50_000]))
    ordinary = [each for each in mixed if not math.isnan(STANDARD.number(each))]
    assert len(ordinary) > 10_000
    agree(list(ordinary))


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_every_form_reads_texts_the_same_in_any_company(form: FileForm) -> None:
    """Alone, where Arrow may refuse or take a text by itself, and among all others."""
    draw = random.Random(1)
    texts = [*ODD, *mixtures(draw, 3000), *doubles(draw, 500), *(each.replace(".", ",") for each in doubles(draw, 500))]
    agree([*texts, None], form)
    for each in texts[:1200]:
        agree([each], form)
        agree([None, each, "1"], form)


@given(
    st.lists(st.text(alphabet="0123456789+-.eE, \t\n_xanif\u0663", max_size=12) | st.none(), max_size=8),
    st.sampled_from(FORMS),
)
def test_texts_read_the_same_at_any_speed(texts: list[str | None], form: FileForm) -> None:
    """Whatever stands beside a text, and in a slice of a longer array."""
    agree(texts, form)
    whole = pa.array(["9", *texts, "x"], pa.string())
    sliced = numbers_of_texts(whole.slice(1, len(texts)), form)
    np.testing.assert_array_equal(sliced, numbers(objects(texts), form))


def moments_agree(texts: list[str | None], form: FileForm) -> None:
    """Clean moments both ways and compare the bits."""
    column = Moment("0001-01-01", "9999-12-31T23:59:59.999999", missing="1234-05-06")
    alone = [column.clean(objects([each]), form) for each in texts]
    for kind in (pa.string(), pa.large_string()):
        quick = clean_arrow(pa.array(texts, kind), column, form)
        assert quick is not None
        assert quick[0].tobytes() == b"".join(values.tobytes() for values, _ in alone)
        assert quick[1].tolist() == [int(states[0]) for _, states in alone]


@pytest.mark.stats
def test_moments_read_the_same_at_any_speed() -> None:
    """Each alone and all together: ISO 8601 with anything before, within or behind it, and days of no calendar."""
    draw = random.Random(2)
    forms = [STANDARD, FileForm(missing=["1970-01-01", "-"]), FileForm(dates=["%d.%m.%Y"])]

    def part(digits: int, most: int) -> str:
        return str(draw.randint(0, most)).zfill(draw.choice([digits] * 9 + [digits - 1]))

    def text() -> str:
        cell = f"{part(4, draw.choice([9999, 3]))}-{part(2, 13)}-{part(2, draw.choice([28, 31, 32]))}"
        if draw.random() < 0.7:
            cell += draw.choice(" TTTt") + ":".join(
                part(2, each) for each in (24, 60, 61)[: draw.choice([1, 2, 2, 3, 3, 3])]
            )
        if draw.random() < 0.3:
            cell += "." + str(draw.randrange(10 ** draw.randint(1, 7)))
        return (
            draw.choice(["", "", "", " ", "\t", "x"])
            + cell
            + draw.choice(["", "", "", "", " ", "\n", "Z", "+02:00", "."])
        )

    texts: list[str | None] = [
        *(text() for _ in range(sample_size(5_000))),
        None,
        "",
        "-",
        "1970-01-01",
        "31.12.1999",
        "0000-01-01",
        "２000-01-01",
    ]
    for form in forms:
        moments_agree(texts, form)
        ordinary = [each for each in texts if each is not None and form.moment(each) is not None]
        assert len(ordinary) > 500
        moments_agree(list(ordinary), form)
        for each in texts[:300]:
            moments_agree([each, None], form)


@pytest.mark.parametrize("form", [STANDARD, FileForm(decimal=",")], ids=repr)
def test_what_lies_beneath_a_null_is_no_number(form: FileForm) -> None:
    """Some libraries make a cell null and leave its letters where they are."""
    whole = pa.array(["1", "2", "nan"])
    hidden = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *whole.buffers()[1:]])
    assert hidden.to_pylist() == ["1", None, "nan"]
    np.testing.assert_array_equal(numbers_of_texts(hidden, form), [1, math.nan, math.nan])
    np.testing.assert_array_equal(numbers_of_texts(hidden.slice(0, 2), form), [1, math.nan])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_back_as_it_was_written(value: float) -> None:
    """Rounding is to the nearest double, so that the shortest text of a double means it."""
    assert STANDARD.number(repr(value)) == value
    assert FileForm(decimal=",").number(repr(value).replace(".", ",")) == value
    assert STANDARD.number(f"{value:.1000f}") == value


def test_a_number_beyond_all_doubles_is_beyond_the_bounds_and_not_missing() -> None:
    """An exponent may have any number of digits; words for what is infinite are no numbers."""
    column = Number(-5, 5, missing=1)
    texts = ["1e400", "-1e99999999999", "1" * 5000, "inf", "-Infinity", "nan"]
    for values, states in (column.clean(objects(texts)), clean_arrow(pa.array(texts), column, STANDARD) or ()):
        assert values.tolist() == [5, -5, 5, 1, 1, 1]
        assert states.tolist() == [2, 2, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.234,5", 1234.5), ("1234,5", 1234.5), ("1.234.567", 1234567.0), ("-12.345e-1", -1234.5), (" 1.234\t", 1234.0)],
)
def test_groups_of_three_digits(text: str, number: float) -> None:
    """What stands between thousands may stand there or not; anywhere else it makes no number."""
    form = FileForm(decimal=",", thousands=".")
    assert form.number(text) == number
    for odd in ("12.34", "1.2345", ".123", "1.23.456", "1234.567", "1,234.567", "1..234"):
        assert math.isnan(form.number(odd))


def test_words_for_missing_cells_hold_for_every_kind_of_column() -> None:
    """A declared word is a missing cell wherever a text stands, with blanks around it too."""
    form = FileForm(missing=["NA", " - ", "-99"])
    assert form.missing == ("NA", "-", "-99")
    texts = ["NA", " - ", "-99\t", "1", "2000-01-01"]
    for column, cleaned in [
        (Number(-100, 100, missing=7), [7, 7, 7, 1, 7]),
        (Category(["1"]), [-1, -1, -1, 0, -1]),
        (Flag("0", "1"), [-1, -1, -1, 1, -1]),
    ]:
        values, states = column.clean(objects(texts), form)
        assert values.tolist() == cleaned
        assert states.tolist()[:4] == [1, 1, 1, 0]
        again = clean_arrow(pa.array(texts), column, form)
        assert again is not None
        assert (again[0].tolist(), again[1].tolist()) == (values.tolist(), states.tolist())
    assert Key().clean(objects(texts), form)[0].tolist()[:3] == [MISSING_KEY] * 3
    assert Moment("1999-01-01", "2001-01-01").clean(objects(texts), form)[1].tolist() == [1, 1, 1, 1, 0]
    # A number is what it is: words are about texts.
    assert Number(-100, 100).clean(np.array([-99.0]), form)[0].tolist() == [-99]


@pytest.mark.parametrize(
    ("spelling", "text", "moment"),
    [
        ("%d.%m.%Y", "31.12.1999", datetime.datetime(1999, 12, 31)),
        ("%d.%m.%Y", "1.2.2003", datetime.datetime(2003, 2, 1)),
        ("%m/%d/%Y %H:%M", "02/01/2003 4:05", datetime.datetime(2003, 2, 1, 4, 5)),
        ("%Y%m%d", "20030201", datetime.datetime(2003, 2, 1)),
        ("%Y%m%dT%H%M%S.%f", "20030201T040506.5", datetime.datetime(2003, 2, 1, 4, 5, 6, 500_000)),
        ("am %d. %m. %Y", "am 1. 2. 2003", datetime.datetime(2003, 2, 1)),
        ("%d.%m.%Y", "2003-02-01T04:05", datetime.datetime(2003, 2, 1, 4, 5)),
        ("%d.%m.%Y", "29.02.2001", None),
        ("%d.%m.%Y", "0.1.2001", None),
        ("%d.%m.%Y", "1.13.2001", None),
        ("%d.%m.%Y", "1.1.0000", None),
        ("%d.%m.%Y", "1.1.01", None),
        ("%d.%m.%Y", "1.1.2001 x", None),
        ("%d.%m.%Y", "１.1.2001", None),
        ("%d.%m.%Y %H", "1.1.2001 24", None),
        ("%Y%m%d", "2003021", None),
    ],
)
def test_declared_dates(spelling: str, text: str, moment: datetime.datetime | None) -> None:
    """A format reads the texts that it fits, besides ISO 8601; days that no calendar has are no moments."""
    assert FileForm(dates=[spelling]).moment(text) == moment
    assert FileForm(dates=[spelling]).moment(f" {text}\t") == moment


def test_the_first_format_that_fits_is_taken() -> None:
    """Their order is declared; a text that makes no day in one may make one in the next."""
    form = FileForm(dates=["%d/%m/%Y", "%m/%d/%Y"])
    assert form.moment("03/04/2005") == datetime.datetime(2005, 4, 3)
    assert form.moment("03/14/2005") == datetime.datetime(2005, 3, 14)


@given(st.text(max_size=20) | st.from_regex(r"[0-9]{1,4}[./ -][0-9]{1,4}[./ -][0-9]{1,4}"), st.sampled_from(FORMS))
def test_no_text_fails(text: str, form: FileForm) -> None:
    """Any text is a number or none, and a moment or none."""
    assert isinstance(form.number(text), float)
    moment = FileForm(dates=["%d.%m.%Y", "%Y/%m/%d", "%m %d %Y"]).moment(text)
    assert moment is None or isinstance(moment, datetime.datetime)


@pytest.mark.parametrize(
    "declared",
    [
        {"separator": ""}, {"separator": ";;"}, {"separator": '"'}, {"separator": "\n"}, {"separator": "é"},
        {"separator": 3}, {"decimal": ";"}, {"decimal": ""}, {"decimal": None}, {"thousands": "."},
        {"thousands": "x"}, {"decimal": ",", "thousands": ","}, {"encoding": "rot13"}, {"encoding": "nonsense"},
        {"encoding": None}, {"missing": [1]}, {"missing": 3}, {"missing": ["\ud800"]}, {"dates": ["%d.%m"]},
        {"dates": ["%d.%m.%Y %d"]}, {"dates": ["%d.%m.%y"]}, {"dates": ["100% %d.%m.%Y"]}, {"dates": [None]},
    ],
    ids=repr,
)  # fmt: skip
def test_forms_that_make_no_sense_are_refused(declared: dict[str, object]) -> None:
    """What is no separator, sign, encoding, word or format is refused when it is declared."""
    with pytest.raises(InvalidParameter):
        FileForm(**declared)  # type: ignore[arg-type]
