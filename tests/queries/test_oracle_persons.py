"""The oracle about persons: one person moves a sum no more than one record does, and means are over persons."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Flag, Key, Number, Records, Schema
from tacit.data.persons import Persons
from tacit.errors import InvalidParameter
from tacit.queries import (
    SQPCA,
    Histogram,
    RowSums,
    SecondMoments,
    SQKMeans,
    SQNaiveBayes,
    SQPerceptron,
    StatisticalOracle,
    StatisticalQuery,
)
from tacit.queries.oracle.plan import Demand
from tacit.queries.oracle.session import Session
from tacit.sums import block_sums
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.record_evaluator import evaluator_for

COLUMNS = {"id": Key(), "age": Number(0, 100), "days": Number(0, 20), "ward": Category(["a", "b"]), "ill": Flag()}
SCHEMA = Schema(COLUMNS, target="ill")
QUERIES = [
    StatisticalQuery(lambda t: (t.age > 60) & t.ill),
    StatisticalQuery(lambda t: t.age, low=0, high=100),
    Histogram(lambda t: t.ward, levels=[("a",), ("b",)]),
    RowSums(("age", "days"), norm=50.0),
    SecondMoments(("age", "days"), norm=50.0),
]


def _records(person: dict[str, list[Any]], *, unit: str | None = "id") -> Records:
    generator = np.random.default_rng(0)
    rest = 25
    table = {
        "id": [*[1000] * len(person["age"]), *generator.integers(0, 9, rest).tolist()],
        "age": [*person["age"], *generator.uniform(0, 100, rest).tolist()],
        "days": [*person["days"], *generator.uniform(0, 20, rest).tolist()],
        "ward": [*person["ward"], *generator.choice(["a", "b"], rest).tolist()],
        "ill": [*person["ill"], *(generator.random(rest) < 0.5).tolist()],
    }
    return Records(table, SCHEMA, unit=unit)


def _person(rows: int, age: float, days: float, ward: str, ill: bool) -> dict[str, list[Any]]:
    return {"age": [age] * rows, "days": [days] * rows, "ward": [ward] * rows, "ill": [ill] * rows}


@pytest.mark.parametrize("place", range(len(QUERIES)))
def test_a_person_moves_sums_no_more_than_was_paid_for(place: int) -> None:
    """Persons of 1 to 20 rows replaced by their opposites; rows for persons move them up to 20 times as far."""
    query, moved, plain = QUERIES[place], 0.0, 0.0
    for mine, theirs in ((1, 20), (20, 1), (20, 20), (3, 7)):
        people = _person(mine, 100.0, 0.0, "a", True), _person(theirs, 0.0, 20.0, "b", False)
        for unit in ("id", None):
            evaluators = [evaluator_for(_records(person, unit=unit)) for person in people]
            one, other = (evaluator.sums([evaluator.prepare(query)])[0] for evaluator in evaluators)
            demand = Demand.of_queries([query], evaluators[0].n, whom=evaluators[0].unit)
            if unit is None:
                plain = max(plain, float(np.linalg.norm(one - other)) / demand.l2)
            else:
                assert float(np.abs(one - other).sum()) <= demand.l1
                assert float(np.linalg.norm(one - other)) <= demand.l2
                moved = max(moved, float(np.linalg.norm(one - other)) / demand.l2)
    assert moved > 0.4
    assert plain > 5


@pytest.mark.parametrize("at_once", [7, 16_384])
def test_sums_are_exact_in_any_order_of_rows(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons' rows in another order, or fewer at a time, give the same bits, however many rows persons have."""
    generator = np.random.default_rng(3)
    ids = np.repeat(np.arange(64), generator.integers(1, 40, 64))
    table = {
        "id": ids, "age": generator.uniform(0, 100, len(ids)), "days": generator.uniform(0, 20, len(ids)),
        "ward": generator.choice(["a", "b"], len(ids)), "ill": generator.random(len(ids)) < 0.3,
    }  # fmt: skip
    queries = [*QUERIES, RowSums(("age", "days"), lambda t: t.ward, [("a",), ("b",)], norm=50.0)]
    order = generator.permutation(len(ids))
    found = []
    for each, most in ((np.arange(len(ids)), 16_384), (order, at_once)):
        monkeypatch.setattr(block_sums, "rows_at_once", lambda _, most=most: most)
        evaluator = evaluator_for(Records({name: cells[each] for name, cells in table.items()}, SCHEMA, unit="id"))
        found.append(evaluator.sums([evaluator.prepare(query) for query in queries]))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_means_are_over_persons() -> None:
    """One of two persons owns nineteen of twenty rows, and counts for a half."""
    table = pd.DataFrame({
        "id": ["x"] * 19 + ["y"], "age": [100.0] * 19 + [0.0], "days": [1.0] * 20, "ward": ["a"] * 19 + ["b"],
        "ill": [1] * 20,
    })  # fmt: skip
    evaluator = evaluator_for(Records(table, Schema({**COLUMNS, "ill": Number(0, 1)}, target="ill"), unit="id"))
    age, wards = evaluator.sums([evaluator.prepare(query) for query in (QUERIES[1], QUERIES[2])])
    assert evaluator.n == 2
    assert age / 2 == pytest.approx(0.5, abs=1e-6)
    assert wards.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)


