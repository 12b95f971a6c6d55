"""The noise that a linear model states beside its coefficients: never too small, and not far too large."""

import math

import numpy as np
import pytest

from support.statistical import sample_size
from tacit import Budget, PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations.defaults import default_alpha
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.least_squares import Statistics, StatisticsPerturbation, _joint_sums
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.noise import Rehearsal

DRAWS = 400
# Six deviations of the variance of 400 draws whose kurtosis is 4.2 (spherical Laplace noise in four dimensions).
SLACK = math.sqrt(1.55)

LOSSES: list[Loss] = [Logistic(), Logistic(3.0), HuberHinge(0.5), HuberRegression(1.0, 1.0), Softmax(3)]


def _posed(rows: Rows, loss: Loss, budget: Budget, way: type) -> tuple[object, Objective]:
    setting = Setting.of(rows, loss)
    mechanism = way(budget, setting, 5.0 / rows.count)
    targets = np.resize([0, 1, 2], rows.count) if loss.outputs > 1 else np.resize([1.0, -1.0], rows.count)
    return mechanism, Objective(rows, targets, loss, mechanism.alpha)


def _deviations(mechanism, objective) -> np.ndarray:
    source = Rehearsal(3)
    drawn = [np.ravel(mechanism.randomise(objective, source)) for _ in range(sample_size(DRAWS))]
    return np.std(drawn, axis=0, ddof=1)


@pytest.mark.parametrize("way", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)], ids=["pure", "delta"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}{loss.margin:g}")
def test_records_that_do_not_speak_have_the_stated_noise(loss: Loss, budget: Budget, way: type) -> None:
    """Rows of zeros leave the noise as it is: the bound holds there and is met, so that one half as large fails."""
    mechanism, objective = _posed(Rows.clipped(np.zeros((50, 4)), 1.0), loss, budget, way)
    bound, found = mechanism.coefficient_noise(objective), _deviations(mechanism, objective)
    assert np.all(found <= SLACK * bound)
    assert np.all(found >= bound / SLACK / math.sqrt(4 / 3))
    assert not np.all(found <= SLACK * bound / 2)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)], ids=["pure", "delta"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}{loss.margin:g}")
def test_the_noise_of_any_other_records_is_below_the_bound(loss: Loss, budget: Budget) -> None:
    """Records that speak lessen the noise and never exceed the bound; beside the ridge it is of the same size."""
    generator = np.random.default_rng(1)
    mechanism, objective = _posed(
        Rows.clipped(generator.normal(size=(300, 4)), 1.0), loss, budget, ObjectivePerturbation
    )
    bound, found = mechanism.coefficient_noise(objective), _deviations(mechanism, objective)
    assert np.all(found <= SLACK * bound)
    assert np.all(found >= bound / 20)


@pytest.mark.parametrize(("count", "share", "bent"), [(50, 5.0, False), (50, 0.5, False), (8_000, 4.0, True)])
@pytest.mark.parametrize("loss", [HuberHinge(0.5), Softmax(3)], ids=lambda loss: loss.name)
def test_noisy_gradients_leave_the_stated_noise_where_records_do_not_speak(
    loss: Loss, count: int, share: float, bent: bool
) -> None:
    """Rows of zeros make a quadratic of the ridge alone: the estimate is met by plain steps, and no less than the noise
    of bent ones, whose range of curvatures is wider; half of it would be too small for either."""
    setting = Setting(count, 4, 1.0, loss)
    mechanism = GradientPerturbation(Budget(1.0, 1e-6), setting, share / count)
    assert (mechanism.moment is not None) == bent
    targets = np.resize([0, 1, 2], count) if loss.outputs > 1 else np.resize([1.0, -1.0], count)
    objective = Objective(Rows.clipped(np.zeros((count, 4)), 1.0), targets, loss, mechanism.alpha)
    bound, found = mechanism.coefficient_noise(objective), _deviations(mechanism, objective)
    assert np.all(found <= SLACK * bound)
    assert np.all(found >= bound / SLACK / (2 if bent else 1))
    assert not np.all(found <= SLACK * bound / 2)


@pytest.mark.parametrize("loss", [HuberHinge(0.5), Logistic(3.0), Softmax(3)], ids=lambda loss: loss.name)
def test_noisy_gradients_of_other_records_have_no_more_than_the_stated_noise(loss: Loss) -> None:
    """Bent slopes, clipped or not, of records that speak in some directions more than in others, lessen the noise."""
    data = np.random.default_rng(1).normal(size=(500, 8)) / np.arange(1, 9)
    rows, budget = Rows.clipped(data, 1.0), Budget(1.0, 1e-6)
    setting = Setting.of(rows, loss)
    mechanism = GradientPerturbation(budget, setting, default_alpha("gradient", budget, setting))
    targets = np.resize([0, 1, 2], 500) if loss.outputs > 1 else np.where(data[:, 0] > data[:, 1], 1.0, -1.0)
    objective = Objective(rows, targets, loss, mechanism.alpha)
    bound, found = mechanism.coefficient_noise(objective), _deviations(mechanism, objective)
    assert np.all(found <= SLACK * bound)
    assert np.max(found) >= bound / 4


