import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import BoundedRows, Category, Flag, Ignored, Number, Ordinal, PublicEncoder, Schema
from tacit.errors import InvalidParameter

SCHEMA = Schema(
    {
        "age": Number(17, 90),
        "gain": Number(0, 99999, log=True, missing=0),
        "debt": Number(-1e100, 1e-100),
        "note": Ignored(),
        "job": Category(["a", "b", "c"]),
        "home": Category(["x", "y", "?"], other="?"),
        "grade": Ordinal(["low", "mid", "high"]),
        "owner": Flag(),
        "class": Category(["no", "yes"]),
    },
    target="class",
)
ENCODERS = [
    PublicEncoder(SCHEMA, norm=norm, constant=constant) for norm in ("scale", "bound") for constant in (True, False)
]
NASTY = st.one_of(
    st.none(),
    st.floats(),
    st.floats(0, 1e-300),
    st.integers(),
    st.sampled_from([10**400, -(10**5000), 2**63, np.float32("inf"), np.int8(-3), np.datetime64("NaT"), True]),
    st.sampled_from(["a", "b", "x", "y", "?", "low", "high", "true", "0", "17", "1e999", "-inf", "nan", "1_0"]),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.sampled_from([[], {}, (1,), date(2020, 1, 1), object(), np.array([1, 2]), Decimal("sNaN"), Ellipsis, type]),
)
RECORD = st.fixed_dictionaries(dict.fromkeys(SCHEMA.features, NASTY))


def exact_square(row: Sequence[float]) -> Fraction:
    """Return the squared norm without any rounding."""
    return sum((Fraction(float(entry)) ** 2 for entry in row), Fraction(0))


@given(st.sampled_from(ENCODERS), st.lists(RECORD, min_size=1, max_size=4))
def test_every_record_lands_in_the_unit_ball(encoder: PublicEncoder, table: list[dict[str, object]]) -> None:
    """Whatever a record holds, its row is finite and its norm, true or computed, is at most data_norm."""
    rows = encoder.transform(table)
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= encoder.data_norm
    assert math.sqrt(math.fsum(entry * entry for entry in rows[0].tolist())) <= encoder.data_norm
    assert max(exact_square(row) for row in rows.tolist()) <= Fraction(encoder.data_norm) ** 2


@given(st.sampled_from(ENCODERS), st.lists(RECORD, min_size=2, max_size=9))
def test_a_row_depends_on_its_record_alone(encoder: PublicEncoder, table: list[dict[str, object]]) -> None:
    """A record encoded alone gives the same bits as among others, in any order."""
    together = encoder.transform(table)
    alone = np.concatenate([encoder.transform([record]) for record in table])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(encoder.transform(table[::-1]), together[::-1])


def test_a_row_depends_on_its_record_alone_in_large_numeric_arrays() -> None:
    """The same holds where vectorised arithmetic is used on thousands of rows of every alignment."""
    array = np.random.default_rng(0).uniform(-10, 1e5, size=(5003, 8))
    encoder = ENCODERS[0]
    together = encoder.transform(array)
    for start in range(5):
        np.testing.assert_array_equal(encoder.transform(array[start : start + 1000]), together[start : start + 1000])
    np.testing.assert_array_equal(encoder.transform(np.asfortranarray(array)), together)


@given(st.lists(RECORD, min_size=1, max_size=3), st.lists(RECORD, min_size=1, max_size=3))
def test_nothing_is_learned(first: list[dict[str, object]], second: list[dict[str, object]]) -> None:
    """A table encodes the same before any fit, after a fit to it, and after a fit to other records."""
    before = PublicEncoder(SCHEMA).transform(second)
    np.testing.assert_array_equal(PublicEncoder(SCHEMA).fit(first).transform(second), before)
    np.testing.assert_array_equal(PublicEncoder(SCHEMA).fit_transform(second), before)


def test_outputs_are_named_in_order() -> None:
    """Names tell the column and level; the reference level and ignored columns have none."""
    names = PublicEncoder(SCHEMA).get_feature_names_out().tolist()
    assert names == [
        *("age", "gain", "debt", "job=a", "job=b", "job=c", "home=x", "home=y", "grade", "owner=true", "(constant)")
    ]
    assert PublicEncoder(SCHEMA, constant=False).get_feature_names_out().tolist() == names[:-1]


def test_scaled_rows_have_norm_one_and_keep_their_direction() -> None:
    """With norm="scale" a row is its codes and the constant, divided by their norm."""
    schema = Schema({"a": Number(0, 2), "b": Category(["u", "v"])})
    rows = PublicEncoder(schema).transform({"a": [2, 1.5], "b": ["v", None]})
    codes = np.array([[1, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]])
    np.testing.assert_allclose(rows, codes / np.linalg.norm(codes, axis=1, keepdims=True), rtol=1e-10)


