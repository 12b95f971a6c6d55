"""The statistical helpers themselves: exact critical values, no limits in disguise."""

import numpy as np
import pytest
from scipy import special, stats

from support.statistical import FALSE_ALARM, at_least, at_most, cells_fit, chance_interval, count_fits, fits, same_law


@pytest.mark.parametrize("size", [50, 1_000, 20_000, 200_000, 2_000_000])
def test_kolmogorov_critical_value_has_the_stated_false_alarm_rate(size: int) -> None:
    """The critical value agrees with Birnbaum and Tingey's exact one-sided law, doubled, to a part in a thousand."""
    critical = stats.kstwo.isf(FALSE_ALARM, size)
    assert 2 * special.smirnov(size, critical) == pytest.approx(FALSE_ALARM, rel=1e-3)


def test_kolmogorov_test_accepts_and_rejects() -> None:
    """A perfectly spread sample fits its law, and a sample squeezed to nine tenths does not."""
    spread = (np.arange(2_000) + 0.5) / 2_000
    assert fits(spread, stats.uniform.cdf)
    assert not fits(0.9 * spread, stats.uniform.cdf)


def test_two_sample_test_needs_equal_sizes_and_tells_scales_apart() -> None:
    """Two interleaved samples agree, one stretched twofold does not, and unequal sizes are refused."""
    spread = stats.norm.ppf((np.arange(1_000) + 0.5) / 1_000)
    assert same_law(spread, spread + 1e-6)
    assert not same_law(spread, 2 * spread)
    assert same_law(spread, spread)
    with pytest.raises(ValueError, match="equal sizes"):
        same_law(spread, spread[1:])


@pytest.mark.parametrize("shift", [0.1, 0.2, 0.4])
def test_two_sample_test_has_the_exact_false_alarm_rate(shift: float) -> None:
    """The test decides at exactly the probability that an independent implementation gives the observed distance."""
    first = stats.norm.ppf((np.arange(500) + 0.5) / 500)
    chance = stats.ks_2samp(first, first + shift, method="exact").pvalue
    assert same_law(first, first + shift, false_alarm=chance * 0.999)
    assert not same_law(first, first + shift, false_alarm=chance * 1.001)


def test_binomial_tests_are_exact_at_the_border() -> None:
    """Twenty-nine heads in twenty-nine flips (chance 1.9e-9) pass for a fair coin one-sidedly, thirty do not."""
    assert at_most(29, 29, 0.5)
    assert not at_most(30, 30, 0.5)
    assert at_least(0, 29, 0.5)
    assert not at_least(0, 30, 0.5)
    assert count_fits(30, 30, 0.5)
    assert not count_fits(31, 31, 0.5)
    assert count_fits(15, 30, 0.5)


def test_cells_notice_counts_in_impossible_places() -> None:
    """A single count outside cells whose chances add up to one is rejected."""
    assert cells_fit({0: 50, 1: 50}, {0: 0.5, 1: 0.5}, 100)
    assert not cells_fit({0: 50, 1: 49, 2: 1}, {0: 0.5, 1: 0.5}, 100)


def test_chance_intervals_are_clopper_pearson() -> None:
    """With no successes the upper bound solves (1 - p)^n = alpha/2, and the whole range is covered at the ends."""
    low, high = chance_interval(0, 1_000)
    assert low == 0.0
    assert (1 - high) ** 1_000 == pytest.approx(FALSE_ALARM / 2, rel=1e-6)
    assert chance_interval(1_000, 1_000) == (pytest.approx(1 - high), 1.0)
