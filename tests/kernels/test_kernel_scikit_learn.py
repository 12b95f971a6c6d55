"""The kernel estimators as citizens of scikit-learn."""

import math
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from support.weight_checks import expected_failures
from tacit.kernels import RBF, Polynomial, PrivateKernelClassifier, PrivateKernelRegressor


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        PrivateKernelClassifier(
            RBF(0.05) + 1.0, 40.0, 1e-5, landmarks=30, data_norm=10.0, largest_weight=1.0, random_state=0
        ),
        PrivateKernelClassifier(RBF(0.05) + 1.0, math.inf, landmarks=40, data_norm=10.0, largest_weight=1.0),
        PrivateKernelClassifier(
            RBF(0.05),
            40.0,
            1e-5,
            method="matched",
            landmarks=30,
            data_norm=10.0,
            largest_weight=1.0,
            random_state=0,
            loss="huber",
        ),
        PrivateKernelClassifier(
            RBF(0.02), 1e5, method="tddl", landmarks=100, alpha=1e-3, data_norm=10.0, largest_weight=1.0, random_state=0
        ),
        PrivateKernelClassifier(
            RBF(0.05), 49.0, 1e-2, method="fourier", landmarks=40, data_norm=10.0, largest_weight=1.0, random_state=0
        ),
        PrivateKernelRegressor(
            Polynomial(1),
            40.0,
            1e-5,
            target_range=(-3, 3),
            landmarks=20,
            alpha=1e-3,
            data_norm=5.0,
            largest_weight=1.0,
            random_state=0,
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """Every check of scikit-learn passes, but for those that weights of records must not."""
    check(estimator)
