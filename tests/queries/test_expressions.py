"""Expressions over arrays: written down once, total, and the same in words whenever they are the same."""

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.errors import InvalidParameter
from tacit.queries import Histogram, RowSums, StatisticalOracle, StatisticalQuery
from tacit.queries.arrays import ArrayEngine
from tacit.queries.engine import Part
from tacit.queries.opaque import HEIGHT

NAN = math.nan
X = np.array([[1.0, -2.0], [NAN, 0.5], [0.0, NAN], [3.0, 1e40]])
ENGINE = ArrayEngine(X, [1, -1, 1, -1])


def _values(function: Any, engine: ArrayEngine = ENGINE) -> list[float]:
    """Return the value of every record, 99 where it is missing."""
    query = StatisticalQuery(function, low=-100, high=100, missing=99)
    prepared = engine.prepare(query)
    parts = [engine.sums([prepared], part=Part(i, engine.n))[0][0] for i in range(engine.n)]
    return [round(200 * part - 100, 9) for part in parts]


MEANINGS: list[tuple[Any, list[float]]] = [
    (lambda t: t.x0 + 1, [2, 99, 1, 4]),
    (lambda t: 2 - t["x1"], [4, 1.5, 99, -100]),
    (lambda t: t.x0 / t.x1, [-0.5, 99, 99, 0]),
    (lambda t: 1 / t.x0, [1, 99, 99, 0.333333333]),
    (lambda t: t.x0 // 2, [0, 99, 0, 1]),
    (lambda t: (t.x0 - 4) % 3, [0, 99, -1, -1]),
    (lambda t: -t.x0, [-1, 99, 0, -3]),
    (lambda t: t.x1.abs(), [2, 0.5, 99, 100]),
    (lambda t: t.x0**2, [1, 99, 0, 9]),
    (lambda t: t.x0.sqrt(), [1, 99, 0, 1.732050808]),
    (lambda t: (t.x0 - 2).sqrt(), [99, 99, 99, 1]),
    (lambda t: t.x0.ln(), [0, 99, 99, 1.098612289]),
    (lambda t: np.log(t.x0), [0, 99, 99, 1.098612289]),
    (lambda t: np.exp(t.x0), [math.e, 99, 1, math.exp(3)]),
    (lambda t: (t.x0 / 2).floor(), [0, 99, 0, 1]),
    (lambda t: (t.x0 / 2).ceil(), [1, 99, 0, 2]),
    (lambda t: (t.x0 / 2).round(), [1, 99, 0, 2]),
    (lambda t: t.x1.sign(), [-1, 1, 99, 1]),
    (lambda t: np.maximum(t.x0, 2), [2, 99, 2, 3]),
    (lambda t: t.x0.clip(0.5, 2), [1, 99, 0.5, 2]),
    (lambda t: t.x0.clip(lower=0.5), [1, 99, 0.5, 3]),
    (lambda t: t.x0.clip(upper=2), [1, 99, 0, 2]),
    (lambda t: t.x0 > 0.5, [1, 99, 0, 1]),
    (lambda t: np.float64(0.5) < t.x0, [1, 99, 0, 1]),
    (lambda t: (t.x0 > 0.5) & (t.x1 > 0), [0, 99, 0, 1]),
    (lambda t: (t.x0 > 0.5) | (t.x1 > 0), [1, 1, 99, 1]),
    (lambda t: (t.x0 > 0.5) ^ (t.y == 1), [0, 99, 1, 1]),
    (lambda t: ~(t.x0 > 0.5), [0, 99, 1, 0]),
    (lambda t: t.x0.isin([0, 3]), [0, 99, 1, 1]),
    (lambda t: t.x0.notin([0, 3]), [1, 99, 0, 0]),
    (lambda t: t.x0.isin([]), [0, 0, 0, 0]),
    (lambda t: t.x0.between(0, 1), [1, 99, 1, 0]),
    (lambda t: t.x0.isnull(), [0, 1, 0, 0]),
    (lambda t: np.isnan(t.x0), [0, 1, 0, 0]),
    (lambda t: t.x0.notnull(), [1, 0, 1, 1]),
    (lambda t: t.x0.fill_null(7), [1, 7, 0, 3]),
    (lambda t: t.x1.coalesce(t.x0, 5), [-2, 0.5, 0, 100]),
    (lambda t: t.x0.nullif(3), [1, 99, 0, 99]),
    (lambda t: (t.x0 > 0.5).ifelse(10, t.x1), [10, 0.5, 99, 10]),
    (lambda t: t.x0.cases((1, 11), (3, t.x1 + 1), else_=5), [11, 5, 5, 100]),
    (lambda t: t.x0.cases((1, 11)), [11, 99, 99, 99]),
    (lambda t: (t.x0 > 0).cast("int64"), [1, 99, 0, 1]),
    (lambda t: t.x0.cast("float64"), [1, 99, 0, 3]),
]


@pytest.mark.parametrize(("function", "expected"), MEANINGS)
def test_operations_mean_what_they_mean_in_sql(function: Any, expected: list[float]) -> None:
    """What is computed from a missing cell is missing unless the rest decides; what has no value is missing."""
    assert _values(function) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t.x0.mean(), "mean"),
        (lambda t: np.add.reduce(t.x0), "add.reduce"),
        (lambda t: np.sum(t.x0), "not possible|failed"),
        (lambda t: np.sort(t.x0), "not possible|failed"),
        (lambda t: np.sin(t.x0), "numpy's sin"),
        (lambda t: t.x0 > 0 and t.x1 > 0, "Python condition"),
        (lambda t: list(t.x0), "going through"),
        (lambda t: t.x0**0.5, "power"),
        (lambda t: t.x0 % t.x1, "remainder"),
        (lambda t: t.x0 % -2, "remainder"),
        (lambda t: t.x0.cast("int64"), "conversion to int64"),
        (lambda t: t.x0 == "a", "constant of type str"),
        (lambda t: t.x0 > math.inf, "at most 1e30"),
        (lambda t: t.x0.isin([math.nan]), "at most 1e30"),
        (lambda t: t.x0 + np.arange(4), "constant of type ndarray"),
        (lambda t: t.x7, "no column 'x7'"),
        (lambda t: 1 / 0, "ZeroDivisionError"),
        (lambda t: [t.x0, t.x1], "got 2"),
        (lambda t: 0.5, "got float"),
        (7, "got int"),
    ],
)
def test_what_is_not_about_one_record_is_refused(function: Any, message: str) -> None:
    """Before any record is touched, in words that say what it was."""
    with pytest.raises(InvalidParameter, match=message):
        ENGINE.prepare(StatisticalQuery(function))


