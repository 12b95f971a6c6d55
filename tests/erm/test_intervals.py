"""Intervals for coefficients without noise: measured coverage, over fits to the same records."""

import math

import numpy as np
import pytest

from support.statistical import at_least, sample_size
from tacit import PrivateLinearRegression, PrivateLogisticRegression, noise
from tacit.errors import InvalidParameter

FITS = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3))
X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
LABELS = (X @ [2.0, -1.0, 0.0] + 0.5 * RNG.logistic(size=3000) > 0).astype(int)
TARGETS = np.clip(X @ [1.0, -0.5, 0.3] + 0.1 * RNG.normal(size=3000), -2, 2)


def _logistic(epsilon, delta, seed):
    return PrivateLogisticRegression(
        epsilon, delta, data_norm=1.0, classes=[0, 1], alpha=0.02, perturbation="objective", random_state=seed
    ).fit(X, LABELS)


def _output(epsilon, delta, seed):
    return PrivateLogisticRegression(
        epsilon, delta, data_norm=1.0, classes=[0, 1], alpha=0.02, perturbation="output", random_state=seed
    ).fit(X, LABELS)


def _statistics(epsilon, delta, seed):
    return PrivateLinearRegression(
        epsilon, delta, data_norm=1.0, target_range=(-2, 2), alpha=0.05, perturbation="statistics", random_state=seed
    ).fit(X, TARGETS)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("fit", [_logistic, _output, _statistics])
def test_intervals_hold_the_coefficients_of_a_fit_with_hardly_any_noise(fit, delta, confidence) -> None:
    """As many of the intervals as stated, or more, hold what the same fit gives without noise; with a third of their
    width too few would, where the noise is known and not bounded."""
    reference = np.mean([_reference(fit, delta, seed).coef_ for seed in range(3)], axis=0)
    held = narrow = 0
    for seed in range(sample_size(FITS)):
        low, high = fit(1.0, delta, seed).intervals(confidence)
        held += int(np.sum((low <= reference) & (reference <= high)))
        narrow += int(np.sum(np.abs(reference - (low + high) / 2) <= (high - low) / 6))
    assert at_least(held, sample_size(FITS) * 3, confidence)
    assert fit is _logistic or not at_least(narrow, sample_size(FITS) * 3, confidence)


def _reference(fit, delta, seed):
    from tacit.erm.losses.standard import Logistic
    from tacit.erm.rows.rows import Rows
    from tacit.erm.solver.objective import Objective
    from tacit.erm.solver.solve import solve

    if fit is _statistics:
        return fit(3000.0, delta, seed)
    model = fit(1.0, delta, seed)
    rows = Rows.clipped(X, 1.0, constant=0.25)
    objective = Objective(rows, np.where(LABELS == 1, 1.0, -1.0), Logistic(model.margin_), model.alpha_)
    model.coef_ = solve(objective, 1e-9).coefficient[None, :-1]
    return model


def test_intervals_of_noisy_gradients_hold_the_coefficients_that_steps_without_noise_end_at() -> None:
    """Of several classes, whose slopes are bent and clipped, more than stated, fewer in a quarter of the width."""
    labels = np.argmax(
        X @ np.random.default_rng(2).normal(size=(3, 3)) + np.random.default_rng(3).normal(size=(3000, 3)), 1
    )

    def fit(seed: int) -> PrivateLogisticRegression:
        return PrivateLogisticRegression(
            1.0, 1e-6, data_norm=1.0, classes=[0, 1, 2], alpha=0.05, random_state=seed
        ).fit(X, labels)

    with pytest.MonkeyPatch.context() as without:
        without.setattr(noise, "gaussian", lambda source, units, size: np.zeros(size, dtype=np.int64))
        reference = fit(0).coef_
    held = narrow = 0
    for seed in range(sample_size(FITS)):
        low, high = fit(seed).intervals(0.95)
        held += int(np.sum((low <= reference) & (reference <= high)))
        narrow += int(np.sum(np.abs(reference - (low + high) / 2) <= (high - low) / 8))
    assert at_least(held, sample_size(FITS) * 9, 0.95)
    assert not at_least(narrow, sample_size(FITS) * 9, 0.95)


def test_without_noise_intervals_are_points() -> None:
    """An infinite epsilon has intervals of no width; a confidence above 1 is refused."""
    plain = PrivateLogisticRegression(math.inf, data_norm=1.0, classes=[0, 1]).fit(X, LABELS)
    assert all(np.array_equal(end, plain.coef_) for end in plain.intervals(0.99))
    with pytest.raises(InvalidParameter):
        plain.intervals(1.5)
