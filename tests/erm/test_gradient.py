"""Noisy gradient descent: the diameter of the gradients, rounding, and what all steps together cost."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent
from scipy import optimize, stats
from scipy.special import expit

from support.densities import Array
from support.statistical import fits, sample_size
from tacit import noise
from tacit.accounting.analytic import gaussian_delta, gaussian_shift
from tacit.budget import Budget
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import ClippedSoftmax, Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge, Logistic
from tacit.erm.perturbations.defaults import default_alpha, perturbation_for
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.second_moment import SecondMoment
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import Rehearsal, SystemEntropy
from tacit.numerics.exact import Point

TABLE = {0.0: 1.0, 0.5: 1.029, 1.0: 1.099, 2.0: 1.270, 5.0: 1.617, 10.0: 1.821, 30.0: 1.959}


@pytest.mark.parametrize("size", TABLE)
def test_the_diameter_is_as_tabled(size: float) -> None:
    """The largest distance of two records' gradients is the one found by global optimisation before."""
    assert Logistic().gradient_diameter(size, 1.0) == pytest.approx(TABLE[size], abs=6e-4)
    assert Logistic().gradient_diameter(size / 7.0, 7.0) == pytest.approx(7 * TABLE[size], rel=1e-3)


def _distance(coordinates: Array, size: float, anchor: float) -> float:
    """Return minus the distance of two gradients; coordinates are angles and (squashed) lengths of two records."""
    angles, lengths = coordinates[:2], expit(coordinates[2:])
    records = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    gradients = expit(anchor - size * records[:, :1]) * records
    return -float(np.linalg.norm(gradients[0] - gradients[1]))


@pytest.mark.parametrize("anchor", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("size", [0.0, 0.3, 1.0, 3.0, 12.0, 100.0])
def test_no_two_records_have_gradients_further_apart_than_the_diameter(size: float, anchor: float) -> None:
    """Brute force over angles and lengths, then a local search, reaches the diameter and never exceeds it."""
    angles = np.linspace(0, 2 * np.pi, 241)
    records = np.concatenate([length * np.column_stack([np.cos(angles), np.sin(angles)]) for length in (1.0, 0.8, 0.3)])
    gradients = expit(anchor - size * records[:, :1]) * records
    apart = np.linalg.norm(gradients[:, None] - gradients[None], axis=2)
    best = np.unravel_index(apart.argmax(), apart.shape)
    start = np.array([angles[best[0] % 241], angles[best[1] % 241], 4.0, 4.0])
    options = {"fatol": 1e-12}
    found = -optimize.minimize(_distance, start, args=(size, anchor), method="Nelder-Mead", options=options).fun
    largest = max(found, float(apart.max()))
    assert largest <= Logistic(anchor).gradient_diameter(size, 1.0)
    assert largest > 0.999 * Logistic(anchor).gradient_diameter(size, 1.0)


def test_the_diameter_grows_with_the_coefficient_up_to_twice_the_norm() -> None:
    """Between its two ends the diameter never falls, however extreme the argument."""
    sizes = [0.0, *np.geomspace(1e-300, 1e300, 601)]
    found = [Logistic().gradient_diameter(size, 1.0) for size in sizes]
    assert all(b >= a * (1 - 1e-11) for a, b in itertools.pairwise(found))
    assert found[0] == pytest.approx(1.0)
    assert found[-1] == pytest.approx(2.0)
    assert max(found) <= 2 * (1 + 1e-11)


@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(0.1), Softmax(3)])
def test_the_sensitivity_bounds_the_change_of_computed_gradients(loss: Loss) -> None:
    """Random and adversarial neighbours, near and far points, many rows and few: rounding is included."""
    reached = 0.0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        count, width = int(10 ** generator.uniform(0, 4)), int(generator.integers(2, 8))
        norm, size = 10 ** generator.uniform(-1, 1), 10 ** generator.uniform(-2, 4)
        data = norm * generator.normal(size=(count, width)) * 10 ** generator.uniform(-2, 2)
        point = generator.normal(size=(loss.outputs, width) if loss.outputs > 1 else width)
        point *= size / np.linalg.norm(point)
        axis = np.atleast_2d(point)[0] / np.linalg.norm(np.atleast_2d(point)[0])
        across = generator.normal(size=width)
        across -= (across @ axis) * axis
        across /= np.linalg.norm(across)
        tilt = min(1.0, 3.0 / (norm * size)) if seed % 2 else generator.uniform(0, 1)
        pair = [norm * (-tilt * axis + sign * math.sqrt(1 - tilt**2) * across) for sign in (1, -1)]
        targets = np.ones(count) if loss.outputs == 1 else generator.integers(0, loss.outputs, count)
        gradients = []
        for record in pair:
            data[0] = record
            rows = Rows.clipped(data, norm)
            mechanism = GradientPerturbation(Budget(1.0, 1e-6), Setting.of(rows, loss), 0.01)
            objective = Objective(rows, targets, mechanism.loss, 0.01)
            with objective.threads() as workers:
                gradients.append(objective.gradients(workers, Point(point), 4096))
        moved = float(np.linalg.norm(gradients[0] - gradients[1]))
        bound = mechanism.sensitivity(float(np.linalg.norm(point)))
        assert moved <= bound
        reached = max(reached, moved / bound)
    assert reached > 0.85