def test_deep_and_shared_expressions_cost_what_they_are_made_of() -> None:
    """A conjunction of 3000 conditions, and 200 doublings of a sum, which written out would never end."""
    rows = np.ones((50, 3000))
    engine = ArrayEngine(rows)

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
        assert prepared.text is not None
        assert len(prepared.text) < 300_000


def test_the_text_tells_questions_apart() -> None:
    """The same question has the same text; another constant, however near, another."""
    functions = [
        lambda t: t.x0 > 0.1,
        lambda t: t.x0 > np.nextafter(0.1, 1),
        lambda t: t.x1 > 0.1,
        lambda t: (t.x0 > 0.1) & (t.x0 > 0.1),
        lambda t: (t.x0 > 0.1) & (t.x1 > 0.1),
    ]
    texts = [ENGINE.prepare(StatisticalQuery(function)).text for function in functions]
    assert len(set(texts)) == len(texts)
    assert texts == [ENGINE.prepare(StatisticalQuery(function)).text for function in functions]


def test_sparse_rows_are_dense_rows() -> None:
    """A cell that is not stored is 0, for every kind of query and in every part."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((200, 5)) < 0.7, 0.0, rng.normal(size=(200, 5)))
    labels = rng.choice([-1.0, 1.0], 200)
    names = tuple(f"x{j}" for j in range(5))
    queries = [
        StatisticalQuery(lambda t: (t.x0 > 0) & (t.y == 1)),
        Histogram(lambda t: [t.x1 > 0, t.y], [(True, 1), (False, -1)]),
        RowSums(names), RowSums(names, low=-1), RowSums(names, lambda t: t.y, (1, -1), norm=1.0),
        StatisticalQuery(lambda t: t.apply(lambda X, y: np.asarray(X.sum(axis=1)).ravel()), low=-3, high=3),
    ]  # fmt: skip
    one, other = ArrayEngine(dense, labels), ArrayEngine(sparse.csr_array(dense), labels)
    for part in (None, Part(1, 3)):
        for query in queries:
            expected, found = (each.sums([each.prepare(query)], part=part)[0] for each in (one, other))
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_model_s_errors_can_be_counted() -> None:
    """An opaque function gets rows and labels, in blocks; its question is never taken for another."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3 * HEIGHT + 17, 3))
    labels = np.where(rows[:, 0] + rng.normal(size=len(rows)) > 0, 1.0, -1.0)
    model = LogisticRegression().fit(rows, labels)
    engine = ArrayEngine(rows, labels)
    prepared = engine.prepare(StatisticalQuery(lambda t: t.apply(lambda X, y: model.predict(X) != y)))
    assert engine.sums([prepared])[0].tolist() == [np.sum(model.predict(rows) != labels)]
    assert engine.sums([prepared], flipped=True)[0].tolist() == [np.sum(model.predict(rows) == labels)]
    assert prepared.text is None
    mixed = engine.prepare(StatisticalQuery(lambda t: (t.apply(lambda X, y: model.predict(X)) == 1) & (t.x1 > 0)))
    assert engine.sums([mixed])[0].tolist() == [np.sum((model.predict(rows) == 1) & (rows[:, 1] > 0))]


