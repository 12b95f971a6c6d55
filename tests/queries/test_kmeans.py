"""k-means from statistical queries: the ordinary algorithm without noise, and what noise and one record do."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from tacit.queries.learners.kmeans import SQKMeans
from tacit.queries.oracle.plan import Demand

PLACES = np.array([[-0.6, -0.5, 0.1], [0.5, -0.4, -0.3], [0.0, 0.6, 0.2], [0.5, 0.5, -0.5]])
WAYS = [{"bounds": (-1, 1)}, {"bounds": [(-1, 1), (-1, 1.5), (-2, 1)]}, {"data_norm": 1.2}]


def _clusters(count: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return PLACES[rng.integers(0, 4, count)] + 0.05 * rng.normal(size=(count, 3))


def _farthest(centres: Any) -> float:
    """Return how far the worst found of the true places is from the nearest centre."""
    return float(np.sqrt(np.square(PLACES[:, None] - centres[None]).sum(axis=2).min(axis=1)).max())


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rounds", [1, 2, 6])
def test_without_noise_it_is_lloyd_s_algorithm(way: dict[str, Any], rounds: int) -> None:
    """From the same first centres, after as many rounds, the centres are scikit-learn's."""
    rows = np.random.default_rng(1).uniform(-0.6, 0.6, size=(1_000, 3))
    first = rows[:5]
    model = SQKMeans(5, math.inf, init=first, rounds=rounds, **way).fit(rows)
    ordinary = KMeans(5, init=first, n_init=1, max_iter=rounds, tol=0.0, algorithm="lloyd").fit(rows)
    assert np.allclose(model.cluster_centers_, ordinary.cluster_centers_, atol=1e-6)
    assert np.array_equal(model.predict(rows), ordinary.predict(rows))
    assert np.allclose(model.transform(rows), ordinary.transform(rows), atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("epsilon", "records", "near"), [(1.0, 20_000, 0.2), (10.0, 4_000, 0.1)])
def test_clusters_are_found_privately_from_a_start_that_knows_none(
    way: dict[str, Any], epsilon: float, records: int, near: float
) -> None:
    """In most of five runs every true centre has one nearby."""
    far = [
        _farthest(SQKMeans(4, epsilon, random_state=seed, **way).fit(_clusters(records, seed)).cluster_centers_)
        for seed in range(5)
    ]
    assert np.median(far) < near


def test_a_centre_without_records_goes_where_many_are() -> None:
    """Three first centres in a desert join the fourth, and all four clusters are found."""
    first = [[0.0, 0.0, 0.0], [0.0, 0.0, 30.0], [0.0, 0.0, 35.0], [0.0, 0.0, 40.0]]
    model = SQKMeans(4, math.inf, bounds=(-1, 40), init=first, rounds=9).fit(_clusters(2_000))
    assert _farthest(model.cluster_centers_) < 0.05


def test_centres_never_leave_the_region() -> None:
    """Not even if there is hardly anything but noise."""
    rows = _clusters(50)
    for seed in range(20):
        box = SQKMeans(4, 0.1, bounds=[(-1, 0), (0, 1), (0, 2)], random_state=seed).fit(rows).cluster_centers_
        assert ((box >= [-1, 0, 0]) & (box <= [0, 1, 2])).all()
        ball = SQKMeans(4, 0.1, data_norm=0.5, random_state=seed).fit(rows).cluster_centers_
        assert np.linalg.norm(ball, axis=1).max() <= 0.5 + 1e-12


def test_the_start_is_public() -> None:
    """The first centres are the same for any records; where noise drowns all of them, so is the model."""
    one, other = (SQKMeans(3, 1e-9, data_norm=1.0, random_state=0).fit(_clusters(40, seed)) for seed in (1, 2))
    assert np.array_equal(one.cluster_centers_, other.cluster_centers_)
    assert "the first centres" in one.release_.public


def test_labels_are_predicted_and_not_kept() -> None:
    """What scikit-learn's check of clusterers wants of labels holds of predictions, and there are no others."""
    rows, truth = make_blobs(n_samples=500, random_state=1)
    model = SQKMeans(3, 50.0, bounds=(-15, 10), random_state=0)
    labels = model.fit_predict(rows)
    assert adjusted_rand_score(labels, truth) > 0.9
    assert np.array_equal(labels, model.predict(rows))
    assert labels.dtype == np.int32
    assert set(labels) <= set(range(3))
    assert not hasattr(model, "labels_")


def test_real_records_are_grouped_nearly_as_without_noise() -> None:
    """Iris, 150 flowers: three quarters of the squared distance to the mean are explained at epsilon 20."""
    rows = load_iris().data
    total = np.square(rows - rows.mean(axis=0)).sum()

    def explained(epsilon: float, seed: int) -> float:
        model = SQKMeans(3, epsilon, bounds=[(4, 8), (2, 5), (1, 7), (0, 3)], rounds=3, random_state=seed).fit(rows)
        return 1.0 - float(np.square(model.transform(rows).min(axis=1)).sum() / total)

    assert explained(math.inf, 0) > 0.85
    assert np.median([explained(20.0, seed) for seed in range(9)]) > 0.75


@pytest.mark.parametrize("way", [{"bounds": (-0.5, 0.5)}, {"data_norm": 1.0}])
def test_one_record_can_do_what_the_noise_is_for(way: dict[str, Any], summed: list[Any]) -> None:
    """A record that goes from one corner to the opposite one moves counts and sums by the whole L1 bound of a ball.

    In a box sums are counted from a corner, and only a record that goes to the far corner from the far corner of
    another cluster does the most. Either way half the noise would be too little for some pair of neighbours.
    """
    first = np.array([[0.5] * 4, [-0.5] * 4]) if "data_norm" in way else np.array([[0.5] * 4, [0.5, 0.5, 0.5, 0.49]])
    for corner in (first[0], -first[0]) if "data_norm" in way else (first[0], first[1]):
        rows = np.vstack([corner, np.zeros((9, 4))])
        SQKMeans(2, math.inf, init=first, rounds=1, **way).fit(rows)
    (one, queries), (other, _) = summed
    bound = Demand.of_queries(queries, 10).l1
    assert 0.99 * bound <= np.abs(one - other).sum() <= bound


def test_the_number_of_rounds_follows_from_public_quantities() -> None:
    """From two rounds, where noise is large, to ten."""
    rounds = [len(SQKMeans(4, 1.0, bounds=(0, 1)).preview(n, 5)) for n in (100, 10_000, 30_000, 10**6)]
    assert rounds == sorted(rounds)
    assert (rounds[0], rounds[-1]) == (2, 10)
    assert len(SQKMeans(20, 1.0, bounds=(0, 1)).preview(30_000, 5)) < rounds[2]
    assert len(SQKMeans(4, 1.0, bounds=(0, 1), rounds=3).preview(10, 5)) == 3
    assert SQKMeans(2, math.inf, bounds=(0, 1)).fit(np.eye(2)).n_iter_ == 10
