"""Principal components from noisy moments: the ordinary ones without noise, and what the noise is."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support.statistical import FALSE_ALARM, fits
from tacit.data import PublicEncoder, adult_schema, load_adult
from tacit.queries.learners.pca import SQPCA
from tacit.queries.oracle.plan import Demand
from tacit.sums.evaluator import Evaluator

RNG = np.random.default_rng(7)
TURN = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
X = 0.3 + RNG.normal(size=(3_000, 6)) * [3.0, 2.0, 1.0, 0.5, 0.3, 0.1] @ TURN


def test_without_noise_they_are_the_ordinary_components() -> None:
    """Up to the sign of each, components, variances, mean and coordinates are scikit-learn's, for rows in the norm."""
    norm = float(np.ceil(np.linalg.norm(X, axis=1).max()))
    model, ordinary = SQPCA(4, math.inf, data_norm=norm).fit(X), PCA(4).fit(X)
    signs = np.sign((model.components_ * ordinary.components_).sum(axis=1))
    assert np.allclose(model.components_, signs[:, None] * ordinary.components_, atol=1e-4)
    assert np.allclose(model.explained_variance_, ordinary.explained_variance_, rtol=1e-4)
    assert np.allclose(model.explained_variance_ratio_, ordinary.explained_variance_ratio_, rtol=1e-4)
    assert np.allclose(model.mean_, ordinary.mean_, atol=1e-9)
    assert np.allclose(model.transform(X), signs * ordinary.transform(X), atol=1e-2)
    back = ordinary.inverse_transform(ordinary.transform(X))
    assert np.allclose(model.inverse_transform(model.transform(X)), back, atol=1e-2)


def test_all_components_turn_rows_there_and_back() -> None:
    """With as many components as features nothing is lost, noise or not."""
    model = SQPCA(epsilon=0.5, data_norm=10.0, random_state=0).fit(X)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(6))
    assert np.allclose(model.inverse_transform(model.transform(X)), X)
    assert (model.explained_variance_ >= 0).all()
    assert model.get_feature_names_out().tolist() == [f"sqpca{j}" for j in range(6)]


@pytest.mark.parametrize(("epsilon", "delta", "wanted"), [(1.0, 0.0, 0.8), (1.0, 1e-6, 0.95), (10.0, 0.0, 0.99)])
def test_private_components_explain_nearly_as_much(epsilon: float, delta: float, wanted: float) -> None:
    """Two directions of six, from noisy moments, keep most of the variance that the best two keep."""
    best = PCA(2).fit(X).explained_variance_.sum()
    kept = []
    for seed in range(5):
        ways = SQPCA(2, epsilon, delta, data_norm=8.0, random_state=seed).fit(X).components_
        kept.append(np.trace(ways @ np.cov(X.T) @ ways.T) / best)
    assert np.median(kept) > wanted


def test_variation_about_the_origin_needs_no_mean() -> None:
    """Without centring the mean is 0, is not asked for, and the first direction points to where the rows are."""
    model = SQPCA(1, math.inf, data_norm=100.0, center=False).fit(X + 20.0)
    assert not model.mean_.any()
    assert model.components_[0] @ np.full(6, 6**-0.5) > 0.99
    assert [plan.size for plan in SQPCA(1, 1.0, data_norm=1.0, center=False).preview(10, 6)] == [21]
    assert [plan.size for plan in SQPCA(1, 1.0, data_norm=1.0).preview(10, 6)] == [27]


@pytest.mark.stats
def test_the_noise_in_the_moments_is_what_was_promised() -> None:
    """Moments, put together again from all components, are off by Laplace noise of the right scale.

    False alarms: 1e-9 (Kolmogorov's exact test). The twin, with noise that is 10 % too small, is rejected.
    """
    width, epsilon = 400, 1e5
    rows = np.vstack([np.eye(width)] * 2)
    model = SQPCA(epsilon=epsilon, data_norm=1.0, center=False, random_state=5).fit(rows)
    assert (model.explained_variance_ > 0).all()
    moments = (model.components_.T * model.explained_variance_) @ model.components_
    one, other = np.triu_indices(width)
    noise = (moments - np.eye(width) / width)[one, other] * np.where(one == other, 1.0, math.sqrt(2.0))
    # The bound on |x x^T - z z^T| in L1 norm, from sqrt(2) in L2 norm over the upper triangle.
    scale = math.sqrt(2.0 * len(one)) / (epsilon * len(rows))

    def laplace(x: Any) -> Any:
        return 0.5 + np.sign(x) * (0.5 - 0.5 * np.exp(-np.abs(x) / scale))

    assert fits(noise, laplace, FALSE_ALARM)
    assert not fits(0.9 * noise, laplace, FALSE_ALARM)


def test_one_record_can_do_what_the_noise_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row on the rim replaced by one at right angles moves the moments by the whole L2 bound, its opposite the mean.

    So half of Gaussian noise would be too little. One and the same record cannot do both: the bound for both
    together is within a factor 1.23 of what one record does.
    """
    found = []
    honest = Evaluator.sums

    def watched(self: Evaluator, queries: Any, **how: Any) -> Any:
        sums = honest(self, queries, **how)
        found.append((sums, [prepared.query for prepared in queries]))
        return sums

    monkeypatch.setattr(Evaluator, "sums", watched)
    for row in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]):
        SQPCA(1, math.inf, data_norm=1.0).fit(np.vstack([row, np.zeros((9, 3))]))
    (base, (moments, rows)), (across, _), (opposite, _) = found
    assert np.linalg.norm(base[0] - across[0]) == pytest.approx(moments.l2, rel=1e-4)
    assert np.linalg.norm(base[1] - opposite[1]) == pytest.approx(rows.l2, rel=1e-4)
    both = math.hypot(*(np.linalg.norm(base[k] - across[k]) for k in range(2)))
    assert both <= Demand.of_queries([moments, rows], 10).l2 <= 1.23 * both


def test_components_of_real_records() -> None:
    """On Adult, at epsilon 1 and delta 1e-6, five directions keep nearly what the best five keep."""
    table = np.asarray(PublicEncoder(adult_schema()).transform(load_adult()))
    ways = SQPCA(5, 1.0, 1e-6, data_norm=1.0, random_state=0).fit(table).components_
    assert np.trace(ways @ np.cov(table.T) @ ways.T) > 0.97 * PCA(5).fit(table).explained_variance_.sum()
