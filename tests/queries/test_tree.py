"""Decision trees from statistical queries: the splits of ordinary ones, level by level, above the noise."""

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from support.statistical import at_most, sample_size
from tacit.data import Category, Number, Schema
from tacit.errors import InvalidParameter
from tacit.queries.learners.domains import Cut
from tacit.queries.learners.literals import Candidates, FeatureLiteral, allowance
from tacit.queries.learners.tree import SQDecisionTree

RNG = np.random.default_rng(9)


def _records(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A label that a tree of depth two describes, one label of ten wrong."""
    rows = (rng.random((n, 6)) < 0.5).astype(float)
    true = _true(rows)
    return rows, np.where(rng.random(n) < 0.1, 1 - true, true).astype(int)


def _true(rows: np.ndarray) -> np.ndarray:
    return np.where(rows[:, 0] > 0, 1.0, rows[:, 2])


def test_without_noise_it_is_the_ordinary_tree() -> None:
    """On two-valued features the predictions are those of scikit-learn's tree of the same depth."""
    rows, labels = _records(20_000, RNG)
    weights = np.array([3.0, 2.0, 1.5, 1.0, 0.5, 0.2])
    labels = (rows @ weights + RNG.normal(0, 1, len(rows)) > 4).astype(int)
    mine = SQDecisionTree(math.inf, max_depth=3).fit(rows, labels)
    peer = DecisionTreeClassifier(max_depth=3).fit(rows, labels)
    assert np.array_equal(mine.predict(rows), peer.predict(rows))
    assert np.abs(mine.predict_proba(rows) - peer.predict_proba(rows)).max() < 0.01


def test_a_planted_tree_is_found_privately() -> None:
    """At epsilon 1 and 20,000 records the tree is the planted one."""
    rows, labels = _records(20_000, RNG)
    model = SQDecisionTree(1.0, max_depth=2, random_state=1).fit(rows, labels)
    assert model.score(rows, _true(rows)) > 0.99


def test_numbers_and_levels_make_readable_rules() -> None:
    """Thresholds on numbers, levels on categories."""
    people = {"age": RNG.uniform(0, 80, 5_000), "town": RNG.choice(["a", "b", "c"], 5_000)}
    ill = np.where(people["town"] == "b", "yes", np.where(people["age"] > 60, "yes", "no"))
    schema = Schema({"age": Number(0, 80), "town": Category(["a", "b", "c"])})
    model = SQDecisionTree(math.inf, schema=schema, max_depth=2).fit(people, ill)
    assert model.score(people, ill) == 1.0
    assert "if town is b:" in model.rules()
    assert "if age <= 60:" in model.rules()
    text = model.export_text(show_weights=True).splitlines()
    assert text[:2] == ["|--- town is b", "|   |--- weights: [0.00, 1.00] class: yes"]
    assert text[2:4] == ["|--- town is not b", "|   |--- age <= 60"]
    assert text[-2:] == ["|   |--- age > 60", "|   |   |--- weights: [0.00, 1.00] class: yes"]


def test_each_level_is_one_round_whatever_the_number_of_nodes() -> None:
    """A level asks about all its nodes at the price of one: L1 2 for each feature."""
    plans = SQDecisionTree(6.0, max_depth=3).preview(10**7, 10)
    assert [plan.size for plan in plans] == [40, 80, 160, 16]
    assert {(plan.budget.epsilon, plan.rounds) for plan in plans} == {(6.0, 4)}
    noise = [plan.noise_error / -math.log(0.05 / plan.size) for plan in plans]
    assert noise == pytest.approx([20 / 1.5 / 10**7] * 3 + [2 / 1.5 / 10**7], rel=1e-3)


def test_fewer_levels_are_asked_for_where_noise_would_drown_them() -> None:
    """By public quantities alone: the depth falls with n and epsilon, down to one."""
    depths = [len(SQDecisionTree(1.0, max_depth=5).preview(n, 10)) - 1 for n in (100, 3_000, 30_000, 10**7)]
    assert depths == sorted(depths)
    assert (depths[0], depths[-1]) == (1, 5)
    assert len(SQDecisionTree(0.01, max_depth=5).preview(30_000, 10)) - 1 < depths[2]


@pytest.mark.stats
def test_noise_alone_is_seldom_split() -> None:
    """Where features say nothing, a tree stays a leaf in most fits; without the allowance (the twin) it never does."""
    trials = sample_size(40)
    rng = np.random.default_rng(1)
    rows, labels = (rng.random((2_000, 8)) < 0.5).astype(float), rng.integers(0, 2, 2_000)
    fits = [SQDecisionTree(1.0, max_depth=1, random_state=seed).fit(rows, labels) for seed in range(trials)]
    assert at_most(sum(len(model.nodes_) > 1 for model in fits), trials, 0.5)
    features = [Cut(f"x{j}", (0.0,)) for j in range(8)]
    spurious = 0
    for _ in range(trials):
        tables = [np.full((2, 2), 0.25) + rng.normal(0, 0.02, (2, 2)) for _ in features]
        spurious += Candidates.of(features, tables, np.array([0.5, 0.5])).gains(0.02, 0.0).max() > 0
    assert not at_most(spurious, trials, 0.5)


def test_a_tree_is_at_most_ten_levels_deep() -> None:
    """Where a record is in a deeper one would be too long a question; refused before anything is charged."""
    for depth in (0, 11, 2.5):
        with pytest.raises(InvalidParameter, match="max_depth"):
            SQDecisionTree(math.inf, max_depth=depth).fit(*_records(100, RNG))
    assert SQDecisionTree(math.inf, max_depth=10).fit(*_records(3_000, RNG)).plans_ == ()


def test_gains_are_those_of_the_gini_impurity() -> None:
    """Without noise a candidate's gain is the parts' impurity less than the whole's, in shares of all records."""
    table = np.array([[0.1, 0.3], [0.4, 0.2]])
    found = Candidates.of([Cut("x0", (0.0,))], [table], table.sum(axis=0))
    assert found.literals == (FeatureLiteral(0, 0, up_to=False),)

    def impurity(shares: np.ndarray) -> float:
        return float(shares.sum() * (1 - np.square(shares / shares.sum()).sum()))

    gain = impurity(table.sum(axis=0)) - impurity(table[0]) - impurity(table[1])
    assert found.gains(0.0, 1.0) == pytest.approx([gain])
    assert found.gains(0.01, 2.0) == pytest.approx([gain - 2 * 1e-4 * (1 / 0.4 + 1 / 0.6)])
    assert found.gains(1.0, 2.0) == [-math.inf]
    assert allowance(1) == allowance(2) < allowance(3)


def test_an_ordered_feature_is_cut_between_all_neighbours() -> None:
    """A number with four bins has three thresholds, a category with four levels four questions."""
    table = np.array([[0.1, 0.0], [0.2, 0.1], [0.1, 0.2], [0.0, 0.3]])
    ordered = Candidates.of([Cut("x0", (0.0, 1.0, 2.0))], [table], table.sum(axis=0))
    assert [literal.code for literal in ordered.literals] == [0, 1, 2]
    assert ordered.inside[1] == pytest.approx([0.3, 0.1])
    assert ordered.cells.tolist() == [1.0, 2.0, 1.0]
    loose = Candidates.of([Cut("x0", (0.0, 1.0, 2.0), ordered=False)], [table], table.sum(axis=0))
    assert len(loose.literals) == 4
    codes = np.arange(4)
    assert ordered.literals[1].holds(codes[:, None]).tolist() == [True, True, False, False]
    assert FeatureLiteral(0, 1, up_to=False, contrary=True).holds(codes[:, None]).tolist() == [True, False, True, True]


def test_a_tree_is_drawn_with_every_rule_once(tmp_path: Path) -> None:
    """The picture holds each node's words as `rules` has them, each at a place of its own."""
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 2, (3000, 3))
    model = SQDecisionTree(math.inf, levels=[2] * 3, max_depth=3, classes=[0, 1]).fit(rows, rows[:, 0] & rows[:, 1])
    axes = model.plot()
    words = [text.get_text() for text in axes.texts]
    assert len(words) == len(model.nodes_) >= 5
    assert all(each in model.rules() for each in words)
    assert len({text.get_position() for text in axes.texts}) == len(words)
    axes.figure.savefig(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 3000
