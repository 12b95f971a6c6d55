"""The table behind a report: what one record or person can move, what noise is drawn, that nothing is rounded."""

import math
import time
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.statistical import fits, sample_size

from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.evaluation.bins import NODES, Layout
from tacit.evaluation.knots import Knots
from tacit.evaluation.sketch import RowMarks, Sketch, _tree, in_steps, tabulated
from tacit.noise import Rehearsal

EDGES = (-1.0, 0.5, 2.0)


def _layout(kind: Any, pure: bool = True, chosen: bool = False, classes: int = 4) -> Layout:
    size = {"two": 2, "several": classes, "numbers": 1}[kind]
    fixed = () if kind == "numbers" else (0.0,)
    return Layout(kind, size, 6, fixed, () if chosen else EDGES, -36.0, 36.0, True, pure)


def _marks(layout: Layout, rows: int, generator: np.random.Generator, weights: Any = None) -> RowMarks:
    values = generator.choice([-40.0, -1.0, -0.3, 0.0, 0.2, 0.5, 1.9, 7.0, 1e4], (rows, layout.columns))
    groups = generator.integers(-1, max(layout.classes, 1), rows)
    return RowMarks(values, groups, generator.random(rows) < 0.5, weights)


def _moved(layout: Layout, first: RowMarks, second: RowMarks) -> tuple[np.ndarray, np.ndarray]:
    """Return how far a replacement moves the tree and the table."""
    tables, trees = [], []
    for marks in (first, second):
        held = in_steps(marks.weights, len(marks.values))
        tables.append(tabulated(layout, marks, held, layout.given_knots))
        trees.append(np.concatenate([_tree(part, held) for part in layout.in_trees(marks.values)]))
    return trees[0] - trees[1], tables[0] - tables[1]


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("kind", ["two", "several", "numbers"])
def test_no_replacement_moves_more_than_the_sensitivity_and_some_move_as_much(
    kind: Any, pure: bool, persons: bool
) -> None:
    """Over many pairs of records, or persons with weights 1/k, the L1 or L2 distance stays below what noise is for."""
    layout, generator = _layout(kind, pure), np.random.default_rng(1)
    sketch = Sketch(Budget(1, 0 if pure else 1e-6), layout, 10)
    farthest = [0.0, 0.0]
    for _ in range(400):
        pair = []
        for _ in range(2):
            rows = int(generator.integers(1, 4)) if persons else 1
            weights = np.full(rows, 1.0 / rows) if persons else None
            pair.append(_marks(layout, rows, generator, weights))
        for place, difference in enumerate(_moved(layout, *pair)):
            farthest[place] = max(farthest[place], float(np.linalg.norm(difference, 1 if pure else 2)))
    tree, table = sketch._sensitivities
    assert farthest[0] <= tree
    assert farthest[1] <= table
    assert farthest[1] >= 0.8 * table


@pytest.mark.parametrize("kind", ["two", "several", "numbers"])
def test_every_sum_is_exact(kind: Any) -> None:
    """Tables are whole multiples of 2^-26, and of persons that share a weight of one no more than one arrives."""
    layout, generator = _layout(kind), np.random.default_rng(2)
    marks = _marks(layout, 3000, generator, np.full(3000, 1 / 3))
    table = tabulated(layout, marks, in_steps(marks.weights, len(marks.values)), layout.given_knots)
    assert np.array_equal(np.rint(table * 2.0**26), table * 2.0**26)
    known = int(np.sum(marks.groups >= 0))
    own = table[: sum(layout.given_knots[tree].count for tree in layout.tree_of)].sum()
    assert own <= known * sum(layout.entry_weights) * Fraction(1, 3)


def test_positions_come_back_from_places() -> None:
    """`placed` and `places` are inverse to each other, an upper edge belongs to its bin, and shares lie in [0, 1]."""
    knots = Knots.at(EDGES, (0.0,))
    numbers = np.linspace(-3, 4, 1001)
    bins, shares = knots.placed(numbers)
    assert np.all((shares >= 0) & (shares <= 1))
    back = np.array([knots.places(np.array([share]))[place, 0] for place, share in zip(bins, shares, strict=True)])
    near = (numbers > -3) & (numbers < 4)
    assert np.abs(back - numbers)[near & (shares > 1e-5) & (shares < 1 - 1e-5)].max() < 1e-6
    assert knots.placed(np.array([0.0]))[0] == np.searchsorted(knots.edges, 0.0)
    assert knots.count == len(knots.edges) + 3


