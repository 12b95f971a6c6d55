"""Mistakes that other libraries made, each as a test that would notice it here."""

import math
import os

import numpy as np
import pytest
from dp_accounting import dp_event
from sklearn.multiclass import OneVsRestClassifier

from support.densities import Records, laplace_law, largest_log_ratio
from tacit import noise
from tacit.accounting import Ledger, cost
from tacit.budget import Budget
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.losses.standard import HuberHinge, Logistic
from tacit.erm.perturbations import perturbation
from tacit.erm.perturbations.calibration import pure_noise
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.solve import Solution, solve
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms.mechanism import AdditiveNoise

X = np.random.default_rng(4).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5)])
def test_the_jacobian_grows_with_the_square_of_the_norm(loss: Logistic | HuberHinge) -> None:
    """With c R for c R^2, rows of norm 100 lose at least 1.75 where 1 is claimed; the calibration here keeps 1."""
    norm = 100.0
    points = np.concatenate([-np.geomspace(1e-7, 1e2, 2000), [0.0], np.geomspace(1e-7, 1e2, 2000)])[:, None]
    one, none = Records.of([[norm]], [1]), Records.of([[0.0]], [1])
    ridge = loss.smoothness * norm / math.expm1(0.5)
    mistaken = largest_log_ratio(points, one, none, loss, ridge, laplace_law(2 * norm / 0.5))
    assert mistaken > 1.75
    tilt = pure_noise(Budget(1.0), Setting(1, 1, norm, loss), ridge)
    assert tilt.alpha > ridge
    assert largest_log_ratio(points, one, none, loss, tilt.alpha, laplace_law(tilt.scale)) <= 1.0


def test_the_intercept_is_regularised_and_its_change_is_paid_for() -> None:
    """With one label an unregularised intercept would run away; here it moves by no more than the noise covers."""
    rows = Rows.clipped(np.zeros((20, 1)), 1.0, 0.25)
    labels = np.ones(20)
    flipped = np.where(np.arange(20) == 0, -1.0, 1.0)
    alpha = 1e-3
    same, other = (solve(Objective(rows, part, Logistic(), alpha), 1e-9).coefficient for part in (labels, flipped))
    mechanism = OutputPerturbation(Budget(1.0), Setting.of(rows, Logistic()), alpha)
    sensitivity = mechanism.prediction_noise / math.sqrt(3) / rows.norm
    assert sensitivity == pytest.approx(2 * rows.norm / (20 * alpha), rel=1e-6)
    assert np.linalg.norm(same - other) <= sensitivity
    model = PrivateLogisticRegression(math.inf, data_norm=1.0, alpha=alpha, classes=[0, 1]).fit(
        np.zeros((20, 1)), labels
    )
    assert model.intercept_[0] == pytest.approx(0.25 * same[-1], rel=1e-6)
    assert model.intercept_[0] < 0.25**2 / alpha


