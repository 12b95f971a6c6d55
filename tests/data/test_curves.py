"""Numbers as curves: hats over a declared scale."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import Category, Flag, Moment, Number, Ordinal, PublicEncoder, Records, Schema
from tacit.data.curves import MOST_KNOTS
from tacit.errors import InvalidParameter

SCHEMA = Schema(
    {
        "age": Number(17, 90),
        "gain": Number(0, 99999, log=True, missing=0),
        "day": Moment("2020-01-01", "2021-01-01"),
        "grade": Ordinal(["a", "b", "c", "d"]),
        "home": Category(["x", "y", "?"], other="?"),
        "owner": Flag(),
    }
)
PAIRS = [("age", "gain"), ("home", "age"), ("owner", "grade")]
SIZES = st.integers(2, 40)


def _records(count: int = 500, seed: int = 0) -> dict[str, np.ndarray]:
    coins = np.random.default_rng(seed)
    return {
        "age": coins.uniform(0, 120, count),
        "gain": np.exp(coins.uniform(-3, 14, count)),
        "day": np.datetime64("2019-12-01", "s") + coins.integers(0, 40_000_000, count),
        "grade": coins.choice(["a", "b", "c", "d", "e"], count),
        "home": coins.choice(["x", "y", "z"], count),
        "owner": coins.choice(["true", "0", "perhaps"], count),
    }


@given(SIZES, st.floats(0.01, 1.0), st.sampled_from(["scale", "bound"]), st.booleans(), st.integers(0, 2**32))
def test_curves_stay_in_the_unit_ball(knots: int, share: float, norm: str, constant: bool, seed: int) -> None:
    """With any number of knots, any share and pairs, the exact norm of every row is at most 1."""
    encoder = PublicEncoder(SCHEMA, norm=norm, constant=constant, curves=(knots, share), interactions=PAIRS)
    rows = encoder.transform(_records(20, seed))
    assert np.isfinite(rows).all()
    assert max(sum(Fraction(entry) ** 2 for entry in row) for row in rows.tolist()) <= 1


@given(st.integers(2, 33))
def test_a_curve_is_the_kernel_of_distances(knots: int) -> None:
    """At knots s and t the codes of a number have the product 1 - 2 |s - t|, whatever the number of knots."""
    encoder = PublicEncoder(Schema({"a": Number(0, 1)}), curves=knots, norm="bound", constant=False)
    places = np.linspace(0, 1, knots)
    rows = np.asarray(encoder.transform({"a": places}))
    np.testing.assert_allclose(rows @ rows.T, 1 - 2 * np.abs(places[:, None] - places), atol=1e-9)


@given(st.integers(3, 33), st.integers(0, 2**32))
def test_every_piecewise_linear_function_on_the_knots_is_in_reach(knots: int, seed: int) -> None:
    """Line, hats and the constant together are all piecewise-linear functions on the knots, and no others."""
    coins = np.random.default_rng(seed)
    encoder = PublicEncoder(Schema({"a": Number(0, 1)}), curves=knots, norm="bound")
    wanted, between = coins.normal(size=knots), np.sort(coins.uniform(size=50))
    places = np.linspace(0, 1, knots)
    weights = np.linalg.solve(np.asarray(encoder.transform({"a": places})), wanted)
    found = np.asarray(encoder.transform({"a": between})) @ weights
    np.testing.assert_allclose(found, np.interp(between, places, wanted), atol=1e-8)


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 9))
def test_a_row_with_curves_depends_on_its_record_alone(count: int, start: int, seed: int) -> None:
    """A record among others, in any number and at any place, becomes the same bits as alone."""
    encoder = PublicEncoder(SCHEMA, curves=17, interactions=PAIRS)
    table = _records(500, seed)
    together = np.asarray(encoder.transform(table))
    part = {name: cells[start : start + count] for name, cells in table.items()}
    if len(part["age"]):
        np.testing.assert_array_equal(np.asarray(encoder.transform(part)), together[start : start + count])


def test_records_and_tables_become_the_same_curves() -> None:
    """The same cells give the same bits as Records and as a table."""
    encoder = PublicEncoder(SCHEMA, curves=9, interactions=PAIRS)
    table = _records()
    as_records = encoder.transform(Records(table, SCHEMA))
    np.testing.assert_array_equal(np.asarray(as_records), np.asarray(encoder.transform(table)))


def test_straight_lines_are_what_they_were() -> None:
    """curves=False and two knots give the straight line and nothing else."""
    plain = PublicEncoder(SCHEMA).transform(_records())
    for curves in (False, 2):
        np.testing.assert_array_equal(plain, PublicEncoder(SCHEMA, curves=curves).transform(_records()))


def test_an_ordinal_has_no_more_knots_than_levels() -> None:
    """Four levels have four knots however many are asked for; two levels and flags stay as they are."""
    schema = Schema({"grade": Ordinal(["a", "b", "c", "d"]), "two": Ordinal(["a", "b"]), "flag": Flag()})
    names = PublicEncoder(schema, curves=33).get_feature_names_out().tolist()
    assert names == ["grade", "grade~1", "grade~2", "two", "flag=true", "(constant)"]


def test_pairs_are_products_of_codes() -> None:
    """Two lines add their product, two curves the grid of their knots, of five knots at most."""
    schema = Schema({"a": Number(-1, 1), "b": Number(-1, 1)})
    lines = PublicEncoder(schema, norm="bound", constant=False, interactions=[("a", "b")])
    row = np.asarray(lines.transform({"a": [0.5], "b": [-0.5]}))[0]
    np.testing.assert_allclose(row, np.array([0.5, -0.5, -0.25]) / np.sqrt(3), rtol=1e-9)
    surface = PublicEncoder(schema, curves=17, interactions=[("a", "b")])
    assert len(surface.get_feature_names_out()) == 2 * 16 + 4 * 4 + 1


@pytest.mark.parametrize(
    "curves", [0, 1, -3, 10_000, MOST_KNOTS + 1, True, 3.5, "auto", "9", float("nan"), [9], (9, 0), (9, 1.5), (1, 0.5)]
)
def test_no_curve_is_refused(curves: object) -> None:
    """One knot is no curve, ten thousand are none either, and a word is no number of them."""
    with pytest.raises(InvalidParameter, match=r"knots|share"):
        PublicEncoder(SCHEMA, curves=curves).transform(_records())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pairs",
    [
        [("age", "weight")],
        [("age",)],
        ["age"],
        "age",
        [("age", "age")],
        [("age", "gain"), ("gain", "age")],
        [("age", "gain", "day")],
        [(1, 2)],
    ],
)
def test_no_pair_is_refused(pairs: object) -> None:
    """Interactions are pairs of different declared inputs, each once."""
    with pytest.raises(InvalidParameter, match="interactions"):
        PublicEncoder(SCHEMA, interactions=pairs).transform(_records())  # type: ignore[arg-type]


def test_a_pair_of_long_lists_is_refused() -> None:
    """The products of two columns with hundreds of levels each are more than anyone means."""
    levels = [f"level {number}" for number in range(200)]
    schema = Schema({"a": Category(levels), "b": Category(levels)})
    with pytest.raises(InvalidParameter, match="40000 products"):
        PublicEncoder(schema, interactions=[("a", "b")]).transform({"a": ["x"], "b": ["y"]})
