"""Persons with several rows: noise in the objective held against exact densities, sensitivities against the worst."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from support.densities import (
    Array,
    Loss,
    Records,
    delta_between,
    laplace_law,
    largest_log_ratio,
)
from tacit.accounting.analytic import excess_delta, excess_shift, gaussian_delta, gaussian_shift
from tacit.accounting.unit import Unit
from tacit.budget import Budget
from tacit.data.persons import Persons
from tacit.data.shares import Shares
from tacit.erm.losses.loss import Loss as AnyLoss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations.calibration import gaussian_noise, pure_noise
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.least_squares import _joint_sums
from tacit.erm.perturbations.second_moment import SecondMoment
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import Rehearsal
from tacit.numerics.threads import Threads

_ANGLES = np.linspace(0, 2 * np.pi, 32, endpoint=False)
_CIRCLE = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
PLANE = np.concatenate([np.zeros((1, 2)), (np.geomspace(3e-2, 1e2, 18)[:, None, None] * _CIRCLE).reshape(-1, 2)])


def _table(person: tuple[Array, Array], rest: tuple[Array, Array], *, counted: bool = False) -> Records:
    """Return a person's rows with 1/k each (or each `counted` in full) and one row of each other person."""
    rows, targets = np.concatenate([person[0], rest[0]]), np.concatenate([person[1], rest[1]])
    own = 1.0 if counted else 1.0 / len(person[0])
    return Records.of(rows, targets, [own] * len(person[0]) + [1.0] * len(rest[0]))


def _pairs(classes: int = 0, dimension: int = 2) -> Iterator[tuple[Records, Records, int]]:
    """Yield neighbours, a person with 1 to 20 rows replaced by one with as many or others, and how many persons."""
    generator = np.random.default_rng(3)
    for (mine, theirs), others in itertools.product(((2, 1), (1, 3), (4, 2), (20, 5)), (0, 1, 3)):
        rows = generator.normal(size=(mine + theirs + others, dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        labels = generator.integers(0, classes, len(rows)) if classes else generator.choice([-1.0, 1.0], len(rows))
        parts = np.split(rows, [mine, mine + theirs]), np.split(labels.astype(float), [mine, mine + theirs])
        (one, other, rest), (mark, sign, marks) = parts
        for person in (other, -one[:1], np.zeros((2, dimension)), one[::-1][:2] * [1.0] + 0.0):
            yield (
                _table((one, mark), (rest, marks)),
                _table((person, np.resize(sign, len(person))), (rest, marks)),
                1 + others,
            )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(0.5)])
def test_pure_noise_keeps_epsilon_for_every_pair_of_persons(epsilon: float, loss: Loss) -> None:
    """However small the ridge asked for, and however many rows a person has."""
    for one, other, persons in _pairs():
        tilt = pure_noise(Budget(epsilon), Setting(persons, 2, 1.0, loss, several=True), 1e-9)
        worst = largest_log_ratio(PLANE, one, other, loss, persons * tilt.alpha, laplace_law(tilt.scale))
        assert worst <= epsilon


@pytest.mark.parametrize("classes", [3, 4])
def test_pure_noise_keeps_epsilon_for_persons_of_several_classes(classes: int) -> None:
    """The joint loss in one dimension, where a coefficient has two or three free numbers."""
    free, loss = classes - 1, Softmax(classes)
    directions = np.random.default_rng(1).normal(size=(30, free))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = (np.geomspace(1e-1, 1e2, 10)[:, None, None] * directions).reshape(-1, free)
    for one, other, persons in _pairs(classes, 1):
        tilt = pure_noise(Budget(1.0), Setting(persons, 1, 1.0, loss, several=True), 1e-9)
        assert largest_log_ratio(points, one, other, loss, persons * tilt.alpha, laplace_law(tilt.scale)) <= 1.0


