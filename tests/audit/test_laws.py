"""The auditor's densities are the right ones: against another derivation, and against what is really released."""

import numpy as np
import pytest

from support import statistical
from support.densities import Records as Twin
from support.densities import laplace_law, log_density, normal_law
from tacit.audit import Question, case
from tacit.audit.catalogue.estimators import LinearProblem
from tacit.audit.exhibits.objective import OneDimensional, nips2008_law
from tacit.audit.laws import (
    LOGISTIC,
    CountedRows,
    NoiseLaw,
    ObjectiveLaw,
    huber_hinge,
    huber_regression,
    logistic,
    minimiser,
)
from tacit.erm import HuberHinge, HuberRegression, Logistic, Objective, Rows, solve
from tacit.erm.perturbations.defaults import MARGIN

ROWS = np.array([[0.6, -0.3], [0.1, 0.9], [-0.7, 0.2]])
TARGETS = np.array([1.0, -1.0, 1.0])
LOSSES = [
    (LOGISTIC, Logistic()),
    (logistic(3.0), Logistic(3.0)),
    (huber_hinge(0.5), HuberHinge(0.5)),
    (huber_regression(1.0), HuberRegression(1.0, 1.0)),
]


@pytest.mark.parametrize(("formula", "loss"), LOSSES, ids=["logistic", "margin", "huber-hinge", "huber-regression"])
@pytest.mark.parametrize("gaussian", [False, True])
def test_densities_agree_with_another_derivation(formula, loss, gaussian):
    """Two independently written densities differ by a constant only, at random outputs."""
    points = np.random.default_rng(5).normal(size=(40, 2)) * 2
    noise, law = NoiseLaw(3.0, gaussian), (normal_law if gaussian else laplace_law)(3.0)
    mine = ObjectiveLaw(formula, 0.7, noise).log_density(points, CountedRows.of(ROWS, TARGETS, [1, 2, 5]))
    twin = log_density(points, Twin.of(ROWS, TARGETS, [1, 2, 5]), loss, 0.7, law)
    assert np.ptp(mine - twin) < 1e-12


@pytest.mark.parametrize(("formula", "loss"), LOSSES[:3], ids=["logistic", "margin", "huber-hinge"])
def test_the_minimiser_is_the_librarys(formula, loss):
    """The auditor's own solver and the certified one agree."""
    certified = solve(Objective(Rows.clipped(ROWS, 10.0), TARGETS, loss, 0.2), 1e-9).coefficient
    assert np.allclose(minimiser(CountedRows.of(ROWS, TARGETS), formula, 0.6), certified, atol=1e-7)


@pytest.mark.stats
def test_the_density_is_that_of_the_minimisers_drawn():
    """Minimisers of randomly tilted objectives pass an exact Kolmogorov test against the density (false alarm 1e-9)."""
    law = nips2008_law(1.0, 0.5)
    drawn = OneDimensional(0.5, 2.0).many((np.array([[1.0]]), np.array([1.0])), statistical.sample_size(100_000))[:, 0]
    cdf = _cdf(law, CountedRows.of([[1.0]], [1.0]))
    assert statistical.fits(drawn, cdf)
    assert not statistical.fits(0.9 * drawn, cdf)


@pytest.mark.stats
def test_a_density_without_the_jacobian_is_noticed():
    """The twin: the density that the 2008 proof uses, without the determinant, fails the same test."""
    law = nips2008_law(1.0, 0.5)
    drawn = OneDimensional(0.5, 2.0).many((np.array([[1.0]]), np.array([1.0])), statistical.sample_size(20_000))[:, 0]
    assert not statistical.fits(drawn, _cdf(law, CountedRows.of([[1.0]], [1.0]), jacobian=False))


@pytest.mark.stats
def test_the_density_is_that_of_tacits_own_fits():
    """Coefficients of PrivateLogisticRegression, fitted for real, pass the test too (false alarm 1e-9)."""
    own = case("PrivateLogisticRegression", Question(1.0, perturbation="objective"))
    law = LinearProblem(Logistic(MARGIN), logistic(MARGIN), "objective", own.claim).law(len(own.first[1]))
    fitted = np.array([own.mechanism(own.first).coef_[0, 0] for _ in range(statistical.sample_size(400))])
    records = CountedRows.of(*own.first)
    assert statistical.fits(fitted, _cdf(law, records))
    # The twin: coefficients a third too far out are not from this law.
    assert not statistical.fits(3 * fitted, _cdf(law, records))


def _cdf(law, records, jacobian=True):
    """Return the cdf of one coefficient by integrating the density over a fine grid."""
    grid = np.linspace(-1, 1, 400_001) * 45 * law.noise.unit / law.ridge
    logs = law.log_density(grid[:, None], records)
    if not jacobian:
        logs = law.noise.log_density(law.noise_at(grid[:, None], records))
    mass = np.exp(logs - logs.max())
    total = np.concatenate([[0.0], np.cumsum((mass[1:] + mass[:-1]) / 2)])
    return lambda at: np.interp(at, grid, total / total[-1])
