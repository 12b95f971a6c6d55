import copy
import datetime
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.data import Category, Column, Flag, Ignored, Key, Moment, Number, Ordinal, Schema, adult_schema
from tacit.data.file_form import BLANKS
from tacit.data.levels import Level
from tacit.errors import InvalidParameter

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FINITE = st.one_of(st.just(0.0), st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100))
MOMENTS = st.datetimes(timezones=st.none() | st.just(datetime.UTC)).filter(lambda moment: 1 < moment.year < 9999)


@st.composite
def number_columns(draw: st.DrawFn) -> Column:
    """Declare any number."""
    low, middle, high = sorted(draw(st.lists(FINITE, min_size=3, max_size=3, unique=True)))
    assume(high - low >= 1e-100)
    return Number(low, high, log=draw(st.booleans()), missing=draw(st.sampled_from([None, low, middle, high])))


@st.composite
def levelled_columns(draw: st.DrawFn) -> Column:
    """Declare any column with levels."""
    levels = draw(
        st.lists(
            TEXTS.filter(lambda level: level.strip(BLANKS)),
            min_size=2,
            max_size=5,
            unique_by=lambda level: level.strip(BLANKS).casefold(),
        )
    )
    place = draw(st.sampled_from([None, *levels]))
    flag = Flag(levels[0], levels[1:], missing=draw(st.sampled_from([None, True, False])))
    return draw(st.sampled_from([Category(levels, other=place), Ordinal(levels, missing=place), flag, Flag()]))


@st.composite
def moment_columns(draw: st.DrawFn) -> Column:
    """Declare any moment."""
    low, middle, high = sorted(draw(st.lists(MOMENTS, min_size=3, max_size=3, unique_by=_instant)), key=_instant)
    return Moment(low, high, missing=draw(st.sampled_from([None, low, middle, high])))


