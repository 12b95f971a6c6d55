"""Output and objective perturbation: sensitivities, the laws of what is added, and no trace of the solver."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats
from threadpoolctl import threadpool_limits

from support.statistical import fits, sample_size
from tacit.accounting import satisfies
from tacit.budget import Budget
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations import perturbation
from tacit.erm.perturbations.perturbation import (
    ObjectivePerturbation,
    OutputPerturbation,
    Perturbation,
    _rotation_error,
    from_free,
    to_free,
)
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.solve import Solution, solve
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise
from tacit.noise import Rehearsal, Source, SystemEntropy
from tacit.releases import release

Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Keep small linear algebra on one thread: hundreds of solves would wait for idle helpers otherwise."""
    with threadpool_limits(1):
        yield


LOSSES: tuple[Loss, ...] = (Logistic(), HuberHinge(0.5), Hinge(), HuberRegression(1.0, 2.0), Softmax(4))


def _targets(loss: Loss, generator: np.random.Generator, count: int) -> NDArray[np.generic]:
    if isinstance(loss, Softmax):
        return generator.integers(0, loss.classes, count)
    if isinstance(loss, HuberRegression):
        return generator.uniform(-2, 2, count)
    return generator.choice([-1.0, 1.0], count)


def _neighbours(loss: Loss, seed: int, norm: float) -> tuple[tuple[Array, NDArray[np.generic]], ...]:
    """Return two data sets that differ in their first record, which is long in both."""
    generator = np.random.default_rng(seed)
    count, width = int(generator.integers(1, 30)), int(generator.integers(1, 6))
    data = norm * generator.normal(size=(count, width)) * 10 ** generator.uniform(-3, 1)
    data[0] *= 1e3
    other, targets = data.copy(), _targets(loss, generator, count)
    other[0] = -data[0] if seed % 2 else norm * generator.normal(size=width) * 1e3
    changed = targets.copy()
    changed[0] = _targets(loss, generator, 1)[0]
    return (data, targets), (other, changed)


class Spy:
    """Notes what is asked of the solver, and what noise is added to which value."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tolerances: list[float] = []
        self.laws: list[AdditiveNoise] = []
        self.values: list[Array] = []
        randomise, solver = AdditiveNoise.randomise, perturbation.solve

        def noted_noise(law: AdditiveNoise, value: Array, source: Source) -> Any:
            self.laws.append(law)
            self.values.append(value)
            return randomise(law, value, source)

        def noted_solve(objective: Objective, tolerance: float) -> Solution:
            self.tolerances.append(tolerance)
            return solver(objective, tolerance)

        monkeypatch.setattr(AdditiveNoise, "randomise", noted_noise)
        monkeypatch.setattr(perturbation, "solve", noted_solve)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_replaced_record_moves_the_computed_solution_by_no_more_than_is_paid_for(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over random neighbours, norms and ridges the noise's sensitivity bounds the distance of the two solutions."""
    for seed in range(25):
        generator = np.random.default_rng(1000 + seed)
        norm, alpha = 10 ** generator.uniform(-1, 1.5), 10 ** generator.uniform(-4, 1)
        with monkeypatch.context() as patch:
            spy = Spy(patch)
            for data, targets in _neighbours(loss, seed, norm):
                rows = Rows.clipped(data, norm, 0.25 * norm)
                mechanism = OutputPerturbation(Budget(1.0), Setting.of(rows, loss), alpha)
                mechanism.randomise(mechanism.check(Objective(rows, targets, loss, alpha)), SystemEntropy())
        paid = spy.laws[0].sensitivity
        assert np.linalg.norm(spy.values[0] - spy.values[1]) <= paid == spy.laws[1].sensitivity
        assert paid >= 2 * (loss.lipschitz * rows.norm / rows.count + spy.tolerances[0]) / alpha


