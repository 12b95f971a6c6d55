"""Error bars and whole counts: what a release says of its own noise."""

import numpy as np
import pytest

from support.statistical import at_least, at_most, sample_size
from tacit import statistics

FLAGS = np.arange(40) < 3
VALUES = np.linspace(0, 1, 40)


@pytest.mark.stats
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_stays_within_the_error_bar_in_95_of_100_releases(delta):
    """For counts, sums, means and histograms; a bar of six tenths would be left too often (the twin)."""
    size = sample_size(1500)
    makers = {
        "count": (lambda: statistics.count(FLAGS, epsilon=0.5, delta=delta), 3.0),
        "sum": (lambda: statistics.sum(VALUES, low=0, high=2, epsilon=0.5, delta=delta), VALUES.sum()),
        "mean": (lambda: statistics.mean(VALUES, low=0, high=2, epsilon=0.5, delta=delta, missing=0), VALUES.mean()),
        "histogram": (lambda: statistics.histogram(FLAGS, levels=[0, 1], epsilon=0.5, delta=delta), np.array([37, 3])),
    }
    for make, truth in makers.values():
        found = [make() for _ in range(size)]
        bar = found[0].noise_error
        off = np.array([np.ravel(np.abs(each.value - truth))[0] for each in found])
        assert at_most(int((off > 1.01 * bar).sum()), size, 0.05)
        assert at_least(int((off > 0.99 * bar).sum()), size, 0.05)
        assert not at_most(int((off > 0.6 * bar).sum()), size, 0.05)


def test_counts_may_be_whole_and_not_negative():
    """Rounded after the noise: whole, at least 0, within a half of the noisy count; otherwise as they are."""
    for seed in range(30):
        plain, whole = (statistics.count(FLAGS, epsilon=0.2, whole=each, random_state=seed) for each in (False, True))
        assert whole.value == max(0.0, np.rint(plain.value))
        assert whole.noise_error == plain.noise_error
        bins = statistics.histogram(FLAGS, levels=[0, 1, 2], epsilon=0.2, whole=True, random_state=seed).value
        assert np.array_equal(bins, np.maximum(np.rint(bins), 0))


def test_the_error_bar_is_shown_and_lost_with_a_change():
    """It is printed beside the value; a function of the value has no error bar that is known."""
    found = statistics.count(FLAGS, epsilon=1, random_state=0)
    assert "+-" in str(found)
    assert found.map(lambda value: value**2).noise_error is None
