"""What a report says of errors does not contradict itself, however much noise there is."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from tacit.evaluation import report

X = np.arange(300.0)[:, None] / 300
TARGETS = np.clip(2 * X[:, 0] + np.sin(np.arange(300.0)), 0, 10)
MODEL = LinearRegression().fit(X, TARGETS)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_rmse_mae_and_r2_agree(epsilon, seed):
    """No RMSE below a MAE, in value and in all ranges; no R2 above what the least RMSE leaves to be explained."""
    told = report(MODEL, X, TARGETS, epsilon=epsilon, target_range=(0, 10), random_state=seed)
    rmse, mae, r2 = told.rmse, told.mae, told.r2
    assert mae.value <= rmse.value + 1e-12
    for one, other, share in zip(
        (mae.noise, mae.sampling, mae.interval), (rmse.noise, rmse.sampling, rmse.interval),
        (r2.noise, r2.sampling, r2.interval), strict=True,
    ):  # fmt: skip
        assert one[0] <= other[0] + 1e-12
        assert one[1] <= other[1] + 1e-12
        assert one[0] <= one[1]
        assert other[0] <= other[1]
        # The variance of numbers within a range of 10 is 25 at most.
        assert share[0] <= share[1] <= max(share[0], 1 - other[0] ** 2 / 25) + 1e-12
    assert mae.noise[0] <= mae.value <= mae.noise[1]
    assert rmse.noise[0] <= rmse.value <= rmse.noise[1]
    assert r2.noise[0] <= r2.value <= r2.noise[1]
    assert math.isfinite(rmse.value)


def test_a_report_says_which_way_errors_go():
    """A mean error above 0 is a prediction that is too low."""
    told = report(MODEL, X, TARGETS + 3, epsilon=50, target_range=(0, 10), random_state=0)
    assert told.mean_error.value > 2
    assert "errors: target minus prediction" in str(told)
    assert "0.0000" not in str(report(MODEL, X, TARGETS, epsilon=0.02, target_range=(0, 1e6), random_state=0))


@pytest.mark.parametrize("bias", [-0.1, 0.1])
def test_errors_that_are_all_alike_lie_in_the_ranges(bias):
    """Where errors sit on one number the RMSE, found by itself, was 0, and took the mean absolute error with it."""
    targets = np.random.default_rng(5).uniform(0, 1, 20_000)
    model = LinearRegression().fit(targets[:, None], targets + bias)
    off = np.abs(np.clip(targets + bias, 0, 1) - targets)
    exact = {"mae": np.mean(off), "rmse": np.sqrt(np.mean(off**2))}
    missed = dict.fromkeys(exact, 0)
    for seed in range(20):
        told = report(model, targets[:, None], targets, epsilon=1, target_range=(0, 1), random_state=seed)
        for name, value in exact.items():
            low, high = getattr(told, name).noise
            missed[name] += not low <= value <= high
    assert max(missed.values()) <= 5