@pytest.mark.parametrize(("loss", "share"), [(HuberHinge(0.5), 0.999), (Hinge(), 0.99), (Logistic(), 0.49)])
def test_the_sensitivity_is_reached(loss: Loss, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record turned round moves the solution by all of the sensitivity (half for the logistic loss at zero)."""
    spy = Spy(monkeypatch)
    for sign in (1.0, -1.0):
        rows = Rows.clipped(np.array([[sign, 0.0]]), 1.0)
        mechanism = OutputPerturbation(Budget(1.0), Setting.of(rows, loss), 50.0)
        mechanism.randomise(Objective(rows, np.ones(1), loss, 50.0), SystemEntropy())
    assert share * spy.laws[0].sensitivity < np.linalg.norm(spy.values[0] - spy.values[1])


def _problem(loss: Loss, width: int = 100, count: int = 60, kind: type[Perturbation] = OutputPerturbation) -> Objective:
    """Return an objective over fixed records of norm at most 1, with the ridge that an epsilon of 1 needs."""
    generator = np.random.default_rng(0)
    rows = Rows.clipped(generator.normal(size=(count, width)), 1.0)
    alpha = kind(Budget(1.0), Setting.of(rows, loss), 0.1).alpha  # type: ignore[call-arg]
    return Objective(rows, _targets(loss, generator, count), loss, alpha)


def _draws(mechanism: Perturbation, objective: Objective, count: int) -> Iterator[Array]:
    """Yield private releases of the coefficient.

    Noise that is a tenth too small passes as right with a chance below 1e-9, too: 265 draws of a gamma law of shape 100
    are enough for that, and 145 of a chi law with 100 degrees of freedom.
    """
    for _ in range(sample_size(count)):
        yield mechanism.randomise(mechanism.check(objective), SystemEntropy())


@pytest.mark.stats
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Softmax(3)])
def test_output_noise_has_a_gamma_distributed_norm(loss: Loss) -> None:
    """What is added to the solution has the norm of the paper's noise; a tenth less would be noticed."""
    objective = _problem(loss, width=50 if isinstance(loss, Softmax) else 100)
    mechanism = OutputPerturbation(Budget(1.0), Setting.of(objective.rows, loss), objective.alpha)
    exact = solve(objective, 1e-9 if not isinstance(loss, Hinge) else 1e-6).coefficient
    norms = np.array([np.linalg.norm(released - exact) for released in _draws(mechanism, objective, 270)])
    scale = 2 * loss.lipschitz / (60 * objective.alpha)
    assert fits(norms, stats.gamma(100, scale=scale * (1.001 if isinstance(loss, Hinge) else 1.0)).cdf)
    assert not fits(norms, stats.gamma(100, scale=scale / 0.9).cdf)


@pytest.mark.stats
def test_gaussian_output_noise_has_its_standard_deviation() -> None:
    """With a delta the noise is Gaussian with the analytic multiplier; a tenth less would be noticed."""
    objective, budget = _problem(Logistic()), Budget(1.0, 1e-6)
    mechanism = OutputPerturbation(budget, Setting.of(objective.rows, Logistic()), objective.alpha)
    exact = solve(objective, 1e-9).coefficient
    norms = np.array([np.linalg.norm(released - exact) for released in _draws(mechanism, objective, 150)])
    sigma = 2 / (60 * objective.alpha) * 8.4493578 / 2
    assert fits(norms, stats.chi(100, scale=sigma * 1.00001).cdf)
    assert not fits(norms, stats.chi(100, scale=sigma / 0.9).cdf)


def test_output_noise_of_a_joint_model_stays_where_scores_sum_to_zero() -> None:
    """Shifting all scores together means nothing, so no noise is wasted there, and every free direction gets some."""
    objective = _problem(Softmax(4), width=3)
    mechanism = OutputPerturbation(Budget(1.0), Setting.of(objective.rows, Softmax(4)), objective.alpha)
    exact = solve(objective, 1e-9).coefficient
    noise = np.array([(released - exact).ravel() for released in _draws(mechanism, objective, 30)])
    assert np.abs(noise.reshape(-1, 4, 3).sum(axis=1)).max() <= 1e-9 * np.abs(noise).max()
    assert np.linalg.matrix_rank(noise, tol=1e-6 * np.abs(noise).max()) == 9


def _term(released: Array, objective: Objective) -> Array:
    """Recover b from the minimiser it led to: b = -n grad J."""
    return -objective.rows.count * objective.gradient(released)


@pytest.mark.stats
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Softmax(3)])
def test_the_random_term_has_a_gamma_distributed_norm_and_a_uniform_direction(loss: Loss) -> None:
    """Recovered from released coefficients, b has the law that was calibrated; a tenth less would be noticed."""
    width = 50 if isinstance(loss, Softmax) else 100
    objective = _problem(loss, width, kind=ObjectivePerturbation)
    mechanism = ObjectivePerturbation(Budget(1.0), Setting.of(objective.rows, loss), 0.1)
    terms = np.array([_term(released, objective).ravel() for released in _draws(mechanism, objective, 270)])
    left = 0.99
    if isinstance(loss, HuberHinge):
        left -= math.log1p(loss.smoothness / (60 * objective.alpha))
    norms = np.linalg.norm(terms, axis=1)
    assert fits(norms, stats.gamma(100, scale=2 * loss.lipschitz / left).cdf)
    assert not fits(norms, stats.gamma(100, scale=2 * loss.lipschitz / left / 0.9).cdf)
    if not isinstance(loss, Softmax):
        shares = np.square(terms[:, 0] / norms)
        assert fits(shares, stats.beta(0.5, 99 / 2).cdf)
    else:
        assert np.abs(terms.reshape(-1, 3, 50).sum(axis=1)).max() <= 1e-2 * norms.max()


