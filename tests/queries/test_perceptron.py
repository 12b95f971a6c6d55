"""The perceptron from statistical queries: how good it is, what its noise is, what one record can do."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Number, PublicEncoder, Records, Schema, adult_schema, load_adult
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle
from tacit.queries.learners.perceptron import SQPerceptron
from tacit.queries.oracle.plan import Demand
from tacit.sums.array_evaluator import evaluator_of_arrays

# Ibis calls DuckDB in a way that newer versions of it warn about.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

ENOUGH = 4_000


def _halfspace(seed: int, width: int, noise: float = 0.0) -> tuple[Any, Any, Any, Any]:
    """Draw rows of norm about 1, far from the origin and from a halfspace, and which side they are on."""
    rng = np.random.default_rng(seed)
    rows = 0.3 + 0.5 * rng.normal(size=(3 * ENOUGH, width)) / math.sqrt(width)
    normal = rng.normal(size=width)
    scores = (rows - 0.3) @ normal / np.linalg.norm(normal) * math.sqrt(width) - 0.1
    rows, scores = rows[np.abs(scores) > 0.1], scores[np.abs(scores) > 0.1]
    true = np.where(scores > 0, 1, -1)
    seen = np.where(rng.random(len(true)) < noise, -true, true)
    return rows[:ENOUGH], seen[:ENOUGH], rows[ENOUGH:], true[ENOUGH:]


@pytest.mark.parametrize(("width", "epsilon", "wanted"), [(5, 1.0, 0.95), (5, 10.0, 0.97), (20, 10.0, 0.93)])
def test_it_is_nearly_as_good_as_a_support_vector_machine(width: int, epsilon: float, wanted: float) -> None:
    """On rows with a margin a support-vector machine is right, and so are the perceptrons, with noise and without."""
    rows, labels, others, truth = _halfspace(1, width)
    norm = 0.3 * math.sqrt(width) + 0.8
    assert LinearSVC(C=100.0).fit(rows, labels).score(others, truth) > 0.99
    assert SQPerceptron(math.inf, data_norm=norm).fit(rows, labels).score(others, truth) > 0.98
    scores = [
        SQPerceptron(epsilon, data_norm=norm, random_state=seed).fit(rows, labels).score(others, truth)
        for seed in range(5)
    ]
    assert np.median(scores) > wanted


@pytest.mark.parametrize("epsilon", [10.0, math.inf])
def test_labels_that_are_wrong_at_a_known_rate_are_corrected_for(epsilon: float) -> None:
    """With every fifth label wrong, the perceptron that is told so is right about the true ones."""
    rows, labels, others, truth = _halfspace(2, 5, noise=0.2)
    assert np.mean(labels == labels[0]) < 0.7
    model = SQPerceptron(epsilon, data_norm=1.5, noise_rate=0.2, random_state=3).fit(rows, labels)
    assert model.score(others, truth) > 0.95
    assert "labels are wrong at rate 0.2" in " ".join(model.release_.public)


def test_the_number_of_rounds_follows_from_public_quantities() -> None:
    """More records, more epsilon and fewer features pay for more rounds; without noise there are 32."""
    rounds = [len(SQPerceptron(1.0, data_norm=5.0).preview(n, 10)) for n in (100, 1_000, 10_000, 10**6)]
    assert rounds == sorted(rounds)
    assert (rounds[0], rounds[-1]) == (1, 32)
    assert rounds[2] == len(SQPerceptron(10.0, data_norm=0.5).preview(1_000, 10))
    assert rounds[2] > len(SQPerceptron(1.0, data_norm=5.0).preview(10_000, 40))
    assert len(SQPerceptron(1.0, data_norm=5.0, rounds=7).preview(100, 10)) == 7
    assert SQPerceptron(math.inf, data_norm=1.0).fit(np.eye(2), [0, 1]).n_iter_ == 32


def test_a_halfspace_without_an_intercept_goes_through_the_origin() -> None:
    """The intercept is 0, and no question is about it."""
    rows, labels, _, _ = _halfspace(3, 4)
    model = SQPerceptron(5.0, data_norm=1.5, fit_intercept=False, rounds=2, random_state=0).fit(rows - 0.3, labels)
    assert model.intercept_.tolist() == [0.0]
    assert [plan.size for plan in model.plans_] == [8, 8]
    assert [plan.size for plan in SQPerceptron(5.0, data_norm=1.5, rounds=2).preview(10, 4)] == [9, 9]


def test_classes_come_in_order_whatever_they_are() -> None:
    """Text is a label as good as any; three are too many."""
    rows, labels, others, truth = _halfspace(4, 3)
    words = np.where(labels > 0, "well", "ill")
    model = SQPerceptron(50.0, data_norm=1.5, classes=["well", "ill"], random_state=0).fit(rows, words)
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.score(others, np.where(truth > 0, "well", "ill")) > 0.95
    with pytest.raises(InvalidParameter, match="Only binary"):
        SQPerceptron(1.0, data_norm=1.0).fit(rows[:3], [0, 1, 2])


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_one_record_can_do_what_the_noise_is_for(rate: float, summed: list[Any]) -> None:
    """A row on the rim whose label is replaced by the other moves the sums by the whole L1 bound.

    So half the noise would be too little: some outcome would be e^(2 epsilon) times as likely.
    """
    rim = np.full(4, 0.5)
    rows = np.vstack([rim, np.zeros((9, 4))])
    for label in (1, -1):
        labels = np.array([label] + [1, -1, 1] * 3)
        SQPerceptron(math.inf, data_norm=1.0, rounds=1, noise_rate=rate).learn(evaluator_of_arrays(rows, labels))
    sides = len(summed) // 2
    one, other = (_corrected([sums for sums, _ in summed[k * sides : (k + 1) * sides]], rate) for k in range(2))
    bound = Demand.of_queries(summed[0][1], 10, noise_rate=rate).l1
    assert 0.999 * bound <= np.abs(one - other).sum() <= bound


def _corrected(sums: list[Any], rate: float) -> Any:
    return sums[0] if len(sums) == 1 else (1.0 - rate) * sums[0] - rate * sums[1]


def test_more_features_than_one_query_can_hold_are_refused_before_the_charge(tmp_path: Path) -> None:
    """Over arrays and over tables; the ledger has no entry."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1))
    with pytest.raises(InvalidParameter, match="too much"):
        SQPerceptron(1.0, data_norm=1.0, ledger=ledger).fit(np.zeros((2, 4_001)), [0, 1])
    table = {**{f"x{j}": [0.0, 1.0] for j in range(7_000)}, "y": [-1, 1]}
    schema = Schema({**{f"x{j}": Number(0, 1) for j in range(7_000)}, "y": Number(-1, 1)}, target="y")
    oracle = StatisticalOracle(Records(table, schema), ledger=ledger)
    with pytest.raises(InvalidParameter, match="too much"):
        SQPerceptron(1.0, data_norm=1.0).learn(oracle)
    assert ledger.entries() == []


def test_it_learns_from_real_records() -> None:
    """On Adult, through its schema, it beats the larger class at epsilon 1, and comes close to no privacy at 10."""
    records, schema = load_adult(), adult_schema()
    rows, labels = np.asarray(PublicEncoder(schema).transform(records)), schema.labels(records)
    train, test = slice(0, 30_000), slice(30_000, None)
    scores = [
        SQPerceptron(epsilon, delta, data_norm=1.0, rounds=rounds, random_state=0)
        .fit(rows[train], labels[train])
        .score(rows[test], labels[test])
        for epsilon, delta, rounds in ((1.0, 1e-6, "auto"), (10.0, 0.0, 6), (math.inf, 0.0, 6))
    ]
    larger = np.mean(labels[test] == "<=50K")
    assert scores[0] > larger + 0.03
    assert scores[1] > scores[2] - 0.02 > larger