def test_classes_do_not_share_their_noise() -> None:
    """On records that say nothing, the coefficients are noise, and differ between classes in every feature."""
    labels = np.resize([0, 1, 2, 3], 60)
    joint = PrivateLogisticRegression(1.0, data_norm=1.0).fit(np.zeros((60, 5)), labels).coef_
    many = OneVsRestClassifier(PrivateLinearSVC(1.0, data_norm=1.0), n_jobs=2).fit(np.zeros((60, 5)), labels)
    separate = np.concatenate([model.coef_ for model in many.estimators_])
    for coefficients in (joint, separate):
        for first in range(4):
            for second in range(first):
                assert np.abs(coefficients[first] - coefficients[second]).min() > 0
        assert np.linalg.matrix_rank(coefficients, tol=1e-6 * np.abs(coefficients).max()) >= 3


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_the_solver_stops_within_a_hundred_thousandth_of_the_sensitivity(
    kind: type[ObjectivePerturbation] | type[OutputPerturbation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A usual tolerance leaves a quarter of the sensitivity to the exact minimiser; here 1e-5 of it, measured."""
    seen: list[tuple[Objective, Solution]] = []
    honest = perturbation.solve

    def noted(objective: Objective, tolerance: float) -> Solution:
        seen.append((objective, honest(objective, tolerance)))
        return seen[-1][1]

    monkeypatch.setattr(perturbation, "solve", noted)
    rows = Rows.clipped(X * [1.0, 1e-2, 1e-4], 1.0, 0.25)
    mechanism = kind(Budget(1.0), Setting.of(rows, Logistic()), 1e-3)
    for _ in range(5):
        mechanism.randomise(Objective(rows, 2.0 * Y - 1, Logistic(), mechanism.alpha), noise.SystemEntropy())
    for objective, solution in seen:
        exact = solve(objective, 1e-12).coefficient
        sensitivity = 2 * rows.norm / (60 * objective.alpha)
        assert np.linalg.norm(solution.coefficient - exact) <= 1e-5 * sensitivity
        assert solution.distance <= 1e-5 * sensitivity


def test_the_norm_is_never_read_off_the_data() -> None:
    """Without a norm there is an error, not a warning; with one, longer rows change neither ridge nor noise."""
    with pytest.raises(InvalidParameter, match="must not be read off the data"):
        PrivateLogisticRegression(1.0).fit(X, Y)
    models = [
        PrivateLogisticRegression(1.0, data_norm=2.0, perturbation="output").fit(f * X, Y) for f in (0.1, 1.0, 100.0)
    ]
    assert len({model.alpha_ for model in models}) == 1
    assert len({model.release_.public for model in models}) == 1


def test_repeated_randomized_response_is_counted() -> None:
    """Five answers cost five times one, however they are written down."""
    once = dp_event.RandomizedResponseDpEvent(0.5, 2)
    single = cost(once, method="basic").epsilon
    for event in (dp_event.SelfComposedDpEvent(once, 5), dp_event.ComposedDpEvent([once] * 5)):
        assert cost(event, method="basic").epsilon == pytest.approx(5 * single)
        assert cost(event).epsilon == pytest.approx(5 * single)


def test_every_draw_has_a_key_of_256_bits_and_no_seed_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key is 32 bytes from the operating system, two thousand draws never repeat, and seeding changes nothing."""
    asked: list[int] = []
    urandom = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or urandom(size))
    drawn = {noise.gaussian(noise.SystemEntropy(), 2.0**43, 2).tobytes() for _ in range(2000)}
    assert len(drawn) == 2000
    assert len(asked) == 2000
    assert min(asked) == 32
    coefficients = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        coefficients.append(PrivateLogisticRegression(1.0, data_norm=1.0).fit(X, Y).coef_)
    assert not np.array_equal(*coefficients)


def test_a_hard_problem_is_solved_once_and_at_the_same_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is retried with a doubled tolerance: hard records are solved as often and as exactly as easy ones."""
    asked: list[float] = []
    honest = perturbation.solve
    monkeypatch.setattr(perturbation, "solve", lambda objective, t: asked.append(t) or honest(objective, t))
    hard = np.column_stack([X[:, 0], X[:, 0] * (1 + 1e-12), 1e-14 * X[:, 1]])
    for table in (np.zeros_like(X), X, hard):
        PrivateLogisticRegression(20.0, data_norm=1.0, alpha=1e-9).fit(table, Y)
    assert len(asked) == 3
    assert len(set(asked)) == 1


def test_the_noise_for_an_approximate_minimiser_is_not_halved() -> None:
    """Two errors may point in opposite directions: the sensitivity is twice the radius, not the radius."""
    mechanism = ObjectivePerturbation(Budget(1.0), Setting(60, 3, 1.0, Logistic()), 0.1)
    rows = Rows.clipped(X, 1.0)
    laws: list[AdditiveNoise] = []
    objective = mechanism.check(Objective(rows, 2.0 * Y - 1, Logistic(), mechanism.alpha))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdditiveNoise, "randomise", lambda law, value, source: laws.append(law) or value)
        mechanism.randomise(objective, noise.Rehearsal(0))
    (law,) = laws
    assert law.budget == Budget(1.0) / 100
    assert law.sensitivity >= 2 * 1e-5 / 60 / mechanism.alpha


def test_nothing_is_fitted_before_the_account_agrees(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that cannot be paid for never reaches the solver, and leaves no score behind."""
    monkeypatch.setattr(perturbation, "solve", lambda *given: pytest.fail("the solver ran"))
    model = PrivateLogisticRegression(11.0, data_norm=1.0, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    assert ledger.spent == Budget(0)
    assert [name for name in vars(model) if name in ("coef_", "intercept_", "release_")] == []