@pytest.mark.stats
def test_a_gaussian_random_term_has_its_standard_deviation() -> None:
    """With a delta b is Gaussian at 99 % of epsilon; a tenth less would be noticed."""
    budget = Budget(1.0, 1e-6)
    rows = _problem(Logistic()).rows
    mechanism = ObjectivePerturbation(budget, Setting.of(rows, Logistic()), 0.1)
    objective = Objective(rows, np.resize([1.0, -1.0], rows.count), Logistic(), mechanism.alpha)
    norms = np.array([np.linalg.norm(_term(released, objective)) for released in _draws(mechanism, objective, 150)])
    assert mechanism.linear_noise.scale == pytest.approx(8.449 / 0.99, rel=3e-3)
    assert fits(norms, stats.chi(100, scale=mechanism.linear_noise.scale * 1.0001).cdf)
    assert not fits(norms, stats.chi(100, scale=mechanism.linear_noise.scale / 0.9).cdf)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Softmax(3)])
def test_the_solvers_error_is_paid_for_twice(loss: Loss, delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of noise covers two errors in opposite directions, and the rounding of b, with 1 % of epsilon."""
    spy = Spy(monkeypatch)
    rows = _problem(loss).rows
    mechanism = ObjectivePerturbation(Budget(1.0, delta), Setting.of(rows, loss), 0.1)
    objective = Objective(rows, _targets(loss, np.random.default_rng(1), rows.count), loss, mechanism.alpha)
    mechanism.randomise(objective, Rehearsal(0))
    (tolerance,), (law,) = spy.tolerances, spy.laws
    rounded = mechanism.linear_noise.grid * math.sqrt(mechanism.linear_noise.size) / 2 / rows.count
    assert law.sensitivity >= 2 * (tolerance + rounded) / mechanism.alpha
    assert law.sensitivity > 2.000001 * tolerance / mechanism.alpha or rounded < 1e-6 * tolerance
    assert law.budget == Budget(1.0) / 100
    assert law.standard_deviation * rows.count * mechanism.alpha < 0.01 * mechanism.linear_noise.typical


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_tolerance_grid_and_noise_depend_on_public_quantities_alone(
    kind: type[ObjectivePerturbation] | type[OutputPerturbation], delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Easy, hard, empty, sparse and clipped records, and every draw, are solved once, alike, with the same noise."""
    spy, generator = Spy(monkeypatch), np.random.default_rng(2)
    tables = [
        np.zeros((50, 4)),
        generator.normal(size=(50, 4)),
        1e9 * generator.normal(size=(50, 4)),
        np.ones((50, 4)) * [1.0, 1e-9, 1e-30, 0.0],
        sparse.csr_array(np.eye(50, 4)),
    ]
    for number, table in enumerate(tables):
        rows = Rows.clipped(table, 1.0)
        mechanism = kind(Budget(1.0, delta), Setting.of(rows, Logistic()), 0.1)
        targets = np.ones(50) if number == 1 else generator.choice([-1.0, 1.0], 50)
        mechanism.randomise(Objective(rows, targets, Logistic(), mechanism.alpha), SystemEntropy())
    assert len(spy.tolerances) == len(tables)
    assert len(set(spy.tolerances)) == 1
    assert len({(law.sensitivity, law.grid, law.units) for law in spy.laws}) == 1


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_released_coefficients_lie_on_a_public_grid(
    kind: type[ObjectivePerturbation] | type[OutputPerturbation], delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number is a multiple of a power of two that public quantities fix, and of no much larger one."""
    spy, objective = Spy(monkeypatch), _problem(Logistic(), kind=kind)
    mechanism = kind(Budget(1.0, delta), Setting.of(objective.rows, Logistic()), 0.1)
    objective = Objective(objective.rows, objective.targets, Logistic(), mechanism.alpha)
    released = mechanism.randomise(objective, SystemEntropy())
    grid = spy.laws[-1].grid
    assert math.frexp(grid)[0] == 0.5
    assert np.array_equal(released, np.rint(released / grid) * grid)
    assert not np.array_equal(released, np.rint(released / (4 * grid)) * 4 * grid)


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_an_adversarial_solver_within_its_certificate_is_covered(
    kind: type[ObjectivePerturbation] | type[OutputPerturbation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solutions moved to opposite ends of what a certificate allows stay within the sensitivity that is paid for."""
    spy, objective, moved = Spy(monkeypatch), _problem(Logistic(), kind=kind), []
    honest = perturbation.solve
    monkeypatch.setattr(
        AdditiveNoise, "randomise", lambda law, value, source: moved.append((law.sensitivity, value)) or value
    )
    mechanism = kind(Budget(1.0), Setting.of(objective.rows, Logistic()), 0.1)
    for sign in (1.0, -1.0):

        def bent(problem: Objective, tolerance: float, sign: float = sign) -> Solution:
            solution = honest(problem, tolerance)
            step = np.zeros_like(solution.coefficient)
            step[0] = sign * 0.99 * tolerance / problem.alpha
            return Solution(solution.coefficient + step, solution.tau, solution.distance)

        monkeypatch.setattr(perturbation, "solve", bent)
        mechanism.randomise(objective, Rehearsal(5))
    (sensitivity, first), (_, second) = moved
    assert np.linalg.norm(first - second) <= sensitivity
    assert np.linalg.norm(first - second) > 1.9 * spy.tolerances[0] / mechanism.alpha


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_only_the_objective_that_was_calibrated_for_is_accepted(
    kind: type[ObjectivePerturbation] | type[OutputPerturbation],
) -> None:
    """Another ridge, loss, norm or number of rows, or a linear term already there, is refused before a charge."""
    objective = _problem(Logistic(), kind=kind)
    mechanism = kind(Budget(1.0), Setting.of(objective.rows, Logistic()), 0.1)
    other_rows = Rows.clipped(np.ones((60, 100)), 2.0)
    wrong = [
        Objective(objective.rows, objective.targets, Logistic(), objective.alpha * 0.999),
        Objective(objective.rows, objective.targets, HuberHinge(0.5), objective.alpha),
        Objective(other_rows, objective.targets, Logistic(), objective.alpha),
        Objective(objective.rows.every(2), objective.targets[::2], Logistic(), objective.alpha),
        objective.with_linear(np.ones(100)),
    ]
    for value in wrong:
        with pytest.raises(InvalidParameter, match="calibrated"):
            release(mechanism, value, label="wrong")
    assert release(mechanism, objective, label="right").private


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1 / 3, 1.0, 30.0])
def test_the_event_keeps_the_budget(
    epsilon: float, delta: float, kind: type[ObjectivePerturbation] | type[OutputPerturbation]
) -> None:
    """What is charged is the budget that was asked for, however it is divided inside."""
    mechanism = kind(Budget(epsilon, delta), Setting(100, 5, 1.0, Logistic()), 0.1)
    assert satisfies(mechanism.event, mechanism.budget)
    if kind is ObjectivePerturbation:
        assert sum(mechanism.shares, Budget(0)) == mechanism.budget
        assert mechanism.event.epsilon <= epsilon


