"""Private linear regression: the sensitivity of its statistics, its noise, and its scikit-learn manners."""

import math

import numpy as np
import pytest
from scipy import optimize, sparse, stats
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.statistical import fits, sample_size
from support.weight_checks import expected_failures
from tacit import Budget, PrivateLinearRegression
from tacit.erm import Rows, Squared
from tacit.erm.perturbations.least_squares import StatisticsPerturbation, _joint_sums
from tacit.errors import InvalidParameter
from tacit.noise import Rehearsal

RANGE = (-2.0, 2.0)


@pytest.fixture(scope="module")
def problem():
    """Two thousand records with a known linear law."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    return rows, np.clip(rows @ [1.0, -0.5, 0.3] + 0.2 + 0.1 * rng.normal(size=2000), *RANGE)


def _moved(parameters, dimension):
    x, z = parameters[:dimension], parameters[dimension : 2 * dimension]
    x, z = (v / max(1, np.linalg.norm(v)) for v in (x, z))
    y, t = np.clip(parameters[-2:], -1, 1)
    return math.sqrt(np.sum((np.outer(x, x) - np.outer(z, z)) ** 2) + np.sum((x * y - z * t) ** 2))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_replacement_moves_the_statistics_by_more_than_three_over_root_two(dimension):
    """A search over pairs of records never exceeds the sensitivity, and attains it from two dimensions on."""
    rng = np.random.default_rng(dimension)
    worst = max(
        -optimize.minimize(
            lambda p: -_moved(p, dimension), rng.normal(size=2 * dimension + 2), method="Nelder-Mead"
        ).fun
        for _ in range(40)
    )
    assert worst <= 3 / math.sqrt(2) * (1 + 1e-12)
    if dimension > 1:
        assert worst >= 0.999 * 3 / math.sqrt(2)


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_array])
def test_computed_statistics_are_within_the_stated_rounding(matrix):
    """Sums over records are right to the bound that the noise pays for, clipped and with a constant."""
    rng = np.random.default_rng(1)
    data, targets = rng.normal(size=(5000, 4)), rng.uniform(-1, 1, 5000)
    rows = Rows.clipped(matrix(data), 1.0, constant=0.25)
    full = np.column_stack([data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True)), np.full(5000, 0.25)])
    exact = np.array([[math.fsum(a * b) for b in [*full.T, targets]] for a in full.T])
    sums = _joint_sums(rows, targets)
    found = np.column_stack([sums[:-1] / rows.norm**2, sums[-1] / rows.norm])
    scaled = np.column_stack([exact[:, :-1] / rows.norm**2, exact[:, -1] / rows.norm])
    allowed = StatisticsPerturbation(Budget(1, 1e-6), 5000, 5, rows.norm)._rounding
    assert np.linalg.norm(found - scaled) <= allowed


@pytest.mark.stats
def test_the_statistics_carry_the_calibrated_noise():
    """Diagonal entries of X'X and the entries of X'y have Gaussian noise of the stated deviation, not 10 % less."""
    rows = Rows.clipped(np.eye(3)[:, :2], 1.0)
    mechanism = StatisticsPerturbation(Budget(1, 1e-6), 3, 2, rows.norm)
    targets, source = np.array([0.5, -0.5, 0.0]), Rehearsal(5)
    draws = [mechanism.randomise((rows, targets), source) for _ in range(sample_size(3000))]
    noise = np.concatenate([[d.gram[0, 0] - 1, d.gram[1, 1] - 1, *(d.moment - [0.5, -0.5])] for d in draws])
    crossed = np.array([d.gram[0, 1] for d in draws])
    sigma = 3 / math.sqrt(2) * 4.22468
    assert fits(noise, stats.norm(scale=sigma).cdf)
    assert not fits(noise, stats.norm(scale=sigma * 0.9).cdf)
    assert fits(crossed, stats.norm(scale=sigma / math.sqrt(2)).cdf)


@pytest.mark.parametrize("perturbation", ["auto", "statistics", "output", "objective", "gradient"])
def test_every_way_recovers_the_law_when_epsilon_is_large(problem, perturbation):
    """With plenty of budget the private fit is near the ordinary one."""
    rows, targets = problem
    model = PrivateLinearRegression(
        40.0, 1e-6, target_range=RANGE, data_norm=1.0, perturbation=perturbation, random_state=0
    )
    plain = PrivateLinearRegression(math.inf, target_range=RANGE, data_norm=1.0).fit(rows, targets)
    # Perturbing the solution costs the most by far: its slope is bounded only through the ridge.
    loss = 0.5 if perturbation == "output" else 0.1
    assert model.fit(rows, targets).score(rows, targets) >= plain.score(rows, targets) - loss


def test_a_delta_is_charged_only_where_it_lessens_the_noise(problem):
    """With few features pure noise is smaller, and no delta is charged; with many a delta is worth its price."""
    rows, targets = problem
    few = PrivateLinearRegression(1.0, 1e-6, target_range=RANGE, data_norm=1.0).fit(rows, targets)
    assert few.release_.budget == Budget(1)
    wide = np.column_stack([rows, np.zeros((len(rows), 60))])
    many = PrivateLinearRegression(1.0, 1e-6, target_range=RANGE, data_norm=1.0, alpha=0.02).fit(wide, targets)
    assert many.release_.budget == Budget(1, 1e-6)
    pure = PrivateLinearRegression(1.0, target_range=RANGE, data_norm=1.0, alpha=0.02).fit(wide, targets)
    assert np.max(many.coef_noise_) < np.min(pure.coef_noise_)
    assert all("HuberRegression" in model.release_.guarantee for model in (few, many, pure))


def test_with_a_delta_a_regression_is_as_good_as_without(problem):
    """For few features and for many, the mean score over twenty rehearsals is no worse than that of a pure budget."""
    rows, targets = problem
    for zeros in (0, 60):
        wide = np.column_stack([rows, np.zeros((len(rows), zeros))])
        pure, delta = (
            np.mean(
                [
                    PrivateLinearRegression(0.5, d, target_range=RANGE, data_norm=1.0, random_state=seed)
                    .fit(wide, targets)
                    .score(wide, targets)
                    for seed in range(20)
                ]
            )
            for d in (0.0, 1e-6)
        )
        assert delta >= pure - 1e-9


def test_extreme_targets_pull_little(problem):
    """One target in a hundred at the end of a range ten times too wide moves the fit by less than least squares."""
    rows, targets = problem
    spoiled = targets.copy()
    spoiled[::100] = 20.0
    model = PrivateLinearRegression(5.0, target_range=(-20.0, 20.0), data_norm=1.0, random_state=0)
    plain = PrivateLinearRegression(math.inf, target_range=(-20.0, 20.0), data_norm=1.0)
    assert model.fit(rows, spoiled).score(rows, targets) > 0.8
    missed = [np.mean(np.square(fit.predict(rows) - targets)) for fit in (model, plain.fit(rows, spoiled))]
    assert missed[0] < missed[1]


def test_as_noise_fades_the_loss_becomes_the_squared_one(problem):
    """At a huge budget residuals count in full, and coefficients are those of ridge regression."""
    rows, targets = problem
    private = PrivateLinearRegression(1e5, target_range=RANGE, data_norm=1.0, alpha=1e-3).fit(rows, targets)
    plain = PrivateLinearRegression(math.inf, target_range=RANGE, data_norm=1.0, alpha=1e-3).fit(rows, targets)
    assert np.allclose(private.coef_, plain.coef_, atol=1e-2)


def test_an_infinite_epsilon_is_ridge_regression_and_not_private(problem):
    """Without noise the model is the ridge regression of clipped, centred targets, and says it is not private."""
    rows, targets = problem
    model = PrivateLinearRegression(math.inf, target_range=RANGE, data_norm=1.0, alpha=1e-3).fit(rows, targets)
    ordinary = Ridge(alpha=1e-3 * len(rows), fit_intercept=False)
    ordinary.fit(np.column_stack([rows, np.full(len(rows), 0.25)]), targets / 2)
    assert np.allclose(model.coef_, 2 * ordinary.coef_[:-1], atol=1e-7)
    assert model.intercept_ == pytest.approx(2 * 0.25 * ordinary.coef_[-1], abs=1e-7)
    assert not model.release_.private


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 1.0, 10.0])
def test_the_bound_on_solutions_holds_and_is_attained(alpha):
    """No data set has a ridge solution longer than the bound, and some single-direction data set reaches it."""
    rng = np.random.default_rng(2)
    bound = Squared(1.0, 1.0).minimiser_bound(1.0, alpha)
    for _ in range(50):
        rows = rng.normal(size=(6, 2))
        rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        targets = rng.choice([-1.0, 1.0], 6)
        solution = np.linalg.solve(rows.T @ rows / 6 + alpha * np.eye(2), rows.T @ targets / 6)
        assert np.linalg.norm(solution) <= bound * (1 + 1e-12)
    share = min(1.0, math.sqrt(alpha))
    # One direction, rows of length sqrt(alpha) (or 1): slope m/(m^2 + alpha).
    assert share / (share**2 + alpha) == pytest.approx(bound)


def test_the_lectures_counterexample_moves_without_a_ridge_and_not_beyond_our_bound_with_one():
    """n - 1 rows at zero and one at 1 with target 1 or -1: the solution moves by 2, or by our bound with a ridge."""
    n, alpha = 100, 0.01
    rows = np.zeros(n)
    rows[-1] = 1.0
    unregularised = abs(1.0 - (-1.0))
    assert unregularised > 4 / n
    ridge = [(rows @ np.sign(y + rows)) / (rows @ rows + n * alpha) for y in (0.0, -2.0 * rows)]
    assert abs(ridge[0] - ridge[1]) <= 2 * (1 + Squared(1.0, 1.0).minimiser_bound(1.0, alpha)) / (n * alpha)


def test_each_fit_is_charged_once_and_says_what_it_assumed(problem, ledger):
    """The account has one entry per fit, and the guarantee names the range of the targets."""
    rows, targets = problem
    model = PrivateLinearRegression(
        1.0, 1e-6, target_range=RANGE, data_norm=1.0, perturbation="statistics", ledger=ledger
    ).fit(rows, targets)
    assert ledger.spent == Budget(1, 1e-6)
    assert "targets within (-2.0, 2.0)" in model.release_.guarantee


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": None},
        {"data_norm": None},
        {"target_range": None},
        {"target_range": (1, 1)},
        {"target_range": (math.nan, 1)},
        {"target_range": 5},
        {"alpha": 0},
        {"alpha": "much"},
        {"perturbation": "magic"},
        {"perturbation": "gradient", "delta": 0.0},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_charged(problem, ledger, options):
    """Missing or senseless parameters give a clear error and no entry."""
    rows, targets = problem
    good = {"epsilon": 1.0, "delta": 1e-6, "target_range": RANGE, "data_norm": 1.0, "ledger": ledger}
    with pytest.raises(InvalidParameter):
        PrivateLinearRegression(**{**good, **options}).fit(rows, targets)
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize("norm", [1e-100, 1e-80, 1e80, 1e100])
def test_statistics_of_rows_of_any_norm_give_the_same_model_in_other_units(problem, ledger, norm):
    """At 1e78 a fit failed after its charge, at 1e-80 its noise was infinite: squares of squares of norms."""
    rows, targets = problem

    def fitted(length, alpha, **paid):
        model = PrivateLinearRegression(
            1.0, 1e-6, target_range=RANGE, perturbation="statistics", data_norm=length, alpha=alpha, **paid
        )
        model.fit(rows * length, targets)
        return model.coef_ * length, model.intercept_, model.coef_noise_ * length

    assert all(np.all(np.isfinite(found)) for found in fitted(norm, "auto", ledger=ledger))
    for unit, alpha, scaled in ((norm, "auto", "auto"), (1e-30, 0.5, 0.5e-60)):
        wanted, found = fitted(1.0, alpha, random_state=1), fitted(unit, scaled, random_state=1)
        for one, other in zip(wanted, found, strict=True):
            assert one == pytest.approx(other, rel=1e-4)


def test_statistics_say_which_weights_they_took_to_be_public(problem):
    """The largest weight is declared, and so part of the guarantee, as for the other perturbations."""
    rows, targets = problem
    for kind in ("statistics", "output", "objective"):
        model = PrivateLinearRegression(
            1.0, 1e-6, target_range=RANGE, data_norm=1.0, perturbation=kind, largest_weight=5.0
        )
        model.fit(rows, targets, sample_weight=np.full(len(rows), 2.0))
        assert "largest weight 5" in model.release_.public
        assert "row norm 1.03078" in model.release_.public


def test_too_many_features_for_statistics_are_refused():
    """A hundred thousand features would need ten billion statistics."""
    with pytest.raises(InvalidParameter, match="too many"):
        StatisticsPerturbation(Budget(1, 1e-6), 10, 100_000, 1.0)


CHECKED = [
    PrivateLinearRegression(1e3, 1e-3, target_range=(-3.0, 3.0), data_norm=5.0, largest_weight=1.0, random_state=0),
    PrivateLinearRegression(1e3, target_range=(-3.0, 3.0), data_norm=5.0, largest_weight=1.0, random_state=0),
    PrivateLinearRegression(math.inf, target_range=(-3.0, 3.0), data_norm=5.0, largest_weight=1.0),
]


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_it_is_a_scikit_learn_regressor(estimator, check):
    """Every scikit-learn check passes, but for those that weights of records must not."""
    check(estimator)