def test_bounded_rows_are_an_affine_map_of_the_numbers() -> None:
    """With norm="bound" every row is divided by the largest norm that the schema allows."""
    schema = Schema({"a": Number(0, 2), "b": Category(["u", "v"])})
    rows = PublicEncoder(schema, norm="bound").transform({"a": [2, 1.5], "b": ["v", None]})
    np.testing.assert_allclose(rows, np.array([[1, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]]) / math.sqrt(1.5), rtol=1e-10)


def test_a_linear_classifier_survives_scaling() -> None:
    """Next to the constant, scaled and unscaled rows give every linear classifier the same decisions."""
    table = {"a": np.linspace(-1, 3, 101), "b": np.linspace(5, -5, 101)}
    schema = Schema({"a": Number(0, 2), "b": Number(-5, 5)})
    scaled, plain = (PublicEncoder(schema, norm=norm).transform(table) for norm in ("scale", "bound"))
    for weights in np.random.default_rng(0).normal(size=(20, 3)):
        np.testing.assert_array_equal(scaled @ weights > 0, plain @ weights > 0)


def test_a_record_without_any_known_value_is_at_the_origin() -> None:
    """Without a constant, a record with nothing in it is the zero row, scaled or not."""
    schema = Schema({"a": Number(0, 2), "b": Category(["u", "v"])})
    assert not PublicEncoder(schema, constant=False).transform({"a": [None], "b": [None]}).any()


def test_rows_state_their_norm() -> None:
    """Encoded rows carry the norm and whether a constant is among their columns."""
    for encoder in ENCODERS:
        rows = encoder.transform([dict.fromkeys(SCHEMA.features)])
        assert isinstance(rows, BoundedRows)
        assert (rows.data_norm, rows.has_constant) == (encoder.data_norm, encoder.constant)


@pytest.mark.parametrize(
    "encoder",
    [
        PublicEncoder(None),  # type: ignore[arg-type]
        PublicEncoder({"a": Flag()}),  # type: ignore[arg-type]
        PublicEncoder(Schema({"a": Ignored()})),
        PublicEncoder(Schema({"a": Flag()}, target="a")),
        PublicEncoder(SCHEMA, norm="l1"),  # type: ignore[arg-type]
        PublicEncoder(SCHEMA, constant=1),  # type: ignore[arg-type]
        PublicEncoder(Schema({"a=b": Number(0, 1), "a": Category(["b"])})),
        PublicEncoder(Schema({"(constant)": Number(0, 1)})),
    ],
)
def test_bad_parameters_are_refused(encoder: PublicEncoder) -> None:
    """Parameters are checked by fit and by transform."""
    for use in (encoder.fit, encoder.transform):
        with pytest.raises(InvalidParameter):
            use({"a": ["b"], "a=b": [1], "(constant)": [1]})


@pytest.mark.parametrize("table", [{"age": ["secret"]}, {"age": "secret"}, np.array([["secret"]], dtype=object)])
def test_messages_quote_no_record(table: object) -> None:
    """Refusals after data was touched speak of declared names only, and so do the errors they come from."""
    with pytest.raises(InvalidParameter) as caught:
        PublicEncoder(SCHEMA).fit(table)
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("cell", [5e-324, -2.2e-308, 1e-300, 1e308, np.float32(1e-45), Decimal("1e-400"), "1e-99"])
def test_no_cell_makes_numpy_complain(cell: object) -> None:
    """With np.seterr(all="raise") one tiny or huge cell changes nothing for the other records."""
    table = {name: [1, cell, 2] for name in SCHEMA.features}
    plain = [PublicEncoder(SCHEMA, norm=norm).transform(table) for norm in ("scale", "bound")]
    with np.errstate(all="raise"):
        strict = [PublicEncoder(SCHEMA, norm=norm).transform(table) for norm in ("scale", "bound")]
    np.testing.assert_array_equal(strict, plain)


@pytest.mark.parametrize("kind", [pl.Int128, pl.Int64, pl.UInt64, pl.Decimal(38, 0)])
def test_a_null_changes_no_other_record(kind: type[pl.DataType]) -> None:
    """Whole numbers of any width read the same with and without a null beside them."""
    schema = Schema({"n": Number(0, 2.0**62)})
    cells = [3, 2**53 + 1, 2**62 - 1]
    whole = PublicEncoder(schema).transform(pl.DataFrame({"n": pl.Series(cells, dtype=kind)}))
    holed = PublicEncoder(schema).transform(pl.DataFrame({"n": pl.Series([*cells[:2], None], dtype=kind)}))
    np.testing.assert_array_equal(holed[:2], whole[:2])