def test_what_lies_at_knots_keeps_numbers_and_means() -> None:
    """Spread over the parts of bins, what lies at the knots has the same sum, and the same share at each knot."""
    knots = Knots.at(np.linspace(-2, 2, 9), (0.0,))
    parts = knots.filling @ np.eye(knots.count)
    assert np.allclose(parts.sum(axis=0), 1.0)
    assert np.allclose(knots.smearing.sum(axis=0), 1.0)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_has_its_law_and_a_twin_with_a_tenth_less_is_noticed(delta: float) -> None:
    """Entries of the table less the exact ones are Laplace or Gaussian with the calibrated deviation."""
    layout = _layout("two", pure=not delta)
    sketch = Sketch(Budget(1, delta), layout, 50)
    marks = _marks(layout, 50, np.random.default_rng(3))
    exact = tabulated(layout, marks, in_steps(marks.weights, len(marks.values)), layout.given_knots)
    source = Rehearsal(5)
    drawn = [np.concatenate(sketch.randomise(marks, source).counts) - exact for _ in range(sample_size(1600))]
    deviation = sketch.table_deviation
    law = stats.norm(scale=deviation) if delta else stats.laplace(scale=deviation / math.sqrt(2))
    sample = np.concatenate(drawn)
    assert fits(sample, law.cdf)
    assert not fits(sample * 0.9, law.cdf)
    if not delta:
        assert deviation / math.sqrt(2) == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_choosing_bins_costs_an_eighth(delta: float) -> None:
    """The two steps' epsilons, or the squares of their shifts, add up to those of one release."""
    given = Sketch(Budget(1, delta), _layout("two", not delta), 50)
    chosen = Sketch(Budget(1, delta), _layout("two", not delta, chosen=True), 50)
    assert sum(chosen.shares) == 1
    ratio = chosen.table_deviation / given.table_deviation
    assert ratio == pytest.approx(math.sqrt(8 / 7) if delta else 8 / 7, rel=1e-3)
    assert chosen.event == given.event


def test_bins_are_chosen_where_scores_are() -> None:
    """With little noise the edges cut scores into even parts; scores that many share become a bin of their own."""
    layout = _layout("two", chosen=True)
    generator = np.random.default_rng(4)
    scores = np.where(generator.random(4000) < 0.5, 0.3, generator.normal(size=4000))
    marks = RowMarks(scores[:, None], (generator.random(4000) < 0.5).astype(np.intp), None, None)
    found = Sketch(Budget(1000), layout, 4000).randomise(marks, Rehearsal(0))
    edges = found.knots[0].edges
    assert any(low < 0.3 <= high and high - low < 0.01 for low, high in pairwise(edges))
    assert sum(each.sum() for each in found.counts) == pytest.approx(4000, abs=2)


def test_a_tree_counts_every_number_once_a_level() -> None:
    """Each level's counts add up to the number of rows, whatever the numbers are."""
    tree = _tree(np.array([[-1e300], [0.0], [5e-324], [1e300]]), np.ones(4))
    assert tree.size == NODES
    assert [part.sum() for part in np.split(tree, [32, 32 + 1024])] == [4, 4, 4]


def test_too_large_a_table_is_refused() -> None:
    """The number of classes times bins has a public limit, and the refusal says at how many classes it is."""
    most = Layout("several", 5000, 500, (0.0,), (), -36.0, 36.0, True, True).most_classes
    with pytest.raises(InvalidParameter, match=f"at most {most:,}"):
        Sketch(Budget(1), Layout("several", most + 1, 500, (0.0,), (), -36.0, 36.0, True, True), 10)
    Sketch(Budget(1), Layout("several", most, 500, (0.0,), (), -36.0, 36.0, True, True), 10)


def test_the_table_of_many_classes_takes_the_time_of_its_entries() -> None:
    """Counting 20,000 classes goes through their numbers, not through the whole table once for each of them."""
    layout = Layout("several", 20_000, 8, (0.0,), EDGES, -36.0, 36.0, True, True)
    marks = RowMarks(np.zeros((3, 20_000)), np.zeros(3, dtype=np.intp), np.ones(3, dtype=bool), None)
    start = time.process_time()
    table = tabulated(layout, marks, np.ones(3), layout.given_knots)
    assert time.process_time() - start < 6
    assert table.sum() == 3 + 3 * 19_999 * layout.rest_weight + 3 * layout.mark_weight


def test_a_score_that_many_share_has_one_knot() -> None:
    """What lies at a limit, or in a narrow bin between two cuts, lies whole at one knot and comes back as one score."""
    knots = Knots.at((-1.0, 0.4999, 0.5, 2.0), (0.4999, 0.5), (-36.0, 36.0))
    assert knots.alike.tolist() == [True, False, False, True, False, False, True]
    assert knots.count == 4 * 2 + 3 - 2
    bins, shares = knots.placed(np.array([-36.0, -35.9, 0.49995, 36.0, 1e9]))
    assert bins.tolist() == [0, 1, 3, 6, 6]
    assert shares[[0, 2, 3, 4]].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert np.all(np.diff(knots.middles) >= 0)
    assert np.allclose(knots.places(np.array([0.1, 0.9]))[[0, -1]], [[-36.0, -36.0], [36.0, 36.0]])
    for matrix in (knots.filling, knots.smearing):
        assert np.allclose(matrix.sum(axis=0), 1.0)
    assert np.allclose(knots.gathering @ knots.filling, np.eye(knots.count))
