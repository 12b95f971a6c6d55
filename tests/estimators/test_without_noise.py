"""An infinite epsilon is the limit of large ones: in the ridge, the margin and the curves."""

import math

import numpy as np
import pytest

from tacit import PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression
from tacit.budget import Budget
from tacit.data import Category, Number, Schema
from tacit.erm import Hinge, HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations.coding import default_curves
from tacit.erm.perturbations.defaults import default_margin
from tacit.kernels import RBF, PrivateKernelClassifier, PrivateKernelRegressor

X = np.random.default_rng(0).normal(size=(90, 3)) / 2
TWO, THREE, NUMBER = (X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.3, 0.3]), X[:, 0]
NORM = 2.0
ROWS = {"data_norm": NORM, "random_state": 0, "fit_intercept": False}
REAL = {**ROWS, "target_range": (-2.0, 2.0)}
CLASSIFIERS = [PrivateLogisticRegression, PrivateLinearSVC]
LANDMARKS = {"data_norm": NORM, "random_state": 0, "landmarks": 10}
FITS = [
    *((make(**ROWS, perturbation=kind), TWO, 1.0) for make in CLASSIFIERS for kind in ("objective", "output")),
    *((make(delta=1e-6, **ROWS), TWO, 1.0) for make in CLASSIFIERS),
    *((make(delta=1e-6, **ROWS, perturbation="gradient"), TWO, 1.0) for make in CLASSIFIERS),
    (PrivateLinearSVC(loss="hinge", perturbation="output", **ROWS), TWO, 1.0),
    (PrivateLogisticRegression(**ROWS), THREE, 1.0),
    (PrivateLogisticRegression(delta=1e-6, **ROWS), THREE, 1.0),
    (PrivateLogisticRegression(perturbation="output", **ROWS), THREE, 1.0),
    *((PrivateERM(loss, **ROWS), TWO, 1.0) for loss in (Logistic(), HuberHinge(0.3), Hinge())),
    *((PrivateERM(HuberRegression(0.1, 2.0), delta=delta, **ROWS), NUMBER, 0.1) for delta in (0.0, 1e-6)),
    *((PrivateLinearRegression(perturbation=kind, **REAL), NUMBER, 1.0) for kind in ("auto", "statistics", "output")),
    *(
        (PrivateLinearRegression(delta=1e-6, perturbation=kind, **REAL), NUMBER, 1.0)
        for kind in ("auto", "gradient", "statistics", "output")
    ),
]


# The plain hinge takes no persons.
OF_PERSONS = [fit for fit in FITS if getattr(fit[0], "loss", None) not in ("hinge", Hinge())]


@pytest.mark.parametrize(
    ("model", "targets", "slope", "persons"),
    [(*fit, None) for fit in FITS] + [(*fit, np.arange(90) // 3) for fit in OF_PERSONS],
)
def test_the_ridge_without_noise_is_where_the_ridge_goes_as_noise_fades(model, targets, slope, persons):
    """It is L R^2/20 over n; every private fit has at least that much, less the larger epsilon is, and that at last."""
    count = 90 if persons is None else 30

    def ridge(epsilon: float) -> float:
        return model.set_params(epsilon=epsilon).fit(X, targets, groups=persons).alpha_

    ridges = [ridge(epsilon) for epsilon in (1.0, 10.0, 100.0, 1e3, 1e6, math.inf)]
    assert ridges == sorted(ridges, reverse=True)
    assert ridges[-1] == pytest.approx(slope * NORM**2 / 20 / count)
    # Where a solution of least squares is perturbed with a delta, it goes there with the cube root of epsilon only.
    slow = model.perturbation == "output" and model.delta
    assert ridges[-2] == pytest.approx(ridges[-1]) or slow


@pytest.mark.parametrize("method", ["landmarks", "fourier"])
def test_over_landmarks_the_ridge_without_noise_is_the_same_limit(method):
    """Models over landmarks and Fourier features have rows of some radius, a twentieth of whose square n alpha is."""
    for model, targets in ((PrivateKernelClassifier, TWO), (PrivateKernelClassifier, THREE)):
        for delta in (0.0, 1e-6):
            fitted = [
                model(RBF(1.0), epsilon, delta, method=method, **LANDMARKS).fit(X, targets).alpha_
                for epsilon in (1.0, 10.0, 40.0, math.inf)
            ]
            assert fitted == sorted(fitted, reverse=True)
            assert fitted[-1] == pytest.approx(1 / 20 / 90, rel=0.01)
    real = [
        PrivateKernelRegressor(RBF(1.0), epsilon, method=method, loss="absolute", **LANDMARKS, target_range=(-2, 2))
        .fit(X, NUMBER)
        .alpha_
        for epsilon in (1.0, 100.0, 1e6, math.inf)
    ]
    assert real == sorted(real, reverse=True)
    assert real[-1] == pytest.approx(real[-2])


def test_margin_and_curves_without_noise_are_their_limits():
    """Margins fade to below a thousandth, and curves grow to all their knots at full height, as epsilon does."""
    schema = Schema({"a": Number(0, 1), "b": Category(["u", "v"]), "c": Category(["x", "y"])}, target="c")
    assert default_margin(Budget(10**6), 5, 1000) == pytest.approx(default_margin(None, 5, 1000), abs=1e-3)
    for delta in (0.0, 1e-6):
        for wide in (False, True):
            limit = default_curves(Budget(10**6, delta), schema, 1000, 1, wide)
            assert limit == default_curves(None, schema, 1000, 1, wide)