def test_a_loss_with_a_corner_is_for_output_perturbation_only() -> None:
    """The hinge has no bounded curvature, so its objective cannot be perturbed."""
    with pytest.raises(InvalidParameter, match="smooth"):
        ObjectivePerturbation(Budget(1.0), Setting(10, 2, 1.0, Hinge()), 0.1)
    assert OutputPerturbation(Budget(1.0), Setting(10, 2, 1.0, Hinge()), 0.1).alpha == 0.1


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("norm", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Softmax(3)])
def test_extreme_settings_are_solved_or_refused_before_the_charge(
    epsilon: float, norm: float, kind: type[ObjectivePerturbation] | type[OutputPerturbation], loss: Loss
) -> None:
    """One row, one feature, tiny and huge norms and budgets: whatever `check` accepts is released, and finite."""
    rows = Rows.clipped(np.array([[norm]]), norm, 0.25 * norm)
    sigma = rows.norm**2 / epsilon
    try:
        mechanism = kind(Budget(epsilon), Setting.of(rows, loss), 3 * sigma)
        objective = mechanism.check(Objective(rows, _targets(loss, np.random.default_rng(0), 1), loss, mechanism.alpha))
    except InvalidParameter:
        assert norm != 1.0
        return
    assert np.all(np.isfinite(mechanism.randomise(objective, SystemEntropy())))


@pytest.mark.parametrize("classes", [2, 3, 10, 300, 2000])
def test_rotations_err_by_no_more_than_is_paid_for(classes: int) -> None:
    """Into the free coordinates and back, beside the same rotation with twice the digits."""
    setting, j = Setting(10, 3, 1.0, Softmax(classes)), np.arange(1, classes, dtype=np.longdouble)
    exact = np.where(np.arange(classes)[:, None] < j, 1 / np.sqrt(j * (j + 1)), 0)
    exact[np.arange(1, classes), np.arange(classes - 1)] = -j / np.sqrt(j * (j + 1))
    assert float(np.linalg.norm(np.abs(exact.astype(np.float64)), 2)) <= 3
    generator = np.random.default_rng(classes)
    for size in (1e-9, 1.0, 1e9):
        inside, whole = (size * generator.normal(size=(rows, 3)) for rows in (classes - 1, classes))
        there = from_free(inside.ravel(), setting) - exact @ inside
        back = to_free(whole, setting) - (exact.T @ whole).ravel()
        for found, start in ((there, inside), (back, whole)):
            assert (
                0
                < float(np.linalg.norm(found.astype(np.float64)))
                <= _rotation_error(setting, float(np.linalg.norm(start)))
            )