def test_one_coefficient_needs_no_more_than_its_own_law() -> None:
    """In one dimension the spread of spherical noise is the deviation of Laplace noise, not the spectral gap's."""
    mechanism, objective = _posed(Rows.clipped(np.zeros((50, 1)), 1.0), Logistic(), Budget(1.0), ObjectivePerturbation)
    scale = mechanism.linear_noise.scale
    assert mechanism.coefficient_noise(objective) == pytest.approx(
        math.sqrt(2) * scale / (50 * mechanism.alpha), rel=1e-3
    )


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(4.0)], ids=["delta", "pure"])
def test_the_noise_of_statistics_is_as_estimated(budget: Budget) -> None:
    """Over repeated releases the distance to the noiseless solution at the same ridge has the stated deviation."""
    generator = np.random.default_rng(2)
    rows = Rows.clipped(generator.normal(size=(4000, 4)), 1.0)
    targets = np.clip(np.asarray(rows.matrix.array) @ [0.5, -0.4, 0.0, 0.1] + generator.normal(size=4000) / 5, -1, 1)
    mechanism, source = StatisticsPerturbation(budget, 4000, 4, rows.norm), Rehearsal(4)
    sums = _joint_sums(rows, targets)
    exact = Statistics(sums[:-1], sums[-1], 0.0, 0.0)
    ratios = []
    for _ in range(sample_size(DRAWS)):
        found, noise = mechanism.randomise((rows, targets), source).solve(200.0)
        ratios.append((found - exact.solve(200.0)[0]) / noise)
    deviations = np.std(ratios, axis=0)
    assert np.all(deviations <= SLACK)
    assert np.all(deviations >= 1 / SLACK)


X = np.random.default_rng(0).normal(size=(60, 3))
MODELS = [
    (PrivateLogisticRegression(1.0, data_norm=2.0, classes=[0, 1]), X[:, 0] > 0),
    (PrivateLogisticRegression(1.0, data_norm=2.0, classes=[0, 1, 2], fit_intercept=False), (X[:, 0] > 0) * 2),
    (PrivateLogisticRegression(math.inf, data_norm=2.0, classes=[0, 1]), X[:, 0] > 0),
    (PrivateLinearSVC(1.0, 1e-6, data_norm=2.0, classes=[0, 1], loss="hinge"), X[:, 0] > 0),
    (PrivateLinearRegression(1.0, 1e-6, data_norm=2.0, target_range=(-50, 50)), X[:, 0]),
    (PrivateERM(HuberRegression(1.0, 1.0), 1.0, data_norm=2.0), X[:, 0]),
    (PrivateLogisticRegression(1.0, 1e-6, data_norm=2.0, classes=[0, 1, 2]), (X[:, 0] > 0) * 2),
]


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_every_linear_model_states_its_noise_in_the_shape_of_its_coefficients(model, y) -> None:
    """The noise has one number a coefficient, none of it negative, and none at all without privacy."""
    model.fit(X, np.asarray(y).astype(int) if hasattr(model, "classes") else y)
    assert model.coef_noise_.shape == model.coef_.shape
    assert np.shape(model.intercept_noise_) == np.shape(model.intercept_)
    if model.epsilon == math.inf:
        assert not np.any(model.coef_noise_)
    else:
        assert np.all(model.coef_noise_ > 0)


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_the_summary_names_each_coefficient_with_its_noise_and_the_guarantee(model, y) -> None:
    """A person reads the guarantee, every coefficient, and beside it the noise; a long table is cut and says so."""
    model.fit(X, np.asarray(y).astype(int) if hasattr(model, "classes") else y)
    text = model.summary()
    assert model.release_.guarantee in text
    assert all(f"{value:.5g}" in text for value in np.ravel(model.coef_))
    assert all(f"{noise:.5g}" in text for noise in np.ravel(model.coef_noise_))
    assert ("twice their noise" in text) == (model.epsilon < math.inf)
    count = np.size(model.coef_) + (np.size(model.intercept_) if model.fit_intercept else 0)
    assert f"... and {count - 1} more" in model.summary(most=1)


def test_the_noise_of_a_regression_is_in_the_units_of_its_target() -> None:
    """A target a hundred times as wide has coefficients and noise a hundred times as large."""
    narrow, wide = (
        PrivateLinearRegression(1.0, data_norm=2.0, target_range=(-far, far), random_state=1).fit(X, far * X[:, 0])
        for far in (1.0, 100.0)
    )
    assert np.allclose(100 * narrow.coef_noise_, wide.coef_noise_)
    assert wide.intercept_noise_ == pytest.approx(100 * narrow.intercept_noise_)