def test_rows_taken_for_persons_are_refuted() -> None:
    """A patient with 20 rows that count in full each: the noise made for records loses many times its epsilon."""
    rows, marks = np.tile([[1.0, 0.0]], (20, 1)), np.ones(20)
    rest = np.array([[0.0, 1.0], [0.6, 0.8]]), np.ones(2)
    one, other = _table((rows, marks), rest, counted=True), _table((-rows, marks), rest, counted=True)
    tilt = pure_noise(Budget(1.0), Setting(22, 2, 1.0, Logistic()), 1e-9)
    worst = largest_log_ratio(PLANE, one, other, Logistic(), 22 * tilt.alpha, laplace_law(tilt.scale))
    assert worst > 9.0
    honest = [_table((each, marks), rest) for each in (rows, -rows)]
    tilt = pure_noise(Budget(1.0), Setting(3, 2, 1.0, Logistic(), several=True), 1e-9)
    assert largest_log_ratio(PLANE, *honest, Logistic(), 3 * tilt.alpha, laplace_law(tilt.scale)) <= 1.0


def test_the_rule_for_one_row_is_refuted_for_persons_under_other_losses() -> None:
    """Two rows of a person, both where the Huber hinge bends: the determinant is not the logarithm's."""
    loss, epsilon, edge = HuberHinge(0.5), 4.0, 0.5 + 1e-6
    point = np.array([[edge, edge]])
    diagonal = np.array([[-1.0, -1.0]]) / math.sqrt(2)
    rest = np.repeat(diagonal, 3, axis=0), np.ones(3)
    one, other = _table((np.eye(2), np.ones(2)), rest), _table((diagonal, np.ones(1)), rest)

    def worst(several: bool) -> float:
        tilt = pure_noise(Budget(epsilon), Setting(4, 2, 1.0, loss, several=several), 1e-9)
        return largest_log_ratio(point, one, other, loss, 4 * tilt.alpha, laplace_law(tilt.scale))

    assert worst(several=False) > epsilon
    assert worst(several=True) <= epsilon


def test_the_logistic_threshold_is_needed_for_persons() -> None:
    """With a tenth of the ridge and the same noise, some pair of persons is farther apart than epsilon."""
    refuted = 0
    for one, other, persons in _pairs():
        tilt = pure_noise(Budget(1.0), Setting(persons, 2, 1.0, Logistic(), several=True), 1e-9)
        ridge = 0.02 * persons * tilt.alpha
        refuted += largest_log_ratio(PLANE, one, other, Logistic(), ridge, laplace_law(tilt.scale)) > 1.0
    assert refuted >= 3


def test_weights_divided_by_their_sum_are_refuted() -> None:
    """A person whose weight falls from 1 to .01 changes what all others count, and no noise was made for that."""
    others = 20
    rows = np.vstack([[[0.0, 1.0]], np.tile([[1.0, 0.0]], (others, 1))])

    def normalised(own: float) -> Records:
        weights = np.array([own] + [0.01] * others)
        return Records.of(rows, np.ones(others + 1), (others + 1) * weights / weights.sum())

    tilt = pure_noise(Budget(1.0), Setting(others + 1, 2, 1.0, Logistic()), 1e-9)
    ridge = (others + 1) * tilt.alpha
    law = laplace_law(tilt.scale)
    assert largest_log_ratio(PLANE, normalised(1.0), normalised(0.01), Logistic(), ridge, law) > 5.0
    declared = [Records.of(rows, np.ones(others + 1), [own] + [0.01] * others) for own in (1.0, 0.01)]
    assert largest_log_ratio(PLANE, *declared, Logistic(), ridge, law) <= 1.0


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), HuberRegression(1.0, 5.0)])
def test_gaussian_noise_keeps_delta_for_every_pair_of_persons(loss: Loss) -> None:
    """The exact delta at epsilon, by integration in the plane, is within the promise; rows as persons are far out."""
    budget = Budget(1.0, 1e-2)
    axes = [np.linspace(-9, 9, 181)] * 2
    for one, other, persons in itertools.islice(_pairs(), 0, None, 3):
        tilt = gaussian_noise(budget, Setting(persons, 2, 1.0, loss, several=True), 1e-9)
        scaled = [axis * tilt.scale / (persons * tilt.alpha) for axis in axes]
        found, mass = delta_between(scaled, one, other, loss, persons * tilt.alpha, tilt.scale, 1.0)
        assert mass > 0.9
        assert found <= 1e-2
    rows, marks, none = np.tile([[1.0, 0.0]], (20, 1)), np.ones(20), (np.zeros((0, 2)), np.zeros(0))
    pair = [_table((each, marks), none, counted=True) for each in (rows, -rows)]
    tilt = gaussian_noise(budget, Setting(20, 2, 1.0, loss), 1e-9)
    scaled = [axis * (tilt.scale + 20) / (20 * tilt.alpha) for axis in axes]
    assert delta_between(scaled, *pair, loss, 20 * tilt.alpha, tilt.scale, 1.0)[0] > 0.05