def test_records_that_a_function_fails_on_are_missing_and_change_no_other() -> None:
    """Whether it raises, warns or returns NaN: the others' values stay what they were to the last bit."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2500, 40))
    weights = rng.normal(size=40)

    def touchy(X: Any, y: Any) -> Any:
        if (X[:, 0] > 1e6).any():
            raise ValueError(f"cannot digest {X[0]}")
        if (X[:, 0] < -1e6).any():
            warnings.warn("ugly", stacklevel=1)
        return np.where(X[:, 0] < -1e6, np.nan, X @ weights)

    spoiled = rows.copy()
    bad = [0, 5, 6, 1023, 1024, 2499]
    spoiled[bad, 0] = [1e9, 1e9, -1e9, 1e9, 1e9, 1e9]
    query = StatisticalQuery(lambda t: t.apply(touchy), low=-50, high=50, missing=0)
    values = [
        (engine := ArrayEngine(each)).prepare(query).columns[0].operands[0].values(engine.rows, None)
        for each in (rows, spoiled)
    ]
    assert np.isnan(values[1]).nonzero()[0].tolist() == bad
    kept = np.setdiff1d(np.arange(2500), bad)
    assert (values[0][kept] == values[1][kept]).all()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, y: X[:, 0] > X[:, 0].mean(), "that row alone"),
        (lambda X, y: np.argsort(X[:, 0]), "that row alone"),
        (lambda X, y: np.random.default_rng().random(len(X)), "that row alone"),
        (lambda X, y: X[:, 0].sum(), "one number for every row"),
        (lambda X, y: X, "one number for every row"),
        (lambda X, y: 1 / 0, "ZeroDivisionError"),
        (lambda X, y: ["a"] * len(X), "could not convert"),
        ("predict", "got str"),
    ],
)
def test_functions_that_mix_rows_change_or_fail_are_refused_on_made_up_rows(function: Any, message: str) -> None:
    """Together, one by one, in another order and once more: no record is needed to see it."""
    with pytest.raises(InvalidParameter, match=message):
        ENGINE.prepare(StatisticalQuery(lambda t: t.apply(function)))


def test_a_function_cannot_change_the_records() -> None:
    """It gets copies."""

    def greedy(X: Any, y: Any) -> Any:
        values = X[:, 0].copy()
        X[:] = 0.0
        return values

    rows = np.ones((10, 2))
    engine = ArrayEngine(rows)
    prepared = engine.prepare(StatisticalQuery(lambda t: t.apply(greedy)))
    assert [engine.sums([prepared])[0].tolist() for _ in range(2)] == [[10], [10]]


def test_levels_must_be_numbers_that_differ() -> None:
    """Two levels that are the same float would count a record twice."""
    for levels in ([0.0, 1e-40], [2**53, 2**53 + 1], ["a"], [math.nan], [None]):
        with pytest.raises(InvalidParameter):
            ENGINE.prepare(Histogram(lambda t: t.x0, levels))


def test_pickles_keep_the_identity() -> None:
    """So a repeated question is recognised in another process."""
    copy = pickle.loads(pickle.dumps(ENGINE))
    assert copy.identity == ENGINE.identity != ArrayEngine(X).identity
    query = StatisticalQuery(lambda t: t.x0 > 0)
    assert copy.sums([copy.prepare(query)])[0] == ENGINE.sums([ENGINE.prepare(query)])[0]


def test_an_oracle_answers_about_opaque_functions() -> None:
    """And is charged each time, as nobody can tell whether the function is the same."""
    oracle = StatisticalOracle((np.ones((1000, 1)), np.ones(1000)))
    query = StatisticalQuery(lambda t: t.apply(lambda X, y: X[:, 0] == y))
    answers = [oracle.ask(query, epsilon=1.0, of="sample") for _ in range(2)]
    assert not answers[1].repeated
    assert answers[0].value == pytest.approx(1.0, abs=0.05)