def test_rounding_alone_is_within_what_is_paid_for_it() -> None:
    """Computed gradients differ from those with twice the digits by less than the stated rounding error."""
    generator = np.random.default_rng(0)
    for loss, size in itertools.product((Logistic(3.0), Logistic(), HuberHinge(0.01), Softmax(4)), (1.0, 1e3, 1e6)):
        rows = Rows.clipped(generator.normal(size=(9000, 5)), 1.0, 0.25)
        targets = np.resize([1.0, -1.0], 9000) if loss.outputs == 1 else np.resize([0, 1, 2, 3], 9000)
        mechanism = GradientPerturbation(Budget(1.0, 1e-6), Setting.of(rows, loss), 0.01)
        objective = Objective(rows, targets, mechanism.loss, 0.01)
        point = generator.normal(size=objective.shape)
        point *= size / np.linalg.norm(point)
        with objective.threads() as workers:
            fast = objective.gradients(workers, Point(point), 4096)
            slow = objective.gradients(workers, Point(point), 16, accurate=True)
        assert np.linalg.norm(fast - slow) <= mechanism._rounding(size)
        anchor = loss.anchor if isinstance(loss, Logistic) else math.inf
        exact = Logistic(anchor).gradient_diameter(size, rows.norm) if anchor < math.inf else 2 * rows.norm
        assert mechanism.sensitivity(size) >= exact / 9000 + 2 * float(np.linalg.norm(fast - slow))
        assert mechanism.sensitivity(size) - exact / 9000 >= 1.9 * mechanism._rounding(size)


