"""Declared features: every cell has a code, the same by itself and in an evaluator."""

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import Category, Flag, Ignored, Moment, Number, Ordinal, Records, Schema
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.queries.learners.domains import Cut, Named, declared_features
from tacit.queries.learners.literals import FeatureLiteral

CELLS = st.one_of(st.floats(), st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0, 50.0, 100.0]))


def _agrees(oracle: StatisticalOracle, feature: Cut | Named, codes: np.ndarray) -> bool:
    """Whether every test of a code counts the records that have it, and its contrary the others."""
    found = []
    for code in range(feature.size):
        for up_to in (False, True) if feature.ordered and code < feature.size - 1 else (False,):
            for contrary in (False, True):
                literal = FeatureLiteral(0, code, up_to, contrary)
                query = oracle.evaluator.prepare(StatisticalQuery(partial(literal.test, columns=[feature])))
                found.append(oracle.evaluator.sums([query])[0][0] == literal.holds(codes[:, None]).sum())
    return all(found)


def _counts(oracle: StatisticalOracle, feature: Cut | Named) -> np.ndarray:
    """Count codes in an evaluator, without noise."""
    query = oracle.evaluator.prepare(Histogram(feature.code, tuple(range(feature.size))))
    return oracle.evaluator.sums([query])[0]


@given(st.lists(CELLS, min_size=1, max_size=30), st.integers(2, 12), st.booleans())
def test_numbers_have_the_same_code_in_memory_and_in_an_engine(cells: list[float], bins: int, log: bool) -> None:
    """Also where they are missing, infinite or on an edge; and every record has exactly one."""
    schema = Schema({"x0": Number(-1, 100, log=log)})
    (feature,) = declared_features(["x0"], schema=schema, bins=bins)
    values = np.array(cells)
    oracle = StatisticalOracle(Records({"x0": values}, schema))
    codes = feature.encode(values)
    assert feature.size == bins
    assert codes.min() >= 0
    counts = _counts(oracle, feature)
    assert np.array_equal(counts, np.bincount(codes, minlength=bins))
    assert _agrees(oracle, feature, codes)


def test_levels_have_the_same_code_in_memory_and_in_a_table() -> None:
    """Texts, truth values and numbers as levels; what is missing or not declared has a code of its own."""
    schema = Schema(
        {
            "town": Category(["a", "b"]),
            "ward": Category(["a", "b", "rest"], other="rest"),
            "smokes": Flag(),
            "stage": Ordinal([1, 2, 3], missing=2),
            "note": Ignored(),
        }
    )
    table = {
        "town": ["a", "b", "c", None, "a"],
        "ward": ["a", "x", None, "b", "rest"],
        "smokes": [True, False, None, True, True],
        "stage": [1, 2, 3, None, 9],
        "note": ["1", "2", "3", "4", "5"],
    }
    oracle = StatisticalOracle(Records(table, schema))
    features = declared_features((), schema=schema)
    assert [(feature.size, feature.ordered) for feature in features] == [(3, False), (3, False), (3, False), (3, True)]
    for feature in features:
        codes = feature.encode(np.array(table[feature.name], dtype=object))
        assert np.array_equal(_counts(oracle, feature), np.bincount(codes, minlength=feature.size))
        assert _agrees(oracle, feature, codes)
    assert features[0].encode(np.array(["a", "b", "c", None], dtype=object)).tolist() == [0, 1, 2, 2]
    assert features[3].encode(np.array([1, 3, None], dtype=object)).tolist() == [0, 2, 1]


def test_without_a_declaration_features_are_true_above_zero() -> None:
    """0 and 1, -1 and 1 and truth values are read alike."""
    (feature,) = declared_features(["x0"])
    assert feature.encode(np.array([0.0, 1.0, -1.0, 0.2])).tolist() == [0, 1, 0, 1]


def test_records_bring_their_own_declarations() -> None:
    """Numbers and moments are cut between their ends, the latter at whole days, and levels are as declared."""
    columns = {"age": Number(0, 90), "seen": Moment("2020-01-01", "2020-01-31T12:00"), "town": Category(["a"])}
    age, seen, town = declared_features(["age", "seen", "town"], columns=columns, bins=3)
    assert age.says(0) == "age <= 30"
    assert seen.says(0) == "seen <= 2020-01-11"
    assert seen.says(2) == "seen > 2020-01-21"
    assert seen.encode(np.array(["2020-01-11", "2020-01-12", "1999-01-01", "?"], dtype=object)).tolist() == [0, 1, 0, 1]
    assert town.size == 2
    oracle = StatisticalOracle(
        Records({"seen": ["2020-01-11", "2020-01-12", "2030-01-01", None]}, Schema({"seen": columns["seen"]}))
    )
    assert _counts(oracle, seen).tolist() == [1, 2, 1]
    assert _agrees(oracle, seen, np.array([0, 1, 2, 1]))


def test_bounds_and_levels_are_declared_for_all_or_for_each() -> None:
    """Numbers beyond the bounds belong to the outermost bins, codes beyond the levels to the outermost levels."""
    one, other = declared_features(["a", "b"], bounds=[(0, 10), (0, 1)], bins=5)
    assert isinstance(one, Cut)
    assert one.edges == (2.0, 4.0, 6.0, 8.0)
    assert other.encode(np.array([-9.0, 0.5, 9.0])).tolist() == [0, 2, 4]
    three, two = declared_features(["a", "b"], levels=[3, 2])
    assert not three.ordered
    assert three.encode(np.array([0, 1, 2, 7])).tolist() == [0, 1, 2, 2]
    assert two.size == 2


def test_codes_are_put_into_words() -> None:
    """Rules can be read."""
    age, town = declared_features((), schema=Schema({"age": Number(0, 90), "town": Category(["a"])}), bins=3)
    assert age.says(0) == "age <= 30"
    assert age.says(1) == "30 < age <= 60"
    assert age.says(2) == "age > 60"
    assert age.says(1, up_to=True) == "age <= 60"
    assert town.says(0) == "town is a"
    assert town.says(1) == "town is anything else"