@pytest.mark.parametrize("classes", [3, 5])
def test_gaussian_noise_for_persons_of_several_classes_covers_the_corners(classes: int) -> None:
    """The corners' maximum for opposite rows of one class, the proof's worst law, drawn: far enough with this noise.

    With a sixth less noise it is not, so the union over corners is no looser than that.
    """
    budget, loss = Budget(1.0, 1e-2), Softmax(classes)
    tilt = gaussian_noise(budget, Setting(10, 2, 1.0, loss, several=True), 1e-9)
    jacobian = (1 - 1 / classes) / (10 * tilt.alpha)
    drawn = np.random.default_rng(8).normal(size=(400_000, classes))
    unit = np.eye(classes)
    corners = np.array([one + other - 2 * unit[0] for one, other in itertools.product(unit, unit)])

    def excess(sigma: float) -> float:
        moved = corners / sigma
        worst = (drawn @ moved.T + np.square(moved).sum(axis=1) / 2).max(axis=1)
        return float(np.maximum(worst + jacobian - 1.0, 0.0).mean())

    # Means of so many draws are right to some hundredths here.
    assert excess(tilt.scale) <= 1e-2
    assert excess(5 / 6 * tilt.scale) > 1.1e-2


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.1, 1.006), (1.0, 1.050), (4.0, 1.170), (8.0, 1.307)])
def test_the_price_of_several_rows_is_a_little_more_noise(epsilon: float, ratio: float) -> None:
    """The bound for persons over the delta of one row, as computed before; its inverse keeps the budget."""
    budget = Budget(epsilon, 1e-6)
    assert excess_delta(epsilon, gaussian_shift(budget)) / 1e-6 == pytest.approx(ratio, abs=1e-3)
    shift = excess_shift(budget)
    assert excess_delta(epsilon, shift) <= 1e-6 < excess_delta(epsilon, shift * 1.0001)
    assert 0.99 * gaussian_shift(budget) < shift < gaussian_shift(budget)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("shift", [1e-3, 0.1, 0.8, 3.0, 9.0])
def test_the_excess_of_the_loss_is_integrated_right(epsilon: float, shift: float) -> None:
    """Against the integral of (z - epsilon)+ over the normal law of the loss; it never lies below delta."""
    points = np.linspace(-12, 12, 400_001)
    density = np.exp(-np.square(points) / 2) / math.sqrt(2 * math.pi)
    excess = np.maximum(shift**2 / 2 + shift * points - epsilon, 0.0)
    exact = float((excess * density).sum() * (points[1] - points[0]))
    assert excess_delta(epsilon, shift) == pytest.approx(exact, rel=1e-4, abs=1e-30)
    assert excess_delta(epsilon, shift) >= gaussian_delta(epsilon, shift) * (1 - 1e-9)


def _rows_of(owners: list[int], rows: Array) -> Rows:
    persons = Persons.of(np.array(owners))
    return Rows.clipped(rows, 1.0).weighed(Shares.of(persons.weights, persons.n, persons.whom))