def _instant(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(tzinfo=None)


SCHEMAS = st.dictionaries(
    TEXTS.filter(bool),
    number_columns() | levelled_columns() | moment_columns() | st.sampled_from([Ignored(), Key()]),
    min_size=1,
).flatmap(
    lambda columns: st.builds(
        Schema,
        st.just(columns),
        st.sampled_from([None, *(name for name, column in columns.items() if not isinstance(column, Ignored | Key))]),
    )
)


@given(SCHEMAS)
def test_toml_is_read_back_exactly(schema: Schema) -> None:
    """Writing and reading keeps every declaration, every float and the order of the columns."""
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert again.to_toml() == schema.to_toml()


@given(SCHEMAS)
def test_a_schema_is_a_value(schema: Schema) -> None:
    """Copies and pickles are equal and hash alike."""
    for twin in (copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        assert twin == schema
        assert hash(twin) == hash(schema)


def test_a_schema_is_read_from_a_file_or_from_text(tmp_path: Path) -> None:
    """`load` takes a path or its name, `from_toml` the text itself."""
    file = tmp_path / "schema.toml"
    file.write_text(adult_schema().to_toml(), "utf-8")
    assert Schema.load(file) == Schema.load(str(file)) == Schema.from_toml(file.read_text("utf-8"))


@pytest.mark.parametrize("content", [None, b"\xff\xfe[columns]"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """A file that is not there, or is no text, is named, and what could be done about it."""
    file = tmp_path / "schema.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidParameter, match=r"Schema\.draft"):
        Schema.load(file)


@pytest.mark.parametrize("nested", ["a = " + "[" * 5_000 + "]" * 5_000, "a = " + "{a = " * 5_000 + "1" + "}" * 5_000])
def test_deep_toml_is_refused(nested: str) -> None:
    """Tables and lists nested thousands deep are refused like any other document that is no schema."""
    with pytest.raises(InvalidParameter, match="valid TOML"):
        Schema.from_toml(nested)


@pytest.mark.parametrize("bound", ["9" * 5_000, "0x" + "f" * 5_000])
@pytest.mark.parametrize("kind", ["number", "nonsense"])
def test_a_number_too_long_to_print_is_refused_in_our_words(bound: str, kind: str) -> None:
    """Python refuses to read, or to print, a whole number of thousands of digits."""
    with pytest.raises(InvalidParameter):
        Schema.from_toml(f'[columns.a]\nkind = "{kind}"\nlow = 0\nhigh = {bound}')


@pytest.mark.parametrize("declare", [Category, Ordinal, lambda levels: Flag(levels[:1], levels[1:])])
def test_numbers_that_a_float_confuses_are_no_levels(declare: Any) -> None:
    """One missing value makes floats of a column in many tables, and so one level of two; as texts they are two."""
    for levels in ([2**53, 2**53 + 1], [2**53 + 1, 2.0**53], [np.int64(2**62), np.int64(2**62 + 1)]):
        with pytest.raises(InvalidParameter, match="same number in double precision"):
            declare(levels)
    assert declare([str(2**53), str(2**53 + 1)]).classes == (str(2**53), str(2**53 + 1))
    assert declare([2**53 + 1, 7]).classes == (str(2**53 + 1), "7")
    assert declare([True, 1]).classes == ("true", "1")
    with pytest.raises(InvalidParameter, match="all different"):
        declare([10**5000, 1])


@pytest.mark.parametrize("levels", [["a", " a"], ["a", "A "], ["straße", "STRASSE"], ["x\ud800", "y"], ["1", 1.0]])
def test_levels_that_nobody_can_tell_apart_are_refused(levels: list[Level]) -> None:
    """Levels that differ in blanks or case only, or cannot be written down, are slips."""
    with pytest.raises(InvalidParameter):
        Category(levels)


@pytest.mark.parametrize(("false", "true"), [("no", "NO"), (["Y"], ["y"]), (["0", "straße"], ["1", "STRASSE"])])
def test_words_of_a_flag_that_differ_in_case_alone_are_one_word(false: Any, true: Any) -> None:
    """They would say no and yes; several spellings of either are what a table may write."""
    with pytest.raises(InvalidParameter, match="more than blanks or case"):
        Flag(false, true)
    assert Flag(["no", "No", "NO"], ["yes", "Yes"]).classes == ("no", "yes")


def test_the_parts_of_a_schema() -> None:
    """Inputs leave out the target, features leave out what is ignored, classes are the target's."""
    schema = Schema({"id": Ignored(), "ill": Flag("no", "yes"), "age": Number(0, 120)}, target="ill")
    assert schema.inputs == ("id", "age")
    assert schema.features == ("age",)
    assert schema.classes == ("no", "yes")
    assert Schema({"age": Number(0, 120)}, target="age").classes == ()
    assert Schema({"age": Number(0, 120)}).classes == ()


def test_the_order_of_columns_matters() -> None:
    """Two schemas with the same columns in another order differ: arrays are read by position."""
    assert Schema({"a": Flag(), "b": Flag()}) != Schema({"b": Flag(), "a": Flag()})


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ({}, None),
        ([], None),
        ({"a": "number"}, None),
        ({"": Flag()}, None),
        ({1: Flag()}, None),
        ({"a\ud800": Flag()}, None),
        ({"a" * 10_001: Flag()}, None),
        ({"a": Flag()}, "b"),
        ({"a": Ignored()}, "a"),
    ],
)
def test_bad_schemas_are_refused(columns: object, target: str | None) -> None:
    """A schema needs declarations, a target among them, and names that every file can hold."""
    with pytest.raises(InvalidParameter):
        Schema(columns, target)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "columns.NAME"),
        ("columns = 3", "columns.NAME"),
        ("not toml", "valid TOML"),
        ("title = 'x'\n[columns.a]\nkind = 'flag'", "title"),
        ("target = 1\n[columns.a]\nkind = 'flag'", "target"),
        ("[columns]\na = 3", "column 'a'"),
        ("[columns.a]\nkind = 'colour'", "'colour'"),
        ("[columns.a]\nkind = ['flag']", "kind"),
        ("[columns.a]\nkind = 'number'\nlow = 0", "'high'"),
        ("[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1\nunit = 'm'", "'unit'"),
        ("[columns.a]\nkind = 'number'\nlow = 2\nhigh = 1", "column 'a': a Number needs bounds"),
        ("[columns.a]\nkind = 'category'\nlevels = [[1]]", "column 'a'"),
    ],
)
def test_a_bad_document_is_refused_with_its_reason(document: str, said: str) -> None:
    """Errors in TOML name the column or key at fault."""
    with pytest.raises(InvalidParameter, match=said.replace("[", r"\[")):
        Schema.from_toml(document)


def test_labels_are_classes_or_clamped_numbers() -> None:
    """The target comes as the names of its declared classes, or as numbers within its bounds."""
    table = {"ill": [1, 0, True], "cost": [5, 1e9, "-7"]}
    assert Schema({"ill": Flag(0, [1, "true"])}, target="ill").labels(table).tolist() == ["1", "0", "1"]
    assert Schema({"cost": Number(0, 10)}, target="cost").labels(table).tolist() == [5, 10, 0]


@pytest.mark.parametrize(
    ("column", "place"),
    [(Category(["a", "b"], other="b"), "b"), (Ordinal(["a", "b"], missing="a"), "a"), (Number(0, 4, missing=1), 1)],
)
def test_unknown_labels_go_where_they_were_declared_to(column: Column, place: object) -> None:
    """A label that is missing or undeclared counts as the declared one."""
    assert Schema({"y": column}, target="y").labels({"y": [None, "secret"]}).tolist() == [place, place]


@pytest.mark.parametrize("column", [Category(["a", "b"]), Flag(), Ordinal(["a", "b"]), Number(0, 1)])
def test_unknown_labels_without_a_place_are_refused_unquoted(column: Column) -> None:
    """The refusal names the column and quotes no label."""
    with pytest.raises(InvalidParameter, match="'y'") as caught:
        Schema({"y": column}, target="y").labels({"y": np.array(["secret", None], dtype=object)})
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_labels_need_a_declared_target_and_names() -> None:
    """Without a target, or in an array without names, there are no labels."""
    with pytest.raises(InvalidParameter, match="no target"):
        Schema({"a": Flag()}).labels({"a": [1]})
    with pytest.raises(InvalidParameter, match="no column names"):
        Schema({"a": Flag()}, target="a").labels(np.ones((1, 1)))
