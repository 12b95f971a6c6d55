"""Pure noise for rows of few numbers other than 0: independent in every coordinate, made for the sum of their sizes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import brentq
from scipy.special import expit

from support.densities import Array, Law, Records, largest_log_ratio
from support.statistical import fits, sample_size
from tacit import Budget, PrivateLogisticRegression, PublicEncoder
from tacit.data import BoundedRows, Category, Flag, Number, Ordinal, Schema
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import HuberHinge, Logistic
from tacit.erm.perturbations.calibration import gaussian_noise, pure_noise
from tacit.erm.perturbations.perturbation import ObjectivePerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.errors import InvalidParameter
from tacit.noise import Rehearsal

COORDINATES = 5


def _by_sum(scale: float) -> Law:
    """Return the log density of independent Laplace noise, without its constant."""
    return lambda b: -np.abs(b).sum(axis=-1) / scale


def _sparse_rows(generator: np.random.Generator, count: int, filled: int) -> Array:
    """Draw rows of norm 1 with so many numbers other than 0, all as large."""
    rows = np.zeros((count, COORDINATES))
    for row in rows:
        row[generator.permutation(COORDINATES)[:filled]] = generator.choice([-1, 1], filled) / math.sqrt(filled)
    return rows


def _points(generator: np.random.Generator) -> Array:
    directions = generator.normal(size=(60, COORDINATES))
    return np.asarray((np.geomspace(1e-2, 1e2, 12)[:, None, None] * directions).reshape(-1, COORDINATES))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(0.5)])
@pytest.mark.parametrize("filled", [1, 2])
def test_noise_by_the_sum_keeps_epsilon_on_every_pair(
    loss: Logistic | HuberHinge, epsilon: float, filled: int, several: bool
) -> None:
    """Neighbours of sparse rows, or of persons with several, have densities within e^epsilon of each other."""
    generator = np.random.default_rng(filled)
    points, worst = _points(generator), 0.0
    for _ in range(12):
        own, count = (3 if several else 1), 3
        rows, signs = _sparse_rows(generator, 2 * own + count, filled), generator.choice([-1.0, 1.0], 2 * own + count)
        weights = np.r_[np.full(own, 1 / own), np.ones(count)]
        one = Records.of(rows[own:], signs[own:], weights)
        kept = np.r_[np.arange(own), np.arange(2 * own, 2 * own + count)]
        other = Records.of(rows[kept], signs[kept], weights)
        tilt = pure_noise(Budget(epsilon), Setting(1 + count, COORDINATES, 1.0, loss, several, filled), 1e-9)
        assert tilt.kind == "laplace"
        ridge = (1 + count) * tilt.alpha
        worst = max(worst, largest_log_ratio(points, one, other, loss, ridge, _by_sum(tilt.scale)))
    assert 0.3 * epsilon < worst <= epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_rule_is_sharp(epsilon: float) -> None:
    """Explicit rows whose sizes add up to 1 come within 2 % of epsilon, and exceed it with a tenth less noise."""
    at = 300.0
    count = int(10 * at**2 / epsilon) + 100
    tilt = pure_noise(Budget(epsilon), Setting(count, 2, 1.0, Logistic(), filled=1), 1e-12)
    ridge = count * tilt.alpha

    def row(margin: float, sign: float) -> Array:
        return np.array([margin / at, sign * (1 - abs(margin / at))])

    def worst(scale: float) -> float:
        found = []
        for chance in (0.6, 0.8, 0.9, 0.95, 0.99):
            old, new = row(-math.log(chance / (1 - chance)), 1), row(-9, -1)
            pull = ridge * at - (chance * old + 3 * expit(9) * new)[0]
            # So many short rows hold the coefficient at (at, 0).
            short = brentq(lambda s, pull=pull: (count - 4) * s * expit(-at * s) - pull, 0, 1.27 / at)
            records = Records.of([old, [short, 0], new], [1, 1, 1], [1, count - 4, 3])
            pair = records, records.with_first(new, 1)
            found.append(largest_log_ratio(np.array([[at, 0.0]]), *pair, Logistic(), ridge, _by_sum(scale)))
        return max(found)

    assert 0.98 * epsilon < worst(tilt.scale) <= epsilon
    assert worst(0.9 * tilt.scale) > epsilon


def test_noise_is_independent_only_where_that_is_less_and_proved() -> None:
    """Rows that are not sparse, several classes and Gaussian noise keep the law that they had."""
    few, most = 3, 20
    chosen = pure_noise(Budget(1.0), Setting(100, most, 1.0, Logistic(), filled=few), 1e-9)
    sphere = pure_noise(Budget(1.0), Setting(100, most, 1.0, Logistic()), 1e-9)
    assert (chosen.kind, sphere.kind) == ("laplace", "spherical")
    assert chosen.typical == pytest.approx(sphere.typical * math.sqrt(2 * few / (most + 1)), rel=1e-5)
    assert chosen.alpha == pytest.approx(sphere.alpha, rel=1e-5)
    for other in (Setting(100, most, 1.0, Logistic(), filled=most), Setting(100, most, 1.0, Softmax(3), filled=few)):
        assert pure_noise(Budget(1.0), other, 1e-9).kind == "spherical"
    with_delta = (
        gaussian_noise(Budget(1.0, 1e-6), Setting(100, most, 1.0, Logistic(), filled=k), 1e-9) for k in (None, few)
    )
    assert len({law.scale for law in with_delta}) == 1


def test_drawn_noise_has_the_law_it_is_calibrated_to() -> None:
    """Where rows are zeros the sums of sizes are Gamma distributed; noise a tenth smaller does not fit."""
    rows = Rows.clipped(np.zeros((50, 30)), 1.0, filled=2)
    mechanism = ObjectivePerturbation(Budget(1.0), Setting.of(rows, Logistic()), 1.0)
    objective, source = Objective(rows, np.ones(50), Logistic(), mechanism.alpha), Rehearsal(5)
    draws = np.array([mechanism.randomise(objective, source) for _ in range(sample_size(400))])
    scale = 2 * math.sqrt(2) / 0.99 / (50 * mechanism.alpha)
    assert fits(np.abs(draws).sum(axis=1), stats.gamma(30, scale=scale * 1.0001).cdf)
    assert not fits(np.abs(draws).sum(axis=1), stats.gamma(30, scale=scale / 0.9).cdf)
    bound, found = mechanism.coefficient_noise(objective), draws.std(axis=0)
    assert np.all(found <= 1.4 * bound)
    # The bound is one for every function that moves no faster than the noise: the root of two above one coordinate.
    assert float(found.mean()) == pytest.approx(bound / math.sqrt(2), rel=0.1)


def test_a_false_statement_costs_accuracy_and_not_privacy() -> None:
    """Rows that say they are sparser than they are, are scaled down until the sum of their sizes is what they said."""
    full = np.full((4, 16), 0.25)
    rows = Rows.clipped(full, 1.0, filled=4)
    sums = full.sum(axis=1) * rows.scale
    assert np.all(sums <= 2.0)
    assert sums == pytest.approx(2.0)
    assert Rows.clipped(0.99 * full, 1.0, filled=16).scale is None
    with_constant = Rows.clipped(full, 1.0, 0.25, filled=4)
    assert with_constant.filled == 5
    assert with_constant.every(2).filled == 5


@pytest.mark.parametrize("filled", [1, 2, 3, 7])
@pytest.mark.parametrize("norm", [1e-90, 0.3, 1.0, 1e90])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.asfortranarray])
def test_rows_are_within_both_norms_exactly(form: Any, norm: float, filled: int) -> None:
    """In exact fractions, the intercept among the numbers, for rows at, just inside and far beyond either bound."""
    generator = np.random.default_rng(filled)
    ways = generator.normal(size=(60, 9)) * (generator.random((60, 9)) < 0.6) + np.eye(9)[generator.integers(0, 9, 60)]
    lengths = np.maximum(np.linalg.norm(ways, axis=1), np.abs(ways).sum(axis=1) / math.sqrt(filled))
    sizes = np.resize([1.0, 1 - 2.0**-53, 1 + 2.0**-52, 3.0, 1e30, 0.5], 60)
    data = norm * sizes[:, None] * ways / lengths[:, None]
    rows = Rows.clipped(form(data), norm, norm / 4, filled)
    assert rows.filled == filled + 1
    for row, factor in zip(data, rows.scale, strict=True):
        exact = [Fraction(number) * Fraction(factor) for number in row.tolist()] + [Fraction(norm) / 4]
        assert sum(number**2 for number in exact) <= Fraction(rows.norm) ** 2
        assert sum(map(abs, exact)) ** 2 <= rows.filled * Fraction(rows.norm) ** 2
        assert sum(map(abs, exact[:-1])) ** 2 <= filled * Fraction(norm) ** 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.asfortranarray])
@pytest.mark.parametrize("width", [9, 129, 9000])
def test_a_row_is_clipped_alike_whatever_stands_beside_it(form: Any, width: int) -> None:
    """A single row stored by columns was added up in another order than several: persons have any number of rows."""
    data = form(np.random.default_rng(width).normal(size=(12, width)))
    together = Rows.clipped(data, 1.0, filled=1).scale
    for few in (1, 2, 5):
        for start in range(0, 12 - few):
            some = Rows.clipped(data[start : start + few], 1.0, filled=1).scale
            assert some.tolist() == together[start : start + few].tolist()


@pytest.mark.parametrize("filled", [math.nan, math.inf, 0, -1, 2.5, True, "3", 10**400])
def test_what_is_no_number_of_numbers_is_refused(filled: Any) -> None:
    """NaN was larger and smaller than no length: rows that stated it were not clipped at all."""
    with pytest.raises(InvalidParameter, match="filled"):
        Rows.clipped(np.full((3, 4), 100.0), 1.0, filled=filled)
    told = BoundedRows(np.full((3, 4), 100.0), data_norm=1.0, filled=filled)
    with pytest.raises(InvalidParameter, match="filled"):
        PrivateLogisticRegression(1.0, classes=[0, 1]).fit(told, [0, 1, 0])


SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "kind": Category(["a", "b", "c", "d", "e", "f"]),
        "rest": Category(["a", "b"], other="b"),
        "grade": Ordinal(range(9)),
        "yes": Flag(),
        "label": Flag(),
    },
    target="label",
)


@pytest.mark.parametrize("curves", [False, 3, 4, 6, 9, 17, 30])
@pytest.mark.parametrize("interactions", [None, [("age", "kind")], [("age", "grade")]])
def test_the_encoder_states_the_most_numbers_that_a_row_fills(
    curves: int | bool, interactions: list[tuple[str, str]] | None
) -> None:
    """No record fills more numbers than are stated, and some record fills as many."""
    generator, count = np.random.default_rng(0), 4000
    cells = {
        "age": generator.uniform(-1, 101, count),
        "kind": generator.choice(list("abcdefz"), count),
        "rest": generator.choice(list("ab"), count),
        "grade": generator.integers(-1, 9, count).astype(str),
        "yes": generator.integers(0, 2, count),
    }
    encoder = PublicEncoder(SCHEMA, curves=curves, interactions=interactions)
    rows = encoder.transform(cells)
    assert rows.filled == encoder.filled == int(np.count_nonzero(np.asarray(rows), axis=1).max())
    assert float(np.abs(np.asarray(rows)).sum(axis=1).max()) <= math.sqrt(encoder.filled)


def test_an_estimator_behind_the_encoder_has_less_noise() -> None:
    """A fit to rows that state how few numbers they fill has less noise than one to the same rows as an array."""
    levels = [str(place) for place in range(40)]
    schema = Schema({"place": Category(levels), "age": Number(0, 100), "label": Flag()}, target="label")
    cells = {"place": np.resize(levels, 500), "age": np.linspace(0, 100, 500)}
    rows, labels = PublicEncoder(schema).transform(cells), np.resize([False, True], 500)
    sparse = PrivateLogisticRegression(1.0, alpha=1.0, random_state=0).fit(rows, labels)
    dense = PrivateLogisticRegression(1.0, alpha=1.0, data_norm=1.0, fit_intercept=False, random_state=0)
    dense.fit(np.asarray(rows), labels)
    assert float(np.std(sparse.coef_)) < 0.7 * float(np.std(dense.coef_))
    assert isinstance(rows[:10], BoundedRows)
    assert rows[:10].filled == 3