@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(0.3), Softmax(3)])
def test_a_person_moves_gradients_no_more_than_was_paid_for(loss: AnyLoss) -> None:
    """Random and worst persons at random points; with rows that count in full the same persons move them far more."""
    generator = np.random.default_rng(5)
    setting = Setting(2, 3, 1.0, loss, several=True)
    mechanism = GradientPerturbation(Budget(1.0, 1e-6), setting, 0.05)
    moved = plain = 0.0
    for mine, theirs in itertools.product((1, 2, 20), (1, 3, 20)):
        for size in (0.3, 3.0, 30.0):
            point = generator.normal(size=setting.shape)
            point *= size / np.linalg.norm(point)
            axis = point.reshape(-1, 3)[0] / np.linalg.norm(point.reshape(-1, 3)[0])
            found = []
            for count, sign in ((mine, 1.0), (theirs, -1.0)):
                rows = np.vstack([sign * axis + 0.3 * generator.normal(size=(count, 3)), np.zeros((1, 3))])
                marks = generator.integers(0, 3, count + 1) if loss.outputs > 1 else -np.ones(count + 1)
                shared = _rows_of([0] * count + [1], rows)
                gradients = [
                    Objective(each, marks, mechanism.loss, 0.05).gradient(point)
                    for each in (shared, shared.weighed(Shares.of(np.ones(count + 1), 2, Unit.persons("patient"))))
                ]
                found.append(gradients)
            moved = max(moved, float(np.linalg.norm(found[0][0] - found[1][0])) / mechanism.sensitivity(size))
            plain = max(plain, float(np.linalg.norm(found[0][1] - found[1][1])) / mechanism.sensitivity(size))
    assert moved <= 1.0
    assert plain > 3.0


def test_a_person_moves_sufficient_statistics_no_more_than_one_row_does() -> None:
    """X'X and X'y of persons of 1 to 20 rows lie within the hull of single rows, whose diameter was paid for."""
    generator = np.random.default_rng(6)
    worst = 0.0
    for mine, theirs in itertools.product((1, 2, 20), (1, 3, 20)):
        sums = []
        for count, sign in ((mine, 1.0), (theirs, -1.0)):
            rows = np.array([[1.0, 0.5, 0.0]]) * [1.0, sign, 1.0] + 0.1 * generator.normal(size=(count, 3))
            stacked = _joint_sums(_rows_of([0] * count, rows), np.full(count, sign))
            sums.append(stacked)
        worst = max(worst, float(np.linalg.norm(sums[0] - sums[1])))
    assert 1.5 < worst <= 3 / math.sqrt(2)


def test_a_person_moves_a_second_moment_no_more_than_one_row_does() -> None:
    """Without noise to speak of, the released mean of x x^T of opposite persons is within the sensitivity."""
    setting = Setting(2, 2, 1.0, Logistic(), several=True)
    law = SecondMoment(setting, Multipliers.for_budget(Budget(40, 1e-2), 3, 1))
    found = []
    for count, row in ((20, [1.0, 0.0]), (3, [0.0, 1.0])):
        rows = _rows_of([0] * count + [1], np.array([*[row] * count, [0.0, 0.0]]))
        noisy = [law.randomise(rows, Threads(None), Rehearsal(seed)) for seed in range(200)]
        found.append(np.mean(noisy, axis=0))
    assert 0.5 * law.sensitivity < float(np.linalg.norm(found[0] - found[1])) < 1.2 * law.sensitivity


def test_weights_times_rows_never_exceed_a_person() -> None:
    """Whatever sample weights join in, the sum over a person is at most 1 exactly."""
    generator = np.random.default_rng(7)
    owners = generator.integers(0, 40, 2000)
    persons = Persons.of(owners)
    weights = persons.weights * np.minimum(generator.uniform(0, 1.2, 2000), 1.0) * np.nextafter(1.0, 0.0)
    for person in range(persons.n):
        assert sum(map(Fraction, weights[persons.owners == person]), Fraction(0)) <= 1