def test_what_a_row_contributes_is_its_part_rounded_towards_nothing() -> None:
    """Of s steps, the s 1024 / k fine steps of a row among k: whole numbers of either sign, of up to 2^40 steps."""
    generator = np.random.default_rng(4)
    steps = generator.integers(-(2**40), 2**40, 9_000, endpoint=True)
    rows = generator.integers(1, 200, 9_000)
    found = block_sums._divided(steps.astype(np.float64), rows).tolist()
    assert found == [math.trunc(Fraction(1024 * s, k)) for s, k in zip(steps.tolist(), rows.tolist(), strict=True)]


@pytest.mark.parametrize("query", [RowSums(("x0", "x1"), high=3), RowSums(("x0",), lambda t: t.y, (-1, 1))])
def test_sparse_rows_of_persons_add_up_as_dense_ones(query: RowSums) -> None:
    """Cells that are not stored contribute nothing, to the last bit of what is stored."""
    generator = np.random.default_rng(5)
    X = generator.uniform(0, 4, (300, 2)) * (generator.random((300, 2)) < 0.3)
    y, persons = generator.choice([-1, 1], 300), Persons.of(generator.integers(0, 40, 300))
    evaluators = [evaluator_of_arrays(rows, y, low=0, high=4, persons=persons) for rows in (X, sparse.csr_array(X))]
    one, other = (evaluator.sums([evaluator.prepare(query)])[0] for evaluator in evaluators)
    assert one.any()
    assert np.array_equal(one, other)


def test_oracles_of_persons_pay_from_ledgers_of_persons(tmp_path: Path) -> None:
    """The answer's sentence names persons; a ledger for records is refused, as one for persons is for rows."""
    persons = Ledger.create(f"sqlite:///{tmp_path}/p.db", name="p", budget=Budget(10), unit="person")
    plain = Ledger.create(f"sqlite:///{tmp_path}/r.db", name="r", budget=Budget(10))
    records = _records(_person(20, 100.0, 0.0, "a", True))
    answer = StatisticalOracle(records, ledger=persons).ask(QUERIES[0], epsilon=1.0)
    assert "replace-one person" in answer.guarantee
    assert "replace-one person" in str(answer.plan)
    assert persons.spent == Budget(1)
    with pytest.raises(InvalidParameter, match="promises for each record"):
        StatisticalOracle(records, ledger=plain).ask(QUERIES[0], epsilon=1.0)
    rows = _records(_person(2, 1.0, 1.0, "a", True), unit=None)
    with pytest.raises(InvalidParameter, match="promises for each person"):
        StatisticalOracle(rows, ledger=persons).ask(QUERIES[0], epsilon=1.0)
    assert persons.spent == Budget(1)
    assert plain.spent == Budget(0)


def test_conversations_about_persons_are_never_split() -> None:
    """Parts by index would cut persons in two."""
    oracle = StatisticalOracle(_records(_person(20, 100.0, 0.0, "a", True)))
    assert oracle.conversation(2, epsilon=1.0).ask(QUERIES[0]).plan.whom.kind == "person"
    with pytest.raises(InvalidParameter, match="plan must be"):
        oracle.conversation(2, epsilon=1.0, plan="split")


LEARNERS: list[Callable[..., Any]] = [
    lambda **rest: SQNaiveBayes(1.0, **rest),
    lambda **rest: SQPerceptron(1.0, **rest),
    lambda **rest: SQKMeans(2, 1.0, **rest),
    lambda **rest: SQKMeans(2, 1.0, bounds=(-1.0, 1.0), **rest),
    lambda **rest: SQPCA(2, 1.0, **rest),
]


@pytest.mark.parametrize("make", LEARNERS)
def test_learners_learn_from_persons(make: Callable[..., Any], tmp_path: Path) -> None:
    """By column or from encoded rows: the release is for persons, and a ledger for records refuses it."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/p.db", name="p", budget=Budget(10), unit="person")
    plain = Ledger.create(f"sqlite:///{tmp_path}/r.db", name="r", budget=Budget(10))
    records = _records(_person(20, 100.0, 0.0, "a", True))
    model = make(ledger=ledger).fit(records)
    assert model.release_.unit == "person"
    assert "who is in the table" in model.release_.guarantee
    assert ledger.spent == Budget(1)
    with pytest.raises(InvalidParameter, match="promises for each record"):
        make(ledger=plain).fit(records)
    assert plain.entries() == []
    assert make(random_state=0).fit(records).plans_[0].n == records.n


@pytest.mark.parametrize("make", LEARNERS[1:])
def test_a_person_moves_what_a_learner_of_encoded_rows_asks_no_more_than_was_paid_for(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of one person turned round, in each query of the first round; as rows they move some of them further."""
    opened: list[Any] = []

    def kept(source: Any, budget: Any, rounds: Any, **rest: Any) -> Session:
        opened.append((source.evaluator, rounds[0]))
        return Session(source, budget, rounds, **rest)

    monkeypatch.setattr("tacit.queries.learners.learner.Session", kept)
    mine, theirs = _person(20, 100.0, 20.0, "a", True), _person(20, 0.0, 0.0, "b", False)
    further = []
    for unit in ("id", None):
        opened.clear()
        for person in (mine, theirs):
            make(random_state=0).fit(_records(person, unit=unit))
        (one, queries), (other, _) = opened
        for query in queries:
            moved = one.sums([one.prepare(query)])[0].astype(float) - other.sums([other.prepare(query)])[0].astype(
                float
            )
            needs = Demand.of_queries([query], one.n, whom=one.unit)
            further.append(np.abs(moved).sum() > needs.l1 or np.linalg.norm(moved) > needs.l2)
            assert unit is None or not further[-1]
    assert any(further)