@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(0.5), Softmax(3)])
@pytest.mark.parametrize(("epsilon", "bent"), [(0.1, False), (1.0, False), (8.0, False), (1.0, True)])
def test_all_steps_together_lose_what_one_gaussian_release_loses(
    loss: Loss, epsilon: float, bent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Squared shifts, recomputed from the noise really drawn at each public point, add up to at most the budget's."""
    drawn: list[float] = []
    points: list[float] = []
    gaussian, law, noisy = noise.gaussian, Multipliers.law, GradientPerturbation._noisy

    grids: list[float] = []

    def noted_law(self: Multipliers, sensitivity: float, dimension: int) -> tuple[float, float]:
        grid, units = law(self, sensitivity, dimension)
        grids.append(grid)
        return grid, units

    def noted_gaussian(source: noise.Source, units: float, size: int) -> noise.Integers:
        drawn.append(grids[-1] * units)
        return gaussian(source, units, size)

    def noted_point(self: GradientPerturbation, gradient: Array, point: Array, source: noise.Source) -> Array:
        points.append(float(np.linalg.norm(point)))
        return noisy(self, gradient, point, source)

    monkeypatch.setattr(Multipliers, "law", noted_law)
    monkeypatch.setattr(noise, "gaussian", noted_gaussian)
    monkeypatch.setattr(GradientPerturbation, "_noisy", noted_point)
    budget = Budget(epsilon, 1e-6)
    count = 12_000 if bent else 40
    rows = Rows.clipped(np.random.default_rng(0).normal(size=(count, 3)), 1.0)
    setting = Setting.of(rows, loss)
    alpha = 1e-4 / count if bent else default_alpha("gradient", budget, setting)
    mechanism = GradientPerturbation(budget, setting, alpha)
    assert (mechanism.moment is not None) == bent
    if bent:
        # The steps themselves are of no interest here.
        monkeypatch.setattr(Objective, "gradients", lambda self, *_: np.full(setting.shape, 0.01))
    targets = np.resize([1.0, -1.0], count) if loss.outputs == 1 else np.resize([0, 1, 2], count)
    mechanism.randomise(Objective(rows, targets, loss, mechanism.alpha), SystemEntropy())
    assert len(drawn) == len(points) + bent == mechanism.steps + bent >= 3
    sizes = [loss.gradient_diameter(size, 1.0) if isinstance(loss, Logistic) else 2.0 for size in points]
    sizes = [math.sqrt(2)] * bent + sizes
    total = math.sqrt(sum((size / count / sigma) ** 2 for size, sigma in zip(sizes, drawn, strict=True)))
    assert gaussian_delta(epsilon, total) <= 1e-6
    assert gaussian_delta(epsilon, total * 1.01) > 1e-6
    assert mechanism.event == GaussianDpEvent(mechanism.multipliers.promised)
    assert total <= 1 / mechanism.multipliers.promised


@pytest.mark.stats
def test_the_noise_in_a_gradient_has_its_standard_deviation() -> None:
    """What is added to one gradient is Gaussian with the calibrated deviation; a tenth less would be noticed."""
    mechanism = GradientPerturbation(Budget(1.0, 1e-6), Setting(100, 60, 1.0, Logistic()), 0.05)
    point = np.full(60, 0.1)
    source = SystemEntropy()
    norms = np.array(
        [np.linalg.norm(mechanism._noisy(np.ones(60), point, source) - 1) for _ in range(sample_size(400))]
    )
    shift = gaussian_shift(Budget(1.0, 1e-6)) / math.sqrt(mechanism.steps)
    sigma = Logistic().gradient_diameter(float(np.linalg.norm(point)), 1.0) / 100 / shift
    assert fits(norms, stats.chi(60, scale=sigma * 1.00001).cdf)
    assert not fits(norms, stats.chi(60, scale=sigma / 0.9).cdf)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_steps_and_ridge_follow_the_proof_notes(epsilon: float) -> None:
    """The default ridge is R^2/(n s), and as many steps are taken as acceleration needs for it."""
    budget, setting = Budget(epsilon, 1e-6), Setting(500, 20, 2.0, Logistic())
    mechanism = perturbation_for("gradient", budget, setting, "auto")
    assert isinstance(mechanism, GradientPerturbation)
    alpha = 4 / (500 * gaussian_shift(budget))
    assert mechanism.alpha == pytest.approx(alpha)
    assert mechanism.steps == math.ceil(2 * math.sqrt((4 / 4 + alpha) / alpha))
    joint = Setting(500, 20, 2.0, Softmax(4))
    assert GradientPerturbation(budget, joint, alpha).steepness == pytest.approx(4 / 2 + alpha)


@pytest.mark.parametrize("count", [10, 1000, 10**6])
def test_default_ridges_come_from_public_quantities(count: int) -> None:
    """The ridge is c R sigma/n, and at least what the rules without a Jacobian need."""
    for loss, slope, scores, floor in (
        (Logistic(), 1.0, 1, 2),
        (Softmax(3), math.sqrt(2), 2, 8),
        (HuberHinge(0.5), 1.0, 1, 0),
    ):
        setting = Setting(count, 20, 3.0, loss)
        noisy = 2 * 3 * slope * math.sqrt(20 * scores + 1) / 0.5
        share = min(1.0, max(0.1, 3 * noisy * 20 / (count * 3 * slope)))
        pure = max(floor * 9 / 0.5, share * 3 * noisy) / count
        assert default_alpha("objective", Budget(0.5), setting) == pytest.approx(pure)
        assert default_alpha("output", Budget(0.5), setting) == pytest.approx(3 * noisy / 2 / count)
        sigma = 2 * 3 / gaussian_shift(Budget(0.5, 1e-6))
        gaussian = max(floor * 9 / 0.5, 3 * slope * sigma / 2) / count
        assert default_alpha("objective", Budget(0.5, 1e-6), setting) == pytest.approx(gaussian)
        clipped = 4 if loss == Softmax(3) else 2
        assert default_alpha("gradient", Budget(0.5, 1e-6), setting) == pytest.approx(3 * sigma / clipped / count)


@pytest.mark.parametrize("count", [10, 1000, 10**6])
def test_the_default_ridge_of_a_loss_with_an_anchor_follows_the_noise(count: int) -> None:
    """The noise in a prediction is one over the root of noise to signal, which is kept between 0.15 and 0.5."""
    setting = Setting(count, 20, 3.0, Logistic(2.0))
    for kind, budget in (("objective", Budget(0.5)), ("objective", Budget(0.5, 1e-6)), ("gradient", Budget(0.5, 1e-6))):
        sigma = 6 * math.sqrt(21) / 0.5 if budget.is_pure else 6 / gaussian_shift(budget)
        share = min(0.5, max(0.15, math.sqrt(sigma * math.sqrt(20) / (count * 3))))
        least = 2 * 9 / 0.5 if kind == "objective" else 9 / 20
        assert default_alpha(kind, budget, setting) == pytest.approx(max(least, share * 3 * sigma) / count)
    assert default_alpha("output", Budget(0.5), setting) == pytest.approx(3 * 6 * math.sqrt(21) / 0.5 / 2 / count)


def test_gradients_of_several_classes_are_clipped() -> None:
    """No record's gradient is longer than its row; short ones are those at scores less the anchor of its class."""
    mechanism = GradientPerturbation(Budget(1.0, 1e-6), Setting(1, 2, 5.0, Softmax(3)), 0.01)
    assert isinstance(mechanism.loss, ClippedSoftmax)
    anchored = np.array([[mechanism.loss.anchor / 5.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    lengths = []
    for size in (0.0, -0.3, -1.0, 1.0, 1e3):
        point = size * np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
        whole = Objective(Rows.clipped(np.array([[5.0, 0.0]]), 5.0), np.array([0]), Softmax(3), 1e-12)
        clipped = replace(whole, loss=mechanism.loss).gradient(point)
        lengths.append(float(np.linalg.norm(clipped)))
        exact = whole.gradient(point - anchored)
        assert np.allclose(clipped, exact * min(1.0, 5 / np.linalg.norm(exact)), atol=1e-9)
    assert max(lengths) <= 5 + 1e-8
    assert min(lengths) < 0.4
    assert mechanism.sensitivity(1e3) == pytest.approx(2 * 5)


def test_no_replacement_moves_the_second_moment_by_more_than_root_two() -> None:
    """Opposite and orthogonal records, long and short, on top of others: the computed mean stays within the bound."""
    generator = np.random.default_rng(0)
    data = generator.normal(size=(5000, 4))
    reached = 0.0
    for first, second in itertools.product([*np.eye(4), np.full(4, 0.3), np.full(4, 1e9)], [*-np.eye(4), np.zeros(4)]):
        moments = []
        for record in (first, second):
            data[0] = record
            rows = Rows.clipped(data, 2.0, constant=0.5)
            moment = SecondMoment(Setting.of(rows, Softmax(3)), Multipliers(1e-9, 1e-9))
            with Objective(rows, np.zeros(5000, int), Softmax(3), 1.0).threads() as workers:
                moments.append(moment.randomise(rows, workers, Rehearsal(0)))
        moved = float(np.linalg.norm(moments[0] - moments[1]))
        assert moved <= moment.sensitivity
        reached = max(reached, moved / moment.sensitivity)
    assert reached > 0.15
    for size in (1.0, 2.0):
        one, other = np.outer(*[size * np.eye(2)[0]] * 2), np.outer(*[size * np.eye(2)[1]] * 2)
        assert np.linalg.norm(one - other) == pytest.approx(math.sqrt(2) * size**2)


def test_the_number_of_steps_does_not_grow_with_the_number_of_records() -> None:
    """At the default ridge a hundred times as many records take no more steps, and any more cost no more."""
    steps = [_steps_of(count, 50) for count in (10**6, 10**8, 10**10)]
    assert steps[0] <= 50
    assert max(steps) - min(steps) <= 1


def test_the_number_of_steps_grows_beyond_2000_columns_alone() -> None:
    """Up to there a second moment of the rows is bought; a column more, and steps grow with the root of n."""
    counts = (10**5, 10**6, 10**7)
    assert [_steps_of(count, 2_000) for count in counts] == [76, 76, 76]
    assert [_steps_of(count, 2_001) for count in counts] == [308, 974, 3078]


def _steps_of(count: int, dimension: int) -> int:
    """Return the passes of a default fit to so many records."""
    budget, setting = Budget(1.0, 1e-6), Setting(count, dimension, 1.0, Softmax(5))
    return GradientPerturbation(budget, setting, default_alpha("gradient", budget, setting)).steps


def test_a_budget_too_small_for_a_second_moment_still_buys_gradients() -> None:
    """Where noise of a small part cannot be certified a larger one is spent, and where none can be steps are plain."""

    def moment(epsilon: float, count: int) -> SecondMoment | None:
        budget, setting = Budget(epsilon, 1e-6), Setting(count, 785, 1.0, Softmax(10))
        return GradientPerturbation(budget, setting, default_alpha("gradient", budget, setting)).moment

    large, small = moment(1.0, 10**6), moment(0.03, 10**6)
    assert large is not None
    assert small is not None
    shifts = [
        1 / found.multipliers.drawn / gaussian_shift(Budget(epsilon, 1e-6))
        for found, epsilon in ((large, 1.0), (small, 0.03))
    ]
    assert shifts[0] == pytest.approx(1 / 16, rel=0.01)
    assert 1 / 12 < shifts[1] <= 1 / 8
    assert moment(0.01, 10**4) is None


def test_bent_steps_find_the_direction_that_plain_ones_take_long_for() -> None:
    """Records that speak at a hundredth of their length in one direction are fitted along it nonetheless."""
    generator = np.random.default_rng(0)
    data = np.repeat(generator.normal(size=(50, 3)), 2000, axis=0) * [1.0, 1.0, 0.05]
    rows = Rows.clipped(data, 3.0)
    objective = Objective(rows, np.where(data[:, 2] > 0, 1.0, -1.0), Logistic(), 1e-6)
    mechanism = GradientPerturbation(Budget(50.0, 1e-2), Setting.of(rows, Logistic()), 1e-6)
    assert mechanism.moment is not None
    released = mechanism.randomise(objective, Rehearsal(0))
    assert np.mean((data @ released > 0) == (data[:, 2] > 0)) > 0.97


def test_the_descent_finds_the_minimiser_when_noise_is_negligible() -> None:
    """With many copies of the records the noise vanishes and the answer is the ordinary model."""
    generator = np.random.default_rng(0)
    data = np.repeat(generator.normal(size=(30, 3)), 4000, axis=0)
    rows = Rows.clipped(data, 1.0)
    objective = Objective(rows, np.where(data[:, 0] + 0.3 * data[:, 1] > 0, 1.0, -1.0), Logistic(), 0.05)
    mechanism = GradientPerturbation(Budget(20.0, 1e-2), Setting.of(rows, Logistic()), 0.05)
    released = mechanism.randomise(objective, Rehearsal(0))
    assert np.linalg.norm(objective.gradient(released)) < 0.02 * np.linalg.norm(objective.gradient(np.zeros(3)))


@pytest.mark.parametrize(
    ("budget", "loss", "alpha", "message"),
    [
        (Budget(1.0), Logistic(), 0.1, "delta > 0"),
        (Budget(1.0, 1e-6), Hinge(), 0.1, "smooth"),
        (Budget(1.0, 1e-6), Logistic(), 1e-30, "passes"),
        (Budget(1e-9, 1e-12), Logistic(), 0.1, "too small"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_by_name(budget: Budget, loss: Loss, alpha: float, message: str) -> None:
    """Pure budgets, corners, endless descents and hopeless budgets are refused when the mechanism is built."""
    with pytest.raises(InvalidParameter, match=message):
        GradientPerturbation(budget, Setting(10, 2, 1.0, loss), alpha)
